"""A folder that appears whole or not at all: a release, a comparison.

Files are written to a hidden folder beside the target, which takes the target's name at the end by one rename. If
anything fails or the run is stopped, the hidden folder is removed; what a killed process left behind is removed by
the next run to the same target.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import FileError, ParameterError

__all__ = ["Contents", "check_target", "staged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a folder holds, so that an older one of the same sort is known when it may be replaced.

    Parameters
    ----------
    name
        What it is called: ``"release"``.
    sign
        The file by which it is known.
    belongs
        Whether an entry of the folder is part of it.
    """

    name: str
    sign: str
    belongs: Callable[[Path], bool]


@contextmanager
def staged(target: Path, contents: Contents, *, overwrite: bool) -> Iterator[Path]:
    """Give a folder to write to; it becomes `target` if the block ends well."""
    target = target.absolute()
    check_target(target, contents, overwrite=overwrite)
    stage = _make_stage(target)
    try:
        yield stage
        _swap(stage, target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def check_target(target: Path, contents: Contents, *, overwrite: bool) -> None:
    """Refuse a target that is in use, before any work is done."""
    if target.is_file():
        raise FileError(str(target), f"must be a folder to write the {contents.name} to", got="a file")
    if not target.exists() or not any(target.iterdir()):
        return
    if not overwrite:
        raise FileError(
            str(target), "already holds files", hint="Name another folder, or allow overwriting (--overwrite)."
        )
    strange = [path.name for path in target.iterdir() if not contents.belongs(path)]
    if strange or not (target / contents.sign).is_file():
        raise ParameterError(
            str(target),
            f"can be overwritten only if it holds a {contents.name} ({contents.sign}) and nothing else",
            got=f"{len(strange)} other files",
            hint="Name another folder.",
        )


def _make_stage(target: Path) -> Path:
    stage = target.parent / f".{target.name}.partial-{os.getpid()}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        stage.mkdir()
    except OSError as error:
        raise FileError(str(target), "must be in a folder that can be written to", got=error.strerror or "") from None
    return stage


def _sweep(target: Path) -> None:
    for left in target.parent.glob(f".{target.name}.partial-*"):
        is_last_copy = left.suffix == ".old" and not target.exists()
        if not is_last_copy and not _is_alive(left.name.rpartition("-")[2].removesuffix(".old")):
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return int(pid) != os.getpid()


def _swap(stage: Path, target: Path) -> None:
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
