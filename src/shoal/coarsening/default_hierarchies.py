"""A hierarchy for a column that has none, by its kind and its public domain.

- numbers: intervals whose widths double, from about a twentieth of the range (the declared bounds, else the values) in
  steps of 1, 2 or 5 times a power of ten;
- ordinal levels: neighbours merged by twos, fours and so on; what stands for an absence is no neighbour and stays;
- dates: year and month, quarter, year, decade;
- diagnoses, drugs, ZIP codes and places, by name and form: what they lie in (`shoal.coarsening.code_systems`);
- texts of digits of one length (other codes): ever shorter prefixes;
- other nominal levels: the value or ``*``, since nothing says which levels are alike.

Without bounds or levels in the schema a hierarchy depends on the values that occur, also on those of people who are
then left out: how wide intervals are, and which neighbours are merged. What is written is named after the kept values
only. Declare bounds and levels where that matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from shoal.coarsening.code_systems import SYSTEMS, System
from shoal.coarsening.hierarchy import Hierarchy, Ladder, distinct_values, hierarchy_error
from shoal.coarsening.intervals import nice
from shoal.coarsening.steps import Step, TreeLevel, as_text, keeping
from shoal.conform import levels_like
from shoal.domain.absence import bare, kept_codes
from shoal.domain.declared import is_whole
from shoal.errors import ParameterError
from shoal.schema import Column, Level
from shoal.schema.infer import words_in
from shoal.value import same_as, text_of

__all__ = ["default_hierarchy", "follows_schema", "hierarchy_for", "ladder_for"]

_FINEST_BINS = 20


def ladder_for(content: pl.Series, column: Column) -> Ladder:
    """The levels of a column: by the hierarchy that the schema declares, else by the one its kind suggests."""
    return replace(hierarchy_for(content, column).climb(content), reasons=tuple(column.reasons))


def hierarchy_for(content: pl.Series, column: Column) -> Hierarchy:
    """The same, not yet applied to the column; reasons of absence stay what they are on every level."""
    try:
        declared = column.hierarchy is not None and column.hierarchy.get("kind") != "default"
        known = bare(content, column)
        hierarchy = Hierarchy.of(column.hierarchy or {}) if declared else default_hierarchy(known, column)
    except ParameterError as error:
        raise hierarchy_error(column.name, error) from None
    codes = kept_codes(column)
    return replace(hierarchy, steps=tuple(keeping(step, _unlisted(codes, step)) for step in hierarchy.steps))


def _unlisted(codes: Mapping[Any, Level], step: Step) -> Mapping[Any, Level]:
    """The codes that a declared table doesn't list: those that it lists are written as it says."""
    listed = {row[0] for row in step.rows} if isinstance(step, TreeLevel) else set()
    return {code: written for code, written in codes.items() if text_of(written) not in listed}


def default_hierarchy(content: pl.Series, column: Column) -> Hierarchy:
    """The hierarchy that the kind and the public domain of a column suggest.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema import Column
    >>> age = Column(name="age", role="quasi", kind="numeric", bounds=(0, 120))
    >>> default_hierarchy(pl.Series("age", [34]), age).to_dict()["widths"]
    [10.0, 20.0, 40.0, 80.0]
    """
    if content.dtype == pl.Boolean:
        return Hierarchy.flat()
    if column.kind == "numeric":
        return _doubling(content, column)
    if content.dtype in (pl.Date, pl.Datetime) and column.levels is None:
        return Hierarchy.dates()
    if column.kind == "ordinal":
        return _neighbours(content, column)
    system = _system_of(content)
    return _prefixes(content) if system is None else Hierarchy.codes(system)


_NAMED: tuple[tuple[System, tuple[str, ...]], ...] = (
    ("icd-10", ("icd", "diag", "dx", "diagnosis", "icd10")),
    ("icd-9", ("icd", "diag", "dx", "diagnosis", "icd9")),
    ("atc", ("atc", "drug", "medication")),
    ("zip", ("zip", "zipcode")),
    ("fips", ("fips",)),
    ("nuts", ("nuts",)),
)
_OF_DIGITS = ("zip", "fips")


def _system_of(content: pl.Series) -> System | None:
    """The code system that the name of a column of codes speaks for, if every value is a code of it."""
    if content.dtype not in (pl.String, pl.Categorical, pl.Enum) and not content.dtype.is_integer():
        return None
    said = {word.rstrip("0123456789") for word in words_in(content.name)} | set(words_in(content.name))
    known = content.cast(pl.String).drop_nulls().unique()
    systems = [(name, words) for name, words in _NAMED if name in _OF_DIGITS or not content.dtype.is_integer()]
    for system, words in systems:
        if said & set(words) and len(known) and None not in SYSTEMS[system].look_up(known.to_list()):
            return system
    return None


def _doubling(content: pl.Series, column: Column) -> Hierarchy:
    low, high = column.bounds or _range(content)
    if not low < high:
        return Hierarchy.flat()
    whole = content.dtype.is_integer() if column.bounds is None else is_whole(column)
    width = nice((high - low) / _FINEST_BINS)
    width = max(width, 2.0) if whole else width
    widths = []
    while width < high - low:
        widths.append(width)
        width *= 2
    return Hierarchy.intervals(widths, within=column.bounds) if widths else Hierarchy.flat()


def _range(content: pl.Series) -> tuple[float, float]:
    low, high = content.min(), content.max()
    return (0.0, 0.0) if low is None or high is None else (float(low), float(high))  # type: ignore[arg-type]


def _neighbours(content: pl.Series, column: Column) -> Hierarchy:
    """Levels merged by twos, fours and so on, each named by its first and last level."""
    ordered = levels_like(content, column) if column.levels is not None else distinct_values(content.drop_nulls())[1]
    ordered = ordered.filter(~pl.Series(same_as(ordered, column.absences)))
    names = tuple(as_text(ordered).to_list())
    sizes = [2**power for power in range(1, len(names).bit_length()) if 2**power < len(names)]
    if not sizes:
        return Hierarchy.flat()
    for joint in (" to ", " .. ", " ... ", " up to "):
        columns = [names, *(_merged(names, size, joint) for size in sizes)]
        if _are_apart(columns, names):
            break
    made = Hierarchy.table(list(zip(*columns, strict=True)))
    if column.levels is not None:
        return made
    return replace(made, steps=tuple(_Block(names=names, size=size, joint=joint) for size in sizes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block(Step):
    """Levels to blocks of neighbours, each named by the first and last of its levels that occurs.

    Where the schema lists no levels, a level that nobody in the release has is nobody's business.
    """

    kind: ClassVar[str] = "block"

    names: tuple[str, ...]
    size: int
    joint: str

    def check(self) -> None:
        """Nothing to hold: it is made here only."""

    def _write(self, content: pl.Series) -> pl.Series:
        texts = as_text(content).to_list()
        place = {name: i for i, name in enumerate(self.names)}
        found = sorted({place[text] for text in texts if text is not None})
        ends: dict[int, tuple[int, int]] = {}
        for i in found:
            ends[i // self.size] = (ends.get(i // self.size, (i, i))[0], i)
        labels = {
            block: _named(self.names[first], self.names[last], self.joint) for block, (first, last) in ends.items()
        }
        return pl.Series(
            [None if text is None else labels[place[text] // self.size] for text in texts], dtype=pl.String
        )


def _named(first: str, last: str, joint: str) -> str:
    return first if first == last else f"{first}{joint}{last}"


def follows_schema(content: pl.Series, column: Column) -> bool:
    """Whether the levels of a column follow from its type and its entry in the schema, not from values that occur."""
    if column.hierarchy is not None and column.hierarchy.get("kind") != "default":
        return True
    if column.kind == "numeric" and content.dtype != pl.Boolean:
        return column.bounds is not None
    if bare(content, column).dtype in (pl.Date, pl.Datetime, pl.Boolean):
        return True
    return column.levels is not None


def _merged(names: Sequence[str], size: int, joint: str) -> list[str]:
    starts = [i - i % size for i in range(len(names))]
    blocks = [(names[start], names[min(start + size, len(names)) - 1]) for start in starts]
    return [_named(first, last, joint) for first, last in blocks]


def _are_apart(columns: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Whether no merged block has the name of another block or of a level outside of it."""
    known, n = set(names), len(names)
    sizes_right = all(len(set(column)) == -(-n // 2**power) for power, column in enumerate(columns))
    pairs = ((label, name) for column in columns for label, name in zip(column, names, strict=True))
    return sizes_right and all(label == name or label not in known for label, name in pairs)


def _prefixes(content: pl.Series) -> Hierarchy:
    if content.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return Hierarchy.flat()
    texts = distinct_values(content.cast(pl.String).drop_nulls())[1]
    lengths = texts.str.len_chars().unique()
    if len(lengths) != 1 or lengths[0] < 3 or not texts.str.contains(r"^[0-9]+$").all():
        return Hierarchy.flat()
    return Hierarchy.prefixes(list(range(int(lengths[0]) - 1, 0, -1)))
