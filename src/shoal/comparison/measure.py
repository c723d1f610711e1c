"""One ruler for every family: what is measured of each release, and how it becomes one number for each axis.

**Found**, the headline of risk: the share of the original's records that an intruder with one guess finds, by the
strongest of three attacks: matching a person's true quasi-identifiers to the nearest released row (`nearest_match`),
matching a released row to the nearest original (`linkage`, a share of the released rows), and matching by what the
columns published unchanged say too (`unchanged`). Ties are broken at random and counted exactly.

Synthetic rows are nobody's, so nobody's row can be found. Instead a person counts as found if nobody else in the
original has their combination of quasi-identifiers and it came out again, beyond what comes out by chance.

**Guessed**, a risk that all families share: by how much the nearest released rows improve the guess of a sensitive
value. Of what guessing the table's mode (or mean) gets wrong, the share that is put right: for categories
(success − baseline)/(1 − baseline), for numbers 1 − error/baseline, not below 0; the largest over sensitive columns.
Part of it is statistics that hold for anybody, which is what a release is for.

**Kept**, the headline of utility: 1 − total variation of two-way distributions, the mean of two means: over all pairs
of quasi-identifiers, and over all pairs of one with a sensitive column. Coarse cells are spread evenly over the values
that they cover, suppressed ones are lost.

**Coarse cells** are read as a recipient would. The pair of original and release reads an interval or a set as one
typical value, which serves moments and distances. A distribution read so has all its mass on few points, and coarsening
would look far worse than it is beside methods that write single values. Here each coarse cell is given one of the
values that the original's records behind it have, all equally likely: the recipient knows the cell, not how full its
parts are. A suppressed cell says nothing; it counts as missing, and so as lost.

**Found among synthetic rows.** What can happen there is that a combination of quasi-identifiers
that one person alone has comes out again (Raab, Nowok and Dibben call these replicated uniques): by memory of that
person, or because such combinations come out anyway. To tell the two apart, each such person is given *phantoms*: the
same combination with the value of one column drawn from the table, kept if nobody has the result. With U the share of
records that are unique,

    found = U · max(0, share of uniques that came out − share of phantoms that came out).

Phantoms are a little less likely combinations than those that somebody has, so chance is understated and risk
overstated. Where no phantom can be made, all is counted as found.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray, distinct_numbers
from shoal.claim import Claim
from shoal.coarsening.coarsener import SUPPRESSED
from shoal.comparison.outcome import RISK, UTILITY
from shoal.conform import Prepared
from shoal.encode import Coding
from shoal.equivalence import codes as cells_of
from shoal.equivalence import equal_rows
from shoal.errors import GuaranteeError
from shoal.frame import series
from shoal.pair import NOBODY, Pair
from shoal.recipe import Recipe
from shoal.release import Release, make
from shoal.release.write import keeps_bound
from shoal.risk import RiskReport, attribute_inference, reidentification_attack, verbatim_rows
from shoal.risk.nearest import match_pair
from shoal.rng import repeatable, stream
from shoal.schema import LinkedSchema, Schema
from shoal.utility import assess
from shoal.utility.intersection import TotalVariation, total_variation_of

__all__ = [
    "even_draws",
    "found_beyond_chance",
    "measure",
    "reference",
    "release_of",
    "share_put_right",
    "spread",
]

_MOST_PAIRS = 300


def release_of(table: Any, schema: Schema | LinkedSchema, recipe: Recipe, seed: int) -> Release:
    """A release to be measured and thrown away; the key follows from the seed too, so that a comparison repeats.

    No account is touched: what never leaves the room spends nothing.
    """
    with repeatable(seed):
        return make(table, schema, recipe, seed=seed if recipe.takes_seed else None)


def measure(release: Release, seed: int) -> dict[str, Any]:
    """Risks, utilities and claims of a release as JSON-safe words; a claim that doesn't hold is a GuaranteeError.

    `seed` decides what is drawn for measuring (a split of the people, pairs where there are very many); it is the same
    for all recipes, so that they are measured on the same draw.
    """
    claims = release.claims
    _check(release, claims)
    return {
        "risks": _plain(_risks(release, seed)),
        "utilities": _plain(_utilities(release, seed)),
        "claims": [claim.to_dict() for claim in claims],
    }


def reference(table: Any, prepared: Prepared, seed: int) -> dict[str, float | None]:
    """What the table itself would show if it were published as it is, and what a second sample would keep."""
    whole = Pair.of(table, prepared.frame, prepared.schema, prepared.rows)
    matches = match_pair(whole)
    rows = stream(seed, "second sample").integers(prepared.n, size=prepared.n)
    second = Pair.of(table, prepared.frame[rows], prepared.schema, np.full(prepared.n, NOBODY, dtype=np.int64))
    return _plain(
        {
            RISK: reidentification_attack.measure(whole, trials=1, matches=matches).expected,
            "guessed": _guessed(attribute_inference.measure(whole, matches=matches)),
            "second_sample": _kept(total_variation_of(second, most_pairs=_MOST_PAIRS, seed=seed)),
        }
    )


def _check(release: Release, claims: tuple[Claim, ...]) -> None:
    """Hold the trial to what it claims, as writing a release would."""
    k = max((claim.value for claim in claims if claim.kind == "k-anonymity"), default=0)
    if release.risk.classes.k < k:
        raise GuaranteeError("release", f"must be {k:g}-anonymous", got=f"k = {release.risk.classes.k}")
    if not keeps_bound(release):
        raise GuaranteeError("release", "must keep the re-identification bound for every record")


def _risks(release: Release, seed: int) -> dict[str, float | None]:
    risk = release.risk
    return {
        **(_found(risk) if release.model is None else _counted(release, seed)),
        "guessed": _guessed(risk.inference),
        "replicated_uniques": _replicated(release.pair),
        "copied_uniques": risk.verbatim.unique_share,
        **({} if release.linked is None else {"one_event": release.linked.joint.share_below("1")}),
    }


def _found(risk: RiskReport) -> dict[str, float | None]:
    """The attacks with one guess, each a share of people or rows found; the strongest is the headline."""
    attacks = {
        "nearest_match": risk.reidentification.expected,
        "linkage": risk.linkage.nearest_share,
        "unchanged": risk.unchanged.expected,
    }
    return {RISK: risk.strongest, **attacks, "linkage_two_guesses": risk.linkage.share}


def _counted(release: Release, seed: int) -> dict[str, float | None]:
    """No row of a model is anybody's: who came out again beyond chance is counted instead."""
    beyond = found_beyond_chance(release.pair, seed)
    return {RISK: beyond, "nearest_match": None, "linkage": None, "unchanged": None, "linkage_two_guesses": None}


def _utilities(release: Release, seed: int) -> dict[str, float | None]:
    whole, pair = assess(release.pair, seed=seed), spread(release.pair, seed)
    found = whole.summary()
    variation = (
        whole.total_variation if pair is release.pair else total_variation_of(pair, most_pairs=_MOST_PAIRS, seed=seed)
    )
    return {
        UTILITY: _kept(variation),
        "kept_single": _left(variation.one_way.mean),
        "kept_pairs": _left(variation.two_way.mean),
        "kept_with_sensitive": _left(variation.response.mean),
        "histogram_intersection": found["histogram_intersection"],
        "correlation_error": found["correlation_difference"],
        "response_correlation_error": found["response_correlation_difference"],
        "interval_overlap": found["interval_overlap"],
        "r_squared": found["r_squared"],
        "r_squared_original": found["r_squared_original"],
        "rows_share": len(release.source_rows) / release.pair.original.n_original,
    }


def _kept(variation: TotalVariation) -> float:
    """1 − the mean of what is lost among quasi-identifiers and with sensitive columns; of single columns if no pair."""
    sorts = [variation.two_way.mean, variation.response.mean]
    lost = [mean for mean in sorts if mean is not None] or [variation.one_way.mean or 0.0]
    return 1 - float(np.mean(lost))


def _left(lost: float | None) -> float | None:
    return None if lost is None else 1 - lost


def _guessed(found: attribute_inference.Inference) -> float | None:
    gains = [share_put_right(column) for column in found.columns.values()]
    return max(gains, default=None)


def share_put_right(column: attribute_inference.ColumnInference) -> float:
    """Of what guessing without the person's neighbours gets wrong, the share that the nearest rows put right."""
    wrong = column.baseline if column.measure == "error" else 1 - column.baseline
    return max(0.0, column.advantage / wrong) if wrong > 0 else 0.0


def _plain(numbers: dict[str, float | None]) -> dict[str, float | None]:
    """Numbers that JSON can hold: what is no number is none."""
    return {name: _finite(value) for name, value in numbers.items()}


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def spread(pair: Pair, seed: int) -> Pair:
    """The pair with coarse cells of the release spread over their values; the same pair where none is coarse."""
    if pair.exact is None:
        return pair
    codes = pair.released_codes.copy()
    for j, coding in enumerate(pair.encoder.codings):
        rows = np.flatnonzero(~pair.exact[:, j] & (pair.source_rows >= 0))
        if len(rows):
            rng = stream(seed, "spread", coding.name)
            codes[rows, j] = _column(series(pair.released, coding.name), coding, pair, rows, j, rng)
    return replace(pair, released_codes=codes)


def _column(column: pl.Series, coding: Coding, pair: Pair, rows: IntArray, j: int, rng: Generator) -> FloatArray:
    texts = column.cast(pl.String)
    silent = (texts.is_null() | (texts == SUPPRESSED).fill_null(False)).to_numpy()[rows]
    drawn = even_draws(cells_of(texts).values[rows], pair.original_codes[pair.source_rows[rows], j], rng)
    return np.where(silent, np.nan if coding.levels is None else len(coding.levels), drawn)


def even_draws(cells: IntArray, values: FloatArray, rng: Generator) -> FloatArray:
    """For each row one of the distinct values that rows of its cell have, each of them equally likely."""
    _, value = np.unique(values, return_inverse=True)  # NaN equals NaN
    n_values = int(value.max()) + 1
    keys = distinct_numbers(cells * n_values + value)
    owner = keys // n_values
    starts = np.searchsorted(owner, cells)
    lengths = np.searchsorted(owner, cells, side="right") - starts
    chosen = keys[starts + (rng.random(len(cells)) * lengths).astype(np.int64)] % n_values
    picked: FloatArray = np.unique(values)[chosen]
    return picked


_EACH = 4  # phantoms tried for each unique record


def found_beyond_chance(pair: Pair, seed: int) -> float:
    """Share of the original's records that are unique and came out more often than phantoms did."""
    alone, times = verbatim_rows.returned(pair)
    if not alone.any():
        return 0.0
    phantoms = _phantoms(pair.original_codes, np.repeat(np.flatnonzero(alone), _EACH), stream(seed, "phantoms"))
    return max(0.0, float((alone & (times > 0)).mean()) - float(alone.mean()) * _chance(pair, phantoms))


def _replicated(pair: Pair) -> float:
    """Share of the original's records whose person alone has their combination, and one released row has it."""
    alone, times = verbatim_rows.returned(pair)
    return float((alone & (times == 1)).mean())


def _phantoms(codes: FloatArray, rows: IntArray, rng: Generator) -> FloatArray:
    """These rows with the value of one column each drawn from the table."""
    changed = codes[rows]
    column = rng.integers(codes.shape[1], size=len(rows))
    changed[np.arange(len(rows)), column] = codes[rng.integers(len(codes), size=len(rows)), column]
    return changed


def _chance(pair: Pair, phantoms: FloatArray) -> float:
    """Share of the phantoms that nobody has which came out; 0 where everybody's place is taken."""
    n_people = len(pair.original_codes)
    both, shown, n = equal_rows(np.concatenate([pair.original_codes, phantoms]), verbatim_rows.single_values(pair))
    nobodys = both[n_people:][~_there(both[:n_people], n)[both[n_people:]]]
    return float(_there(shown, n)[nobodys].mean()) if len(nobodys) else 0.0


def _there(points: IntArray, n: int) -> BoolArray:
    """Which of `n` points occur."""
    found: BoolArray = np.bincount(points, minlength=n) > 0
    return found
