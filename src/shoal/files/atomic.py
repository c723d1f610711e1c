"""Where files lie: reading that reports, and writing that is whole or not at all."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from shoal.errors import FileError, ShoalError

__all__ = ["FilePath", "check_readable", "replacing", "reporting", "sha256", "write_text"]

FilePath: TypeAlias = str | os.PathLike[str]


def write_text(path: FilePath, text: str) -> None:
    r"""Write `text` to `path` as UTF-8 with ``\n`` line ends, whole or not at all."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise FileError(str(path), "text must be valid Unicode to be written as UTF-8") from None
    with replacing(Path(path)) as temporary:
        temporary.write_bytes(data)


def sha256(path: FilePath) -> str:
    """Return the SHA-256 digest of a file's bytes, in hexadecimal."""
    with reporting(Path(path)), open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_readable(file: Path) -> None:
    """Hold `file` to be a file that can be opened."""
    if file.is_dir():
        raise FileError(str(file), "must be a file", got="a folder", hint="Choose one file in it.")
    with reporting(file), open(file, "rb"):
        pass


@contextmanager
def reporting(file: Path) -> Iterator[None]:
    """Turn what the operating system says about `file` into a FileError."""
    try:
        yield
    except OSError as error:
        hint = "Check the path." if isinstance(error, FileNotFoundError) else "Check the folder and your permissions."
        got = (error.strerror or "").lower()
        raise FileError(str(file), "file must be accessible", got=got, hint=hint) from None


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Give a name beside `file` to write to, then move what was written there into its place."""
    if file.is_dir():
        raise FileError(str(file), "must be a file", got="a folder", hint="Choose one file in it.")
    temporary = file.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with reporting(file):
            temporary.touch(exist_ok=False)
            yield temporary
            _to_disk(temporary)
            os.replace(temporary, file)
    except ShoalError:
        raise
    except Exception as error:  # the libraries' messages may quote cells
        kind = type(error).__name__
        raise FileError(str(file), f"can't be written ({kind})", hint="Try .parquet or .csv.") from None
    finally:
        temporary.unlink(missing_ok=True)


def _to_disk(file: Path) -> None:
    with open(file, "r+b") as stream:
        os.fsync(stream.fileno())
