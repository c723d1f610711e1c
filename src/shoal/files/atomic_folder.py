"""Folders that appear whole or not at all: a comparison, a release with what stays inside.

Files are written to a hidden folder beside the target, which takes the target's name at the end by one rename. If
anything fails or the run is stopped, the hidden folder is removed; what a killed process left behind is removed by
the next run to the same target.

Several folders appear together: older ones are moved away first to last, new ones take their names last to first, and
if any of these renames fails, all that were made are undone. The last rename is that of the first folder: a process
killed before it leaves the first folder missing, and the next run to the same target rolls back what it did.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import FileError, ParameterError

__all__ = ["Contents", "check_target", "roll_back", "staged", "staged_together"]


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
    private
        Whether only the owner may read it: the folder has mode 0700, its files 0600.
    """

    name: str
    sign: str
    belongs: Callable[[Path], bool]
    private: bool = False


@contextmanager
def staged(target: Path, contents: Contents, *, overwrite: bool) -> Iterator[Path]:
    """Give a folder to write to; it becomes `target` if the block ends well."""
    with staged_together([(target, contents)], overwrite=overwrite) as (stage,):
        yield stage


@contextmanager
def staged_together(targets: Sequence[tuple[Path, Contents]], *, overwrite: bool) -> Iterator[list[Path]]:
    """Give a folder to write to for each target; all become the targets if the block ends well, or none does."""
    places = [target.absolute() for target, _ in targets]
    roll_back(places)
    for place, (_, contents) in zip(places, targets, strict=True):
        check_target(place, contents, overwrite=overwrite)
    with ExitStack() as stack:
        stages = [_stage(place, str(os.getpid())) for place in places]
        for place, stage, (_, contents) in zip(places, stages, targets, strict=True):
            stack.callback(shutil.rmtree, stage, ignore_errors=True)  # before it is made: a stop may come in between
            _make_stage(stage, place, private=contents.private)
        yield stages
        for stage, (_, contents) in zip(stages, targets, strict=True):
            if contents.private:
                _close(stage)
        _swap(stages, places)


def check_target(target: Path, contents: Contents, *, overwrite: bool) -> None:
    """Refuse a target that is in use, before any work is done."""
    if target.is_file():
        raise FileError(str(target), f"must be a folder to write the {contents.name} to", got="a file")
    if not target.exists() or not any(target.iterdir()):
        return
    if not overwrite:
        raise FileError(str(target), "already holds files", hint="Choose another folder, or use --overwrite.")
    strange = [path.name for path in target.iterdir() if not contents.belongs(path)]
    if strange or not (target / contents.sign).is_file():
        raise ParameterError(
            str(target),
            f"can be overwritten only if it holds a {contents.name} ({contents.sign}) and nothing else",
            got=f"{len(strange)} other files",
            hint="Choose another folder.",
        )


def _make_stage(stage: Path, target: Path, *, private: bool) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        stage.mkdir(mode=0o700 if private else 0o777)
    except OSError as error:
        raise FileError(str(target), "must be in a folder that can be written to", got=error.strerror or "") from None


def _sweep(target: Path) -> None:
    for left in _left_over(target):
        shutil.rmtree(left, ignore_errors=True)


def roll_back(targets: Sequence[Path]) -> None:
    """Undo the renames of a run that was killed before its last one."""
    if targets[0].exists():
        return
    for pid in {_pid(left) for left in _left_over(targets[0])}:
        for target in targets:
            old = _old(_stage(target, pid))
            if old.exists():
                shutil.rmtree(target, ignore_errors=True)  # the new one, which came into place too early
                old.rename(target)


def _left_over(target: Path) -> list[Path]:
    """What dead processes have left beside `target`."""
    found = target.parent.glob(f".{glob.escape(target.name)}.partial-*")
    return [path for path in found if not _is_alive(_pid(path))]


def _stage(target: Path, pid: str) -> Path:
    return target.parent / f".{target.name}.partial-{pid}"


def _old(stage: Path) -> Path:
    return stage.with_name(f"{stage.name}.old")


def _pid(stage: Path) -> str:
    return stage.name.rpartition("-")[2].removesuffix(".old")


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return int(pid) != os.getpid()


def _close(stage: Path) -> None:
    """Let nobody but the owner read."""
    for path in stage.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def _swap(stages: Sequence[Path], targets: Sequence[Path]) -> None:
    olds = [_old(stage) for stage in stages]
    with ExitStack() as undo:
        for target, old in zip(targets, olds, strict=True):
            if target.exists():
                _move(target, old, undo)
        for stage, target in reversed(list(zip(stages, targets, strict=True))):
            _move(stage, target, undo)
        undo.pop_all()  # all are in place
    for old in olds:
        shutil.rmtree(old, ignore_errors=True)


def _move(source: Path, target: Path, undo: ExitStack) -> None:
    source.rename(target)
    undo.callback(target.rename, source)
