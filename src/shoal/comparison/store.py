"""Finished recipes, kept so that an interrupted comparison goes on where it stopped.

One JSON file for each recipe, written whole or not at all. Its name is a keyed hash (HMAC-SHA-256) of the table's
content, schema, recipe, seed and version, under a key that is drawn when the folder is made and stays in it: the names
alone tell nobody which table it was. The numbers inside compare with the original, so the folder is internal.
"""

from __future__ import annotations

import hmac
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal import __version__
from shoal.comparison.outcome import Outcome
from shoal.errors import FileError, ShoalError
from shoal.files import write_text
from shoal.recipe import Recipe
from shoal.rng import fresh_key, fresh_seed
from shoal.schema import LinkedSchema, Schema

__all__ = ["Store"]

_SECRET = "secret.json"
_README = """Finished recipes of a comparison. Internal: keep this folder in the secure environment, or delete it.

secret.json holds the key that names the files and the seed of the trial releases. A release that is published must be
made anew, without that seed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A folder of finished recipes, or none.

    Parameters
    ----------
    folder
        Where they lie; None keeps nothing.
    key, seed
        The key of the hashes, and the seed of the first run in this folder that named none.
    """

    folder: Path | None
    key: str
    seed: int

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | None) -> Store:
        """Open the folder, or make it."""
        if folder is None:
            return cls(folder=None, key=fresh_key(), seed=fresh_seed())
        place = Path(folder)
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(str(place), "must be a folder that can be written to", got=_said(error)) from None
        secret = _secret(place)
        return cls(folder=place, key=secret["key"], seed=secret["seed"])

    def path(self, table: str, schema: Schema | LinkedSchema, recipe: dict[str, Any], seed: int) -> Path | None:
        """Where the outcome of a recipe is kept; `table` is a digest of the content."""
        if self.folder is None:
            return None
        what = json.dumps([table, schema.to_dict(), recipe, seed, __version__], ensure_ascii=False)
        name = hmac.new(bytes.fromhex(self.key), what.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
        return self.folder / f"{name}.json"


def read_stored(path: Path | None) -> dict[str, Any] | None:
    """What was kept under that name; None where there is nothing, or nothing that can be read."""
    if path is None or not path.is_file():
        return None
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return words if isinstance(words, dict) else None


def stored_outcome(path: Path | None, recipe: Recipe, time_limit: float) -> Outcome | None:
    """An earlier outcome that still stands: done, refused, or out of a time that was no shorter than now."""
    words = read_stored(path)
    if words is None:
        return None
    try:
        one = Outcome.from_dict(words)
    except (ShoalError, KeyError, TypeError, ValueError, AttributeError):
        return None
    stands = one.state in ("done", "refused") or (one.state == "out of time" and one.seconds >= time_limit)
    return replace(one, recipe=recipe) if stands and one.recipe.to_dict() == recipe.to_dict() else None


def write_stored(path: Path | None, words: dict[str, Any]) -> None:
    """Keep words under that name, if anything is kept."""
    if path is not None:
        write_text(path, json.dumps(words, ensure_ascii=False, indent=1) + "\n")


def _secret(place: Path) -> dict[str, Any]:
    """Key and seed of the folder, made when there are none."""
    path = place / _SECRET
    words = read_stored(path)
    if words is not None and _is_secret(words):
        return words
    if any(item.suffix == ".json" for item in place.iterdir()):
        raise FileError(
            str(place), f"holds JSON files without a readable {_SECRET}", hint="Choose another folder, or empty it."
        )
    made = {"key": fresh_key(), "seed": fresh_seed()}
    write_text(place / "README.txt", _README)
    write_text(path, json.dumps(made) + "\n")
    path.chmod(0o600)
    return made


def _is_secret(words: dict[str, Any]) -> bool:
    key, seed = words.get("key"), words.get("seed")
    is_key = isinstance(key, str) and len(key) == 64 and all(letter in "0123456789abcdef" for letter in key)
    return is_key and isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0


def _said(error: OSError) -> str:
    return (error.strerror or "").lower()
