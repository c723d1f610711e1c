"""The two folders of a release, which appear together or not at all (`shoal.files.atomic_folder`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import FileError
from shoal.files import atomic_folder
from shoal.release.layout import FORMER, MANIFEST, MODEL, REPLAY, REPORT, SIGNATURE, inside_of, is_part, is_table, place

__all__ = ["check_target", "replaced", "staged"]


def _belongs(path: Path) -> bool:
    return path.name in (MANIFEST, REPORT, SIGNATURE, FORMER) or is_table(path.name) or is_part(path.name)


_OUTSIDE = atomic_folder.Contents(name="release", sign=MANIFEST, belongs=_belongs)
_INSIDE = atomic_folder.Contents(
    name="release's inside files",
    sign=REPLAY,
    belongs=lambda path: path.name in (REPLAY, REPORT, MODEL),
    private=True,
)


@contextmanager
def staged(target: Path, *, overwrite: bool) -> Iterator[tuple[Path, Path]]:
    """Give a folder for what may leave and a private one for what may not.

    They become `target` and the folder beside it if the block ends well.
    """
    check_target(target, overwrite=overwrite)
    targets = [(place(target), _OUTSIDE), (inside_of(target), _INSIDE)]
    with atomic_folder.staged_together(targets, overwrite=overwrite) as (outside, inside):
        yield outside, inside


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """Give a folder that takes the place of what may leave if the block ends well; what stays inside is untouched."""
    with atomic_folder.staged(place(target), _OUTSIDE, overwrite=True) as stage:
        yield stage


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a target that is in use, or whose folder for inside files is, before any work is done."""
    outside, inside = place(target), inside_of(target)
    atomic_folder.roll_back([outside, inside])
    atomic_folder.check_target(outside, _OUTSIDE, overwrite=overwrite)
    if not overwrite and not outside.exists() and (inside / REPLAY).is_file():
        raise FileError(
            str(inside),
            "holds the internal files of a release that is not next to it",
            hint="Was a run stopped, or the release moved? Move this folder too, or use --overwrite.",
        )
    atomic_folder.check_target(inside, _INSIDE, overwrite=overwrite)
