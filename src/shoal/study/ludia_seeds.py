"""Section 4.5.2 over many draws: on one simulated table luck decides which method is best.

For each draw of the simulated stays, plain and confounded, charges are rebuilt from hospital means by the methods that
see one set, and from hospital means crossed with severity × unit by stacked ridge and crossed regression. Errors on the
same draw are compared in pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.aggregate import Aggregate, CrossedRegression, Ludia, PseudoInverse, Reconstructor, RidgeEcological
from shoal.datasets.inpatients import inpatient

__all__ = ["SeedErrors", "over_seeds"]

ONE_SET: dict[str, Reconstructor] = {
    "MP": PseudoInverse(),
    "Ridge": RidgeEcological(),
    "LUDIA": Ludia(standardise=False),
    "LUDIA, standardised": Ludia(),
    "LUDIA, as printed": Ludia(printed=True),
}
TWO_SETS: dict[str, Reconstructor] = {"Ridge, two sets": RidgeEcological(), "Crossed": CrossedRegression()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedErrors:
    """Mean absolute error of the log charge by method, one number for each draw."""

    data: str
    errors: dict[str, tuple[float, ...]]


def over_seeds(rows: int, seeds: int, seed: int) -> tuple[SeedErrors, ...]:
    """Errors on `seeds` draws of plain and of confounded stays."""
    files = {"simulated stays": 0.0, "simulated stays, hospitals confounded": 1.0}
    return tuple(
        SeedErrors(data=label, errors=_errors(rows, [seed + at for at in range(seeds)], kappa))
        for label, kappa in files.items()
    )


def _errors(rows: int, seeds: list[int], confounding: float) -> dict[str, tuple[float, ...]]:
    found: dict[str, list[float]] = {name: [] for name in (*ONE_SET, *TWO_SETS)}
    for seed in seeds:
        stays = inpatient(rows, seed, confounding).with_columns(
            target=pl.col("charge").log(),
            days=pl.col("days").log(),
            band=pl.concat_str("severity", "unit", separator=" "),
        )
        y, X = stays["target"].to_numpy(), stays.select("days", "unit", "severity")
        sets = [Aggregate.of(stays, by=level, value="target") for level in ("hospital", "band")]
        for methods, seen in ((ONE_SET, sets[:1]), (TWO_SETS, sets)):
            for name, method in methods.items():
                found[name].append(float(np.abs(method.reconstruct(X, seen).values - y).mean()))
    return {name: tuple(values) for name, values in found.items()}
