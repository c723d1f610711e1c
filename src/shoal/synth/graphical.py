"""A graphical model of noisy tables: one distribution that weighs all of them together.

Tables y_r of one or two columns were measured with noise of variance v_r. The model is the distribution with potentials
θ_r on these tables,

    μ ∝ exp Σ_r θ_r[x_r],    scaled to the number of records,    least Σ_r |μ_r − y_r|² / (2 v_r),

found by mirror descent, θ_r ← θ_r − step · (μ_r − y_r) / v_r, along a junction tree (McKenna, Sheldon and Miklau,
"Graphical-model based estimation and inference for differential privacy", 2019). Among all distributions with the
same tables it is the one of largest entropy. Nothing is negative and all tables agree, so nothing needs to be repaired
afterwards. All of it is computed from noisy tables: it costs nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.synth._graph_kernels import Wiring, calibrated, descend, draw_keyed, pairs_with, wired
from shoal.synth.junction import Junction, Region, junction
from shoal.synth.levels import believed_counts, believed_ends
from shoal.synth.tables import keys, mean_of_two

__all__ = ["Graphical", "Sightings", "fit_graphical"]

NEVER = -1e4  # the potential of a cell that is taken to be empty
_RAKED = 3  # rounds of proportional fitting
_LEAST = 1e-30


@dataclass(frozen=True, slots=True, kw_only=True)
class Sightings:
    """What was measured: noisy tables by their columns, and the variance of a cell's noise in each.

    Of a column i the first `ordered[i]` levels are in order; none where it is left out.
    """

    sizes: tuple[int, ...]
    ordered: tuple[int, ...] = ()
    tables: Mapping[Region, FloatArray] = field(default_factory=dict)
    variance: Mapping[Region, float] = field(default_factory=dict)

    def joined(self, tables: Mapping[Region, IntArray], variance: Mapping[Region, float]) -> Sightings:
        """With further measurements; what was measured before is averaged with weights 1/variance."""
        values, noise = dict(self.tables), dict(self.variance)
        for region, table in tables.items():
            if region in values:
                values[region], noise[region] = mean_of_two(values[region], noise[region], table, variance[region])
            else:
                values[region], noise[region] = table.astype(np.float64), variance[region]
        return replace(self, tables=values, variance=noise)

    def total(self) -> float:
        """The number of records: the mean of what the one-way tables sum to, weighted by 1/variance; at least 1."""
        one = [(i,) for i in range(len(self.sizes))]
        weights = [1 / (self.variance[region] * self.tables[region].size) for region in one]
        return max(1.0, float(np.average([float(self.tables[region].sum()) for region in one], weights=weights)))

    def believed(self, total: float) -> Sightings:
        """With one-way tables that are mostly noise replaced by what is believed of them (`levels`)."""
        near: dict[Region, FloatArray] = {
            r: believed_counts(y, self.variance[r], total) for r, y in self.tables.items() if len(r) == 1
        }
        return replace(self, tables={**self.tables, **near})

    def ends(self) -> dict[int, FloatArray]:
        """For ordered columns what is believed of the levels at their ends, not-a-number for all others (`levels`)."""
        found = {i: believed_ends(*self._one_way(i), n) for i, n in enumerate(self.ordered) if n > 2}
        return {i: counts for i, counts in found.items() if counts is not None}

    def _one_way(self, i: int) -> tuple[FloatArray, float]:
        """The counts of a column by all tables that hold it, and the variance of their noise."""
        found, noise = self.tables[i,], self.variance[i,]
        for pair in (pair for pair in self.pairs if i in pair):
            summed = self.tables[pair].sum(axis=1 - pair.index(i))
            n_summed = self.tables[pair].size // len(found)
            found, noise = mean_of_two(found, noise, summed, self.variance[pair] * n_summed)
        return found, noise

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs among the tables."""
        return [(region[0], region[1]) for region in self.tables if len(region) == 2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphical:
    """A fitted model: its junction tree, potentials, and the margins of its cliques."""

    tree: Junction
    total: float
    theta: Mapping[Region, FloatArray]
    wiring: Wiring
    beliefs: FloatArray
    step: float

    @classmethod
    def of(cls, sizes: Sequence[int], total: float, theta: Mapping[Region, FloatArray], step: float = 0.0) -> Graphical:
        """The model with these potentials."""
        tree = junction(sizes, theta)
        wiring = wired(tree, tuple(theta))
        beliefs = calibrated(wiring, _flat(theta.values()), total)
        return cls(tree=tree, total=total, theta=theta, wiring=wiring, beliefs=beliefs, step=step)

    def pair_tables(self) -> dict[tuple[int, int], FloatArray]:
        """The table of every pair of columns."""
        sizes = self.tree.sizes
        out: dict[tuple[int, int], FloatArray] = {}
        at = np.cumsum([0, *sizes])
        side = [pairs_with(self.wiring, self.beliefs, i) for i in range(len(sizes))]
        one = [side[i][:, at[i] : at[i + 1]].sum(axis=1) for i in range(len(sizes))]
        for i in range(len(sizes)):
            for j in range(i + 1, len(sizes)):
                table = side[i][:, at[j] : at[j + 1]]
                out[i, j] = table if table.any() else np.outer(one[i], one[j]) / self.total
        return out

    def shares(self) -> list[FloatArray]:
        """The distribution of every column."""
        at = np.cumsum([0, *self.tree.sizes])
        sides = (
            pairs_with(self.wiring, self.beliefs, i)[:, at[i] : at[i + 1]].sum(axis=1)
            for i in range(len(self.tree.sizes))
        )
        return [_shared(side) for side in sides]

    def with_counts(self, wanted: Mapping[int, FloatArray]) -> Graphical:
        """The same ties, with these counts of single columns (not-a-number: as they are), by proportional fitting."""
        model = self
        for _ in range(_RAKED if wanted else 0):
            shares, theta = model.shares(), dict(model.theta)
            for i, counts in wanted.items():
                theta[i,] = theta[i,] + _log_ratio(counts / self.total, shares[i])
            model = Graphical.of(self.tree.sizes, self.total, theta, self.step)
        return model

    def draw(self, n: int, rng: Generator) -> IntArray:
        """Draw `n` rows of cells along the tree; rows with equal cells before share the cells to come evenly."""
        sizes = self.tree.sizes
        Y = np.zeros((n, len(sizes)), dtype=np.int64, order="F")
        placed: set[int] = set()
        for q, clique in enumerate(self.tree.cliques):
            cells = self.beliefs[self.wiring.cell_at[q] : self.wiring.cell_at[q + 1]]
            joint = cells.reshape([sizes[i] for i in clique])
            for new in [i for i in clique if i not in placed]:
                old = [i for i in clique if i in placed]
                table = _margin(joint, clique, [*old, new]).reshape(-1, sizes[new])
                key = keys(Y, sizes, old)
                Y[:, new] = draw_keyed(table, key, _ranks(key, rng), rng.random())
                placed.add(new)
        return Y

    def to_dict(self) -> dict[str, Any]:
        """The model as JSON-safe words, potentials to seven digits."""
        tables = [
            {"columns": list(region), "potential": [float(f"{v:.7g}") for v in table.ravel()]}
            for region, table in self.theta.items()
        ]
        return {"sizes": list(self.tree.sizes), "total": self.total, "tables": tables}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Graphical:
        """Read a model back from its words."""
        sizes = words["sizes"]
        theta = {
            tuple(item["columns"]): np.array(item["potential"]).reshape([sizes[i] for i in item["columns"]])
            for item in words["tables"]
        }
        return cls.of(sizes, words["total"], theta)


def fit_graphical(
    seen: Sightings,
    regions: Iterable[Region],
    *,
    total: float,
    steps: int,
    before: Graphical | None = None,
    empty: Sequence[BoolArray] | None = None,
) -> Graphical:
    """Fit the model to the tables of `regions`, from the potentials of a model `before`, at most `steps` steps.

    `empty` marks cells of single columns that hold no record.
    """
    chosen = tuple(regions)
    start = {} if before is None else before.theta
    theta = {r: start.get(r, np.zeros([seen.sizes[i] for i in r])) for r in chosen}
    if empty is not None and before is None:
        theta.update({(i,): np.where(gone, NEVER, 0.0) for i, gone in enumerate(empty)})
    precision = np.concatenate([np.full(theta[r].size, 1 / seen.variance[r]) for r in chosen])
    step = before.step if before is not None and before.step > 0 else 2 / (float(precision.max()) * total)
    wiring = wired(junction(seen.sizes, chosen), chosen)
    y = _flat([seen.tables[r] for r in chosen])
    flat, step = descend(wiring, _flat(theta.values()), y, precision, total, step, steps)
    ends = np.cumsum([theta[r].size for r in chosen])[:-1]
    fitted = {r: part.reshape(theta[r].shape) for r, part in zip(chosen, np.split(flat, ends), strict=True)}
    return Graphical.of(seen.sizes, total, fitted, step)


def _shared(side: FloatArray) -> FloatArray:
    """Shares of a column; even ones where noise has left nothing to share."""
    whole = float(side.sum())
    shares: FloatArray = side / whole if 0 < whole < np.inf else np.full(len(side), 1.0 / len(side))
    return shares


def _log_ratio(wanted: FloatArray, shares: FloatArray) -> FloatArray:
    """log(wanted / shares), 0 where nothing is wanted or there is nothing to change."""
    open_ = ~np.isnan(wanted) & (shares > 0)
    ratio = np.where(open_, wanted, 1.0) / np.where(open_, shares, 1.0)
    return np.where(ratio > 0, np.log(np.maximum(ratio, _LEAST)), NEVER)


def _flat(tables: Iterable[FloatArray]) -> FloatArray:
    return np.concatenate([np.asarray(table, dtype=np.float64).ravel() for table in tables])


def _margin(joint: FloatArray, clique: Region, kept: list[int]) -> FloatArray:
    """The table of the columns `kept`, in that order."""
    gone = tuple(axis for axis, i in enumerate(clique) if i not in kept)
    rest = [i for i in clique if i in kept]
    return np.transpose(joint.sum(axis=gone), [rest.index(i) for i in kept])


def _ranks(key: IntArray, rng: Generator) -> IntArray:
    """The rank of each row when sorted by key, in random order among equals."""
    mixed = rng.permutation(len(key))
    rank = np.empty(len(key), dtype=np.int64)
    rank[mixed[np.argsort(key[mixed], kind="stable")]] = np.arange(len(key))
    return rank
