"""The vector-quantization study: what its numbers say, its tables and its figures."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from shoal.report.drawing import altair, data, draw
from shoal.report.mapping import mapping_figure
from shoal.report.markup import Html, figure, join, rows_table, tag
from shoal.report.numbers import number, percent
from shoal.study.page import paragraph
from shoal.study.quantize import QuantizeStudy, Settings, Step, run
from shoal.study.study import Study

__all__ = ["STUDY", "findings"]

_SHAPES = {"clique": "#0b6470", "ball": "#b5892b"}


def findings(study: QuantizeStudy) -> list[str]:
    """What the numbers say, in sentences."""
    steps = {step.name: step for step in study.steps}
    at = next(f for f in study.found if f.radius == study.radius and f.shape == "clique")
    pushed, stirred = steps["push-back to an element"], steps["push-back, then shuffle 0.05"]
    said = [
        f"At the suggested radius of {number(study.radius)}, {percent(at.recall)} of the planted outliers stand out, "
        f"and {percent(at.others_share)} of the others with them.",
        f"Push-back leaves {percent(pushed.linkage_planted)} of the planted ones linkable, but "
        f"{percent(pushed.linkage)} of all records: it protects those it moves and nobody else.",
    ]
    if stirred.refused:
        return [*said, f"Shuffle refused: {stirred.refused}"]
    return [
        *said,
        f"Shuffling all quasi-identifiers after it brings linkage to {percent(stirred.linkage)}. It kept every "
        f"cluster that it found within {number(stirred.reached)} nats of its shape; with the newcomers, and around "
        f"the centre of the original, the middle cluster differs by {number(stirred.shape_median)} nats.",
        f"(5) leaves {percent(pushed.outside_share)} of the moved records outside their new group's own range in some "
        "column; strict push-back leaves none.",
    ]


def _heading(study: QuantizeStudy) -> str:
    settings = study.settings
    return (
        f"{settings.n:,} simulated records in eight columns of five metrics, {percent(settings.share)} planted far "
        f"away; groups of fewer than {settings.minimum} are small; seed {settings.seed}"
    )


def _figures(study: QuantizeStudy) -> dict[str, Html]:
    return {
        "The paper's toy table": _toy(study),
        "Distances made comparable": _mapping(study),
        "Who is found": _recall(study),
        "After each step": _steps(study),
    }


def _toy(study: QuantizeStudy) -> Html:
    said = paragraph(
        "Radii: 20 in zip, 10 years of age, any nationality; at least 4 in a group. The fifth record stands out. "
        "Age and zip are farther out than any member's and change; a nationality that differs is no farther out "
        "than those inside, so it stays (5).",
    )
    rows = [(name, *(str(records[4][column]) for column in _TOY)) for name, records in study.toy.items()]
    return join([said, rows_table("The fifth record", ("", *_TOY), rows, numeric=(1, 2))])


_TOY = ("zip", "age", "nationality", "condition")


def _mapping(study: QuantizeStudy) -> Html:
    said = paragraph(
        "Distances between random pairs, in ten bins from 0 to the largest, before and after the metric mapping "
        "(1). Mapped distances of numbers follow the reference law of |U − U'|, 19%, 17%, … 1%; those of levels "
        "keep their few values, and equal values stay at 0.",
    )
    table = rows_table(
        "Share of the pairs by mapped distance",
        ("Column", *(f"to {(i + 1) / 10:g}" for i in range(10))),
        [(column.name, *map(percent, column.after)) for column in study.mapped],
        numeric=range(1, 11),
    )
    return join([said, mapping_figure(study.mapped), table])


def _recall(study: QuantizeStudy) -> Html:
    alt = altair()
    rows = [
        {"radius": f.radius, "share": share, "line": f"{f.shape}, {who}", "shape": f.shape}
        for f in study.found
        for who, share in (("planted", f.recall), ("others", f.others_share))
    ]
    chart = (
        alt.Chart(data(alt, rows), width=520, height=200)
        .mark_line(point=True)
        .encode(
            x=alt.X("radius:Q", title="common radius, mapped units"),
            y=alt.Y("share:Q", title="share that stands out", axis=alt.Axis(format="%")),
            color=alt.Color("shape:N", scale=alt.Scale(domain=list(_SHAPES), range=list(_SHAPES.values()))),
            detail=alt.Detail("line:N"),
        )
    )
    head = ("Radius", "Shape", "Planted found", "Others that stand out", "Groups")
    body = [
        (number(f.radius), f.shape, percent(f.recall), percent(f.others_share), f"{f.n_groups:,}")
        for f in sorted(study.found, key=lambda f: (f.shape != "clique", f.radius))
    ]
    table = rows_table("Who stands out, by radius", head, body, numeric=(0, 2, 3, 4))
    caption = "Upper lines: planted outliers. Lower lines: everybody else."
    return join([figure(draw(chart, "Share that stands out against the radius"), caption), table])


def _steps(study: QuantizeStudy) -> Html:
    head = (
        "Step", "Linkage", "of the planted", "Distortion", "of the planted", "Values changed", "Shape, median",
        "Shape, largest", "Shuffle reached", "Planted out again", "Moved outside range", "Time (s)",
    )  # fmt: skip
    table = rows_table("What each step left", head, [_step_row(s) for s in study.steps], numeric=range(1, 12))
    refused = [tag("li", f"{step.name}: {step.refused}") for step in study.steps if step.refused]
    return join([_step_figure(study), table, tag("ul", *refused) if refused else None])


def _step_row(step: Step) -> list[str]:
    shares = (step.linkage, step.linkage_planted)
    return [
        step.name,
        *map(percent, shares),
        number(step.distortion),
        number(step.distortion_planted),
        percent(step.changed_share),
        number(step.shape_median),
        number(step.shape_largest),
        number(step.reached),
        percent(step.out_again),
        percent(step.outside_share),
        f"{step.seconds:.2f}",
    ]


def _step_figure(study: QuantizeStudy) -> Html:
    alt = altair()
    rows = [asdict(step) for step in study.steps if not step.refused]
    base = alt.Chart(data(alt, rows), width=240, height=220)
    down = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=0))
    across = (
        alt.X("linkage:Q", title="linkage", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        alt.X("distortion:Q", title="distortion, mean sum of mapped distances"),
    )
    sides = [base.mark_bar(color=colour).encode(x=x, y=down) for x, colour in zip(across, _SIDES, strict=True)]
    picture = draw(alt.hconcat(*sides), "Linkage and distortion, step by step")
    return figure(picture, "Left: how many records can still be linked. Right: how far records moved.")


_SIDES = ("#9a4a1f", "#0b6470")


def _measured(study: QuantizeStudy) -> tuple[str, ...]:
    largest = max((s.linkage for s in study.steps if s.linkage is not None), default=np.nan)
    return (
        "Groups come from Ball (clique) at the smallest common radius that leaves at most 5% of the records in "
        "small groups.",
        "Distortion is the sum over columns of the mapped distance between a record's values before and after, "
        "averaged.",
        "Shape compares, cluster by cluster, the distances to the original's centre of its members before and of "
        "all who are in it after: KL in nats, 10 bins, half a count in each. Shuffle bounds what it does itself to "
        "a cluster as it finds it, so after push-back the sum of both can be larger than its bound.",
        f"Linkage: share of released records whose nearest or second nearest original is their own; unmasked "
        f"{percent(largest)}.",
        "The paper calls its clusters differential privacy. They aren't, and nothing here is.",
    )


STUDY = Study(
    title="Vector-quantization study",
    examples=(
        "shoal study quantize --out study",
        "shoal study quantize --rows 10000 --share 0.02 --minimum 10 --out study",
    ),
    counted="steps",
    settings=Settings,
    run=run,
    heading=_heading,
    findings=findings,
    figures=_figures,
    measured=_measured,
    exports={"study.json": QuantizeStudy.to_dict},
)
