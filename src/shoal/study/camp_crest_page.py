"""The CAMP-CREST study on paper: a report, and its numbers as CSV."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from shoal.files import write_table, write_text
from shoal.report.document import altair, data, document, draw
from shoal.report.markup import Child, Html, figure, join, rows_table, tag
from shoal.report.numbers import listed, number, percent
from shoal.study.camp_crest import GROUPERS, MASKS, PAPER, PAPER_METHODS, CampCrestStudy, PaperRow, Point
from shoal.study.camp_crest_findings import best, clean, findings
from shoal.study.folder import check_study_folder

__all__ = ["check_folder", "render", "write"]

_FILES = ("report.html", "table.csv", "curves.csv")
_MASK_COLOURS = {"centroid": "#9a4a1f", "published": "#b5892b", "centred": "#6a5fa5", "exact": "#0b6470"}
_GROUP_COLOURS = {
    "MST": "#857e70",
    "TCloseMST": "#9a4a1f",
    "TCloseMST strict": "#d08a63",
    "Partial CREST": "#b5892b",
    "CREST": "#0b6470",
    "MDAV": "#6a5fa5",
    "KMember": "#3f7d3a",
}
_WIDEST = 0.15  # linkage; curves start there


check_folder = partial(check_study_folder, _FILES)
"""Refuse a folder that holds anything but an older study of this kind that may be replaced."""


def write(study: CampCrestStudy, out: Path) -> None:
    """Write report.html, table.csv (with the paper's rows) and curves.csv (every k) to the folder `out`."""
    page = render(study)
    out.mkdir(parents=True, exist_ok=True)
    write_table(pl.DataFrame(study.table(), infer_schema_length=None), out / "table.csv")
    write_table(pl.DataFrame(study.to_dict()["points"], infer_schema_length=None), out / "curves.csv")
    write_text(out / "report.html", page)


def render(study: CampCrestStudy) -> str:
    """The report as one HTML page."""
    shares = ", ".join(percent(share) for share in study.class_shares[:6])
    more = ", …" if len(study.class_shares) > 6 else ""
    kicker = (
        f"{study.data}: {study.n_records:,} records, {len(study.quasi)} quasi-identifiers, "
        f"{len(study.class_shares)} classes of {listed(study.class_columns)} ({shares}{more}); "
        f"seed {study.settings.seed}"
    )
    levels = study.settings.levels
    parts = {
        "What came out": join(_told(study, level) for level in levels),
        "The paper's Table 1 and ours": join([_table_words(study), *(_paper_table(study, level) for level in levels)]),
        "Every grouping with every masking": join(
            [_all_words(study), *(_full_table(study, level) for level in levels)]
        ),
        "Loss against linkage": _loss_figures(study),
        "Class mix against linkage": _mix_figure(study),
        "How it was measured": _method(study),
    }
    return document("CAMP-CREST study", kicker, "A study: measured, not promised", parts)


def _told(study: CampCrestStudy, level: float) -> Html:
    return join([tag("h3", _at(level)), tag("ul", *(tag("li", text) for text in findings(study, level)))])


def _at(level: float) -> str:
    return f"Linkage at most {percent(level)}"


def _table_words(study: CampCrestStudy) -> Html:
    same = f" This file is the paper's {study.paper_data}." if study.paper_data else ""
    return tag(
        "p",
        "Benchmark is TCloseMST with centroid; Partial CAMP-CREST and CAMP-CREST are Partial CREST and CREST with "
        f"published noise.{same} The paper's rows are as printed (Offer, printed with 403 records, has 443); they are "
        "for about the level, ours for the first k at or below it. The paper doesn't tell its k, its t or its scale of "
        f"linkage, so rows are neighbours, not twins. Ours: t = {number(study.settings.t)}.",
    )


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
    return tag(
        "p",
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


def _loss_figures(study: CampCrestStudy) -> Html:
    words = (
        "Figure 5 of the paper for every grouping: ABICO as linkage falls (towards the left) because k grows. The "
        "paper prints no numbers for its figure; black diamonds are its Table 1"
        + (f" for {study.paper_data}." if study.paper_data else ", which has no such file.")
    )
    return join([tag("p", words), tag("div", *(_loss_figure(study, g) for g in GROUPERS), class_="multiples")])


def _loss_figure(study: CampCrestStudy, grouping: str) -> Html:
    alt = altair()
    rows = [row for masking in MASKS for row in _curve(study, grouping, masking, "abico")]
    lines = alt.Chart(data(alt, rows), width=215, height=170).mark_line(point=True)
    chart = lines.encode(**_axes(alt, study, "ABICO (%)"), color=_colour(alt, _MASK_COLOURS, columns=2))
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
    chart = chart.encode(**_axes(alt, study, "X²"), color=_colour(alt, _GROUP_COLOURS))
    rule = alt.Chart(data(alt, [{"value": study.random_chi_square}])).mark_rule(strokeDash=[4, 3], color="#57544c")
    picture = draw(chart + rule.encode(y=alt.Y("value:Q")), "X² against linkage, one line for each grouping")
    caption = f"Centred noise. Dashed: {study.random_chi_square}, about what groups drawn at random have."
    words = (
        "X² at equal linkage: lower is a more even mix. It counts records, so the same shares give a larger X² in "
        "larger groups; and at low linkage few groups are left, so single values swing."
    )
    return join([tag("p", words), figure(picture, caption)])


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


def _colour(alt: Any, colours: dict[str, str], columns: int = 7) -> Any:
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color("line:N", scale=scale, legend=alt.Legend(columns=columns))


def _method(study: CampCrestStudy) -> Html:
    settings = study.settings
    said = (
        f"k grows by about {number(settings.growth)} from 2; the first k whose linkage is at or below a level is in "
        f"its table. Numbers of perturbations are means over {settings.draws} draws (one far from every level); "
        "centroid needs one. Times are for grouping and masking once.",
        "Linkage: share of released records whose nearest or second nearest original is their own, columns scaled to "
        "0..1 by their range, ties averaged. Another scale gives another number.",
        "ABIM, ABISD and ABICO are over numeric and ordinal quasi-identifiers. They divide by means and correlations, "
        "and explode where these are near 0.",
        "X² is the mean over groups of the chi-square statistic (equation 13 lacks its equals sign).",
        "Published noise is as printed. Theorem 2 of the paper is false for it: independent draws also move the group "
        "means and inflate variances. Centred noise mends that; exact noise reproduces mean and covariance to rounding "
        "error. Both release each group's mean exactly, as centroid does.",
        "Exact keeps moments of the quasi-identifiers only. The link to the class is lost inside groups whatever the "
        "masking: see the last column of the tables.",
    )
    return tag("ul", *(tag("li", text) for text in said))


def _hundred(value: float | None) -> str:
    """A share in percent, two digits, as the paper prints it."""
    cleaned = clean(value)
    return "–" if cleaned is None else "0" if cleaned == 0 else f"{100 * cleaned:,.2f}"


def _three_digits(value: float | None) -> str:
    return "–" if value is None else "0" if value == 0 else f"{value:.3f}"


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
