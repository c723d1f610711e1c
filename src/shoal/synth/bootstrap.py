"""The marginal bootstrap: every column drawn from its own margin, as if no two had anything to do with each other.

The simplest synthesizer, and the floor that any other must clear: margins are right, all ties between columns are gone.
With ε, discrete Laplace noise of scale M/ε is put on the margins once (one record counts once in each of M tables, so
L1 = M; a person with m rows: m times that), and everything drawn afterwards is free. With ``epsilon=None`` margins are
exact, and nothing is promised; ``bayesian=True`` then draws each file's shares from their posterior (the Bayesian
bootstrap, Rubin 1981; table 3.1 of the thesis),

    p ~ Dirichlet(n_1, …, n_C),

so that files differ as much as the sampling of the records leaves open. A level that nobody has stays empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.dp import Budget, ProtectedUnit
from shoal.errors import ParameterError
from shoal.method import ReportText
from shoal.params import Help, Range
from shoal.schema import Schema
from shoal.synth.domain import Missing, encode_table
from shoal.synth.parents import Ties
from shoal.synth.spend import Purse, can_pay, charge, total_budget
from shoal.synth.synthesizer import (
    Model,
    Price,
    Synthesizer,
    TableModel,
    assumptions,
    dp_claim,
    dp_statement,
    refuse_start,
)
from shoal.synth.tables import NoisyTables, one_way

__all__ = ["BootstrapModel", "MarginalBootstrap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalBootstrap(Synthesizer):
    """Draw every column from its margin.

    Parameters
    ----------
    epsilon
        Privacy loss of the data set, once. None: exact margins and no claim.
    delta
        None: pure ε. A number: (ε, δ) by zCDP accounting.
    bayesian
        Whether each file draws its shares anew from their posterior; only without ε.
    bins, missing, rows_per_person
        As in `PeGS`.

    Notes
    -----
    Cost: linear in rows times columns. Weights play no part; a missing value is a cell of its own.

    Examples
    --------
    >>> import shoal
    >>> from shoal.synth import MarginalBootstrap
    >>> table = shoal.datasets.health_survey(500, seed=1).select("gender", "income")
    >>> schema = shoal.Schema.of(quasi=["gender", "income"], levels={"gender": ["female", "male"], "income": range(5)})
    >>> MarginalBootstrap(epsilon=1.0).fit(table, schema).sample(10, seed=1).shape
    (10, 2)
    """

    title = "columns on their own"
    summary = (
        "Every column from its own marginal distribution; all associations between columns are lost. For test files."
    )
    promise = "One epsilon for all rows ever drawn; without epsilon, nothing."
    report_text = ReportText(
        done="Each column was drawn on its own; associations between columns are lost.",
        writes="synthetic: drawn from the column's own distribution",
        keeps="The column's own distribution; no link to another column.",
    )
    rank = 3

    epsilon: Annotated[float | None, Range(above=0), Help("privacy loss for the data set; none: no claim")] = 1.0
    delta: Annotated[float | None, Range(above=0, below=1), Help("none: pure epsilon; a number: zCDP")] = None
    bayesian: Annotated[bool, Help("draw the shares of each file from their posterior; without epsilon")] = False
    bins: Annotated[int, Range(low=1, high=10_000), Help("bins for a numeric column with bounds")] = 16
    missing: Annotated[Missing, Help("missing values: a separate level, or refused")] = "level"
    rows_per_person: Annotated[
        int, Range(low=1), Help("largest number of rows per person, all covered by one epsilon")
    ] = 1

    def price(self, rows: int | None = None) -> Price:
        """What the margins cost; rows are free."""
        if self.bayesian and self.epsilon is not None:
            hint = "Noisy margins are shares of no sample. Set epsilon to none, or leave bayesian out."
            raise ParameterError("MarginalBootstrap", "bayesian needs exact margins", hint=hint)
        if self.epsilon is None:
            words = "Margins are exact: no price, and no promise."
            return Price(per_row=None, per_block=None, per_data_set=None, shares={}, words=words)
        stated = Budget(epsilon=self.epsilon, delta=self.delta or 0)
        words = f"The data set costs {stated}, once; rows are free."
        return Price(per_row=None, per_block=None, per_data_set=stated, shares={"one-way tables": stated}, words=words)

    def _fit(self, table: Any, schema: Schema, account: Any, rng: Generator) -> Model:
        stated = self.price().per_data_set
        if stated is not None:
            can_pay(account, stated)
        unit = ProtectedUnit(rows=self.rows_per_person, held=schema.counts_persons)
        options: dict[str, Any] = {"bins": self.bins, "missing": self.missing, "owner": "MarginalBootstrap"}
        encoded = encode_table(table, schema, public=stated is not None, unit=unit, rng=rng, **options)
        counts = one_way(encoded.codes, encoded.domain.sizes)
        if stated is None or self.epsilon is None:
            shares, total = [table / table.sum() for table in counts], float(encoded.n)
            return BootstrapModel(
                shares=shares, total=total, domain=encoded.domain, notes=encoded.notes, bayesian=self.bayesian
            )
        purse = Purse(left=total_budget(self.epsilon, self.delta, unit))
        charge(account, stated, "MarginalBootstrap: noisy margins")
        noisy, variance = purse.tables("one-way tables", counts, purse.left)
        tables = NoisyTables(one=tuple(noisy), one_variance=variance)
        shares, total = tables.margins([axis.missing_cell for axis in encoded.domain.axes])
        claim = dp_claim(
            stated,
            scope="per data set",
            basis="proved",
            statement=dp_statement(stated, 0, protected=unit.statement),
            given=assumptions(unit),
        )
        return BootstrapModel(
            shares=shares, total=total, domain=encoded.domain, spent=stated, claims=(claim,), notes=encoded.notes
        )


class BootstrapModel(TableModel):
    """Margins to draw from."""

    kind: ClassVar[str] = "margins"

    def __init__(self, *, shares: Sequence[FloatArray], bayesian: bool = False, **rest: Any) -> None:
        ties = Ties(independent=len(shares) > 1, by_design=True)  # margins are all there is
        super().__init__(ties=ties, **rest)
        self.shares, self.bayesian = tuple(shares), bayesian

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        refuse_start(start)
        shares = [_posterior(share * self._total, rng) for share in self.shares] if self.bayesian else self.shares
        columns = [rng.choice(len(share), n, p=share) for share in shares]
        return np.asfortranarray(np.column_stack(columns)).astype(np.int64)

    def _body(self) -> dict[str, Any]:
        shares = [[float(f"{v:.9g}") for v in share] for share in self.shares]
        return {"shares": shares, "total": self._total, "bayesian": self.bayesian}

    @classmethod
    def from_body(cls, words: Mapping[str, Any], **rest: Any) -> BootstrapModel:
        """Read the model back from what `save` wrote."""
        shares = [np.array(share, dtype=np.float64) for share in words["shares"]]
        bayesian = words.get("bayesian", False)
        return cls(shares=[share / share.sum() for share in shares], total=words["total"], bayesian=bayesian, **rest)


def _posterior(counts: FloatArray, rng: Generator) -> FloatArray:
    """Shares drawn from Dirichlet(counts); a count of 0 stays at 0."""
    drawn = np.where(counts > 0, rng.gamma(np.maximum(counts, 1e-300)), 0.0)
    return np.asarray(drawn / drawn.sum(), dtype=np.float64)
