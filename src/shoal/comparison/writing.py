"""A comparison as files: written beside their place, then moved there as one folder."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.comparison.page import render
from shoal.errors import FileError, ParameterError, ShoalError
from shoal.files import write_table, write_text

if TYPE_CHECKING:
    from shoal.comparison.comparison import Comparison

__all__ = ["FILES", "check_folder", "read", "write"]

FILES = ("comparison.csv", "comparison.parquet", "comparison.json", "comparison.html")


def write(comparison: Comparison, folder: Path, *, overwrite: bool, limit: float) -> Path:
    """Write all files, or leave the folder as it was."""
    check_folder(folder, overwrite=overwrite)
    target = folder.absolute()
    page, rows = render(comparison, limit), comparison._rows()
    stage = _stage(target)
    try:
        write_table(rows, stage / "comparison.csv")
        write_table(rows, stage / "comparison.parquet")
        write_text(stage / "comparison.json", json.dumps(comparison.to_dict(), indent=1, ensure_ascii=False) + "\n")
        write_text(stage / "comparison.html", page)
        _swap(stage, target)
    except OSError as error:
        raise FileError(str(target), "can't be written", got=(error.strerror or "").lower()) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return folder


def read(folder: Path) -> Comparison:
    """The comparison of a folder."""
    from shoal.comparison.comparison import Comparison

    path = folder / "comparison.json"
    try:
        words: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(str(path), "file must be within reach", got=(error.strerror or "").lower()) from None
    except ValueError:
        raise FileError(str(path), "must be the JSON file of a comparison") from None
    try:
        return Comparison.from_dict(words)
    except (KeyError, TypeError, ValueError, AttributeError, ShoalError):
        raise FileError(str(path), "must be the JSON file of a comparison") from None


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds anything but an older comparison that may be replaced, before any work is done."""
    if folder.is_file():
        raise FileError(str(folder), "must be a folder to write the comparison to", got="a file")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not overwrite:
        hint = "Name another folder, or allow overwriting (--overwrite)."
        raise FileError(str(folder), "already holds files", hint=hint)
    strange = [item.name for item in folder.iterdir() if item.name not in FILES]
    if strange:
        raise ParameterError(
            str(folder),
            "can be overwritten only if it holds a comparison and nothing else",
            got=f"{len(strange)} other files",
            hint="Name another folder.",
        )


def _stage(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
    except OSError as error:
        got = (error.strerror or "").lower()
        raise FileError(str(target), "must be in a folder that can be written to", got=got) from None


def _swap(stage: Path, target: Path) -> None:
    """Give the new folder the target's name; the old one is put back if that fails."""
    old = stage.with_name(f"{stage.name}.old")
    if target.exists():
        target.rename(old)
    try:
        stage.rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
