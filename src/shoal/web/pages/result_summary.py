"""The answer of a run on one screen: rows kept and lost, risk and use against their limits, and what is promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.reading import Reading
from shoal.report.markup import Child, Html, join, rows_table, tag
from shoal.report.numbers import ABSENT, count, listed, number, percent, plural
from shoal.web.job import Job
from shoal.web.pages import charts
from shoal.web.pages.exposure import events_known
from shoal.web.pages.layout import accepted_risk, problem
from shoal.web.pages.session_page import progress_of

__all__ = [
    "columns_treated",
    "held_to",
    "in_full",
    "levels_chosen",
    "linked_tables",
    "measures",
    "promises",
    "tiles",
    "to_watch",
]


def tiles(result: Mapping[str, Any], view: Mapping[str, Any], limit: float) -> Html:
    """Four figures: rows, risk, use, and the strongest promise."""
    rows = _drawn_tile(view) if result["synthetic"] else _rows_tile(view)
    return tag("div", rows, _risk_tile(view, limit), _use_tile(view), _promise_tile(result), class_="tiles")


def _rows_tile(view: Mapping[str, Any]) -> Html:
    lost = view["lost"]
    gone = lost["came"] - lost["out"]
    said = "every row is released" if gone <= 0 else f"{count(gone)} rows lost ({percent(gone / max(1, lost['came']))})"
    sort = "good" if gone <= 0 else "bad" if gone > 0.05 * lost["came"] else ""
    return _tile("Rows released", count(lost["out"]), f"of {count(lost['came'])}; {said}", sort)


def _drawn_tile(view: Mapping[str, Any]) -> Html:
    lost = view["lost"]
    return _tile("Rows drawn", count(lost["out"]), f"from {count(lost['came'])} real ones; none is a person's", "good")


def _risk_tile(view: Mapping[str, Any], limit: float) -> Html:
    first = held_to(view["risk"][0], limit)
    verdict = {"good": "within", "watch": "95% interval reaches above", "bad": "above"}.get(first.verdict)
    words = f"{verdict} the accepted {percent(first.limit)}" if verdict and first.limit is not None else ""
    before = "" if first.before is None else f"{percent(first.before)} before; "
    some = view["lost"]["out"] < view["lost"]["used"]
    whom = f"of all {view['rows_are']}, those left out among them; " if some and first.value is not None else ""
    return _tile(_title(first), percent(first.value), f"{whom}{before}{words}", first.verdict)


def _use_tile(view: Mapping[str, Any]) -> Html:
    first = Reading.from_dict(view["use"][0])
    before = "" if first.before is None else f"{_said(first, first.before)} before"
    beside = before if first.chance is None else f"{first.against}: {_said(first, first.chance)}"
    return _tile(_title(first), _said(first, first.value), beside, first.verdict)


def _promise_tile(result: Mapping[str, Any]) -> Html:
    order = ("proved", "verified", "measured", "published")
    claims = sorted(result["claims"], key=lambda claim: order.index(claim["basis"]))
    if not claims:
        return _tile("Promised", "nothing", "What was measured is no promise.", "bad")
    first = claims[0]
    value = percent(first["value"]) if 0 < first["value"] < 1 else number(first["value"])
    return _tile(
        f"Promised: {first['kind']}", value, f"{first['basis']}; {plural(len(claims), 'promise')} in all", "good"
    )


def _tile(name: str, value: str, beside: str, sort: str = "") -> Html:
    return tag(
        "div",
        tag("p", name, class_="name"),
        tag("p", value, class_="figure"),
        tag("p", beside, class_="beside"),
        class_=f"tile {sort}".strip(),
    )


def _measured(heading: str, readings: Sequence[Reading]) -> Html:
    first = _readings(heading, [one for one in readings if one.first])
    rest = [one for one in readings if not one.first]
    words = tag("summary", plural(len(rest), "more measure"))
    more = tag("details", words, _readings(heading, rest)) if rest else None
    return join([first, more])


def _readings(heading: str, readings: Sequence[Reading]) -> Html:
    head = [heading, "", "before", "after", "chance", "limit", ""]
    rows = [_reading(one) for one in readings]
    return rows_table(heading, head, rows, numeric=[2, 3, 4, 5], quiet=True, kind="measures")


def _reading(one: Reading) -> list[Child]:
    known = [value for value in (one.before, one.value, one.limit, one.chance) if value is not None]
    top = 1.0 if one.shows == "share" else 1.2 * max([1e-9, *known])
    label = f"{one.name}: {_said(one, one.before)} before, {_said(one, one.value)} after"
    basis = tag("span", one.basis, class_="meaning") if one.limit is not None else None
    against = tag("span", one.against, class_="meaning") if one.chance is not None and one.against != "chance" else None
    return [
        join([_title(one), tag("span", one.meaning, class_="meaning")]),
        charts.bullet(one.before, one.value, one.limit, label, top=top),
        _said(one, one.before),
        tag("strong", _said(one, one.value)),
        join([_said(one, one.chance), against]),
        join([_said(one, one.limit), basis]),
        tag("span", _VERDICTS[one.verdict], class_=f"verdict {one.verdict}"),
    ]


_VERDICTS = {
    "good": "✓ good",
    "better": "↗ better",
    "watch": "! watch",
    "bad": "✗ not met",
    "not measured": "not measured",
    "no yardstick": "",
}


def _title(one: Reading) -> str:
    return f"{one.name[:1].upper()}{one.name[1:]}"


def _said(one: Reading, value: float | None) -> str:
    return percent(value) if one.shows == "share" else number(value)


def measures(view: Mapping[str, Any], limit: float) -> Html:
    """Risk and use, before and after, against chance and limit."""
    key = tag(
        "p",
        tag("span", "", class_="key before"),
        "before ",
        tag("span", "", class_="key after"),
        "after ",
        tag("span", "", class_="key limit"),
        "limit",
        class_="note keys",
    )
    return tag(
        "section",
        tag("div", tag("h2", "Risk and use, before → after"), accepted_risk(limit), class_="split"),
        _measured("Risk", _risks(view, limit)),
        _measured("Use", _uses(view)),
        key,
    )


def in_full(view: Mapping[str, Any], job: Job | None) -> Html | None:
    """What was tried on a sample: on how many, and a press that tries everybody; then what came out beside it."""
    asked = view.get("asked")
    if not asked:
        return None
    full = {one["measure"]: one for one in job.result["tried"]} if job and job.state == "done" and job.result else {}
    sampled = _sampled(asked, full)
    if full:
        return sampled
    if job is not None and not job.is_over:
        stop = tag("button", "Cancel", type="button", class_="small warn", data_do="measure-cancel")
        return join([sampled, tag("div", progress_of(job), stop, class_="card measuring")])
    failed = problem(str(job.error)) if job is not None and job.error else None
    press = tag("button", "Measure in full", type="button", class_="small", data_do="measure", data_once=True)
    words = "The release is made again as it was and everybody is tried, which can take long."
    return join([sampled, tag("div", failed, tag("p", press, " ", words), class_="note in-full")])


def _sampled(asked: Sequence[Mapping[str, Any]], full: Mapping[str, Mapping[str, Any]]) -> Html:
    """A table of what was tried on a sample, beside the same for everybody once that is known."""
    rows: list[list[Child]] = [
        [
            f"{one['name'][:1].upper()}{one['name'][1:]}",
            f"{count(one['n_tried'])} of {count(one['n'])}",
            percent(one["share"]),
            tag("strong", percent(full[one["measure"]]["share"])) if one["measure"] in full else ABSENT,
        ]
        for one in asked
    ]
    head = ["Tried on a random sample", "tried", "found", "found among all"]
    table = rows_table("Tried on a random sample", head, rows, numeric=[1, 2, 3], quiet=True, kind="sampled")
    return tag("section", table, class_="in-full")


def to_watch(view: Mapping[str, Any], limit: float) -> Html:
    """What the person who decides should look at first: limits that are not met, then what else stands out."""
    readings = [*_risks(view, limit), *_uses(view)]
    alarms = [one for one in readings if one.first and one.verdict in ("bad", "watch")]
    told = [one.meaning for one in alarms]
    found = [_alarm(one, once=one.meaning not in told[:i]) for i, one in enumerate(alarms)]
    found += [tag("li", text) for text in view["watch"]]
    if not found:
        words = "Nothing stands out. That proves nothing: read the assumptions of the promises."
        return tag("section", tag("h2", "What to watch"), tag("p", words, class_="note"), class_="to-watch")
    return tag(
        "section",
        tag("h2", "What to watch"),
        tag("ul", *found),
        class_="to-watch alarm",
    )


def _alarm(one: Reading, *, once: bool) -> Html:
    """A reading which misses its limit, or is clearly worse than its yardstick; what it means is said `once`."""
    if one.verdict == "bad" and one.limit is not None:
        beside = f", the limit is {_said(one, one.limit)}"
    elif one.limit is not None and one.interval is not None:
        end = _said(one, one.interval[one.better == "lower"])
        beside = f", with a 95% interval to {end}; the limit is {_said(one, one.limit)}"
    else:
        beside = "" if one.chance is None else f"; {one.against}: {_said(one, one.chance)}"
    meaning = tag("span", one.meaning, class_="note") if once else None
    return tag("li", f"{_title(one)}: {_said(one, one.value)}{beside}. ", meaning)


def linked_tables(view: Mapping[str, Any]) -> Html | None:
    """Of linked tables: rows in and out of each, and who is found by known events, before and after."""
    if not view.get("tables"):
        return None
    rows: list[list[Child]] = [[one["table"], count(one["came"]), count(one["out"])] for one in view["tables"]]
    known = [one for one in view["events"] if one["after"] is not None]
    events = [_known(one) for one in known]
    return tag(
        "section",
        tag("h2", "Tables of events"),
        rows_table("Rows of each table", ["table", "rows before", "after"], rows, numeric=[1, 2], quiet=True),
        rows_table("Known events", _KNOWN, events, numeric=[1, 2], quiet=True, kind="known"),
    )


_HOW = {"gaps": ", by the days between", "order": ", by their order", "date": ", with its true date"}
_KNOWN = ("an intruder knows", "fewer than k candidates: before", "after", "")


def _known(one: Mapping[str, Any]) -> list[Child]:
    which = events_known(one["events"])
    how = {
        "events": "",
        "gaps": ", by the days between",
        "order": ", by their order",
        "date": ", with its true date",
    }.get(one["knows"], "")
    label = f"{which}{how}: {percent(one['after'])} below k"
    picture = charts.bullet(one["before"], one["after"], None, label)
    return [f"{which}{how}", percent(one["before"]), percent(one["after"]), picture]


def promises(claims: Sequence[Mapping[str, Any]], account: Mapping[str, str] | None = None) -> Html:
    """Each promise with its basis, and its assumptions folded in; what the privacy account of the file has left."""
    items = [
        tag(
            "li",
            tag("span", claim["basis"], class_=f"basis {claim['basis']}"),
            " ",
            claim["statement"],
            _assumptions(claim),
        )
        for claim in claims
    ]
    none = tag("p", "Nothing is promised. A measurement is no promise.", class_="note")
    listed = tag("ul", *items, class_="promises") if items else none
    spent = f"Privacy account of this file: {account['spent']} spent, {account['left']} left." if account else ""
    return tag("section", tag("h2", "What is promised"), listed, tag("p", spent) if spent else None)


def columns_treated(columns: Mapping[str, Sequence[str]]) -> Html | None:
    """What a preset removed or rewrote, and what a person allowed; nothing where there is none of it."""
    if not columns:
        return None
    rows = [[what, listed(names)] for what, names in columns.items()]
    table = rows_table("Columns removed, rewritten or allowed", ["what was done", "columns"], rows, quiet=True)
    return tag("section", tag("h2", "Columns removed, rewritten or allowed"), table)


def _assumptions(claim: Mapping[str, Any]) -> Html | None:
    said = claim.get("assumptions") or ()
    if not said:
        return None
    items = [tag("li", text) for text in said]
    return tag("details", tag("summary", f"{len(items)} assumption{'s' if len(items) > 1 else ''}"), tag("ul", *items))


def levels_chosen(view: Mapping[str, Any]) -> Html | None:
    """The level of detail of each coarsened column, and how many cells are blank."""
    levels, blanks = view["levels"], view["blanks"]
    if not levels and not blanks:
        return None
    names = [*dict.fromkeys([*(one["column"] for one in levels), *blanks])]
    chosen = {one["column"]: one for one in levels}
    if not levels:  # each row has its own level of detail, or all of it
        cells: list[list[Child]] = [[name, _blank(share)] for name, share in blanks.items()]
        table = rows_table("Blank cells", ["column", "blank"], cells, kind="levels", quiet=True)
        return tag("section", tag("h2", "What was blanked"), table)
    rows = [[name, _level(chosen.get(name)), _blank(blanks.get(name, 0.0))] for name in names]
    table = rows_table("Levels chosen", ["column", "level of detail", "blank"], rows, kind="levels", quiet=True)
    return tag("section", tag("h2", "What was coarsened"), table)


def _level(level: Mapping[str, Any] | None) -> Child:
    if level is None:
        return "unchanged"
    at, height = level["level"], level["height"]
    words = "unchanged" if at == 0 else "suppressed" if at >= height else f"level {at} of {height}"
    picture = charts.bullet(None, at / max(1, height), None, f"{level['column']}: {words}")
    return join([picture, " ", words])


def _blank(share: float) -> Child:
    if not share:
        return "–"
    return tag("span", f"{percent(share)} of the rows", class_="verdict bad" if share > 0.2 else None)


def _risks(view: Mapping[str, Any], limit: float) -> list[Reading]:
    return [held_to(one, limit) for one in view["risk"]]


def _uses(view: Mapping[str, Any]) -> list[Reading]:
    """What is preserved or blank is no risk, and is not held to the risk that is accepted."""
    return [Reading.from_dict(one) for one in view["use"]]


def held_to(words: Mapping[str, Any], accepted: float) -> Reading:
    """A reading, held to the accepted risk where it is a share that should be low and has no stricter limit.

    One whose own yardstick is above the accepted risk (half of new rows, say) is held to that.
    """
    one = Reading.from_dict(words)
    own = one.against != "chance" and one.chance is not None and one.chance > accepted
    is_risk = one.first and one.shows == "share" and one.better == "lower" and not own
    if not is_risk or (one.limit is not None and one.limit <= accepted):
        return one
    return replace(one, limit=accepted, basis="accepted")
