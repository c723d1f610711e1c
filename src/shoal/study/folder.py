"""Where a study is written: a folder of its own, or one that holds an older study that may be replaced."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from shoal.errors import FileError

__all__ = ["check_study_folder"]


def check_study_folder(files: Collection[str], out: Path, overwrite: bool) -> None:
    """Refuse a folder that holds anything but an older study, made of `files`, that may be replaced."""
    if not out.exists():
        return
    if not out.is_dir():
        raise FileError(str(out), "must be a folder", got="a file")
    if any(not overwrite or item.name not in files for item in out.iterdir()):
        raise FileError(str(out), "must not exist yet, or be empty", hint="Name another folder, or use --overwrite.")
