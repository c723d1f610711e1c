"""What each column is: its role, its kind, its public domain, and what to do where a value is missing.

Roles say what a column may do to a person: an `identifier` names one (and is never released), a `quasi` column can
be matched against outside knowledge (and is masked), a `sensitive` one is what must not be learnt, `weight` is a
survey weight, `unit` says which rows belong to one person, `household` which persons live together, `time` when
something happened to a person, `other` is published as it is. Where no column says whose rows are whose, `repeats` says
whether rows that are equal are the same person's or different people's. Identifier, unit and household are removed; the
first two may be released under a keyed pseudonym instead, where the schema says so. Kinds say how values compare:
`numeric`, `ordinal` (levels with an order) or `nominal` (levels without).
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal, get_args

import tomli_w

from shoal.errors import FileError, SchemaError
from shoal.files import write_text
from shoal.record import html_table
from shoal.schema.column import Absence, Column, Level, Missing, Words
from shoal.schema.constraint import Rule

__all__ = ["EQUAL_ROWS", "REPEATS", "Repeated", "Schema", "toml_comment", "with_hierarchy_files"]

Repeated = Literal["same person", "different people"]
REPEATS: tuple[Repeated, ...] = get_args(Repeated)
"""What rows that are equal in all but identifiers and weight may be declared to be."""

EQUAL_ROWS = "rows that are equal"
"""The unit of a table whose equal rows are the same person's: made for a run, and dropped from every release."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table, each with its role. Build it with `of`, `infer` or `read`.

    Examples
    --------
    >>> import shoal
    >>> schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["cost"], kinds={"sex": "nominal"})
    >>> schema.quasi
    ('age', 'sex')
    >>> schema["sex"].kind
    'nominal'
    """

    columns: tuple[Column, ...]
    rules: tuple[Rule, ...] = ()
    repeats: Repeated | None = None

    def __post_init__(self) -> None:
        self._check_repeats()
        names = [column.name for column in self.columns]
        repeated = sorted(name for name, n in Counter(names).items() if n > 1)
        if repeated:
            raise SchemaError("schema", f"column '{repeated[0]}' must have exactly one role")
        for role in ("weight", "unit", "household"):
            if len(self._having(role)) > 1:
                raise SchemaError("schema", f"at most one column may have the role {role}")
        for rule in self.rules:
            for name in rule.columns:
                if name not in names:
                    raise SchemaError("rules", f"refer to the column '{name}', which is not in the schema")

    def _check_repeats(self) -> None:
        if self.repeats is None:
            return
        if self.repeats not in REPEATS:
            rule = f"repeats must be {' or '.join(map(repr, REPEATS))}"
            raise SchemaError("schema", rule, got=repr(self.repeats)[:40])
        if self._having("unit"):
            raise SchemaError("schema", "repeats must be left out where a unit says whose rows are whose")

    def _repr_html_(self) -> str:
        """The schema as a notebook shows it: a row for each column."""
        rows = [(c.name, c.role, c.kind or "not settled", str(c.missing)) for c in self.columns]
        return html_table(f"Schema, {len(rows)} columns", rows, ("column", "role", "kind", "missing"))

    @classmethod
    def of(
        cls,
        *,
        identifier: Iterable[str] = (),
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        weight: str | None = None,
        unit: str | None = None,
        household: str | None = None,
        pseudonym: Iterable[str] = (),
        time: Iterable[str] = (),
        other: Iterable[str] = (),
        kinds: Mapping[str, str] | None = None,
        levels: Mapping[str, Sequence[Level]] | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        missing: Mapping[str, Missing] | None = None,
        missing_codes: Mapping[str, Mapping[Level, str]] | None = None,
        absence: Mapping[str, Absence] | None = None,
        edges: Mapping[str, Sequence[float]] | None = None,
        whole: Mapping[str, bool] | None = None,
        steps: Mapping[str, float] | None = None,
        derived: Mapping[str, Sequence[str] | str] | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        formats: Mapping[str, str] | None = None,
        rules: Iterable[Words | Rule] = (),
        repeats: Repeated | None = None,
    ) -> Schema:
        """Declare a schema in one call: role by role, then what is known of single columns, then rules.

        Hierarchies and metrics are given as words or as values with `to_dict`, metrics also as a bare kind. A column of
        `pseudonym` may be the unit too. `repeats` says of rows that are equal in all but identifiers and weight whether
        they are the ``"same person"``, and count once, or ``"different people"``.
        """
        roles = {
            "identifier": _names(identifier),
            "quasi": _names(quasi),
            "sensitive": _names(sensitive),
            "weight": _names(weight),
            "unit": _names(unit),
            "household": _names(household),
            "time": _names(time),
            "other": _names(other),
        }
        entries: dict[str, dict[str, Any]] = {}
        for role, names in roles.items():
            for name in names:
                if name in entries:
                    raise SchemaError("schema", f"column '{name}' must have exactly one role")
                entries[name] = {"role": role}
        for name in _names(pseudonym):
            entries.setdefault(name, {"role": "identifier"})["pseudonym"] = True
        details = {
            "kind": kinds,
            "levels": levels,
            "bounds": bounds,
            "missing": missing,
            "missing_codes": missing_codes,
            "absence": absence,
            "edges": edges,
            "whole": whole,
            "step": steps,
            "derived": derived,
            "hierarchy": hierarchies,
            "metric": metrics,
            "format": formats,
        }
        for entry, given in details.items():
            for name, value in (given or {}).items():
                if name not in entries:
                    raise SchemaError("schema", f"column '{name}' is given a {entry} but no role")
                entries[name][entry] = value
        columns = tuple(Column.from_dict(name, words) for name, words in entries.items())
        _check_derived(columns)
        read = tuple(rule if isinstance(rule, Rule) else Rule.from_dict(rule) for rule in rules)
        return cls(columns, read, repeats)

    @classmethod
    def infer(cls, table: Any, codebook: Any = None) -> Schema:
        """Propose a schema for `table`, for a person to correct; it is never used silently.

        `codebook` is a file that says what the columns hold (see `shoal.files.codebook`), or texts by column.
        """
        from shoal.schema.infer import propose

        return propose(table, codebook=codebook).schema

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a TOML file."""
        from shoal.schema.tables import read_schema

        found = read_schema(path)
        if not isinstance(found, Schema):
            raise SchemaError(
                str(path),
                "describes linked tables, and one table is wanted here",
                hint="Linked tables can be released by `shoal anonymize` and `shoal coarsen`.",
            )
        return found

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Schema:
        """Read a schema from the words of `to_dict`."""
        columns = words.get("columns") if isinstance(words, Mapping) else None
        if (
            not isinstance(columns, Mapping)
            or not set(words) <= {"columns", "rules", "repeats"}
            or not all(isinstance(entry, Mapping) for entry in columns.values())
        ):
            raise SchemaError(
                "schema",
                "must have a table [columns.NAME] for every column, optional [[rules]] and repeats, and nothing else",
            )
        rules = words.get("rules", [])
        if not isinstance(rules, list | tuple) or not all(isinstance(rule, Mapping) for rule in rules):
            raise SchemaError("rules", "must be written as [[rules]], one table for each")
        read = tuple(Column.from_dict(name, entry) for name, entry in columns.items())
        _check_derived(read)
        return cls(read, tuple(Rule.from_dict(rule) for rule in rules), words.get("repeats"))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as a TOML file (whole or not at all)."""
        write_text(path, self.to_toml())

    def to_dict(self) -> dict[str, Any]:
        """The schema as TOML- and JSON-safe words."""
        words: dict[str, Any] = {} if self.repeats is None else {"repeats": self.repeats}
        words |= {"columns": {column.name: column.to_dict() for column in self.columns}}
        return words | ({"rules": [rule.to_dict() for rule in self.rules]} if self.rules else {})

    def to_toml(self, comments: Mapping[str, str] | None = None) -> str:
        """The schema as TOML text, with a comment above each column that `comments` names."""
        parts = [_toml_column(column, (comments or {}).get(column.name, "")) for column in self.columns]
        first = [] if self.repeats is None else [tomli_w.dumps({"repeats": self.repeats})]
        return "\n".join([*first, *parts, *map(_toml_rule, self.rules)])

    def fingerprint(self) -> str:
        """SHA-256 of what the schema says, whatever the order of its entries in the file."""
        words = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(words.encode()).hexdigest()

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError("schema", f"has no column '{name}'")

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    @property
    def identifier(self) -> tuple[str, ...]:
        """Names of the identifying columns."""
        return self._having("identifier")

    @property
    def quasi(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return self._having("quasi")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive columns."""
        return self._having("sensitive")

    @property
    def time(self) -> tuple[str, ...]:
        """Names of the columns that say when something happened to a person."""
        return self._having("time")

    @property
    def other(self) -> tuple[str, ...]:
        """Names of the columns published as they are."""
        return self._having("other")

    @property
    def weight(self) -> str | None:
        """Name of the survey weight, if there is one."""
        return next(iter(self._having("weight")), None)

    @property
    def unit(self) -> str | None:
        """Name of the column that says which rows belong to one person, if there is one."""
        return next(iter(self._having("unit")), None)

    @property
    def household(self) -> str | None:
        """Name of the column that says which persons live together, if there is one."""
        return next(iter(self._having("household")), None)

    @property
    def declared(self) -> tuple[Column, ...]:
        """The columns that the table came with: without a unit that was made for a run."""
        return tuple(column for column in self.columns if column.name != EQUAL_ROWS)

    @property
    def counts_persons(self) -> bool:
        """Whether it says whose rows are whose: by a unit, or as equal rows are the same person's."""
        return self.unit is not None or self.repeats == "same person"

    @property
    def pseudonym(self) -> dict[str, str]:
        """What each column that is released under a pseudonym names: by itself, its own name."""
        return {c.name: c.pseudonym if isinstance(c.pseudonym, str) else c.name for c in self.columns if c.pseudonym}

    @property
    def formats(self) -> dict[str, str]:
        """The columns that declare how their dates or times are written, each with that form."""
        return {column.name: column.format for column in self.columns if column.format is not None}

    @property
    def coded(self) -> dict[str, tuple[Level, ...]]:
        """The columns that declare codes for an absence, each with these."""
        return {column.name: tuple(column.missing_codes) for column in self.columns if column.missing_codes}

    @property
    def released(self) -> Schema:
        """The schema of the released table: without the columns that name somebody, but under a pseudonym."""
        kept = tuple(c for c in self.columns if not c.is_removed)
        names = {column.name for column in kept}
        return Schema(kept, tuple(rule for rule in self.rules if names.issuperset(rule.columns)))

    def with_columns(self, columns: Iterable[Column]) -> Schema:
        """A schema in which each of `columns` stands in the place of the one of the same name."""
        new = {column.name: column for column in columns}
        return replace(self, columns=tuple(new.get(column.name, column) for column in self.columns))

    def _having(self, role: str) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.role == role)


def _check_derived(columns: Sequence[Column]) -> None:
    """Whatever a column follows from must be there, and follow from nothing itself."""
    plain = {column.name for column in columns if not column.derived}
    for column in columns:
        wrong = [name for name in column.derived or () if name not in plain]
        if wrong:
            rule = f"column '{column.name}' must follow from columns of the schema that follow from no others"
            raise SchemaError("schema", rule, got=f"'{wrong[0]}'")


def _names(given: Iterable[str] | str | None) -> list[str]:
    if given is None:
        return []
    if not isinstance(given, Iterable):
        raise SchemaError("schema", "column names must be a string or a list of strings", got=type(given).__name__)
    return [given] if isinstance(given, str) else list(given)


def _toml_rule(rule: Rule) -> str:
    return tomli_w.dumps({"rules": [rule.to_dict()]})


def with_hierarchy_files(words: Any, folder: Path) -> Any:
    """Entries that name a `file` get its rows instead, so that the schema is whole in itself."""
    if isinstance(words, Mapping) and isinstance(words.get("file"), str) and "kind" in words:
        rest = {name: value for name, value in words.items() if name != "file"}
        return rest | {"rows": _rows(folder / words["file"])}
    if isinstance(words, Mapping):
        return {name: with_hierarchy_files(value, folder) for name, value in words.items()}
    return words


def _rows(path: Path) -> list[list[str]]:
    """The rows of a small delimited file, each cell as text; comma, semicolon or tab."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(str(path), "must be a readable UTF-8 text file", got=getattr(error, "strerror", "")) from None
    first = text.split("\n", 1)[0]
    delimiter = max(";\t,", key=first.count)
    return [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if row]


def toml_comment(text: str) -> str:
    """A text as comment lines of a width that screens show, without signs that TOML forbids there."""
    said = ("".join(sign if sign.isprintable() else " " for sign in line) for line in text.splitlines())
    lines = [part for line in said for part in wrap(line, 110, break_long_words=False)]
    return "".join(f"# {line}\n" for line in lines)


def _toml_column(column: Column, comment: str) -> str:
    return toml_comment(comment) + tomli_w.dumps({"columns": {column.name: column.to_dict()}})
