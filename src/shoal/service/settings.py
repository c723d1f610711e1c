"""What the operator decides, as one value that also reaches the worker processes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated

from shoal.errors import ParameterError
from shoal.params import Help, Range, check

__all__ = ["Settings"]

_NAME = "SHOAL_SERVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where models and ledger are, and the limits.

    Examples
    --------
    >>> settings = Settings(models="models", ledger="sqlite:///ledger.db", rate=50.0)
    >>> Settings.from_environment(settings.environment()) == settings
    True
    """

    models: Annotated[str, Help("folder of model files")] = ""
    ledger: Annotated[str, Help("database URL")] = ""
    data_epsilon: Annotated[
        float | None,
        Range(above=0),
        Help("Epsilon reserved for answers in each data set's limit. [default: as in the ledger]"),
    ] = None
    model_epsilon: Annotated[
        float | None, Range(above=0), Help("Limit of each model over all clients. [default: as in the ledger, or none]")
    ] = None
    rate: Annotated[float, Range(low=0), Help("Requests per second and client in each worker; 0 for no limit.")] = 100.0
    burst: Annotated[
        float | None, Range(low=1), Help("Requests of a client allowed at once. [default: twice the rate]")
    ] = None
    wrong_keys: Annotated[
        float, Range(low=0), Help("Wrong keys per second and address before 429; 0 for no limit.")
    ] = 1.0
    wrong_keys_burst: Annotated[float, Range(low=1), Help("Wrong keys of an address allowed at once.")] = 20.0
    key_seconds: Annotated[
        float, Range(low=0), Help("Seconds to trust a key for free models before looking again.")
    ] = 2.0
    max_body: Annotated[int, Range(low=256), Help("Largest request body in bytes.")] = 65_536
    max_batch: Annotated[int, Range(low=1, high=10_000), Help("Largest number of people in a batch.")] = 1_000
    max_batch_body: Annotated[int, Range(low=256), Help("Largest body of a batch in bytes.")] = 4_194_304
    header_seconds: Annotated[float, Range(above=0), Help("Seconds allowed to receive the headers.")] = 10.0
    body_seconds: Annotated[float, Range(above=0), Help("Seconds allowed to receive the body.")] = 10.0
    max_connections: Annotated[int, Range(low=1), Help("Connections of each worker.")] = 1_000
    deadline: Annotated[float, Range(above=0), Help("Seconds to wait for the ledger before replying 503.")] = 5.0
    shutdown: Annotated[float, Range(low=1), Help("Seconds allowed for a graceful shutdown.")] = 20.0
    signer: Annotated[str, Help("Public key: only models signed with it are served.")] = ""
    check_seconds: Annotated[float, Range(above=0), Help("Seconds between checks of the ledger while serving.")] = (
        3600.0
    )
    proxies: Annotated[str, Help("Addresses of proxies whose X-Forwarded-For header is trusted.")] = ""
    log: Annotated[bool, Help("Log each request as a line of JSON to standard error.")] = True
    traces: Annotated[bool, Help("Send OpenTelemetry traces to OTEL_EXPORTER_OTLP_ENDPOINT.")] = False

    def __post_init__(self) -> None:
        check(self)

    def environment(self) -> dict[str, str]:
        """The variable through which workers receive the settings."""
        return {_NAME: json.dumps(asdict(self))}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read them back in a worker."""
        try:
            return cls(**json.loads(environment[_NAME]))
        except (KeyError, ValueError, TypeError):
            raise ParameterError(_NAME, "must hold the settings of `shoal serve`") from None
