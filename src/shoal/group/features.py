"""What groups are balanced on: features of the columns, with guards for the few.

A number gives itself and the square of its centred mid-rank; a column of levels an indicator of each, and so does an
absence. Columns that change hands together (a block) give the products of their features besides, so that what goes
together inside a block is balanced against all others too.

**Guards.** What is balanced is summed over groups, and somebody who stands out in a feature by dozens of standard
deviations would be put into the middle of their group to cancel. So no feature is used on which fewer than `FEWEST`
people differ from its commonest value; each is standardised, clipped at 4 standard deviations and standardised again;
and none is used whose *weight of people*, n divided by its kurtosis after that, is below `FEWEST`: of a feature with
two values that is about the number of people who have the rarer one. Levels of fewer people, and those after the
`MOST_LEVELS` commonest, are one level together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TypeAlias

import numpy as np

from shoal.arrays import FloatArray, IntArray

__all__ = ["FEWEST", "MOST_LEVELS", "Content", "Features", "features_of", "guarded"]

FEWEST = 20
"""People that a feature rests on at least."""
MOST_LEVELS = 30
"""Indicators of one column at most."""
_CLIP = 4.0
_MOST_PRODUCTS = 60  # of one block
_SAME = 0.9999  # a correlation

_Made: TypeAlias = tuple[FloatArray, tuple[FloatArray, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a column holds: numbers (NaN where there is none), levels (0..), or both, a level for each absence."""

    numbers: FloatArray | None = None
    levels: IntArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Standardised features, those of a block side by side.

    Parameters
    ----------
    values
        One row a person, one column a feature.
    block
        The block of each feature, rising.
    people
        How many people each rests on: n divided by its kurtosis.
    """

    values: FloatArray
    block: IntArray
    people: FloatArray


def features_of(blocks: Sequence[Sequence[Content]], n: int) -> Features:
    """Return the features of `n` people in blocks of columns; those that rest on too few are left out.

    Examples
    --------
    >>> import numpy as np
    >>> sex = Content(levels=np.array([0, 1] * 50))
    >>> rare = Content(levels=np.array([1] * 19 + [0] * 81))
    >>> features_of([[sex], [rare]], 100).values.shape
    (100, 1)
    """
    found: list[FloatArray] = []
    people: list[float] = []
    of_block: list[int] = []
    for number, block in enumerate(blocks):
        for values, weight in _of_block(block):
            found.append(values)
            people.append(weight)
            of_block.append(number)
    values = np.ascontiguousarray(np.column_stack(found)) if found else np.empty((n, 0))
    return Features(values=values, block=np.array(of_block, dtype=np.int64), people=np.array(people))


def guarded(values: FloatArray) -> tuple[FloatArray, float] | None:
    """Return a feature standardised and clipped, and how many people it rests on; None where these are too few."""
    n = len(values)
    if n < FEWEST or n - _commonest(values) < FEWEST:
        return None
    once = _standardised(values)
    clipped = None if once is None else _standardised(np.clip(once, -_CLIP, _CLIP))
    if clipped is None:
        return None
    squared = clipped * clipped
    people = n / float(squared @ squared / n)
    return (clipped, people) if people >= FEWEST * (1 - 1e-9) else None


def _of_block(block: Sequence[Content]) -> Iterator[tuple[FloatArray, float]]:
    columns = [_of_column(content) for content in block]
    yield from (made for column in columns for _, made in column)
    yield from islice(_products(columns), _MOST_PRODUCTS)


def _products(columns: Sequence[Sequence[_Made]]) -> Iterator[tuple[FloatArray, float]]:
    """What columns of a block show together; of indicators, who has both levels."""
    for first, second in combinations(columns, 2):
        for a, _ in first:
            for b, _ in second:
                made = guarded(a * b)
                if made is not None:
                    yield made


def _of_column(content: Content) -> list[_Made]:
    """The features of a column: each as it is multiplied, and guarded with its weight of people."""
    numbers = [made for made in map(guarded, _of_numbers(content.numbers)) if made is not None]
    if len(numbers) == 2 and abs(float(numbers[0][0] @ numbers[1][0])) > _SAME * len(numbers[0][0]):
        numbers.pop()  # of two values, the square says nothing new
    indicators = [(raw, made) for raw in _indicators(content.levels) if (made := guarded(raw)) is not None]
    return [*((made[0], made) for made in numbers), *indicators]


def _of_numbers(numbers: FloatArray | None) -> Iterator[FloatArray]:
    """A number, and the square of its centred mid-rank; an absence lies at the mean."""
    if numbers is None:
        return
    known = ~np.isnan(numbers)
    if not known.any():
        return
    present = numbers[known]
    for values in (present, _centred_ranks(present) ** 2):
        out = np.full(len(numbers), float(values.mean()))
        out[known] = values
        yield out


def _centred_ranks(values: FloatArray) -> FloatArray:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2 - 1
    ranks: FloatArray = middle[place.reshape(-1)] / len(values)
    ranks -= ranks.mean()
    return ranks


def _indicators(levels: IntArray | None) -> Iterator[FloatArray]:
    """Indicators of all levels but the commonest, which follows from them; those of few people are one together."""
    if levels is None:
        return
    counts = np.bincount(levels)
    by_size = np.argsort(-counts, kind="stable")
    large = [int(level) for level in by_size[:MOST_LEVELS] if counts[level] >= FEWEST]
    place = np.full(len(counts), len(large), dtype=np.int64)
    place[large] = np.arange(len(large))
    merged = place[levels]
    for level in range(1, len(large) + 1):
        yield (merged == level).astype(np.float64)


def _commonest(values: FloatArray) -> int:
    """How many people have the commonest value."""
    ordered = np.sort(values)
    ends = np.flatnonzero(np.append(np.diff(ordered) != 0, True))
    return int(np.diff(np.append(-1, ends)).max())


def _standardised(values: FloatArray) -> FloatArray | None:
    centred = values - values.mean()
    scale = float(np.sqrt(centred @ centred / len(values)))
    return centred / scale if scale > 1e-9 * max(1.0, float(np.abs(values).max())) else None
