"""Where the files of a release lie: what may leave in one folder, what may not in another beside it.

``out/`` holds table, manifest, report and, once it is signed, the signature; ``out.internal/`` holds replay file,
internal report and model. Nothing else belongs to either, so that ``out/`` can be handed over as it is. Earlier
versions kept the inside files in ``out/internal/``; they are found there too.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

__all__ = [
    "FORMATS",
    "FORMER",
    "MANIFEST",
    "MODEL",
    "PARTS",
    "REPLAY",
    "REPORT",
    "SIGNATURE",
    "inside_of",
    "is_part",
    "is_table",
    "place",
    "replay_of",
]

FORMATS = ("csv", "tsv", "parquet", "dta", "sav", "xpt")
PARTS = "part-*.parquet"
"""What the manifest names as the table where it lies in several files."""
MANIFEST, REPORT, SIGNATURE = "manifest.json", "report.html", "manifest.json.minisig"
REPLAY, MODEL = "replay.toml", "model.json"
FORMER = "internal"  # where earlier versions kept the inside files, within the folder itself


def place(directory: str | PathLike[str]) -> Path:
    """The folder by its full name, however it was given: with a slash, relative, as ``"."`` or ``".."``."""
    path = Path(directory)
    return path.resolve() if path.name in ("", "..") else path.parent.resolve() / path.name


def inside_of(directory: str | PathLike[str]) -> Path:
    """The folder beside `directory` for what stays inside.

    Examples
    --------
    >>> from shoal.release.layout import inside_of
    >>> inside_of("results/out/").name
    'out.internal'
    """
    folder = place(directory)
    return folder.parent / f"{folder.name}.internal"


def replay_of(directory: str | PathLike[str]) -> Path:
    """The replay file of a release; where an earlier version put it, if it lies only there."""
    now, before = inside_of(directory) / REPLAY, place(directory) / FORMER / REPLAY
    return before if before.is_file() and not now.exists() else now


def is_table(name: str) -> bool:
    """Whether a file of this name is the table of a release."""
    return name in {f"release.{ending}" for ending in FORMATS}


def is_part(name: str) -> bool:
    """Whether a file of this name is one of several that hold the table of a release."""
    return re.fullmatch(r"part-[0-9]{5,}\.parquet", name) is not None
