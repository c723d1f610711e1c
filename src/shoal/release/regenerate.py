"""Make table, manifest and report of a release again from the original, and compare them whole.

The evidence is written by the same code that wrote it (`write_evidence`), with the key and the day of the replay file
and the decision of the manifest; then every byte must be the same. A synthetic table can't be drawn again, as its
protective noise is never kept; what can be checked of it is which file it was fitted to.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from shoal.files import sha256
from shoal.release.layout import MANIFEST, REPORT
from shoal.release.manifest import commitment, fingerprint
from shoal.release.replay import replay
from shoal.release.write import keeps_bound, write_evidence, write_released
from shoal.report.signing import Decision

__all__ = ["Repeated", "fits_input", "repeat"]

_MOST_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """What came out when the run was repeated.

    Parameters
    ----------
    claims
        The claims of the repeated run.
    same_input, same_table, keeps_bound
        Whether the commitment fits, the table has the same bytes, and the proved bound holds for every record.
    manifest, report
        What differs, in words; empty where every byte is the same.
    """

    claims: tuple[Mapping[str, Any], ...]
    same_input: bool
    same_table: bool
    keeps_bound: bool
    manifest: str
    report: str


def repeat(folder: Path, path: Path, recorded: Mapping[str, Any], words: Mapping[str, Any], original: Path) -> Repeated:
    """Repeat the run that the replay file `path` records, and compare with what lies in `folder`."""
    release = replay(path, input=original)
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch) / str(words["output"]["file"])
        write_released(release, table)
        decided = Decision.from_dict(words["decision"]) if "decision" in words else None
        created = recorded.get("created", words.get("created"))
        write_evidence(release, table, key=recorded["key"], created=created, decision=decided)
        return Repeated(
            claims=tuple(claim.to_dict() for claim in release.claims),
            same_input=commitment(fingerprint(release), recorded["key"]) == _committed(words),
            same_table=sha256(table) == sha256(folder / table.name),
            keeps_bound=keeps_bound(release),
            manifest=_manifest_difference(table.with_name(MANIFEST), folder / MANIFEST),
            report=_report_difference(table.with_name(REPORT), folder / REPORT),
        )


def fits_input(original: Path, recorded: Mapping[str, Any], words: Mapping[str, Any]) -> bool:
    """Whether the manifest's commitment is to this file."""
    return bool(commitment(sha256(original), recorded["key"]) == _committed(words))


def _committed(words: Mapping[str, Any]) -> Any:
    given = words.get("input")
    return given.get("commitment") if isinstance(given, dict) else None


def _manifest_difference(again: Path, there: Path) -> str:
    if again.read_bytes() == there.read_bytes():
        return ""
    first, second = json.loads(again.read_bytes()), json.loads(there.read_bytes())
    named = list(islice(_differing(first, second, ""), _MOST_NAMED))
    return f"other entries: {', '.join(named)}" if named else "the same entries in other bytes"


def _differing(first: Any, second: Any, place: str) -> Iterator[str]:
    """The names of the entries that differ, as in ``risk.linkage.share``."""
    if isinstance(first, dict) and isinstance(second, dict):
        for name in (*first, *(name for name in second if name not in first)):
            if name not in first or name not in second:
                yield f"{place}{name}"
            else:
                yield from _differing(first[name], second[name], f"{place}{name}.")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for i, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from _differing(one, other, f"{place}{i}.")
    elif type(first) is not type(second) or first != second:
        yield place.removesuffix(".")


def _report_difference(again: Path, there: Path) -> str:
    """The section in which the pages begin to differ."""
    first = again.read_bytes()
    second = there.read_bytes() if there.is_file() else b""
    if first == second:
        return ""
    at = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
    before = re.findall(rb'<section id="([a-z]+)"', first[:at])
    return f"other bytes from section '{before[-1].decode()}' on" if before else "other bytes"
