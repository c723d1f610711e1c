"""Multiple imputation: K synthetic tables from regressions, column after column (section 2.3).

The first column is drawn from its margin, every further one from a regression on those before it: numbers from a linear
model plus normal noise with the residual variance, categories from a multinomial logistic model. Skewed numbers
(costs) are regressed as normal scores, and drawn scores go back through the quantiles of the column
(``scores="normal"``);
``scores="raw"`` is the paper's plain version, which clips at the range and so moves the mean. For each of the K
tables the models are fitted anew to a bootstrap resample (or, with ``resample="bayesian"``, to rows drawn with
probabilities p ~ Dirichlet(1, …, 1): the approximate Bayesian bootstrap of Rubin and Schenker, 1986), and the linear
model's σ² and β are drawn from their posterior,

    σ² ~ RSS / χ²_{n−p},    β ~ N(β̂, σ² (XᵀX)⁻¹),

so that the K tables differ as much as the uncertainty of the models asks for, and `shoal.synth.combine` can give valid
intervals. With `columns`, only those are synthetic and the rest of each row is the original's (partially synthetic).

``model`` puts donors in the place of drawn numbers (`shoal.synth.donors`): records whose predicted value is near
(``"matching"``), or that share a leaf of a tree (``"tree"``, ``"forest"``), which then also draws categories.

Promised: nothing. Regressions fitted to the data without noise can give away an outlier, and partially synthetic rows
are real people's rows. Measure the risk of what you draw, or use `PeGS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.conform import floats
from shoal.domain import Axis, Domain
from shoal.domain.declared import dated, numbers_of
from shoal.errors import GuaranteeError, ParameterError
from shoal.frame import Frame, enter, series
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.synth.domain import encode_table, give
from shoal.synth.donors import TREES, leaf_draw, nearest_donors
from shoal.synth.perturbed_imputation import indicator_block, solve_logistic
from shoal.synth.synthesizer import Model, Price, Synthesizer
from shoal.value import codes_of, text_of

__all__ = ["MultipleImputation", "MultipleModel", "linear_draw", "linear_means"]

Regressor: TypeAlias = Literal["linear", "matching", "tree", "forest"]
_FLAT = 1e-10  # of the largest eigenvalue: directions of less variance are taken for none


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipleImputation(Synthesizer):
    """K synthetic tables from sequential regressions, for valid intervals without a privacy claim.

    Parameters
    ----------
    K
        Number of tables. More make the variance rule steadier; with 2 its variance is negative in 44% of runs.
    columns
        Names of the columns to synthesise; None: all.
    model
        ``"linear"``: linear and logistic regressions. ``"matching"``: numbers are values of records with a similar
        prediction (predictive mean matching). ``"tree"`` and ``"forest"``: all values are those of records in the same
        leaf (CART), which keeps ties that a linear model lacks.
    scores
        ``"normal"`` keeps the margin of skewed numbers; ``"raw"`` is as published. Trees have no use for it.
    resample
        How a table's rows are drawn again before it is fitted: ``"bootstrap"`` or ``"bayesian"``, which spreads more.
    fit_rows
        Rows that logistic models are fitted to; more take longer and fit better.

    Notes
    -----
    Whether a number is missing is drawn by a logistic model, its value from those that are not; a missing category is
    a cell of its own. Columns that say the same (a code and its description) are no obstacle. Numbers are quantiles of
    the column, so range, spikes and heaps stay. Weights play no part. Cost: K regressions for each column.

    Examples
    --------
    >>> import shoal
    >>> from shoal.synth import MultipleImputation
    >>> table = shoal.datasets.health_survey(300, seed=1).select("gender", "cost")
    >>> schema = shoal.Schema.of(quasi=["gender"], sensitive=["cost"])
    >>> model = MultipleImputation(K=3).fit(table, schema, seed=1)
    >>> [rows.shape for rows in model.sets(50, seed=1)]
    [(50, 2), (50, 2), (50, 2)]
    >>> model.claims
    ()
    """

    title = "multiple imputation"
    summary = "Tables drawn from regressions, for trusted analysts who need valid intervals."
    report_text = ReportText(
        done="Rows were drawn from regressions of each column on those before it.",
        writes="synthetic: drawn from regressions",
        keeps="What a regression on the columns before it holds of it.",
    )
    rank = 4

    K: Annotated[int, Range(low=2), Help("number of synthetic tables")] = 5
    columns: Annotated[Sequence[str] | None, Help("columns to synthesise; none: all"), ColumnNames()] = None
    model: Annotated[Regressor, Help("linear, or donors found by matching, a tree or a forest")] = "linear"
    scores: Annotated[Literal["normal", "raw"], Help("regress numbers as normal scores, or as they are")] = "normal"
    resample: Annotated[Literal["bootstrap", "bayesian"], Help("how rows are resampled for each table")] = "bootstrap"
    fit_rows: Annotated[int, Range(low=10), Help("number of rows to fit logistic models to")] = 3_000

    def price(self, rows: int | None = None) -> Price:
        """No price: nothing is promised about differential privacy."""
        words = "No price in ε: nothing is promised about differential privacy."
        return Price(per_row=None, per_block=None, per_data_set=None, shares={}, words=words)

    def _fit(self, table: Any, schema: Schema, account: Any, rng: Generator) -> MultipleModel:
        encoded = encode_table(table, schema, bins=1, missing="level", public=False, owner="MultipleImputation")
        named = encoded.domain.names if self.columns is None else tuple(self.columns)
        targets = [encoded.domain.position(name, "columns") for name in named]
        content = _content(dated(enter(table), schema), encoded.domain)
        if len(next(iter(content.values()))) != encoded.n:
            raise ParameterError("MultipleImputation", "rows with missing numbers must be dropped beforehand")
        return MultipleModel(
            domain=encoded.domain,
            content=content,
            targets=targets,
            K=self.K,
            fit_rows=self.fit_rows,
            raw=self.scores == "raw",
            model=self.model,
            bayesian=self.resample == "bayesian",
            notes=encoded.notes,
        )


class MultipleModel(Model):
    """The table, kept inside, and K regressions a column to be drawn from it."""

    kind: ClassVar[str] = "multiple"

    def __init__(
        self,
        *,
        domain: Domain,
        content: dict[int, FloatArray],
        targets: Sequence[int],
        K: int,
        fit_rows: int,
        raw: bool,
        notes: Sequence[str],
        bayesian: bool = False,
        model: Regressor = "linear",
    ) -> None:
        self._bayesian, self._model = bayesian, model
        self.domain, self.K, self.notes, self._raw = domain, K, tuple(notes), raw
        self._content, self._targets, self._fit_rows = content, list(targets), fit_rows

    @property
    def claims(self) -> tuple[Claim, ...]:
        """None."""
        return ()

    @property
    def spent(self) -> None:
        """Nothing is accounted for."""
        return

    @property
    def releasable(self) -> bool:
        """False: it holds the data."""
        return False

    @property
    def total(self) -> int:
        """The number of records."""
        return len(self._content[0])

    @property
    def partial(self) -> bool:
        """Whether some columns are the original's: then combine with ``partial=True``."""
        return len(self._targets) < len(self.domain.axes)

    def sets(self, n: int | None = None, seed: int | None = None) -> list[Any]:
        """Draw all K tables of `n` rows each (partially synthetic ones have the original's rows)."""
        seed = fresh_seed() if seed is None else seed
        return [self._table(n, stream(seed, "synth", "set", k)) for k in range(self.K)]

    def sample(self, n: int | None = None, start: Any = None, seed: int | None = None) -> Any:
        """Draw one table; see `sets`."""
        if start is not None:
            raise ParameterError("sample", "start rows have no effect here", hint="Omit it.")
        return self._table(n, stream(fresh_seed() if seed is None else seed, "synth", "set", 0))

    def _table(self, n: int | None, rng: Generator) -> Any:
        rows = self._checked(n)
        if self.partial and rows != self.total:
            raise ParameterError("sample", "n must be omitted for partially synthetic tables", got=repr(n))
        drawn = self._drawn(rows, rng)
        columns = [_values(axis, drawn[j], self._content[j]) for j, axis in enumerate(self.domain.axes)]
        return give(pl.DataFrame(columns), self.domain.backend, self.domain.nullable)

    def _drawn(self, n: int, rng: Generator) -> dict[int, FloatArray]:
        kept = [j for j in range(len(self.domain.axes)) if j not in self._targets]
        out = {j: self._content[j] for j in kept}
        resample = _resampled(self.total, self._bayesian, rng)
        done = list(kept)
        for j in sorted(self._targets, key=lambda j: self.domain.axes[j].kind == "numeric"):
            out[j] = self._column(j, done, out, resample, n, rng)
            done.append(j)
        return out

    def _column(
        self, j: int, done: Sequence[int], out: dict[int, FloatArray], resample: IntArray, n: int, rng: Generator
    ) -> FloatArray:
        axis, y = self.domain.axes[j], self._content[j][resample]
        if not done:
            return y[rng.integers(0, len(y), n)]
        X = _regressors(self.domain, self._content, done, self._content)[resample]
        new = _regressors(self.domain, out, done, self._content)
        if axis.kind == "numeric":
            return self._number(axis, X, y, new, rng)
        rows = rng.permutation(len(y))[: self._fit_rows]
        if self._trees:
            return leaf_draw(X[rows], y[rows], new, rng, cells=True, trees=self._trees)
        return _logistic_draw(X[rows], y[rows].astype(np.int64), new, rng)

    @property
    def _trees(self) -> int:
        """How many trees find donors; 0 where regressions draw."""
        return {"tree": 1, "forest": TREES}.get(self._model, 0)

    def _number(self, axis: Axis, X: FloatArray, y: FloatArray, new: FloatArray, rng: Generator) -> FloatArray:
        """First who has a number at all, then the number, from those who have one."""
        kind = _kind_of_absence(y)
        has = kind == 0
        if not has.any():
            return y[rng.integers(0, len(y), len(new))]
        drawn = self._known_number(axis, X[has], y[has], new, rng)
        if has.all():
            return drawn
        rows = rng.permutation(len(y))[: self._fit_rows]
        absent = _logistic_draw(X[rows], kind[rows], new, rng)
        return np.where(absent == 0, drawn, np.where(absent == 1, np.nan, _REASON * np.maximum(absent - 1, 1)))

    def _known_number(self, axis: Axis, X: FloatArray, y: FloatArray, new: FloatArray, rng: Generator) -> FloatArray:
        if self._trees:
            return leaf_draw(X, y, new, rng, cells=False, trees=self._trees)
        scale = y if self._raw else _scores(y)
        if self._model == "matching":
            predicted, wanted = linear_means(X, scale, new, rng)
            return y[nearest_donors(predicted, wanted, rng)]
        drawn = linear_draw(X, scale, new, rng)
        return _bounded(drawn, axis) if self._raw else _from_scores(drawn, y)

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        raise NotImplementedError  # rows are drawn table by table, never as cells

    def _body(self) -> dict[str, Any]:
        raise GuaranteeError("MultipleModel", "can't be saved: it holds the data")


def _resampled(n: int, bayesian: bool, rng: Generator) -> IntArray:
    """Rows drawn again with equal probabilities, or with probabilities from their posterior."""
    if not bayesian:
        return rng.integers(0, n, n)
    return rng.choice(n, n, p=rng.dirichlet(np.ones(n))).astype(np.int64)


def linear_draw(X: FloatArray, y: FloatArray, new: FloatArray, rng: Generator) -> FloatArray:
    """Draw y for the rows `new` from the posterior predictive of a linear regression of y on X."""
    _, drawn, sigma = _posterior(X, y, rng)
    return np.asarray(_with_ones(new) @ drawn + sigma * rng.standard_normal(len(new)), dtype=np.float64)


def linear_means(X: FloatArray, y: FloatArray, new: FloatArray, rng: Generator) -> tuple[FloatArray, FloatArray]:
    """The records' means by the fitted coefficients, and those of `new` by coefficients drawn from their posterior."""
    beta, drawn, _ = _posterior(X, y, rng)
    return _with_ones(X) @ beta, _with_ones(new) @ drawn


def _posterior(X: FloatArray, y: FloatArray, rng: Generator) -> tuple[FloatArray, FloatArray, float]:
    """β̂ of y on X with an intercept, and a draw of β and σ from their posterior."""
    X1 = _with_ones(X)
    root = _inverse_root(X1.T @ X1)
    beta = root @ (root.T @ (X1.T @ y))
    free = max(1, len(y) - X1.shape[1])
    rss = float(((y - X1 @ beta) ** 2).sum())
    sigma = float(np.sqrt(rss / rng.chisquare(free)))
    return beta, beta + sigma * (root @ rng.standard_normal(len(beta))), sigma


def _with_ones(X: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(X)), X])


def _inverse_root(gram: FloatArray) -> FloatArray:
    """The symmetric R with R Rᵀ = gram⁺: directions in which the data do not vary (a column and its copy) have no
    coefficient.
    """
    values, vectors = np.linalg.eigh(gram)
    seen = values > _FLAT * max(float(values[-1]), 1e-300)
    scale = np.where(seen, 1 / np.sqrt(np.where(seen, values, 1.0)), 0.0)
    return np.asarray((vectors * scale) @ vectors.T, dtype=np.float64)


def _scores(y: FloatArray) -> FloatArray:
    """Normal scores: Φ⁻¹ of the mid-rank share."""
    from scipy.stats import norm, rankdata

    return np.asarray(norm.ppf((rankdata(y) - 0.5) / len(y)), dtype=np.float64)


def _from_scores(scores: FloatArray, y: FloatArray) -> FloatArray:
    """The quantiles of y at the shares Φ(score)."""
    from scipy.stats import norm

    return np.asarray(np.quantile(y, norm.cdf(scores), method="inverted_cdf"), dtype=np.float64)


def _logistic_draw(X: FloatArray, y: IntArray, new: FloatArray, rng: Generator) -> FloatArray:
    cells, at = np.unique(y, return_inverse=True)
    if len(cells) == 1:
        return np.full(len(new), float(cells[0]))
    coefficients, intercepts = solve_logistic(X, at, len(cells))
    scores = new @ coefficients.T + intercepts + rng.gumbel(size=(len(new), len(cells)))
    return np.asarray(cells[scores.argmax(axis=1)], dtype=np.float64)


def _regressors(
    domain: Domain, content: dict[int, FloatArray], columns: Sequence[int], original: dict[int, FloatArray]
) -> FloatArray:
    """Numbers standardised by the original's mean and deviation, categories as in a logistic model."""
    parts = []
    for j in columns:
        axis = domain.axes[j]
        if axis.kind == "numeric":
            parts.append(_standard(content[j], original[j]))
        else:
            parts.append(indicator_block(axis, content[j].astype(np.int64)))
    return np.hstack(parts)


def _standard(values: FloatArray, original: FloatArray) -> FloatArray:
    """A number by the original's mean and deviation; a missing one is the mean, with an indicator beside it."""
    absent, known = _kind_of_absence(values) > 0, original[_kind_of_absence(original) == 0]
    mean, spread = (float(known.mean()), float(known.std()) or 1.0) if len(known) else (0.0, 1.0)
    place = np.where(absent, 0.0, (values - mean) / spread)
    return np.column_stack([place, absent]) if len(known) < len(original) else place[:, None]


def _content(frame: Frame, domain: Domain) -> dict[int, FloatArray]:
    out = {}
    for j, axis in enumerate(domain.axes):
        content = series(frame, axis.name)
        out[j] = _numbers(content, axis) if axis.kind == "numeric" else axis.encode(content).astype(np.float64)
    return out


_REASON = -1e300
"""The number of the first reason of a column; the second is twice it."""


def _numbers(content: pl.Series, axis: Axis) -> FloatArray:
    """Numbers, NaN where one is missing, and a number far below for each reason."""
    if not axis.reasons:
        return floats(content)
    place = codes_of(content, pl.Series([text_of(reason) for reason in axis.reasons], dtype=pl.String))
    is_reason = (place >= 0) & (place < len(axis.reasons))
    values = numbers_of(content.set(pl.Series(is_reason), None))
    return np.where(is_reason, _REASON * (place + 1), values)


def _kind_of_absence(values: FloatArray) -> IntArray:
    """0 for a number, 1 for a missing one, 2 and more for the reasons."""
    reason = np.where(values <= _REASON, np.round(values / _REASON) + 1, 0.0)
    return np.where(np.isnan(values), 1, reason).astype(np.int64)


def _bounded(values: FloatArray, axis: Axis) -> FloatArray:
    """Within the range, whole where the column is."""
    if axis.edges is not None:
        values = np.clip(values, axis.edges[0], axis.edges[-1])
    return np.rint(values) if axis.whole else values


def _values(axis: Axis, drawn: FloatArray, original: FloatArray) -> pl.Series:
    if axis.kind == "numeric":
        known, kind = original[_kind_of_absence(original) == 0], _kind_of_absence(drawn)
        drawn = np.where(kind == 0, drawn, np.nan)
        held = np.clip(drawn, known.min(), known.max()) if axis.whole and len(known) else drawn
        values = pl.Series(axis.name, held).fill_nan(None).cast(pl.Int64 if axis.whole else pl.Float64)
        return axis.with_reasons(values, kind - 2) if axis.reasons else values
    return axis.decode(drawn.astype(np.int64))
