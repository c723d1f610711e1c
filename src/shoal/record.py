"""What every result shares: a frozen value with JSON-safe words, which says whether it may leave the secure
environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, ClassVar

from markupsafe import escape

__all__ = ["Interval", "Record", "html_table"]

Interval = tuple[float, float]
_MOST_ROWS = 80


class Record:
    """The shared part of every result; subclasses are frozen dataclasses of plain values and other records.

    Attributes
    ----------
    releasable
        Whether the record may be released; False for what only the publisher may see.
    private
        Fields that `to_dict` omits: values of single records.
    derived
        Properties that `to_dict` adds to the fields.
    listed
        Fields of records, none of them about a single person, that a notebook shows as tables.
    """

    __slots__ = ()

    releasable: ClassVar[bool] = True
    private: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[tuple[str, ...]] = ()
    listed: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-safe words, nested records included."""
        fields = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        names = [name for name in fields if name not in self.private]
        return {name: _plain(getattr(self, name)) for name in (*names, *self.derived)}

    def _repr_html_(self) -> str:
        """The record as a notebook shows it: figures first, then its tables, then its parts, folded."""
        leaves = "" if self.releasable else " (internal)"
        first = [(name, _short(value)) for name, value in self._headlines().items()]
        tables = [_listing(name, rows) for name, rows in self._tables().items() if rows]
        parts = [_folded(name, value) for name, value in self._parts().items()]
        return "".join([html_table(f"{type(self).__name__}{leaves}", first), *tables, *parts])

    def _headlines(self) -> dict[str, Any]:
        """The figures that a notebook shows first: those without parts."""
        words = self.to_dict()
        return {name: value for name, value in words.items() if name not in self.listed and not _has_parts(value)}

    def _tables(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of records, by name."""
        words = self.to_dict()
        return {name: words[name] for name in self.listed}

    def _parts(self) -> dict[str, Any]:
        """Records within the record, by name."""
        return {name: value for name, value in self.to_dict().items() if name not in self.listed and _has_parts(value)}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):  # another record, a schema, a recipe
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def html_table(title: str, rows: Sequence[Sequence[Any]], head: Sequence[str] = ()) -> str:
    """A small table for notebooks; everything is escaped, and a long table says how many rows it leaves out."""
    shown = [*rows[:_MOST_ROWS], *([["…", f"{len(rows) - _MOST_ROWS} more"]] if len(rows) > _MOST_ROWS else [])]
    top = f"<thead>{_row(head, 'th')}</thead>" if head else ""
    body = "".join(_row(row, "td") for row in shown)
    return f"<table><caption>{escape(title)}</caption>{top}<tbody>{body}</tbody></table>"


def _has_parts(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value)


def _folded(name: str, words: Mapping[str, Any]) -> str:
    """A part that opens with a click: a row for each of its own parts where they are alike, else its figures."""
    return f"<details><summary>{escape(name)}</summary>{_part(name, words)}</details>"


def _part(name: str, words: Mapping[str, Any]) -> str:
    heads = {tuple(value) if isinstance(value, Mapping) else () for value in words.values()}
    if len(heads) == 1 and heads != {()}:
        return _listing(name, [{name: key, **value} for key, value in words.items()])
    return html_table(name, [*_flattened(words)])


def _listing(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Records as a table, without what has parts of its own: a step may hold a quantile, which is somebody's value."""
    head = [key for key, value in rows[0].items() if not isinstance(value, Mapping)]
    return html_table(name, [[_short(row[key]) for key in head] for row in rows], head)


def _row(cells: Sequence[Any], kind: str) -> str:
    return "<tr>" + "".join(f'<{kind} style="text-align:left">{escape(cell)}</{kind}>' for cell in cells) + "</tr>"


def _flattened(words: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Names and values, nested names with a dot. Lists may hold values of single records: their length is shown."""
    for name, value in words.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", _short(value)


def _short(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, list):
        numbers = len(value) == 2 and all(isinstance(end, int | float) for end in value)
        return f"{value[0]:.4g} to {value[1]:.4g}" if numbers else f"{len(value)} entries"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
