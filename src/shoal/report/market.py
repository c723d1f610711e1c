"""Market assessments to one page: a ranked table, intervals, maps of weights, and each market by segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.report.drawing import altair, data, draw, hover
from shoal.report.layout import document
from shoal.report.markup import Child, Html, figure, join, rows_table, tag
from shoal.report.numbers import count, number, percent
from shoal.shift.assessment import MarketAssessment, MarketRank, WeightCell, rank_markets
from shoal.shift.populations import LevelBalance

__all__ = ["render_markets"]

_ASSUMPTIONS = (
    "Cost depends on the covariates in the same way in both markets, up to the cost factor.",
    "Who enrols depends on the covariates alone, and in the same way in both markets.",
    "The market tables describe the people of the markets; survey weights are right.",
    "No table can show that these hold. If they fail, no interval on this page covers the error.",
)
_WIDEST = 40


def render_markets(assessments: Sequence[MarketAssessment], *, title: str, created: str, members: str) -> str:
    """Write the page.

    Parameters
    ----------
    assessments
        One per market, all with one seed.
    title, created
        Heading and date.
    members
        What the members' table is, in words.
    """
    ranks = rank_markets(assessments)
    parts = {
        "Markets by expected cost": _summary(ranks, members),
        "Weights": _weights(ranks),
        "Each market": join(_market(rank) for rank in ranks),
        "Method and assumptions": _method(ranks[0].assessment),
    }
    return document(title, f"Made with Shoal on {created}", "For the analyst: a prediction, not a release", parts)


def _summary(ranks: Sequence[MarketRank], members: str) -> Html:
    first = ranks[0].assessment
    words = (
        f"Expected yearly cost of a person who enrols in each market, estimated from {count(first.n_members)} members "
        f"({members}), {first.method}. The interval holds the actual mean cost of the group with about 95% "
        "probability if the assumptions below hold. Ranks in brackets are those that sampling error allows."
    )
    head = ("Market", "Rank", "Mean cost", "95% interval", "Group", "Total", "Error", "Effective members", "Uncovered")
    table = rows_table("Markets, cheapest first", head, [_row(rank) for rank in ranks], numeric=range(1, 9))
    picture = draw(_interval_chart(ranks), "Mean cost and interval of each market, cheapest first")
    return join(
        [tag("p", words), table, figure(picture, "Mean cost of each market (dot), its 95% interval (thin line), and "
        "the error of the prediction alone (thick line).")]
    )  # fmt: skip


def _row(rank: MarketRank) -> list[Child]:
    market = rank.assessment
    return [
        market.name,
        f"{rank.rank}" if rank.low == rank.high else f"{rank.rank} ({rank.low}–{rank.high})",
        number(market.mean),
        f"{number(market.interval[0])} to {number(market.interval[1])}",
        number(market.group_size),
        number(market.total),
        percent(market.relative_error),
        number(market.weights.effective_sample_size),
        percent(market.weights.uncovered_share),
    ]


def _interval_chart(ranks: Sequence[MarketRank]) -> Any:
    alt = altair()
    rows = [
        {
            "market": _short(rank.assessment.name),
            "mean": rank.assessment.mean,
            "low": rank.assessment.interval[0],
            "high": rank.assessment.interval[1],
            "inner_low": rank.assessment.sampling_interval[0],
            "inner_high": rank.assessment.sampling_interval[1],
            "said": _interval_words(rank.assessment),
        }
        for rank in ranks
    ]
    base = alt.Chart(data(alt, rows), width=560, height=max(60, 22 * len(rows)))
    place = alt.Y("market:N", sort=[row["market"] for row in rows], title=None)
    axis = alt.X("low:Q", title="mean cost per person", scale=alt.Scale(zero=False))
    outer = base.mark_rule(color="#857e70", aria=False).encode(y=place, x=axis, x2=alt.X2("high:Q"))
    inner = base.mark_rule(color="#0b6470", strokeWidth=4, aria=False).encode(
        y=place, x=alt.X("inner_low:Q"), x2=alt.X2("inner_high:Q")
    )
    dots = base.mark_point(filled=True, color="#23221f", size=45, opacity=1, aria=False).encode(
        y=place, x=alt.X("mean:Q")
    )
    return outer + inner + dots + hover(alt, rows, y=place, x=alt.XValue(0), x2=alt.X2Value(560))


def _interval_words(market: MarketAssessment) -> str:
    low, high = market.interval
    return f"{market.name}: {number(market.mean)} per person, {number(low)} to {number(high)}"


def _weights(ranks: Sequence[MarketRank]) -> Html:
    words = (
        "A weight above 1 means that people at this level are more common in the new market than in the existing one, "
        "so members like them count more. With few effective members, or if the heaviest 1% carry much of the "
        "weight, a prediction is unstable."
    )
    head = ("Market", "Effective members", "before weighting", "Largest weight", "Heaviest 1% carry", "Uncovered",
            "No member there", "Members unmatched")  # fmt: skip
    rows: list[list[Child]] = [
        [
            rank.assessment.name,
            number(rank.assessment.weights.effective_sample_size),
            number(rank.assessment.weights.effective_sample_size_before),
            number(rank.assessment.weights.largest[0]),
            percent(rank.assessment.weights.largest_share),
            percent(rank.assessment.weights.uncovered_share),
            percent(rank.assessment.weights.unreached_share),
            percent(rank.assessment.weights.unmatched_share),
        ]
        for rank in ranks
    ]
    table = rows_table("Quality of the weights", head, rows, numeric=range(1, 8))
    shown = ranks[:_WIDEST]
    picture = draw(_level_chart(shown), "Map of mean weights by level and market")
    return join([tag("p", words), figure(picture, "Mean weight by level and market."), table])


def _level_chart(ranks: Sequence[MarketRank]) -> Any:
    rows = [
        _level_row(rank.assessment.name, level)
        for rank in ranks
        for level in rank.assessment.weights.balance
        if level.existing > 0
    ]
    return _heat_chart(rows, [str(rank.assessment.name) for rank in ranks])


def _level_row(market: str, level: LevelBalance) -> dict[str, Any]:
    named, weight = f"{level.column} = {level.level}", _mean_weight(level)
    said = f"{market}, {named}: mean weight {number(weight)}"
    return {"row": _short(named), "column": _short(market), "w": weight, "said": said}


def _mean_weight(level: LevelBalance) -> float:
    return level.weighted / level.existing


def _heat_chart(rows: list[dict[str, Any]], columns: Sequence[str] | None = None) -> Any:
    """Weights as colours on a scale of doublings around 1."""
    alt = altair()
    for row in rows:
        row["text"] = f"{row['w']:.2g}"
        row["level"] = max(0.25, min(4.0, row["w"] or 0.25))
    down = list(dict.fromkeys(row["row"] for row in rows))
    across = [_short(name) for name in columns] if columns else list(dict.fromkeys(row["column"] for row in rows))
    scale = alt.Scale(type="log", domain=[0.25, 1, 4], range=["#9a4a1f", "#f7f5f0", "#0b6470"])
    width, height = min(44 * len(across), 820), 20 * len(down)
    base = alt.Chart(data(alt, rows), width=max(width, 44), height=max(height, 20))
    x = alt.X("column:N", sort=across, title=None, axis=alt.Axis(labelAngle=-40))
    y = alt.Y("row:N", sort=down, title=None)
    colour = alt.Color("level:Q", scale=scale, legend=None)
    boxes = base.mark_rect().encode(x=x, y=y, color=colour, description=alt.Description("said:N"))
    ink = alt.ColorValue("#23221f", condition={"test": "datum.level > 2.2 || datum.level < 0.45", "value": "#ffffff"})
    return boxes + base.mark_text(fontSize=9).encode(x=x, y=y, text=alt.Text("text:N"), color=ink)


def _market(rank: MarketRank) -> Html:
    market = rank.assessment
    facts = (
        f"{number(market.mean)} per person, {number(market.interval[0])} to {number(market.interval[1])}; "
        f"{number(market.total)} for {number(market.group_size)} people; enrolment {market.enrolment}; cost factor "
        f"{number(market.cost_factor)}. Members weighted to resemble it cost {number(market.weighted_member_mean)}, "
        f"without a model. R² of single predictions {number(market.r_squared)}."
    )
    notes = [tag("p", note, class_="note") for note in market.notes]
    return tag(
        "article",
        tag("h3", market.name),
        tag("p", facts),
        *notes,
        _segments(market),
        _parity(market),
        _pair_map(market),
        _balance(market),
    )


def _segments(market: MarketAssessment) -> Html:
    head = ("Segment", "Share", "Members", "Mean cost", "95% interval", "Total")
    rows: list[list[Child]] = [
        [
            f"{segment.column} = {segment.level}",
            percent(segment.share),
            count(segment.n_members),
            number(segment.mean),
            f"{number(segment.interval[0])} to {number(segment.interval[1])}",
            number(segment.total),
        ]
        for segment in market.segments
    ]
    table = rows_table(f"{market.name} by segment", head, rows, numeric=range(1, 6))
    return tag("details", tag("summary", "By segment"), table)


def _parity(market: MarketAssessment) -> Html | None:
    """Predictions held against actual costs, group by group."""
    if not market.parity:
        return None
    head = ("Group of members", "Members", "Actual", "Predicted", "Difference", "95% interval", "Reading")
    rows: list[list[Child]] = [
        [
            f"{p.column} = {p.level}",
            count(p.n_members),
            number(p.actual),
            number(p.predicted),
            percent(p.difference),
            f"{percent(p.interval[0])} to {percent(p.interval[1])}",
            p.verdict,
        ]
        for p in market.parity
    ]
    words = (
        "Each member's cost as predicted by a model that did not see it, weighted as for this market. Costs are not "
        "needs, and of several groups one in twenty lies outside its interval by chance."
    )
    table = rows_table(f"{market.name}: are predictions as right for each group?", head, rows, numeric=range(1, 6))
    return tag("div", table, tag("p", words, class_="note"))


def _pair_map(market: MarketAssessment) -> Html | None:
    """The pair of columns over which the weights vary most."""
    pairs: dict[tuple[str, str], list[WeightCell]] = {}
    for cell in market.weight_map:
        pairs.setdefault(cell.columns, []).append(cell)
    if not pairs:
        return None
    (first, second), cells = max(pairs.items(), key=lambda item: _variation(item[1]))
    rows = [
        {
            "row": _short(cell.levels[0]),
            "column": _short(cell.levels[1]),
            "w": cell.weight,
            "said": f"{first} {cell.levels[0]}, {second} {cell.levels[1]}: mean weight {number(cell.weight)}",
        }
        for cell in cells
    ]
    label = f"Map of mean weights by {first} (down) and {second} (across)"
    return figure(
        draw(_heat_chart(rows), label), f"Mean weight by {first} (down) and {second} (across), {market.name}."
    )


def _variation(cells: Sequence[WeightCell]) -> float:
    return sum(cell.new_share * abs(cell.weight - 1) for cell in cells)


def _balance(market: MarketAssessment) -> Html:
    head = ("Level", "Existing", "weighted", "New market", "Members", "weighted")
    rows = [_balance_row(row) for row in market.weights.balance]
    table = rows_table(f"Balance of {market.name}", head, rows, numeric=range(1, 6))
    return tag("details", tag("summary", "Balance before and after weighting"), table)


def _balance_row(row: LevelBalance) -> list[Child]:
    shares = (row.existing, row.weighted, row.new, row.members, row.weighted_members)
    return [f"{row.column} = {row.level}", *(percent(share) for share in shares)]


def _method(market: MarketAssessment) -> Html:
    words = (
        f"Method: {market.method}. Members weigh their survey weight times w(x), the new market's share of people like "
        "them over the existing market's. The prediction is averaged over the new market's people, each weighing "
        "survey weight times chance of enrolment. The error of the mean of m people is "
        "(m − 1)/m · b² + (1 − R²)/m · var(Y)/E[Y]², with b the bootstrap's relative error of the prediction and R² "
        "from members that the model did not see."
    )
    return join([tag("p", words), tag("p", "It assumes:"), tag("ul", *(tag("li", text) for text in _ASSUMPTIONS))])


def _short(text: str) -> str:
    return text if len(text) <= 28 else f"{text[:27]}…"
