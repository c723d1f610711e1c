"""An intruder who owns nothing of ours: plain NumPy and Polars, no code of the package under attack.

They know a person's true quasi-identifiers and a rule that everybody knows (who can have eclampsia; what a survey
weight is made of), see the released file, and point at one row. Ties are broken at random; the expectation is counted.
"""

from __future__ import annotations

import numpy as np
import polars as pl

LOCATION = ["town", "post", "school", "clinic"]


def eclampsia_table(towns: int = 40) -> tuple[pl.DataFrame, list[str]]:
    """One woman and four men in each town, which four columns name; each woman has eclampsia."""
    town = np.repeat(np.arange(towns), 5)
    sex = np.tile(["f", "m", "m", "m", "m"], towns)
    where = {name: [f"{name} {number:02d}" for number in town] for name in LOCATION}
    return pl.DataFrame({**where, "sex": sex, "ill": np.where(sex == "f", "eclampsia", "none")}), [*LOCATION, "sex"]


def weighted_table() -> tuple[pl.DataFrame, list[str]]:
    """Six areas by two sexes in a sample of 240; weight = population of the cell / sampled in it."""
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {"area": rng.integers(0, 6, 240), "sex": rng.integers(0, 2, 240), "age": rng.integers(20, 60, 240)}
    )
    population = {cell: 1000.0 + 137.0 * cell for cell in range(12)}
    cell = table["area"] * 2 + table["sex"]
    sampled = dict(cell.value_counts().iter_rows())
    return table.with_columns(weight=pl.Series([population[c] / sampled[c] for c in cell])), ["area", "sex", "age"]


def found_by_rule(gap: np.ndarray, shown: np.ndarray, rule: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Probability that each person is found: among the rows that show the value of `rule`, the nearest, ties at random.

    `gap` holds the distance of each person to each released row, `shown` the rows' value of a column published
    unchanged, `rule` the value that the intruder derives from each person's quasi-identifiers.
    """
    hit = np.zeros(len(gap))
    for i in range(len(gap)):
        fits = np.flatnonzero(shown == rule[i])
        if len(fits):
            tied = fits[gap[i, fits] <= gap[i, fits].min() + 1e-9]
            hit[i] = np.mean(source[tied] == i)
    return hit


def mismatches(people: pl.DataFrame, release: pl.DataFrame, names: list[str]) -> np.ndarray:
    """Number of columns in which a released cell can't stand for the person's value; a cell may be a set of values."""
    gap = np.zeros((len(people), len(release)))
    for name in names:
        cells = release[name].cast(pl.String).to_list()
        for i, value in enumerate(people[name].cast(pl.String).to_list()):
            gap[i] += [value not in cell for cell in cells]
    return gap


def distances(people: pl.DataFrame, release: pl.DataFrame, name: str) -> np.ndarray:
    """Distance in one numeric column; an interval counts at its middle."""
    return np.abs(people[name].to_numpy().astype(float)[:, None] - middle(release[name])[None, :])


def middle(column: pl.Series) -> np.ndarray:
    """The numbers of a column; of an interval written as text, its middle."""
    if column.dtype.is_numeric():
        return column.to_numpy().astype(float)
    ends = column.cast(pl.String).str.extract_all(r"\d+(?:\.\d+)?").to_list()
    return np.array([np.mean([float(end) for end in pair]) if pair else np.nan for pair in ends])
