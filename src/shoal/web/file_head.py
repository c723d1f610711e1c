"""How a large text file begins, read as the whole file would be, from its first megabyte.

Only whole lines are taken: a line break inside quotes is none. Where that can't be told (two-byte codings, one line
that fills all), there is no first look and the whole file is read at once; what is wrong with a file is always said by
the reading of the whole.
"""

from __future__ import annotations

import csv
import gzip
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError

if TYPE_CHECKING:
    from shoal.files import Source

__all__ = ["first_look", "whole_lines", "width"]

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

    from shoal.files import read_source

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

    from shoal.files import Source

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
