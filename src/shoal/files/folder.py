"""Folders and patterns of files that hold parts of one table.

All files must be of one format and have the same columns; a column that one of them lacks is named. Types are told
from all files together, so that a code with a leading zero in the last file leaves the column text in all.
"""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from shoal.errors import FileError, InputError
from shoal.files.source import Source

__all__ = ["files_at", "is_many", "read_many"]

_EXACT = 2**53


def is_many(path: str) -> bool:
    """Whether `path` is a folder or a pattern (``visits/*.csv``) rather than one file."""
    return Path(path).is_dir() or (glob.has_magic(path) and not Path(path).exists())


def read_many(path: str, read: Callable[[Path, frozenset[str]], Source]) -> Source:
    """The rows of all files in order of their names; `read` reads one, leaving some columns as text."""
    files = files_at(path)
    parts = [read(file, frozenset()) for file in files]
    _check_alike(path, files, parts)
    texts = _undecided([part.frame for part in parts])
    if texts:
        parts = [read(file, texts) for file in files]
    digest = hashlib.sha256()
    for file, part in zip(files, parts, strict=True):
        digest.update(f"{file.name}\n{part.sha256}\n".encode())
    frame = _joined(path, [part.frame for part in parts])
    return replace(parts[0], frame=frame, path=path, sha256=digest.hexdigest(), single=False)


def files_at(path: str) -> list[Path]:
    """The files of a folder or pattern in order of their names; hidden ones are left out."""
    folder = Path(path)
    found = folder.iterdir() if folder.is_dir() else map(Path, glob.glob(path, recursive=True))
    files = sorted(file for file in found if file.is_file() and not file.name.startswith("."))
    if not files:
        raise FileError(path, "must be a folder or a pattern with at least one file", hint="Check the path.")
    return files


def _check_alike(path: str, files: Sequence[Path], parts: Sequence[Source]) -> None:
    formats = {part.format: file for file, part in zip(files, parts, strict=True)}
    if len(formats) > 1:
        got = " and ".join(f".{ending} ({file.name})" for ending, file in list(formats.items())[:2])
        raise InputError(path, "must hold files of one format", got=got, hint="Use a pattern, such as FOLDER/*.csv.")
    for file, part in zip(files, parts, strict=True):
        _check_columns(files[0], parts[0].frame.columns, file, part.frame.columns)
        _check_columns(file, part.frame.columns, files[0], parts[0].frame.columns)


def _check_columns(one: Path, names: Sequence[str], other: Path, others: Sequence[str]) -> None:
    absent = [name for name in names if name not in others]
    if absent:
        raise InputError(
            str(other),
            f"column '{absent[0]}' is missing, but present in {one.name}",
            got=f"{len(absent)} columns missing" if len(absent) > 1 else "",
            hint="Give all files the same columns, or use a pattern that excludes this one.",
        )


def _undecided(frames: Sequence[pl.DataFrame]) -> frozenset[str]:
    """The columns that have one type in one file and another in the next, and that no number type holds."""
    return frozenset(name for name in frames[0].columns if _common(_kinds(frames, name), frames, name) is None)


def _kinds(frames: Sequence[pl.DataFrame], name: str) -> set[pl.DataType]:
    """The types of a column in the files that have a value in it."""
    kinds = {frame[name].dtype for frame in frames if frame[name].null_count() < len(frame)}
    return kinds or {frames[0][name].dtype}


def _common(kinds: set[pl.DataType], frames: Sequence[pl.DataFrame], name: str) -> pl.DataType | None:
    if len(kinds) == 1:
        return next(iter(kinds))
    if not all(kind.is_numeric() for kind in kinds):
        return None
    whole = [frame[name] for frame in frames if frame[name].dtype.is_integer()]
    return pl.Float64() if all((part.abs().max() or 0) < _EXACT for part in whole) else None  # type: ignore[operator]


def _joined(path: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    names = frames[0].columns
    types = {name: _common(_kinds(frames, name), frames, name) for name in names}
    odd = [name for name, kind in types.items() if kind is None]
    if odd:
        rule = f"column '{odd[0]}' must be of one type in all files"
        raise InputError(path, rule, hint="Write the files again with the same types.")
    return pl.concat([frame.select(pl.col(name).cast(types[name]) for name in names) for frame in frames])  # type: ignore[arg-type]
