"""Files, folders and archives that are written whole or not at all.

A folder (a comparison, a release with what stays inside): files are written to a hidden folder beside the target, which
takes the target's name at the end by one rename. If anything fails or the run is stopped, the hidden folder is removed;
what a killed process left behind is removed by the next run to the same target.

Several folders appear together: older ones are moved away first to last, new ones take their names last to first, and
if any of these renames fails, all that were made are undone. The last rename is that of the first folder: a process
killed before it leaves the first folder missing, and the next run to the same target rolls back what it did.

An archive depends on nothing but names and contents: sorted, one fixed time, one fixed mode.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import secrets
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from shoal.errors import FileError, ParameterError, ShoalError

__all__ = [
    "Contents",
    "FilePath",
    "check_readable",
    "check_target",
    "final_place",
    "replacing",
    "reporting",
    "roll_back",
    "sha256",
    "staged",
    "staged_together",
    "write_text",
    "write_zip",
]

FilePath: TypeAlias = str | os.PathLike[str]


def write_text(path: FilePath, text: str, *, durable: bool = True) -> None:
    r"""Write `text` to `path` as UTF-8 with ``\n`` line ends, whole or not at all.

    What need not outlive the machine's next crash need not be `durable`: on a busy disk that costs a fifth of a second.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise FileError(str(path), "text must be valid Unicode to be written as UTF-8") from None
    with replacing(Path(path), durable=durable) as temporary:
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
def replacing(file: Path, *, durable: bool = True) -> Iterator[Path]:
    """Give a name beside `file` to write to, then move what was written there into its place."""
    if file.is_dir():
        raise FileError(str(file), "must be a file", got="a folder", hint="Choose one file in it.")
    temporary = file.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with reporting(file):
            temporary.touch(exist_ok=False)
            yield temporary
            if durable:
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


def final_place(file: Path) -> str:
    """Where a file of a hidden folder will be in the end, for what is said about it."""
    return re.sub(r"\.([^/\\]+)\.partial-\w+", r"\1", str(file))


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


_EARLIEST = (1980, 1, 1, 0, 0, 0)
_LARGE = 1 << 30  # bytes: from here on an entry needs the 64-bit form


def write_zip(path: Path, entries: Mapping[str, Path]) -> None:
    """Write the files of `entries`, by their names in the archive, to `path`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(entries):
            _add(archive, entries[name], name)


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    entry = zipfile.ZipInfo(name, date_time=_EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    entry.create_system = 3  # the same on every system
    large = path.stat().st_size > _LARGE
    with archive.open(entry, "w", force_zip64=large) as target, open(path, "rb") as source:
        shutil.copyfileobj(source, target, 1 << 20)
