"""A copy of an opened table in the private room, which a job reads in a blink.

The copy is an Arrow file of the very frame that was read, beside what was found out about its file. It stands for
the file only as long as the file is the one that was opened (`shoal.web.inspect.check_unchanged`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.files import Labels, Source
from shoal.files.atomic import write_text
from shoal.files.source import READING
from shoal.web.inspect import Opened, check_unchanged

__all__ = ["keep_table", "source_of"]

_TABLE, _ABOUT = "table.arrow", "about.json"


def keep_table(source: Source, folder: Path) -> Path | None:
    """Keep a copy of `source` in `folder`; None where it can't be kept, which does no harm."""
    place = folder / "kept"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        source.frame.write_ipc(place / _TABLE)
        write_text(place / _ABOUT, json.dumps(_words(source)))
    except Exception:  # a full disk, a type that Arrow doesn't hold
        (place / _TABLE).unlink(missing_ok=True)
        return None
    return place


def source_of(opened: Opened) -> Source:
    """The table of an opened file, from its copy or from the file itself; an error if the file has changed."""
    from shoal.files import read_source

    check_unchanged(opened)
    source = _copy(opened) or read_source(opened.path, **opened.asked)
    check_unchanged(opened)
    return source


def _copy(opened: Opened) -> Source | None:
    if opened.kept is None:
        return None
    place = Path(opened.kept)
    try:
        words = json.loads((place / _ABOUT).read_text(encoding="utf-8"))
        frame = pl.read_ipc(place / _TABLE)
    except Exception:  # gone or harmed: the file itself is still there
        return None
    return Source(frame=frame, labels=_labels(words.pop("labels")), path=opened.path, **words)


def _words(source: Source) -> dict[str, Any]:
    names = ("format", "sha256", *READING)
    words: dict[str, Any] = {name: getattr(source, name) for name in names}
    return {**words, "labels": None if source.labels is None else _label_words(source.labels)}


def _label_words(labels: Labels) -> dict[str, Any]:
    """Codes may be numbers, which are no names in JSON: each with its meaning in a pair."""
    values = {name: [[code, meaning] for code, meaning in codes.items()] for name, codes in labels.values.items()}
    return {"columns": dict(labels.columns), "values": values}


def _labels(words: Mapping[str, Any] | None) -> Labels | None:
    if words is None:
        return None
    return Labels(columns=words["columns"], values={name: dict(pairs) for name, pairs in words["values"].items()})
