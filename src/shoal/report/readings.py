"""Figures with their readings, in words: on a page as a table, in a terminal as lines of fixed width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.reading import Reading, Verdict
from shoal.record import html_table
from shoal.report.markup import Child, Html, join, rows_table, tag
from shoal.report.numbers import ABSENT, NOT_MEASURED, between, count, number, percent

__all__ = ["change", "notebook_table", "reading_lines", "reading_table", "reading_words", "shown", "verdict"]

_HEAD = ("What", "Before → after", "By chance", "Limit", "Out of", "Reading")
_YARDSTICKS = ("chance", "limit", "n")  # columns that are left out where no figure has them
_SHORT: dict[Verdict, str] = {"not measured": "", "no yardstick": "–"}
_NAME, _CHANGE, _PEOPLE, _CHANCE, _LIMIT = 30, 17, 8, 9, 6


def shown(reading: Reading, value: float | None) -> str:
    """A value as the figure shows its own."""
    if value is None:
        return ABSENT
    if reading.shows == "share":
        return percent(value)
    return count(round(value)) if reading.shows == "count" else number(value)


def change(reading: Reading) -> str:
    """The figure, after what it was before."""
    if reading.value is None:
        return NOT_MEASURED
    after = shown(reading, reading.value)
    return after if reading.before is None else f"{shown(reading, reading.before)} → {after}"


def reading_words(reading: Reading) -> str:
    """The yardsticks and the verdict as one sentence."""
    said = []
    if reading.interval is not None and reading.value is not None:
        said.append(f"95% interval {between(reading.interval, 'percent' if reading.shows == 'share' else 'number')}")
    if reading.before is not None:
        said.append(f"before {shown(reading, reading.before)}")
    if reading.chance is not None:
        said.append(f"{reading.against} {shown(reading, reading.chance)}")
    if reading.limit is not None:
        said.append(f"limit {shown(reading, reading.limit)}")
    if reading.people is not None:
        said.append(f"{count(reading.people)} {reading.counts}")
    return f"{', '.join(said)}: {reading.verdict}." if said else ""


def verdict(reading: Reading) -> Html:
    """The verdict, marked."""
    return tag("span", reading.verdict, class_=f"verdict {reading.verdict.replace(' ', '-')}")


def reading_table(caption: str, readings: Sequence[Reading], *, quiet: bool = True) -> Html:
    """Figures on a page, each with its yardsticks; how many people are counted is shown, not how many were found."""
    used = (True, True, *(any(getattr(one, name) is not None for one in readings) for name in _YARDSTICKS), True)
    places = [place for place, told in enumerate(used) if told]
    rows = [[row[place] for place in places] for row in map(_row, readings)]
    numeric = range(1, len(places) - 1)
    return rows_table(caption, [_HEAD[place] for place in places], rows, numeric=numeric, quiet=quiet)


def notebook_table(title: str, readings: Sequence[Reading]) -> str:
    """Figures in a notebook, where no style sheet is at hand: plain cells, each figure with its yardsticks."""
    head = ("figure", "before → after", "95% interval", "chance", "limit", "reading", "what it says")
    return html_table(title, [_plain_row(one) for one in readings], head)


def _plain_row(reading: Reading) -> tuple[str, ...]:
    spread = between(reading.interval, "percent" if reading.shows == "share" else "number")
    beside = (shown(reading, reading.chance), shown(reading, reading.limit))
    return reading.name, change(reading), spread, *beside, reading.verdict, reading.meaning


def _row(reading: Reading) -> tuple[Child, ...]:
    spread = between(reading.interval, "percent" if reading.shows == "share" else "number")
    value = join([change(reading), tag("div", spread, class_="spread") if spread else None])
    chance = shown(reading, reading.chance)
    other = None if reading.chance is None or reading.against == "chance" else reading.against
    beside = join([chance, tag("div", other, class_="spread") if other else None])
    limit = join([shown(reading, reading.limit), tag("div", reading.basis, class_="spread") if reading.basis else None])
    people = ABSENT if reading.n is None else f"{count(reading.n)} {reading.counts}"
    return reading.name, value, beside, limit, people, join([verdict(reading), f" {reading.meaning}"])


def reading_lines(title: str, readings: Sequence[Reading]) -> Iterator[str]:
    """Figures in a terminal of 80 columns: a head, and one line each."""
    changed = any(reading.before is not None for reading in readings)
    counts = next((reading.counts for reading in readings if reading.n is not None), "people")
    yield _line(title, "before → after" if changed else "value", counts, "chance", "limit", "reading")
    for reading in readings:
        people = "" if reading.people is None else count(reading.people)
        columns = (shown(reading, reading.chance), shown(reading, reading.limit))
        yield _line(
            f"  {reading.name}", change(reading), people, *columns, _SHORT.get(reading.verdict, reading.verdict)
        )


def _line(name: str, change: str, people: str, chance: str, limit: str, end: str) -> str:
    """Fixed columns; a long name is cut, so that nothing wraps."""
    room = _NAME + _CHANGE - len(change)
    name = name if len(name) < room else f"{name[: room - 2]}…"
    return f"{name:<{room}}{change}{people:>{_PEOPLE}}{chance:>{_CHANCE}}{limit:>{_LIMIT}}  {end}".rstrip()
