"""What is promised, on what basis, under which assumptions.

A release carries claims. Each has a *basis*, and the basis says how far to trust it:

- ``proved``: a theorem, whose conditions the code has met;
- ``verified``: checked on the written file;
- ``measured``: the result of an attack, with its interval; another attack may do better;
- ``published``: it is stated in a paper, and Shoal does not vouch for it.

A claim is made of fields: what it is about (`kind`, one of a closed set), which column, what it counts, how much.
Programs go by the fields; the statement is the same thing for people, and nothing is decided by reading it.

Shoal documents; a person decides. No claim says "compliant" or "safe".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Literal, get_args

from shoal.errors import ParameterError
from shoal.record import Record, html_table

__all__ = ["Basis", "Claim", "Kind", "Unit", "claim_rows", "rounded_up"]

Basis = Literal["proved", "verified", "measured", "published"]
Unit = Literal["records", "persons", "households"]
Kind = Literal[
    "k-anonymity",
    "group size",
    "distinct l-diversity",
    "entropy l-diversity",
    "recursive l-diversity",
    "equal t-closeness",
    "ordered t-closeness",
    "re-identification bound",
    "re-identification frequency",
    "re-identification through unchanged columns",
    "prosecutor risk",
    "journalist risk",
    "marketer risk",
    "individual risk",
    "epsilon-DP",
    "(epsilon, delta)-DP",
    "zCDP",
    "epsilon-LDP",
    "l-diversity",
    "covariance kept",
    "covariance unbiased",
    "k^m-anonymity",
    "(k, k^m)-anonymity",
    "event bound",
    "households in a group",
    "rules kept",
]
_DIFFERENTIAL = frozenset({"epsilon-DP", "(epsilon, delta)-DP", "zCDP"})
_PROBABILITIES = frozenset(
    {
        "re-identification bound",
        "re-identification frequency",
        "re-identification through unchanged columns",
        "prosecutor risk",
        "journalist risk",
        "marketer risk",
        "individual risk",
        "event bound",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Record):
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
    column
        The sensitive column it is about, if it is about one.
    unit
        What the number counts: ``"records"``, ``"persons"`` or ``"households"``, where it counts any.
    assumptions
        What must be true for the promise to hold, one sentence each.
    interval
        Low and high end where the value is an estimate, at the 95% level.
    known
        How many events of a person an intruder knows, where it is about that.

    Examples
    --------
    >>> import shoal
    >>> print(shoal.Claim(kind="k-anonymity", value=5, scope="per record", basis="verified", unit="records",
    ...                   statement="Every combination of quasi-identifiers is shared by at least 5 records."))
    k-anonymity 5 (verified, per record): Every combination of quasi-identifiers is shared by at least 5 records.
    """

    kind: Kind
    value: float
    scope: str
    basis: Basis
    statement: str
    column: str | None = None
    unit: Unit | None = None
    assumptions: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None
    known: int | None = None

    def __post_init__(self) -> None:
        _require_one_of("basis", self.basis, get_args(Basis))
        _require_one_of("kind", self.kind, get_args(Kind))
        _require_one_of("unit", self.unit, (None, *get_args(Unit)))

    def __str__(self) -> str:
        spread = f" [{self.interval[0]:.4g}, {self.interval[1]:.4g}]" if self.interval else ""
        return f"{self.kind} {self.limit():.4g}{spread} ({self.basis}, {self.scope}): {self.statement}"

    def _repr_html_(self) -> str:
        """The claim as a notebook shows it: with its assumptions."""
        return html_table(f"{self.kind} {self.limit():.4g} ({self.basis}, {self.scope})", self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        return [("says", self.statement), *(("assumes", text) for text in self.assumptions)]

    def limit(self, digits: int = 4) -> float:
        """The value as it may be printed: a probability that is promised is rounded up, or it would not hold."""
        promised = self.is_probability and self.basis != "measured"
        return rounded_up(self.value, digits) if promised else self.value

    @property
    def is_differential(self) -> bool:
        """Whether it is a promise of differential privacy."""
        return self.kind in _DIFFERENTIAL

    @property
    def is_probability(self) -> bool:
        """Whether its value is a probability of being found, told in percent."""
        return self.kind in _PROBABILITIES

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Claim:
        """Read a claim back from its words."""
        known = {field.name for field in fields(cls)}
        given: dict[str, Any] = {name: value for name, value in words.items() if name in known}
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return cls(**(given | lists))


def claim_rows(claims: Iterable[Claim]) -> list[tuple[str, str, str]]:
    """Basis, promise and meaning of each claim, for a table in a notebook."""
    return [(claim.basis, f"{claim.kind} {claim.limit():.4g}", claim.statement) for claim in claims]


def _require_one_of(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        allowed = ", ".join(map(str, choices))
        raise ParameterError("Claim", f"{name} must be one of {allowed}", got=repr(value)[:60])


def rounded_up(limit: float, digits: int) -> float:
    """A limit as it may be printed: the smallest number of so many significant digits that is not below it.

    Examples
    --------
    >>> from shoal.claim import rounded_up
    >>> rounded_up(1 / 3, 4), rounded_up(0.2, 4)
    (0.3334, 0.2)
    """
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(repr(float(limit)))))
