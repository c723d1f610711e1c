"""The few numbers of a release that fit on a screen."""

from __future__ import annotations

from shoal.release import Release

__all__ = ["summary_rows"]


def summary_rows(release: Release) -> list[tuple[str, str]]:
    """Name and value of each headline number."""
    return [*_risk_rows(release), *_utility_rows(release)]


def _risk_rows(release: Release) -> list[tuple[str, str]]:
    risk = release.risk
    found = risk.reidentification
    rows = [("re-identification, nearest match", f"{found.expected:.2%}")]
    if found.by_group is not None:
        rows.append(
            ("re-identification, group formula: mean, largest", _pair(found.by_group.mean, found.by_group.largest))
        )
    if risk.class_mix is not None:
        mix = risk.class_mix
        rows.append(("class mix of groups, X² (random groups)", f"{mix.chi_square:.2f} ({mix.random_chi_square:g})"))
        rows.append(("records in groups of one class", f"{mix.homogeneous_share:.2%}"))
    return [
        *rows,
        ("linkage, nearest or second nearest", f"{risk.linkage.share:.2%}"),
        ("released combinations equal to their own person's", f"{risk.verbatim.own_share:.2%}"),
    ]


def _utility_rows(release: Release) -> list[tuple[str, str]]:
    utility = release.utility
    bootstrap = float(utility.bootstrap_intersection)
    rows = [("histogram intersection (a bootstrap's)", f"{utility.histogram_intersection:.3f} ({bootstrap:.3f})")]
    moved = utility.moments.largest_response_correlation_difference
    if moved is not None:
        rows.append(("largest change of a correlation with a sensitive column", f"{moved:.3f}"))
    if utility.regression is not None:
        released, original = utility.regression.trained_on_released, utility.regression.trained_on_original
        if released.r_squared is not None and original.r_squared is not None:
            rows.append(("R² trained on release (on original)", f"{released.r_squared:.3f} ({original.r_squared:.3f})"))
    return rows


def _pair(mean: float, largest: float) -> str:
    return f"{mean:.2%}, {largest:.2%}"
