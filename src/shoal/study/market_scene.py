"""The stage of the market-risk study: one survey, its enrolment, and new markets that differ from it.

As in Wei, Ramamurthy and Varshney (2018, section 4.2): the survey is the national baseline; a *region* has
demographics of its own; enrolment depends on age and follows `PLAN`, the age distribution of the first enrolment
period of the health insurance marketplaces. Everything is a mass on the grid of all combinations of levels.

Regions come from a table the user gives, or are simulated: the baseline tilted by exp(Σ θ_f f(x)) over linear and
squared standardised columns and their products, θ_f drawn once per region, then a sample of `REGION_PEOPLE` people. The
spread of θ was set by the public-use microdata areas of the American Community Survey, which differ among each
other in education and income by a third of a standard deviation and in age by a tenth; rating areas are some
twenty times larger and differ less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared, prepare
from shoal.design import Design, Factor
from shoal.encode import Coding, Encoder
from shoal.errors import InputError, ParameterError
from shoal.frame import enter, series
from shoal.rng import stream
from shoal.schema import Column, Schema
from shoal.shift.people import Members, ratio, read_market, read_members, sums_by
from shoal.shift.populations import learn_design
from shoal.value import canonical

__all__ = ["PLAN", "Scene", "set_scene", "simulate_regions"]

PLAN = (0.06, 0.11, 0.17, 0.17, 0.23, 0.25, 0.006, 0.004)
"""Shares of the age groups under 18, 18-25, 26-34, 35-44, 45-54, 55-64, 65-74, 75 and over in the first enrolment."""

REGION_PEOPLE = 20_000
LARGEST_GRID = 20_000
_BINS = 50
_WEIGHT = "study weight"
_SPREAD = {"linear": 0.2, "square": 0.1, "product": 0.08, "age": 0.1, "binary": 0.03}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All that a split needs.

    Parameters
    ----------
    table, schema
        The survey as a Polars frame with a weight column, and its schema with settled kinds.
    design, sizes
        The coding of the columns, and how many cells each has; the grid is their product.
    cell, costs, weights
        Grid cell, cost and survey weight of each record.
    X
        Design matrix of the grid for each coding, without intercept.
    enrolment
        Chance of enrolment, up to a constant, on each cell.
    tilt
        For each market, its share over the baseline's on each cell; the first market is the baseline itself.
    names
        Names of the markets, the first one excepted.
    """

    table: pl.DataFrame
    schema: Schema
    design: Design
    sizes: tuple[int, ...]
    cell: IntArray
    costs: FloatArray
    weights: FloatArray
    X: dict[str, FloatArray]
    enrolment: FloatArray
    tilt: FloatArray
    names: tuple[str, ...]

    @property
    def n_cells(self) -> int:
        """Number of cells of the grid."""
        return int(np.prod(self.sizes))

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.costs)

    def members(self, rows: IntArray) -> Prepared:
        """The records `rows` as members: their weight is the survey weight times the chance of enrolment."""
        weight = pl.Series(self.schema.weight, self.weights[rows] * self.enrolment[self.cell[rows]])
        return prepare(self.table[rows].with_columns(weight), self.schema)

    def on_grid(self, codes: FloatArray, encoder: Encoder) -> IntArray:
        """The grid cell of each row of a mask's codes."""
        columns = [
            _cells_of(factor, coding, codes[:, j])
            for j, (factor, coding) in enumerate(zip(self.design.factors, encoder.codings, strict=True))
        ]
        return np.ravel_multi_index(tuple(columns), self.sizes).astype(np.int64)


def set_scene(
    table: Any,
    schema: Schema,
    *,
    age: str | None = "age_group",
    plan: Sequence[float] | None = PLAN,
    regions: Any = None,
    region_column: str = "region",
    n_regions: int = 18,
    strength: float = 1.0,
    seed: int = 0,
) -> Scene:
    """Prepare the survey, its enrolment and the new markets.

    Parameters
    ----------
    table, schema
        The survey with costs; every quasi-identifier must have levels (or few distinct numbers).
    age, plan
        The column that enrolment depends on, and the shares of its levels, in their order, among the enrolled;
        None: enrolment is alike for all.
    regions, region_column
        A table of people with the quasi-identifiers and the name of their region; None: simulated regions.
    n_regions, strength
        How many simulated regions, and how much they differ: 1 is the spread described in the module, 0 none.
    seed
        Which simulated regions.
    """
    members = read_members(table, schema)
    design = learn_design([members], members.schema, bins=_BINS)
    codes = design.codes(members.frame)
    cells, sizes = _grid_cells(design, codes)
    n_cells = int(np.prod(sizes))
    cell = np.ravel_multi_index(tuple(cells.T), sizes).astype(np.int64)
    grid = np.array(np.unravel_index(np.arange(n_cells), sizes)).T.astype(np.int64)
    base = sums_by(cell, members.weights, n_cells) / members.weights.sum()
    chance = _enrolment(design, grid, base, age, plan)
    if regions is None:
        names = tuple(f"R{i:02d}" for i in range(1, n_regions + 1))
        place = None if age is None else _place(design, age)
        shares = simulate_regions(grid, base, place, n_regions, strength, seed)
    else:
        names, shares = _read_regions(regions, region_column, design, members.schema, sizes)
    weighted, study_schema = _with_weight(members)
    levels = _cell_codes(cells, codes, sizes)
    return Scene(
        table=weighted,
        schema=study_schema,
        design=design,
        sizes=sizes,
        cell=cell,
        costs=members.costs,
        weights=members.weights,
        X={
            "dummy": design.matrix(_at(grid, levels), "dummy"),
            "numeric": design.matrix(_at(grid, levels), "numeric"),
        },
        enrolment=chance,
        tilt=np.vstack((np.ones(n_cells), ratio(shares, np.broadcast_to(base, shares.shape)))),
        names=names,
    )


def simulate_regions(
    grid: IntArray, base: FloatArray, age: int | None, n_regions: int, strength: float, seed: int
) -> FloatArray:
    """Shares of each region on the grid, one row per region."""
    features, spreads = _features(grid, base, age)
    out = np.empty((n_regions, len(grid)))
    for r in range(n_regions):
        rng = stream(seed, "market study", "region", r)
        theta = rng.standard_normal(len(spreads)) * spreads * strength
        tilted = base * np.exp(theta @ features)
        out[r] = rng.multinomial(REGION_PEOPLE, tilted / tilted.sum()) / REGION_PEOPLE
    return out


def _features(grid: IntArray, base: FloatArray, age: int | None) -> tuple[FloatArray, FloatArray]:
    centre = base @ grid
    scale = np.sqrt(base @ (grid - centre) ** 2)
    z = ((grid - centre) / np.where(scale > 0, scale, 1.0)).T
    features, spreads = [], []
    for j, column in enumerate(z):
        binary = grid[:, j].max() < 2
        features.append(column)
        spreads.append(_SPREAD["binary" if binary else "age" if j == age else "linear"])
        if not binary:
            features.append((column**2 - 1) / np.sqrt(2))
            spreads.append(_SPREAD["square"])
            others = [i for i in range(j) if grid[:, i].max() >= 2]
            features += [column * z[i] for i in others]
            spreads += [_SPREAD["product"]] * len(others)
    return np.array(features), np.array(spreads)


def _grid_cells(design: Design, codes: FloatArray) -> tuple[IntArray, tuple[int, ...]]:
    cells = design.cells(codes)
    sizes = tuple(factor.axis.size - (not factor.seen[-1]) for factor in design.factors)
    for j, factor in enumerate(design.factors):
        if factor.axis.numeric and len(np.unique(codes[:, j])) > sizes[j]:
            raise InputError(
                "study", f"column '{factor.name}' must have few levels", hint="Cut it into groups, as the paper does."
            )
    if np.prod(sizes) > LARGEST_GRID:
        raise InputError("study", f"needs at most {LARGEST_GRID:,} combinations of levels", got=f"{np.prod(sizes):,}")
    return cells, sizes


def _cell_codes(cells: IntArray, codes: FloatArray, sizes: tuple[int, ...]) -> list[FloatArray]:
    """The code that stands for each cell of each column: the one that its records have, else its number."""
    out = []
    for j, size in enumerate(sizes):
        level = np.arange(size, dtype=np.float64)
        level[cells[:, j]] = codes[:, j]
        out.append(level)
    return out


def _at(grid: IntArray, levels: list[FloatArray]) -> FloatArray:
    return np.column_stack([level[grid[:, j]] for j, level in enumerate(levels)])


def _cells_of(factor: Factor, coding: Coding, codes: FloatArray) -> IntArray:
    """From a mask's code of one column (a value, or the rank of a level) to the design's cell."""
    if coding.levels is None:
        return factor.cells(codes)
    cells = np.append(factor.axis.encode(coding.levels), factor.axis.n_known)
    found: IntArray = cells[coding.snap(codes).astype(np.int64)]
    return found


def _enrolment(
    design: Design, grid: IntArray, base: FloatArray, age: str | None, plan: Sequence[float] | None
) -> FloatArray:
    if age is None or plan is None:
        return np.ones(len(grid))
    j = _place(design, age)
    shares = np.asarray(plan, dtype=np.float64)
    population = sums_by(grid[:, j], base, int(grid[:, j].max()) + 1)
    if shares.shape != population.shape or (shares < 0).any() or not shares.any():
        raise ParameterError("study", f"plan must hold a share for each of the {len(population)} levels of '{age}'")
    chance: FloatArray = ratio(shares / shares.sum(), population)[grid[:, j]]
    return chance


def _place(design: Design, age: str) -> int:
    names = [factor.name for factor in design.factors]
    if age not in names:
        raise ParameterError("study", f"age must be one of the quasi-identifiers ({', '.join(names)})", got=repr(age))
    return names.index(age)


def _read_regions(
    table: Any, column: str, design: Design, schema: Schema, sizes: tuple[int, ...]
) -> tuple[tuple[str, ...], FloatArray]:
    frame = enter(table, owner="regions")
    if column not in frame.columns:
        raise InputError("regions", f"must have the column '{column}', which names the region of each person")
    people = read_market(frame, schema, "regions")
    cells = design.cells(design.codes(people.frame))
    region = canonical(series(frame, column)).fill_null("missing").to_numpy()[people.rows]
    inside = (cells < np.array(sizes)).all(axis=1)
    names = tuple(sorted(set(region)))
    out = np.zeros((len(names), int(np.prod(sizes))))
    for i, name in enumerate(names):
        own = (region == name) & inside
        if not own.any():
            raise InputError("regions", "must have people with levels of the survey in every region")
        place = np.ravel_multi_index(tuple(cells[own].T), sizes).astype(np.int64)
        out[i] = sums_by(place, people.weights[own], out.shape[1])
    return names, out / out.sum(axis=1, keepdims=True)


def _with_weight(members: Members) -> tuple[pl.DataFrame, Schema]:
    """The survey as Polars columns; one without a weight gets a column for that of enrolment."""
    names = [column.name for column in members.schema.columns]
    table = pl.DataFrame([series(members.frame, name) for name in names])
    if members.schema.weight is not None:
        return table, members.schema
    weight = Column(name=_WEIGHT, role="weight", kind="numeric")
    return table.with_columns(pl.lit(1.0).alias(_WEIGHT)), replace(
        members.schema, columns=(*members.schema.columns, weight)
    )
