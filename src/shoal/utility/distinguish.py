"""Whether a classifier can tell released rows from original ones: the propensity score measure.

Both tables are stacked and a logistic regression guesses for each row which it came from. With N rows, share c of
them released, and fitted probabilities p::

    pMSE = 1/N sum (p - c)^2          expected under the null = (k - 1) (1 - c)^2 c / N

for k parameters (Snoke et al. 2018), if the release were an independent sample of the same population. The ratio is
about 1 then, 0 for the original itself, and grows with every difference the model can express.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from shoal.arrays import FloatArray
from shoal.logistic import newton_logit, sigmoid
from shoal.pair import Pair
from shoal.record import Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.design import Design, designs, stack
from shoal.utility.tables import Both, both_columns, check_whole, sample_rows, side_by_side

__all__ = ["Propensity", "propensity", "propensity_of"]

_MOST_PARAMETERS = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Propensity(Record):
    """pMSE, its expectation for an independent sample of the same population, and how they compare.

    `ratio` is pMSE / expected, `standardised` is (pMSE - expected) / standard deviation under the null; both None
    where no column varies. `interactions` says whether squares and products entered, `n_rows` how many rows of both
    tables were used, `sampled` whether these are a random part.
    """

    pmse: float
    expected: float
    ratio: float | None
    standardised: float | None
    n_parameters: int
    interactions: bool
    n_rows: int
    sampled: bool
    converged: bool

    def __float__(self) -> float:
        return float("nan") if self.ratio is None else self.ratio


def propensity(
    original: Any,
    released: Any,
    schema: Schema,
    source_rows: Any = None,
    *,
    interactions: bool = True,
    most_rows: int = 20_000,
    seed: int = 0,
) -> Propensity:
    """Can a logistic regression tell released rows from original ones, against its null expectation?

    Parameters
    ----------
    original, released, schema
        The two tables and what their columns are: quasi-identifiers and sensitive columns enter.
    source_rows
        Where rows correspond, a random part takes the same people from both tables.
    interactions
        Let squares and products of numeric, ordinal and two-level columns in, so that lost variance and lost
        correlations show. Left out where that makes more than 150 parameters; the result says so.
    most_rows
        Rows of each table above which a random part is used; more rows see smaller differences.
    seed
        Repeats that draw.

    Notes
    -----
    Missing values enter as a 0/1 variable of their own; weights do not enter. Cost: some ten passes of n x k².

    References
    ----------
    Snoke, Raab, Nowok, Dibben, Slavkovic (2018), General and specific utility measures for synthetic data, Journal
    of the Royal Statistical Society A 181.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import propensity
    >>> table = pl.DataFrame({"age": [30, 40, 50, 60], "sex": ["f", "m", "f", "m"]})
    >>> round(float(propensity(table, table, shoal.Schema.of(quasi=["age", "sex"]))), 6)
    0.0
    """
    pair = side_by_side(original, released, schema, source_rows)
    return propensity_of(pair, interactions=interactions, most_rows=most_rows, seed=seed)


def propensity_of(pair: Pair, *, interactions: bool = True, most_rows: int = 20_000, seed: int = 0) -> Propensity:
    """`propensity` of a pair that is already at hand."""
    check_whole("propensity", "most_rows", most_rows, 2)
    return distinguish(pair, both_columns(pair), interactions, most_rows, seed)


def distinguish(pair: Pair, columns: Sequence[Both], interactions: bool, most_rows: int, seed: int) -> Propensity:
    """Fit the classifier on at most `most_rows` rows of each table."""
    kept = sample_rows(pair, most_rows, stream(seed, "propensity"))
    original, released, layout = designs(columns, "numeric")
    design = stack(original.take(kept[0]), released.take(kept[1]))
    n_codes = layout.n_codes
    interactions = interactions and design.width + n_codes * (n_codes + 1) // 2 <= _MOST_PARAMETERS
    if interactions:
        design = _with_products(design, n_codes)
    labels = np.repeat([0.0, 1.0], [len(kept[0]), len(kept[1])])
    probabilities, converged = fitted_probabilities(design, labels)
    sampled = len(kept[0]) < pair.original.n or len(kept[1]) < len(pair.released)
    return replace(
        compare_to_null(probabilities, labels, _rank(design)),
        interactions=interactions,
        sampled=sampled,
        converged=converged,
    )


def fitted_probabilities(design: Design, labels: FloatArray) -> tuple[FloatArray, bool]:
    """Probability of label 1 by logistic regression, steady on separable data; and whether it converged."""
    fit = newton_logit(design, labels, ridge=1e-4, tolerance=1e-9, reuse=0.1, most_steps=40)
    return sigmoid(design.dot(fit.coefficients)), fit.converged


def compare_to_null(probabilities: FloatArray, labels: FloatArray, n_parameters: int) -> Propensity:
    """pMSE of fitted probabilities against its null distribution for `n_parameters`, the intercept included."""
    n, c = len(labels), float(labels.mean())
    pmse = float(np.mean((probabilities - c) ** 2))
    unit = (1 - c) ** 2 * c / n
    free = n_parameters - 1
    return Propensity(
        pmse=pmse,
        expected=free * unit,
        ratio=pmse / (free * unit) if free else None,
        standardised=(pmse - free * unit) / (float(np.sqrt(2 * free)) * unit) if free else None,
        n_parameters=n_parameters,
        interactions=False,
        n_rows=n,
        sampled=False,
        converged=True,
    )


def _with_products(design: Design, n_codes: int) -> Design:
    pairs = combinations_with_replacement(range(1, n_codes + 1), 2)
    products = [_unit(design.numbers[:, i] * design.numbers[:, j]) for i, j in pairs]
    return replace(design, numbers=np.column_stack([design.numbers, *products]))


def _unit(values: FloatArray) -> FloatArray:
    size = float(np.sqrt(np.mean(values**2)))
    return values / size if size > 0 else values


def _rank(design: Design) -> int:
    gram = design.gram(np.ones(design.n))
    scale = np.sqrt(np.diag(gram))
    scale = np.where(scale > 0, scale, 1.0)
    return int((np.linalg.eigvalsh(gram / np.outer(scale, scale)) > 1e-9).sum())
