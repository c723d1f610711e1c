"""One column of a schema: its role, its kind, its public domain, and what to do where a value is missing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

from shoal.errors import SchemaError
from shoal.files.column_types import DURATIONS, FORMS
from shoal.value import Level, text_of

__all__ = ["NAMING", "Absence", "Column", "Kind", "Level", "Missing", "Role"]

Role = Literal["identifier", "quasi", "sensitive", "weight", "unit", "household", "time", "other"]
Kind = Literal["numeric", "ordinal", "nominal"]
NAMING: tuple[Role, ...] = ("identifier", "unit", "household")
"""Roles of columns that name somebody: no release has them, but under a pseudonym."""
Missing: TypeAlias = Literal["error", "drop", "median", "level"] | float
Absence = Literal["unknown", "not applicable", "both"]
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
        What to do with a missing number: ``"error"``, ``"drop"`` the row, ``"median"``, a number to put in its
        place, or ``"level"``: it stays missing, a level of its own beside the numbers. A missing category always is.
    missing_codes
        Values that stand for an absence, each with its meaning: ``{-8: "not applicable", -9: "unknown"}``. With
        ``missing = "error"`` or ``"level"`` each stays a level of its own, written as it came; otherwise it is a
        missing number like any other.
    absence
        What an empty cell means, for the report: ``"unknown"``, ``"not applicable"`` or ``"both"``. None: not said.
    edges
        The public edges of the bins of a numeric column, for synthesis: increasing, within the bounds.
    whole
        Whether a numeric column holds whole numbers, as public knowledge. None: yes if bounds and edges are whole.
    step
        What the numbers of the column are multiples of, as public knowledge: 5 for ages in steps of five years.
    derived
        The columns that this one follows from: an age group from the age. It is then computed again from what is
        released of them, coarsened along with them, or left out (`shoal.recipe.derived`).
    hierarchy
        How the column is coarsened step by step, in the words of `shoal.coarsening.Hierarchy`.
    metric
        How far apart two values are, in the words of `shoal.distance.Metric`.
    pseudonym
        Whether an identifier or the unit is released under a keyed pseudonym (`shoal.pseudonym`) instead of
        being removed; a text says what it names, where columns of several tables name the same.
    format
        How the file writes the dates or times of the column, ``"DD.MM.YYYY"``: see
        `shoal.files.column_types`. None: as ISO has it, or the column holds none. With missing codes beside it, each
        of these is a level of its own, after all dates, and the column is written as texts.
    """

    name: str
    role: Role
    kind: Kind | None = None
    levels: tuple[Level, ...] | None = None
    bounds: tuple[float, float] | None = None
    missing: Missing = "error"
    missing_codes: Mapping[Level, str] | None = None
    absence: Absence | None = None
    edges: tuple[float, ...] | None = None
    whole: bool | None = None
    step: float | None = None
    derived: tuple[str, ...] | None = None
    hierarchy: Words | None = None
    metric: Words | None = None
    pseudonym: bool | str = False
    format: str | None = None

    def __post_init__(self) -> None:
        self._check_name()
        self._check_words()
        self._check_domain()
        self._check_details()

    def __repr__(self) -> str:
        """Name, role, and whatever else was said of the column."""
        said = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Column({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in said)})"

    def _check_name(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError("schema", "column names must be non-empty strings", got=type(self.name).__name__)
        if any("\ud800" <= letter <= "\udfff" for letter in self.name):
            raise SchemaError("schema", "column names must be valid Unicode text")

    def _check_words(self) -> None:
        if self.role not in get_args(Role):
            raise _wrong(self.name, f"role must be one of {', '.join(get_args(Role))}", repr(self.role))
        if self.kind is not None and self.kind not in get_args(Kind):
            raise _wrong(self.name, f"kind must be one of {', '.join(get_args(Kind))}", repr(self.kind))
        if self.missing not in ("error", "drop", "median", "level") and not _is_number(self.missing):
            rule = "missing must be 'error', 'drop', 'median', 'level' or a number"
            raise _wrong(self.name, rule, repr(self.missing)[:40])
        if self.absence is not None and self.absence not in get_args(Absence):
            raise _wrong(self.name, f"absence must be one of {', '.join(get_args(Absence))}", repr(self.absence)[:40])
        self._check_codes()

    def _check_codes(self) -> None:
        codes = self.missing_codes
        if codes is None:
            return
        meant = isinstance(codes, Mapping) and all(isinstance(m, str) and m.strip() for m in codes.values())
        if not codes or not meant or not all(isinstance(code, str | int | float) for code in codes):
            raise _wrong(self.name, "missing_codes must give each value a meaning, a text")
        if len({text_of(code) for code in codes}) < len(codes):
            raise _wrong(self.name, "missing_codes must be distinct")
        if self.levels is not None and {text_of(level) for level in self.levels} & {text_of(code) for code in codes}:
            raise _wrong(self.name, "missing_codes must be none of the levels", hint="Take them out of the levels.")

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
        if self.step is not None and (
            self.kind in ("ordinal", "nominal") or not (_is_number(self.step) and self.step > 0)
        ):
            raise _wrong(self.name, "step belongs to numeric columns and must be a number above 0")
        self._check_format()
        if self.derived is not None and (not self.derived or self.name in self.derived or self.role in NAMING):
            raise _wrong(self.name, "derived must name the other columns that a released column follows from")
        if not isinstance(self.pseudonym, bool | str) or self.pseudonym == "":
            raise _wrong(self.name, "pseudonym must be true, false, or a text that says what the column names")
        if self.pseudonym and self.role not in ("identifier", "unit"):
            raise _wrong(self.name, "pseudonym belongs to a column of the role identifier or unit", repr(self.role))
        for entry in ("hierarchy", "metric"):
            words = getattr(self, entry)
            if words is not None and not (isinstance(words, Mapping) and isinstance(words.get("kind"), str)):
                raise _wrong(self.name, f"{entry} must be a table that names its kind")

    def _check_format(self) -> None:
        if self.format is None:
            return
        if self.format not in {*FORMS, *DURATIONS}:
            rule = f"format must be one of {', '.join((*FORMS, *DURATIONS))}"
            raise _wrong(self.name, rule, repr(self.format)[:40])
        if self.kind == "numeric" and self.format in FORMS:
            raise _wrong(self.name, "format belongs to dates and times, which are ordinal, not numeric")

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
        if self.missing_codes:
            words["missing_codes"] = {text_of(code): meaning for code, meaning in self.missing_codes.items()}
        if self.derived is not None:
            words["derived"] = list(self.derived)
        if self.edges is not None:
            words["edges"] = [float(edge) for edge in self.edges]
        plain = {name: getattr(self, name) for name in ("absence", "whole", "step", "format")}
        tables = {name: getattr(self, name) for name in ("hierarchy", "metric")}
        words |= {name: value for name, value in plain.items() if value is not None}
        words |= {name: dict(value) for name, value in tables.items() if value is not None}
        return words | ({"pseudonym": self.pseudonym} if self.pseudonym else {})

    @property
    def keeps_absence(self) -> bool:
        """Whether a number may be absent, and an absence is a level of its own: a number or a reason."""
        return self.kind == "numeric" and (
            self.missing == "level" or (self.missing == "error" and bool(self.missing_codes))
        )

    @property
    def reasons(self) -> dict[float, Level]:
        """The numbers that stand for an absence in a prepared table, and how each is written.

        A code that is a number stands for itself; a text has a number far below all others.
        """
        if self.kind != "numeric":
            return {}
        codes = self.missing_codes or {}
        return {_number_of(code, place): code for place, code in enumerate(codes)}

    @property
    def is_removed(self) -> bool:
        """Whether no release has the column: it names somebody, and under no pseudonym."""
        return self.role in NAMING and not self.pseudonym

    @property
    def date_codes(self) -> tuple[Level, ...]:
        """The values of a column of dates or times that stand for an absence, and are none of its dates."""
        return tuple(self.missing_codes or ()) if self.format in FORMS and self.levels is None else ()

    @property
    def absences(self) -> tuple[Level, ...]:
        """The values of a category that stand for an absence: no place among its levels is theirs."""
        return () if self.kind == "numeric" else tuple(self.missing_codes or ())

    @property
    def every_level(self) -> tuple[Level, ...]:
        """What its cells may hold: the declared levels, then the values that stand for an absence."""
        return (*(self.levels or ()), *self.absences)

    @classmethod
    def from_dict(cls, name: str, words: Mapping[str, Any]) -> Column:
        """Read one column from its words; unknown words are an error that names them.

        The role ``pseudonym`` is short for an identifier that is released under a pseudonym.
        """
        unknown = set(words) - _ENTRIES
        if unknown:
            raise _wrong(name, f"unknown entry {', '.join(sorted(unknown))}")
        if words.get("role") == "pseudonym":
            words = {"pseudonym": True, **words, "role": "identifier"}
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
            missing_codes=_codes(words.get("missing_codes")),
            absence=words.get("absence"),
            edges=None if edges is None else tuple(_listed(name, "edges", edges)),
            whole=words.get("whole"),
            step=words.get("step"),
            derived=_sources(name, words.get("derived")),
            hierarchy=_spelled(words.get("hierarchy")),
            metric=_spelled(words.get("metric")),
            pseudonym=words.get("pseudonym", False),
            format=words.get("format"),
        )


_ENTRIES = {
    *("role", "kind", "levels", "bounds", "missing", "missing_codes", "absence", "edges", "whole", "step"),
    "derived",
    *("hierarchy", "metric", "pseudonym", "format"),
}


def _listed(name: str, entry: str, given: Any) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _wrong(name, f"{entry} must be a list")
    return list(given)


def _pair(name: str, given: Any) -> tuple[float, float]:
    ends = _listed(name, "bounds", given)
    if len(ends) != 2 or not all(map(_is_number, ends)):
        raise _wrong(name, "bounds must be a lower and a higher number")
    return float(ends[0]), float(ends[1])


_TEXT_CODES = -(10.0**15)
"""The number of the first code that is a text; the next is one lower."""


def _number_of(code: Level, place: int) -> float:
    return float(code) if _is_number(code) else _TEXT_CODES - place


def _codes(given: Any) -> Any:
    """Codes as a file has them: a name that reads as a number is that number."""
    if not isinstance(given, Mapping):
        return given
    return {_read_code(code): meaning for code, meaning in given.items()}


def _read_code(code: Any) -> Any:
    if not isinstance(code, str):
        return code
    if re.fullmatch(r"[+-]?\d{1,15}", code) and (len(code.lstrip("+-")) == 1 or code.lstrip("+-")[0] != "0"):
        return int(code)
    return float(code) if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+)", code) else code


def _sources(name: str, given: Any) -> tuple[str, ...] | None:
    """The columns that a column follows from: one name, a list of names."""
    return None if given is None else tuple([given] if isinstance(given, str) else _listed(name, "derived", given))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _wrong(name: str, rule: str, got: str = "", hint: str = "") -> SchemaError:
    return SchemaError(f"schema, column '{name}'", rule, got=got, hint=hint)


def _spelled(given: Any) -> Any:
    """A hierarchy or metric in words: a value gives its own, a bare text is a kind."""
    if isinstance(given, str):
        return {"kind": given}
    return given.to_dict() if hasattr(given, "to_dict") else given
