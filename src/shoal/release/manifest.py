"""The two records of a release: the manifest that goes out, and the replay file that stays inside.

What was measured goes into the manifest only as far as the gate lists it (`shoal.release.disclose`).

The manifest says how the table was made, what is promised and what was measured; it holds nothing that links a row to a
person. A plain hash of the input would let somebody who knows all but one cell of it confirm a guess, so the manifest
holds a keyed hash, and the key stays with the replay file. `replay` makes the table again from it, byte for byte.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import tomllib
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import tomli_w

from shoal.arrays import IntArray
from shoal.errors import ColumnError, FileError, GuaranteeError, InputError
from shoal.fact import Fact, sentences
from shoal.files import Source
from shoal.files.linked import LinkedSource
from shoal.files.source import READING
from shoal.frame import Frame, enter, series
from shoal.pseudonym import ProjectKey, Pseudonyms
from shoal.recipe import Progress, Recipe, read_recipe
from shoal.register.beside_earlier import Beside
from shoal.release.claims import checkable_rules
from shoal.release.disclose import figures, why_inside
from shoal.release.folders import GROUPS
from shoal.release.linked import read_input
from shoal.release.make import make
from shoal.release.preset_rules import preset_words, read_preset
from shoal.release.release import Release
from shoal.schema import Column, LinkedSchema, Schema
from shoal.value import text_of

if TYPE_CHECKING:
    from shoal.compliance.presets import Preset
    from shoal.release.release import Release

__all__ = [
    "ENTRIES",
    "commitment",
    "fingerprint",
    "held_preset",
    "manifest",
    "read_manifest",
    "read_replay",
    "replay",
    "replay_text",
    "versions",
]

FORMAT = 1
ENTRIES = frozenset(
    (
        *(
            "format",
            "created",
            "recipe",
            "columns",
            "removed",
            "rules",
            "schema",
            "input",
            "output",
            "preset",
            "claims",
        ),
        *("risk", "utility", "measures", "account", "notes", "pseudonyms", "register", "tables", "versions"),
        *("files", "decision", "allowed"),
    )
)
"""What a manifest has entries of; no other leaves."""


def manifest(release: Release, *, file: str, sha256: str, key: str, created: str) -> dict[str, Any]:
    """What goes out beside the table."""
    frame = release.frame
    return {
        "format": FORMAT,
        "created": created,
        "recipe": release.recipe.to_dict(),
        "columns": {c.name: column_words(c) for c in release.schema.columns if c.name in frame.columns},
        "removed": [c.name for c in release.schema.declared if c.name not in frame.columns],
        **_rules(release),
        "schema": {"sha256": release.described.fingerprint()},
        "input": {
            "commitment": commitment(fingerprint(release), key),
            "method": "HMAC-SHA-256 of the input's SHA-256, under the key in the replay file, which stays inside",
        },
        "output": {"file": file, "rows": len(frame), "columns": frame.columns, "sha256": sha256},
        **held_preset(release.preset, release.recipe, release.facts),
        "claims": [claim.to_dict() for claim in release.outside_claims],
        **_measures(release),
        **({} if release.spending is None else {"account": release.spending.to_dict()}),
        **held_allowed(release.facts),
        "notes": list(sentences(release.facts, outside=True)),
        **({} if release.pseudonyms is None else {"pseudonyms": release.pseudonyms.to_dict()}),
        **({} if release.beside is None else {"register": release.beside.outside()}),
        "versions": versions(),
    }


def column_words(column: Column) -> dict[str, Any]:
    """What a manifest says of a column."""
    role = "pseudonym" if column.pseudonym else column.role
    codes = {text_of(code): meaning for code, meaning in (column.missing_codes or {}).items()}
    return {"role": role, "kind": column.kind, **({"missing_codes": codes} if codes else {})}


def _rules(release: Release) -> dict[str, Any]:
    """The rules that the rows are said to obey; they are public knowledge."""
    rules = checkable_rules(release.pair)
    return {"rules": [rule.to_dict() for rule in rules]} if rules else {}


def allowed_columns(facts: Sequence[Fact]) -> list[str]:
    """The columns that a person looked at and allowed to leave as they are."""
    return [str(fact.values["allowed"]) for fact in facts if "allowed" in fact.values]


def held_allowed(facts: Sequence[Fact]) -> dict[str, Any]:
    """The same as an entry of a manifest, where there are some."""
    found = allowed_columns(facts)
    return {"allowed": found} if found else {}


def held_preset(preset: Preset | None, recipe: Recipe, facts: Sequence[Fact]) -> dict[str, Any]:
    """The rules that the table was held to, and which of them were found to hold."""
    if preset is None:
        return {}
    found = [fact.values for fact in facts if fact.outside and "holds" in fact.values]
    holds = {str(words["rule"]): bool(words["holds"]) for words in found}
    return {"preset": {**preset_words(preset, recipe), "holds": holds}}


def _measures(release: Release) -> dict[str, Any]:
    """The figures that the gate lists, or why none leaves."""
    if release.outside_measures is None:
        return {"measures": f"kept inside: {why_inside(release)}"}
    return figures(release.outside_measures)


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
        "schema": release.described.to_dict(),
        "versions": versions(),
    }
    if release.pseudonyms is not None:
        words["pseudonyms"] = release.pseudonyms.to_dict()
    if release.preset is not None:
        words["preset"] = preset_words(release.preset, release.recipe)
    if found := allowed_columns(release.facts):
        words["allow"] = found
    if release.beside is not None:
        words["register"] = {n: value for n, value in release.beside.to_dict().items() if value is not None}
    if source is not None:
        words["input"] |= {"path": source.path, **source.reading}
    head = "# Internal: with this file and the input anybody can link released rows to people. Never publish it.\n"
    return head + tomli_w.dumps(words)


def fingerprint(release: Release) -> str:
    """SHA-256 of the input: of the file's bytes, or of the table written as CSV where there was no file."""
    if release.source is not None:
        return release.source.sha256
    if release.linked is not None:
        each = [f"{name}\n{_as_polars(enter(table)).write_csv()}" for name, table in sorted(release.original.items())]
        return hashlib.sha256("\n".join(each).encode()).hexdigest()
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
    raise GuaranteeError("manifest", "must hold finite numbers only", got=text)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def replay(
    path: str | Path,
    table: Any = None,
    *,
    input: str | Path | None = None,
    key: ProjectKey | None = None,
    progress: Progress | None = None,
) -> Release:
    """Repeat the run that `path` (``out.internal/replay.toml``) records.

    Parameters
    ----------
    path
        The replay file of a written release.
    table
        The input table, where the run started from one in memory.
    input
        The input file, where it is no longer where it was.
    key
        The project key of the pseudonyms, where there are some; None: the one in the environment.
    """
    words = read_replay(Path(path))
    recipe, schema = read_recipe(words["recipe"]), _schema(words["schema"])
    if not recipe.repeats:
        raise InputError(
            "replay", "can't repeat a synthetic table: its protective noise is drawn once and never stored"
        )
    given = table if table is not None else _same_input(words, schema, input)
    beside = Beside.from_dict(words["register"]) if "register" in words else None
    return make(
        given,
        schema,
        recipe,
        seed=words["seed"],
        key=words["pairing"],
        preset=read_preset(words.get("preset")),
        accept=True,
        allow=words.get("allow", ()),
        pseudonyms=recorded_pseudonyms(words, key),
        beside=beside,
        groups=_recorded_groups(Path(path)),
        progress=progress,
    )


def _recorded_groups(path: Path) -> IntArray | None:
    """The groups that lie beside a replay file; None where the run finds the same again."""
    file = path.with_name(GROUPS)
    if not file.is_file():
        return None
    return pl.read_parquet(file)["group"].to_numpy().astype(np.int64)


def recorded_pseudonyms(words: Mapping[str, Any], key: ProjectKey | None) -> Pseudonyms | None:
    """The pseudonyms that a replay file names; without a key, under the one in the environment."""
    if "pseudonyms" not in words:
        return None
    return Pseudonyms.from_dict(words["pseudonyms"], key or ProjectKey.find())


def read_replay(path: Path) -> dict[str, Any]:
    """Read and check a replay file."""
    try:
        words = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(str(path), "must be a readable replay file", got=error.strerror or "") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise FileError(str(path), "must be a replay file in TOML") from None
    needed = {"seed", "pairing", "input", "recipe", "schema", "output"}
    if not needed <= set(words):
        raise FileError(str(path), f"must hold {', '.join(sorted(needed))}")
    return words


def _schema(words: Mapping[str, Any]) -> Schema | LinkedSchema:
    return LinkedSchema.from_dict(words) if "tables" in words else Schema.from_dict(words)


def _same_input(
    words: dict[str, Any], schema: Schema | LinkedSchema, input: str | Path | None
) -> Source | LinkedSource:
    recorded = words["input"]
    path = input or recorded.get("path")
    if path is None:
        raise InputError("replay", "needs the input table", hint="The input was in memory; pass it as `table`.")
    reading = {name: recorded[name] for name in READING if name in recorded}
    source = read_input(path, schema, **reading)
    if source.sha256 != recorded["sha256"]:
        raise InputError("replay", "needs the exact input file of the release", got="a file with another SHA-256")
    return source
