"""The released rows that an intruder would look through: those nearest to a person's true quasi-identifiers.

Equal rows are looked up once, as a point that stands for all of them. For each asked point the rows of the nearest
released points are listed until there are `most` of them, then those that tie with the last, some of them where that is
a crowd. In a coarsened release the intruder, who knows the recoding, looks through the class that the record was
written to, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.equivalence import equal_rows
from shoal.pair import Pair
from shoal.risk.geometry import Geometry
from shoal.risk.nearest import TOLERANCE, known_codes

__all__ = ["Candidates", "candidates", "distinct_questions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Pairs (question, released row) sorted by question and distance.

    Parameters
    ----------
    question, row, distance
        One entry for each pair.
    starts
        Where the pairs of each question that has any begin.
    """

    question: IntArray
    row: IntArray
    distance: FloatArray
    starts: IntArray

    @property
    def lengths(self) -> IntArray:
        """Number of rows of each question."""
        return np.diff(np.append(self.starts, len(self.row)))

    @property
    def place(self) -> IntArray:
        """For each pair, the number of its question among those that have rows."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def nearest(self) -> BoolArray:
        """Whether a row is nearest to its question, or ties with the nearest."""
        first = self.distance[self.starts][self.place]
        return self.distance <= first * (1 + TOLERANCE)

    def nearer(self) -> IntArray:
        """Number of rows that are nearer to the question than this one."""
        step = np.diff(self.distance, prepend=-1.0) > TOLERANCE * self.distance
        step[self.starts] = True
        at = np.arange(len(self.row))
        return np.maximum.accumulate(np.where(step, at, 0)) - self.starts[self.place]


def distinct_questions(pair: Pair, targets: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct questions among `targets`: one record that asks each, and the question of each target."""
    codes = pair.original_codes[targets]
    if pair.cells is not None:
        codes = np.column_stack((codes, pair.cells[0][targets]))
    _, numbers, _ = equal_rows(codes[:0], codes)
    _, first, question = np.unique(numbers, return_index=True, return_inverse=True)
    return targets[first], question.reshape(-1)


def candidates(pair: Pair, asking: IntArray, most: int) -> Candidates:
    """The rows that an intruder looks through for each of the original records `asking`."""
    return _of_class(pair, asking) if pair.cells is not None else _near(pair, asking, most)


def _of_class(pair: Pair, asking: IntArray) -> Candidates:
    assert pair.cells is not None
    own, written = pair.cells
    members, starts = _by_number(written, int(written.max()) + 1)
    known = np.flatnonzero(own[asking] >= 0)
    which, row = _listed(own[asking[known]], members, starts)
    return _sorted(known[which], row, np.zeros(len(row)))


def _near(pair: Pair, asking: IntArray, most: int) -> Candidates:
    codes = known_codes(pair)
    _, point, n = equal_rows(codes[:0], codes)
    members, starts = _by_number(point, n)
    question, found, distance = _nearest_points(
        Geometry.standardised(pair.encoder),
        pair.original_codes[asking],
        codes[members[starts[:-1]]],
        np.diff(starts),
        most,
    )
    which, row = _listed(found, members, starts)
    return _sorted(question[which], row, distance[which])


def _sorted(question: IntArray, row: IntArray, distance: FloatArray) -> Candidates:
    starts = np.flatnonzero(np.diff(question, prepend=-1))
    return Candidates(question=question, row=row, distance=distance, starts=starts)


def _by_number(numbers: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """The rows of each number from 0 to n − 1, one after another, and where each begins (with the end)."""
    return np.argsort(numbers, kind="stable"), np.concatenate(([0], np.cumsum(np.bincount(numbers, minlength=n))))


def _listed(numbers: IntArray, members: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """Every row of every number asked: the position in `numbers`, and the row."""
    lengths = starts[numbers + 1] - starts[numbers]
    which = np.repeat(np.arange(len(numbers)), lengths)
    offset = np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return which, members[starts[numbers[which]] + offset]


def _nearest_points(
    geometry: Geometry, asked: FloatArray, codes: FloatArray, counts: IntArray, most: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Points of each query, nearest first, until they hold `most` rows; and those that tie with the last.

    Where so many tie with the last that there would be more than twice `most`, some of these stand for all, unless they
    are nearest.
    """
    from shoal.risk.mixed_tree import build, nearest_few

    wanted = min(most, len(codes))
    g = geometry
    tree = build(g.coordinates(codes), g.unordered, g.mismatch, g.blank, g.n_levels)
    squared, found = nearest_few(tree, g.coordinates(asked), wanted)
    distance = np.sqrt(squared)
    held = np.cumsum(counts[found], axis=1)
    last = np.minimum((held < most).sum(axis=1), wanted - 1)
    end = distance[np.arange(len(asked)), last][:, None]
    kept = distance <= end * (1 + TOLERANCE)
    before = distance < end * (1 - TOLERANCE)
    crowded = (counts[found] * kept).sum(axis=1) > 2 * most
    some = before | (kept & (held <= most))
    kept = np.where((crowded & before.any(axis=1))[:, None], some, kept)
    question, place = np.nonzero(kept)
    return question, found[question, place], distance[question, place]
