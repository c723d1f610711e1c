"""The words in which diversity and closeness are asked for, and the promises they become.

Examples: ``3`` and ``"distinct:3"``, ``"entropy:2.5"``, ``"recursive:3,2"`` (c, then l); ``0.2``, ``"equal:0.2"``,
``"ordered:0.2"``. What they mean is said in `shoal.condition.conditions`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from shoal.arrays import BoolArray, FloatArray
from shoal.claim_wording import statement
from shoal.equivalence import Contents
from shoal.errors import ParameterError
from shoal.record import Record
from shoal.schema import Kind

__all__ = [
    "MINIMALITY",
    "Closeness",
    "Diversity",
    "Promise",
    "closeness_promise",
    "diversity_promise",
    "mix_promises",
]

MINIMALITY = (
    "The intruder does not use how the classes were chosen: a method that coarsens no more than it must shows by each "
    "coarsening that a finer class would have failed, and from that a person's sensitive value can follow with "
    "certainty, however many values the class has (minimality attack)."
)
"""What a claim of diversity or closeness assumes where classes were chosen by looking at the sensitive values."""

_SLACK = 1e-9  # of computed distances and entropies, against the rounding of floats

DiversityKind: TypeAlias = Literal["distinct", "entropy", "recursive"]
Distance: TypeAlias = Literal["equal", "ordered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """A required l-diversity: its kind, l, and the c of the recursive kind.

    Examples
    --------
    >>> Diversity.of("recursive:3,2")
    Diversity(kind='recursive', l=2.0, c=3.0)
    """

    kind: DiversityKind
    l: float  # noqa: E741 (the literature's letter)
    c: float = math.nan

    @classmethod
    def of(cls, words: int | str) -> Diversity:
        """Read ``3``, ``"distinct:3"``, ``"entropy:2.5"`` or ``"recursive:c,l"``."""
        kind, numbers = _read(words, "distinct")
        if kind == "recursive" and len(numbers) == 2 and numbers[0] > 0 and _is_whole(numbers[1]):
            return cls(kind="recursive", l=numbers[1], c=numbers[0])
        if kind == "entropy" and len(numbers) == 1 and numbers[0] >= 1:
            return cls(kind="entropy", l=numbers[0])
        if kind == "distinct" and len(numbers) == 1 and _is_whole(numbers[0]):
            return cls(kind="distinct", l=numbers[0])
        raise ParameterError(
            "conditions",
            "diversity must be a whole number from 1, 'distinct:L', 'entropy:L' (L from 1) or 'recursive:C,L' (C > 0)",
            got=repr(words)[:60],
        )

    def found(self, contents: Contents) -> FloatArray:
        """The l that each class has."""
        if self.kind == "entropy":
            return contents.entropy()
        whole = contents.distinct() if self.kind == "distinct" else contents.recursive(self.c)
        return whole.astype(np.float64)

    def holds(self, found: FloatArray) -> BoolArray:
        """Whether the l of a class is enough."""
        return found >= self.l - _SLACK

    def __str__(self) -> str:
        return f"recursive:{self.c:g},{self.l:g}" if self.kind == "recursive" else f"{self.kind}:{self.l:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """A required t-closeness: t, and the distance, where None means: by the kind of the column.

    Examples
    --------
    >>> Closeness.of("equal:0.2")
    Closeness(t=0.2, distance='equal')
    """

    t: float
    distance: Distance | None = None

    @classmethod
    def of(cls, words: float | str) -> Closeness:
        """Read ``0.2``, ``"equal:0.2"`` or ``"ordered:0.2"``."""
        kind, numbers = _read(words, "any")
        if kind in ("any", "equal", "ordered") and len(numbers) == 1 and 0 <= numbers[0] <= 1:
            return cls(t=numbers[0], distance=None if kind == "any" else kind)  # type: ignore[arg-type]
        raise ParameterError(
            "conditions",
            "closeness must be a number from 0 to 1, 'equal:T' or 'ordered:T'",
            got=repr(words)[:60],
        )

    def distance_for(self, kind: Kind | None) -> Distance:
        """The distance used for a column of this kind."""
        return self.distance or ("equal" if kind == "nominal" else "ordered")

    def holds(self, found: FloatArray) -> BoolArray:
        """Whether a class is close enough."""
        return found <= self.t + _SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise(Record):
    """One condition as a promise that can be checked on the released table.

    Parameters
    ----------
    kind
        ``"k-anonymity"``, ``"l-diversity"`` or ``"t-closeness"``.
    value
        k, l or t.
    column
        The sensitive column; empty for k.
    measure
        How it is measured: ``"persons"``, ``"records"``, ``"distinct"``, ``"entropy"``, ``"recursive"``, ``"equal"``,
        ``"ordered"``.
    statement
        The promise as a sentence.
    """

    kind: str
    value: float
    column: str
    measure: str
    statement: str

    def holds(self, found: float) -> bool:
        """Whether the worst class, which has `found`, keeps the promise."""
        return found <= self.value + _SLACK if self.kind == "t-closeness" else found >= self.value - _SLACK


def mix_promises(diversity: int | str | None, closeness: float | str | None, column: str, kind: Kind) -> list[Promise]:
    """What was asked for of one sensitive column, as promises."""
    made = [] if diversity is None else [diversity_promise(Diversity.of(diversity), column)]
    if closeness is not None:
        asked = Closeness.of(closeness)
        made.append(closeness_promise(asked.t, column, asked.distance_for(kind) == "ordered"))
    return made


def diversity_promise(required: Diversity, name: str) -> Promise:
    """The required diversity of one column as a promise."""
    claim = {"value": required.l, "column": name, "unit": None}
    more: dict[str, Any] = {}
    if required.kind == "recursive":
        more["c"] = f"{required.c:g}"
    said = statement(f"{required.kind} l-diversity", claim=claim, **more)
    return Promise(kind="l-diversity", value=required.l, column=name, measure=required.kind, statement=said)


def closeness_promise(t: float, name: str, ordered: bool) -> Promise:
    """The required closeness of one column as a promise."""
    measure = "ordered" if ordered else "equal"
    said = statement(f"{measure} t-closeness", claim={"value": t, "column": name, "unit": None})
    return Promise(kind="t-closeness", value=t, column=name, measure=measure, statement=said)


def _read(words: object, default: str) -> tuple[str, list[float]]:
    """The kind and the numbers of words such as ``"entropy:2.5"``; no numbers where they can't be read."""
    if isinstance(words, int | float) and not isinstance(words, bool):
        return default, [float(words)]
    if not isinstance(words, str):
        return default, []
    kind, _, rest = words.rpartition(":")
    try:
        numbers = [float(number) for number in rest.split(",")]
    except ValueError:
        return default, []
    return (kind.strip() or default), numbers if all(map(math.isfinite, numbers)) else []


def _is_whole(number: float) -> bool:
    return number >= 1 and number == math.floor(number)
