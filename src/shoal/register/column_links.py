"""Which columns of two releases carry the same, whatever they are called: known by a sample of the people in both.

The register keeps the values of the people with the smallest marks, so that the samples of two releases hold the same
people as far as both releases do (coordinated sampling, Cohen 1997). Of each value it keeps a keyed hash, and of a
number besides in which of 32 steps of its order it is: nothing that can be read without the register's key. Two columns
are *linked* if they tell the same about these people beyond what chance would make equal:

- *same values*: the hashes are equal beyond chance, for at least one person in fifty (for half of them, where columns
  have few values);
- *one to one*: each value of one goes with one value of the other, as where levels were recoded;
- *coarser*, *finer*: one follows from the other, as where numbers were rounded or cut into bins;
- *same order*: numbers have the same order or the reverse for most people, as where a factor, a shift or a logarithm
  was applied, or a little noise.

Not recognised: sums and differences of several columns, and noise of the size of half the spread. Cost: (columns of one
that the other has not by name) × (those of the other) × (people in the sample).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.canonical import plain
from shoal.register.person_marks import row_hashes

__all__ = ["Coded", "Link", "Sample", "by_name", "in_both", "linked", "numbers_of", "related", "tells_otherwise"]

SIZE = 1024
"""How many people a sample has."""
_FEWEST = 20  # people in both samples by whom columns can be compared
_STEPS = 32
_EXCESS, _EXCESS_OF_FEW, _FEW = 0.02, 0.5, 0.05  # equal beyond chance; where chance alone makes more than `_FEW` equal
_FOLLOWS = 0.8  # of what isn't the commonest value, told rightly
_NEAR, _IN_ORDER = 2.5 / _STEPS, 0.6  # a place in the order that is nearly the same, and for how many
_ERRORS = 4.0  # standard errors of a share of few people

How = Literal["by name", "same values", "one to one", "same order", "coarser", "finer"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Coded:
    """One column of a sample: the keyed hash of each person's value, and its step in the order; −1: it has none."""

    values: AnyArray
    steps: IntArray

    def of(self, places: IntArray) -> Coded:
        """The same for some of the people."""
        return Coded(values=self.values[places], steps=self.steps[places])


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A column of an earlier release, the one that carries it now, and how it was recognised."""

    earlier: str
    now: str
    how: How

    @property
    def keeps_values(self) -> bool:
        """Whether equal values are written the same in both, so that rows can be joined by their signatures."""
        return self.how in ("by name", "same values")

    def __str__(self) -> str:
        if self.how == "by name":
            return f"{self.now} (by name)"
        return f"{self.now} (by values: {self.how if self.how != 'same values' else 'the same'} as {self.earlier})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sample:
    """What is kept of the columns for the people with the smallest marks.

    Parameters
    ----------
    marks
        The first number of each person's mark, in order.
    unchanged
        The columns that are released as they were.
    quasi
        The quasi-identifiers, as they truly are.
    """

    marks: AnyArray
    unchanged: Mapping[str, Coded]
    quasi: Mapping[str, Coded]

    @classmethod
    def of(cls, key: bytes, marks: AnyArray, whose: IntArray, unchanged: pl.DataFrame, quasi: pl.DataFrame) -> Sample:
        """Make it from rows; `marks` are those of the people in order, and `whose` is the person of each row."""
        n = min(SIZE, len(marks))
        rows = np.flatnonzero(whose < n)
        coded = [
            {one.name: _coded(key, one.gather(rows), whose[rows], n) for one in frame} for frame in (unchanged, quasi)
        ]
        return cls(marks=marks[:n, 0], unchanged=coded[0], quasi=coded[1])

    def to_bytes(self) -> bytes:
        """Write it as Arrow's IPC."""
        columns = [pl.Series("marks", self.marks)]
        for role, coded in (("unchanged", self.unchanged), ("quasi", self.quasi)):
            for name, one in coded.items():
                columns.append(pl.Series(f"{role}:values:{name}", one.values))
                columns.append(pl.Series(f"{role}:steps:{name}", one.steps.astype(np.int8)))
        stream = io.BytesIO()
        pl.DataFrame(columns).write_ipc(stream)
        return stream.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Sample | None:
        """Read it back; None where nothing was kept."""
        if not content:
            return None
        table = pl.read_ipc(io.BytesIO(content))
        found: dict[str, dict[str, Coded]] = {"unchanged": {}, "quasi": {}}
        for name in table.columns[1::2]:
            role, _, own = name.split(":", 2)
            steps = table[f"{role}:steps:{own}"].to_numpy().astype(np.int64)
            found[role][own] = Coded(values=table[name].to_numpy(), steps=steps)
        return cls(marks=table["marks"].to_numpy(), unchanged=found["unchanged"], quasi=found["quasi"])


def _coded(key: bytes, content: pl.Series, whose: IntArray, n: int) -> Coded:
    rows = row_hashes(key, "sampled", pl.DataFrame([content.alias("value")]), len(content))[:, 0]
    values = np.zeros(n, dtype=np.uint64)
    np.add.at(values, whose, rows)
    return Coded(values=values, steps=_steps(numbers_of(content), whose, n))


def numbers_of(content: pl.Series) -> FloatArray:
    """A column as numbers, dates and texts of numbers too; NaN is no number."""
    content = plain(content)
    if content.dtype.is_temporal():
        content = content.to_physical()
    elif content.dtype == pl.String:
        read = content.str.strip_chars().cast(pl.Float64, strict=False)
        content = read if read.null_count() == content.null_count() else pl.Series([None] * len(content))
    return content.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()


def _steps(numbers: FloatArray, whose: IntArray, n: int) -> IntArray:
    known = np.isfinite(numbers)
    counts = np.bincount(whose[known], minlength=n)
    sums = np.bincount(whose[known], weights=numbers[known], minlength=n)
    here = np.flatnonzero(counts)
    found = np.full(n, -1)
    if len(here):
        found[here] = (_shares_below(sums[here] / counts[here]) * _STEPS).astype(np.int64)
    return found


def _shares_below(numbers: AnyArray) -> FloatArray:
    """The share of numbers below each, half of those equal to it counted."""
    different, place, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    share: FloatArray = ((below + counts / 2) / len(numbers))[place.reshape(-1)]
    return np.minimum(share, np.nextafter(1, 0)) if len(different) else share


# ---- comparing


def linked(
    earlier: Mapping[str, Coded], now: Mapping[str, Coded], both: tuple[IntArray, IntArray], *, least: float = _FOLLOWS
) -> list[Link]:
    """The links between columns of two samples, by values alone; `both` are the places of the people in both.

    Parameters
    ----------
    least
        From which share on one column is said to follow from the other.
    """
    first = {name: one.of(both[0]) for name, one in earlier.items()}
    second = {name: one.of(both[1]) for name, one in now.items()}
    found = []
    for name, one in first.items():
        for own, other in second.items():
            how = related(one, other, least=least)
            if how is not None:
                found.append(Link(earlier=name, now=own, how=how))
    return found


def in_both(earlier: Sample, now: Sample) -> tuple[IntArray, IntArray] | None:
    """The places of the people of both samples; None where they are too few to compare columns by."""
    _, first, second = np.intersect1d(earlier.marks, now.marks, return_indices=True)
    return (first, second) if len(first) >= _FEWEST else None


def related(one: Coded, other: Coded, *, least: float = _FOLLOWS) -> How | None:
    """How a second column carries the first, for the same people; None: it doesn't."""
    if _are_equal(one.values, other.values):
        return "same values"
    if _in_order(one.steps, other.steps):
        return "same order"
    there, back = _follows(one.values, other.values), _follows(other.values, one.values)
    if min(there, back) >= least:
        return "one to one"
    if max(there, _follows_steps(one, other)) >= least:
        return "coarser"
    return "finer" if max(back, _follows_steps(other, one)) >= least else None


def tells_otherwise(earlier: Sample, now: Sample) -> bool:
    """Whether columns of the same name have nothing in common for people of the same mark: these are others.

    So it is where identifiers were dealt out anew among the same numbers.
    """
    both = in_both(earlier, now)
    if both is None:
        return False
    first = {**earlier.unchanged, **earlier.quasi}
    second = {**now.unchanged, **now.quasi}
    pairs = [(first[name].of(both[0]), second[name].of(both[1])) for name in first if name in second]
    telling = [(one, other) for one, other in pairs if _varies(one.values) and _varies(other.values)]
    return len(telling) > 1 and not any(related(one, other) for one, other in telling)


def _varies(values: AnyArray) -> bool:
    counts = np.unique(values, return_counts=True)[1]
    return bool(counts.max() < 0.9 * len(values))


def _are_equal(one: AnyArray, other: AnyArray) -> bool:
    n = len(one)
    values, counts = np.unique(one, return_counts=True)
    same, theirs = np.unique(other, return_counts=True)
    _, mine, own = np.intersect1d(values, same, return_indices=True)
    chance = float((counts[mine] / n * (theirs[own] / n)).sum())
    if chance >= 1:
        return False  # one value: it tells nothing
    excess = (float((one == other).mean()) - chance) / (1 - chance)
    error = _ERRORS * (chance * (1 - chance) / n) ** 0.5 + _ERRORS / n
    return bool(excess >= max(_EXCESS_OF_FEW if chance > _FEW else _EXCESS, error))


def _in_order(one: IntArray, other: IntArray) -> bool:
    known = (one >= 0) & (other >= 0)
    n = int(known.sum())
    if n < _FEWEST or n < len(one) / 2:
        return False
    first, second = _shares_below(one[known]), _shares_below(other[known])
    if min(len(np.unique(first)), len(np.unique(second))) < 8:
        return False  # few levels: the hashes tell better
    least = max(_IN_ORDER, 2 * _NEAR + _ERRORS / 2 / n**0.5)
    near = (float((np.abs(first - to) <= _NEAR).mean()) for to in (second, 1 - second))
    return bool(max(near) >= least)


def _follows_steps(one: Coded, other: Coded) -> float:
    known = one.steps >= 0
    if known.sum() < _FEWEST or known.mean() < 0.5:
        return 0.0
    return _follows(one.steps[known], other.values[known])


def _follows(from_: AnyArray, to: AnyArray) -> float:
    """How much of what isn't the commonest value of `to` is told rightly by others with the same value of `from_`.

    Nobody's own value is used to tell it, so a column in which all differ tells nothing.
    """
    rows = pl.DataFrame({"from": from_, "to": to}).with_columns(
        group=pl.len().over("from"), own=pl.len().over("from", "to")
    )
    rows = rows.filter(pl.col("group") > 1)
    if rows.height < max(_FEWEST, len(to) / 2):
        return 0.0
    base = int(rows["to"].value_counts()["count"].max()) / rows.height  # type: ignore[arg-type]
    if rows.height * (1 - base) < 10:
        return 0.0
    best = rows.group_by("from", "to").agg(pl.col("own").first()).sort("own", descending=True)
    top = best.group_by("from", maintain_order=True).agg(
        first=pl.col("own").first(), second=pl.col("own").slice(1, 1).first().fill_null(0), winner=pl.col("to").first()
    )
    told = rows.join(top, on="from")
    right = told.filter((pl.col("to") == pl.col("winner")) & (pl.col("own") - 1 >= pl.col("second")))
    return (right.height / rows.height - base) / (1 - base)


def by_name(columns: Sequence[str], others: Sequence[str]) -> list[Link]:
    """The links between columns that have the same name."""
    return [Link(earlier=name, now=name, how="by name") for name in columns if name in others]
