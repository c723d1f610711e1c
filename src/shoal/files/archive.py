"""ZIP files that depend on nothing but names and contents: sorted, one fixed time, one fixed mode."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["write_zip"]

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
