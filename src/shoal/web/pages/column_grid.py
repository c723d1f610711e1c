"""The grid of the columns: each with its shape, its part in who stands out, its problems and what would settle them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import urlencode

from shoal.report.markup import Child, Html, join, tag
from shoal.report.numbers import count, percent
from shoal.schema import Kind, Role
from shoal.schema.person_key import key_question
from shoal.web.inspect import ColumnView, Opened
from shoal.web.pages import charts
from shoal.web.pages.domain import is_number, show_domain
from shoal.web.pages.exposure import remedy
from shoal.web.pages.layout import problem, select

__all__ = ["MEANINGS", "MISSING", "NO_RANGE", "Grid", "coded", "codes_asked", "is_missing"]

KINDS = {"": "as in the data", **{kind: kind for kind in get_args(Kind)}}
MISSING = {
    "error": "Not allowed",
    "level": "Keep as a level of its own",
    "drop": "Drop those rows",
    "median": "Fill in the median",
}
_SHORT = {"error": "Not allowed", "level": "Own level", "drop": "Drop rows", "median": "Median"}
MEANINGS = ("unknown", "not applicable")
"""What an absence that has a code may mean."""
AT_ONCE = 60
LONGEST = 90  # letters of a name
_HEADS = ("column", "shape", "role", "makes unique", "kind", "where missing", "public range or levels")
ROLES = {role: role for role in get_args(Role)}
NO_RANGE = "no public range"
_SHOWN = {"": "all roles", "to settle": "to settle", "undecided": "undecided", NO_RANGE: NO_RANGE, **ROLES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The columns of one table as they stand.

    Parameters
    ----------
    session, table
        Where they are changed, and which of linked tables is shown (empty: there is one).
    opened, found
        The file, and what was counted of it last.
    words, entry
        The columns' words, and what the schema says of a linked table beside them.
    query
        What the address asks for: a part of the names, a role, where to begin.
    typed, wrong
        What was typed and can't be taken, by field, and why, by column.
    """

    session: str
    table: str
    opened: Opened
    found: Mapping[str, Any]
    words: Mapping[str, Any]
    entry: Mapping[str, Any]
    query: Mapping[str, str]
    typed: Mapping[str, str]
    wrong: Mapping[str, str]

    def draw(self) -> Html:
        """Filter, bulk edit, and the table."""
        shown = self._filtered()
        first = self._first(len(shown))
        rows = [self._row(i, column) for i, column in shown[first : first + AT_ONCE]]
        every = tag("input", type="checkbox", data_all=True, aria_label="select all columns shown")
        head = tag("tr", tag("td", every), *(tag("th", text, scope="col") for text in _HEADS))
        caption = tag("caption", "Columns", class_="heard")
        table = tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="columns")
        area = tag("div", table, class_="scroll tall", tabindex="0", role="group", aria_label="Columns")
        return tag("div", self._filter(len(shown)), _bulk(), area, self._pages(len(shown), first))

    def link(self, words: str, query: Mapping[str, str], **marks: Any) -> Html:
        """A link to this page with some of the query changed."""
        kept = {name: value for name, value in {**self.query, **query}.items() if value}
        return tag("a", words, href=f"/b/{self.session}/columns?{urlencode(kept)}", **{"class_": "button", **marks})

    # Which columns

    def _first(self, n: int) -> int:
        given = self.query.get("from", "0")
        return min(int(given) if given.isdigit() else 0, max(0, n - 1)) // AT_ONCE * AT_ONCE

    def _filtered(self) -> list[tuple[int, ColumnView]]:
        text, role = self.query.get("q", "").lower(), self.query.get("role", "")
        wanted = self._of_role(role)
        return [
            (i, column)
            for i, column in enumerate(self.opened.columns)
            if column.table == self.table and text in column.name.lower() and (not role or column.name in wanted)
        ]

    def _of_role(self, role: str) -> set[str]:
        if role == "to settle":
            return {one["column"] for one in self.found.get("problems", [])}
        if role == "undecided":
            return set(self.opened.proposed(self.table).get("undecided", ()))
        if role == NO_RANGE:
            return {name for name, words in self.words.items() if _is_bare(words)}
        return {name for name, words in self.words.items() if words.get("role") == role}

    def _filter(self, shown: int) -> Html:
        text = tag(
            "input",
            type="search",
            name="q",
            value=self.query.get("q", ""),
            placeholder="Find a column",
            aria_label="Find a column",
        )
        chosen = select("role", _SHOWN, self.query.get("role", ""), aria_label="Role to show")
        n = sum(column.table == self.table for column in self.opened.columns)
        said = f"{count(n)} columns" if shown == n else f"{count(shown)} of {count(n)} columns"
        table = tag("input", type="hidden", name="table", value=self.table) if self.table else None
        return tag(
            "form",
            text,
            chosen,
            table,
            tag("button", "Show", type="submit"),
            tag("span", said, class_="note"),
            method="get",
            class_="filter",
        )

    def _pages(self, n: int, first: int) -> Html | None:
        if n <= AT_ONCE:
            return None
        said = f"Columns {first + 1:,} to {min(first + AT_ONCE, n):,} of {n:,}"
        earlier = self.link("Earlier", {"from": str(max(0, first - AT_ONCE))}) if first else None
        later = self.link("Later", {"from": str(first + AT_ONCE)}) if first + AT_ONCE < n else None
        return tag("div", earlier, tag("span", said), later, class_="actions")

    # One column

    def _row(self, i: int, column: ColumnView) -> Html:
        """Its line, why it is what it is, and what is to be settled."""
        name = column.name
        if name not in self.words:
            return self._key_row(column)
        words = self.words[name]
        troubles = [self._trouble(one) for one in self.found.get("problems", []) if one["column"] == name]
        troubles += [problem(self.wrong[name]) or Html("")] if name in self.wrong else []
        own = self._cells(i, column, words)
        why = [*self._findings(name), self._reason(name), *self._key_asked(name, words), *self._doubts(name, words)]
        lines = [("about", [tag("div", *why, class_="why")])] + ([("settle", troubles)] if troubles else [])
        mark = " trouble" if troubles else ""
        drawn = [tag("tr", *own, class_=f"own{mark}", data_key=f"row {name}")]
        drawn += [
            tag(
                "tr",
                tag("td"),
                tag("td", *content, colspan=str(len(own) - 1)),
                class_=f"{kind}{mark}{' last' if i == len(lines) - 1 else ''}",
                data_key=f"{kind} {name}",
            )
            for i, (kind, content) in enumerate(lines)
        ]
        return join(drawn)

    def _cells(self, i: int, column: ColumnView, words: Mapping[str, Any]) -> list[Html]:
        name = column.name
        box = tag("input", type="checkbox", data_select=True, value=name, aria_label=f"select {name}")
        edit = self.link("More", {"column": name}, class_="quiet", aria_label=f"more about {name}")
        head = join([_named(name), " ", edit, tag("span", _facts(column), class_="type")])
        cells: list[Child] = [
            charts.spark(column.shape, ordered=column.ordered, label=f"distribution of {name}"),
            select(f"{i}.role", ROLES, words.get("role"), aria_label=f"role of {name}"),
            self._part(words, name),
            select(f"{i}.kind", KINDS, words.get("kind") or "", aria_label=f"kind of {name}"),
            _missing(i, column, words),
            self._domain(i, column, words),
        ]
        return [tag("td", box), tag("th", head, scope="row"), *(tag("td", cell) for cell in cells)]

    def _key_row(self, column: ColumnView) -> Html:
        """A key or link of a linked table: it is released under a new name, and has no other role."""
        sort = "key" if column.name == self.entry.get("key") else f"link to {self.entry.get('parent')}"
        head = join([tag("strong", column.name), tag("span", _facts(column), class_="type")])
        said = tag("td", f"{sort}: released under new numbers", colspan="6", class_="soft")
        return tag("tr", tag("td"), tag("th", head, scope="row"), said, data_key=f"row {column.name}")

    def _domain(self, i: int, column: ColumnView, words: Mapping[str, Any]) -> Html:
        name = f"{i}.domain"
        shown = show_domain(words, numbers=is_number(column))
        return tag(
            "input",
            type="text",
            name=name,
            value=self.typed.get(name, shown),
            class_="domain",
            placeholder="0 to 120, or a; b; c",
            title=shown or None,
            aria_label=f"public range or levels of {column.name}",
            aria_invalid="true" if name in self.typed else None,
        )

    def _part(self, words: Mapping[str, Any], name: str) -> Child:
        share = self.found.get("contribution", {}).get(name)
        if words.get("role") != "quasi" or share is None:
            return tag("span", "–", class_="soft")
        freed = self.found.get("freed", {}).get(name, 0)
        label = f"{name}: {percent(share)} of who is alone; {count(freed)} fewer without it"
        return tag("span", charts.bullet(None, share, None, label), percent(share), class_="part-of", title=label)

    def _trouble(self, one: Mapping[str, Any]) -> Html:
        name = one["column"]
        words = f"{one['rule'][:1].upper()}{one['rule'][1:]}" + (f": {one['got']}." if one["got"] else ".")
        presses = self._remedies(name, one["fix"])
        return tag("div", tag("p", words, class_="flag"), tag("div", *presses, class_="remedies"), class_="settle")

    def _remedies(self, name: str, fix: Mapping[str, Any]) -> list[Html]:
        """A press for each way to settle a problem."""
        if is_missing(self.opened, self.table, name, self.words):
            return [remedy(MISSING[way], {name: {"missing": way}}) for way in ("level", "drop", "median")]
        if fix:
            return [remedy("Declare " + ", ".join(map(str, fix.values())), {name: fix})]
        declared = {entry: None for entry in ("bounds", "levels") if self.words.get(name, {}).get(entry)}
        return [remedy("Remove the declared range or levels", {name: declared})] if declared else []

    def _findings(self, name: str) -> list[Html]:
        every = (self.opened.scan or {}).get("findings", ())
        found = [one for one in every if one["column"] == name and one.get("table", "") == self.table]
        return [tag("span", f"Looks like: {finding['identifier']}. ", class_="flag") for finding in found]

    def _reason(self, name: str) -> str:
        """Why its role was proposed; where it has another one now, as which."""
        proposal = self.opened.proposed(self.table)
        proposed = proposal.get("schema", {}).get("columns", {}).get(name, {}).get("role")
        why = str(proposal.get("reasons", {}).get(name, ""))
        return why if not why or proposed == self.words[name].get("role") else f"Was proposed as {proposed}: {why}"

    def _key_asked(self, name: str, words: Mapping[str, Any]) -> list[Html]:
        """Whether a column that repeats numbers people: one press says that it does."""
        role = self.opened.proposed(self.table).get("keys", {}).get(name)
        if role is None or words.get("role") == role:
            return []
        press = remedy(f"Yes, it is the {role}", {name: {"role": role}})
        return [tag("div", tag("span", key_question(name, role)), press, class_="doubt")]

    def _doubts(self, name: str, words: Mapping[str, Any]) -> list[Html]:
        """Values that may stand for an absence: one press says that they do."""
        asked = codes_asked(self.opened, self.table, name, words)
        if not asked:
            return []
        listed = ", ".join(f"“{code}” ({count(n)} cells)" for code, n in asked.items())
        presses = [remedy(meaning, {name: coded(words, asked, meaning)}) for meaning in MEANINGS]
        return [tag("div", tag("span", f"Does {listed} stand for an absence? Yes:"), *presses, class_="doubt")]


def codes_asked(opened: Opened, table: str, name: str, words: Mapping[str, Any]) -> dict[str, int]:
    """The values of a column that may stand for an absence and are not settled yet, with their cells."""
    seen = opened.proposed(table).get("doubtful", {}).get(name, {})
    known = {str(code) for code in words.get("missing_codes") or {}}
    return {code: n for code, n in seen.items() if code not in known}


def coded(words: Mapping[str, Any], codes: Iterable[str], meaning: str) -> dict[str, Any]:
    """What a column's words become where these values stand for an absence."""
    levels = [level for level in words.get("levels") or () if str(level) not in set(codes)]
    rest = {"levels": levels or None} if words.get("levels") else {}
    return {"missing_codes": {**(words.get("missing_codes") or {}), **dict.fromkeys(codes, meaning)}, **rest}


def is_missing(opened: Opened, table: str, name: str, words: Mapping[str, Any]) -> bool:
    """Whether a column lacks numbers and nothing says what to do with them; texts that are missing are a level."""
    view = next((column for column in opened.columns if (column.table, column.name) == (table, name)), None)
    entry = words.get(name, {})
    return bool(view and view.n_missing) and entry.get("missing", "error") == "error" and _needs_numbers(entry)


def _bulk() -> Html:
    choices = {"": "role: leave", **{role: f"role: {role}" for role in ROLES}}
    kinds = {"": "kind: leave", **{kind: f"kind: {kind}" for kind in get_args(Kind)}}
    ways = {"": "missing: leave", **{way: f"missing: {words.lower()}" for way, words in MISSING.items()}}
    return tag(
        "form",
        tag("strong", "", data_count=True),
        select("role", choices, "", aria_label="role of the selected columns"),
        select("kind", kinds, "", aria_label="kind of the selected columns"),
        select("missing", ways, "", aria_label="where the selected columns are missing"),
        tag("button", "Apply to the selected", type="submit", class_="main"),
        id="bulk",
        class_="bulk",
        hidden=True,
        data_do="bulk",
        data_among=True,
    )


def _missing(i: int, column: ColumnView, words: Mapping[str, Any]) -> Child:
    chosen, codes = words.get("missing", "error"), words.get("missing_codes")
    if not column.n_missing and not codes and chosen == "error":
        return tag("span", "none missing", class_="soft")
    also = tag("span", f"codes: {', '.join(map(str, codes))}", class_="type") if codes else None
    ways = _SHORT if _needs_numbers(words) else {**_SHORT, "error": "Leave empty"}
    return join([select(f"{i}.missing", ways, chosen, aria_label=f"where {column.name} is missing"), also])


def _is_bare(words: Mapping[str, Any]) -> bool:
    known = any(words.get(name) for name in ("levels", "bounds", "edges", "derived"))
    return words.get("role") in ("quasi", "sensitive") and not known


def _needs_numbers(words: Mapping[str, Any]) -> bool:
    """Whether a column can't be masked while numbers are missing: an absence among levels is a level."""
    return words.get("role") == "quasi" and words.get("kind", "numeric") == "numeric"


def _named(name: str) -> Html:
    """A column's name; a very long one is cut, and told in full under the pointer."""
    return tag("strong", name) if len(name) <= LONGEST else tag("strong", f"{name[: LONGEST - 1]}…", title=name)


def _facts(column: ColumnView) -> str:
    parts = [column.type]
    if column.n_distinct is not None:
        parts.append(f"{column.n_distinct:,}{'+' if column.n_distinct == 10_000 else ''} different")
    if column.n_missing:
        parts.append(f"{column.n_missing:,} missing")
    return ", ".join(parts)
