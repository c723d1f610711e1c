"""What came of one recipe: whether it could be run, what was measured, what is promised.

The figures of a comparison with their readings: found, guessed and kept, each beside what it is held against.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from shoal.claim import Claim
from shoal.errors import ParameterError
from shoal.reading import Reading
from shoal.recipe import Recipe, command_line, read_recipe
from shoal.record import Record
from shoal.report.numbers import percent

if TYPE_CHECKING:
    from shoal.comparison.comparison import Comparison

__all__ = ["RISK", "UTILITY", "Outcome", "State", "readings_of"]

State = Literal["done", "refused", "failed", "out of time"]
Numbers: TypeAlias = Mapping[str, float | None]

RISK, UTILITY = "found", "kept"
"""The headlines: the axes of the map."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Record):
    """One line of a comparison. It compares with the original: internal.

    Parameters
    ----------
    recipe, name, family
        How the release was made, in few words, and by which sort of method.
    state, reason
        ``"done"``; ``"refused"`` (a guarantee can't be met, or the schema doesn't suit), ``"failed"`` (a fault), ``"out
        of time"``; and why.
    seconds
        Wall-clock time of run and measures.
    risks
        Shares of records; the headline is ``"found"``, see `shoal.comparison.measure`.
    utilities
        What is preserved; the headline is ``"kept"``, from 0 to 1.
    claims
        What the release promises.

    Examples
    --------
    >>> import shoal
    >>> from shoal.comparison import Outcome
    >>> from shoal.recipe import Coarsening
    >>> recipe = Coarsening.of(shoal.Mondrian(k=5))
    >>> one = Outcome(recipe=recipe, name="mondrian:k=5", family="coarsening", state="done",
    ...               risks={"found": 0.12}, utilities={"kept": 0.9})
    >>> one.risk, one.utility, one.k
    (0.12, 0.9, 5)
    """

    releasable: ClassVar[bool] = False

    recipe: Recipe
    name: str
    family: str
    state: State
    reason: str = ""
    seconds: float = 0.0
    risks: Numbers = field(default_factory=dict)
    utilities: Numbers = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether there is anything measured."""
        return self.state == "done"

    @property
    def risk(self) -> float:
        """The headline risk; NaN where nothing was measured."""
        return _number(self.risks.get(RISK))

    @property
    def utility(self) -> float:
        """The headline utility; NaN where nothing was measured."""
        return _number(self.utilities.get(UTILITY))

    @property
    def k(self) -> int | None:
        """How many hide together at least; None for synthetic rows and where no k is promised."""
        return self.recipe.k if self.recipe.k > 1 else None

    @property
    def bound(self) -> float | None:
        """The proved bound on re-identification of every record, where there is one."""
        proved = [c.value for c in self.claims if c.kind == "re-identification bound" and c.basis == "proved"]
        return min(proved, default=None)

    @property
    def is_proved(self) -> bool:
        """Whether something is proved about every person: a bound on re-identification, or differential privacy."""
        return any(claim.basis == "proved" for claim in self.claims)

    @property
    def proof(self) -> str:
        """What is proved, in few words: a bound, or a price; nothing where nothing is."""
        if self.bound is not None:
            return f"≤ {percent(self.bound)}"
        return ", ".join(f"ε = {c.value:g}" for c in self.claims if c.basis == "proved" and c.is_differential)

    @property
    def is_counted(self) -> bool:
        """Whether people whose combination came out again were counted, as no row is anybody's to be found."""
        return self.family == "synthesis"

    @property
    def command(self) -> str | None:
        """The command line that makes such a release; None where only Python can say it."""
        try:
            return command_line(self.recipe, "FILE", "SCHEMA", "FOLDER")
        except ParameterError:
            return None

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Outcome:
        """Read an outcome back from its words."""
        if words["state"] not in get_args(State):
            raise ParameterError("outcome", f"state must be one of {', '.join(get_args(State))}")
        return cls(
            recipe=read_recipe(words["recipe"]),
            name=str(words["name"]),
            family=str(words["family"]),
            state=words["state"],
            reason=str(words["reason"]),
            seconds=float(words["seconds"]),
            risks=dict(words["risks"]),
            utilities=dict(words["utilities"]),
            claims=tuple(Claim.from_dict(claim) for claim in words["claims"]),
        )


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


_SLACK = 0.02  # of what is kept: as good as another sample


def readings_of(comparison: Comparison, one: Outcome, limit: float) -> tuple[Reading, Reading, Reading]:
    """What an outcome was measured to have found, guessed and kept.

    Before is the table published unchanged. Chance is a blind guess; of what is kept, another sample of the same size.
    The limit is the risk that is accepted.
    """
    before = comparison.reference
    found = Reading(
        name="found",
        value=one.risks.get("found"),
        before=None if one.is_counted else before.get("found"),
        chance=1 / comparison.n_records if comparison.n_records else None,
        limit=limit,
        basis="asked for",
        n=comparison.n_records or None,
    )
    guessed = Reading(
        name="guessed", value=one.risks.get("guessed"), before=before.get("guessed"), chance=0.0, slack=_SLACK
    )
    kept = Reading(
        name="preserved",
        value=one.utilities.get("kept"),
        chance=before.get("second_sample"),
        against="another sample",
        better="higher",
        slack=_SLACK,
    )
    return found, guessed, kept
