"""Rows from a graphical model: drawn along its junction tree, then polished towards its tables of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.dp import ProtectedUnit
from shoal.errors import ParameterError
from shoal.rng import fresh_seed, stream
from shoal.synth.by_table import TableModel, table_claims
from shoal.synth.constraints import put, satisfying
from shoal.synth.domain import Settled
from shoal.synth.graph_measure import measure_graph
from shoal.synth.graphical import Graphical
from shoal.synth.parents import Parents, all_pairs
from shoal.synth.polish import polished
from shoal.synth.spend import Purse
from shoal.synth.ties import Ties, ties_found

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = ["GraphModel", "fit_graph"]

Pair: TypeAlias = tuple[int, int]
MOST_POLISHED = 200_000  # rows: with more of them sampling errs little, and polishing takes long
_NOTHING = 1e-9  # of a share: a level that the model leaves empty


class GraphModel(TableModel):
    """A graphical model of noisy tables (design "graph")."""

    kind: ClassVar[str] = "graph"

    def __init__(self, *, graphical: Graphical, wanted: Mapping[Pair, FloatArray], **rest: Any) -> None:
        super().__init__(total=graphical.total, **rest)
        self.graphical, self.wanted = graphical, dict(wanted)

    @cached_property
    def tables(self) -> dict[Pair, FloatArray]:
        """The table of every pair that rows are polished towards."""
        return {**self.graphical.pair_tables(), **self.wanted}

    @cached_property
    def _allowed(self) -> list[BoolArray]:
        return [share > _NOTHING for share in self.graphical.shares()]

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        if start is not None:
            raise ParameterError("sample", "start rows have no effect here: rows are drawn exactly", hint="Omit it.")
        rows = self.graphical.draw(n, rng)
        return polished(rows, self.tables, self._allowed, rng) if n <= MOST_POLISHED else rows

    def _sample(self, n: int, start: IntArray | None, seed: int | None) -> pl.DataFrame:
        """As every model does; with rules, polishing comes last and rows that it made break one stay as they were."""
        if not self.domain.rules or start is not None:
            return super()._sample(n, start, seed)
        rng = stream(fresh_seed() if seed is None else seed, "synth", "sample")
        rows = satisfying(self.domain, lambda m: self.graphical.draw(m, rng), n, rng)
        if n > MOST_POLISHED:
            return rows
        before = self.domain.encode(rows)
        after = polished(before, self.tables, self._allowed, rng)
        moved = np.flatnonzero((before != after).any(axis=1))
        fresh = self.domain.decode(after[moved], rng)
        return put(rows, moved[~self.domain.broken(fresh)], fresh.filter(~pl.Series(self.domain.broken(fresh))))

    def _body(self) -> dict[str, Any]:
        wanted = [
            {"columns": list(pair), "table": [float(f"{v:.6g}") for v in table.ravel()]}
            for pair, table in self.wanted.items()
        ]
        return {"graphical": self.graphical.to_dict(), "wanted": wanted, "ties": self.ties.to_dict()}

    @classmethod
    def from_body(cls, words: Mapping[str, Any], **rest: Any) -> GraphModel:
        """Read the model back from what `save` wrote."""
        model = Graphical.from_dict(words["graphical"])
        sizes = model.tree.sizes
        wanted = {
            (item["columns"][0], item["columns"][1]): np.array(item["table"]).reshape(
                [sizes[i] for i in item["columns"]]
            )
            for item in words["wanted"]
        }
        return cls(graphical=model, wanted=wanted, ties=Ties.from_dict(words), **rest)


def fit_graph(
    pegs: PeGS, settled: Settled, parents: Parents, purse: Purse, rng: Generator, unit: ProtectedUnit
) -> GraphModel:
    """Measure one-way tables and pairs, and fit the graphical model."""
    found, basis_lost = measure_graph(pegs, settled, parents, purse)
    told = f"{len(found.seen.pairs)} of {len(all_pairs(len(settled.domain.axes)))} pairs of columns were measured"
    claims, spent = table_claims(pegs, unit, basis_lost)
    one_variance = max(found.seen.variance[i,] for i in range(len(settled.domain.axes)))
    ties = ties_found(pegs, (found.model.shares(), found.model.total), one_variance, found.n_clear)
    return GraphModel(
        graphical=found.model,
        ties=ties,
        wanted=found.wanted,
        domain=settled.domain,
        spent=spent,
        claims=claims,
        notes=(*ties.notes, *settled.notes, told),
    )
