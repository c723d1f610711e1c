"""Members, existing market and new market as masses on the distinct combinations of their covariates.

Every step of a shift needs only these masses: the ratio of two of them per cell, the odds of a logistic regression per
combination, the prediction per combination. Rows that share their covariates are therefore kept once, and a repeat
with other masses (a bootstrap) costs no more than the number of combinations.

Does the weighted existing market look like the new one? Shares of every level, before and after weighting.

For each level of each covariate: its share in the existing market, in the existing market weighted by w, and in the
new market, which the second should match; and its share among the members, before and after, whom the weights carry
towards the new market's enrolment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.design import Design, distinct_rows, joint_cells
from shoal.errors import ColumnError
from shoal.frame import series
from shoal.record import Record
from shoal.schema import Schema
from shoal.shift.people import People, named, sums_by
from shoal.value import canonical

__all__ = [
    "LevelBalance",
    "Population",
    "Populations",
    "balance_table",
    "check_codings",
    "effective_sample_size",
    "imbalance",
    "learn_design",
    "meet",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """One table as masses.

    Parameters
    ----------
    owner
        Whose table it is.
    point
        For each row, the number of its combination.
    weights
        Survey weight of each row.
    mass, squares
        Sum of the weights, and of their squares, on each combination.
    """

    owner: str
    point: IntArray
    weights: FloatArray
    mass: FloatArray
    squares: FloatArray

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.point)

    def redrawn(self, rng: Generator) -> FloatArray:
        """Masses of a Bayesian bootstrap: each row weighs w·Exp(1).

        The sum on one combination is drawn as the gamma variable of the same mean Σw and variance Σw², which is its
        exact distribution where the weights are equal.
        """
        there = self.squares > 0
        scale = np.divide(self.squares, self.mass, out=np.ones_like(self.mass), where=there)
        drawn = np.zeros_like(self.mass)
        drawn[there] = rng.standard_gamma(self.mass[there] / scale[there]) * scale[there]
        return drawn if drawn.sum() > 0 else self.mass


@dataclass(frozen=True, slots=True, kw_only=True)
class Populations:
    """Several tables on one set of combinations.

    `points` holds the codes of each distinct combination, `cell` the number of the joint cell it lies in.
    """

    design: Design
    points: FloatArray
    cell: IntArray
    n_cells: int
    tables: tuple[Population, ...]

    def in_cells(self, mass: FloatArray) -> FloatArray:
        """Masses of combinations summed over the cells."""
        return sums_by(self.cell, mass, self.n_cells)


def learn_design(tables: Sequence[People], schema: Schema, bins: int = 20) -> Design:
    """The design of all quasi-identifiers; places, spreads and quantiles are those of the first table."""
    columns = [schema[name] for name in schema.quasi]
    return Design.learn([table.frame for table in tables], tables[0].weights, columns, bins)


def meet(design: Design, tables: Sequence[People], limit: float) -> Populations:
    """Bring tables onto one set of combinations; levels coded differently are an error that names them."""
    for table in tables:
        check_codings(design, table, tables, limit)
    codes = [design.codes(table.frame) for table in tables]
    points, row = distinct_rows(np.concatenate(codes))
    (cell,), n_cells = joint_cells([design.cells(points)])
    ends = np.cumsum([len(part) for part in codes])[:-1]
    pairs = zip(tables, np.split(row, ends), strict=True)
    return Populations(
        design=design,
        points=points,
        cell=cell,
        n_cells=n_cells,
        tables=tuple(_population(table, part, len(points)) for table, part in pairs),
    )


def check_codings(design: Design, people: People, others: Sequence[People], limit: float) -> None:
    """Refuse a table of which more than `limit` holds levels of a column that the others don't have."""
    for factor in design.factors:
        content = series(people.frame, factor.name)
        strange = factor.strange_levels(content)
        if not strange:
            continue
        outside = factor.codes(content) == factor.axis.n_known
        share = float(people.weights[outside].sum() / people.weights.sum())
        if share > limit:
            raise ColumnError(
                factor.name,
                f"must be coded in the {people.owner} as in the other tables",
                got=f"{_levels_shown(strange, people)} in {share:.0%} of it{_against(factor.name, people, others)}",
                hint="Recode one of the files, or declare the levels in the schema.",
            )


def _levels_shown(levels: Sequence[str], people: People) -> str:
    return named(levels) if people.public else f"{len(levels)} other levels"


def _against(column: str, people: People, others: Sequence[People]) -> str:
    """The levels of another market, if there is one: those of members are never told."""
    market = next((other for other in others if other.public and other is not people), None)
    if market is None:
        return ""
    return f", against {named(sorted(canonical(series(market.frame, column)).drop_nulls().unique()))}"


def _population(people: People, point: IntArray, n_points: int) -> Population:
    return Population(
        owner=people.owner,
        point=point,
        weights=people.weights,
        mass=sums_by(point, people.weights, n_points),
        squares=sums_by(point, people.weights**2, n_points),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelBalance(Record):
    """Shares of one level of one column."""

    releasable: ClassVar[bool] = False

    column: str
    level: str
    existing: float
    weighted: float
    new: float
    members: float
    weighted_members: float


def balance_table(
    populations: Populations, existing: FloatArray, new: FloatArray, members: FloatArray, w: FloatArray
) -> tuple[LevelBalance, ...]:
    """Shares of each level; all arrays are masses on the combinations, `w` the weight of each."""
    masses = (existing, existing * w, new, members, members * w)
    rows: list[LevelBalance] = []
    cells = populations.design.cells(populations.points)
    for j, factor in enumerate(populations.design.factors):
        shares = [_shares(sums_by(cells[:, j], mass, factor.axis.size)) for mass in masses]
        for i, level in enumerate(factor.axis.labels()):
            row = [float(share[i]) for share in shares]
            if any(row):
                rows.append(_level(factor.name, level, row))
    return tuple(rows)


def imbalance(rows: Sequence[LevelBalance], which: str = "weighted") -> dict[str, float]:
    """Total variation from the new market, column by column; `which` is ``"existing"`` or ``"weighted"``."""
    out: dict[str, float] = {}
    for row in rows:
        out[row.column] = out.get(row.column, 0.0) + 0.5 * abs(getattr(row, which) - row.new)
    return out


def effective_sample_size(weights: FloatArray) -> float:
    """Kish's (Σw)² / Σw²: how many equally weighted records say as much."""
    squares = float(np.sum(weights**2))
    return float(np.sum(weights) ** 2 / squares) if squares > 0 else 0.0


def _level(column: str, level: str, row: Sequence[float]) -> LevelBalance:
    existing, weighted, new, members, weighted_members = row
    return LevelBalance(
        column=column,
        level=level,
        existing=existing,
        weighted=weighted,
        new=new,
        members=members,
        weighted_members=weighted_members,
    )


def _shares(mass: FloatArray) -> FloatArray:
    total = mass.sum()
    return mass / total if total > 0 else mass
