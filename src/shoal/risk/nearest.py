"""Nearest rows with all their ties, for tables with many equal rows.

Every match of an intruder is a question of the same form: which rows of one table are nearest to each row of
another? Equal rows are asked once and counted: a survey of 15,000 persons has some 300 distinct points. Rows found
as they are need no search; the others go down a tree over numbers and levels (`mixed_tree`) that leaves out what is
too far. **Ties**: distances that agree up to a factor 1 + 1e-9 are equal.

**Exact or sampled.** Some queries are searched first and their work is counted. Where the forecast for all of them is
small (always for up to 20,000 distinct rows on either side), every row is asked. Where it isn't, a simple random sample
of 2,000 to 10,000 query rows (5,000 at most where rows are nobody's) is asked, each against all targets, and the result
says so: `rows` holds those asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.distance.threads import in_chunks
from shoal.equivalence import equal_rows
from shoal.pair import Pair
from shoal.risk import all_pairs
from shoal.risk.all_pairs import is_small
from shoal.risk.geometry import Geometry
from shoal.rng import stream

if TYPE_CHECKING:
    from shoal.risk.mixed_tree import Tree

__all__ = [
    "TOLERANCE",
    "Matches",
    "Searcher",
    "distances",
    "in_code_order",
    "known_codes",
    "match",
    "match_pair",
    "numbered",
    "rows_in_ties",
    "runner_up",
]

Values = TypeVar("Values", IntArray, FloatArray)

TOLERANCE = 1e-9
_BLOCK = 4_000_000
_SMALL = 20_000  # distinct rows of either table up to which everybody is asked
_AFFORDABLE = 250_000_000  # targets looked at (a part of the tree counts as four): some four seconds
_MANY_TIES = 20_000_000  # pairs of a query and a target that ties: some 300 MB
_WORTH_THREADS = 2_000
_PILOT = 400  # queries searched for the forecast
_FEWEST, _MOST = 2_000, 10_000  # rows of a sample: a share of 1/k is seen to within 0.01 to 0.02
_MOST_OF_NOBODY = 5_000  # of rows that are nobody's: a share is seen to within 0.014


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The nearest target rows of each query row, by distinct points.

    Parameters
    ----------
    queries, targets
        The distinct point of each query row that was asked, and of each target row.
    counts
        Number of target rows at each distinct target point.
    query, target
        Pairs of distinct points: `target` is nearest to `query`, or ties with the nearest. Sorted by `query`.
    exact
        Whether each distinct query point is also a target point.
    second
        Distance of each distinct query to the second nearest target point; infinite where it was not looked for.
    rows
        The query rows that were asked; None where all were.
    searcher
        The tree over the distinct targets, for a second look.
    """

    queries: IntArray
    targets: IntArray
    counts: IntArray
    query: IntArray
    target: IntArray
    exact: BoolArray
    second: FloatArray
    rows: IntArray | None = None
    searcher: Searcher | None = field(default=None, repr=False, compare=False)

    @property
    def sampled(self) -> bool:
        """Whether the query rows asked are a random sample."""
        return self.rows is not None

    def of_asked(self, values: Values) -> Values:
        """Of values of each query row, those of the rows that were asked."""
        return values if self.rows is None else values[self.rows]

    @property
    def n_queries(self) -> int:
        """Number of distinct query points."""
        return len(self.exact)

    def n_ties(self) -> IntArray:
        """Number of target rows nearest to each distinct query point."""
        ties = np.zeros(self.n_queries, dtype=np.int64)
        np.add.at(ties, self.query, self.counts[self.target])
        return ties


def match_pair(pair: Pair, *, seed: int = 0, everyone: bool = False) -> Matches:
    """The released rows nearest to each original row, by Euclidean distance between standardised points.

    In a coarsened release the intruder, who knows the recoding, finds the class that the record was written to: the
    rows of that class are nearest and tie. A record that was left out goes to the nearest rows as they are read.
    In rows that are nobody's there is nobody to find: of large tables a sample of people is asked, for what can be
    guessed of them. `everyone` asks all rows whatever it costs; `seed` repeats the sample that is asked else.
    """
    geometry, codes = Geometry.standardised(pair.encoder), known_codes(pair)
    if pair.cells is not None:
        return match(*_in_cells(pair, codes), geometry, seed=seed, everyone=everyone)
    nobodys = not (pair.source_rows >= 0).any()
    return match(
        pair.original_codes, codes, geometry, seed=seed, everyone=everyone, frugal=nobodys, numbers=numbered(pair)
    )


def numbered(pair: Pair) -> tuple[IntArray, IntArray, int]:
    """The distinct rows of the original and of the known codes of the release, numbered together."""
    return pair.once("distinct rows", lambda: equal_rows(pair.original_codes, known_codes(pair)))


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
    return pair.once("known codes", lambda: _filled(pair))


def _filled(pair: Pair) -> FloatArray:
    blank = np.isnan(pair.released_codes)
    if not blank.any():
        return pair.released_codes
    return np.where(blank, np.array([coding.center for coding in pair.encoder.codings]), pair.released_codes)


def match(
    queries: FloatArray,
    targets: FloatArray,
    geometry: Geometry,
    *,
    seed: int = 0,
    everyone: bool = False,
    frugal: bool = False,
    second: bool = False,
    numbers: tuple[IntArray, IntArray, int] | None = None,
) -> Matches:
    """The rows of `targets` nearest to each row of `queries`, or to a sample of them where all would cost too much.

    Parameters
    ----------
    queries, targets
        Codes. Columns on the right beyond those of `geometry` tell rows apart but have no distance.
    seed
        Repeats the sample. It is drawn from rows ordered by their codes, so that their order in the table plays no
        part.
    everyone
        Ask every row, whatever it costs.
    frugal
        Ask every row only of small tables, even where more would cost little.
    second
        Look for the distance to the second nearest target too.
    numbers
        Numbers of the distinct rows of both, as `shoal.equivalence.equal_rows` gives them; None: found here.
    """
    query_ids, target_ids, n = equal_rows(queries, targets) if numbers is None else numbers
    target_rows, target_of = _representatives(target_ids, n)
    small = is_small(len(queries), len(target_rows))
    searcher = Searcher(targets=targets[target_rows], geometry=geometry, look=1 if second else 0, small=small)
    rows = None if everyone else _sample(queries, _lost(query_ids, target_of, n), searcher, seed, frugal)
    if rows is not None:
        queries, query_ids = queries[rows], query_ids[rows]
    query_rows, query_of = _representatives(query_ids, n)
    same = target_of[query_ids[query_rows]]
    lost = np.flatnonzero(same < 0)
    following = np.full(len(query_rows), np.inf)
    query, target = np.flatnonzero(same >= 0), same[same >= 0]
    if len(lost):
        found = searcher.ask(queries[query_rows[lost]])
        following[lost] = found.following
        query, target = np.concatenate([query, lost[found.query]]), np.concatenate([target, found.target])
    order = np.argsort(query, kind="stable")
    return Matches(
        queries=query_of[query_ids],
        targets=target_of[target_ids],
        counts=np.bincount(target_of[target_ids], minlength=len(target_rows)),
        query=query[order],
        target=target[order],
        exact=same >= 0,
        second=following,
        rows=rows,
        searcher=searcher,
    )


def runner_up(matches: Matches, codes: FloatArray, asked: IntArray) -> tuple[IntArray, IntArray]:
    """The second nearest distinct targets, with ties, of the distinct queries `asked`, as pairs.

    `codes` are those of all distinct queries.
    """
    if matches.searcher is None or len(asked) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    found = matches.searcher.ask(codes[asked], skip=1)
    return asked[found.query], found.target


def distances(queries: FloatArray, targets: FloatArray, geometry: Geometry) -> FloatArray:
    """The distance of each row of `queries` to the nearest of distinct `targets`."""
    small = is_small(len(queries), len(targets))
    return Searcher(targets=targets, geometry=geometry, look=0, small=small).ask(queries).nearest


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


def _lost(query_ids: IntArray, target_of: IntArray, n: int) -> IntArray:
    """A query row for each distinct query that no target equals."""
    rows, _ = _representatives(query_ids, n)
    return rows[target_of[query_ids[rows]] < 0]


def _sample(queries: FloatArray, lost: IntArray, searcher: Searcher, seed: int, frugal: bool) -> IntArray | None:
    """The query rows to ask where it would cost too much to ask all; `lost` are those that need a search."""
    if max(len(lost), searcher.n_targets) <= _SMALL or len(lost) * searcher.n_targets <= _MANY_TIES:
        return None
    generator = stream(seed, "nearest rows", "sample")
    pilot = in_code_order(queries[lost])[generator.choice(len(lost), min(_PILOT, len(lost)), replace=False)]
    tried = searcher.ask(queries[lost[pilot]])
    work, ties = float(tried.work.mean()), len(tried.query) / len(pilot)
    if not frugal and work * len(lost) <= _AFFORDABLE and ties * len(lost) <= _MANY_TIES:
        return None
    size = int(np.clip(min(_AFFORDABLE / work, _MANY_TIES / ties), _FEWEST, _MOST_OF_NOBODY if frugal else _MOST))
    if size >= len(queries):
        return None
    return np.sort(in_code_order(queries)[generator.choice(len(queries), size, replace=False)])


def in_code_order(codes: FloatArray) -> IntArray:
    """Row numbers in an order that depends on the rows' codes alone (equal rows in the order of the table)."""
    key = np.zeros(len(codes), dtype=np.uint64)
    for j in range(codes.shape[1]):
        key = (key ^ (codes[:, j] + 0.0).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return np.argsort(key, kind="stable")


_Part: TypeAlias = tuple[IntArray, IntArray, FloatArray, IntArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Pairs of a query and a target that ties, each query's distance to the nearest and the next, and its work."""

    query: IntArray
    target: IntArray
    nearest: FloatArray
    following: FloatArray
    work: IntArray


@dataclass(frozen=True, kw_only=True)
class Searcher:
    """Distinct targets that can be searched: all of them in a `small` table, else by a tree, built when first asked."""

    targets: FloatArray
    geometry: Geometry
    look: int
    small: bool

    @property
    def n_targets(self) -> int:
        """Number of distinct targets."""
        return len(self.targets)

    @cached_property
    def tree(self) -> Tree:
        """The tree over the targets."""
        from shoal.risk.mixed_tree import build

        g = self.geometry
        return build(g.coordinates(self.targets), g.unordered, g.mismatch, g.blank, g.n_levels)

    def ask(self, codes: FloatArray, skip: int = 0) -> _Found:
        """The targets that tie with neighbour number `skip` (from 0) of each row of `codes`."""
        slack = (1 + TOLERANCE) ** 2
        if self.small:
            parts = {0: all_pairs.search(self.geometry, self.targets, codes, skip, slack)}
        else:
            parts = self._in_tree(codes, skip, slack)
        firsts = sorted(parts)
        near = np.concatenate([parts[first][2] for first in firsts])
        return _Found(
            query=np.concatenate([parts[first][0] + first for first in firsts]),
            target=np.concatenate([parts[first][1] for first in firsts]),
            nearest=np.sqrt(near[:, 0]),
            following=np.sqrt(near[:, 1]) if self.look else np.full(len(codes), np.inf),
            work=np.concatenate([parts[first][3] for first in firsts]),
        )

    def _in_tree(self, codes: FloatArray, skip: int, slack: float) -> dict[int, _Part]:
        from shoal.risk.mixed_tree import search

        tree, queries = self.tree, self.geometry.coordinates(codes)
        parts: dict[int, _Part] = {}

        def call(first: int, last: int) -> None:
            parts[first] = search(tree, queries[first:last], skip, max(skip, self.look), slack)

        in_chunks(call, len(queries), _WORTH_THREADS)
        return parts
