"""What the internal report adds: what to watch, seed and replay, exact counts of small classes, groups, timings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, rows_table, section, tag
from shoal.report.numbers import count, number, percent, seconds

__all__ = ["inside"]


def inside(evidence: Evidence, given: Mapping[str, Any]) -> Html:
    """The section for inside only.

    `given` may hold ``seed``, ``replay`` (where the replay file is), ``labels`` (the group of each original row, −1 for
    none; only their sizes are shown) or ``group_sizes``, ``timings`` (seconds by step), and other short facts.
    """
    return section(
        "inside",
        "Inside only",
        tag("p", "This section must not leave the secure environment.", class_="warning"),
        tag("h3", "What to watch"),
        tag("ul", *(tag("li", text) for text in watch(evidence))),
        tag("h3", "Replay"),
        *_replay(given),
        tag("h3", "Small classes"),
        _small_classes(evidence),
        *_groups(evidence, given),
        *_timings(given),
    )


def watch(evidence: Evidence) -> list[str]:
    """What the person who decides should look at first."""
    found = [*_risk_warnings(evidence), *_column_warnings(evidence)]
    return found or ["Nothing stands out. This proves nothing: read the assumptions of the claims."]


def _risk_warnings(evidence: Evidence) -> list[str]:
    risk, warnings = evidence.risk, []
    if risk.reidentification.largest > 1 / evidence.k:
        warnings.append(
            "In this particular draw, the nearest match is right for some people with a "
            f"probability of {percent(risk.reidentification.largest)}. The bound applies to the method over all its "
            f"draws: do "
            "not redraw until a table looks good, and do not reveal who they are."
        )
    if risk.verbatim.unique_share > 0.01:
        warnings.append(
            f"{percent(risk.verbatim.unique_share)} of the released rows show a combination that exactly one person "
            "has in the original (assigned to any member of the group). Coarser columns or a smooth inverse avoid that."
        )
    for name, diversity in risk.classes.sensitive.items():
        if diversity.homogeneous_share > 0.1 and diversity.distinct_l >= 1 and risk.classes.k > 1:
            warnings.append(
                f"{name}: {percent(diversity.homogeneous_share)} of the rows are in classes with a single value, "
                "which is disclosed as soon as the class is known."
            )
    return warnings


def _column_warnings(evidence: Evidence) -> list[str]:
    warnings = [
        f"{account.name}: {percent(1 - account.changed_share)} of the people keep their own value."
        for account in evidence.columns
        if account.changed_share is not None and account.changed_share < 0.1
    ]
    warnings += [
        f"{marginal.column}: the distribution moved by {percent(marginal.distance())} (total variation)."
        for marginal in evidence.marginals
        if marginal.distance() > 0.1
    ]
    return warnings


def _replay(given: Mapping[str, Any]) -> list[Child]:
    known = ("labels", "group_sizes", "timings")
    facts = [(str(key), tag("code", str(value))) for key, value in given.items() if key not in known]
    hint = tag(
        "p",
        "With the seed, the input and the recipe, the release can be reproduced byte for byte and every row traced to "
        "its person. Keep them separate from the table.",
    )
    return [hint, rows_table("What is needed to replay the run", ("What", "Value"), facts) if facts else None]


def _small_classes(evidence: Evidence) -> Html:
    small = evidence.small
    rows: list[tuple[Child, ...]] = [
        (count(size), count(before), count(after))
        for size, before, after in zip(small.sizes, small.before, small.after, strict=True)
    ]
    rows.append(("all sizes", count(small.n_classes[0]), count(small.n_classes[1])))
    table = rows_table(
        "Combinations of quasi-identifiers that few people share",
        ("People who share it", "Combinations before", "Combinations after"),
        rows,
        numeric=(0, 1, 2),
        kind="narrow",
    )
    words = (
        f"Unique people: {count(small.before[0])} before, {count(small.after[0])} after. Smallest class: "
        f"{count(small.smallest[0])} before, {count(small.smallest[1])} after."
    )
    return tag("div", tag("p", words), table)


def _groups(evidence: Evidence, given: Mapping[str, Any]) -> list[Child]:
    sizes = _group_sizes(given)
    if len(sizes) == 0:
        return []
    values, counts = np.unique(sizes, return_counts=True)
    shown = [(count(int(size)), count(int(n))) for size, n in zip(values[:15], counts[:15], strict=True)]
    if len(values) > 15:
        shown.append((f"{count(int(values[15]))} or more", count(int(counts[15:].sum()))))
    words = (
        f"{count(len(sizes))} groups; the smallest has {count(int(sizes.min()))} rows, the largest "
        f"{count(int(sizes.max()))}, the mean is {number(float(sizes.mean()))}."
    )
    table = rows_table("Groups by size", ("Rows in the group", "Groups"), shown, numeric=(0, 1), kind="narrow")
    return [tag("h3", "Groups"), tag("p", words), table]


def _group_sizes(given: Mapping[str, Any]) -> Any:
    if given.get("group_sizes") is not None:
        return np.asarray(given["group_sizes"], dtype=np.int64)
    labels = np.asarray(given.get("labels") if given.get("labels") is not None else [], dtype=np.int64)
    return np.bincount(labels[labels >= 0])[np.unique(labels[labels >= 0])] if (labels >= 0).any() else labels[:0]


def _timings(given: Mapping[str, Any]) -> list[Child]:
    timings = given.get("timings") or {}
    if not timings:
        return []
    rows = [(str(step), seconds(float(time))) for step, time in timings.items()]
    return [tag("h3", "Timings"), rows_table("Time by step", ("Step", "Time"), rows, numeric=(1,), kind="narrow")]
