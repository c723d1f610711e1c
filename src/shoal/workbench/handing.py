"""Hand a finished release over: to a folder, or as a bundle to download.

A folder appears whole or not at all, and every copied file is compared with its source. A bundle holds either what may
go out (table, report, manifest) or what stays inside, never both; equal releases give equal bundles.
"""

from __future__ import annotations

import shutil
import zipfile
from contextlib import suppress
from pathlib import Path

from shoal.errors import FileError, GuaranteeError, ParameterError
from shoal.files.place import replacing, sha256
from shoal.release.manifest import read_manifest
from shoal.release.staging import staged
from shoal.workbench.job import Job

__all__ = ["bundle", "hand_over"]

_EARLIEST = (1980, 1, 1, 0, 0, 0)
_FOLDERS = {"release": "release", "compare": "comparison"}


def hand_over(job: Job, target: str | Path, overwrite: bool = False) -> Path:
    """Copy what a finished job has written, with its ``internal`` folder, to `target`: whole or not at all.

    Parameters
    ----------
    job
        A finished release or comparison.
    target
        A folder that doesn't exist yet or is empty, or holds an older release and `overwrite` is True.

    Notes
    -----
    Every copy is read back and compared; the table also with the hash in its manifest. Cost: reading it three times.
    """
    source, place = _finished(job), Path(target).expanduser().absolute()
    _check_apart(source, place)
    if not overwrite and place.is_dir() and any(place.iterdir()):
        raise FileError(str(place), "already holds files", hint="Name another folder.")  # the page has no --overwrite
    with staged(place, overwrite=overwrite) as stage:
        for path in _files(source):
            copy = stage / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            _copy(path, copy)
        _check_table(job, stage)
        with suppress(OSError):
            (stage / "internal").rmdir()  # made for every folder; gone where nothing is in it
    return place


def bundle(job: Job, internal: bool = False) -> Path:
    """A ZIP file of what may go out, or (`internal`) of what stays inside, in the job's folder."""
    source = _finished(job)
    files = [path for path in _files(source) if _is_internal(path, source, job) == internal]
    if not files:
        raise ParameterError("bundle", "must hold at least one file", hint="This job has written none of that sort.")
    place = job.folder / f"{source.name}-{'internal' if internal else 'external'}.zip"
    with replacing(place) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            _add(archive, path, path.relative_to(source).as_posix())
    return place


def _finished(job: Job) -> Path:
    folder = job.folder / _FOLDERS.get(job.kind, "-")
    if job.state != "done" or not folder.is_dir():
        raise ParameterError("job", "must be a finished release or comparison", got=job.state, hint="Run it first.")
    return folder


def _check_apart(source: Path, place: Path) -> None:
    here, there = source.resolve(), place.resolve()
    if here.is_relative_to(there) or there.is_relative_to(here.parent):
        raise ParameterError("folder", "must lie outside of the workbench's own", hint="Name another folder.")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _is_internal(path: Path, folder: Path, job: Job) -> bool:
    """Whether a file stays inside; all of a comparison does, since it measures the original."""
    return job.kind == "compare" or path.relative_to(folder).parts[0] == "internal"


def _copy(source: Path, copy: Path) -> None:
    try:
        shutil.copyfile(source, copy)
    except OSError as error:
        raise FileError(
            str(copy.parent), "must be a folder that can be written to", got=error.strerror or ""
        ) from error
    if sha256(copy) != sha256(source):
        raise GuaranteeError(copy.name, "must be copied as it is", hint="Nothing was written; check the disk.")


def _check_table(job: Job, stage: Path) -> None:
    if job.kind != "release":
        return
    output = read_manifest(stage)["output"]
    if sha256(stage / output["file"]) != output["sha256"]:
        raise GuaranteeError(output["file"], "must be the table of its manifest", hint="Run the release again.")


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    entry = zipfile.ZipInfo(name, date_time=_EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    with archive.open(entry, "w") as target, open(path, "rb") as source:
        shutil.copyfileobj(source, target, 1 << 20)
