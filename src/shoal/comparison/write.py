"""A comparison as files: written beside their place, then moved there as one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.comparison.page import render
from shoal.errors import FileError, ShoalError
from shoal.files import write_table, write_text
from shoal.files.atomic_folder import Contents, check_target, staged

if TYPE_CHECKING:
    from shoal.comparison.comparison import Comparison

__all__ = ["COMPARISON", "FILES", "check_folder", "read", "write"]

FILES = ("comparison.csv", "comparison.parquet", "comparison.json", "comparison.html")
COMPARISON = Contents(name="comparison", sign="comparison.json", belongs=lambda path: path.name in FILES)


def write(comparison: Comparison, folder: Path, *, overwrite: bool, limit: float) -> Path:
    """Write all files, or leave the folder as it was."""
    page, rows = render(comparison, limit), comparison._rows()
    try:
        with staged(folder, COMPARISON, overwrite=overwrite) as stage:
            write_table(rows, stage / "comparison.csv")
            write_table(rows, stage / "comparison.parquet")
            write_text(stage / "comparison.json", json.dumps(comparison.to_dict(), indent=1, ensure_ascii=False) + "\n")
            write_text(stage / "comparison.html", page)
    except OSError as error:
        raise FileError(str(folder), "can't be written", got=(error.strerror or "").lower()) from None
    return folder


def read(folder: Path) -> Comparison:
    """The comparison of a folder."""
    from shoal.comparison.comparison import Comparison

    path = folder / "comparison.json"
    try:
        words: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(str(path), "file must be accessible", got=(error.strerror or "").lower()) from None
    except ValueError:
        raise FileError(str(path), "must be the JSON file of a comparison") from None
    try:
        return Comparison.from_dict(words)
    except (KeyError, TypeError, ValueError, AttributeError, ShoalError):
        raise FileError(str(path), "must be the JSON file of a comparison") from None


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds anything but an older comparison that may be replaced, before any work is done."""
    check_target(folder, COMPARISON, overwrite=overwrite)
