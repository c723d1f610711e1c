"""A folder that appears whole or not at all.

Files are written to a hidden folder beside the target, which takes the target's name at the end by one rename. If
anything fails or the run is stopped, the hidden folder is removed; what a killed process left behind is removed by
the next run to the same target.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import FileError, ParameterError

__all__ = ["check_target", "staged"]


@contextmanager
def staged(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a folder to write to; it becomes `target` if the block ends well."""
    target = target.absolute()
    check_target(target, overwrite=overwrite)
    stage = _make_stage(target)
    try:
        yield stage
        _swap(stage, target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a target that is in use, before any work is done."""
    if target.is_file():
        raise FileError(str(target), "must be a folder to write the release to", got="a file")
    if not target.exists() or not any(target.iterdir()):
        return
    if not overwrite:
        raise FileError(
            str(target), "already holds files", hint="Name another folder, or allow overwriting (--overwrite)."
        )
    strange = [path.name for path in target.iterdir() if not _belongs(path)]
    if strange or not (target / "manifest.json").is_file():
        raise ParameterError(
            str(target),
            "can be overwritten only if it holds a release (manifest.json) and nothing else",
            got=f"{len(strange)} other files",
            hint="Name another folder.",
        )


def _belongs(path: Path) -> bool:
    return path.name in ("manifest.json", "report.html", "internal") or path.stem == "release"


def _make_stage(target: Path) -> Path:
    stage = target.parent / f".{target.name}.partial-{os.getpid()}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        stage.mkdir()
        (stage / "internal").mkdir(mode=0o700)
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
