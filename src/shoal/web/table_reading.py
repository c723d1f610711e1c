"""An opened table: its beginning, read at once, and a copy of it that a job reads in a blink.

A large text file begins as its first megabyte says, read as the whole file would be. Only whole lines are taken: a line
break inside quotes is none. Where that can't be told (two-byte codings, one line that fills all), there is no first
look and the whole file is read at once; what is wrong with a file is always said by the reading of the whole.

The copy in the private workspace is an Arrow file of the very frame that was read, beside what was found out about its
file. It stands for the file only as long as the file is the one that was opened (`shoal.web.inspect.check_unchanged`).
"""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import ShoalError
from shoal.files import Labels, Source, read_source
from shoal.files.atomic import write_text
from shoal.files.source import READING
from shoal.schema.codes_seen import without_codes
from shoal.web.inspect import Opened, check_unchanged

if TYPE_CHECKING:
    from shoal.files import Source

__all__ = ["column_of", "first_look", "keep_table", "source_of", "whole_lines", "width"]

HEAD_BYTES = 1 << 20
LARGE = 4 * HEAD_BYTES
_TEXT = (".csv", ".tsv", ".txt")


def first_look(file: Path, reading: Mapping[str, Any]) -> Source | None:
    """The first rows of a large text or Parquet file; None where a first look isn't worth it or can't be had."""
    if file.stat().st_size < LARGE:
        return None
    with suppress(ShoalError, OSError, EOFError, zlib.error):
        if _is_parquet(file):
            return _parquet(file)
        if _ending(file) in _TEXT:
            return _text(_beginning(file), _ending(file), file, reading)
    return None


def width(file: Path, delimiter: str | None) -> int:
    """How many columns a file has at most, by its first line or its footer; 0 where that isn't told so easily."""
    with suppress(OSError, EOFError, zlib.error, csv.Error):
        if _is_parquet(file):
            return _parquet_width(file)
        if _ending(file) in _TEXT:
            line = _beginning(file).partition(b"\n")[0].decode("utf-8", "replace").replace("\x00", "")
            return max(len(next(csv.reader([line], delimiter=sign), ())) for sign in delimiter or ",;\t|")
    return 0


def whole_lines(data: bytes) -> bytes:
    """The beginning of `data` up to the last line break outside of quotes."""
    end = len(data)
    while (end := data.rfind(b"\n", 0, end)) >= 0:
        if data.count(b'"', 0, end) % 2 == 0:
            return data[: end + 1]
    return b""


def _is_parquet(file: Path) -> bool:
    return file.name.lower().endswith(".parquet")


def _ending(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix


def _beginning(file: Path) -> bytes:
    with gzip.open(file, "rb") if file.name.lower().endswith(".gz") else open(file, "rb") as stream:
        return stream.read(HEAD_BYTES)


def _text(data: bytes, ending: str, file: Path, reading: Mapping[str, Any]) -> Source | None:
    from dataclasses import replace

    lines = b"" if b"\x00" in data else whole_lines(data)
    if lines.count(b"\n") < 2:
        return None
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder, f"head{ending}")
        part.write_bytes(lines)
        source = read_source(part, **reading)
    return replace(source, path=str(file), format=_format(file))


def _parquet(file: Path) -> Source | None:
    import polars as pl

    try:
        frame = pl.scan_parquet(file, glob=False, hive_partitioning=False).head(50).collect()
    except Exception:  # what is wrong is said by the reading of the whole
        return None
    return Source(frame=frame, path=str(file), format="parquet", labels=None, sha256="")


def _parquet_width(file: Path) -> int:
    import polars as pl

    try:
        return len(pl.read_parquet_schema(file))
    except Exception:  # what is wrong is said by the reading of the whole
        return 0


def _format(file: Path) -> str:
    parts = file.name.lower().split(".")
    return ".".join(parts[-2:] if parts[-1] == "gz" else parts[-1:])


_TABLE, _ABOUT = "table.arrow", "about.json"


def keep_table(source: Source, folder: Path) -> Path | None:
    """Keep a copy of `source` in `folder`; None where it can't be kept, which does no harm."""
    place = folder / "kept"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        source.frame.write_ipc(place / _TABLE)
        write_text(place / _ABOUT, json.dumps(_words(source)))
    except Exception:  # a full disk, a type that Arrow doesn't hold
        (place / _TABLE).unlink(missing_ok=True)
        return None
    return place


def copy_place(opened: Opened, table: str = "") -> Path | None:
    """Where the copy of an opened table lies: the only one, or the one of this name among linked tables."""
    return None if opened.copy is None else Path(opened.copy) / (f"{table}.arrow" if table else _TABLE)


def column_of(opened: Opened, name: str) -> pl.Series:
    """One column of an opened file, from its copy where there is one."""
    if opened.copy is not None:
        with suppress(Exception):  # gone or harmed: the file itself is still there
            check_unchanged(opened)
            codes = _about(Path(opened.copy))["labels"] or {}
            column = pl.read_ipc(Path(opened.copy) / _TABLE, columns=[name])[name]
            return without_codes(column, codes.get("missing", {}).get(name, ()))
    return source_of(opened).frame[name]


def source_of(opened: Opened, coded: Collection[str] = ()) -> Source:
    """The table of an opened file, from its copy or from the file itself; an error if the file has changed.

    `coded` are the columns whose codes for an absence, where the file declares some, come as they are.
    """
    check_unchanged(opened)
    source = _copy(opened, coded) or read_source(opened.path, codes=coded, **opened.asked)
    check_unchanged(opened)
    return source


def _copy(opened: Opened, coded: Collection[str]) -> Source | None:
    """The copy, which has all codes for an absence: None where one of them is not to come as it is."""
    if opened.copy is None:
        return None
    place = Path(opened.copy)
    try:
        words = _about(place)
        frame = pl.read_ipc(place / _TABLE)
    except Exception:  # gone or harmed: the file itself is still there
        return None
    labels = _labels(words.pop("labels"))
    if labels is not None and not set(labels.missing) <= set(coded):
        return None
    return Source(frame=frame, labels=labels, path=opened.path, **words)


def _about(place: Path) -> dict[str, Any]:
    words: dict[str, Any] = json.loads((place / _ABOUT).read_text(encoding="utf-8"))
    return words


def _words(source: Source) -> dict[str, Any]:
    names = ("format", "sha256", *READING)
    words: dict[str, Any] = {name: getattr(source, name) for name in names}
    return {**words, "labels": None if source.labels is None else _label_words(source.labels)}


def _label_words(labels: Labels) -> dict[str, Any]:
    """Codes may be numbers, which are no names in JSON: each with its meaning in a pair."""
    values = {name: [[code, meaning] for code, meaning in codes.items()] for name, codes in labels.values.items()}
    missing = {name: list(codes) for name, codes in labels.missing.items()}
    return {"columns": dict(labels.columns), "values": values, "missing": missing}


def _labels(words: Mapping[str, Any] | None) -> Labels | None:
    if words is None:
        return None
    missing = {name: tuple(codes) for name, codes in words.get("missing", {}).items()}
    values = {name: dict(pairs) for name, pairs in words["values"].items()}
    return Labels(columns=words["columns"], values=values, missing=missing)
