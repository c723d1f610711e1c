"""Micro-perturbation: each group keeps its mean and gets noise with the covariance that grouping takes away.

The quasi-identifiers of N records in G groups are replaced by

    group mean + e,    e ~ N(0, S),    S = (N − 1)/(N − G) · [S_X − S_x̄],                    (11)

S_X the covariance of the data and S_x̄ that of the group means (Li and Sarkar, "Class Restricted Clustering and
Micro-Perturbation for Data Privacy", 2013). S is the pooled within-group covariance.

Their Theorem 2 says that the masked data then have covariance S_X on average. As printed it is false: independent draws
also move the group means, which adds

    S · (G − 1)/(N − 1).

It becomes true when the noise is *centred* within each group. And when the centred noise is also *whitened*, so that
its pooled sample covariance is S and not S on average, mean and covariance of the masked data are the original's,
exactly. (Whitening needs N − G ≥ rank of S; that is always so, for S comes from deviations with N − G degrees of
freedom.)

- ``"published"``: as printed; biased by the term above;
- ``"centred"``: group means exact, covariance unbiased;
- ``"exact"``: group means exact, overall mean vector and covariance matrix exact, to rounding error;
- ``"hybrid"``: mean vector and covariance matrix exact *in each group* (R-microhybrid, Domingo-Ferrer and
  González-Nicolás 2010), to compare with. With the group's deviations X = U Σ V', the rows are those of Q Σ V', Q a
  random orthonormal basis of as many centred columns. A group of s records has s − 1 of them, so small groups come
  back nearly as they were: of two records, the records themselves.

These hold for numeric columns. Nominal columns are coded 0-1 and ordinal ones by position, perturbed with the rest, and
put back on levels by rank: the records with the largest values of a level get it, as many as had it. So every level
keeps its number of records, but covariances with levels are only near.

Promised: re-identification by the quasi-identifiers at most 1/k (see `shoal.mask.mask`), and the above. Not promised:
equivalence classes of size k, or that numbers stay in their range or whole; ``keep_types`` sees to that at a price.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.claim_wording import statement
from shoal.encode import Coding
from shoal.errors import InputError
from shoal.mask.mask import BOUND, BlindMask, ValueSets
from shoal.method import ReportText
from shoal.params import Help

__all__ = ["MicroPerturb", "inflation"]

_TINY = 1e-12  # of the largest: below it, a variance is rounding error


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroPerturb(BlindMask):
    """Replace each group's values by its mean plus noise that restores the covariance.

    Parameters
    ----------
    noise
        ``"centred"``: group means exact, covariance unbiased. ``"exact"``: mean and covariance of the numeric columns
        exact. ``"published"``: as printed in the paper, which inflates variances. ``"hybrid"``: mean and covariance
        exact in each group, which gives small groups away; to compare with.
    keep_types
        Put numbers back on their domain: columns of two values by rank, whole numbers and declared steps by random
        rounding that keeps their mean, and all within the bounds that the schema declares. Mean and covariance are then
        only near.

    Notes
    -----
    Survey weights play no part: mean and covariance are unweighted. Missing categories are a level of their own.
    Every group must have two rows. Cost: n·D² for D columns (a nominal one with L > 2 levels counts L).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 24, 26, 61, 64, 66], "bmi": [21.0, 23.0, 28.0, 24.0, 31.0, 27.0]})
    >>> schema = shoal.Schema.of(quasi=["age", "bmi"])
    >>> mask = shoal.MicroPerturb(noise="exact")
    >>> release = shoal.anonymize(table, schema, group=shoal.MDAV(k=3), mask=mask, seed=1)
    >>> round(release.table["age"].std() / table["age"].std(), 9)
    1.0
    """

    title = "mean and noise"
    summary = "The group's mean, and noise that restores the covariance."
    promise = f"{BOUND}; with noise=exact, means and covariances of numbers are preserved."
    report_text = ReportText(
        done=(
            "All members of a group got the group's centre, with noise that keeps means and covariances "
            "(micro-perturbation)."
        ),
        writes="replaced: the centre of the person's group, with noise that keeps means and covariances",
        keeps="The mean, and the spread and correlations of numbers as far as the noise restores them.",
    )
    rank = 5

    noise: Annotated[Literal["published", "centred", "exact", "hybrid"], Help("how noise is drawn")] = "centred"
    keep_types: Annotated[bool, Help("keep numbers whole, or on their declared step, and within their bounds")] = False

    def draw(self, sets: ValueSets, rng: Generator) -> FloatArray:
        """Group means plus noise, on the codes of the original."""
        self._check_groups(sets)
        coded = _coded(sets)
        means = _group_means(coded, sets)
        if self.noise == "hybrid":
            return self._restored(means + _turned(coded - means, sets, rng), sets, rng)
        spread, root = _within(coded - means, len(coded) - len(sets.sizes))
        masked = means + self._noise(sets, root, rng) * spread
        return self._restored(masked, sets, rng)

    def caveats(self, sets: ValueSets) -> tuple[str, ...]:
        """What the perturbation gives away or changes."""
        said = [{"published": _BIASED, "hybrid": _GROUPS_KNOWN}.get(self.noise, _MEANS_KNOWN)]
        whole = ", ".join(coding.name for coding in sets.encoder.codings if coding.levels is None and coding.integral)
        if whole and not self.keep_types:
            said.append(f"Whole-number columns ({whole}) are released as real numbers and can leave their range.")
        return tuple(said)

    def claims(self, sets: ValueSets) -> tuple[Claim, ...]:
        """What is promised about mean and covariance of the numeric columns."""
        names = [coding.name for coding in sets.encoder.codings if coding.levels is None]
        if any(coding.atoms is not None for coding in sets.encoder.codings if coding.levels is None):
            return ()  # those who have no number have no part in a mean
        if not names or (self.keep_types and self.noise != "published"):
            return ()
        if self.noise == "published":
            return (_published_claim(inflation(sets)),)
        return (_UNBIASED if self.noise == "centred" else _EXACT,)

    def _check_groups(self, sets: ValueSets) -> None:
        if sets.sizes.min(initial=2) < 2:
            raise InputError(
                "MicroPerturb",
                "needs at least two rows in every group: noise around a single row can't be centred",
                got=f"{int((sets.sizes < 2).sum())} groups of one row",
                hint="Raise k.",
            )

    def _noise(self, sets: ValueSets, root: FloatArray, rng: Generator) -> FloatArray:
        z = rng.standard_normal((len(sets.values), len(root)))
        if self.noise != "published":
            z = _centred(z, sets)
        if self.noise == "exact":
            z = _centred(np.linalg.qr(z)[0], sets) * np.sqrt(len(z) - len(sets.sizes))
        return z @ root

    def _restored(self, masked: FloatArray, sets: ValueSets, rng: Generator) -> FloatArray:
        """Coded columns back on the original's codes."""
        columns, at = [], 0
        for j, coding in enumerate(sets.encoder.codings):
            width = coding.width if coding.unordered else 1
            columns.append(self._restored_column(masked[:, at : at + width], coding, sets.values[:, j], rng))
            at += width
        return np.column_stack(columns)

    def _restored_column(self, block: FloatArray, coding: Coding, original: FloatArray, rng: Generator) -> FloatArray:
        if coding.unordered:
            return _levels_by_rank(block, original)
        if coding.atoms is not None:
            return self._number_or_reason(block, coding, original, rng)
        if coding.levels is not None:
            return _by_rank(block[:, 0], original)
        return _on_domain(block[:, 0], coding, original, rng) if self.keep_types else block[:, 0]

    def _number_or_reason(self, block: FloatArray, coding: Coding, original: FloatArray, rng: Generator) -> FloatArray:
        """Noise on the numbers; rows of the group that hold a reason hold it still."""
        has = ~coding.is_absent(original)
        out = original.copy()
        number = block[has, 0]
        if coding.levels is not None:
            number = _by_rank(number, original[has])
        elif self.keep_types and has.any():
            number = _on_domain(number, coding, original[has], rng)
        out[has] = np.minimum(number, coding.edge)
        return out


_BIASED = (
    "The perturbation is as published, and its Theorem 2 is false as printed: independent noise also moves the group "
    "means, so variances and covariances are inflated."
)
_MEANS_KNOWN = (
    "Each group's mean is kept, as in plain microaggregation: whoever can tell which rows form a group learns their "
    "mean in the original."
)
_GROUPS_KNOWN = (
    "Each group's mean and covariance are kept: whoever can tell which rows form a group learns both, and a small "
    "group comes back nearly as it was, one of two records exactly."
)
_SCOPE = ("It holds for numeric quasi-identifiers, unweighted; levels keep their number of records only.",)
_EXACT = Claim(
    kind="covariance kept",
    value=0.0,
    scope="per data set",
    basis="proved",
    statement=statement("covariance kept", claim={"value": 0.0}),
    assumptions=_SCOPE,
)
_UNBIASED = Claim(
    kind="covariance unbiased",
    value=0.0,
    scope="mean over the noise",
    basis="proved",
    statement=statement("covariance unbiased", claim={"value": 0.0}),
    assumptions=_SCOPE,
)


def _published_claim(rise: FloatArray) -> Claim:
    return Claim(
        kind="covariance unbiased",
        value=float(rise.mean()),
        scope="mean over the noise",
        basis="published",
        statement=statement("covariance unbiased", 1, claim={"value": float(rise.mean())}, most=f"{rise.max():.1%}"),
        assumptions=("The inflation is S·(G − 1)/(N − 1), S the pooled within-group covariance.",),
    )


def inflation(sets: ValueSets) -> FloatArray:
    """Expected relative inflation of each numeric column's variance under ``noise="published"``; 0 for constants."""
    numeric = np.array([coding.levels is None for coding in sets.encoder.codings])
    x = sets.values[:, numeric]
    x = x - x.mean(axis=0)
    x /= np.maximum(np.abs(x).max(axis=0), np.finfo(np.float64).tiny)
    n, n_groups = len(x), len(sets.sizes)
    within = ((x - _group_means(x, sets)) ** 2).sum(axis=0) / (n - n_groups)
    overall = x.var(axis=0, ddof=1)
    share: FloatArray = np.divide(within, overall, out=np.zeros_like(within), where=overall > 0)
    return share * (n_groups - 1) / (n - 1)


def _coded(sets: ValueSets) -> FloatArray:
    """Numbers and positions as they are, unordered levels as 0-1 indicators."""
    sets.encoder.check_width(len(sets.values))
    blocks = [_indicators(sets.values[:, j], c) if c.unordered else _filled(sets, j, c)[:, None]
              for j, c in enumerate(sets.encoder.codings)]  # fmt: skip
    return np.hstack(blocks)


def _filled(sets: ValueSets, j: int, coding: Coding) -> FloatArray:
    """A column with the mean of the group's numbers in the place of a reason: it moves no mean."""
    column = sets.values[:, j]
    if coding.atoms is None:
        return column
    absent = coding.is_absent(column)
    n_present = np.add.reduceat((~absent).astype(np.int64), sets.offsets[:-1])
    sums = np.add.reduceat(np.where(absent, 0.0, column - coding.center), sets.offsets[:-1])
    means = coding.center + sums / np.maximum(n_present, 1)
    return np.where(absent, np.repeat(means, sets.sizes), column)


def _indicators(codes: FloatArray, coding: Coding) -> FloatArray:
    out = np.zeros((len(codes), coding.n_levels))
    out[np.arange(len(codes)), codes.astype(np.int64)] = 1.0
    return out


def _group_means(x: FloatArray, sets: ValueSets) -> FloatArray:
    """The mean of each row's group, by deviations from the group's first row: equal values keep their last bit."""
    first = x[sets.offsets[:-1]]
    sums = np.add.reduceat(x - np.repeat(first, sets.sizes, axis=0), sets.offsets[:-1], axis=0)
    means: FloatArray = np.repeat(first + sums / sets.sizes[:, None], sets.sizes, axis=0)
    return means


def _centred(z: FloatArray, sets: ValueSets) -> FloatArray:
    sums = np.add.reduceat(z, sets.offsets[:-1], axis=0)
    return z - np.repeat(sums / sets.sizes[:, None], sets.sizes, axis=0)


def _turned(deviations: FloatArray, sets: ValueSets, rng: Generator) -> FloatArray:
    """Other deviations with the same sums of products in every group."""
    largest = np.abs(deviations).max(axis=0)
    unit, out = deviations / np.where(largest > 0, largest, 1.0), np.zeros_like(deviations)
    for first, last in pairwise(sets.offsets):
        _, sizes, axes = np.linalg.svd(unit[first:last], full_matrices=False)
        kept = sizes > _TINY * sizes.max(initial=0.0)
        z = rng.standard_normal((last - first, int(kept.sum())))
        out[first:last] = np.linalg.qr(z - z.mean(axis=0))[0] @ (sizes[kept, None] * _upright(axes[kept]))
    scaled: FloatArray = out * largest
    return scaled


def _within(deviations: FloatArray, free: int) -> tuple[FloatArray, FloatArray]:
    """Within-group standard deviations s, and R of full row rank with s R'R s = S."""
    largest = np.abs(deviations).max(axis=0)  # taken out first: squares neither overflow nor vanish
    moving = largest > 0
    unit = deviations[:, moving] / largest[moving]
    unit_spread = np.sqrt((unit**2).sum(axis=0) / free)
    unit /= unit_spread
    spread = np.zeros(len(largest))
    spread[moving] = largest[moving] * unit_spread
    values, vectors = np.linalg.eigh(unit.T @ unit / free)
    kept = values > _TINY * values.max(initial=0.0)
    root = np.zeros((int(kept.sum()), len(spread)))
    root[:, moving] = np.sqrt(values[kept])[:, None] * _upright(vectors[:, kept].T)
    return spread, root


def _upright(axes: FloatArray) -> FloatArray:
    """Axes, one a row, of which an end is as good as the other: the end that another processor's library takes too."""
    if not axes.size:
        return axes
    size = np.abs(axes)
    first = np.argmax(size > 0.5 * size.max(axis=1, keepdims=True), axis=1)
    turned: FloatArray = axes * np.sign(np.take_along_axis(axes, first[:, None], axis=1))
    return turned


def _by_rank(x: FloatArray, original: FloatArray) -> FloatArray:
    """The original's codes, handed out in the order of `x`."""
    out = np.empty(len(x))
    out[np.argsort(x, kind="stable")] = np.sort(original)
    return out


def _levels_by_rank(indicators: FloatArray, original: FloatArray) -> FloatArray:
    """Each level to as many records as had it, rarest first, where its indicator is largest; the rest to the last."""
    codes = original.astype(np.int64)
    counts: IntArray = np.bincount(codes, minlength=indicators.shape[1])
    order = np.argsort(counts, kind="stable")
    out = np.full(len(codes), order[-1], dtype=np.float64)
    free: BoolArray = np.ones(len(codes), dtype=np.bool_)
    for level in order[:-1]:
        open_rows = np.flatnonzero(free)
        chosen = open_rows[np.argsort(-indicators[open_rows, level], kind="stable")[: counts[level]]]
        out[chosen], free[chosen] = level, False
    return out


def _on_domain(x: FloatArray, coding: Coding, original: FloatArray, rng: Generator) -> FloatArray:
    """Numbers back where they may be: two values by rank, steps by random rounding (whole: 1), all within bounds."""
    if len(np.unique(original)) <= 2:
        return _by_rank(x, original)
    low, high = getattr(coding, "bounds", None) or (-np.inf, np.inf)
    if coding.step is None:
        return np.clip(x, low, high)
    steps: FloatArray = np.floor(x / coding.step)
    steps += rng.random(len(x)) < x / coding.step - steps
    return np.clip(steps, np.ceil(low / coding.step), np.floor(high / coding.step)) * coding.step
