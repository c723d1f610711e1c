"""Noise on numbers, as the statistics offices add it (Kim 1986, Brand 2002).

With c the standard deviation of the noise relative to the column's, m the means, S the covariance and e ~ N(0, S):

- ``"additive"``: x + c s z, z independent: variances × (1 + c²), correlations ρ → ρ / (1 + c²);
- ``"correlated"``: x + c e: the whole covariance × (1 + c²), correlations kept;
- ``"kept"`` (Kim): √(1 − c²) (x − m) + m + c e: means and covariance kept.

Promised: these moments in expectation, where nothing was rounded or cut at bounds. Not promised: any ε (the columns are
unbounded, and the scale follows from the data) or bound on re-identification; outliers stay outliers, and zeros show
through. What is left is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from shoal.arrays import FloatArray, Generator
from shoal.encode import Coding
from shoal.errors import ParameterError
from shoal.mask.aware import AwareMask, Masking, by_content, chosen_columns, draws_of
from shoal.method import ReportText
from shoal.params import Help, Range, check

__all__ = ["AddNoise", "noisy"]

Kind = Literal["correlated", "additive", "kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNoise(AwareMask):
    """Add normal noise to numbers.

    Parameters
    ----------
    columns
        The numeric quasi-identifiers; None means all. In words: ``age/income``.
    ratio
        Standard deviation of the noise over the column's, for every kind. Raising it hides more. ``"kept"`` needs at
        most 1.
    kind
        ``"correlated"``, ``"additive"`` or ``"kept"``.

    Notes
    -----
    Groups and survey weights play no part. Rows of one person share their noise. Whole numbers are rounded again, and
    declared bounds cut. Cost: linear.

    References
    ----------
    Kim 1986; Brand 2002.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21.5, 22.1, 25.0, 61.2, 62.8, 69.3]})
    >>> release = shoal.anonymize(
    ...     table, shoal.Schema.of(quasi=["age"]), group=shoal.MDAV(k=3), mask=shoal.AddNoise(), seed=1
    ... )
    >>> bool(set(release.table["age"]) & set(table["age"]))
    False
    """

    title = "added noise"
    summary = "Normal noise on numbers, independent or correlated like the columns."
    promise = (
        "Means, and depending on kind covariances, are preserved in expectation; re-identification is "
        "measured, not bounded."
    )
    report_text = ReportText(
        done="Random noise was added to numbers.",
        writes="the value with random noise added",
        keeps="Its mean, on average, and with correlated noise its correlations.",
    )
    rank = 23
    perturbs = True

    columns: Annotated[Sequence[str] | None, Help("numeric columns, name/name; none: all numeric quasi")] = None
    ratio: Annotated[float, Range(above=0), Help("standard deviation of the noise relative to the column's")] = 0.3
    kind: Annotated[Kind, Help("correlated, additive, or kept (means and covariance)")] = "correlated"

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Add the noise."""
        check(self)
        if self.kind == "kept" and self.ratio > 1:
            raise ParameterError(
                "AddNoise", "ratio must be at most 1 for kind 'kept'", got=f"{self.ratio:g}", parameter="ratio"
            )
        places = self._places(state)
        order = by_content(state)
        draw, n = draws_of(state, order)
        codes = state.codes.copy()
        codings = [state.encoder.codings[j] for j in places]
        values = np.column_stack([_known(codes[order, j], coding) for j, coding in zip(places, codings, strict=True)])
        written = noisy(values, self.ratio, self.kind, rng.standard_normal((n, len(places)))[draw])
        for i, (j, coding) in enumerate(zip(places, codings, strict=True)):
            old = codes[order, j]
            codes[order, j] = np.where(coding.is_absent(old), old, _fitted(written[:, i], coding))
        return state.holding(
            codes,
            mask="add noise",
            columns=len(places),
            changed_share=float((codes != state.codes)[:, places].mean()),
            noise_ratio=self.ratio,
        )

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Nothing is proved about who can be found."""
        left = [name for j, name in enumerate(state.encoder.names) if j not in self._places(state)]
        return (_MEASURED, f"AddNoise leaves these columns as they are: {', '.join(left)}.") if left else (_MEASURED,)

    def _places(self, state: Masking) -> list[int]:
        names = None if self.columns is None else chosen_columns("AddNoise", self.columns, state)
        numeric = [coding.name for coding in state.encoder.codings if coding.kind == "numeric"]
        wrong = [name for name in names or () if name not in numeric]
        if wrong or not numeric:
            raise ParameterError(
                "AddNoise",
                "needs numeric quasi-identifiers",
                got=f"'{wrong[0]}'" if wrong else "none",
                hint="Pram works on any column.",
            )
        return [state.encoder.names.index(name) for name in names or numeric]


_MEASURED = "Noise bounds nobody's risk: outliers stay outliers. What is left was measured, not proved."


def noisy(values: FloatArray, ratio: float, kind: Kind, normal: FloatArray) -> FloatArray:
    """The values with noise made from independent standard `normal` numbers; a missing value stays missing."""
    S = np.atleast_2d(np.cov(values, rowvar=False)) if len(values) > 1 else np.zeros((values.shape[1],) * 2)
    if kind == "additive":
        return values + ratio * np.sqrt(np.diag(S)) * normal
    noise = ratio * normal @ _root(S)
    if kind == "correlated":
        return values + noise
    mean = values.mean(axis=0)
    kept: FloatArray = np.sqrt(1 - ratio**2) * (values - mean) + mean + noise
    return kept


def _root(S: FloatArray) -> FloatArray:
    """The symmetric square root of a covariance, singular or not."""
    scale, axes = np.linalg.eigh(S)
    root: FloatArray = (axes * np.sqrt(np.maximum(scale, 0.0))) @ axes.T
    return root


def _known(codes: FloatArray, coding: Coding) -> FloatArray:
    """Numbers, their mean in the place of a reason, which gets no noise."""
    return np.where(coding.is_absent(codes), coding.center, codes)


def _fitted(values: FloatArray, coding: Coding) -> FloatArray:
    """Whole where the column is, within its declared bounds."""
    whole = coding.to_step(np.round(values) if coding.integral else values)
    bounds = coding.axis.bounds
    return np.minimum(whole if bounds is None else np.clip(whole, *bounds), coding.edge)
