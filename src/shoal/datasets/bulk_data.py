"""FHIR Bulk Data (NDJSON) as linked tables, and back: Patient, Encounter, Condition, MedicationRequest.

Every resource becomes a row: its id, whose it is, on which day, and the code of what it is about. Of each element one
place is read (`address.state`, `code.coding.code`), of a list the first entry. Whatever else a resource holds, at any
depth, further entries of lists and files of other resources included, is refused until somebody has decided about it
(`drop`). Whatever is not read is not in the tables, and so in no release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import FileError, InputError, Problems
from shoal.files import write_text
from shoal.files.atomic import FilePath, reporting
from shoal.schema import LinkedSchema

__all__ = ["fhir", "fhir_schema", "write_fhir"]

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(T.*)?")
_PATIENT = re.compile(r"(?:(?:.*/)?Patient/|urn:uuid:)([A-Za-z0-9.-]{1,64})(?:/_history/.*)?")


def _day(text: str) -> date | None:
    found = _DAY.fullmatch(text)
    try:
        return None if found is None else date.fromisoformat(found[1])
    except ValueError:
        return None


def _patient(text: str) -> str | None:
    found = _PATIENT.fullmatch(text)
    return None if found is None else found[1]


@dataclass(frozen=True, slots=True)
class _Field:
    """Where a column stands in a resource, and what it is.

    Parameters
    ----------
    path
        The names that lead to it; those that hold lists end in ``*``.
    role
        Its role in the schema; empty for keys and links.
    take, must_be
        What is taken of its text, None where that is not what it must be, and what that is.
    """

    path: str
    role: str = ""
    take: Callable[[str], Any] = str
    must_be: str = "a text"

    @property
    def place(self) -> str:
        """The path as people write it."""
        return self.path.replace("*", "")


def _date(path: str, role: str = "time") -> _Field:
    return _Field(path, role, _day, "a day such as 2024-03-01, with or without a time")


_ID = _Field("id")
_EVENT = {"id": _ID, "patient": _Field("subject.reference", "", _patient, "a reference to a Patient")}
_KINDS: dict[str, tuple[str, dict[str, _Field]]] = {
    "patients": (
        "Patient",
        {
            "id": _ID,
            "gender": _Field("gender", "quasi"),
            "birth_date": _date("birthDate", "quasi"),
            "state": _Field("address*.state", "quasi"),
        },
    ),
    "encounters": ("Encounter", {**_EVENT, "class": _Field("class.code", "quasi"), "start": _date("period.start")}),
    "conditions": (
        "Condition",
        {**_EVENT, "code": _Field("code.coding*.code", "sensitive"), "onset": _date("onsetDateTime")},
    ),
    "medications": (
        "MedicationRequest",
        {
            **_EVENT,
            "code": _Field("medicationCodeableConcept.coding*.code", "sensitive"),
            "authored": _date("authoredOn"),
        },
    ),
}


def fhir(folder: FilePath, *, drop: Collection[str] = ()) -> dict[str, pl.DataFrame]:
    """Read the NDJSON files of a bulk export: ``Patient.ndjson``, ``Encounter.ndjson`` and so on, those that are there.

    Parameters
    ----------
    folder
        Where the files lie; a resource may be spread over several (``Patient.001.ndjson``).
    drop
        What is left out, of all resources or of one: ``{"name", "address.city", "Condition.encounter",
        "code.coding[1:]", "Observation"}``. What lies below goes with it; ``[1:]`` are all entries of a list but the
        first; the name of a resource is all of its files. A field that is read otherwise is no column then.

    Raises
    ------
    InputError
        A resource holds something that is neither read nor dropped, or a field is not what it must be. All of it is
        named at once.
    """
    files = {kind: paths for kind, paths in _files(Path(folder)).items() if kind not in drop}
    readers = {table: _Reader(kind, fields, drop) for table, (kind, fields) in _KINDS.items() if kind in files}
    rows = {table: _resources(files[reader.kind], reader.kind) for table, reader in readers.items()}
    unknown = files.keys() - {kind for kind, _ in _KINDS.values()}
    unknown |= {place for table, reader in readers.items() for row in rows[table] for place in reader.unknown(row)}
    problems = Problems()
    if unknown:
        hint = "Name those to leave out in drop, as they are named here; this loader reads no others."
        problems.found.append(InputError("FHIR", f"nobody decided about {', '.join(sorted(unknown))}", hint=hint))
    made = {table: reader.table(rows[table], problems) for table, reader in readers.items()}
    problems.raise_if_any()
    if "patients" not in made or len(made) < 2:
        raise FileError(str(folder), "must hold Patient.ndjson and a file of at least one other resource that is read")
    return made


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads resources of one kind."""

    kind: str
    fields: Mapping[str, _Field]
    drop: Collection[str]

    def unknown(self, resource: Mapping[str, Any]) -> Iterator[str]:
        """What a resource holds that is neither read nor dropped, by the highest names below which nothing is read."""
        for name, value in resource.items():
            if name != "resourceType":
                yield from self._unread(name, value)

    def _unread(self, place: str, value: Any) -> Iterator[str]:
        if self._is_dropped(place):
            return
        if isinstance(value, list) and value and self._leads_on(place):
            more = f"{place}[1:]"
            if len(value) > 1 and not self._is_dropped(more):
                yield f"{self.kind}.{more}"
            value = value[0]
        if isinstance(value, Mapping) and self._leads_on(place):
            for name, below in value.items():
                yield from self._unread(f"{place}.{name}", below)
        elif isinstance(value, list | Mapping) or place not in (field.place for field in self.fields.values()):
            yield f"{self.kind}.{place}"

    def _leads_on(self, place: str) -> bool:
        return any(field.place.startswith(f"{place}.") for field in self.fields.values())

    def _is_dropped(self, place: str) -> bool:
        parts = place.split(".")
        above = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
        return any(one in self.drop or f"{self.kind}.{one}" in self.drop for one in above)

    def table(self, rows: Sequence[Mapping[str, Any]], problems: Problems) -> pl.DataFrame:
        """The columns that are not dropped; what is not what it must be is noted."""
        read = {name: field for name, field in self.fields.items() if not self._is_dropped(field.place)}
        return pl.DataFrame([self._column(name, field, rows, problems) for name, field in read.items()])

    def _column(self, name: str, field: _Field, rows: Sequence[Mapping[str, Any]], problems: Problems) -> pl.Series:
        found = [_at(row, field.place.split(".")) for row in rows]
        taken = [field.take(value) if isinstance(value, str) else None for value in found]
        wrong = sum(value is not None and one is None for value, one in zip(found, taken, strict=True))
        if wrong:
            place = f"{self.kind}.{field.place}"
            hint = f"Correct them, or leave the field out: drop={{'{place}'}}."
            rule = f"{place} must be {field.must_be}"
            problems.found.append(InputError("FHIR", rule, got=f"{wrong} others", hint=hint))
        return pl.Series(name, taken, dtype=pl.Date if field.take is _day else pl.String)


def _at(value: Any, names: Sequence[str]) -> Any:
    """What stands at a place, in the first entry of lists on the way; None where nothing does."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not names:
        return value
    return _at(value.get(names[0]), names[1:]) if isinstance(value, Mapping) else None


def fhir_schema(tables: Mapping[str, Any] | None = None) -> LinkedSchema:
    """The schema of what `fhir` reads: codes of conditions and drugs are sensitive, dates and classes may be known.

    Without tables, that of all resources and fields which are read.
    """
    links: dict[str, Any] = {"parent": "patients", "link": "patient"}
    more = {"patients": {}, "encounters": {**links, "summaries": ["count"]}}
    return LinkedSchema.of(
        **{
            name: {
                "key": "id",
                **more.get(name, links),
                "columns": _roles(fields, fields if tables is None else tables[name].columns),
            }
            for name, (_, fields) in _KINDS.items()
            if tables is None or name in tables
        }
    )


def _roles(fields: Mapping[str, _Field], columns: Collection[str]) -> dict[str, Any]:
    return {name: {"role": field.role} for name, field in fields.items() if field.role and name in columns}


def write_fhir(tables: Mapping[str, pl.DataFrame], folder: FilePath) -> None:
    """Write released tables as NDJSON, one resource a row, in a folder without such files.

    Columns go where `fhir` reads them; a table or a column that it doesn't know is refused. Dates that were coarsened
    stand as they were released: years and months are dates of FHIR, quarters and ranges are not.
    """
    place = Path(folder)
    _check_names(tables)
    if place.is_dir() and any(place.glob("*.ndjson")):
        raise FileError(str(folder), "must not hold .ndjson files already", hint="Choose a new folder.")
    texts = {_KINDS[name][0]: _lines(name, frame) for name, frame in tables.items()}
    with reporting(place):
        place.mkdir(parents=True, exist_ok=True)
    for kind, text in texts.items():
        write_text(place / f"{kind}.ndjson", text)


def _check_names(tables: Mapping[str, pl.DataFrame]) -> None:
    wrong = [f"table '{name}'" for name in tables if name not in _KINDS]
    for name, frame in tables.items():
        known = _KINDS[name][1] if name in _KINDS else frame.columns
        wrong += [f"column '{column}' of '{name}'" for column in frame.columns if column not in known]
    if wrong:
        hint = "Leave them out of what is written; they have no place in these resources."
        raise InputError("FHIR", f"can't write {', '.join(wrong)}", hint=hint)


def _lines(table: str, frame: pl.DataFrame) -> str:
    kind, fields = _KINDS[table]
    rows = ({"resourceType": kind, **_resource(fields, row)} for row in frame.iter_rows(named=True))
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


def _resource(fields: Mapping[str, _Field], row: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, field in fields.items():
        if row.get(name) is not None:
            value = f"Patient/{row[name]}" if field.take is _patient else row[name]
            _put(made, field.path.split("."), str(value))
    return made


def _put(within: dict[str, Any], names: Sequence[str], value: str) -> None:
    """Set a value at a place; a name that ends in * holds a list of one entry."""
    name, *rest = names
    if not rest:
        within[name] = value
        return
    below: dict[str, Any] = {}
    within[name.rstrip("*")] = [below] if name.endswith("*") else below
    _put(below, rest, value)


def _files(folder: Path) -> dict[str, list[Path]]:
    """The NDJSON files of each resource: what stands before the first dot names it."""
    found: dict[str, list[Path]] = {}
    with reporting(folder):
        for path in sorted(folder.glob("*.ndjson")):
            found.setdefault(path.name.partition(".")[0], []).append(path)
    return found


def _resources(paths: Sequence[Path], kind: str) -> list[dict[str, Any]]:
    return [row for path in paths for row in _read(path, kind)]


def _read(path: Path, kind: str) -> list[dict[str, Any]]:
    with reporting(path):
        lines = path.read_text(encoding="utf-8").split("\n")
    try:
        rows = [json.loads(line) for line in lines if line.strip()]
    except ValueError:
        raise FileError(str(path), "must hold one JSON resource on each line") from None
    if not all(isinstance(row, dict) and row.get("resourceType") == kind for row in rows):
        raise FileError(str(path), f"must hold resources of the type {kind} alone")
    return rows
