"""What each column is: its role, its kind, its public domain, and what to do where a value is missing.

Roles say what a column may do to a person: an `identifier` names one (and is never released), a `quasi` column can
be matched against outside knowledge (and is masked), a `sensitive` one is what must not be learnt, `weight` is a
survey weight, `unit` says which rows belong to one person, `other` is published as it is. Kinds say how values
compare: `numeric`, `ordinal` (levels with an order) or `nominal` (levels without).
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from shoal.errors import FileError, SchemaError
from shoal.rule import Rule

__all__ = ["Column", "Kind", "Level", "Missing", "Role", "Schema"]

Role = Literal["identifier", "quasi", "sensitive", "weight", "unit", "other"]
Kind = Literal["numeric", "ordinal", "nominal"]
Missing: TypeAlias = Literal["error", "drop", "median"] | float
Level: TypeAlias = str | int | float | bool
Words: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: role, kind and public domain.

    Parameters
    ----------
    name, role
        Which column it is and what it may do to a person.
    kind
        How its values compare; None means: to be told from the table's type.
    levels
        The public list of levels of an ordinal (in their order) or nominal column. None: those that occur.
    bounds
        The public range of a numeric column. None: not declared.
    missing
        What to do with a missing number: ``"error"``, ``"drop"`` the row, ``"median"``, or a number to put in its
        place. A missing category is always a level of its own.
    edges
        The public edges of the bins of a numeric column, for synthesis: increasing, within the bounds.
    whole
        Whether a numeric column holds whole numbers, as public knowledge. None: yes if bounds and edges are whole.
    hierarchy
        How the column is coarsened step by step, in the words of `shoal.coarsening.Hierarchy`.
    metric
        How far apart two values are, in the words of `shoal.metric.Metric`.
    """

    name: str
    role: Role
    kind: Kind | None = None
    levels: tuple[Level, ...] | None = None
    bounds: tuple[float, float] | None = None
    missing: Missing = "error"
    edges: tuple[float, ...] | None = None
    whole: bool | None = None
    hierarchy: Words | None = None
    metric: Words | None = None

    def __post_init__(self) -> None:
        self._check_name()
        self._check_words()
        self._check_domain()
        self._check_details()

    def _check_name(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError("schema", "column names must be non-empty texts", got=type(self.name).__name__)
        if any("\ud800" <= letter <= "\udfff" for letter in self.name):
            raise SchemaError("schema", "column names must be valid Unicode text")

    def _check_words(self) -> None:
        if self.role not in get_args(Role):
            raise _wrong(self.name, f"role must be one of {', '.join(get_args(Role))}", repr(self.role))
        if self.kind is not None and self.kind not in get_args(Kind):
            raise _wrong(self.name, f"kind must be one of {', '.join(get_args(Kind))}", repr(self.kind))
        if self.missing not in ("error", "drop", "median") and not _is_number(self.missing):
            raise _wrong(self.name, "missing must be 'error', 'drop', 'median' or a number", repr(self.missing)[:40])

    def _check_domain(self) -> None:
        if self.levels is not None and self.kind == "numeric":
            raise _wrong(self.name, "levels belong to ordinal and nominal columns, not to a numeric one")
        if self.levels is not None and not all(isinstance(level, str | int | float | bool) for level in self.levels):
            raise _wrong(self.name, "levels must be texts, numbers or true/false")
        if self.levels is not None and len(set(self.levels)) < max(1, len(self.levels)):
            raise _wrong(self.name, "levels must be distinct, and at least one")
        if self.levels is not None and self.bounds is not None:
            raise _wrong(self.name, "may have levels or bounds, not both")
        if self.bounds is not None and self.kind in ("ordinal", "nominal"):
            raise _wrong(self.name, f"bounds belong to numeric columns, not to a {self.kind} one")
        if self.bounds is not None and not (all(map(_is_number, self.bounds)) and self.bounds[0] < self.bounds[1]):
            raise _wrong(self.name, "bounds must be a lower and a higher number")

    def _check_details(self) -> None:
        if self.edges is not None and (
            self.kind in ("ordinal", "nominal")
            or len(self.edges) < 2
            or not all(map(_is_number, self.edges))
            or any(low >= high for low, high in pairwise(self.edges))
        ):
            raise _wrong(self.name, "edges belong to numeric columns and must be at least two increasing numbers")
        if self.whole is not None and (not isinstance(self.whole, bool) or self.kind in ("ordinal", "nominal")):
            raise _wrong(self.name, "whole belongs to numeric columns and must be true or false")
        for entry in ("hierarchy", "metric"):
            words = getattr(self, entry)
            if words is not None and not (isinstance(words, Mapping) and isinstance(words.get("kind"), str)):
                raise _wrong(self.name, f"{entry} must be a table that names its kind")

    def to_dict(self) -> dict[str, Any]:
        """The declared parts only, as TOML- and JSON-safe words."""
        words: dict[str, Any] = {"role": self.role}
        if self.kind:
            words["kind"] = self.kind
        if self.levels is not None:
            words["levels"] = list(self.levels)
        if self.bounds is not None:
            words["bounds"] = [float(end) for end in self.bounds]
        if self.missing != "error":
            words["missing"] = self.missing
        if self.edges is not None:
            words["edges"] = [float(edge) for edge in self.edges]
        if self.whole is not None:
            words["whole"] = self.whole
        for entry in ("hierarchy", "metric"):
            if getattr(self, entry) is not None:
                words[entry] = dict(getattr(self, entry))
        return words

    @classmethod
    def from_dict(cls, name: str, words: Mapping[str, Any]) -> Column:
        """Read one column from its words; unknown words are an error that names them."""
        unknown = set(words) - _ENTRIES
        if unknown:
            raise _wrong(name, f"unknown entry {', '.join(sorted(unknown))}")
        if "role" not in words:
            raise _wrong(name, f"role must be given: one of {', '.join(get_args(Role))}")
        levels, bounds, edges = words.get("levels"), words.get("bounds"), words.get("edges")
        return cls(
            name=name,
            role=words["role"],
            kind=words.get("kind"),
            levels=None if levels is None else tuple(_listed(name, "levels", levels)),
            bounds=None if bounds is None else _pair(name, bounds),
            missing=words.get("missing", "error"),
            edges=None if edges is None else tuple(_listed(name, "edges", edges)),
            whole=words.get("whole"),
            hierarchy=_spelled(words.get("hierarchy")),
            metric=_spelled(words.get("metric")),
        )


_ENTRIES = {"role", "kind", "levels", "bounds", "missing", "edges", "whole", "hierarchy", "metric"}


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

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise SchemaError("schema", f"column '{repeated[0]}' must have exactly one role")
        for role in ("weight", "unit"):
            if len(self._having(role)) > 1:
                raise SchemaError("schema", f"at most one column may have the role {role}")
        for rule in self.rules:
            for name in rule.columns:
                if name not in names:
                    raise SchemaError("rules", f"speak of the column '{name}', which the schema doesn't have")

    @classmethod
    def of(
        cls,
        *,
        identifier: Iterable[str] = (),
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        weight: str | None = None,
        unit: str | None = None,
        other: Iterable[str] = (),
        kinds: Mapping[str, str] | None = None,
        levels: Mapping[str, Sequence[Level]] | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        missing: Mapping[str, Missing] | None = None,
        edges: Mapping[str, Sequence[float]] | None = None,
        whole: Mapping[str, bool] | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        rules: Iterable[Words | Rule] = (),
    ) -> Schema:
        """Declare a schema in one call: role by role, then what is known of single columns, then rules.

        Hierarchies and metrics are given as words or as values with `to_dict`, metrics also as a bare kind.
        """
        roles = {
            "identifier": _names(identifier),
            "quasi": _names(quasi),
            "sensitive": _names(sensitive),
            "weight": _names(weight),
            "unit": _names(unit),
            "other": _names(other),
        }
        entries: dict[str, dict[str, Any]] = {}
        for role, names in roles.items():
            for name in names:
                if name in entries:
                    raise SchemaError("schema", f"column '{name}' must have exactly one role")
                entries[name] = {"role": role}
        details = {
            "kind": kinds,
            "levels": levels,
            "bounds": bounds,
            "missing": missing,
            "edges": edges,
            "whole": whole,
            "hierarchy": hierarchies,
            "metric": metrics,
        }
        for entry, given in details.items():
            for name, value in (given or {}).items():
                if name not in entries:
                    raise SchemaError("schema", f"column '{name}' is given a {entry} but no role")
                entries[name][entry] = value
        columns = tuple(Column.from_dict(name, words) for name, words in entries.items())
        return cls(columns, tuple(rule if isinstance(rule, Rule) else Rule.from_dict(rule) for rule in rules))

    @classmethod
    def infer(cls, table: Any) -> Schema:
        """Propose a schema for `table`, for a person to correct; it is never used silently."""
        from shoal.proposal import propose

        return propose(table).schema

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a TOML file."""
        try:
            words = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise FileError(str(path), "schema file must be readable", got=error.strerror or "") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SchemaError(str(path), f"must be a TOML file ({error})") from None
        try:
            return cls.from_dict(_with_tables(words, Path(path).parent))
        except SchemaError as error:
            raise SchemaError(f"{path}, {error.owner}", error.rule, got=error.got, hint=error.hint) from None

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Schema:
        """Read a schema from the words of `to_dict`."""
        columns = words.get("columns") if isinstance(words, Mapping) else None
        if (
            not isinstance(columns, Mapping)
            or not set(words) <= {"columns", "rules"}
            or not all(isinstance(entry, Mapping) for entry in columns.values())
        ):
            raise SchemaError(
                "schema", "must have a table [columns.NAME] for every column, [[rules]] if there are any, nothing else"
            )
        rules = words.get("rules", [])
        if not isinstance(rules, list | tuple) or not all(isinstance(rule, Mapping) for rule in rules):
            raise SchemaError("rules", "must be written as [[rules]], one table for each")
        return cls(
            tuple(Column.from_dict(name, entry) for name, entry in columns.items()),
            tuple(Rule.from_dict(rule) for rule in rules),
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as a TOML file (whole or not at all)."""
        from shoal.files import write_text

        write_text(path, self.to_toml())

    def to_dict(self) -> dict[str, Any]:
        """The schema as TOML- and JSON-safe words."""
        words: dict[str, Any] = {"columns": {column.name: column.to_dict() for column in self.columns}}
        return words | ({"rules": [rule.to_dict() for rule in self.rules]} if self.rules else {})

    def to_toml(self, comments: Mapping[str, str] | None = None) -> str:
        """The schema as TOML text, with a comment above each column that `comments` names."""
        parts = [_toml_column(column, (comments or {}).get(column.name, "")) for column in self.columns]
        return "\n".join([*parts, *map(_toml_rule, self.rules)])

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
    def released(self) -> Schema:
        """The schema of the released table: without identifiers and without the unit."""
        kept = tuple(c for c in self.columns if c.role not in ("identifier", "unit"))
        names = {column.name for column in kept}
        return Schema(kept, tuple(rule for rule in self.rules if names.issuperset(rule.columns)))

    def with_columns(self, columns: Iterable[Column]) -> Schema:
        """A schema in which each of `columns` stands in the place of the one of the same name."""
        new = {column.name: column for column in columns}
        return replace(self, columns=tuple(new.get(column.name, column) for column in self.columns))

    def _having(self, role: str) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.role == role)


def _names(given: Iterable[str] | str | None) -> list[str]:
    if given is None:
        return []
    if not isinstance(given, Iterable):
        raise SchemaError("schema", "column names must be a text or a list of texts", got=type(given).__name__)
    return [given] if isinstance(given, str) else list(given)


def _listed(name: str, entry: str, given: Any) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _wrong(name, f"{entry} must be a list")
    return list(given)


def _pair(name: str, given: Any) -> tuple[float, float]:
    ends = _listed(name, "bounds", given)
    if len(ends) != 2 or not all(map(_is_number, ends)):
        raise _wrong(name, "bounds must be a lower and a higher number")
    return float(ends[0]), float(ends[1])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _wrong(name: str, rule: str, got: str = "") -> SchemaError:
    return SchemaError(f"schema, column '{name}'", rule, got=got)


def _toml_rule(rule: Rule) -> str:
    import tomli_w

    return tomli_w.dumps({"rules": [rule.to_dict()]})


def _spelled(given: Any) -> Any:
    """A hierarchy or metric in words: a value gives its own, a bare text is a kind."""
    if isinstance(given, str):
        return {"kind": given}
    return given.to_dict() if hasattr(given, "to_dict") else given


def _with_tables(words: Any, folder: Path) -> Any:
    """Entries that name a `file` get its rows instead, so that the schema is whole in itself."""
    if isinstance(words, Mapping) and isinstance(words.get("file"), str) and "kind" in words:
        rest = {name: value for name, value in words.items() if name != "file"}
        return rest | {"rows": _rows(folder / words["file"])}
    if isinstance(words, Mapping):
        return {name: _with_tables(value, folder) for name, value in words.items()}
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


def _toml_column(column: Column, comment: str) -> str:
    import tomli_w

    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + tomli_w.dumps({"columns": {column.name: column.to_dict()}})
