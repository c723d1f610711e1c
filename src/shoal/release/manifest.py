"""The two records of a release: the manifest that goes out, and the replay file that stays inside.

What was measured goes into the manifest only as far as the gate lists it (`shoal.release.disclose`).

The manifest says how the table was made, what is promised and what was measured; it holds nothing that links a row
to a person. A plain hash of the input would let somebody who knows all but one cell of it confirm a guess, so the
manifest holds a keyed hash, and the key stays with the replay file.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import tomli_w

from shoal.errors import ColumnError, FileError
from shoal.fact import sentences
from shoal.frame import Frame, enter, series
from shoal.release.disclose import figures, why_inside

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = ["ENTRIES", "commitment", "fingerprint", "manifest", "read_manifest", "replay_text", "versions"]

FORMAT = 1
ENTRIES = frozenset(
    (
        *("format", "created", "recipe", "columns", "removed", "schema", "input", "output", "preset", "claims"),
        *("risk", "utility", "measures", "account", "notes", "versions", "files", "decision"),
    )
)
"""What a manifest has entries of; no other leaves."""


def manifest(release: Release, *, file: str, sha256: str, key: str, created: str) -> dict[str, Any]:
    """What goes out beside the table."""
    frame = enter(release.table)
    return {
        "format": FORMAT,
        "created": created,
        "recipe": release.recipe.to_dict(),
        "columns": {
            c.name: {"role": c.role, "kind": c.kind} for c in release.schema.columns if c.name in frame.columns
        },
        "removed": [c.name for c in release.schema.columns if c.name not in frame.columns],
        "schema": {"sha256": release.declared.fingerprint()},
        "input": {
            "commitment": commitment(fingerprint(release), key),
            "method": "HMAC-SHA-256 of the input's SHA-256, under the key in the replay file, which stays inside",
        },
        "output": {"file": file, "rows": len(frame), "columns": frame.columns, "sha256": sha256},
        **({} if release.preset is None else {"preset": _preset(release)}),
        "claims": [claim.to_dict() for claim in release.outside_claims],
        **_measures(release),
        **({} if release.spending is None else {"account": release.spending.to_dict()}),
        "notes": list(sentences(release.facts, outside=True)),
        "versions": versions(),
    }


def _preset(release: Release) -> dict[str, Any]:
    """The rules that the table was held to, and which of them were found to hold."""
    found = [fact.values for fact in release.facts if fact.outside and "holds" in fact.values]
    return {"name": release.preset, "holds": {str(words["rule"]): bool(words["holds"]) for words in found}}


def _measures(release: Release) -> dict[str, Any]:
    """The figures that the gate lists, or why none leaves."""
    if release.kept is None:
        return {"measures": f"kept inside: {why_inside(release)}"}
    return figures(release.kept)


def replay_text(release: Release, *, file: str, sha256: str, key: str, created: str) -> str:
    """What it takes to make the table again, byte for byte: stays inside."""
    source = release.source
    words: dict[str, Any] = {
        "format": FORMAT,
        "created": created,
        "seed": release.seed,
        "pairing": release.key,
        "key": key,
        "input": {"sha256": fingerprint(release)},
        "output": {"file": file, "sha256": sha256},
        "recipe": release.recipe.to_dict(),
        "schema": release.declared.to_dict(),
        "versions": versions(),
    }
    if release.preset is not None:
        words["preset"] = release.preset
    if source is not None:
        words["input"] |= {"path": source.path, **source.reading}
    head = "# Internal: with this file and the input anybody can link released rows to people. Never publish it.\n"
    return head + tomli_w.dumps(words)


def fingerprint(release: Release) -> str:
    """SHA-256 of the input: of the file's bytes, or of the table written as CSV where there was no file."""
    if release.source is not None:
        return release.source.sha256
    return hashlib.sha256(_as_polars(enter(release.original)).write_csv().encode()).hexdigest()


def _as_polars(frame: Frame) -> pl.DataFrame:
    """The table with a column of mixed types, which only records that are left out may have, as texts."""
    try:
        return frame.to_polars()
    except Exception:  # the library's message may quote cells
        return pl.DataFrame([_readable(frame, name) for name in frame.columns])


def _readable(frame: Frame, name: str) -> pl.Series:
    try:
        return series(frame, name)
    except ColumnError:
        texts = [None if value is None else str(value) for value in frame[name].to_list()]
        return pl.Series(name, texts, dtype=pl.String)


def commitment(sha256: str, key: str) -> str:
    """A hash that proves which input was used to whoever has the key, and tells nobody else."""
    return hmac.new(bytes.fromhex(key), sha256.encode(), "sha256").hexdigest()


def versions() -> dict[str, str]:
    """What computed the release."""
    names = ("shoal", "numpy", "scipy", "numba", "polars", "narwhals")
    return {name: _version(name) for name in names}


def read_manifest(directory: Path) -> Mapping[str, Any]:
    """Read and check the manifest of a written release."""
    path = directory / "manifest.json"
    try:
        words = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except OSError as error:
        raise FileError(str(path), "must be a readable manifest of a release", got=error.strerror or "") from None
    except (ValueError, RecursionError):
        raise FileError(str(path), "must be a JSON manifest of a release") from None
    needed = {"format", "recipe", "columns", "output", "claims"}
    if not isinstance(words, dict) or not needed <= set(words) or words["format"] != FORMAT:
        raise FileError(str(path), f"must be a manifest of format {FORMAT} with {', '.join(sorted(needed))}")
    return words


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different: of two entries of one name, readers differ on which counts."""
    words = dict(pairs)
    if len(words) < len(pairs):
        raise ValueError("a name occurs twice")
    return words


def _no_number(text: str) -> Any:
    raise ValueError("NaN and infinity are no JSON")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
