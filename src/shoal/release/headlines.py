"""The few numbers of a release that a person looks at first, each with what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.record import Record

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = ["Line", "found_lines", "keeps_lines", "replicated_lines", "variation_lines"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Record):
    """One number: its name, its value as text, and what it means in one sentence.

    Examples
    --------
    >>> from shoal.release.headlines import Line
    >>> Line(name="linkage", value="1.20%", meaning="Share of rows that can be linked.").to_dict()["value"]
    '1.20%'
    """

    name: str
    value: str
    meaning: str


def found_lines(release: Release) -> list[Line]:
    """What an intruder achieves."""
    return [*_found(release), _by_unchanged(release), *_mixed(release), *_linked(release)]


def keeps_lines(release: Release) -> list[Line]:
    """What the release keeps."""
    return [*_shape(release), *_ties(release)]


def _found(release: Release) -> list[Line]:
    found = release.risk.reidentification
    lines = [
        Line(
            name="re-identification, nearest match",
            value=f"{found.expected:.2%}",
            meaning="Share of people that somebody who knows their quasi-identifiers finds by the nearest row.",
        )
    ]
    if found.by_group is not None:
        lines.append(
            Line(
                name="re-identification, group formula: mean, largest",
                value=f"{found.by_group.mean:.2%}, {found.by_group.largest:.2%}",
                meaning="The same by the formula for rows that change places within groups, on average and at worst.",
            )
        )
    if found.sampled:
        lines.append(
            Line(
                name="records matched, drawn at random",
                value=f"{found.n_targets:,} of {found.n_records:,}",
                meaning="Matching was tried on this sample, each record against all released rows.",
            )
        )
    return lines


def _by_unchanged(release: Release) -> Line:
    found = release.risk.unchanged
    name = "re-identification, with unchanged columns"
    if found.expected is None:
        return Line(name=name, value="not measured", meaning=f"Because {found.why}.")
    return Line(
        name=name,
        value=f"{found.expected:.2%}",
        meaning="Share of people found by their quasi-identifiers and by what unchanged columns say of them; no proof "
        "limits it.",
    )


def _mixed(release: Release) -> list[Line]:
    mix = release.risk.class_mix
    if mix is None:
        return []
    return [
        Line(
            name="class mix of groups, X² (random groups)",
            value=f"{mix.chi_square:.2f} ({mix.random_chi_square:g})",
            meaning="How far groups differ in their sensitive classes; groups drawn at random have the number beside.",
        ),
        Line(
            name="records in groups of one class",
            value=f"{mix.homogeneous_share:.2%}",
            meaning="Share of people whose group gives their sensitive class away.",
        ),
    ]


def _linked(release: Release) -> list[Line]:
    risk = release.risk
    return [
        Line(
            name="linkage, nearest or second nearest",
            value=f"{risk.linkage.share:.2%}",
            meaning="Share of released rows whose own person is the nearest or second nearest original.",
        ),
        Line(
            name="released combinations equal to their own person's",
            value=f"{risk.verbatim.own_share:.2%}",
            meaning="Share of rows that still hold exactly what their own person had.",
        ),
    ]


def replicated_lines(release: Release) -> list[Line]:
    """What an intruder achieves where no row is anybody's."""
    return [
        Line(
            name="combinations that one person has in the original",
            value=f"{release.risk.verbatim.unique_share:.2%}",
            meaning="Share of synthetic rows that happen to equal a combination which a single person has.",
        )
    ]


def _shape(release: Release) -> list[Line]:
    utility = release.utility
    return [
        Line(
            name="histogram intersection (a bootstrap's)",
            value=f"{utility.histogram_intersection:.3f} ({float(utility.bootstrap_intersection):.3f})",
            meaning="Share of the joint distribution of the quasi-identifiers kept; a resample of the original keeps "
            "the number beside.",
        )
    ]


def _ties(release: Release) -> list[Line]:
    lines, utility = [], release.utility
    moved = utility.moments.largest_response_correlation_difference
    why = utility.unmeasured.get("response_correlation_difference")
    lines.append(
        Line(
            name="largest change of a correlation with a sensitive column",
            value="not measured" if moved is None else f"{moved:.3f}",
            meaning=f"Because {why}." if moved is None else "0 is none; correlations lie between −1 and 1.",
        )
    )
    model = utility.regression
    if model is not None:
        after, before = model.trained_on_released.r_squared, model.trained_on_original.r_squared
        if after is not None and before is not None:
            lines.append(
                Line(
                    name="R² trained on release (on original)",
                    value=f"{after:.3f} ({before:.3f})",
                    meaning="How well a regression fitted to the release predicts the original, and one fitted to it.",
                )
            )
    return lines


def variation_lines(release: Release) -> list[Line]:
    """How far the shares of synthetic rows lie from the original's."""
    variation = release.utility.total_variation
    parts = {
        "single columns": variation.one_way.mean,
        "pairs of quasi-identifiers": variation.two_way.mean,
        "pairs with a sensitive column": variation.response.mean,
    }
    meaning = "Mean distance between the shares before and after: 0 is equal, 1 has nothing in common. For inside only."
    return [
        Line(
            name=f"total variation, {what}", value="not measured" if value is None else f"{value:.3f}", meaning=meaning
        )
        for what, value in parts.items()
    ]
