"""Household risk: one member who is found gives away the others.

A household g is found if any of its members is. With the members' individual risks r_i taken as independent,

    R_g = 1 − Π_{i in g} (1 − r_i),   max r_i ≤ R_g ≤ min(1, Σ r_i),

and it is the same for every member. Size and composition identify too: two members of one class of two persons may be
the only household of their kind. So the risk r of the household's own key (its size, and the sorted keys of
its members), counted over households, is computed as well, and the larger of the two counts. Members of a household
are not "others to hide among".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoal import frequency as posterior
from shoal.arrays import FloatArray, IntArray
from shoal.conform import in_two_homes
from shoal.equivalence import Classes, Codes, classes_of, combine, persons
from shoal.errors import Problems, SchemaError
from shoal.frame import Frame, enter, series
from shoal.frequency import estimated_size, sampling_fractions
from shoal.record import Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.keys import require_keys
from shoal.schema import Column, Schema

__all__ = ["HouseholdRisk", "household_risks", "households"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdRisk(Record):
    """The risk of households, for inside only; `to_dict` has summaries without single households.

    Parameters
    ----------
    n_households, n_records
        Households, and rows; a row without a household is one of its own.
    expected_households
        Expected number of households found, Σ_g R_g.
    expected_persons
        Expected number of rows in households found, Σ_g |g| R_g.
    largest
        The largest household risk.
    k
        The smallest number of households of one composition: with how many others a household of whom everybody is
        known is confused at least, itself included.
    n_unique
        Households whose composition no other household has.
    by_members, by_composition
        Expected number of households found through members alone, and through composition alone.
    risks
        The household risk of each row, in the table's order.
    """

    releasable: ClassVar[bool] = False
    private: ClassVar[tuple[str, ...]] = ("risks",)

    n_households: int
    n_records: int
    expected_households: float
    expected_persons: float
    largest: float
    k: int
    n_unique: int
    by_members: float
    by_composition: float
    risks: FloatArray = field(repr=False, compare=False)


def households(
    table: Any, schema: Schema, household: str | None = None, population: float | None = None
) -> HouseholdRisk:
    """The risk that a household is found through any of its members or through its composition.

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are.
    household
        The column that identifies households; None: the one that the schema calls the household.
    population
        Number of persons that the table was drawn from; None: the survey weights, else the table is the population.

    Notes
    -----
    A missing quasi value is a level of its own; a row without a household is one of its own. The composition's risk
    takes the sampling fraction of persons for that of households, which holds where whole households are drawn. Cost:
    O(n log n).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 7, 8], "home": [1, 2, 1, 2]})
    >>> found = shoal.risk.households(table, shoal.Schema.of(quasi=["age"], household="home"))
    >>> found.n_households, found.expected_households, found.k
    (2, 2.0, 1)
    """
    frame = enter(table)
    require_keys(frame, schema)
    name = _column(frame, schema, household)
    Problems(in_two_homes(frame, _with_home(schema, name))).raise_if_any()
    home = combine([persons(series(frame, name))])
    found = table_classes(frame, schema)
    size = estimated_size(frame, schema, found, population)
    members = household_risks(_member_risks(frame, schema, found, home, size), home.values, home.n)
    composition = _composition_risks(found.labels, home, 1.0 if size is None else min(1.0, len(frame) / size))
    risk = np.maximum(members, composition[0])
    sizes = np.bincount(home.values, minlength=home.n)
    return HouseholdRisk(
        n_households=home.n,
        n_records=len(frame),
        expected_households=float(risk.sum()),
        expected_persons=float(risk @ sizes),
        largest=float(risk.max()),
        k=composition[1],
        n_unique=composition[2],
        by_members=float(members.sum()),
        by_composition=float(composition[0].sum()),
        risks=risk[home.values],
    )


def household_risks(risks: FloatArray, home: IntArray, n: int) -> FloatArray:
    """R_g = 1 − Π (1 − r_i) of each household."""
    out = np.ones(n)
    np.multiply.at(out, home, 1 - risks)
    return 1 - out


def _member_risks(frame: Frame, schema: Schema, found: Classes, home: Codes, size: float | None) -> FloatArray:
    """E(1/F) of each row, where only other households are others to hide among."""
    others = classes_of(frame, schema.quasi, home).sizes
    p = np.ones(len(others)) if size is None else sampling_fractions(frame, schema, found, size)
    return posterior.negative_binomial(others, p)[found.labels]


def _column(frame: Frame, schema: Schema, household: str | None) -> str:
    name = household if household is not None else schema.household
    if name is None or name not in frame.columns:
        raise SchemaError(
            "households",
            "needs the column that identifies households",
            hint="Give it the role household in the schema, or set household=.",
        )
    return name


def _with_home(schema: Schema, household: str) -> Schema:
    """The schema with this column as its household."""
    if schema.household == household or household == schema.unit:
        return schema
    if household not in schema:
        schema = replace(schema, columns=(*schema.columns, Column(name=household, role="other")))
    others = [replace(column, role="other") for column in schema.columns if column.role == "household"]
    return schema.with_columns([*others, replace(schema[household], role="household", pseudonym=False)])


def _composition_risks(labels: IntArray, home: Codes, share: float) -> tuple[FloatArray, int, int]:
    """E(1/F) of each household's composition, counted over households; the fewest of one kind; how many are alone."""
    order = np.lexsort((labels, home.values))
    kind = _kinds(labels[order], np.bincount(home.values, minlength=home.n))
    f = np.bincount(kind)[kind]
    return posterior.negative_binomial(f, np.full(len(f), share)), int(f.min()), int((f == 1).sum())


def _kinds(labels: IntArray, sizes: IntArray) -> IntArray:
    """Equal numbers for households of equal sorted member labels, read member by member."""
    starts = np.cumsum(sizes) - sizes
    kind = Codes(values=sizes, n=int(sizes.max()) + 1)
    n = int(labels.max()) + 2
    for place in range(int(sizes.max())):
        inside = place < sizes
        member = np.full(len(sizes), n - 1)
        member[inside] = labels[starts[inside] + place]
        kind = combine([kind, Codes(values=member, n=n)])
    return combine([kind]).values
