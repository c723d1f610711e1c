"""Limits on what an attacker may achieve: prosecutor, journalist, marketer, and a quantile of individual risk.

For a class of f persons in the release and F in the population (El Emam 2013):

- ``prosecutor:0.1``: 1/f is at most 0.1 for every record;
- ``journalist:0.05``: E(1/F | f) is at most 0.05 for every record;
- ``marketer:0.02``: the mean of E(1/F | f) over all records is at most 0.02;
- ``q95:0.05``: E(1/F | f) is at most 0.05 for at least 95% of the records (a quantile of individual risk).

Several are written with a slash between them: ``journalist:0.05/marketer:0.01``. E(1/F | f) is that of the negative
binomial model (`shoal.frequency`), with survey weights or the size of the population; with neither, the table is taken
to be the population, F = f. `shoal.risk.attackers` finds the same in a table whose classes hold two persons or more.

They are met by raising k: E(1/F | f) ≤ 1/f, so every limit τ holds at k = 1/τ at the latest, and mostly much earlier.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from shoal.arrays import FloatArray
from shoal.claim_wording import statement
from shoal.equivalence import Classes
from shoal.errors import GuaranteeError, ParameterError
from shoal.frame import Frame
from shoal.frequency import estimated_size, negative_binomial, sampling_fractions
from shoal.schema import Schema

__all__ = ["Attacker", "RiskLimit", "class_risks", "risk_limits", "smallest_k", "worst_risks"]

Attacker = Literal["prosecutor", "journalist", "marketer", "individual"]
R = TypeVar("R")
_SLACK = 1e-9  # against the rounding of floats
_QUANTILE = re.compile(r"q(\d{1,2}(?:\.\d+)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskLimit:
    """The largest risk that one attacker may have.

    Parameters
    ----------
    attacker
        ``"prosecutor"``, ``"journalist"``, ``"marketer"``, or ``"individual"`` for a quantile of individual risk.
    value
        The largest risk, above 0 and at most 1.
    share
        Of a quantile: the share of records that it must hold for.

    Examples
    --------
    >>> RiskLimit.of("q95:0.05")
    RiskLimit(attacker='individual', value=0.05, share=0.95)
    """

    attacker: Attacker
    value: float
    share: float = 1.0

    @classmethod
    def of(cls, words: str) -> RiskLimit:
        """Read ``prosecutor:R``, ``journalist:R``, ``marketer:R`` or ``qP:R``."""
        name, _, number = words.strip().partition(":")
        quantile = _QUANTILE.fullmatch(name)
        value = _number(number)
        if not 0 < value <= 1 or not (quantile or name in ("prosecutor", "journalist", "marketer")):
            raise ParameterError(
                "risk",
                "must be prosecutor:R, journalist:R, marketer:R or qP:R (R above 0, at most 1; P in percent), "
                "several with a slash between them",
                got=repr(words)[:60],
                parameter="risk",
            )
        if quantile:
            return cls(attacker="individual", value=value, share=float(quantile[1]) / 100)
        return cls(attacker=name, value=value)  # type: ignore[arg-type]

    def found(self, risks: FloatArray, found: Classes) -> float:
        """The risk that this attacker has, from E(1/F | f) of each class."""
        if self.attacker == "prosecutor":
            return 1.0 / found.k
        if self.attacker == "journalist":
            return float(risks.max())
        if self.attacker == "marketer":
            return float(risks @ found.sizes) / float(found.sizes.sum())
        return _quantile(risks, found, self.share)

    def holds(self, found: float) -> bool:
        """Whether a risk is within the limit."""
        return found <= self.value + _SLACK

    @property
    def statement(self) -> str:
        """The limit as a sentence about the release."""
        more: dict[str, Any] = {"share": f"{self.share:.4g}"} if self.attacker == "individual" else {}
        return statement(f"{self.attacker} risk", claim={"value": self.value}, **more)


def risk_limits(words: str | None) -> tuple[RiskLimit, ...]:
    """Read limits such as ``"journalist:0.05/marketer:0.01"``; none where None."""
    return () if words is None else tuple(RiskLimit.of(part) for part in words.split("/"))


def class_risks(frame: Frame, schema: Schema, found: Classes, population: float | None = None) -> FloatArray:
    """E(1/F | f) of each class, negative binomial; 1/f where nothing says how large the population is."""
    size = estimated_size(frame, schema, found, population)
    if size is None:
        return 1.0 / found.sizes
    return negative_binomial(found.sizes, sampling_fractions(frame, schema, found, size))


def worst_risks(
    limits: Sequence[RiskLimit], frame: Frame, schema: Schema, found: Classes, population: float | None = None
) -> tuple[float, ...]:
    """The risk of each limit's attacker in a table with these classes."""
    risks = class_risks(frame, schema, found, population)
    return tuple(limit.found(risks, found) for limit in limits)


def smallest_k(
    limits: Sequence[RiskLimit], k: int, run: Callable[[int], R], meets: Callable[[R], bool]
) -> tuple[int, R]:
    """The smallest k tried, from `k` on, at which what `run` makes meets the limits: doubled, then bisected.

    A k that can't be reached at all is a GuaranteeError of `run`; smaller ones are tried then.
    """
    done = run(k)
    if meets(done):
        return k, done
    most = max(k + 1, math.ceil(1 / min(limit.value for limit in limits) - _SLACK))
    low, high, best = k, most + 1, None
    why: GuaranteeError | None = None
    while high - low > 1:
        tried = min(2 * low, most) if best is None and why is None else (low + high) // 2
        try:
            done = run(tried)
        except GuaranteeError as error:
            high, why = tried, error
            continue
        if meets(done):
            high, best = tried, (tried, done)
        else:
            low = tried
    if best is None:
        raise why or GuaranteeError("risk", "the limits can't be met by any k", hint="Raise them.")
    return best


def _quantile(risks: FloatArray, found: Classes, share: float) -> float:
    """The smallest risk that at least this share of the records doesn't exceed."""
    order = np.argsort(risks, kind="stable")
    covered = np.cumsum(found.sizes[order]) / found.sizes.sum()
    return float(risks[order][np.argmax(covered >= share - _SLACK)])


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value
