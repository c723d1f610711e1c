"""Every utility measure that applies to one release, from one pair of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from shoal.errors import InputError
from shoal.pair import Pair
from shoal.record import Record
from shoal.rng import stream
from shoal.utility.design import WIDEST, Code, design_width
from shoal.utility.intersection import (
    BootstrapIntersection,
    TotalVariation,
    histogram_intersection_of,
    intersect,
    resample,
    vary,
)
from shoal.utility.marginal import Marginals, Ranks, agree, compare
from shoal.utility.moment import Moments, moments_of
from shoal.utility.propensity_score import EnergyDistance, Propensity, distinguish, spread_apart
from shoal.utility.regress import Regression, regression_of, targets
from shoal.utility.tables import Both, both_columns, grid, row_weights

__all__ = ["UtilityReport", "assess"]

_BINS = 20
_DRAWS = 10
_MOST_PAIRS = 300
_MOST_ROWS_PROPENSITY = 20_000
_MOST_ROWS_ENERGY = 2000
_TELLING = 0.7  # of the joint distribution, which a bootstrap preserves; of a table of unique rows 1 − 1/e
_FOLDS = 0  # the seed of the people that regressions are tested on: the same for every release of a file


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsKept(Record):
    """How much of the distribution of two quasi-identifiers is preserved: over all pairs, and of the worst one."""

    mean: float
    worst: float

    @property
    def words(self) -> str:
        """Both in percent."""
        return f"{self.mean:.1%} ({self.worst:.1%})"


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityReport(Record):
    """What a release keeps of its original.

    Parameters
    ----------
    n_original, n_released
        Number of rows.
    histogram_intersection, weighted_histogram_intersection
        Share of the joint distribution of the quasi-identifiers kept; with survey weights where both tables have them.
    bootstrap_intersection
        What a plain bootstrap of the original reaches: compare the intersection with this, not with 1.
    marginals, total_variation, ranks, moments, propensity, energy
        See the measures of these names. They count rows, not weights.
    regression
        Of the first numeric sensitive column on the quasi-identifiers, weighted where there are weights; None
        without such a column.
    notes
        What was left out or sampled, in words.
    unmeasured
        Why a number is None, by its name in `summary`: what could not be measured is never 0.
    """

    releasable: ClassVar[bool] = False

    n_original: int
    n_released: int
    histogram_intersection: float
    weighted_histogram_intersection: float | None
    bootstrap_intersection: BootstrapIntersection
    marginals: Marginals
    total_variation: TotalVariation
    ranks: Ranks
    moments: Moments
    regression: Regression | None
    propensity: Propensity
    energy: EnergyDistance
    notes: tuple[str, ...]
    unmeasured: dict[str, str] = field(default_factory=dict)

    @property
    def pairs_kept(self) -> PairsKept | None:
        """What to read instead of the joint distribution where that is too wide to tell; None where it isn't.

        It is too wide where even a bootstrap preserves less than 70% of it, as where nearly every row is unique.
        """
        pairs = self.total_variation.two_way
        if pairs.mean is None or pairs.largest is None or self.bootstrap_intersection.value >= _TELLING:
            return None
        return PairsKept(mean=1 - pairs.mean, worst=1 - pairs.largest)

    def _headlines(self) -> dict[str, Any]:
        """The numbers of rows, and one number per measure."""
        return {"n_original": self.n_original, "n_released": self.n_released, **self.summary()}

    def summary(self) -> dict[str, float | None]:
        """One number per measure, for tables and maps; may leave the secure environment."""
        model, moments = self.regression, self.moments
        return {
            "histogram_intersection": self.histogram_intersection,
            "bootstrap_intersection": self.bootstrap_intersection.value,
            "total_variation_one_way": self.total_variation.one_way.mean,
            "total_variation_two_way": self.total_variation.two_way.mean,
            "total_variation_response": self.total_variation.response.mean,
            "kendall": self.ranks.kendall,
            "abim": moments.abim,
            "abisd": moments.abisd,
            "abico": moments.abico,
            "correlation_difference": moments.correlation_difference,
            "response_correlation_difference": moments.response_correlation_difference,
            "sse_sst": moments.sse_sst,
            "coefficient_distance": model.coefficient_distance if model else None,
            "interval_overlap": model.mean_overlap if model else None,
            "relative_bias": model.trained_on_released.relative_bias if model else None,
            "r_squared": model.trained_on_released.r_squared if model else None,
            "r_squared_original": model.trained_on_original.r_squared if model else None,
            "propensity_ratio": self.propensity.ratio,
            "energy_coefficient": self.energy.coefficient,
        }


def assess(pair: Pair, seed: int = 0) -> UtilityReport:
    """Every utility measure that applies, with settings that stay quick on large tables.

    Parameters
    ----------
    pair
        Original and release, from `shoal.pair.Pair.of`.
    seed
        Repeats every draw of random parts. Bootstraps of the original and the people that a regression is tested on
        are the same for every seed: a yardstick doesn't move from one release of a table to the next.

    Notes
    -----
    Cost: some sorts of all rows; propensity from at most 20,000 rows of each table, energy distance from 5,000, at
    most 300 two-way distributions of each sort. The report's notes say what was sampled.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.pair import Pair
    >>> from shoal.utility import assess
    >>> table = pl.DataFrame({"age": [30, 40, 50, 60] * 5, "cost": [1.0, 3.0, 2.0, 4.0] * 5})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"])
    >>> report = assess(Pair.of(table, table, schema))
    >>> report.histogram_intersection, report.moments.abico, report.regression.mean_overlap
    (1.0, 0.0, 1.0)
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):  # small matrices: threads only wait for each other
        return _assess(pair, seed)


def _assess(pair: Pair, seed: int) -> UtilityReport:
    columns = both_columns(pair)
    ones = row_weights(pair, False, "assess")
    cells = grid(columns, ones[0], _BINS)
    quasi = [column for column in cells if column.role == "quasi"]
    variation = vary(cells, *ones, most_pairs=_MOST_PAIRS, rng=stream(seed, "total variation"))
    distinguished = distinguish(pair, columns, True, _MOST_ROWS_PROPENSITY, seed)
    apart = spread_apart(pair, columns, _MOST_ROWS_ENERGY, seed)
    regression = _regression(pair, columns)
    report = UtilityReport(
        n_original=pair.original.n,
        n_released=len(pair.released),
        histogram_intersection=intersect(quasi, *ones),
        weighted_histogram_intersection=_weighted_intersection(pair),
        bootstrap_intersection=resample(quasi, ones[0], _DRAWS, stream(0, "bootstrap intersection")),
        marginals=compare(cells, *ones),
        total_variation=variation,
        ranks=agree(cells, *ones),
        moments=moments_of(pair),
        regression=regression,
        propensity=distinguished,
        energy=apart,
        notes=_notes(pair, columns, regression, variation, distinguished, apart),
    )
    missing = {name: _REASONS[name] for name, value in report.summary().items() if value is None}
    return replace(report, unmeasured=missing)


_NO_REGRESSION = "there is no numeric sensitive column with values in both tables"
_NO_RESPONSE = "the release has no sensitive column"
_REASONS = {
    "total_variation_one_way": "there is no quasi-identifier",
    "total_variation_two_way": "there are fewer than two quasi-identifiers",
    "total_variation_response": _NO_RESPONSE,
    "kendall": "no column has two categories to rank",
    "abim": "no numeric or ordinal column has a mean other than 0 in both tables",
    "abisd": "no numeric or ordinal column varies and has values in both tables",
    "abico": "no two numeric or ordinal columns are correlated in the original",
    "correlation_difference": "there are fewer than two numeric or ordinal columns that vary",
    "response_correlation_difference": (
        "there is no pair of a numeric or ordinal quasi-identifier and a numeric sensitive column that vary"
    ),
    "sse_sst": "no released row belongs to a known person, or no column varies",
    "coefficient_distance": _NO_REGRESSION,
    "interval_overlap": "no coefficient of a regression could be compared",
    "relative_bias": "there is no regression, or its mean is 0",
    "r_squared": "there is no regression, or its response does not vary",
    "r_squared_original": "there is no regression, or its response does not vary",
    "propensity_ratio": "no column varies",
}
"""Why a number of `UtilityReport.summary` is None."""


def _has_weights(pair: Pair) -> bool:
    return pair.schema.weight is not None and pair.schema.weight in pair.released.columns


def _weighted_intersection(pair: Pair) -> float | None:
    return histogram_intersection_of(pair, weighted=True, bins=_BINS) if _has_weights(pair) else None


def _regression(pair: Pair, columns: Sequence[Both]) -> Regression | None:
    if not targets(columns):
        return None
    quasi = [column for column in columns if column.role == "quasi"]
    coding: Code = "dummy" if design_width(quasi, _BINS) <= WIDEST else "numeric"
    try:
        return regression_of(pair, coding=coding, bins=_BINS, seed=_FOLDS)
    except InputError:  # no response in any row of positive weight: nothing to regress, the rest still holds
        return None


def _notes(
    pair: Pair,
    columns: Sequence[Both],
    regression: Regression | None,
    variation: TotalVariation,
    found: Propensity,
    apart: EnergyDistance,
) -> tuple[str, ...]:
    able, absent = targets(columns), len(pair.schema.sensitive) - sum(c.role == "sensitive" for c in columns)
    orders = (variation.two_way, variation.response)
    said = {
        "No row's source is known: SSE/SST is left out and the regression is tested in sample.": bool(
            (pair.source_rows < 0).all()
        ),
        f"The release lacks {absent} of the sensitive columns; they are left out.": absent > 0,
        "No numeric sensitive column with values in both tables: no regression.": regression is None,
        f"The regression explains the first of {len(able)} numeric sensitive columns.": len(able) > 1,
        "The regression takes numbers as linear, because free functions would be too many variables.": (
            regression is not None and regression.coding == "numeric"
        ),
        f"Two-way distributions: at most {_MOST_PAIRS} of each sort, drawn at random.": any(
            order.n_measured < order.n_all for order in orders
        ),
        f"Propensity: from {found.n_rows} rows of both tables, drawn at random.": found.sampled,
        "Propensity: main effects only, because squares and products would be too many.": not found.interactions,
        "Propensity: the classifier did not converge; its number is a lower bound.": not found.converged,
        f"Energy distance: from {apart.n_rows} rows of both tables, drawn at random.": apart.sampled,
    }
    return tuple(note for note, holds in said.items() if holds)
