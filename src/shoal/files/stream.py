"""Tables from standard input: Arrow (file or stream), told by its first bytes, or else delimited text."""

from __future__ import annotations

import hashlib
import io
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl

from shoal.errors import FileError, InputError
from shoal.files.delimited import TextOptions, read_delimited
from shoal.files.source import Source, check_names

__all__ = ["arrow_frame", "read_stdin"]

_OWNER = "standard input"
_FILE, _STREAM = b"ARROW1", b"\xff\xff\xff\xff"


def read_stdin(options: TextOptions) -> Source:
    """Read the whole of standard input."""
    if sys.stdin.isatty():
        raise InputError(
            _OWNER, "must be a file or a pipe", got="a terminal", hint="For example: shoal ... - < people.csv"
        )
    data = sys.stdin.buffer.read()
    if not data.startswith((_FILE, _STREAM)):
        return replace(read_delimited(Path(_OWNER), "csv", data, options), path="-", single=False)
    frame = arrow_frame(_OWNER, data)
    check_names(_OWNER, frame.columns)
    digest = hashlib.sha256(data).hexdigest()
    return Source(frame=frame, path="-", format="arrow", labels=None, sha256=digest, single=False)


def arrow_frame(owner: str, data: bytes) -> pl.DataFrame:
    """The table of an Arrow IPC file or stream."""
    read = pl.read_ipc_stream if data.startswith(_STREAM) else pl.read_ipc
    try:
        return read(io.BytesIO(data))
    except Exception:  # the library's message may quote cells
        raise FileError(owner, "must be an intact Arrow file or stream", hint="Write it again.") from None
