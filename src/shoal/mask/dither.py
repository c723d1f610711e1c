"""Dither, then Rosenblatt: values drawn around each group, bent back onto the distribution of the data.

Each record's value set is replaced by a draw x̃ from a continuous distribution that depends on its group only (the
dither). The forward conditional distribution functions of x̃ over all groups give numbers u that are uniform and
independent; the inverse conditional distribution functions of the observed x, dimension by dimension, turn them into
x̂ with the distribution of x (Wei, Ramamurthy and Varshney 2018, equations 6 to 14; the sign of the conditional mean
under (13) corrected). Columns are taken in the order of increasing number of distinct values.

Large tables are transformed in blocks of neighbouring groups (see below), at a cost of n log n.

Promised: re-identification by the quasi-identifiers at most 1/k (see `shoal.mask.mask`), and a released distribution
equal to the original's up to sampling noise (exactly, with ``exact=True``). Not promised: no equivalence classes of
size k; only the distribution of x is kept, and its link to the sensitive columns loosens as k grows.

The Gaussian dither block by block: neighbouring groups are bent back onto the distribution of their own records.

The forward functions of a mixture cost one Gaussian for each pair of a row and a component. Nearly all of them count:
at α = 1/3 the Gaussians are half as wide as the data, and on simulated claims (eight columns, 12,000 rows) 96% of the
pairs that enter a conditional distribution are above what 1e-9 allows to leave out, 86% above what 1e-4 does. So no
sum over near components is near the sum over all, and over one mixture of n/k components the cost is n²/k.

**Blocks.** The components are cut into blocks of at most `most` neighbours (`kd_blocks`), and each block
is transformed as if it were the whole table: by the mixture of its own components, onto its own observed rows. The cost
is n·most·d, plus n log n for the cuts. Unless told otherwise, there is one block as long as n·c·d is at most 1.6e9
(some three seconds of processor time), and no block ever has fewer than 1,250 components.

**Why nothing is lost.** A row of component l is drawn from N(x̄_l, Λ_l). So over the rows of block b, x̃ follows the
mixture of the components of b with shares p_L(l)/Σ_b p_L, exactly, and the forward functions of *that* mixture turn
the rows of b into uniform, independent u's. The inverse turns these into the distribution of b's observed rows. The
observed rows of all blocks are the table, so their distributions add up to the table's: by chance for the inverse that
looks up, exactly for the one that matches ranks. The error of each u stays that of `shoal.mask.mixture.forward`,
against the mixture of its block.

**Why nothing is given away.** Blocks depend on the components, hence on value sets, not on which record had which
value: the mask stays blind, and the bound 1/k of `shoal.mask.mask` is untouched.

**What changes.** A released value comes from the records of a block, not of the whole table. With one block the result
is the published one; with more, values wander less far. A block has at least ``most / 2`` components, rounded down, so
at least k times as many records stand behind each draw; the measured risk is above that of one block (see the docs).

Points cut into blocks of neighbours, all of nearly the same size.

A cut is made in the column with the largest variance, then, among points that are equal there, in the next column and
so on, last by row number: equal points stay together as long as they can. Cost n·log(n/size) per column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.errors import ParameterError
from shoal.mask.mask import BOUND, BlindMask, ValueSets, require_weights
from shoal.method import ReportText
from shoal.params import Help, Range
from shoal.progress import advance

if TYPE_CHECKING:  # compiled kernels
    from shoal.mask.mixture import Mixture

__all__ = ["CellDither", "GaussianDither", "Neighbourhood", "kd_blocks", "neighbourhoods", "usual_most"]

_MANY = 0.5  # a column with more distinct values than this share of its rows is nearly continuous


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDither(BlindMask):
    """Dither uniformly in the cells around the group's own values, through the full transform.

    By Theorem 2 of the paper this gives exactly the value whose cell was drawn: it equals ``Resample(replace=True)``
    in distribution, and is here because it is the paper's method and a check on the transform.

    Parameters
    ----------
    weighted
        Draw by survey weight, so that the *weighted* distribution is kept.
    merge
        Merge neighbouring cells that belong in full to one group (Corollary 3); for one quasi-identifier. The
        distribution of what is released is the same.

    Notes
    -----
    Cost: n·d·log n.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63]})
    >>> schema = shoal.Schema.of(quasi=["age"])
    >>> release = shoal.anonymize(table, schema, group=shoal.MDAV(k=3), mask=shoal.CellDither(), seed=1)
    >>> set(release.table["age"]) <= {21, 22, 23, 61, 62, 63}
    True
    """

    title = "dither by cells"
    summary = "The published variant, equivalent to resampling with replacement."
    promise = f"{BOUND}."
    report_text = ReportText(
        done=(
            "Each person got values drawn from the cells around the values of the group, mapped back to the "
            "distribution of the whole table."
        ),
        writes="replaced: values drawn from the distribution of the person's group",
        keeps="The column's distribution, up to chance.",
    )
    rank = 3

    weighted: Annotated[bool, Help("draw by survey weight")] = False
    merge: Annotated[bool, Help("merge neighbouring cells of one group; for one quasi-identifier")] = False

    def draw(self, sets: ValueSets, rng: Generator) -> FloatArray:
        """Draw a cell of the group, a point in it, and transform."""
        from shoal.mask.rosenblatt import draw_cells, forward_cells, inverse, pick_members

        order = _order(sets)
        target = np.ascontiguousarray(sets.values[:, order])
        mass = _mass(self, sets) if self.weighted else None
        members = pick_members(sets.offsets, rng, mass)
        if self.merge:
            return self._in_merged_cells(sets, target, members, mass, rng)
        x = draw_cells(target[members], target, rng)
        return _reordered(inverse(forward_cells(x, target, mass), target, mass), order)

    def _in_merged_cells(
        self, sets: ValueSets, target: FloatArray, members: IntArray, mass: IntArray | None, rng: Generator
    ) -> FloatArray:
        from shoal.mask.rosenblatt import draw_merged, forward_merged, inverse, merged_cells

        if target.shape[1] != 1:
            raise ParameterError(
                "CellDither", "merge=True is for one quasi-identifier", got=str(target.shape[1]),
                hint="Leave it out: what is released has the same distribution.",
            )  # fmt: skip
        cells, edges = merged_cells(target[:, 0], sets.groups)
        u = forward_merged(draw_merged(members, cells, edges, rng), cells, edges, mass)
        return inverse(u[:, None], target, mass)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianDither(BlindMask):
    """Dither by a Gaussian around each group's centre, N(centroid, Σ_ℓ + αI) on the standardised scale.

    Parameters
    ----------
    alpha
        Variance added in every direction. It trades risk against the link to the sensitive columns: raising it from
        0.01 to 1 lowers re-identification and blurs more; below 0.01 correlations of later columns suffer.
    exact
        Match ranks instead of looking numbers up: the released joint distribution of the quasi-identifiers is then
        the original's, exactly, at the same risk.
    inverse
        ``"observed"`` releases combinations that occur in the original. Where columns are nearly continuous these
        are whole original rows (they belong to other people, but they are real); ``"smooth"`` interpolates between
        neighbouring values and conditions on bins, so that released rows are new.
    weighted
        Keep the *weighted* distribution, by survey weight.
    block_groups
        Distinct groups that are transformed together. A table that has more is cut into blocks of neighbouring groups,
        each bent back onto its own records (`shoal.mask.dither`). Raising it lowers the measured risk of large
        tables and costs time in proportion. None: all groups of a small table (up to 30,000 records of eight columns
        in groups of five), at least 2,500 of a large one.

    Notes
    -----
    Missing categories are a level of their own. Nominal levels are ordered by frequency. Cost: n·b·d Gaussian
    distribution functions, b distinct groups in a block, and n log n for the rest; all cores; error of each u at most
    1e-9. For eight columns and k = 5 that is half a second of processor time at 10,000 records and 50 at 1,000,000.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(500, seed=1)
    >>> schema = shoal.datasets.health_survey_schema()
    >>> release = shoal.anonymize(table, schema, mask=shoal.GaussianDither(exact=True), seed=7)
    >>> shoal.utility.histogram_intersection(table, release.table, schema)
    1.0
    """

    title = "Gaussian dither"
    summary = (
        "Noise as wide as the group, mapped back to observed values: the usual choice, with the lowest measured risk."
    )
    promise = f"{BOUND}; with exact, the joint distribution is preserved exactly."
    report_text = ReportText(
        done=(
            "Each person got values drawn at random around the centre of the group, mapped back to the "
            "distribution of the whole table (Gaussian dither and Rosenblatt's transformation)."
        ),
        writes=(
            "replaced: values drawn around the centre of the person's group, so that the distribution of the "
            "whole table is kept"
        ),
        keeps="The distribution, alone and with the other quasi-identifiers, up to chance.",
    )
    rank = 4

    alpha: Annotated[float, Range(above=0), Help("variance added to each group, standardised scale")] = 1 / 3
    exact: Annotated[bool, Help("keep the joint distribution exactly")] = False
    inverse: Annotated[Literal["observed", "smooth"], Help("release observed or interpolated values")] = "observed"
    weighted: Annotated[bool, Help("keep the weighted distribution")] = False
    block_groups: Annotated[int | None, Range(low=1), Help("distinct groups per block; none: by table size")] = None

    def draw(self, sets: ValueSets, rng: Generator) -> FloatArray:
        """Draw around the centre of each group, and transform."""
        from shoal.mask.mixture import components, draw, forward, merge

        self._check_choices()
        order = _order(sets)
        mass = _mass(self, sets) if self.weighted else None
        standard = np.ascontiguousarray(sets.standardised()[:, order])
        mixture, component = merge(components(standard, sets.offsets, self.alpha, mass))
        home = component[sets.groups]
        x, target = draw(mixture, home, rng), np.ascontiguousarray(sets.values[:, order])
        numeric = np.array([c.kind == "numeric" and c.atoms is None for c in sets.encoder.codings])[order]
        written = np.empty_like(target)
        done = 0
        for block in neighbourhoods(mixture, home, self.block_groups):
            u, rows = forward(x[block.rows], block.mixture, block.home), block.rows
            written[rows] = self._inverse(u, target[rows], None if mass is None else mass[rows], numeric)
            done += len(rows)
            advance(done, len(home))
        return _reordered(written, order)

    def caveats(self, sets: ValueSets) -> tuple[str, ...]:
        """Say so where the observed inverse returns whole original rows."""
        names = [c.name for c, dense in zip(sets.encoder.codings, _dense(sets), strict=True) if dense]
        if self.inverse == "smooth" or not names:
            return ()
        return (
            f"Nearly all values of {', '.join(names)} are distinct, so released combinations are mostly whole original "
            "combinations, of other people as a rule; inverse='smooth' avoids that.",
        )

    def _check_choices(self) -> None:
        if self.exact and (self.weighted or self.inverse == "smooth"):
            raise ParameterError(
                "GaussianDither", "exact=True keeps the unweighted joint of observed rows",
                hint="Leave out weighted=True and inverse='smooth', or exact=True.",
            )  # fmt: skip

    def _inverse(self, u: FloatArray, target: FloatArray, mass: IntArray | None, numeric: BoolArray) -> FloatArray:
        from shoal.mask import rosenblatt
        from shoal.mask.smoothed_inverse import inverse_smooth

        if self.exact:
            return rosenblatt.inverse_ranked(u, target)
        if self.inverse == "smooth":
            return inverse_smooth(u, target, numeric, mass)
        return rosenblatt.inverse(u, target, mass)


def _mass(mask: BlindMask, sets: ValueSets) -> IntArray:
    from shoal.mask.rosenblatt import masses

    return masses(require_weights(mask, sets), sets.offsets)


def _order(sets: ValueSets) -> IntArray:
    """The order of the columns, by their distinct values in the whole table where only a part of it is at hand."""
    from shoal.mask.rosenblatt import dimension_order

    known = [coding.n_distinct for coding in sets.encoder.codings]
    if None in known:
        return dimension_order(sets.values)
    return np.argsort(np.array(known), kind="stable").astype(np.int64)


def _reordered(rows: FloatArray, order: IntArray) -> FloatArray:
    """Columns back in schema order."""
    out = np.empty_like(rows)
    out[:, order] = rows
    return out


def _dense(sets: ValueSets) -> BoolArray:
    distinct = np.array([len(np.unique(column)) for column in sets.values.T])
    return distinct > max(50, _MANY * len(sets.values))


_EVALUATIONS = 1.6e9  # Gaussians that are evaluated for one block before more are made
_MOST = 2500  # components in a block of a large table


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """One block: the rows that belong to it, the mixture they are drawn from, and the component of each in it."""

    rows: IntArray
    mixture: Mixture
    home: IntArray


def neighbourhoods(mixture: Mixture, home: IntArray, most: int | None) -> Iterator[Neighbourhood]:
    """Cut a mixture into blocks of at most `most` neighbouring components.

    Parameters
    ----------
    mixture
        Distinct components (`shoal.mask.mixture.merge`).
    home
        The component that each row is drawn from.
    most
        Components in a block; None: `usual_most`. Raising it brings the result nearer to that of one block and costs
        more.

    Notes
    -----
    Each row is in one block, with all other rows of its component.
    """
    c, d = mixture.centroid.shape
    n_blocks = -(-c // (usual_most(len(home), d) if most is None else most))
    if n_blocks == 1:
        yield Neighbourhood(rows=np.arange(len(home)), mixture=mixture, home=home)
        return
    blocks = kd_blocks(mixture.centroid, 1, n_blocks)
    block, place = _places(blocks, c)
    order = np.argsort(block[home], kind="stable")
    edges = np.cumsum(np.bincount(block[home], minlength=n_blocks))[:-1]
    for members, rows in zip(blocks, np.split(order, edges), strict=True):
        yield Neighbourhood(rows=rows, mixture=_part(mixture, members), home=place[home[rows]])


def usual_most(n: int, d: int) -> int:
    """Components in a block for n rows of d columns: as many as 1.6e9 evaluations allow, at least 2,500."""
    return max(_MOST, int(_EVALUATIONS / max(1, n * d)))


def _places(blocks: list[IntArray], c: int) -> tuple[IntArray, IntArray]:
    """The block of each component, and its number there."""
    block, place = np.empty(c, dtype=np.int64), np.empty(c, dtype=np.int64)
    for b, members in enumerate(blocks):
        block[members], place[members] = b, np.arange(len(members))
    return block, place


def _part(mixture: Mixture, members: IntArray) -> Mixture:
    share = mixture.share[members]
    return replace(
        mixture, share=share / share.sum(), centroid=mixture.centroid[members], factor=mixture.factor[members]
    )


def kd_blocks(points: FloatArray, k: int, n_blocks: int) -> list[IntArray]:
    """Cut points into `n_blocks` blocks; return the rows of each, in increasing order.

    Each block holds a multiple of `k` rows; one takes the remainder.
    """
    if not 1 <= n_blocks <= len(points) // k:
        raise ParameterError("blocks", "each must hold at least k rows", got=f"{n_blocks} blocks")
    return _cut(points, np.arange(len(points)), k, n_blocks)


def _cut(points: FloatArray, rows: IntArray, k: int, n_blocks: int) -> list[IntArray]:
    if n_blocks == 1:
        return [rows]
    half = n_blocks // 2
    size = len(rows) // k * half // n_blocks * k
    low = _lowest(points[rows], size)
    return _cut(points, rows[low], k, half) + _cut(points, rows[~low], k, n_blocks - half)


def _lowest(points: FloatArray, size: int) -> BoolArray:
    """The `size` points that are lowest in the column with the largest variance, ties by the next column, then row."""
    chosen, tied = np.zeros(len(points), dtype=np.bool_), np.arange(len(points))
    for j in _by_variance(points):
        column = points[tied, j]
        edge = np.partition(column, size - 1)[size - 1]
        chosen[tied[column < edge]] = True
        size -= int(np.count_nonzero(column < edge))
        tied = tied[column == edge]
    chosen[tied[:size]] = True
    return chosen


def _by_variance(points: FloatArray) -> IntArray:
    """Columns by decreasing variance; variances that agree in nine digits are equal, so rounding decides nothing."""
    variance = points.var(axis=0)
    order: IntArray = np.argsort(-np.round(variance / max(variance.max(initial=0.0), 1e-300), 9), kind="stable")
    return order
