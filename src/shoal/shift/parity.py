"""Are predictions as right for one group of people as for another?

Every member's cost y is predicted by a model that did not see it (ŷ), and members weigh as they do for the new market
(v). In group g

    difference = Σ_g v (ŷ − y) / Σ_g v y          predicted minus actual, as a share of the actual mean,

with the interval of a weighted mean of ŷ − y. A group whose people are predicted too dear pays for others wherever
premiums follow predictions; one that is predicted too cheap is served at a loss, and avoided. The group need not be a
covariate: that is where a model that never looked at it can still treat it differently.

What it can't show: costs are known of members only, so a group that differs in the new market from its like among the
members is not seen. What members cost is taken for what they need; where a group had less access to care, a prediction
that is right about its costs is wrong about its needs. Several groups are compared at once, so one in twenty
differences without substance lies outside its interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray
from shoal.errors import InputError, ParameterError
from shoal.record import Record
from shoal.shift.people import Members
from shoal.value import canonical

__all__ = ["Parity", "compared", "parity_of"]

LEAST = 30
"""Members that a group must have to be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity(Record):
    """How far predictions are off for the members of one group.

    Parameters
    ----------
    column, level
        The group.
    n_members, share
        Members in it, and their share of the weights.
    actual, predicted
        Weighted mean cost, and what models that did not see these members predict.
    difference, interval
        Predicted minus actual as a share of the actual mean, with its 95% interval; infinite where costs
        are 0.
    """

    releasable: ClassVar[bool] = False
    derived: ClassVar[tuple[str, ...]] = ("verdict",)

    column: str
    level: str
    n_members: int
    share: float
    actual: float
    predicted: float
    difference: float
    interval: tuple[float, float]

    @property
    def verdict(self) -> str:
        """What the interval says."""
        low, high = self.interval
        return "too high" if low > 0 else "too low" if high < 0 else "no clear difference"


def compared(given: Any, members: Members) -> dict[str, pl.Series]:
    """The groups of each member: names of quasi-identifiers, or a value for each row of the table that was given."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(name): _aligned(str(name), values, members) for name, values in given.items()}
    names = [given] if isinstance(given, str) else list(given)
    unknown = [name for name in names if name not in members.schema.quasi]
    if unknown:
        raise ParameterError(
            "assess",
            "compare must name quasi-identifiers, or map a name to one value for each member",
            got=repr(unknown[0])[:60],
        )
    return {name: canonical(pl.Series(name, members.frame[name].to_list(), strict=False)) for name in names}


def _aligned(name: str, values: Any, members: Members) -> pl.Series:
    column = pl.Series(name, values, strict=False) if not isinstance(values, pl.Series) else values
    if len(column) != members.n_original:
        raise InputError(
            "compare",
            f"'{name}' must have one value for each member",
            got=f"{len(column)} values for {members.n_original}",
        )
    return canonical(column.gather(members.rows.tolist()))


def parity_of(
    groups: Mapping[str, pl.Series], residuals: FloatArray, costs: FloatArray, a: FloatArray
) -> tuple[Parity, ...]:
    """Each level of each column with at least 30 members; smaller levels of a column are taken together."""
    return tuple(
        _one(column, level, inside, residuals, costs, a)
        for column, values in groups.items()
        for level, inside in _levels(values)
        if a[inside].sum() > 0
    )


def _levels(values: pl.Series) -> Iterator[tuple[str, BoolArray]]:
    shown = values.cast(pl.String).fill_null("missing")
    counts = shown.value_counts(name="n").sort(by=[pl.col("n"), pl.col(shown.name)], descending=[True, False])
    large = counts.filter(pl.col("n") >= LEAST)[shown.name].to_list()
    for level in large:
        yield level, (shown == level).to_numpy()
    rest = ~shown.is_in(large).to_numpy()
    if rest.sum() >= LEAST:
        yield "all others", rest


def _one(column: str, level: str, inside: BoolArray, residuals: FloatArray, costs: FloatArray, a: FloatArray) -> Parity:
    v, r, y = a[inside], residuals[inside], costs[inside]
    actual, off = float(np.average(y, weights=v)), float(np.average(r, weights=v))
    half = 1.96 * math.sqrt(float(v**2 @ (r - off) ** 2)) / float(v.sum())
    low, middle, high = (_share(value, actual) for value in (off - half, off, off + half))
    return Parity(
        column=column,
        level=level,
        n_members=int(inside.sum()),
        share=float(v.sum() / a.sum()),
        actual=actual,
        predicted=actual + off,
        difference=middle,
        interval=(low, high),
    )


def _share(value: float, whole: float) -> float:
    return value / abs(whole) if whole else math.copysign(math.inf, value) if value else 0.0
