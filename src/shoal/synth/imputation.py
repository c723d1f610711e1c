"""Perturbed multiple imputation: a multinomial logistic model for each column, and α virtual records on its answer.

For each column i a model g(x_i | all others) is fitted. From a start row each column in turn is drawn from

    (g_j + α) / (1 + C_i α),    α = 1 / (exp(ε/M) − 1)                                      (section 3.2.5).

The ratio of two such numbers is at most 1 + 1/α whatever the data are, because g lies between 0 and 1: so a row costs
ε, and this hides not one record but the *whole data set*. That is why, below ε ≈ M per row, the rows are nearly
uniform noise. It is here to be compared with; `PeGS` is better at every ε.

Draws use whole-number weights that sum to the same for every data set, and the system's entropy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.domain import Domain
from shoal.dp import Budget
from shoal.errors import GuaranteeError
from shoal.method import Telling
from shoal.params import Help, Range
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.synth.by_row import uniform_starts
from shoal.synth.claims import assumptions, dp_claim
from shoal.synth.constraints import satisfying
from shoal.synth.domain import Missing, settle
from shoal.synth.exact import GRAIN, below, check_weights, pick_cell, virtual_records
from shoal.synth.pegs import charge
from shoal.synth.regression import Logistic, fit_logistic
from shoal.synth.synthesizer import Model, Price, Synthesizer

__all__ = ["ImputationModel", "PerturbedImputation", "whole_weights"]


_UNIT = "Protected unit: the whole data set, and so a person with any number of rows."


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedImputation(Synthesizer):
    """Rows from perturbed logistic regressions: the published baseline, priced by row.

    Parameters
    ----------
    epsilon
        Privacy loss of *each row*; n rows cost n ε. Below the number of columns rows are nearly noise.
    fit_rows
        Rows that the models are fitted to, drawn at random; more take longer and fit better.
    bins, missing
        As in `PeGS`.

    Notes ----- Weights play no part; a missing value is a cell of its own. A row hides the whole data set, so there is
    no `rows_per_person`: a person is protected at ε a row however many records they have. Cost: a multinomial logistic
    regression for each column; 13 columns and 2,000 rows take a few seconds.

    Examples
    --------
    >>> import shoal
    >>> from shoal.synth import PerturbedImputation
    >>> table = shoal.datasets.health_survey(300, seed=1).select("gender", "income")
    >>> schema = shoal.Schema.of(quasi=["gender", "income"], levels={"gender": ["female", "male"], "income": range(5)})
    >>> model = PerturbedImputation(epsilon=5.0).fit(table, schema, seed=1)
    >>> model.sample(10).shape, str(model.spent)
    ((10, 2), 'ε = 50')
    """

    title = "perturbed imputation"
    summary = "Noisy logistic regressions, row by row; a baseline for comparison."
    promise = "Epsilon for each row: n rows cost n times as much."
    telling = Telling(
        done="Rows were drawn from regressions of each column on the others, perturbed.",
        writes="synthetic: drawn from perturbed regressions",
        keeps="What a perturbed regression on the other columns holds of it.",
    )
    rank = 2

    epsilon: Annotated[float, Range(above=0), Help("privacy loss of each row")] = 1.0
    fit_rows: Annotated[int, Range(low=10), Help("number of rows to fit the models to")] = 2_000
    bins: Annotated[int, Range(low=1, high=10_000), Help("bins for a numeric column with bounds")] = 16
    missing: Annotated[Missing, Help("missing values: a separate level, or refused")] = "level"

    def price(self, rows: int | None = None) -> Price:
        """What `rows` rows cost; the fit itself is free."""
        one = Budget(epsilon=self.epsilon)
        bill = None if rows is None else one * rows
        tail = "n rows cost n times that." if rows is None else f"{rows:,} rows cost {bill} for the data set."
        words = f"Each row costs {one}; {tail}"
        return Price(per_row=one, per_block=None, per_data_set=bill, shares={}, words=words)

    def _fit(self, table: Any, schema: Schema, account: Any, rng: Generator) -> Model:
        settled = settle(table, schema, bins=self.bins, missing=self.missing, public=True, owner="PerturbedImputation")
        check_weights("PerturbedImputation", self.epsilon, len(settled.domain.axes), settled.domain.sizes)
        in_order = settled.codes[np.lexsort(settled.codes.T)]  # whatever the order of the table
        codes = in_order[rng.permutation(settled.n)[: self.fit_rows]]
        models = [fit_logistic(settled.domain, codes, i) for i in range(len(settled.domain.axes))]
        return ImputationModel(
            domain=settled.domain,
            models=models,
            epsilon=self.epsilon,
            notes=settled.notes,
            account=account,
        )


class ImputationModel(Model):
    """Fitted regressions, kept inside, and perturbed draws from them."""

    kind: ClassVar[str] = "imputation"
    rows_are_free: ClassVar[bool] = False

    def __init__(
        self,
        *,
        domain: Domain,
        models: Sequence[Logistic],
        epsilon: float,
        notes: Sequence[str],
        account: Any,
    ) -> None:
        self.domain, self.models, self.epsilon = domain, tuple(models), epsilon
        self.notes, self.account = tuple(notes), account
        self._grains = virtual_records(epsilon, len(self.models))
        self._rows, self._seeded = 0, False

    @property
    def alpha(self) -> float:
        """α, the virtual records on every cell."""
        return self._grains / GRAIN

    @property
    def spent(self) -> Budget:
        """All rows drawn so far."""
        return Budget(epsilon=self.epsilon) * self._rows

    @property
    def releasable(self) -> bool:
        """False: the regressions are fitted to the data without noise."""
        return False

    @property
    def total(self) -> None:
        """Not told: it would be exact."""
        return

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Per row and, for the rows drawn so far, per data set; none once a seed was used."""
        if self._seeded:
            return ()
        given = assumptions(None, "Start rows come from public knowledge.")
        one = Budget(epsilon=self.epsilon)
        statement = f"Each single row costs {one}. {_UNIT} Rows add up."
        claims = [dp_claim(one, scope="per row", basis="proved", statement=statement, given=given)]
        if self._rows:
            told = f"The {self._rows:,} rows drawn so far together cost {self.spent} for the data set. {_UNIT}"
            claims.append(dp_claim(self.spent, scope="per data set", basis="proved", statement=told, given=given))
        return tuple(claims)

    def _sample(self, n: int, start: IntArray | None, seed: int | None) -> pl.DataFrame:
        charge(self.account, Budget(epsilon=self.epsilon) * n, f"PerturbedImputation: {n:,} rows")
        self._seeded |= seed is not None
        rng = stream(fresh_seed() if seed is None else seed, "synth", "sample")
        exact = None if seed is None else rng
        drawn = satisfying(self.domain, lambda m: self._walk(m, start, rng, exact), n, rng, rows_are_free=False)
        self._rows += n
        return drawn

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        return self._walk(n, start, rng, None)

    def _walk(self, n: int, start: IntArray | None, rng: Generator, exact: Generator | None) -> IntArray:
        Y = uniform_starts(self.domain, n, start, rng)
        for i, model in enumerate(self.models):
            cumulative = np.cumsum(whole_weights(model.probabilities(Y)) + self._grains, axis=1)
            Y[:, i] = pick_cell(cumulative, below(cumulative[:, -1], exact))
        return Y

    def _body(self) -> dict[str, Any]:
        raise GuaranteeError("ImputationModel", "can't be saved: its regressions are fitted to the data without noise")


def whole_weights(g: FloatArray) -> IntArray:
    """Probabilities as whole numbers from 0 to GRAIN that sum to GRAIN in every row: no total tells anything."""
    held = np.clip(g, 0.0, 1.0)
    whole = np.floor(held / np.maximum(held.sum(axis=1, keepdims=True), 1.0) * GRAIN).astype(np.int64)
    rows, largest = np.arange(len(whole)), whole.argmax(axis=1)
    whole[rows, largest] += GRAIN - whole.sum(axis=1)
    return np.asarray(whole, dtype=np.int64)
