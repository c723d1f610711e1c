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
        float | None, Range(above=0), Help("epsilon reserved for answers in a data set's limit")
    ] = None
    model_epsilon: Annotated[float | None, Range(above=0), Help("limit of a model over all clients")] = None
    rate: Annotated[float, Range(low=0), Help("requests per second and client in each worker; 0 for no limit")] = 100.0
    burst: Annotated[float, Range(low=1), Help("burst of requests allowed")] = 200.0
    wrong_keys: Annotated[
        float, Range(low=0), Help("wrong keys per second and address in each worker; 0 for no limit")
    ] = 1.0
    wrong_keys_burst: Annotated[float, Range(low=1), Help("burst of wrong keys allowed")] = 20.0
    max_body: Annotated[int, Range(low=256), Help("largest body in bytes")] = 65_536
    body_seconds: Annotated[float, Range(above=0), Help("seconds allowed to receive a body")] = 10.0
    key_seconds: Annotated[float, Range(low=0), Help("seconds to cache a valid key")] = 2.0
    max_batch: Annotated[int, Range(low=1, high=10_000), Help("largest number of people per batch")] = 1_000
    max_batch_body: Annotated[int, Range(low=256), Help("largest body of a batch in bytes")] = 4_194_304
    deadline: Annotated[float, Range(above=0), Help("seconds to wait for the ledger before replying 503")] = 5.0
    header_seconds: Annotated[float, Range(above=0), Help("seconds allowed to receive headers")] = 10.0
    max_connections: Annotated[int, Range(low=1), Help("connections of one worker")] = 1_000
    shutdown_seconds: Annotated[float, Range(low=1), Help("seconds allowed for a graceful shutdown")] = 20.0
    proxies: Annotated[
        str, Help("addresses of proxies whose X-Forwarded-For header is trusted, separated by commas")
    ] = ""
    log: Annotated[bool, Help("log each request")] = True
    signer: Annotated[str, Help("public key that must have signed every model file")] = ""
    check_seconds: Annotated[float, Range(above=0), Help("seconds between checks of the ledger by the parent")] = 3600.0
    traces: Annotated[bool, Help("send OpenTelemetry traces")] = False

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
