"""The few numbers of a release that a person looks at first, each with what it means and what to hold it against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from shoal.coarsening import SUPPRESSED
from shoal.frame import Frame, series
from shoal.reading import Reading
from shoal.risk.assessment import NAMES
from shoal.utility import Quality, Usefulness, UtilityReport
from shoal.utility.regress import Regression

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = ["found_lines", "keeps_lines", "replicated_lines", "variation_lines"]

_FRESH = "a fresh sample"
_SLACK = 0.02  # of what is kept: as good as a fresh sample


def found_lines(release: Release) -> list[Reading]:
    """What an intruder achieves; rows are counted until somebody has said that each is a person of its own."""
    lines = [*_found(release), _by_unchanged(release), *_class_size(release), *_mixed(release), *_linked(release)]
    return [replace(line, counts=release.whose_rows.counts) for line in lines]


def keeps_lines(release: Release) -> list[Reading]:
    """What the release keeps."""
    return [*_blank(release), *_shape(release.utility), *_ties(release.utility)]


def _blank(release: Release) -> list[Reading]:
    """How many cells of quasi-identifiers say nothing, where a method suppresses single cells."""
    if not release.recipe.blanks_cells or not release.schema.quasi:
        return []
    before, after = (
        _blank_shares(frame, release.schema.quasi) for frame in (release.pair.original.frame, release.pair.released)
    )
    most = max(after, key=after.__getitem__)
    return [
        Reading(
            name="cells suppressed",
            first=True,
            value=sum(after.values()) / len(after),
            before=sum(before.values()) / len(before),
            meaning=f"Share of the cells of quasi-identifiers that are blank; most are in {most} ({after[most]:.1%}).",
        )
    ]


def _blank_shares(frame: Frame, names: Sequence[str]) -> dict[str, float]:
    texts = {name: series(frame, name).cast(pl.String) for name in names}
    return {name: int((text.is_null() | (text == SUPPRESSED)).sum()) / len(text) for name, text in texts.items()}


def _before(release: Release) -> float | None:
    """What a match finds in the original: one over the size of each person's class, on average."""
    return float((1.0 / release.pair.original_classes().row_sizes).mean())


def _bound(release: Release) -> tuple[float | None, str]:
    proved = [claim.value for claim in release.claims if claim.kind == "re-identification bound"]
    return (min(proved), "proved") if proved else (None, "")


def _found(release: Release) -> list[Reading]:
    found, (limit, basis) = release.risk.reidentification, _bound(release)
    tried = _tried(found.sampled, found.n_targets, found.n_records)
    lines = [
        Reading(
            name=NAMES["reidentification"],
            first=True,
            value=found.expected,
            interval=found.interval,
            before=_before(release),
            chance=1 / found.n_records,
            limit=limit,
            basis=basis,
            n=found.n_records,
            meaning=f"Share of {_whom(release)} that somebody who knows their quasi-identifiers finds by the nearest "
            f"row, ties at random, in this release.{tried}",
        )
    ]
    if found.by_group is not None:
        shared = {"limit": limit, "basis": basis, "chance": 1 / found.n_records}
        lines += [
            Reading(
                name="the same, over all draws",
                value=found.by_group.mean,
                n=found.n_records,
                meaning="Mean over all releases that the method could as well have drawn (group formula).",
                **shared,  # type: ignore[arg-type]
            ),
            Reading(
                name="the same, at most",
                value=found.by_group.largest,
                meaning="The same, for the person most at risk.",
                **shared,  # type: ignore[arg-type]
            ),
        ]
    return lines


def _whom(release: Release) -> str:
    """Of whom a share is told here; what is claimed outside is of the kept people alone."""
    some = len(release.source_rows) < release.prepared.n
    whom = release.whose_rows.counts
    return f"all {whom}, those left out among them," if some else whom


def _tried(sampled: bool, n: int, of: int) -> str:
    return f" Tried on {n:,} of {of:,} records, drawn at random." if sampled else ""


def _by_unchanged(release: Release) -> Reading:
    found = release.risk.unchanged
    name = NAMES["unchanged"]
    if found.expected is None:
        return Reading(name=name, first=True, value=None, meaning=f"Because {found.why}.")
    return Reading(
        name=name,
        first=True,
        value=found.expected,
        interval=found.interval,
        before=_before(release),
        chance=1 / found.n_records,
        n=found.n_records,
        meaning=f"Share of {_whom(release)} found by their quasi-identifiers and by what unchanged columns say of "
        f"them; no proof limits it.{_tried(found.sampled, found.n_targets, found.n_records)}",
    )


def _class_size(release: Release) -> list[Reading]:
    """The smallest class, where equal rows are meant to hide each other."""
    if not release.recipe.collapses:
        return []
    asked = [claim.value for claim in release.claims if claim.kind == "k-anonymity"]
    return [
        Reading(
            name="smallest class",
            first=True,
            value=release.risk.classes.k,
            before=release.pair.original_classes().k,
            limit=max(asked) if asked else None,
            basis="verified" if asked else "",
            shows="count",
            better="higher",
            meaning=f"The fewest {release.whose_rows.crowd} that share one combination of quasi-identifiers.",
        )
    ]


def _mixed(release: Release) -> list[Reading]:
    """The sensitive column that groups give away most."""
    if not release.risk.class_mix:
        return []
    mix = max(release.risk.class_mix, key=lambda one: (one.homogeneous_share, one.chi_square / one.random_chi_square))
    (name,) = mix.columns
    return [
        Reading(
            name=f"class mix in {name}, X²",
            value=mix.chi_square,
            chance=mix.random_chi_square,
            against="random groups",
            shows="number",
            meaning="How far groups differ in this sensitive column from the whole table.",
        ),
        Reading(
            name=f"in groups of one {name}",
            value=mix.homogeneous_share,
            chance=mix.random_homogeneous_share,
            against="random groups",
            n=mix.n_records,
            meaning=f"Share of {release.whose_rows.counts} whose group gives their sensitive class away.",
        ),
    ]


def _linked(release: Release) -> list[Reading]:
    linked, copies, n = release.risk.linkage, release.risk.verbatim, release.risk.reidentification.n_records
    sizes = release.pair.original_classes().row_sizes
    return [
        Reading(
            name=NAMES["linkage"],
            value=linked.share,
            interval=linked.interval,
            chance=2 / n,
            n=linked.n_rows,
            meaning="Share of released rows whose own person is the nearest or second nearest original."
            + _tried(linked.sampled, linked.n_targets, linked.n_rows),
        ),
        Reading(
            name="rows equal to their own person's",
            value=copies.own_share,
            before=1.0,
            chance=float(sizes.mean()) / n,
            against="shuffled rows",
            n=copies.n_rows,
            meaning="Share of rows that still hold exactly what their own person had.",
        ),
    ]


def replicated_lines(release: Release) -> list[Reading]:
    """What an intruder achieves where no row is anybody's."""
    copies, closest = release.risk.verbatim, release.risk.closest
    lines = [
        Reading(
            name="combinations of one person",
            first=True,
            value=copies.unique_share,
            before=float((release.pair.original_classes().row_sizes == 1).mean()),
            n=copies.n_rows,
            meaning="Share of synthetic rows that happen to equal a combination which a single person has.",
        )
    ]
    if closest is None:
        return lines
    return [
        *lines,
        Reading(
            name="closer than another person",
            first=True,
            value=closest.share,
            interval=closest.interval,
            chance=0.5,
            against="new rows",
            meaning="How often a synthetic row lies closer to a real record than another person does.",
        ),
    ]


def _shape(utility: UtilityReport) -> list[Reading]:
    pairs, fresh = utility.pairs_kept, utility.total_variation.two_way.fresh
    if pairs is not None:
        mark = None if fresh is None else 1 - fresh
        shown = {"pairs of columns preserved": pairs.mean, "the worst pair of columns preserved": pairs.worst}
        return [
            Reading(
                name=name,
                first=True,
                value=value,
                chance=mark,
                against=_FRESH,
                slack=_SLACK,
                better="higher",
                meaning=_PAIRS,
            )
            for name, value in shown.items()
        ]
    return [
        Reading(
            name="joint distribution preserved",
            first=True,
            value=utility.histogram_intersection,
            chance=float(utility.bootstrap_intersection),
            against=_FRESH,
            slack=_SLACK,
            better="higher",
            meaning="Share of the joint distribution of the quasi-identifiers kept (histogram intersection).",
        )
    ]


_PAIRS = (
    "Share of the joint distribution of two quasi-identifiers preserved, over all pairs. The joint distribution of so "
    "many columns has hardly a combination twice, and says little."
)


def _ties(utility: UtilityReport) -> list[Reading]:
    moments = utility.moments
    moved, fresh = moments.response_correlation_difference, moments.fresh
    why = utility.unmeasured.get("response_correlation_difference")
    lines = [
        Reading(
            name="correlations with sensitive off by",
            value=moved,
            chance=None if fresh is None else fresh.response_correlation_difference,
            against=_FRESH,
            slack=_SLACK,
            shows="number",
            meaning=f"Because {why}."
            if moved is None
            else f"Mean over pairs; the largest is {moments.largest_response_correlation_difference:.3f}.",
        )
    ]
    return [*lines, *([] if utility.regression is None else _predicts(utility.regression))]


_USELESS = -1.0  # R² below which it doesn't matter how bad a fit is


def _predicts(model: Regression) -> list[Reading]:
    """What a regression fitted to the release is worth; no yardstick where the original's is worth nothing."""
    after, before = model.trained_on_released.r_squared, model.trained_on_original.r_squared
    if after is None or before is None:
        return []
    useful = before > 0
    nothing = "" if useful else f" Fitted to the original it predicts no better than the mean (R² {before:.3g})."
    nothing += " It predicts far worse than the mean; anything below −1 is shown as −1." if after < _USELESS else ""
    interval = model.trained_on_released.r_squared_interval
    return [
        Reading(
            name="R² trained on the release",
            first=useful,
            value=max(after, _USELESS),
            interval=None if interval is None or after < _USELESS else interval,
            chance=before if useful else None,
            against="trained on the original",
            slack=_SLACK,
            shows="number",
            better="higher",
            meaning=f"How well a regression of {model.target} fitted to the release predicts {model.n_test:,} original "
            f"records, always the same ones.{nothing}",
        )
    ]


def variation_lines(release: Release) -> list[Reading]:
    """How far the shares of synthetic rows lie from the original's."""
    variation, scores = release.utility.total_variation, release.quality
    parts = {
        "single columns": variation.one_way,
        "pairs of quasi-identifiers": variation.two_way,
        "pairs with a sensitive column": variation.response,
    }
    lines = [
        Reading(
            name=f"{what} off by",
            value=order.mean,
            chance=order.fresh,
            against=_FRESH,
            slack=_SLACK,
            meaning="Mean distance between the shares before and after (total variation): 0 is equal, 100% has nothing "
            "in common. Internal use only.",
        )
        for what, order in parts.items()
    ]
    return [*([] if scores is None else [_scored(scores)]), *_trained(release.usefulness), *lines]


def _scored(scores: Quality) -> Reading:
    return Reading(
        name="quality score",
        first=True,
        value=scores.overall,
        chance=scores.resampled,
        against=_FRESH,
        slack=_SLACK,
        better="higher",
        meaning="Mean score of columns and pairs, 100% is equal. Internal use only.",
    )


def _trained(found: Usefulness | None) -> list[Reading]:
    if found is None:
        return []
    best = max(found.models, key=lambda one: one.on_original)
    return [
        Reading(
            name=f"predicting {found.target}, {found.measure}",
            first=True,
            value=best.on_released,
            chance=best.on_original,
            against="trained on the original",
            slack=_SLACK,
            shows="number",
            better="higher",
            n=found.n_test,
            meaning=f"How well a model trained on the synthetic rows predicts {found.n_test:,} real people, and one "
            f"trained on real records; without any model {found.no_model:.3f}. Internal use only.",
        )
    ]
