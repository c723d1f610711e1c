"""Check a written release again: is the file the one that was released, and do its claims hold?

Without the original, the file, its columns and k-anonymity are checked. With the original and the internal replay
file, the run is repeated: the table must come out byte for byte, and the re-identification bound is measured again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import FileError
from shoal.files import read_table, sha256, write_table
from shoal.frame import enter
from shoal.release.manifest import commitment, fingerprint, read_manifest
from shoal.release.release import Release
from shoal.release.replaying import read_replay, replay
from shoal.release.writing import keeps_bound, smallest_class
from shoal.risk import classes
from shoal.schema import Schema

__all__ = ["Check", "Verification", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was checked; `holds` is None where it could not be."""

    name: str
    holds: bool | None
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {"name": self.name, "holds": self.holds, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All checks of a written release."""

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.holds is not False for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {"holds": self.holds, "checks": [check.to_dict() for check in self.checks]}


def verify(directory: str | Path, *, original: str | Path | None = None) -> Verification:
    """Measure a written release again.

    Parameters
    ----------
    directory
        What `Release.write` made.
    original
        The input file; with it (and ``internal/replay.toml``) the run is repeated and the proved bound is measured.
    """
    folder = Path(directory)
    words = read_manifest(folder)
    path = folder / str(words["output"]["file"])
    if path.parent != folder or not path.is_file():
        raise FileError(str(path), "must be the released table that the manifest names")
    checks = [_same_file(path, words), *_same_shape(path, words)]
    checks += [_check_claim(claim, path, words) for claim in words["claims"] if original is None or _is_counted(claim)]
    if original is not None:
        checks += _repeat(folder, Path(original), words)
        if "synthesize" in words["recipe"]:
            checks += [_check_claim(claim, path, words) for claim in words["claims"]]
    return Verification(checks=tuple(checks))


def _same_file(path: Path, words: Mapping[str, Any]) -> Check:
    same = sha256(path) == words["output"]["sha256"]
    return Check(name="file", holds=same, detail="SHA-256 as in the manifest" if same else "the file was changed")


def _same_shape(path: Path, words: Mapping[str, Any]) -> list[Check]:
    frame = read_table(path)
    columns = frame.columns == words["output"]["columns"] == list(words["output"]["columns"])
    declared = set(frame.columns) == set(words["columns"])
    gone = not set(frame.columns) & set(words.get("removed", ()))
    rows = len(frame) == words["output"]["rows"]
    return [
        Check(
            name="columns",
            holds=columns and declared and gone,
            detail=f"{len(frame.columns)} columns, no removed one among them",
        ),
        Check(name="rows", holds=rows, detail=f"{len(frame):,} rows"),
    ]


def _check_claim(claim: Mapping[str, Any], path: Path, words: Mapping[str, Any]) -> Check:
    name = f"{claim['kind']} {claim['value']:.4g}"
    if claim["kind"] == "k-anonymity" and _is_counted(claim):
        k = classes(read_table(path), _schema(words)).k
        return Check(name=name, holds=k >= claim["value"], detail=f"smallest class: {k} records")
    if _is_counted(claim):
        return _check_mix(name, claim, path, words)
    why = "about the way of drawing" if "DP" in claim["kind"] else "needs the original to measure again"
    return Check(name=name, holds=None, detail=f"{claim['basis']} at release; {why}")


def _is_counted(claim: Mapping[str, Any]) -> bool:
    """Whether the claim can be checked on the released table alone."""
    return claim["scope"] == "per record" if claim["kind"] == "k-anonymity" else claim["kind"] in _MIXES


_MIXES = {"distinct l-diversity": "distinct_l", "entropy l-diversity": "entropy_l"}


def _check_mix(name: str, claim: Mapping[str, Any], path: Path, words: Mapping[str, Any]) -> Check:
    """How mixed a sensitive column is in the worst class of the table."""
    column = str(claim["scope"]).rpartition("column ")[2]
    report = classes(read_table(path), _schema(words), sensitive=[column]).sensitive[column]
    found = float(getattr(report, _MIXES[claim["kind"]]))
    return Check(name=name, holds=found >= claim["value"] * (1 - 1e-9), detail=f"worst class: {found:.4g} ({column})")


def _schema(words: Mapping[str, Any]) -> Schema:
    return Schema.from_dict({"columns": {name: {"role": c["role"]} for name, c in words["columns"].items()}})


def _repeat(folder: Path, original: Path, words: Mapping[str, Any]) -> list[Check]:
    recorded = read_replay(folder / "internal" / "replay.toml")
    if "synthesize" in words["recipe"]:
        return [_same_original(original, recorded, words)]
    release = replay(folder / "internal" / "replay.toml", input=original)
    with tempfile.TemporaryDirectory() as scratch:
        again = Path(scratch) / str(words["output"]["file"])
        labels = release.source.labels if release.source else None
        write_table(enter(release.table).to_polars(), again, labels=labels)
        same = sha256(again) == words["output"]["sha256"]
    proof = commitment(fingerprint(release), recorded["key"]) == words["input"]["commitment"]
    claims = [claim.to_dict() for claim in release.claims] == list(words["claims"])
    recipe = release.recipe.to_dict() == words["recipe"]
    return [
        Check(name="input", holds=proof, detail="commitment in the manifest fits the original"),
        Check(name="replay", holds=same, detail="the run repeated gives the same bytes" if same else "other bytes"),
        Check(name="manifest", holds=claims and recipe, detail="recipe and claims are those of the repeated run"),
        Check(
            name="re-identification bound",
            holds=keeps_bound(release),
            detail="holds by the group formula for every record",
        ),
        *_persons(release, folder / str(words["output"]["file"])),
        *_same_claims(release, words),
    ]


def _same_claims(release: Release, words: Mapping[str, Any]) -> list[Check]:
    """Claims that only the original can show: found again by the repeated run?"""
    again = [claim.to_dict() for claim in release.claims]
    return [
        Check(
            name=f"{c['kind']} {c['value']:.4g}",
            holds=c in again,
            detail=f"found again by the repeated run ({c['basis']})",
        )
        for c in words["claims"]
        if not _is_counted(c) and c["kind"] not in ("k-anonymity", "re-identification bound")
    ]


def _same_original(original: Path, recorded: Mapping[str, Any], words: Mapping[str, Any]) -> Check:
    """A synthetic table can't be drawn again; what can be checked is which file it was fitted to."""
    proof = commitment(sha256(original), recorded["key"]) == words["input"]["commitment"]
    return Check(
        name="input", holds=proof, detail="commitment in the manifest fits the original; noise is never repeated"
    )


def _persons(release: Release, path: Path) -> list[Check]:
    """k-anonymity counted in persons, which only the original knows."""
    claimed = [c for c in release.claims if c.kind == "k-anonymity" and c.scope == "per person"]
    k = smallest_class(release, read_table(path)) if claimed else 0
    return [
        Check(name=f"k-anonymity {c.value:g}", holds=k >= c.value, detail=f"smallest class: {k} persons")
        for c in claimed
    ]
