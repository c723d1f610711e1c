"""The folder of a release, which appears whole or not at all (`shoal.files.staging`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import FileError
from shoal.files import staging

__all__ = ["check_target", "staged"]


def _belongs(path: Path) -> bool:
    return path.name in ("manifest.json", "report.html", "internal") or path.stem == "release"


_RELEASE = staging.Contents(name="release", sign="manifest.json", belongs=_belongs)


@contextmanager
def staged(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give a folder with a private folder ``internal`` to write to; it becomes `target` if the block ends well."""
    with staging.staged(target, _RELEASE, overwrite=overwrite) as stage:
        try:
            (stage / "internal").mkdir(mode=0o700)
        except OSError as error:
            got = error.strerror or ""
            raise FileError(str(target), "must be in a folder that can be written to", got=got) from None
        yield stage


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a target that is in use, before any work is done."""
    staging.check_target(target, _RELEASE, overwrite=overwrite)
