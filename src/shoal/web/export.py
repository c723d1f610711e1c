"""Hand a finished release over: to a folder, or as a bundle to download.

A release arrives as it is written, in two folders beside each other, both or none, and every copied file is compared
with its source. A bundle holds either what may go out (table, report, manifest) or what stays inside, never both; equal
releases give equal bundles.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.comparison.page import COMPARISON
from shoal.errors import FileError, GuaranteeError, ParameterError
from shoal.files import atomic
from shoal.files.atomic import replacing, sha256, write_zip
from shoal.release.contents import handover, require_whole
from shoal.release.folders import inside_of, staged
from shoal.release.manifest import read_manifest
from shoal.web.job import Job

__all__ = ["bundle", "hand_over"]

_FOLDERS = {"release": "release", "compare": "comparison"}


def hand_over(job: Job, target: str | Path, overwrite: bool = False) -> Path:
    """Copy what a finished job has written to `target`, and what stays inside to the folder beside it.

    All of it arrives, or nothing.

    Parameters
    ----------
    job
        A finished release or comparison.
    target
        A folder that doesn't exist yet or is empty, or holds an older release and `overwrite` is True.

    Notes
    -----
    Every copy is read back and compared, and the folder is held to its manifest. Cost: reading it three times.
    """
    source, place = _finished(job), Path(target).expanduser().absolute()
    _check_apart(source, place)
    if not overwrite and place.is_dir() and any(place.iterdir()):
        raise FileError(str(place), "already holds files", hint="Choose another folder.")  # the page has no --overwrite
    with _staged(job, place, overwrite) as stages:
        for folder, stage in zip(_folders(job), stages, strict=True):
            for path in _files(folder):
                copy = stage / path.relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                _copy(path, copy)
        _check_release(job, stages[0])
    return place


def bundle(job: Job, internal: bool = False) -> Path:
    """A ZIP file of what may go out, or (`internal`) of what stays inside, in the job's folder."""
    source = _finished(job)
    place = job.folder / f"{source.name}-{'internal' if internal else 'external'}.zip"
    if job.kind == "release" and not internal:
        return handover(source, place, overwrite=True)
    files = _named(job, internal)
    if not files:
        raise ParameterError("bundle", "must hold at least one file", hint="This job has written no such files.")
    with replacing(place) as temporary:
        write_zip(temporary, files)
    return place


def _finished(job: Job) -> Path:
    folder = job.folder / _FOLDERS.get(job.kind, "-")
    if job.words.get("sample"):
        raise ParameterError("job", "must be a run on all rows", hint="A trial on a sample is no release.")
    if job.state != "done" or not folder.is_dir():
        raise ParameterError("job", "must be a finished release or comparison", got=job.state, hint="Run it first.")
    return folder


def _check_apart(source: Path, place: Path) -> None:
    here, there = source.resolve(), place.resolve()
    if here.is_relative_to(there) or there.is_relative_to(here.parent):
        raise ParameterError("folder", "must be outside the workbench's own folder", hint="Choose another folder.")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _folders(job: Job) -> list[Path]:
    """Where a job has written: a release to two folders, what may leave and what may not."""
    source = _finished(job)
    return [source, inside_of(source)] if job.kind == "release" else [source]


def _named(job: Job, internal: bool) -> dict[str, Path]:
    """Files that stay inside by their names in a bundle: all of a comparison, since it measures the original."""
    source, *inside = _folders(job)
    if job.kind == "compare":
        return {path.relative_to(source).as_posix(): path for path in _files(source)} if internal else {}
    return {path.relative_to(source.parent).as_posix(): path for path in _files(inside[0])}


@contextmanager
def _staged(job: Job, place: Path, overwrite: bool) -> Iterator[tuple[Path, ...]]:
    if job.kind == "release":
        with staged(place, overwrite=overwrite) as stages:
            yield stages
    else:
        with atomic.staged(place, COMPARISON, overwrite=overwrite) as stage:
            yield (stage,)


def _copy(source: Path, copy: Path) -> None:
    try:
        shutil.copyfile(source, copy)
    except OSError as error:
        raise FileError(
            str(copy.parent), "must be a folder that can be written to", got=error.strerror or ""
        ) from error
    if sha256(copy) != sha256(source):
        raise GuaranteeError(copy.name, "must be copied unchanged", hint="Nothing was written; check the disk.")


def _check_release(job: Job, stage: Path) -> None:
    if job.kind == "release":
        require_whole(stage, read_manifest(stage), "write")
