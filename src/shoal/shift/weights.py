"""Importance weights: make people of one market count as if they were drawn from another.

A model is trained on covariates distributed like p and used on covariates distributed like q. If the outcome depends
on x alike in both, weighting each training row by w(x) = q(x) / p(x) makes the weighted training risk converge to
the risk on q. With three populations (Wei, Ramamurthy and Varshney 2015, section 3) the training rows are *members*
of the existing market, p(x | E=1, M=0), and the use is on members of a new market, p(x | E=1, M=1); if enrolment
depends on x alone, alike in both markets, the weight is

    w(x) = p(x | M=1) / p(x | M=0).

- **ratio**: the ratio of the two survey-weighted empirical distributions on cells of x. Consistent wherever the
  existing market has people; cells it lacks have no weight.
- **logistic**: regress M on x and take w = exp(βᵀx). Few parameters, no gaps, but wrong where log w isn't linear in x.

Promised: weights have mean 1 over the members (survey-weighted), nothing is capped or smoothed unless asked for, and
what the weights can't reach is reported: `uncovered_share` of the new market lies in cells that the existing market
lacks. Not promised: that enrolment or cost depends on x alone. No data can show that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.arrays import FloatArray
from shoal.errors import InputError
from shoal.params import Help, Range, check
from shoal.record import Record
from shoal.schema import Schema
from shoal.shift.models import market_logit
from shoal.shift.people import MEMBERS, People, ratio, read_market, with_kinds
from shoal.shift.populations import (
    LevelBalance,
    Population,
    Populations,
    balance_table,
    effective_sample_size,
    learn_design,
    meet,
)

__all__ = ["Shift", "ShiftWeights", "logistic_weights", "ratio_weights", "weigh"]

MUCH_UNCOVERED = 0.01
"""Above this share of the new market without a weight, the result says so."""
FEW_EFFECTIVE = 100.0
N_LARGEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftWeights(Record):
    """Importance weights and what to know before trusting them.

    Parameters
    ----------
    method
        ``"none"``, ``"ratio"`` or ``"logistic"``.
    values
        One weight per row of the table that is weighted, mean 1 by survey weight; 0 for a row left out because of a
        missing number, and for one in a cell that the existing market lacks.
    n, effective_sample_size
        Number of weighted rows, and how many equally weighted ones say as much: (Σvw)²/Σ(vw)², v the survey weight.
    effective_sample_size_before
        The same with the survey weights alone.
    uncovered_share
        Share of the new market in cells where the existing market has nobody.
    unreached_share
        Share of the new market in cells where the weighted table has nobody.
    unmatched_share
        Share of the weighted table in cells where the existing market has nobody; those rows weigh 0 (ratio only).
    largest, largest_share
        The largest weights, and the share of the total weight that the heaviest hundredth of the rows carries.
    n_capped
        Rows whose weight was cut to the cap.
    balance
        Shares of each level before and after.
    notes
        Warnings, in words.
    """

    releasable: ClassVar[bool] = False
    private: ClassVar[tuple[str, ...]] = ("values",)

    method: str
    values: FloatArray
    n: int
    effective_sample_size: float
    effective_sample_size_before: float
    uncovered_share: float
    unreached_share: float
    unmatched_share: float
    largest: tuple[float, ...]
    largest_share: float
    n_capped: int
    balance: tuple[LevelBalance, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How weights are estimated; see `ratio_weights` and `logistic_weights` for the parameters."""

    method: Annotated[Literal["none", "ratio", "logistic"], Help("how weights are estimated")] = "ratio"
    coding: Annotated[Literal["dummy", "numeric"], Help("covariates of the logistic regression")] = "numeric"
    smoothing: Annotated[float, Range(low=0), Help("records added to each cell, in both markets")] = 0.0
    cap: Annotated[float | None, Range(low=1), Help("largest weight, as a multiple of the mean")] = None
    bins: Annotated[int, Range(low=2), Help("bins for a numeric column with more distinct values")] = 20
    limit: Annotated[float, Range(low=0, high=1), Help("largest share of the new market without weight")] = 0.2

    def factors(self, populations: Populations, existing: FloatArray, new: FloatArray) -> FloatArray:
        """The weight of each combination, up to a constant, for these masses of the two markets."""
        if self.method == "none":
            return np.ones(len(populations.points))
        if self.method == "ratio":
            sizes = [max(1, table.n) for table in populations.tables[1:]]
            masses = [populations.in_cells(mass) for mass in (existing, new)]
            p, q = (cell_shares(mass, n, self.smoothing) for mass, n in zip(masses, sizes, strict=True))
            return ratio(q, p)[populations.cell]
        return self._odds(populations, existing, new)

    def _odds(self, populations: Populations, existing: FloatArray, new: FloatArray) -> FloatArray:
        X = populations.design.matrix(populations.points, self.coding)
        fit = market_logit(X, existing / existing.sum(), new / new.sum())
        if fit.separated:
            raise InputError(
                "logistic weights",
                "need markets that overlap",
                got="existing and new market that x tells apart almost perfectly",
                hint="Compare the codings of the two files, or drop a column that separates them.",
            )
        log_odds = fit.log_odds(X)
        weights: FloatArray = np.exp(log_odds - log_odds.max())
        return weights


def ratio_weights(
    existing: Any,
    new: Any,
    schema: Schema,
    members: Any = None,
    *,
    smoothing: float = 0.0,
    cap: float | None = None,
    bins: int = 20,
    limit: float = 0.2,
) -> ShiftWeights:
    """Weigh rows by the ratio of two empirical distributions, w(x) = q̂(x) / p̂(x).

    Parameters
    ----------
    existing, new
        Tables with the quasi-identifiers of `schema`, distributed like p and like q; survey weights count if the
        schema names a weight column and the table has it.
    schema
        Which columns are the covariates x (the quasi-identifiers) and what they are.
    members
        The rows to weigh. None: those of `existing` (two populations).
    smoothing
        Records (a fraction will do) added to each cell of both markets. Raising it covers cells that the existing
        market lacks and draws all weights towards 1.
    cap
        Largest weight, as a multiple of the mean weight; what is above is cut to it. Lowering it steadies the result
        and biases it towards no shift. None: no cap.
    bins
        A numeric column with more distinct values is cut into this many cells. More bins follow the ratio more
        finely and leave more cells uncovered.
    limit
        Largest share of the new market that may lie where the existing market has nobody.

    Raises
    ------
    InputError
        More than `limit` of the new market has no weight (disjoint supports at worst), or all weights are 0.
    ColumnError
        A column is coded differently in the tables; column and levels are named.

    Notes
    -----
    A missing category is a level of its own; missing numbers follow the schema's rule. Cost: O(n log n) in the rows.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> schema = shoal.Schema.of(quasi=["age"], kinds={"age": "nominal"})
    >>> existing = pl.DataFrame({"age": ["young"] * 80 + ["old"] * 20})
    >>> new = pl.DataFrame({"age": ["young"] * 40 + ["old"] * 60})
    >>> w = shoal.shift.ratio_weights(existing, new, schema)
    >>> round(float(w.values[0]), 6), round(float(w.values[-1]), 6), round(w.effective_sample_size)
    (0.5, 3.0, 50)
    """
    shift = Shift(method="ratio", smoothing=smoothing, cap=cap, bins=bins, limit=limit)
    return _weigh_tables(shift, existing, new, schema, members)


def logistic_weights(
    existing: Any,
    new: Any,
    schema: Schema,
    members: Any = None,
    *,
    coding: Literal["dummy", "numeric"] = "numeric",
    cap: float | None = None,
    bins: int = 20,
    limit: float = 0.2,
) -> ShiftWeights:
    """Weigh rows by the odds of a logistic regression of market on covariates, w(x) = exp(βᵀx).

    Parameters
    ----------
    existing, new, schema, members, cap, bins
        As in `ratio_weights`.
    coding
        ``"numeric"``: one coefficient per numeric or ordinal column, as published; ``"dummy"``: one per level.
    limit
        Largest share of the new market that may hold levels of a column that the existing market lacks.

    Notes
    -----
    Both markets count alike in the regression, whatever their sizes; the intercept is left out, since weights matter
    up to a constant. In the papers' tables these weights cut the bias of the dummy-coded model in most areas and
    raised that of the numeric one in most. Cost: a few Newton steps on the distinct combinations.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> schema = shoal.Schema.of(quasi=["age"], kinds={"age": "nominal"})
    >>> existing = pl.DataFrame({"age": ["young"] * 80 + ["old"] * 20})
    >>> new = pl.DataFrame({"age": ["young"] * 40 + ["old"] * 60})
    >>> w = shoal.shift.logistic_weights(existing, new, schema)
    >>> round(float(w.values[0]), 4), round(float(w.values[-1]), 4)
    (0.5, 3.0)
    """
    shift = Shift(method="logistic", coding=coding, cap=cap, bins=bins, limit=limit)
    return _weigh_tables(shift, existing, new, schema, members)


def weigh(shift: Shift, populations: Populations, n_original: int | None = None, rows: Any = None) -> ShiftWeights:
    """Weigh the first of the populations (members, existing, new) and describe the weights."""
    members, existing, new = populations.tables
    _check_cover(shift, populations)
    raw = shift.factors(populations, existing.mass, new.mass)
    w, n_capped = normalised(raw, members, shift.cap)
    values = np.zeros(members.n if n_original is None else n_original)
    values[np.arange(members.n) if rows is None else rows] = w[members.point]
    uncovered, unreached, unmatched = _gaps(populations)
    v = members.weights * w[members.point]
    return ShiftWeights(
        method=shift.method,
        values=values,
        n=members.n,
        effective_sample_size=effective_sample_size(v),
        effective_sample_size_before=effective_sample_size(members.weights),
        uncovered_share=uncovered,
        unreached_share=unreached,
        unmatched_share=unmatched,
        largest=tuple(float(x) for x in np.sort(w[members.point])[::-1][:N_LARGEST]),
        largest_share=_heaviest(v),
        n_capped=n_capped,
        balance=balance_table(populations, existing.mass, new.mass, members.mass, w),
        notes=_notes(shift, uncovered, unmatched, n_capped, effective_sample_size(v)),
    )


def cell_shares(mass: FloatArray, n: int, smoothing: float) -> FloatArray:
    """Shares of the cells, with `smoothing` of n records added to each."""
    total = mass.sum()
    counts = mass * (n / total) + smoothing
    out: FloatArray = counts / (n + smoothing * len(mass))
    return out


def normalised(raw: FloatArray, members: Population, cap: float | None) -> tuple[FloatArray, int]:
    """Weights of mean 1 over the members, cut at `cap` times the mean if asked; and how many rows were cut."""
    mean = _mean(raw, members)
    w, n_capped = raw / mean, 0
    if cap is not None and (w[members.point] > cap).any():
        n_capped = int((w[members.point] > cap).sum())
        w = np.minimum(w, cap)
        w = w / _mean(w, members)
    return w, n_capped


def _mean(w: FloatArray, members: Population) -> float:
    mean = float(w @ members.mass / members.mass.sum())
    if mean <= 0:
        raise InputError(
            "importance weights",
            "must not all be 0",
            got="no member in any cell of the new market",
            hint="Compare the codings of the files, use coarser levels, or add smoothing.",
        )
    return mean


def _weigh_tables(shift: Shift, existing: Any, new: Any, schema: Schema, members: Any) -> ShiftWeights:
    check(shift)
    typed = with_kinds(existing, schema, "existing market")
    here = read_market(existing, typed, "existing market")
    there = read_market(new, typed, "new market")
    own: People = here if members is None else read_market(members, typed, MEMBERS)
    design = learn_design([here, own], typed, shift.bins)
    return weigh(shift, meet(design, [own, here, there], shift.limit), own.n_original, own.rows)


def _gaps(populations: Populations) -> tuple[float, float, float]:
    """Shares of the new market without existing people, without members; of the members without existing people."""
    members, existing, new = (populations.in_cells(table.mass) for table in populations.tables)
    return (
        float(new[existing == 0].sum() / new.sum()),
        float(new[members == 0].sum() / new.sum()),
        float(members[existing == 0].sum() / members.sum()),
    )


def _check_cover(shift: Shift, populations: Populations) -> None:
    uncovered, _, _ = _gaps(populations)
    if shift.method == "ratio" and shift.smoothing == 0 and uncovered > shift.limit:
        raise InputError(
            "ratio weights",
            f"need people of the existing market where at least {1 - shift.limit:.0%} of the new market are",
            got=f"{uncovered:.0%} of the new market without weight",
            hint="Use coarser levels or fewer bins, add smoothing (smoothing=0.5), or use logistic weights.",
        )


def _heaviest(v: FloatArray) -> float:
    top = max(1, len(v) // 100)
    return float(np.sort(v)[::-1][:top].sum() / v.sum())


def _notes(shift: Shift, uncovered: float, unmatched: float, n_capped: int, effective: float) -> tuple[str, ...]:
    notes: list[str] = []
    ratio = shift.method == "ratio"
    if uncovered > MUCH_UNCOVERED and ratio:
        notes.append(
            f"{uncovered:.1%} of the new market lies in cells where the existing market has nobody, so no weight "
            "leads there; coarser levels, smoothing or logistic weights would."
        )
    if unmatched > MUCH_UNCOVERED and ratio and shift.smoothing == 0:
        notes.append(f"{unmatched:.1%} of the members lie in cells where the existing market has nobody; they weigh 0.")
    if n_capped:
        notes.append(f"{n_capped} weights were cut to {shift.cap:g} times the mean, as asked.")
    if shift.method != "none" and effective < FEW_EFFECTIVE:
        notes.append(f"The weighted members say as much as {effective:.0f} equally weighted ones: expect wide errors.")
    return tuple(notes)
