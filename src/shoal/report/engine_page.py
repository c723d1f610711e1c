"""The page of a release that an engine made: drawn from claims and aggregates of the released rows alone.

Nothing on it was computed from rows on one machine, and nothing but the claims compares with the original. Counts are
those of the released table; cells of fewer than k rows are merged as on the page of a release in memory, and the lowest
and highest bin of a number are open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.claim import Claim
from shoal.fact import Step
from shoal.report.decision import decision, expiry, recipient
from shoal.report.layout import shell
from shoal.report.markup import Child, Html, join, rows_table, section, tag
from shoal.report.numbers import count, percent, plural
from shoal.report.pieces import bullets
from shoal.report.sections import claims, parameters, provenance
from shoal.report.suppressed import suppression_section
from shoal.utility.suppressed import SuppressionLoss

__all__ = ["Aggregates", "Distribution", "merged", "render_aggregates"]

_TITLES = {
    "summary": "At a glance",
    "data": "Data",
    "recipient": "Recipient and use",
    "claims": "Claims and assumptions",
    "method": "Method",
    "parameters": "Parameters",
    "classes": "Classes of equal rows",
    "columns": "The released columns",
    "suppression": "What suppression took",
    "limits": "Known limits",
    "decision": "Who decides",
    "expiry": "Expiry",
    "provenance": "Provenance",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A released column: names of its cells and the rows in each; none of fewer than the limit but 0."""

    column: str
    cells: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregates:
    """What the page shows.

    Parameters
    ----------
    title, created, recipe, claims, notes, versions, hashes
        As on the page of a release in memory.
    n_rows, n_files
        Rows and files of the released table.
    columns
        Name, role and kind of each column of the schema, and whether it was released.
    method
        How it was made, a sentence for each step.
    classes
        Rows in classes of equal quasi-identifiers, by the size of the class; empty where there are no classes.
    distributions
        The released columns.
    limit
        Fewest rows that a cell on the page may count.
    unmeasured
        What was not measured, in words.
    suppression
        What was left out or blanked, by level: on the internal page only.
    """

    title: str
    created: str
    recipe: Mapping[str, Any]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    hashes: Mapping[str, str]
    n_rows: int
    n_files: int
    columns: tuple[tuple[str, str, str, bool], ...]
    method: tuple[str, ...]
    classes: tuple[tuple[str, int], ...]
    distributions: tuple[Distribution, ...]
    limit: int
    unmeasured: str
    steps: tuple[Step, ...] = field(default=())
    suppression: SuppressionLoss | None = None


def render_aggregates(shown: Aggregates, audience: str) -> str:
    """The page for one audience, external or internal."""
    parts = _sections(shown, audience == "internal")
    badge = "may accompany the released table" if audience == "external" else "must not leave the secure environment"
    return shell(
        shown.title,
        f"Made with Shoal on {shown.created}",
        {name: _TITLES[name] for name in parts},
        join(parts.values()),
        badge=f"{audience.capitalize()} report: {badge}",
        audience=audience,
        name=f"{shown.title} ({audience} report)",
    )


def merged(cells: Sequence[tuple[str, int]], limit: int, *, ordered: bool) -> tuple[tuple[str, int], ...]:
    """Cells without any of 1 to limit − 1 rows: ordered ones join a neighbour, others are put together unnamed.

    Examples
    --------
    >>> from shoal.report.engine_page import merged
    >>> merged([("a", 9), ("b", 2), ("c", 7)], 5, ordered=False)
    (('a', 9), ('others', 9))
    >>> merged([("under 10", 2), ("10 to <20", 9), ("20 or more", 9)], 5, ordered=True)
    (('under 10, 10 to <20', 11), ('20 or more', 9))
    """
    return _neighbours(list(cells), limit) if ordered else _others(list(cells), limit)


def _neighbours(cells: list[tuple[str, int]], limit: int) -> tuple[tuple[str, int], ...]:
    while len(cells) > 1:
        small = [i for i, (_, n) in enumerate(cells) if 0 < n < limit]
        if not small:
            break
        i = small[0] if small[0] + 1 < len(cells) else small[0] - 1
        (one, n), (other, m) = cells[i : i + 2]
        cells[i : i + 2] = [(f"{one}, {other}", n + m)]
    return tuple(cells) if all(n == 0 or n >= limit for _, n in cells) else ()


def _others(cells: list[tuple[str, int]], limit: int) -> tuple[tuple[str, int], ...]:
    by_size = sorted(cells, key=lambda cell: -cell[1])
    rest: list[tuple[str, int]] = []
    while by_size and (by_size[-1][1] < limit or 0 < sum(n for _, n in rest) < limit):
        rest.append(by_size.pop())
    n = sum(count for _, count in rest)
    if 0 < n < limit:
        return ()
    named = [cell for cell in cells if cell in by_size]
    return (*named, *([("others", n)] if n else []))


def _sections(shown: Aggregates, internal: bool) -> dict[str, Html]:
    given: Any = shown  # the sections that both pages have look at these fields alone
    found = {
        "summary": _summary(shown),
        "data": _data(shown),
        "recipient": recipient(),
        "claims": claims(given),
        "method": section("method", "Method", tag("ol", *(tag("li", step) for step in shown.method))),
        "parameters": parameters(given, internal=False),
        "classes": _classes(shown),
        "columns": _columns(shown),
        **({"suppression": suppression_section(shown.suppression)} if internal and shown.suppression else {}),
        "limits": _limits(shown),
        "decision": decision(),
        "expiry": expiry(),
        "provenance": provenance(given),
    }
    return {name: part for name, part in found.items() if name != "classes" or shown.classes}


def _summary(shown: Aggregates) -> Html:
    released = sum(1 for *_, out in shown.columns if out)
    size = f"{plural(shown.n_rows, 'row')} and {plural(released, 'column')} in {plural(shown.n_files, 'file')}"
    lines = [f"{claim.kind} {claim.limit():.4g}, {claim.basis}: {claim.statement}" for claim in shown.claims]
    words = f"The released table has {size}. It was made where the rows lie, without holding them together."
    return section(
        "summary", "At a glance", tag("p", words), bullets(lines), tag("p", f"Not measured: {shown.unmeasured}.")
    )


def _data(shown: Aggregates) -> Html:
    rows = [(name, role, kind or "–", "released" if out else "removed") for name, role, kind, out in shown.columns]
    words = "A person assigned a role to every column. Everything below rests on this list."
    table = rows_table("Columns and their roles", ("Column", "Role", "Kind", "What became of it"), rows, quiet=True)
    return section("data", "Data", tag("p", words), table)


def _classes(shown: Aggregates) -> Html:
    words = "Rows whose quasi-identifiers are written alike form a class. How many rows are in classes of each size:"
    return section("classes", "Classes of equal rows", tag("p", words), _shares("Size of the class", shown.classes))


def _columns(shown: Aggregates) -> Html:
    tables: list[Child] = []
    for found in shown.distributions:
        said = _shares("Value", found.cells) if found.cells else tag("p", "Too few rows of any value to be shown.")
        tables += [tag("h3", found.column), said]
    words = "Shares of the released rows, counted on the written files."
    return section("columns", "The released columns", tag("p", words), *tables)


def _shares(head: str, cells: Sequence[tuple[str, int]]) -> Html:
    total = max(1, sum(n for _, n in cells))
    rows = [(name, count(n), percent(n / total)) for name, n in cells]
    return rows_table(head, (head, "Rows", "Share"), rows, numeric=(1, 2), quiet=True)


def _limits(shown: Aggregates) -> Html:
    known = [
        "Everything rests on the list of quasi-identifiers: a column that an intruder can match on, and that is not on "
        "the list, is not protected.",
        f"This page was made from aggregates of the released rows. Not measured: {shown.unmeasured}.",
        f"No cell on this page counts 1 to {shown.limit - 1} rows: such cells are merged with others. The lowest and "
        "highest bin of a number are open.",
    ]
    return section("limits", "Known limits", bullets(known))
