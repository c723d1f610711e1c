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
        float | None, Range(above=0), Help("what answers may spend on a data set in all; reserved from its limit")
    ] = None
    model_epsilon: Annotated[float | None, Range(above=0), Help("limit of a model over all clients")] = None
    rate: Annotated[float, Range(low=0), Help("requests a second of one client in one worker; 0 for no limit")] = 100.0
    burst: Annotated[float, Range(low=1), Help("requests that may come at once")] = 200.0
    wrong_keys: Annotated[
        float, Range(low=0), Help("wrong keys a second of one address in one worker; 0 for no limit")
    ] = 1.0
    wrong_keys_burst: Annotated[float, Range(low=1), Help("wrong keys that may come at once")] = 20.0
    max_body: Annotated[int, Range(low=256), Help("largest body in bytes")] = 65_536
    body_seconds: Annotated[float, Range(above=0), Help("seconds in which a body must arrive")] = 10.0
    key_seconds: Annotated[float, Range(low=0), Help("seconds for which a known key is not looked up again")] = 2.0
    max_batch: Annotated[int, Range(low=1, high=10_000), Help("most people in one batch")] = 1_000
    max_batch_body: Annotated[int, Range(low=256), Help("largest body of a batch in bytes")] = 4_194_304
    deadline: Annotated[float, Range(above=0), Help("seconds in which the ledger must answer, or the reply is 503")] = (
        5.0
    )
    header_seconds: Annotated[float, Range(above=0), Help("seconds in which headers must arrive")] = 10.0
    max_connections: Annotated[int, Range(low=1), Help("connections of one worker")] = 1_000
    shutdown_seconds: Annotated[float, Range(low=1), Help("seconds in which everything ends after a stop")] = 20.0
    proxies: Annotated[str, Help("addresses of proxies whose X-Forwarded-For is believed, with commas")] = ""
    log: Annotated[bool, Help("write one line for each request")] = True

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
