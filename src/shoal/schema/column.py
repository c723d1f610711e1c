"""One column of a schema: its role, its kind, its public domain, and what to do where a value is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

from shoal.errors import SchemaError
from shoal.value import Level

__all__ = ["Column", "Kind", "Level", "Missing", "Role"]

Role = Literal["identifier", "quasi", "sensitive", "weight", "unit", "other"]
Kind = Literal["numeric", "ordinal", "nominal"]
Missing: TypeAlias = Literal["error", "drop", "median"] | float
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
        How far apart two values are, in the words of `shoal.distance.Metric`.
    format
        How the file writes the dates or times of the column, ``"DD.MM.YYYY"``: see `shoal.files.dates`. None: as ISO
        has it, or the column holds none.
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
    format: str | None = None

    def __post_init__(self) -> None:
        self._check_name()
        self._check_words()
        self._check_domain()
        self._check_details()

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
        self._check_format()
        for entry in ("hierarchy", "metric"):
            words = getattr(self, entry)
            if words is not None and not (isinstance(words, Mapping) and isinstance(words.get("kind"), str)):
                raise _wrong(self.name, f"{entry} must be a table that names its kind")

    def _check_format(self) -> None:
        if self.format is None:
            return
        from shoal.files.dates import FORMS

        if self.format not in FORMS:
            raise _wrong(self.name, f"format must be one of {', '.join(FORMS)}", repr(self.format)[:40])
        if self.kind == "numeric":
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
        if self.edges is not None:
            words["edges"] = [float(edge) for edge in self.edges]
        if self.whole is not None:
            words["whole"] = self.whole
        if self.format is not None:
            words["format"] = self.format
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
            format=words.get("format"),
        )


_ENTRIES = {"role", "kind", "levels", "bounds", "missing", "edges", "whole", "hierarchy", "metric", "format"}


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


def _spelled(given: Any) -> Any:
    """A hierarchy or metric in words: a value gives its own, a bare text is a kind."""
    if isinstance(given, str):
        return {"kind": given}
    return given.to_dict() if hasattr(given, "to_dict") else given
