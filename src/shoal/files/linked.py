"""Linked tables from one place: a folder with a file for each, a workbook with a sheet, or a database with a table."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import FileError, InputError, Problems, SchemaError
from shoal.files.atomic import FilePath
from shoal.files.source import Labels, Source, is_database
from shoal.files.table import read_source
from shoal.files.workbook import WORKBOOK_FORMATS, sheet_names
from shoal.value import Level

__all__ = ["LinkedSource", "names_in", "read_linked"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedSource:
    """Linked tables that were read, and what was found out about where they lie. Its repr shows no cell.

    Parameters
    ----------
    frame
        The tables by name.
    path, format, sha256
        The folder, workbook or database; the ending of its files; a digest of all of them.
    reading
        The options with which `read_linked` reads the same tables again.
    """

    frame: Mapping[str, pl.DataFrame] = field(repr=False)
    path: str
    format: str
    sha256: str
    reading: dict[str, str]
    labels: Labels | None = None


def read_linked(
    path: FilePath,
    names: Sequence[str],
    *,
    formats: Mapping[str, Mapping[str, str]] | None = None,
    codes: Mapping[str, Mapping[str, Collection[Level]]] | None = None,
    **options: Any,
) -> LinkedSource:
    """Read the tables `names` from a folder, a workbook or a database; what else lies there is not read.

    Parameters
    ----------
    path
        The place.
    names
        The tables: names of files without their ending, of sheets, or of tables of the database.
    formats
        For each table, the columns with the form of their dates or times.
    codes
        For each table, the columns with codes for an absence, which statistical files give as they are, and these.
    options
        How delimited text is read: see `shoal.files.read_source`.
    """
    place = _place(str(path), names)
    forms, coded = formats or {}, codes or {}
    found = {name: place(name, formats=forms.get(name), codes=coded.get(name, ()), **options) for name in names}
    digest = "".join(f"{name}\n{source.sha256}\n" for name, source in sorted(found.items()))
    first = next(iter(found.values()))
    return LinkedSource(
        frame={name: source.frame for name, source in found.items()},
        path=str(path),
        format=first.format,
        sha256=hashlib.sha256(digest.encode()).hexdigest(),
        reading={name: value for name, value in options.items() if value is not None},
    )


def names_in(path: FilePath) -> list[str]:
    """The tables that a folder, a workbook or a database holds: files without their ending, sheets, or tables."""
    place = str(path)
    if is_database(place):
        from shoal.files.database import table_names

        return table_names(place)
    if Path(place).is_dir():
        there = [file for file in sorted(Path(place).iterdir()) if file.is_file() and not file.name.startswith(".")]
        return list(dict.fromkeys(file.name.partition(".")[0] for file in there))
    if Path(place).suffix[1:].lower() in WORKBOOK_FORMATS:
        return sheet_names(Path(place))
    raise FileError(place, "must be a folder, workbook or database that holds the linked tables")


def _place(path: str, names: Sequence[str]) -> Any:
    """What reads one table of the place."""
    if is_database(path):
        return lambda name, **options: read_source(path, sql=f'SELECT * FROM "{name}"', formats=options["formats"])
    if Path(path).is_dir():
        files = _files(Path(path), names)
        return lambda name, **options: read_source(files[name], **options)
    if Path(path).suffix[1:].lower() in WORKBOOK_FORMATS:
        return lambda name, **options: _sheet(path, name, options)
    raise FileError(path, "must be a folder, workbook or database that holds the linked tables")


def _sheet(path: str, name: str, options: Mapping[str, Any]) -> Source:
    return read_source(path, sheet=name, formats=options["formats"])


def _files(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """The file of each table; all that are missing or there twice are named."""
    there = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.name.startswith(".")]
    found = {name: [file for file in there if file.name.partition(".")[0] == name] for name in names}
    wrong: list[InputError] = [
        SchemaError(
            str(folder),
            f"must hold one file for the table '{name}'",
            got=f"{len(files)} files",
            hint=f"Name it {name}.csv, or with another ending.",
        )
        for name, files in found.items()
        if len(files) != 1
    ]
    Problems(wrong).raise_if_any()
    return {name: files[0] for name, files in found.items()}
