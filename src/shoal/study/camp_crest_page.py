"""The CAMP-CREST study: its table beside the paper's, and its figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.report.drawing import altair, data, draw
from shoal.report.markup import Child, Html, figure, join, rows_table, tag
from shoal.report.numbers import listed, number, percent
from shoal.study.camp_crest import GROUPERS, MASKS, CampCrestStudy, Point, Settings, run
from shoal.study.camp_crest_average import MEASURES, Way
from shoal.study.camp_crest_findings import best, clean, findings
from shoal.study.page import colours, multiples, paragraph, rule
from shoal.study.paired import paired
from shoal.study.study import Study

__all__ = ["PAPER", "STUDY", "PaperRow", "table"]

PAPER_METHODS = {
    "Benchmark": ("TCloseMST", "centroid"),
    "Partial CAMP-CREST": ("Partial CREST", "published"),
    "CAMP-CREST": ("CREST", "published"),
}
_MASK_COLOURS = {
    "centroid": "#9a4a1f",
    "published": "#b5892b",
    "centred": "#6a5fa5",
    "exact": "#0b6470",
    "hybrid": "#3f7d3a",
}
_GROUP_COLOURS = {
    "MST": "#857e70",
    "TCloseMST": "#9a4a1f",
    "TCloseMST strict": "#d08a63",
    "Partial CREST": "#b5892b",
    "CREST": "#0b6470",
    "MDAV": "#6a5fa5",
    "KMember": "#3f7d3a",
}
_SMALL = 5  # the group size of section 7
_WIDEST = 0.15  # linkage; curves start there


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """A row of the paper's Table 1 as printed; shares for its percentages."""

    data: str
    method: str
    level: float
    seconds: float
    linkage: float
    chi_square: float
    abim: float
    abisd: float
    abico: float


def _printed(data: str, level: float, *rows: tuple[float, ...]) -> list[PaperRow]:
    return [
        PaperRow(
            data=data,
            method=method,
            level=level,
            seconds=seconds,
            linkage=linkage / 100,
            chi_square=chi_square,
            abim=abim / 100,
            abisd=abisd / 100,
            abico=abico / 100,
        )
        for method, (seconds, linkage, chi_square, abim, abisd, abico) in zip(PAPER_METHODS, rows, strict=True)
    ]


PAPER: tuple[PaperRow, ...] = (
    *_printed(
        "Offer", 0.05,
        (0.6, 4.97, 4.34, 0, 47.75, 438.16), (0.6, 4.83, 4.14, 2.55, 3.44, 112.16),
        (1.4, 4.74, 3.59, 2.28, 2.87, 113.71),
    ),
    *_printed(
        "Diabetes", 0.05,
        (1.3, 4.30, 2.27, 0, 36.10, 118.42), (1.3, 4.24, 2.04, 1.54, 2.94, 24.98), (4.1, 4.17, 1.37, 1.46, 3.68, 28.62),
    ),
    *_printed(
        "Medicare", 0.05,
        (33.4, 4.29, 2.65, 0, 37.59, 392.54), (34.9, 4.21, 2.64, 2.70, 2.54, 127.51),
        (126.2, 4.09, 1.89, 2.11, 2.96, 118.51),
    ),
    *_printed(
        "Offer", 0.01,
        (0.6, 1.13, 7.00, 0, 69.39, 1343.74), (0.6, 0.95, 6.60, 3.37, 2.52, 108.31),
        (1.5, 0.86, 5.90, 3.09, 2.70, 106.14),
    ),
    *_printed(
        "Diabetes", 0.01,
        (1.3, 1.04, 3.59, 0, 55.23, 171.87), (1.3, 0.86, 3.35, 1.96, 2.18, 29.94), (4.5, 0.86, 2.56, 1.66, 1.86, 32.36),
    ),
    *_printed(
        "Medicare", 0.01,
        (33.1, 0.98, 3.39, 0, 50.93, 692.33), (34.2, 0.97, 3.29, 2.53, 1.15, 141.82),
        (132.6, 0.96, 2.31, 2.79, 1.18, 136.40),
    ),
)  # fmt: skip


def table(study: CampCrestStudy) -> list[dict[str, Any]]:
    """The rows of every level and, after them, the paper's, as one flat table."""
    levels = study.settings.levels
    ours = [{"source": study.data, "level": level, **asdict(p)} for level in levels for p in study.at(level)]
    return [*ours, *(_paper_words(row) for row in PAPER)]


def _paper_words(row: PaperRow) -> dict[str, Any]:
    words = asdict(row)
    grouping, masking = PAPER_METHODS[words.pop("method")]
    return {**words, "source": f"paper, {words.pop('data')}", "grouping": grouping, "masking": masking}


def _heading(study: CampCrestStudy) -> str:
    shares = ", ".join(percent(share) for share in study.class_shares[:6])
    more = ", …" if len(study.class_shares) > 6 else ""
    return (
        f"{study.data}: {study.n_records:,} records, {len(study.quasi)} quasi-identifiers, {len(study.class_shares)} "
        f"classes of {listed(study.class_columns)} ({shares}{more}); seed {study.settings.seed}"
    )


def _findings(study: CampCrestStudy) -> list[str]:
    return [f"{_at(level)}: {text}" for level in study.settings.levels for text in findings(study, level)]


def _figures(study: CampCrestStudy) -> dict[str, Html]:
    levels = study.settings.levels
    return {
        "The paper's Table 1 and ours": join([_table_words(study), *(_paper_table(study, level) for level in levels)]),
        "Every grouping with every masking": join(
            [_all_words(study), *(_full_table(study, level) for level in levels)]
        ),
        "Groups of one class in plain microaggregation (section 7)": _section_seven(study),
        **({"Several class columns (section 8)": _averages(study)} if study.averages else {}),
        "Loss against linkage": _loss_figures(study),
        "Class mix against linkage": _mix_figure(study),
    }


def _at(level: float) -> str:
    return f"Linkage at most {percent(level)}"


def _table_words(study: CampCrestStudy) -> Html:
    same = f" This file is the paper's {study.paper_data}." if study.paper_data else ""
    return paragraph(
        "Benchmark is TCloseMST with centroid; Partial CAMP-CREST and CAMP-CREST are Partial CREST and CREST with "
        f"published noise.{same} The paper's rows are as printed (Offer, printed with 403 records, has 443); they are "
        "for about the level, ours for the first k at or below it. The paper doesn't tell its k, its t or its scale of "
        f"linkage, so rows are neighbours, not twins. Ours: t = {number(study.settings.t)}, linkage in units of "
        f"{_UNITS[study.settings.scale]}; `--scale` has others, and which one the paper had decides "
        "how near its rows are.",
    )


_UNITS = {"range": "each column's range", "z": "standard deviations", "raw": "the columns themselves"}


def _paper_table(study: CampCrestStudy, level: float) -> Html:
    by_key = {(p.grouping, p.masking): p for p in study.at(level)}
    head = ("Data", "Method", "k", "Time (s)", "Linkage (%)", "X²", "One class", "ABIM (%)", "ABISD (%)", "ABICO (%)")
    ours = [_our_row("this file", method, by_key.get(key)) for method, key in PAPER_METHODS.items()]
    theirs = [_paper_row(row) for row in _paper_rows(study, level)]
    caption = f"{_at(level)}; random groups have X² of about {study.random_chi_square} here"
    return rows_table(caption, head, [*ours, *theirs], numeric=range(2, 10))


def _paper_rows(study: CampCrestStudy, level: float) -> list[PaperRow]:
    """The paper's rows of a level, this file's first."""
    return sorted((row for row in PAPER if row.level == level), key=lambda row: row.data != study.paper_data)


def _our_row(data: str, method: str, p: Point | None) -> list[Child]:
    if p is None:
        return [data, method, "not reached", *[""] * 7]
    losses = [_hundred(value) for value in (p.abim, p.abisd, p.abico)]
    counts = [_seconds(p.seconds), _hundred(p.linkage), f"{p.chi_square:.2f}", f"{p.homogeneous_groups}"]
    return [data, method, f"{p.k:,}", *counts, *losses]


def _paper_row(row: PaperRow) -> list[Child]:
    losses = [_hundred(value) for value in (row.abim, row.abisd, row.abico)]
    counts = [f"{row.seconds:.1f}", _hundred(row.linkage), f"{row.chi_square:.2f}", "–"]
    return [f"paper, {row.data}", row.method, "–", *counts, *losses]


def _all_words(study: CampCrestStudy) -> Html:
    return paragraph(
        "Read down a masking to compare groupings, and inside a grouping to compare maskings. TCloseMST has "
        f"t = {number(study.settings.t)}, TCloseMST strict t = {number(study.settings.t / 4)}. X² beside "
        f"{study.random_chi_square}, its value for random groups; one class: groups whose records all have one class; "
        "|Δr|: mean absolute difference of correlations, which doesn't explode where a correlation is near 0; "
        "class link: how much of the correlation between quasi-identifiers and class is left. "
        "Time is in seconds, shares and losses in percent. The best row is marked.",
    )


def _full_table(study: CampCrestStudy, level: float) -> Html:
    head = (
        *("Grouping", "Masking", "k", "Groups", "Time", "Linkage", f"X² ({study.random_chi_square})", "One class"),
        *("ABIM", "ABISD", "ABICO", "|Δr|", "Class link"),
    )
    rows = study.at(level)
    found = best(rows)
    return rows_table(_at(level), head, [_full_row(p, p is found) for p in rows], numeric=range(2, 13))


def _full_row(p: Point, is_best: bool) -> list[Child]:
    return [
        tag("strong", f"{p.grouping} ●") if is_best else tag("span", p.grouping),
        tag("strong", p.masking) if is_best else p.masking,
        f"{p.k:,}",
        f"{p.n_groups:,}",
        _seconds(p.seconds),
        _hundred(p.linkage),
        f"{p.chi_square:.2f}",
        f"{p.homogeneous_groups}",
        _hundred(p.abim),
        _hundred(p.abisd),
        _hundred(p.abico),
        _three_digits(clean(p.correlation_difference)),
        "–" if p.class_link is None else f"{100 * p.class_link:.0f}",
    ]


def _section_seven(study: CampCrestStudy) -> Html:
    words = (
        f"Section 7 masks by traditional microaggregation with groups of {_SMALL}: on Diabetes 10.8% of the records "
        "were linked and 21.2% were in groups of one class, on Offer 16.0% and 19.9%. The paper's remedy is "
        "CAMP-CREST at less than 1% linkage, with no group of one class left."
    )
    curves = [study.curve(g, "centroid") for g in GROUPERS]
    small = [min(curve, key=lambda p: (abs(p.k - _SMALL), p.k)) for curve in curves if curve]
    remedy = [p for p in study.at(min(study.settings.levels)) if p.grouping == "CREST"]
    rows: list[list[Child]] = [
        [p.grouping, p.masking, f"{p.k:,}", _hundred(p.linkage), _hundred(p.homogeneous_share), _hundred(p.abico)]
        for p in (*small, *remedy)
    ]
    head = ("Grouping", "Masking", "k", "Linkage (%)", "Records in groups of one class (%)", "ABICO (%)")
    level = percent(min(study.settings.levels))
    caption = f"Groups of {_SMALL}, or of the nearest size that was tried, with centroid; CREST at {level} linkage"
    return join([paragraph(words), rows_table(caption, head, rows, numeric=range(2, 6))])


def _averages(study: CampCrestStudy) -> Html:
    words = (
        "Section 8 offers two ways for several class columns: one grouping that looks at all of them, and one run for "
        "each, whose perturbed values are averaged. Means over disjoint parts of the file (centred noise), and the "
        "paired difference with its 95% interval. Alone: share of records that share all their groups with nobody, so "
        "that no group of k protects them."
    )
    head = ("k", "Way", *MEASURES.values())
    rows: list[list[Child]] = []
    for one, each in zip(study.averages[::2], study.averages[1::2], strict=True):
        rows += [_way_row(one), _way_row(each)]
        gaps = [paired(getattr(each, name), getattr(one, name)) for name in MEASURES]
        rows.append([f"{one.k:,}", "difference", *(f"{number(gap.difference)} ± {number(gap.half)}" for gap in gaps)])
    return join([paragraph(words), rows_table("One grouping, or one run each", head, rows, numeric=(0, *range(2, 6)))])


def _way_row(way: Way) -> list[Child]:
    return [f"{way.k:,}", way.way, *(number(float(np.mean(getattr(way, name)))) for name in MEASURES)]


def _loss_figures(study: CampCrestStudy) -> Html:
    words = (
        "Figure 5 of the paper for every grouping: ABICO as linkage falls (towards the left) because k grows. The "
        "paper prints no numbers for its figure; black diamonds are its Table 1"
        + (f" for {study.paper_data}." if study.paper_data else ", which has no such file.")
    )
    return join([paragraph(words), multiples(_loss_figure(study, g) for g in GROUPERS)])


def _loss_figure(study: CampCrestStudy, grouping: str) -> Html:
    alt = altair()
    rows = [row for masking in MASKS for row in _curve(study, grouping, masking, "abico")]
    lines = alt.Chart(data(alt, rows), width=215, height=170).mark_line(point=True)
    chart = lines.encode(**_axes(alt, study, "ABICO (%)"), color=colours(_MASK_COLOURS, columns=2))
    printed = [
        {"line": PAPER_METHODS[row.method][1], "linkage": 100 * row.linkage, "value": 100 * row.abico}
        for row in PAPER
        if row.data == study.paper_data and PAPER_METHODS[row.method][0] == grouping
    ]
    if printed:
        marks = alt.Chart(data(alt, printed)).mark_point(shape="diamond", size=90, strokeWidth=2)
        chart = chart + marks.encode(**_axes(alt, study, "ABICO (%)"), color=alt.ColorValue("#23221f"))
    label = f"ABICO against linkage for {grouping}, one line for each masking"
    return figure(draw(chart, label), f"{grouping}.")


def _mix_figure(study: CampCrestStudy) -> Html:
    alt = altair()
    rows = [row for grouping in GROUPERS for row in _curve(study, grouping, "centred", "chi_square", 1.0)]
    chart = alt.Chart(data(alt, rows), width=640, height=260).mark_line(point=True)
    chart = chart.encode(**_axes(alt, study, "X²"), color=colours(_GROUP_COLOURS))
    picture = draw(chart + rule(study.random_chi_square), "X² against linkage, one line for each grouping")
    caption = f"Centred noise. Dashed: {study.random_chi_square}, about what groups drawn at random have."
    words = (
        "X² at equal linkage: lower is a more even mix. It counts records, so the same shares give a larger X² in "
        "larger groups; and at low linkage few groups are left, so single values swing."
    )
    return join([paragraph(words), figure(picture, caption)])


def _curve(study: CampCrestStudy, grouping: str, masking: str, key: str, scale: float = 100.0) -> list[dict[str, Any]]:
    """Points of a line, in percent; rounding error as 0."""
    name = masking if key == "abico" else grouping
    found = ((p.linkage, clean(getattr(p, key))) for p in study.curve(grouping, masking) if p.linkage <= _WIDEST)
    return [
        {"line": name, "linkage": 100 * share, "value": scale * value} for share, value in found if value is not None
    ]


def _axes(alt: Any, study: CampCrestStudy, title: str) -> dict[str, Any]:
    """Linkage on one logarithmic axis for all pictures; a square root keeps small losses apart from 0."""
    low = 100 * min((p.linkage for p in study.points if p.linkage > 0), default=0.01)
    across = alt.Scale(type="log", domain=[max(0.1, 0.9 * low), 100 * _WIDEST], nice=False, clamp=True)
    ticks = alt.Axis(values=[0.5, 1, 2, 5, 10, 15], format="~g")
    return {
        "x": alt.X("linkage:Q", title="linkage (%)", scale=across, axis=ticks),
        "y": alt.Y("value:Q", title=title, scale=alt.Scale(type="sqrt"), axis=alt.Axis(tickCount=5, format=",~r")),
        "order": alt.Order("linkage:Q"),
    }


def _hundred(value: float | None) -> str:
    """A share in percent, two digits, as the paper prints it."""
    cleaned = clean(value)
    return "–" if cleaned is None else "0" if cleaned == 0 else f"{100 * cleaned:,.2f}"


def _three_digits(value: float | None) -> str:
    return "–" if value is None else "0" if value == 0 else f"{value:.3f}"


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _measured(study: CampCrestStudy) -> tuple[str, ...]:
    settings = study.settings
    return (
        f"k grows by about {number(settings.growth)} from 2; the first k whose linkage is at or below a level is in "
        f"its table. Numbers of perturbations are means over {settings.draws} draws (one far from every level); "
        "centroid needs one. Times are for grouping and masking once.",
        "Linkage: share of released records whose nearest or second nearest original is their own, columns in units of "
        f"{_UNITS[settings.scale]}, ties averaged. Another scale gives another number.",
        f"Paired intervals are over {len(study.parts)} disjoint random parts of the file, each searched for its own k."
        if study.parts
        else "The file is too small to be cut into parts for paired intervals.",
        "Hybrid is R-microhybrid, mean and covariance exact in each group: it loses no moment, but small groups come "
        "back nearly as they were, which is what its linkage shows.",
        "ABIM, ABISD and ABICO are over numeric and ordinal quasi-identifiers. They divide by means and correlations, "
        "and explode where these are near 0.",
        "X² is the mean over groups of the chi-square statistic (equation 13 lacks its equals sign).",
        "Published noise is as printed. Theorem 2 of the paper is false for it: independent draws also move the group "
        "means and inflate variances. Centred noise mends that; exact noise reproduces mean and covariance to rounding "
        "error. Both release each group's mean exactly, as centroid does.",
        "Exact keeps moments of the quasi-identifiers only. The link to the class is lost inside groups whatever the "
        "masking: see the last column of the tables.",
    )


STUDY = Study(
    title="CAMP-CREST study",
    examples=(
        "shoal study camp-crest --out study",
        "shoal study camp-crest --data diabetes.csv --schema diabetes.toml --out study",
    ),
    counted="sizes of groups",
    settings=Settings,
    run=run,
    heading=_heading,
    findings=_findings,
    figures=_figures,
    measured=_measured,
    exports={"table.csv": table, "curves.csv": lambda study: study.to_dict()["points"]},
)
