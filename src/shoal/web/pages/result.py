"""The fourth room: one job while it runs, then the answer on one screen, and the way out of the house."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import ShoalError
from shoal.reading import Reading
from shoal.release.folders import inside_of
from shoal.report.markup import Child, Html, join, rows_table, tag
from shoal.report.numbers import count, number, percent
from shoal.web.controller import Controller, title_of
from shoal.web.inspect import Opened
from shoal.web.job import Job
from shoal.web.pages import charts
from shoal.web.pages.bench_page import BenchPage, progress_of
from shoal.web.pages.live import Act
from shoal.web.pages.readings import held_to, reading_of
from shoal.web.pages.screen import accepted_risk, field, notice, problem
from shoal.web.pages.sliders import draw_sliders, recipe_at
from shoal.web.way_out import default_folder, default_key, sign_release, write_release

__all__ = ["ResultPage"]

LOST = "This result was removed together with its file. Open the file again, then run it."


class ResultPage(BenchPage):
    """One release of a file: the newest, or the one that the address names."""

    room, name = "result", "Result"

    def __init__(
        self, controller: Controller, bench: str = "", query: Mapping[str, str] | None = None, job: str = ""
    ) -> None:
        super().__init__(controller, bench, query)
        self.job = job
        self.written = self.signed = ""

    @property
    def now(self) -> Job | None:
        """The job as it stands."""
        if self.controller.find(self.bench) is None:
            return None
        job = self.controller.job(self.job) if self.job else self.controller.newest(self.bench, "release")
        return job if job and job.kind == "release" else None

    def body_facts(self) -> Any:
        """The job, and what became of its result."""
        return self.now

    def parts(self) -> dict[str, Html]:
        """A result whose file is gone is gone too."""
        if self.controller.find(self.bench) is None and self.job:
            back = tag("a", "Open a file", href="/", class_="button main")
            return {"state": Html(""), "body": join([tag("h1", "Not there"), problem(LOST), back])}
        return super().parts()

    def body(self, opened: Opened) -> Html:
        """How far the job is, or what came out."""
        job = self.now
        if job is None:
            return join([tag("h1", "No result yet"), self._none()])
        if not job.is_over:
            return _running(job)
        if job.state != "done" or job.result is None:
            return self._failed(job)
        return self._answer(job, job.result)

    def _none(self) -> Html:
        words = problem(LOST) if self.job else tag("p", "Nothing has been run for this file.", class_="lead")
        return join([words, tag("a", "Choose a method", href=f"/b/{self.bench}/method", class_="button main")])

    def _failed(self, job: Job) -> Html:
        heading = "Cancelled" if job.state == "cancelled" else "Nothing was released"
        return join(
            [
                tag("h1", heading),
                tag("p", title_of(job), class_="lead"),
                problem(str(job.error)) if job.error else None,
                tag("p", "Nothing was written.", class_="note"),
                tag(
                    "div",
                    tag("a", "Change the method", href=f"/b/{self.bench}/method", class_="button main"),
                    tag("a", "Change the columns", href=f"/b/{self.bench}/columns", class_="button"),
                    class_="actions",
                ),
            ]
        )

    def _answer(self, job: Job, result: Mapping[str, Any]) -> Html:
        view, limit = result["view"], self.controller.risk_limit(self.bench)
        return join(
            [
                _head(job, result),
                _tiles(result, view, limit),
                _watch(view["watch"]),
                self._measures(view, limit),
                _promises(result["claims"]),
                _levels(view),
                draw_sliders(view, self._chosen(job)),
                _pictures(view, limit),
                _columns(view["columns"]),
                _rows(view["rows"]),
                _notes(result["notes"]),
                self._out(job, result),
            ]
        )

    def _chosen(self, job: Job) -> dict[str, int]:
        """The levels that were tried by hand on this result."""
        chosen: dict[str, int] = self.controller.bench(self.bench).notes.get("tried levels", {}).get(job.id, {})
        return chosen

    def _measures(self, view: Mapping[str, Any], limit: float) -> Html:
        accept = accepted_risk(limit)
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
            tag("div", tag("h2", "Risk and use, before → after"), accept, class_="split"),
            _measured("Risk", view["risk"], limit),
            _measured("Use", view["use"], limit),
            key,
        )

    def _out(self, job: Job, result: Mapping[str, Any]) -> Html:
        if result.get("sample"):
            words = "This was a trial on a sample: it shows how the method behaves, and is no release."
            run = tag("button", "Run on all rows", type="button", class_="main", data_do="run", data_once=True)
            return tag(
                "section", tag("h2", "What next"), tag("p", words), tag("div", run, self._again(), class_="actions")
            )
        return tag(
            "section",
            tag("h2", "Decide, sign, write, hand over"),
            tag("div", self._sign(job), self._write(job), self._take(job), class_="three"),
            tag("div", self._again(), class_="actions"),
            class_="way-out",
        )

    def _again(self) -> Html:
        return tag("a", "Change and run again", href=f"/b/{self.bench}/method", class_="button")

    def _sign(self, job: Job) -> Html:
        bench = self.controller.bench(self.bench)
        given = bench.notes.get("decisions", {}).get(job.id, {})
        done = notice(f"Signed by {given.get('by') or 'an unnamed person'}.") if given.get("signed") else None
        if not self.controller.by_path:
            words = "Signing needs a key on this machine: download the release and use `shoal sign`."
            return _card("1. Sign the decision", tag("p", words, class_="note"))
        key = str(given.get("key") or bench.notes.get("key") or default_key())
        entries = [
            _entry("decision", "Decision", given.get("decision") or "May be released to the recipient."),
            _entry("by", "Who decides", given.get("by", "")),
            _entry("recipient", "Recipient", given.get("recipient", "")),
            field("Valid until", tag("input", type="date", name="expires", value=str(given.get("expires") or ""))),
            _entry("key", "Key file", key, "Made for you if there is none; keep it secret."),
            field("Password of the key", tag("input", type="password", name="password", autocomplete="off")),
        ]
        press = tag("button", "Sign", type="submit", class_="main")
        form = tag("form", *entries, tag("div", press, class_="actions"), data_do="sign", class_="stack")
        return _card("1. Sign the decision", done, problem(self.signed), form)

    def _write(self, job: Job) -> Html:
        done = self.controller.bench(self.bench).notes.get("written", {}).get(job.id)
        said = notice(f"Written to {done}. Do not release {inside_of(done)}.") if done else None
        if not self.controller.by_path:
            return _card("2. Write", tag("p", "Files can't be written here by path: download them.", class_="note"))
        place = default_folder(self.controller, self.bench)
        entry = _entry("target", "New folder on this machine", place)
        press = tag("button", "Write", type="submit", class_="main")
        form = tag("form", entry, tag("div", press, class_="actions"), data_do="write", class_="stack")
        return _card("2. Write", said, problem(self.written), form)

    def _take(self, job: Job) -> Html:
        base = f"/jobs/{job.id}"
        links = [
            tag("a", "Download the release", href=f"{base}/release.zip", class_="button main"),
            tag("a", "External report", href=f"{base}/report.html", target="_blank", rel="noopener", class_="button"),
            tag("a", "Internal report", href=f"{base}/internal.html", target="_blank", rel="noopener", class_="button"),
            tag("a", "Download the internal files", href=f"{base}/internal.zip", class_="button"),
        ]
        words = "The release holds table, report, manifest and signature. The internal files hold the seed: keep them."
        return _card("3. Hand over", tag("p", words, class_="note"), tag("div", *links, class_="stack"))

    def press(self, act: Act) -> None:
        """Cancel, run, sign, write, or set the accepted risk."""
        job = self.now
        if act.do == "cancel" and job is not None:
            self.controller.jobs.cancel(job.id)
        elif act.do == "run":
            self.go = f"/b/{self.bench}/result/{self.controller.run(self.bench)}"
        elif act.name == "risk_limit":
            self.controller.set_risk_limit(self.bench, act.value)
        elif job is not None and (act.name.startswith("level.") or act.do in ("levels", "levels-back")):
            self._slide(act, job)
        elif job is not None and act.do in ("write", "sign"):
            self._leave(act, job)

    def _slide(self, act: Act, job: Job) -> None:
        """Move a level slider, take what the sliders say into the recipe, or put them back."""
        view = (job.result or {}).get("view", {})
        lattice, chosen = view.get("lattice") or {"levels": {}}, self._chosen(job)
        if act.do == "levels":
            words = recipe_at((job.result or {})["recipe"], view, chosen)
            self.controller.change_recipe(self.bench, words, "recipe: levels chosen by hand")
            self.go = f"/b/{self.bench}/method"
            return
        name, levels = act.name.partition(".")[2], lattice["levels"].get(act.name.partition(".")[2], [])
        place = int(act.value) if str(act.value).isdigit() else -1
        moved = {**chosen, name: levels[place]} if 0 <= place < len(levels) else chosen
        tried = self.controller.bench(self.bench).notes.get("tried levels", {})
        after = {} if act.do == "levels-back" else moved
        self.controller.note(self.bench, "tried levels", {**tried, job.id: after})

    def _leave(self, act: Act, job: Job) -> None:
        """What is wrong is said beside the button."""
        try:
            if act.do == "write":
                write_release(self.controller, self.bench, job, str(act.fields.get("target", "")))
            else:
                sign_release(self.controller, self.bench, job, {name: str(value) for name, value in act.fields.items()})
        except ShoalError as error:
            self.written = str(error) if act.do == "write" else ""
            self.signed = str(error) if act.do == "sign" else ""
        except OSError:  # forgotten while it was copied
            self.written = LOST


def _running(job: Job) -> Html:
    stop = tag("button", "Cancel", type="button", class_="warn", data_do="cancel")
    note = tag("p", "You may leave this page: the job goes on and is listed under Jobs.", class_="note")
    return join(
        [
            tag("h1", "Creating the release"),
            tag("p", title_of(job), class_="lead"),
            tag("div", progress_of(job), tag("div", stop, class_="actions"), class_="card"),
            note,
        ]
    )


def _head(job: Job, result: Mapping[str, Any]) -> Html:
    heading = "A trial on a sample" if result.get("sample") else "The release is ready"
    return tag(
        "div",
        tag("div", tag("h1", heading), tag("p", title_of(job), class_="lead")),
        tag("button", "Print", type="button", class_="quiet", data_print=True),
        class_="split",
    )


def _tiles(result: Mapping[str, Any], view: Mapping[str, Any], limit: float) -> Html:
    return tag("div", _rows_tile(view), _risk_tile(view, limit), _use_tile(view), _promise_tile(result), class_="tiles")


def _rows_tile(view: Mapping[str, Any]) -> Html:
    lost = view["lost"]
    gone = lost["came"] - lost["out"]
    said = "every row is kept" if gone <= 0 else f"{count(gone)} rows lost ({percent(gone / max(1, lost['came']))})"
    sort = "good" if gone <= 0 else "bad" if gone > 0.05 * lost["came"] else ""
    return _tile("Rows released", count(lost["out"]), f"of {count(lost['came'])}; {said}", sort)


def _risk_tile(view: Mapping[str, Any], limit: float) -> Html:
    first = held_to(view["risk"][0], limit)
    verdict = {"good": "within", "bad": "above"}.get(first.verdict)
    words = f"{verdict} the accepted {percent(first.limit)}" if verdict and first.limit is not None else ""
    before = "" if first.before is None else f"{percent(first.before)} before; "
    return _tile(_title(first), percent(first.value), f"{before}{words}", first.verdict)


def _use_tile(view: Mapping[str, Any]) -> Html:
    first = reading_of(view["use"][0])
    chance = "" if first.chance is None else f"{first.against}: {_said(first, first.chance)}"
    return _tile(_title(first), _said(first, first.value), chance, first.verdict)


def _promise_tile(result: Mapping[str, Any]) -> Html:
    order = ("proved", "verified", "measured", "published")
    claims = sorted(result["claims"], key=lambda claim: order.index(claim["basis"]))
    if not claims:
        return _tile("Promised", "nothing", "What was measured is no promise.", "bad")
    first = claims[0]
    value = percent(first["value"]) if 0 < first["value"] < 1 else number(first["value"])
    return _tile(f"Promised: {first['kind']}", value, f"{first['basis']}; {len(claims)} promises in all", "good")


def _tile(name: str, value: str, beside: str, sort: str = "") -> Html:
    return tag(
        "div",
        tag("p", name, class_="name"),
        tag("p", value, class_="figure"),
        tag("p", beside, class_="beside"),
        class_=f"tile {sort}".strip(),
    )


def _measured(heading: str, found: Sequence[Mapping[str, Any]], limit: float) -> Html:
    readings = [held_to(one, limit) for one in found]
    first = _readings(heading, [one for one in readings if one.first])
    rest = [one for one in readings if not one.first]
    more = tag("details", tag("summary", f"{len(rest)} more measures"), _readings(heading, rest)) if rest else None
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


def _watch(found: Sequence[str]) -> Html:
    if not found:
        words = "Nothing stands out. That proves nothing: read the assumptions of the promises."
        return tag("section", tag("h2", "What to watch"), tag("p", words, class_="note"), class_="to-watch")
    return tag(
        "section",
        tag("h2", "What to watch"),
        tag("ul", *(tag("li", text) for text in found)),
        class_="to-watch alarm",
    )


def _promises(claims: Sequence[Mapping[str, Any]]) -> Html:
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
    return tag("section", tag("h2", "What is promised"), tag("ul", *items, class_="promises") if items else none)


def _assumptions(claim: Mapping[str, Any]) -> Html | None:
    said = claim.get("assumptions") or ()
    if not said:
        return None
    items = [tag("li", text) for text in said]
    return tag("details", tag("summary", f"{len(items)} assumption{'s' if len(items) > 1 else ''}"), tag("ul", *items))


def _levels(view: Mapping[str, Any]) -> Html | None:
    levels, blanks = view["levels"], view["blanks"]
    if not levels and not blanks:
        return None
    names = [*dict.fromkeys([*(one["column"] for one in levels), *blanks])]
    chosen = {one["column"]: one for one in levels}
    rows = [[name, _level(chosen.get(name)), _blank(blanks.get(name, 0.0))] for name in names]
    table = rows_table("Levels chosen", ["column", "level of detail", "blank"], rows, kind="levels", quiet=True)
    return tag("section", tag("h2", "What was coarsened"), table)


def _level(level: Mapping[str, Any] | None) -> Child:
    if level is None:
        return "as it was"
    at, height = level["level"], level["height"]
    words = "as it was" if at == 0 else "not told at all" if at >= height else f"level {at} of {height}"
    picture = charts.bullet(None, at / max(1, height), None, f"{level['column']}: {words}")
    return join([picture, " ", words])


def _blank(share: float) -> Child:
    if not share:
        return "–"
    return tag("span", f"{percent(share)} of the rows", class_="verdict bad" if share > 0.2 else None)


def _pictures(view: Mapping[str, Any], limit: float) -> Html | None:
    drawn = [_curve(view["curve"], limit), _sizes(view["sizes"]), _links(view["correlations"])]
    shown = [one for one in drawn if one is not None]
    return tag("section", tag("h2", "Pictures"), tag("div", *shown, class_="pictures")) if shown else None


def _curve(curve: Mapping[str, Any] | None, limit: float) -> Html | None:
    if not curve:
        return None
    label = "Each record's probability of being found, highest first, before and after"
    words = "Each record's probability of being found, highest first. Grey: before. Teal: after."
    return _figure("Risk of every record", charts.curves(curve["before"], curve["after"], limit, label), words)


def _sizes(sizes: Sequence[Mapping[str, Any]]) -> Html | None:
    if not sizes:
        return None
    words = "How many people each record hides among, before and after."
    return _figure("Class sizes", charts.bars(sizes, words), words)


def _links(found: Mapping[str, Any] | None) -> Html | None:
    if not found:
        return None
    names = found["names"]
    pictures = [
        tag(
            "div",
            tag("p", when, class_="note"),
            charts.heat_map(names, found[when], f"Correlations {when}"),
        )
        for when in ("before", "after")
    ]
    words = "Teal: positive; sand: negative; the darker the stronger. Rest the pointer on a cell for its number."
    return _figure("Correlations", tag("div", *pictures, class_="side"), words)


def _figure(heading: str, picture: Html, words: str) -> Html:
    return tag("figure", tag("h3", heading), picture, tag("figcaption", words))


def _columns(columns: Sequence[Mapping[str, Any]]) -> Html | None:
    if not columns:
        return None
    ordered = sorted(columns, key=lambda one: -one["moved"])
    cards = [_distribution(column) for column in ordered]
    words = "Wide grey bars: original. Narrow teal bars: released. The column that moved most comes first."
    return tag(
        "section",
        tag("h2", "Each column, original and released"),
        tag("p", words, class_="note"),
        tag("div", *cards, class_="distributions"),
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


def _rows(rows: Mapping[str, Any]) -> Html:
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
        "Each cell: released, and below it what the same person had, where that differs. Inside only."
        if before
        else "Rows drawn from the model; none belongs to a real person."
    )
    summary = f"{len(rows['after'])} released rows" + (" beside the originals" if before else "")
    return tag("section", tag("h2", summary), tag("p", words, class_="note"), area)


def _pair(before: str | None, after: str) -> Html:
    if before is None or before == after:
        return tag("td", after)
    return tag("td", after, tag("del", before or "empty"), class_="changed")


def _notes(notes: Sequence[str]) -> Html | None:
    if not notes:
        return None
    items = tag("ul", *(tag("li", note) for note in notes))
    return tag("details", tag("summary", f"What else happened ({len(notes)})"), items)


def _card(heading: str, *children: Child) -> Html:
    return tag("div", tag("h3", heading), *children, class_="card")


def _entry(name: str, label: str, value: Any, help: str = "") -> Html:
    return field(label, tag("input", type="text", name=name, value=str(value or "")), help)
