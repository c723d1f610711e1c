"""What is promised, on what basis, under which assumptions.

A release carries claims. Each has a *basis*, and the basis says how far to trust it:

- ``proved``: a theorem, whose conditions the code has met;
- ``verified``: checked on the written file;
- ``measured``: the result of an attack, with its interval; another attack may do better;
- ``published``: a paper says so, and Shoal does not vouch for it.

Shoal documents; a person decides. No claim says "compliant" or "safe".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from shoal.errors import ParameterError

__all__ = ["Basis", "Claim"]

Basis = Literal["proved", "verified", "measured", "published"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One promise of a release.

    Parameters
    ----------
    kind
        What is promised, in the literature's words: ``"k-anonymity"``, ``"re-identification bound"`` and so on.
    value
        The number that is promised: k, a probability, epsilon.
    scope
        What the promise covers: ``"per record"``, ``"per data set"``, ``"per query"``.
    basis
        ``"proved"``, ``"verified"``, ``"measured"`` or ``"published"``.
    statement
        The promise as one sentence that a steward can quote.
    assumptions
        What must be true for the promise to hold, one sentence each.
    interval
        Low and high end where the value is an estimate, at the 95 % level.

    Examples
    --------
    >>> import shoal
    >>> print(shoal.Claim(kind="k-anonymity", value=5, scope="per record", basis="verified",
    ...                   statement="Every combination of quasi-identifiers is shared by at least 5 records."))
    k-anonymity 5 (verified, per record): Every combination of quasi-identifiers is shared by at least 5 records.
    """

    kind: str
    value: float
    scope: str
    basis: Basis
    statement: str
    assumptions: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.basis not in get_args(Basis):
            choices = ", ".join(get_args(Basis))
            raise ParameterError("Claim", f"basis must be one of {choices}", got=repr(self.basis))

    def __str__(self) -> str:
        spread = f" [{self.interval[0]:.4g}, {self.interval[1]:.4g}]" if self.interval else ""
        return f"{self.kind} {self.value:.4g}{spread} ({self.basis}, {self.scope}): {self.statement}"

    def to_dict(self) -> dict[str, Any]:
        """The claim as JSON-safe words."""
        return {
            "kind": self.kind,
            "value": self.value,
            "scope": self.scope,
            "basis": self.basis,
            "statement": self.statement,
            "assumptions": list(self.assumptions),
            "interval": list(self.interval) if self.interval else None,
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Claim:
        """Read a claim back from its words."""
        interval = words.get("interval")
        return cls(
            kind=words["kind"],
            value=words["value"],
            scope=words["scope"],
            basis=words["basis"],
            statement=words["statement"],
            assumptions=tuple(words["assumptions"]),
            interval=(interval[0], interval[1]) if interval else None,
        )
