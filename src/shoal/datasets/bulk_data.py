"""FHIR Bulk Data (NDJSON) as linked tables, and back: Patient, Encounter, Condition, MedicationRequest.

Every resource becomes a row: its id, whose it is, when, and the first code of what it is about. A field of a resource
that is neither read nor named in `drop` is refused, until somebody has decided about it. Whatever is not read is not
in the tables, and so in no release.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import FileError, InputError
from shoal.files import write_text
from shoal.files.atomic import FilePath, reporting
from shoal.schema import LinkedSchema

__all__ = ["fhir", "fhir_schema", "write_fhir"]

_Read = Callable[[Mapping[str, Any]], Any]


def _code(field: str) -> _Read:
    return lambda resource: _first(_first(resource.get(field)).get("coding")).get("code")


def _reference(field: str) -> _Read:
    return lambda resource: str(_first(resource.get(field)).get("reference", "")).rpartition("/")[2] or None


def _first(value: Any) -> Mapping[str, Any]:
    """The first of a list, or the value; nothing where there is none."""
    one = value[0] if isinstance(value, list) and value else value
    return one if isinstance(one, Mapping) else {}


_EVENT: dict[str, tuple[str, _Read]] = {
    "id": ("id", lambda resource: resource.get("id")),
    "patient": ("subject", _reference("subject")),
}
_KINDS: dict[str, tuple[str, dict[str, tuple[str, _Read]]]] = {
    "patients": (
        "Patient",
        {
            "id": _EVENT["id"],
            "gender": ("gender", lambda resource: resource.get("gender")),
            "birth_date": ("birthDate", lambda resource: resource.get("birthDate")),
            "state": ("address", lambda resource: _first(resource.get("address")).get("state")),
        },
    ),
    "encounters": (
        "Encounter",
        {
            **_EVENT,
            "class": ("class", lambda resource: _first(resource.get("class")).get("code")),
            "start": ("period", lambda resource: _day(_first(resource.get("period")).get("start"))),
        },
    ),
    "conditions": (
        "Condition",
        {**_EVENT, "code": ("code", _code("code")), "onset": ("onsetDateTime", lambda r: _day(r.get("onsetDateTime")))},
    ),
    "medications": (
        "MedicationRequest",
        {
            **_EVENT,
            "code": ("medicationCodeableConcept", _code("medicationCodeableConcept")),
            "authored": ("authoredOn", lambda resource: _day(resource.get("authoredOn"))),
        },
    ),
}


def _day(text: Any) -> str | None:
    return text[:10] if isinstance(text, str) else None


def fhir(folder: FilePath, *, drop: Collection[str] = ()) -> dict[str, pl.DataFrame]:
    """Read the NDJSON files of a bulk export: ``Patient.ndjson``, ``Encounter.ndjson`` and so on, those that are there.

    Parameters
    ----------
    folder
        Where the files lie.
    drop
        Fields that are left out, of all resources or of one: ``{"name", "telecom", "meta", "Condition.encounter"}``.

    Raises
    ------
    InputError
        A resource has a field that is neither read nor dropped; all such fields are named.
    """
    made, unknown = {}, set()
    for table, (kind, columns) in _KINDS.items():
        path = Path(folder) / f"{kind}.ndjson"
        if path.is_file():
            rows = _resources(path, kind)
            left_out = {name.removeprefix(f"{kind}.") for name in drop}
            read = {"resourceType", *(field for field, _ in columns.values()), *left_out}
            unknown |= {f"{kind}.{field}" for row in rows for field in row if field not in read}
            made[table] = pl.DataFrame(
                {name: pl.Series([take(row) for row in rows], dtype=pl.String) for name, (_, take) in columns.items()}
            ).with_columns(pl.col("^(birth_date|start|onset|authored)$").str.to_date("%Y-%m-%d", strict=False))
    if unknown:
        hint = "Name those to leave out in drop; others can't be released by this loader."
        raise InputError("FHIR", f"fields nobody decided about: {', '.join(sorted(unknown))}", hint=hint)
    if "patients" not in made or len(made) < 2:
        raise FileError(str(folder), "must hold Patient.ndjson and a file of at least one other resource")
    return made


def fhir_schema(tables: Mapping[str, Any]) -> LinkedSchema:
    """The schema of what `fhir` reads: codes of conditions and drugs are sensitive, dates and classes may be known."""
    event = {"key": "id", "parent": "patients", "link": "patient"}
    known: dict[str, dict[str, Any]] = {
        "patients": {"key": "id", "columns": _roles(quasi=("gender", "birth_date", "state"))},
        "encounters": {**event, "summaries": ["count"], "columns": _roles(quasi=("class",), time=("start",))},
        "conditions": {**event, "columns": _roles(sensitive=("code",), time=("onset",))},
        "medications": {**event, "columns": _roles(sensitive=("code",), time=("authored",))},
    }
    return LinkedSchema.of(**{name: words for name, words in known.items() if name in tables})


def _roles(**roles: tuple[str, ...]) -> dict[str, Any]:
    return {name: {"role": role} for role, names in roles.items() for name in names}


def write_fhir(tables: Mapping[str, pl.DataFrame], folder: FilePath) -> None:
    """Write released tables as NDJSON, one resource a row; dates that were coarsened stand as they were written."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for table, frame in tables.items():
        kind = _KINDS[table][0]
        lines = [json.dumps(_resource(kind, row), ensure_ascii=False, default=str) for row in frame.to_dicts()]
        write_text(Path(folder) / f"{kind}.ndjson", "".join(f"{line}\n" for line in lines))


def _resource(kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in row.items() if value is not None}
    code = {"coding": [{"code": given.get("code")}]}
    fields = {
        "subject": {"reference": f"Patient/{given.get('patient')}"},
        "gender": given.get("gender"),
        "birthDate": given.get("birth_date"),
        "address": [{"state": given.get("state")}],
        "class": {"code": given.get("class")},
        "period": {"start": given.get("start")},
        "code": code,
        "onsetDateTime": given.get("onset"),
        "medicationCodeableConcept": code,
        "authoredOn": given.get("authored"),
    }
    own = next(columns for name, columns in _KINDS.values() if name == kind)
    kept = {field: fields[field] for name, (field, _) in own.items() if field in fields and name in given}
    return {"resourceType": kind, "id": str(row["id"]), **kept}


def _resources(path: Path, kind: str) -> list[dict[str, Any]]:
    with reporting(path):
        lines = path.read_text(encoding="utf-8").splitlines()
    try:
        rows = [json.loads(line) for line in lines if line.strip()]
    except ValueError:
        raise FileError(str(path), "must hold one JSON resource on each line") from None
    if not all(isinstance(row, dict) and row.get("resourceType") == kind for row in rows):
        raise FileError(str(path), f"must hold resources of the type {kind} alone")
    return rows
