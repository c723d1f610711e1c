"""Propose a schema for several tables: which holds the persons, what links the others to it, and the role of columns.

A key is a column without gaps or repeats. A column links to a key where every value of it is one of the key's. The
table of persons is the one that others link to, directly or through others, and that links to none; every other table
hangs on the one that lies deepest among those that it links to (a diagnosis on its visit, not on its patient). Roles
of columns come from `shoal.schema.infer`, with dates of events as times. As there, a person corrects it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import tomli_w

from shoal.errors import InputError
from shoal.frame import enter, series
from shoal.schema.column import Column
from shoal.schema.infer import Proposal, propose, words_in
from shoal.schema.schema import Schema, toml_comment
from shoal.schema.tables import LinkedSchema, LinkedTable, Summary

__all__ = ["LinkedProposal", "propose_linked"]

_HEADER = """\
# A proposed schema of linked tables. Check every line before you use it: a role that is wrong is protected wrongly.
#
#   key, parent, link   the column that tells rows apart, the table that rows belong to, the column that says to which
#   birth               a column of the persons: no event may lie before it
#   summaries           what persons are grouped on: count, first:DAY, last:DAY, gap:DAY, codes:CODE, sequence:CODE
#   role                identifier (never released), quasi and time (known to an intruder), sensitive (what must not be
#                       learnt), household (who lives together; persons only), weight, or other (released as it is)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedProposal:
    """A schema of linked tables, and what was proposed for each table by itself.

    Examples
    --------
    >>> import shoal
    >>> from shoal.schema.infer_linked import propose_linked
    >>> found = propose_linked(shoal.datasets.clinic(100, seed=1)).schema
    >>> found.persons.name, [(table.name, table.parent, table.link) for table in found.events]
    ('patients', [('visits', 'patients', 'patient'), ('prescriptions', 'visits', 'visit')])
    """

    schema: LinkedSchema
    proposals: Mapping[str, Proposal]

    def to_toml(self) -> str:
        """The schema as TOML text, with the reasons as comments."""
        return "\n".join([_HEADER, *(part for table in self.schema.tables for part in self._table(table))])

    def _table(self, table: LinkedTable) -> Iterator[str]:
        words = table.to_dict()
        columns, comments = words.pop("columns", {}), self.proposals[table.name].comments
        advised = "".join(map(toml_comment, self.proposals[table.name].advice))
        yield f"{advised}{tomli_w.dumps({'tables': {table.name: words}})}"
        for name, entry in columns.items():
            yield toml_comment(comments.get(name, "")) + tomli_w.dumps(
                {"tables": {table.name: {"columns": {name: entry}}}}
            )


def propose_linked(tables: Mapping[str, Any]) -> LinkedProposal:
    """Propose a schema for `tables`, any dataframes by name.

    Raises
    ------
    InputError
        No table of persons can be told, or a table links to no other: all such tables are named.
    """
    frames = {name: _frame(table) for name, table in tables.items()}
    links = {name: dict(_links(name, frames)) for name in frames}
    root = _root(links)
    depth = _depths(root, links)
    lost = [name for name in frames if name not in depth]
    if lost:
        rule = f"every table must link to the persons ('{root}') by a key; none was found of: {', '.join(lost)}"
        raise InputError("linked tables", rule, hint="Leave it out, or check its keys: an orphan breaks a link.")
    proposals = {name: propose(frame) for name, frame in frames.items()}
    made = [
        _table(name, root, links[name], depth, frames, proposals[name])
        for name in sorted(frames, key=lambda name: depth[name])
    ]
    return LinkedProposal(schema=LinkedSchema(tuple(made)), proposals=proposals)


def _frame(table: Any) -> pl.DataFrame:
    frame = enter(table)
    return pl.DataFrame([series(frame, name) for name in frame.columns])


def _keys(frame: pl.DataFrame) -> list[str]:
    """The columns that tell rows apart, those first whose name speaks of it; measures and dates are none."""
    unique = [
        c.name
        for c in frame
        if (c.dtype.is_integer() or c.dtype == pl.String) and not c.null_count() and c.n_unique() == len(c)
    ]
    return sorted(unique, key=lambda name: (not name.lower().rstrip("_").endswith("id"), frame.columns.index(name)))


def _links(name: str, frames: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, tuple[str, str]]]:
    """For each other table that it links to: its own column and the other's key, of the same type."""
    for other, frame in frames.items():
        for key in _keys(frame) if other != name else []:
            found = [c.name for c in frames[name] if _is_within(c, frame[key])]
            if found:
                yield other, (min(found, key=lambda column: _strangeness(column.lower(), other.lower(), key)), key)
                break


def _strangeness(column: str, table: str, key: str) -> tuple[bool, bool]:
    """How little a column's name speaks of a table and its key: least for a link."""
    return column != key.lower(), column not in table


def _is_within(column: pl.Series, key: pl.Series) -> bool:
    """Whether every value is one of the key's; small numbers are within any range of numbers, and say nothing."""
    if column.dtype != key.dtype or column.null_count() or not len(column):
        return False
    if column.dtype.is_integer() and column.name != key.name and column.n_unique() < 0.2 * len(key):
        return False
    return bool(column.is_in(key.implode()).all())


def _root(links: Mapping[str, Mapping[str, Any]]) -> str:
    """The table that the others link to and that links to none of them, or to the fewest."""
    pointed = {name: sum(name in own for own in links.values()) for name in links}
    best = max(links, key=lambda name: (pointed[name], -len(links[name])))
    if not pointed[best]:
        rule = "no table links to another: a key is a column without gaps or repeats, and links hold its values"
        raise InputError("linked tables", rule, hint="Check the keys, or write the schema by hand.")
    return best


def _depths(root: str, links: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """How far each table is from the persons, by its longest way; tables that can't reach them are left out."""
    depth = {root: 0}
    for _ in links:
        for name, own in links.items():
            above = [depth[other] for other in own if other in depth and other != name and name != root]
            if above and len(links) > max(above):
                depth[name] = max(above) + 1 if depth.get(name, 0) <= max(above) else depth[name]
    return depth


def _table(
    name: str,
    root: str,
    links: Mapping[str, tuple[str, str]],
    depth: Mapping[str, int],
    frames: Mapping[str, pl.DataFrame],
    proposal: Proposal,
) -> LinkedTable:
    above = [other for other in links if depth[other] < depth[name]]
    parent = max(above, key=lambda other: depth[other]) if name != root else None
    link = None if parent is None else links[parent][0]
    key = _own_key(name, frames, link)
    naming = {links[other][0] for other in above} - {link}
    columns = [
        _of_events(column, frames[name][column.name], naming) if parent is not None else _of_persons(column)
        for column in proposal.schema.columns
        if column.name not in (key, link)
    ]
    times = [column.name for column in columns if column.role == "time"]
    summaries = (Summary("count"), *(Summary(kind, times[0]) for kind in ("first", "last") if times))
    return LinkedTable(
        name=name,
        columns=Schema(tuple(columns)),
        key=key,
        parent=parent,
        link=link,
        birth=_birth(frames[name]) if parent is None else None,
        summaries=summaries if parent is not None else (),
    )


def _own_key(name: str, frames: Mapping[str, pl.DataFrame], link: str | None) -> str | None:
    """The key that others link to, else the first whose name speaks of one."""
    used = [found[name][1] for other in frames if other != name and name in (found := dict(_links(other, frames)))]
    own = [key for key in _keys(frames[name]) if key != link and key.lower().rstrip("_").endswith("id")]
    return next(iter([*used, *own]), None)


def _of_persons(column: Column) -> Column:
    """A person has one row here: what would tell persons apart elsewhere names one."""
    if "household" in words_in(column.name):
        return Column(name=column.name, role="household")
    return replace(column, role="identifier") if column.role == "unit" else column


def _of_events(column: Column, content: pl.Series, naming: set[str]) -> Column:
    """What names the person a second time goes; dates are times; nobody lives together in an event."""
    if column.name in naming or column.role in ("unit", "household"):
        return Column(name=column.name, role="identifier")
    if content.dtype in (pl.Date, pl.Datetime) and column.role in ("quasi", "other", "sensitive", "time"):
        return Column(name=column.name, role="time")
    return column


def _birth(frame: pl.DataFrame) -> str | None:
    dates = [c.name for c in frame if c.dtype in (pl.Date, pl.Datetime)]
    return next((name for name in dates if "birth" in name.lower() or name.lower() in ("born", "dob")), None)
