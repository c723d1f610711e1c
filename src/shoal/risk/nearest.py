"""Nearest rows with all their ties, for tables with many equal rows.

Every match of an intruder is a question of the same form: which rows of one table are nearest to each row of
another? Equal rows are asked once and counted: a survey of 15,000 persons has some 300 distinct points. Rows found
as they are need no search; the others ask a k-d tree for more neighbours until the last one is further than the
first by more than the tolerance. **Ties**: distances that agree up to a factor 1 + 1e-9 are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.classes import equal_rows
from shoal.pair import Pair

__all__ = ["TOLERANCE", "Matches", "Place", "known_codes", "match", "match_pair", "rows_in_ties", "runner_up"]

Place: TypeAlias = Callable[[FloatArray], FloatArray]

TOLERANCE = 1e-9
_BLOCK = 4_000_000
_LEAF = 32
_WORTH_THREADS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The nearest target rows of each query row, by distinct points.

    Parameters
    ----------
    queries, targets
        The distinct point of each query row and of each target row.
    counts
        Number of target rows at each distinct target point.
    query, target
        Pairs of distinct points: `target` is nearest to `query`, or ties with the nearest. Sorted by `query`.
    exact
        Whether each distinct query point is also a target point.
    second
        Distance of each distinct query to the second nearest target point; infinite where it was not looked for.
    """

    queries: IntArray
    targets: IntArray
    counts: IntArray
    query: IntArray
    target: IntArray
    exact: BoolArray
    second: FloatArray

    @property
    def n_queries(self) -> int:
        """Number of distinct query points."""
        return len(self.exact)

    def n_ties(self) -> IntArray:
        """Number of target rows nearest to each distinct query point."""
        ties = np.zeros(self.n_queries, dtype=np.int64)
        np.add.at(ties, self.query, self.counts[self.target])
        return ties


def match_pair(pair: Pair) -> Matches:
    """The released rows nearest to each original row, by Euclidean distance between standardised points.

    In a coarsened release the intruder, who knows the recoding, finds the class that the record was written to: the
    rows of that class are nearest and tie. A record that was left out goes to the nearest rows as they are read.
    """
    codes = known_codes(pair)
    if pair.cells is None:
        return match(pair.original_codes, codes, pair.encoder.points)
    return match(*_in_cells(pair, codes), lambda part: pair.encoder.points(part[:, :-1]))


def _in_cells(pair: Pair, codes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Originals as their class is read, and released rows, both with the number of their class as a last column."""
    assert pair.cells is not None
    own, written = pair.cells
    example = np.zeros(int(written.max()) + 1, dtype=np.int64)
    example[written] = np.arange(len(written))
    known = own >= 0
    seen = pair.original_codes.copy()
    seen[known] = codes[example[own[known]]]
    return np.column_stack((seen, own)), np.column_stack((codes, written))


def known_codes(pair: Pair) -> FloatArray:
    """The codes of the release; where a number was blanked out, the original's mean stands in."""
    centers = np.array([coding.center for coding in pair.encoder.codings])
    return np.where(np.isnan(pair.released_codes), centers, pair.released_codes)


def match(queries: FloatArray, targets: FloatArray, place: Place) -> Matches:
    """The rows of `targets` nearest to each row of `queries`; `place` turns codes into comparable points."""
    query_ids, target_ids, n = equal_rows(queries, targets)
    query_rows, query_of = _representatives(query_ids, n)
    target_rows, target_of = _representatives(target_ids, n)
    same = target_of[query_ids[query_rows]]
    lost = np.flatnonzero(same < 0)
    asked, found, distance = _search(place(queries[query_rows[lost]]), place(targets[target_rows]), skip=0)
    second = np.full(len(query_rows), np.inf)
    second[lost] = distance
    query = np.concatenate([np.flatnonzero(same >= 0), lost[asked]])
    target = np.concatenate([same[same >= 0], found])
    order = np.argsort(query, kind="stable")
    return Matches(
        queries=query_of[query_ids],
        targets=target_of[target_ids],
        counts=np.bincount(target_of[target_ids], minlength=len(target_rows)),
        query=query[order],
        target=target[order],
        exact=same >= 0,
        second=second,
    )


def runner_up(queries: FloatArray, targets: FloatArray, asked: IntArray) -> tuple[IntArray, IntArray]:
    """The second nearest of distinct `targets`, with ties, for the rows `asked` of `queries`, as pairs."""
    if len(targets) < 2 or len(asked) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    found, target, _ = _search(queries[asked], targets, skip=1)
    return asked[found], target


def rows_in_ties(
    matches: Matches, target_category: IntArray, query: IntArray, category: IntArray, n_categories: int
) -> IntArray:
    """How many of the target rows nearest to the point `query` belong to `category`, pair by pair.

    `target_category` is the category of each target row; those with a negative one belong to none.
    """
    known = target_category >= 0
    keys = matches.targets[known] * n_categories + target_category[known]
    table, counts = np.unique(keys, return_counts=True)
    asked, back = np.unique(query * n_categories + category, return_inverse=True)
    answers = np.zeros(len(asked), dtype=np.int64)
    if len(table) == 0:
        return answers[back]
    starts = np.searchsorted(matches.query, np.arange(matches.n_queries + 1))
    for block, part, target in _expand(matches.target, starts, asked // n_categories):
        wanted = target * n_categories + asked[part] % n_categories
        place = np.minimum(np.searchsorted(table, wanted), len(table) - 1)
        hits = np.where(table[place] == wanted, counts[place], 0)
        answers[block] = np.bincount(part - block.start, weights=hits, minlength=block.stop - block.start)
    return answers[back]


def _expand(target: IntArray, starts: IntArray, query: IntArray) -> Iterator[tuple[slice, IntArray, IntArray]]:
    """All (position in `query`, tied target), in blocks of bounded memory."""
    lengths = starts[query + 1] - starts[query]
    total = np.cumsum(lengths)
    begin = 0
    while begin < len(query):
        done = total[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, done + _BLOCK, side="right")))
        part = np.repeat(np.arange(begin, end), lengths[begin:end])
        offset = np.arange(len(part)) - np.repeat(total[begin:end] - lengths[begin:end] - done, lengths[begin:end])
        yield slice(begin, end), part, target[starts[query[part]] + offset]
        begin = end


def _representatives(ids: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """A row for each number that occurs in `ids`, and for each of the `n` numbers its place among those (or −1)."""
    row = np.full(n, -1, dtype=np.int64)
    row[ids] = np.arange(len(ids))
    occurs = row >= 0
    return row[occurs], np.where(occurs, np.cumsum(occurs) - 1, -1)


def _search(queries: FloatArray, targets: FloatArray, skip: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Targets that tie with neighbour number `skip` (from 0), for each query: ask for ever more until the tie ends.

    The third array is the distance of each query to the neighbour after that one, infinite where there is none.
    """
    from scipy.spatial import cKDTree

    none, following = np.empty(0, dtype=np.int64), np.full(len(queries), np.inf)
    if len(queries) == 0:
        return none, none, following
    queries, targets = _some_column(queries), _some_column(targets)
    inner = cKDTree(targets, leafsize=_LEAF).indices
    tree = cKDTree(targets[inner], leafsize=_LEAF)
    # Neighbouring queries walk the same branches: in this order most of the tree stays in the cache.
    rows = cKDTree(queries, leafsize=_LEAF).indices
    found: list[tuple[IntArray, IntArray]] = []
    wanted = skip + 2
    while len(rows):
        wanted = min(wanted, len(targets))
        size = max(1, _BLOCK // wanted)
        blocks = [rows[i : i + size] for i in range(0, len(rows), size)]
        answers = [_ask(tree, queries, block, wanted, skip, following) for block in blocks]
        found += [(query, inner[target]) for query, target, _ in answers]
        rows = np.concatenate([unsettled for _, _, unsettled in answers])
        wanted *= 4
    query = np.concatenate([query for query, _ in found])
    return query, np.concatenate([target for _, target in found]), following


def _some_column(points: FloatArray) -> FloatArray:
    return points if points.shape[1] else np.zeros((len(points), 1))


def _ask(
    tree: Any, queries: FloatArray, rows: IntArray, wanted: int, skip: int, following: FloatArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Pairs of the queries whose ties end within `wanted` neighbours, and the queries whose ties don't."""
    workers = -1 if len(rows) > _WORTH_THREADS else 1
    distance, target = tree.query(queries[rows], k=np.arange(1, wanted + 1), workers=workers)
    if wanted > skip + 1:
        following[rows] = distance[:, skip + 1]
    limit = distance[:, skip] * (1 + TOLERANCE)
    settled = (distance[:, -1] > limit) | (wanted == tree.n)
    tied = (distance <= limit[:, None]) & settled[:, None]
    tied[:, :skip] = False
    row, column = np.nonzero(tied)
    return rows[row], target[row, column], rows[~settled]
