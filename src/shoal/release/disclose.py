"""The gate: everything that leaves the secure environment beside the rows passes here, and what is not listed stays
inside.

What leaves is a function of the released rows, the schema, the recipe and a short list of figures. The figures compare
the release with the records *that were kept* (`Pair.without_left_out`): a record that was suppressed or left out has no
part in them, so they can't tell of it. They have at most three significant digits; biases, which would give sums away,
at most three decimals. Where single cells of kept records were blanked or pooled, and where rows are synthetic, no
comparison with the original leaves at all.

`measured` makes the figures, `figures` lists them for the manifest, and `outside` is what the report for everybody is
drawn from. Nothing else writes to the folder that leaves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.pair import Pair
from shoal.risk import RiskReport
from shoal.risk import assess as assess_risk
from shoal.utility import Moments, UtilityReport
from shoal.utility import assess as assess_utility
from shoal.utility.moment import ColumnMoments

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = ["DIGITS", "FIGURES", "Measured", "figures", "measured", "rounded", "significant", "why_inside"]

DIGITS = 3
"""Significant digits of a figure that leaves; of a bias, decimals."""

_GUESS = {"column": None, "measure": None, "value": None, "interval": None, "baseline": None}
_MIX = {"column": None, "kind": None, "distinct_l": None, "entropy_l": None, "recursive_l": None, "t": None}
_BY_CUT = {"largest": None, "mean": None}
_MEAN = {"mean": None}
_MODEL = {"model": None, **_BY_CUT, "interval": None, "fits": None}
_SAMPLE = {"n_targets": None, "sampled": None}

FIGURES: Mapping[str, Any] = {
    "risk": {
        "classes": {"k": None, "n_records": None, "n_classes": None, "sensitive": {"*": _MIX}},
        "reidentification": {
            "expected": None,
            "interval": None,
            "by_group": {"mean": None, "largest": None, "bound": None},
            **_SAMPLE,
        },
        "unchanged": {
            "expected": None,
            "interval": None,
            "baseline": None,
            "surest": None,
            "surest_interval": None,
            "columns": None,
            "why": None,
            **_SAMPLE,
        },
        "dependences": None,
        "linkage": {"share": None, "interval": None, **_SAMPLE},
        "intervals": {"share": None, "chance": None, "width": None, "why": None},
        "inference": {"columns": {"*": _GUESS}, "unmeasured": None, **_SAMPLE},
        "attackers": {
            "prosecutor": _BY_CUT,
            "journalist": _BY_CUT,
            "marketer": None,
            "population": None,
            "model": None,
            "spread": None,
            "largest_spread": None,
            "models": {"*": _MODEL},
        },
    },
    "utility": {
        "histogram_intersection": None,
        "bootstrap_intersection": {"value": None},
        "total_variation": {"one_way": _MEAN, "two_way": _MEAN, "response": _MEAN},
        "moments": {
            "abim": None,
            "abisd": None,
            "abico": None,
            "mean_shift": None,
            "correlation_difference": None,
            "response_correlation_difference": None,
            "sse_sst": None,
        },
        "regression": {
            "target": None,
            "trained_on_released": {"r_squared": None},
            "trained_on_original": {"r_squared": None},
        },
        "propensity": {"ratio": None},
    },
}
"""What the manifest may hold of what was measured: the names, and nothing that is not named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured over the records that were kept: exact here, rounded where it leaves."""

    pair: Pair
    risk: RiskReport
    utility: UtilityReport


def why_inside(release: Release) -> str | None:
    """Why no comparison of this release with its original leaves; None where the listed figures do."""
    return release.recipe.why_inside


def measured(release: Release) -> Measured | None:
    """The figures that may leave, or None where none does (`why_inside`)."""
    if why_inside(release) is not None:
        return None
    pair = release.pair.without_left_out()
    if pair.original.n == release.prepared.n:
        return Measured(pair=pair, risk=release.risk, utility=release.utility)
    recipe = release.recipe
    risk = assess_risk(
        pair,
        labels=None if recipe.perturbs else release.outside_labels,
        k=recipe.k,
        seed=release.seed,
        exchangeable=recipe.is_blind,
        population=recipe.population_size,
    )
    return Measured(pair=pair, risk=risk, utility=assess_utility(pair, seed=release.seed))


def figures(found: Measured) -> dict[str, Any]:
    """What was measured, as the manifest may hold it."""
    words = {"risk": rounded(found.risk).to_dict(), "utility": rounded(found.utility).to_dict()}
    listed: dict[str, Any] = _listed(words, FIGURES)
    return listed


def rounded(value: Any) -> Any:
    """`value` with at most three significant digits in every number; biases with at most three decimals."""
    return _rounded(value, significant)


def _listed(words: Any, names: Any) -> Any:
    """The entries of `words` that `names` lists; ``*`` stands for any name, and for every entry of a list."""
    if names is None or not isinstance(words, Mapping | list):
        return words
    if isinstance(words, list):
        return [_listed(item, names["*"]) for item in words]
    if "*" in names:
        return {name: _listed(item, names["*"]) for name, item in words.items()}
    return {name: _listed(words[name], inner) for name, inner in names.items() if name in words}


def _rounded(value: Any, digits: Any) -> Any:
    if isinstance(value, float):
        return digits(value)
    if isinstance(value, np.ndarray):
        return np.round(value, DIGITS) if value.dtype.kind == "f" else value
    if isinstance(value, tuple):
        return tuple(_rounded(item, digits) for item in value)
    if isinstance(value, Mapping):
        return {name: _rounded(item, digits) for name, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _rounded_record(value, _decimals if isinstance(value, Moments | ColumnMoments) else digits)
    return value


def _rounded_record(value: Any, digits: Any) -> Any:
    changed = {
        field.name: _rounded(getattr(value, field.name), digits) for field in dataclasses.fields(value) if field.init
    }
    return dataclasses.replace(value, **changed)


def significant(value: float) -> float:
    """A number with at most three significant digits."""
    return float(f"{value:.{DIGITS}g}")


def _decimals(value: float) -> float:
    return significant(round(value, DIGITS))
