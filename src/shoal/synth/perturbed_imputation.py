"""Perturbed multiple imputation: a multinomial logistic model for each column, and α virtual records on its answer.

For each column i a model g(x_i | all others) is fitted. From a start row each column in turn is drawn from

    (g_j + α) / (1 + C_i α),    α = 1 / (exp(ε/M) − 1)                                      (section 3.2.5).

The ratio of two such numbers is at most 1 + 1/α whatever the data are, because g lies between 0 and 1: so a row costs
ε, and this hides not one record but the *whole data set*. That is why, below ε ≈ M per row, the rows are nearly
uniform noise. It is here to be compared with `PeGS`, which hides one person and can use its ε better.

Draws use whole-number weights that sum to the same for every data set, and the system's entropy.

Regressions of one column on the others: multinomial logistic for cells, linear for numbers.

Regressors are indicators of the cells of nominal columns and the standardised position of ordinal and binned ones (a
missing cell has an indicator of its own).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.domain import Axis, Domain
from shoal.dp import Budget
from shoal.errors import GuaranteeError
from shoal.extras import need
from shoal.method import ReportText
from shoal.params import Help, Range
from shoal.schema import Schema
from shoal.synth.domain import Missing, encode_table
from shoal.synth.exact_draws import GRAIN, ModelByRow, below, check_weights, pick_cell, uniform_starts, virtual_records
from shoal.synth.spend import charge
from shoal.synth.synthesizer import Model, Price, Synthesizer, assumptions, dp_claim, dp_statement

__all__ = ["ImputationModel", "Logistic", "PerturbedImputation", "indicator_block", "solve_logistic", "whole_weights"]

Penalty = Literal["ridge", "elastic-net"]
_STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # inverse penalties that cross-validation chooses from
_FOLDS = 3
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
    penalty
        ``"ridge"``: a mild fixed one. ``"elastic-net"``: half L1, its strength by cross-validation, as published;
        some thirty times as slow. The claim holds for either.
    bins
        As in `PeGS`.
    missing
        ``"refuse"``: a missing value is an error. ``"level"``: it is a cell of its own, in *every* column, and virtual
        records lie on it as on any other: rows then have gaps where no record has one.

    Notes
    -----
    Weights play no part. A row hides the whole data set, so there is no
    `rows_per_person`: a person is protected at ε a row however many records they have. Cost: a multinomial logistic
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
    report_text = ReportText(
        done="Rows were drawn from regressions of each column on the others, perturbed.",
        writes="synthetic: drawn from perturbed regressions",
        keeps="What a perturbed regression on the other columns holds of it.",
    )
    rank = 2

    epsilon: Annotated[float, Range(above=0), Help("privacy loss of each row")] = 1.0
    fit_rows: Annotated[int, Range(low=10), Help("number of rows to fit the models to")] = 2_000
    penalty: Annotated[Penalty, Help("fixed ridge, or elastic net by cross-validation")] = "ridge"
    bins: Annotated[int, Range(low=1, high=10_000), Help("bins for a numeric column with bounds")] = 16
    missing: Annotated[Missing, Help("missing values: a separate level, or refused")] = "refuse"

    def price(self, rows: int | None = None) -> Price:
        """What `rows` rows cost; the fit itself is free."""
        one = Budget(epsilon=self.epsilon)
        bill = None if rows is None else one * rows
        tail = "n rows cost n times that." if rows is None else f"{rows:,} rows cost {bill} for the data set."
        words = f"Each row costs {one}; {tail}"
        return Price(per_row=one, per_block=None, per_data_set=bill, shares={}, words=words)

    def _fit(self, table: Any, schema: Schema, account: Any, rng: Generator) -> Model:
        encoded = encode_table(
            table, schema, bins=self.bins, missing=self.missing, public=True, owner="PerturbedImputation"
        )
        check_weights("PerturbedImputation", self.epsilon, len(encoded.domain.axes), encoded.domain.sizes)
        in_order = encoded.codes[np.lexsort(encoded.codes.T)]  # whatever the order of the table
        codes = in_order[rng.permutation(encoded.n)[: self.fit_rows]]
        models = [_fit_logistic(encoded.domain, codes, i, self.penalty) for i in range(len(encoded.domain.axes))]
        return ImputationModel(
            domain=encoded.domain,
            models=models,
            epsilon=self.epsilon,
            notes=encoded.notes,
            account=account,
        )


class ImputationModel(ModelByRow):
    """Fitted regressions, kept inside, and perturbed draws from them."""

    kind: ClassVar[str] = "imputation"

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
        self._units, self._seeded = 0, False

    @property
    def alpha(self) -> float:
        """α, the virtual records on every cell."""
        return self._grains / GRAIN

    @property
    def spent(self) -> Budget:
        """All rows drawn so far."""
        return Budget(epsilon=self.epsilon) * self._units

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Per row and, for the rows drawn so far, per data set; none once a seed was used."""
        if self._seeded:
            return ()
        given = assumptions(None, "Start rows come from public knowledge.")
        one = Budget(epsilon=self.epsilon)
        statement = dp_statement(one, 3, protected=_UNIT)
        claims = [dp_claim(one, scope="per row", basis="proved", statement=statement, given=given)]
        if self._units:
            statement = dp_statement(self.spent, 4, protected=_UNIT, rows=f"{self._units:,} rows")
            claims.append(dp_claim(self.spent, scope="per data set", basis="proved", statement=statement, given=given))
        return tuple(claims)

    def _charge(self, n: int) -> int:
        charge(self.account, Budget(epsilon=self.epsilon) * n, f"PerturbedImputation: {n:,} rows")
        return n

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """Coefficients of a multinomial logistic regression of column `column`; cells never seen have probability 0."""

    domain: Domain
    column: int
    others: tuple[int, ...]
    cells: IntArray
    coefficients: FloatArray
    intercepts: FloatArray

    def probabilities(self, codes: IntArray) -> FloatArray:
        """Probability of every cell, row by row."""
        out = np.zeros((len(codes), self.domain.sizes[self.column]))
        if len(self.cells) == 1:
            out[:, self.cells[0]] = 1.0
            return out
        scores = _features(self.domain, codes, self.others) @ self.coefficients.T + self.intercepts
        scores -= scores.max(axis=1, keepdims=True)
        e = np.exp(scores)
        out[:, self.cells] = e / e.sum(axis=1, keepdims=True)
        return out


def _fit_logistic(domain: Domain, codes: IntArray, column: int, penalty: Penalty) -> Logistic:
    """Fit column `column` to all others."""
    others = tuple(j for j in range(len(domain.axes)) if j != column)
    cells, y = np.unique(codes[:, column], return_inverse=True)
    X = _features(domain, codes, others)
    if len(cells) == 1:
        coefficients, intercepts = np.zeros((1, X.shape[1])), np.zeros(1)
    else:
        coefficients, intercepts = solve_logistic(X, y, len(cells), penalty)
    return Logistic(
        domain=domain,
        column=column,
        others=others,
        cells=cells.astype(np.int64),
        coefficients=coefficients,
        intercepts=intercepts,
    )


def _features(domain: Domain, codes: IntArray, columns: Sequence[int]) -> FloatArray:
    """Regressors of the columns, one after the other; at least one column of zeros."""
    parts = [indicator_block(domain.axes[j], codes[:, j]) for j in columns]
    return np.asarray(np.hstack(parts) if parts else np.zeros((len(codes), 1)), dtype=np.float64)


def indicator_block(axis: Axis, cells: IntArray) -> FloatArray:
    """One column as regressors: an indicator for each level; for ordered levels the place and its square."""
    if axis.kind == "nominal":
        return np.asarray(cells[:, None] == np.arange(axis.size), dtype=np.float64)
    known = cells < axis.n_known
    half = max(1.0, (axis.n_known - 1) / 2)
    position = np.where(known, (cells - half) / half, 0.0)
    parts = [position, position**2]
    absent = [cells == cell for cell in range(axis.n_known, axis.size)]
    return np.column_stack([*parts, *absent]).astype(np.float64)


def solve_logistic(X: FloatArray, y: IntArray, C: int, penalty: Penalty = "ridge") -> tuple[FloatArray, FloatArray]:
    """Coefficients and intercepts of a multinomial logistic regression."""
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):  # small matrices: threads only wait for each other
        warnings.simplefilter("ignore")  # a fit that stopped early is a model too, and the claim doesn't depend on it
        model = _regression(penalty, int(np.bincount(y).min())).fit(X, y)
    coefficients, intercepts = model.coef_, model.intercept_
    if C == 2:
        return np.vstack([-coefficients, coefficients]) / 2, np.concatenate([-intercepts, intercepts]) / 2
    return coefficients, intercepts


def _regression(penalty: Penalty, rarest: int) -> Any:
    """The estimator; a level of fewer rows than folds can't be cross-validated, and the strength is fixed then."""
    need("sklearn", "imputation")
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

    if penalty == "ridge":
        return LogisticRegression(C=1.0, max_iter=60, tol=1e-3)
    net: dict[str, Any] = {"solver": "saga", "max_iter": 60, "tol": 1e-2, "random_state": 0}
    if rarest < _FOLDS:
        return LogisticRegression(C=0.1, l1_ratio=0.5, penalty="elasticnet", **net)
    return LogisticRegressionCV(Cs=_STRENGTHS, cv=_FOLDS, l1_ratios=(0.5,), penalty="elasticnet", **net)
