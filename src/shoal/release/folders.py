"""The two folders of a release, what may leave and what may not: they appear together or not at all.

``out/`` holds table, manifest, report and, once it is signed, the signature; ``out.internal/`` holds replay file,
internal report, model, groups, what suppression took and the public key of whoever signed. Nothing else belongs to
either, so that ``out/`` can be handed over as it is. Earlier versions kept the inside files in ``out/internal/``; they
are found there too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from shoal.engine import PART_FORMATS
from shoal.errors import FileError
from shoal.files import atomic

__all__ = [
    "FORMATS",
    "FORMER",
    "GROUPS",
    "MANIFEST",
    "MODEL",
    "REPLAY",
    "REPORT",
    "SIGNATURE",
    "SIGNER",
    "SUPPRESSION",
    "check_target",
    "inside_of",
    "is_linked",
    "is_part",
    "is_parts",
    "is_table",
    "parts_pattern",
    "place",
    "replaced",
    "replay_of",
    "staged",
]


FORMATS = ("csv", "tsv", "parquet", "dta", "sav", "xpt")
MANIFEST, REPORT, SIGNATURE = "manifest.json", "report.html", "manifest.json.minisig"
REPLAY, MODEL, SUPPRESSION, SIGNER = "replay.toml", "model.json", "suppression.json", "signer.pub"
GROUPS = "groups.parquet"
FORMER = "internal"  # where earlier versions kept the inside files, within the folder itself


def _belongs(path: Path) -> bool:
    own = path.name in (MANIFEST, REPORT, SIGNATURE, FORMER) or is_table(path.name) or is_part(path.name)
    return own or path.name in _linked(path.with_name(MANIFEST))


def _linked(manifest: Path) -> set[str]:
    """The files of linked tables that a manifest names."""
    try:
        words = json.loads(manifest.read_text(encoding="utf-8"))
        return {table["file"] for name, table in words["tables"].items() if is_linked(name, table["file"])}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


_OUTSIDE = atomic.Contents(name="release", sign=MANIFEST, belongs=_belongs)
_INSIDE = atomic.Contents(
    name="release's inside files",
    sign=REPLAY,
    belongs=lambda path: path.name in (REPLAY, REPORT, MODEL, SUPPRESSION, SIGNER, GROUPS),
    private=True,
)


@contextmanager
def staged(target: Path, *, overwrite: bool) -> Iterator[tuple[Path, Path]]:
    """Give a folder for what may leave and a private one for what may not.

    They become `target` and the folder beside it if the block ends well.
    """
    check_target(target, overwrite=overwrite)
    targets = [(place(target), _OUTSIDE), (inside_of(target), _INSIDE)]
    with atomic.staged_together(targets, overwrite=overwrite) as (outside, inside):
        yield outside, inside


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """Give a folder that takes the place of what may leave if the block ends well; what stays inside is untouched."""
    with atomic.staged(place(target), _OUTSIDE, overwrite=True) as stage:
        yield stage


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a target that is in use, or whose folder for inside files is, before any work is done."""
    outside, inside = place(target), inside_of(target)
    atomic.roll_back([outside, inside])
    atomic.check_target(outside, _OUTSIDE, overwrite=overwrite)
    if not overwrite and not outside.exists() and (inside / REPLAY).is_file():
        raise FileError(
            str(inside),
            "holds the internal files of a release that is not next to it",
            hint="Was a run stopped, or the release moved? Move this folder too, or use --overwrite.",
        )
    atomic.check_target(inside, _INSIDE, overwrite=overwrite)


def place(directory: str | PathLike[str]) -> Path:
    """The folder by its full name, however it was given: with a slash, relative, as ``"."`` or ``".."``."""
    path = Path(directory)
    return path.resolve() if path.name in ("", "..") else path.parent.resolve() / path.name


def inside_of(directory: str | PathLike[str]) -> Path:
    """The folder beside `directory` for what stays inside.

    Examples
    --------
    >>> from shoal.release.folders import inside_of
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


def is_linked(table: str, file: object) -> bool:
    """Whether a file of this name is that of a linked table."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,59}", table) is not None
    return plain and file in {f"{table}.{ending}" for ending in FORMATS}


def is_part(name: str) -> bool:
    """Whether a file of this name is one of several that hold the table of a release."""
    return re.fullmatch(rf"part-[0-9]{{5,}}\.({'|'.join(PART_FORMATS)})", name) is not None


def parts_pattern(format: str) -> str:
    """What the manifest names as the table where it lies in several files."""
    return f"part-*.{format}"


def is_parts(table: object) -> bool:
    """Whether that is what a manifest names."""
    return table in [parts_pattern(ending) for ending in PART_FORMATS]
