"""The fifth page: many recipes on one risk-utility map, large and pressable; three lines of advice; use one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.comparison import Comparison, Outcome
from shoal.errors import ParameterError, ShoalError
from shoal.reading import Reading
from shoal.recipe import FAMILIES
from shoal.report.markup import Child, Html, join, rows_table, tag
from shoal.report.numbers import ABSENT, number, percent, plural
from shoal.report.readings import change, shown, verdict
from shoal.web.controller import title_of
from shoal.web.inspect import Opened
from shoal.web.job import Job
from shoal.web.pages.layout import accepted_risk, field, problem
from shoal.web.pages.page import Act
from shoal.web.pages.risk_map import Dot, risk_map
from shoal.web.pages.session_page import SessionPage, progress_of

__all__ = ["ComparePage"]

SAID = 3


class ComparePage(SessionPage):
    """The map of the newest comparison; what is pressed there is told beside it."""

    slug, name = "compare", "Compare"

    @property
    def job(self) -> Job | None:
        """The newest comparison of this file."""
        return self.controller.newest(self.session, "compare") if self.controller.find(self.session) else None

    def body_facts(self) -> Any:
        """How far the comparison is."""
        return self.job

    def body(self, opened: Opened) -> Html:
        """The map first; the form is above it only while there is none."""
        job = self.job
        done = job is not None and job.state == "done" and job.result is not None
        if job is None or not done:
            return join([_heading(), self._form(job), self._state(job), self._runs()])
        found = Comparison.from_dict(job.result or {})
        return join([self._result(found), self._runs(), self._form(job)])

    def _form(self, job: Job | None) -> Html:
        running = job is not None and not job.is_over
        limit = 100 * self.controller.risk_limit(self.session)
        risk = tag("input", type="number", name="limit", value=f"{limit:g}", min="0.1", max="100", step="any")
        seconds = tag("input", type="number", name="seconds", value="120", min="1", step="1")
        press = tag("button", "Compare", type="submit", class_="main", disabled=running)
        return tag(
            "form",
            tag("h2", "Compare the usual recipes and those you tried"),
            tag(
                "div",
                field("Accepted risk (%)", risk, "Limit for the recommendation."),
                field("Seconds per recipe", seconds, "A recipe that takes longer is stopped and reported."),
                class_="fields",
            ),
            problem(self.wrong.get("compare")),
            tag("div", press, class_="actions"),
            data_do="start",
            class_="card",
        )

    def _state(self, job: Job | None) -> Html | None:
        if job is None:
            return None
        if job.state in ("queued", "running"):
            stop = tag("button", "Cancel", type="button", class_="warn", data_do="cancel", data_of=job.id)
            return tag("div", progress_of(job), tag("div", stop, class_="actions"), class_="card")
        if job.state == "cancelled":
            return tag("p", "Cancelled. Finished recipes are saved: press Compare to resume.", class_="note")
        return problem(str(job.error or ""))

    def _result(self, found: Comparison) -> Html:
        limit = self.controller.risk_limit(self.session)
        best = found.best(limit)
        picked = self._picked(found, best)
        advice = found.recommendation(limit).split("\n")
        more = tag("details", tag("summary", "All of the advice"), *(tag("p", line) for line in advice[SAID:]))
        return join(
            [
                tag("div", tag("h1", "Compare"), accepted_risk(limit), class_="split"),
                tag(
                    "div",
                    tag("figure", _legend(found), self._map(found, limit, best, picked), class_="map"),
                    tag("aside", self._about(found, picked, best, limit), class_="aside-panel"),
                    class_="grid-and-aside",
                ),
                tag("div", *(tag("p", line) for line in advice[:SAID]), more, class_="fine advice"),
                self._table(found, best),
            ]
        )

    def _picked(self, found: Comparison, best: Outcome | None) -> Outcome | None:
        name = str(self.controller.session(self.session).notes.get("picked", ""))
        return next((one for one in found.outcomes if one.name == name and one.is_done), best)

    def _map(self, found: Comparison, limit: float, best: Outcome | None, picked: Outcome | None) -> Html:
        front = {one.name for one in found.front}
        dots = [
            Dot(
                risk=one.risk,
                utility=one.utility,
                number=str(place),
                family=FAMILIES.index(one.family) if one.family in FAMILIES else len(FAMILIES),
                words=f"{place}. {one.name}: {percent(one.risk)} found, {percent(one.utility)} preserved",
                name=one.name,
                on_front=one.name in front,
                chosen=one == picked,
                best=one == best,
            )
            for place, one in enumerate(found.outcomes, start=1)
            if one.is_done
        ]
        label = f"Risk-utility map of {plural(len(dots), 'recipe')}; the same numbers are in the table below"
        return risk_map(dots, label, limit=limit, mark=found.reference.get("second_sample"))

    def _about(self, found: Comparison, one: Outcome | None, best: Outcome | None, limit: float) -> Html:
        if one is None:
            return tag(
                "div", tag("p", "No recipe meets the accepted risk. Press a dot to read about it."), class_="card"
            )
        place = found.outcomes.index(one) + 1
        mark = tag("p", "Recommended", class_="verdict good") if one == best else None
        facts: list[tuple[str, Child]] = [
            *((figure.name.capitalize(), _read(figure)) for figure in found.readings(one, limit)),
            ("Proved", one.proof or ABSENT),
            *_by_one_event(one),
            ("Seconds", f"{one.seconds:.1f}"),
        ]
        rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts]
        use = tag(
            "button",
            "Use this",
            type="button",
            class_="main",
            data_do="use",
            data_of=one.name,
            aria_label=f"Use {one.name}",
        )
        return tag(
            "div",
            tag("h2", f"{place}. {one.name}"),
            mark,
            tag("dl", *rows, class_="facts"),
            _against(one, best),
            tag("div", use, class_="actions"),
            class_="card",
            aria_live="polite",
        )

    def _table(self, found: Comparison, best: Outcome | None) -> Html:
        front = {one.name for one in found.front}
        numbered = list(enumerate(found.outcomes, start=1))
        ranked = sorted(numbered, key=lambda pair: (not pair[1].is_done, pair[1].name not in front, _risk(pair[1])))
        rows = [_row(place, one, one.name in front, one == best) for place, one in ranked]
        head = ["recipe", "found", "guessed", "utility", "proved", "seconds", "", ""]
        table = rows_table("Recipes", head, rows, numeric=[1, 2, 3, 5], quiet=True, kind="recipes")
        return join([tag("h2", "All recipes"), table])

    # Runs

    def _runs(self) -> Html | None:
        """The releases made of this file, and how two of them differ."""
        runs = [
            job
            for job in self.controller.jobs_of(self.session)
            if job.kind == "release" and job.state == "done" and job.result
        ]
        if not runs:
            return None
        picked = dict(zip("ba", (job.id for job in runs), strict=False)) | self.query
        rows = [self._run(job, picked if len(runs) > 1 else {}) for job in runs]
        head = ["run", "rows", "found by the strongest attack", "utility", "", "compare" if len(runs) > 1 else ""]
        table = rows_table("Your runs", head, rows, numeric=[1, 2, 3], quiet=True)
        by_id = {job.id: job for job in runs}
        both = [by_id[self.query[side]] for side in ("a", "b") if self.query.get(side) in by_id]
        return join([tag("h2", "Your runs"), tag("form", table, _differ(len(runs)), method="get"), _difference(both)])

    def _run(self, job: Job, picked: Mapping[str, str]) -> list[Child]:
        """A run, with a choice beside it where there are others: first the last one as b, the one before it as a."""
        view = (job.result or {})["view"]
        link = tag("a", title_of(job), href=f"/b/{self.session}/result/{job.id}")
        boxes = [
            tag(
                "label",
                tag("input", type="radio", name=side, value=job.id, checked=picked.get(side) == job.id),
                f" {side}",
            )
            for side in ("a", "b")
        ]
        written = self.controller.session(self.session).notes.get("written", {}).get(job.id)
        return [
            link,
            f"{view['lost']['out']:,}",
            percent(view["found"]),
            join([percent(view["use"][0]["value"]), tag("span", view["use"][0]["name"], class_="type")]),
            "written" if written else "",
            tag("span", *boxes, class_="sides") if picked else "",
        ]

    # What a person does

    def press(self, act: Act) -> None:
        """Start, stop, pick, use, or set the accepted risk."""
        try:
            if act.do == "start":
                self._start(act.fields)
            elif act.do == "cancel":
                self.controller.jobs.cancel(act.of)
            elif act.do == "pick":
                self.controller.note(self.session, "picked", act.of)
            elif act.do == "use":
                self._use(act.of)
            elif act.name == "risk_limit":
                self.controller.set_risk_limit(self.session, act.value)
        except ShoalError as error:
            self.wrong["compare"] = str(error)

    def _start(self, fields: Mapping[str, Any]) -> None:
        self.controller.set_risk_limit(self.session, fields.get("limit"))
        try:
            seconds = float(str(fields.get("seconds")))
        except ValueError:
            raise ParameterError("comparison", "seconds must be a number") from None
        if seconds < 1:
            raise ParameterError("comparison", "the time must be at least one second")
        if self.job is None or self.job.is_over:  # pressed twice, or in another tab
            limit = self.controller.risk_limit(self.session)
            self.controller.compare(self.session, risk_limit=limit, time_limit=seconds)

    def _use(self, name: str) -> None:
        """Take a recipe by its name: another tab may have begun a new comparison meanwhile."""
        found = Comparison.from_dict(self.job.result).outcomes if self.job and self.job.result else ()
        chosen = next((outcome for outcome in found if outcome.name == name), None)
        if chosen is None:
            raise ParameterError("comparison", "is being run again", hint="Wait until it is finished, then choose.")
        self.controller.change_recipe(self.session, chosen.recipe.to_dict(), f"recipe from the comparison: {name}")
        self.go = f"/b/{self.session}/method"


def _by_one_event(one: Outcome) -> list[tuple[str, Child]]:
    """Of linked tables: the share of people with fewer than k candidates, if one of their events is known."""
    share = one.risks.get("one_event")
    beside = tag("span", "of people have fewer than k candidates", class_="type")
    return [] if share is None else [("If one event is known", join([percent(share), beside]))]


def _heading() -> Html:
    lead = (
        "Which method, which k? A grid of recipes is run, and each is measured in the same way. The comparison "
        "reveals facts about the original table and is internal."
    )
    return join([tag("h1", "Compare"), tag("p", lead, class_="lead")])


def _legend(found: Comparison) -> Html:
    used = [family for family in FAMILIES if any(one.family == family for one in found.outcomes)]
    items = [tag("span", tag("i", "", class_=f"swatch family-{FAMILIES.index(family)}"), family) for family in used]
    words = "Upper left is best; filled dots are on the front; the ring marks the recommended one. Press a dot."
    return tag("div", *items, tag("span", words, class_="soft"), class_="legend")


def _risk(one: Outcome) -> float:
    return one.risk if one.is_done else 1.0


def _row(place: int, one: Outcome, on_front: bool, best: bool) -> list[Child]:
    name = f"{place}. {one.name}"
    if not one.is_done:
        why = tag("span", f"{one.state.capitalize()}: {one.reason}", class_="meaning")
        return [join([name, why])]
    use = tag(
        "button", "Use", type="button", class_="small", data_do="use", data_of=one.name, aria_label=f"Use {one.name}"
    )
    mark = "recommended" if best else "on the front" if on_front else ""
    return [
        name,
        percent(one.risk),
        percent(one.risks.get("guessed")),
        percent(one.utility),
        one.proof or ABSENT,
        f"{one.seconds:.1f}",
        mark,
        use,
    ]


def _read(figure: Reading) -> Html:
    """A figure, what it was before, its yardstick and its verdict."""
    against = f"{figure.against}: {shown(figure, figure.chance)}" if figure.chance is not None else None
    beside = tag("span", against, class_="type") if against else None
    return join([change(figure), " ", verdict(figure), beside])


def _against(one: Outcome, best: Outcome | None) -> Html | None:
    """How a picked recipe differs from the recommended one."""
    if best is None or one == best:
        return None
    risk, kept = one.risk - best.risk, one.utility - best.utility
    words = f"Against the recommended: {_more(risk)} found, {_more(kept)} preserved."
    return tag("p", words, class_="note")


def _more(change: float) -> str:
    return "as many" if abs(change) < 5e-5 else f"{percent(abs(change))} {'more' if change > 0 else 'less'}"


def _differ(n: int) -> Html | None:
    return (
        tag("div", tag("button", "Show the difference of a and b", type="submit"), class_="actions") if n > 1 else None
    )


def _difference(both: list[Job]) -> Html | None:
    if len(both) != 2:
        return None
    views = [(job.result or {})["view"] for job in both]
    rows: list[list[Child]] = []
    for part in ("risk", "use"):
        second = {one["name"]: one for one in views[1][part]}
        for one in views[0][part]:
            other = second.get(one["name"])
            say = percent if one["shows"] == "share" else number
            rows.append([one["name"], say(one["value"]), say(other["value"]) if other else ABSENT, _moved(one, other)])
    which = "; ".join(f"{side}: {title_of(job)}" for side, job in zip("ab", both, strict=True))
    return join(
        [
            tag("h3", "Difference"),
            tag("p", which, class_="note"),
            rows_table(
                "Difference of two runs", ["measure", "a", "b", "from a to b"], rows, numeric=[1, 2, 3], quiet=True
            ),
        ]
    )


def _moved(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> Child:
    """How a measure changes from one run to the other, and whether that is good."""
    if other is None or one["value"] is None or other["value"] is None:
        return ABSENT
    change = other["value"] - one["value"]
    if abs(change) < (5e-5 if one["shows"] == "share" else 5e-4):
        return "about the same"
    size = f"{number(100 * abs(change))} points" if one["shows"] == "share" else number(abs(change))
    good = (change < 0) == (one["better"] == "lower")
    words = f"{'+' if change > 0 else '−'}{size}, {'better' if good else 'worse'}"
    return tag("span", words, class_=f"verdict {'good' if good else 'bad'}")
