"""Original and release side by side in pictures: who is at risk, how columns relate, each column, some rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.report.markup import Html, join, tag
from shoal.report.numbers import percent
from shoal.web.pages import charts
from shoal.web.pages.layout import select

__all__ = ["each_column", "rows_beside", "together", "who_is_at_risk"]

MOST_OFFERED = 105
FIRST_SHOWN = 12


def who_is_at_risk(view: Mapping[str, Any], limit: float) -> Html | None:
    """The risk of every record, and how many each hides among."""
    drawn = [_curve(view["curve"], limit), _sizes(view["sizes"], view["crowd"])]
    shown = [one for one in drawn if one is not None]
    return tag("div", *shown, class_="pictures") if shown else None


def together(view: Mapping[str, Any], picked: str) -> Html | None:
    """Correlations, and every pair of columns with one of them in full."""
    drawn = [_links(view["correlations"]), _pairs(view.get("pairs"), picked)]
    shown = [one for one in drawn if one is not None]
    return tag("section", tag("h2", "How columns relate"), *shown) if shown else None


def _curve(curve: Mapping[str, Any] | None, limit: float) -> Html | None:
    if not curve:
        return None
    label = "Each record's probability of being found, highest first, before and after"
    before, after = (f"{_above(curve[when], limit):.0%}" for when in ("before", "after"))
    words = (
        f"Each record's probability of being found, highest first. Grey: before. Teal: after. Above {percent(limit)}: "
        f"{before} of the records before, about {after} after."
    )
    return _figure("Risk of every record", charts.curves(curve["before"], curve["after"], limit, label), words)


def _above(risks: Sequence[float], limit: float) -> float:
    """The share of the records whose risk is above the limit, by the points of the curve."""
    return sum(risk > limit for risk in risks) / len(risks)


def _sizes(sizes: Sequence[Mapping[str, Any]], crowd: str) -> Html | None:
    if not sizes:
        return None
    label = f"How many {crowd} each record hides among, before and after"
    words = f"Share of the records by how many {crowd} each hides among. Grey: before. Teal: after."
    return _figure("Class sizes", charts.bars(sizes, label), words)


def _links(found: Mapping[str, Any] | None) -> Html | None:
    if not found:
        return None
    names, both = found["names"], (found["before"], found["after"])
    change = [
        [None if x is None or y is None else y - x for x, y in zip(*rows, strict=True)]
        for rows in zip(*both, strict=True)
    ]
    maps = {"original": both[0], "released": both[1], "difference": change}
    pictures = [
        tag("div", tag("p", when, class_="note"), charts.heat_map(names, values, f"Correlations, {when}"))
        for when, values in maps.items()
    ]
    words = "Teal: positive; rust: negative; the deeper, the stronger. Rest the pointer on a cell for its number."
    return _figure("Correlations", tag("div", *pictures, class_="side"), words)


def _pairs(found: Mapping[str, Any] | None, picked: str) -> Html | None:
    """How much of every pair is kept; the worst pair, or the one that was pressed, as two tables of shares."""
    if not found:
        return None
    pairs = sorted(found["pairs"], key=lambda one: one["kept"])
    chosen = next((one for one in pairs if _pair_name(one) == picked), pairs[0])
    names = found["names"]
    options = {
        _pair_name(one): f"{names[one['a']]} and {names[one['b']]}: {percent(one['kept'])} preserved"
        for one in pairs[:MOST_OFFERED]
    }
    chooser = select("pair", options, _pair_name(chosen), aria_label="Pair of columns, the worst first")
    labels = [found["cells"][chosen[side]] for side in ("a", "b")]
    titles = (names[chosen["a"]], names[chosen["b"]])
    top = max(share for when in ("before", "after") for row in chosen[when] for share in row)
    tables = [
        tag(
            "div",
            tag("p", words, class_="note"),
            charts.joint(labels[0], labels[1], chosen[when], titles, f"{' by '.join(titles)}, {words}", top=top),
        )
        for when, words in (("before", "original"), ("after", "released"))
    ]
    whole = tag(
        "div",
        tag("p", "all pairs: press one", class_="note"),
        charts.pair_map(names, {(one["a"], one["b"]): one["kept"] for one in pairs}, _pair_name(chosen)),
    )
    words = "How much of the joint distribution of two columns is preserved: the deeper the colour, the more is lost."
    return _figure("Pairs of columns", join([chooser, tag("div", whole, *tables, class_="side")]), words)


def _pair_name(one: Mapping[str, Any]) -> str:
    return f"{one['a']},{one['b']}"


def _figure(heading: str, picture: Html, words: str) -> Html:
    return tag("figure", tag("h3", heading), picture, tag("figcaption", words))


def each_column(columns: Sequence[Mapping[str, Any]]) -> Html | None:
    """The distribution of each column, the one that moved most first."""
    if not columns:
        return None
    ordered = sorted(columns, key=lambda one: -one["moved"])
    cards = [_distribution(column) for column in ordered]
    rest = cards[FIRST_SHOWN:]
    words = "Wide grey bars: original. Narrow teal bars: released. The column that moved most comes first."
    return tag(
        "section",
        tag("h2", "Each column, original and released"),
        tag("p", words, class_="note"),
        tag("div", *cards[:FIRST_SHOWN], class_="distributions"),
        tag("details", tag("summary", f"{len(rest)} more columns"), tag("div", *rest, class_="distributions"))
        if rest
        else None,
    )


def _distribution(column: Mapping[str, Any]) -> Html:
    moved = f"moved by {percent(column['moved'])}" if column["moved"] > 0 else "unchanged"
    sort = "bad" if column["moved"] > 0.1 else ""
    label = f"Distribution of {column['column']}: {moved}"
    picture = charts.distribution(column["cells"], label) if column["cells"] else tag("p", "too few people to show")
    return tag(
        "figure",
        tag("figcaption", tag("strong", column["column"]), " ", tag("span", moved, class_=f"verdict {sort}")),
        picture,
    )


def rows_beside(rows: Mapping[str, Any]) -> Html:
    """Some released rows; below each cell what the same person had, where that differs."""
    names = [column["name"] for column in rows["columns"]]
    heads = [tag("th", one["name"], scope="col", class_=one["role"]) for one in rows["columns"]]
    before = rows["before"]
    body = []
    for i, after in enumerate(rows["after"]):
        originals = dict(zip(rows["both"], before[i], strict=True)) if before else {}
        body.append(tag("tr", *(_pair(originals.get(name), cell) for name, cell in zip(names, after, strict=True))))
    caption = tag("caption", "Released rows beside the originals", class_="heard")
    table = tag("table", caption, tag("thead", tag("tr", *heads)), tag("tbody", *body), class_="preview beside")
    area = tag(
        "div", table, class_="scroll", tabindex="0", role="region", aria_label="Released rows beside the originals"
    )
    words = (
        "Each cell: released, and below it what the same person had, where that differs. Internal, never released."
        if before
        else "Rows drawn from the model; none belongs to a real person."
    )
    summary = f"{len(rows['after'])} released rows" + (" beside the originals" if before else "")
    return tag("section", tag("h2", summary), tag("p", words, class_="note"), area, class_="inside-only")


def _pair(before: str | None, after: str) -> Html:
    if before is None or before == after:
        return tag("td", after)
    return tag("td", after, tag("del", before or "empty"), class_="changed")
