"""A chain of building blocks: each column given those before it, fitted to noisy tables of pairs, drawn exactly.

Column i, in an order that puts strongly tied columns next to each other, has the log-linear block

    Pr(x_i = c | earlier) ∝ p_i(c) Π_{j ∈ parents} W_ij[x_j, c],

the distribution of maximum entropy that has the wanted margins with its parents. W comes from iterative proportional
fitting over a *pool* of rows drawn from the blocks before, so all parents are fitted together and none counts twice.

Noise is told from signal by empirical Bayes. Let D be the noisy table of (j, i) minus what the chain expects so far
(m). D = truth + noise with the pair's known variance s²; the truth is given a prior N(0, t m^g), and t and
g ∈ {0, 1, 2} are the most likely ones. A pair becomes a parent if that explains D better than noise alone (by `_CLEAR`
in log likelihood), strongest first, and its wanted margin is m plus what `tables.believed` keeps of D. Pairs that say
nothing new are left out. `unexplained` gives t m^g for all pairs: where another measurement would help.

Everything here looks at noisy tables only: post-processing, without a price. Rows drawn from a chain are exact draws
of it: there is no start row to forget, as Gibbs sampling has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import AnyArray, FloatArray, Generator, IntArray
from shoal.synth.tables import NoisyTables, believed

__all__ = ["Chain", "Link", "fit_chain", "unexplained"]

POOL = 10_000
_SKETCH = 3_000  # rows of the pool where a chain is only asked what it leaves open
_CLEAR = 3.0
_STEPS = (4, 12)  # rounds of raking while parents are added, and at the end
_CLOSE = 5e-4
_KEYS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The block of one column: its margin, its parents and their tables W (rows by the parent's cell)."""

    column: int
    base: FloatArray
    parents: tuple[int, ...]
    weights: tuple[FloatArray, ...]

    def to_dict(self) -> dict[str, Any]:
        """The block as JSON-safe words, to six digits."""
        return {
            "column": self.column,
            "base": _rounded(self.base),
            "parents": list(self.parents),
            "weights": [_rounded(table) for table in self.weights],
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Link:
        """Read a block back from its words."""
        return cls(
            column=words["column"],
            base=np.array(words["base"], dtype=np.float64),
            parents=tuple(words["parents"]),
            weights=tuple(np.array(table, dtype=np.float64) for table in words["weights"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """All blocks in the order in which they are drawn."""

    links: tuple[Link, ...]
    total: float

    def draw(self, n: int, rng: Generator) -> IntArray:
        """Draw `n` rows of cells; along rows with equal parents the draws are spread evenly, so that shares fit."""
        from shoal.synth._chain_kernels import draw_chain

        sizes = {link.column: len(link.base) for link in self.links}
        columns: dict[int, AnyArray] = {}
        Y = np.zeros((n, len(self.links)), dtype=np.int32)
        for link in self.links:
            rank = _spread(columns, sizes, link.parents, n, rng)
            flat = [table.ravel() for table in link.weights]
            at = np.cumsum([0, *(len(table) for table in flat)])[:-1].astype(np.int64)
            W = np.concatenate([*flat, np.empty(0)])
            parents = np.array(link.parents, dtype=np.int64)
            drawn = draw_chain(Y, rank, rng.random(), link.base, parents, W, at)
            Y[:, link.column], columns[link.column] = drawn, drawn
        return np.column_stack([columns[i] for i in range(len(columns))]).astype(np.int64, order="F")

    def to_dict(self) -> dict[str, Any]:
        """The chain as JSON-safe words."""
        return {"total": self.total, "links": [link.to_dict() for link in self.links]}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Chain:
        """Read a chain back from its words."""
        return cls(total=words["total"], links=tuple(Link.from_dict(link) for link in words["links"]))


def fit_chain(
    tables: NoisyTables, missing: Sequence[int | None], rng: Generator, most_parents: int | None = None
) -> Chain:
    """Build the chain from noisy tables; at most `most_parents` for each column (1 makes a tree)."""
    shares, total = tables.margins(missing)
    limit = len(shares) if most_parents is None else most_parents
    blocks = _blocks(tables, shares, total, rng, limit, POOL)
    return Chain(links=tuple(block.link() for block in blocks), total=total)


def unexplained(
    tables: NoisyTables, missing: Sequence[int | None], rng: Generator
) -> dict[tuple[int, int], FloatArray]:
    """For every measured pair the variance t m^g of its cells around what a chain expects without it.

    For a parent that is what the chain expected before it was added, for other pairs what it expects in the end.
    """
    shares, total = tables.margins(missing)
    blocks = _blocks(tables, shares, total, rng, len(shares), _SKETCH)
    judged = [(j, block.i, prior) for block in blocks for j, prior in block.priors.items()]
    return {(min(i, j), max(i, j)): prior if i < j else prior.T for i, j, prior in judged}


def _blocks(
    tables: NoisyTables, shares: Sequence[FloatArray], total: float, rng: Generator, limit: int, n_rows: int
) -> list[_Block]:
    """The block of every column, in the order in which they are drawn; each has seen the draws of those before."""
    Y = np.zeros((n_rows, len(shares)), dtype=np.int64, order="F")
    blocks: list[_Block] = []
    for i in _order(tables, shares, total):
        block = _Block(i=i, tables=tables, Y=Y, base=shares[i], total=total)
        block.fit([before.i for before in blocks], limit)
        Y[:, i] = block.drawn(rng)
        blocks.append(block)
    return blocks


class _Block:
    """One column's block while it is fitted."""

    def __init__(self, *, i: int, tables: NoisyTables, Y: IntArray, base: FloatArray, total: float) -> None:
        self.i, self.tables, self.Y, self.base, self.scale = i, tables, Y, base, total / len(Y)
        self.P = np.tile(base, (len(Y), 1))
        self.parents: list[int] = []
        self.targets: dict[int, FloatArray] = {}
        self.weights: dict[int, FloatArray] = {}
        self.priors: dict[int, FloatArray] = {}

    def fit(self, placed: Sequence[int], limit: int) -> None:
        """Add parents, strongest first, one, one, two, four at a time; rake after each round."""
        batch = 1
        while len(self.parents) < limit:
            found = self._candidates(placed)[: min(batch, limit - len(self.parents))]
            if not found:
                break
            for _, j, m, D in found:
                truth = believed(D, self.priors[j], self.tables.variance(j, self.i))
                self.parents.append(j)
                self.targets[j], self.weights[j] = np.maximum(m + truth, 1e-9), np.ones_like(m)
            self._rake(_STEPS[0])
            batch = 1 if len(self.parents) < 2 else 2 * batch
        self._rake(_STEPS[1])

    def _candidates(self, placed: Sequence[int]) -> list[tuple[float, int, FloatArray, FloatArray]]:
        """Pairs that say something new: how much (in records), the column, what is expected, and deviations from it."""
        from shoal.synth._chain_kernels import judge, margin

        found = []
        for j in placed:
            noisy = self.tables.pair(j, self.i) if j not in self.parents else None
            if noisy is None:
                continue
            m = margin(self.P, self.Y[:, j], noisy.shape[0]) * self.scale
            D, s2 = noisy - m, self.tables.variance(j, self.i)
            t, g, gain = judge(D, m, s2)
            self.priors[j] = prior = t * np.maximum(m, 1e-9) ** g
            if gain > _CLEAR:
                found.append((_strength(prior, s2), j, m, D))
        return sorted(found, key=lambda item: -item[0])

    def _rake(self, rounds: int) -> None:
        from shoal.synth._chain_kernels import rake

        for _ in range(rounds if self.parents else 0):
            off = [rake(self.P, self.Y[:, j], self.targets[j], self.weights[j]) for j in self.parents]
            if max(off) < _CLOSE or len(self.parents) == 1:
                break

    def drawn(self, rng: Generator) -> IntArray:
        from shoal.synth._chain_kernels import draw_rows

        columns = {j: self.Y[:, j] for j in self.parents}
        rank = _spread(columns, dict(enumerate(self.tables.sizes)), self.parents, len(self.Y), rng)
        return np.asarray(draw_rows(self.P, rank, rng.random()), dtype=np.int64)

    def link(self) -> Link:
        weights = tuple(self.weights[j] for j in self.parents)
        return Link(column=self.i, base=self.base, parents=tuple(self.parents), weights=weights)


def _order(tables: NoisyTables, shares: Sequence[FloatArray], total: float) -> list[int]:
    """Start with the column most tied to others; then always the one most tied to a column already there."""
    ties = _ties(tables, shares, total)
    order = [int(np.argmax(ties.sum(axis=1)))]
    while len(order) < len(shares):
        rest = [i for i in range(len(shares)) if i not in order]
        order.append(max(rest, key=lambda i: (ties[i, order].max(), ties[i, order].sum())))
    return order


def _ties(tables: NoisyTables, shares: Sequence[FloatArray], total: float) -> FloatArray:
    """How far each measured pair is from independent, beyond noise."""
    from shoal.synth._chain_kernels import judge

    ties = np.zeros((len(shares), len(shares)))
    for (i, j), noisy in tables.pairs.items():
        m = np.outer(shares[i], shares[j]) * total
        s2 = tables.variance(i, j)
        t, g, gain = judge(noisy - m, m, s2)
        if gain > _CLEAR:
            ties[i, j] = ties[j, i] = _strength(t * np.maximum(m, 1e-9) ** g, s2)
    return ties


def _strength(prior: FloatArray, variance: float) -> float:
    """How many records a pair is expected to move, beyond noise."""
    return float((prior / np.sqrt(prior + variance)).sum())


def _spread(
    columns: Mapping[int, AnyArray], sizes: Mapping[int, int], parents: Sequence[int], n: int, rng: Generator
) -> IntArray:
    """The rank of each row among all, sorted by its first parents, in random order among equals."""
    key, used = np.zeros(n, dtype=np.int16), 1
    for j in parents:
        if used * sizes[j] <= _KEYS:
            key, used = (key * np.int16(sizes[j]) + columns[j].astype(np.int16)), used * sizes[j]
    mixed = rng.permutation(n)
    rank = np.empty(n, dtype=np.int64)
    rank[mixed[np.argsort(key[mixed], kind="stable")]] = np.arange(n)
    return rank


def _rounded(table: FloatArray) -> list[Any]:
    digits = np.vectorize(lambda value: float(f"{value:.6g}"), otypes=[np.float64])
    return list((digits(table) if table.size else table).tolist())
