"""Check a release again: count k, l and t on the table alone, or make all of it again from the original.

**Count.** Which column and whose numbers a claim is about are fields of the claim (`column`, `unit`); no sentence is
read. What counts persons can't be shown by the table, which has lost the unit column, but for distinct values: a value
is there or not, whoever has it.

**Make again.** Table, manifest and report are made from the original and compared whole. The evidence is written by the
same code that wrote it (`write_evidence`), with the key and the day of the replay file and the decision of the
manifest; then every byte must be the same. A synthetic table can't be drawn again, as its protective noise is never
kept; what can be checked of it is which file it was fitted to.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import polars as pl

from shoal.arrays import FloatArray
from shoal.condition.attackers import Attacker, RiskLimit, risk_limits, worst_risks
from shoal.engine import GROUPED, ROWS, Engine, Inputs, Relation
from shoal.equivalence import Contents, codes, contents_of, ranks
from shoal.files import sha256
from shoal.frame import enter, series
from shoal.recipe.rules import breaking
from shoal.release.contents import parts_of
from shoal.release.folders import MANIFEST, REPORT, is_parts
from shoal.release.manifest import commitment, fingerprint, replay
from shoal.release.on_engine.make import repeat_files
from shoal.release.write import keeps_bound, write_evidence, write_released
from shoal.report.decision import Decision
from shoal.risk.class_sizes import counted_contents, table_classes
from shoal.schema import Column, Schema

__all__ = ["Parts", "Recount", "Repeated", "fits_input", "recount", "repeat", "repeat_parts"]

_SLACK = 1e-9  # against the rounding of entropies and distances


@dataclass(frozen=True, slots=True, kw_only=True)
class Recount:
    """What the table shows of one claim."""

    holds: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A released table in several files, which an engine counts without holding it."""

    engine: Engine
    relation: Relation
    n: int

    @classmethod
    def of(cls, engine: Engine, folder: Path, names: Sequence[str]) -> Parts:
        """The table that these files of a folder hold."""
        relation = engine.scan(Inputs.listed(str(folder), [folder / name for name in names]))
        rows = engine.collect(engine.aggregate(relation, [], []))[GROUPED][0]
        return cls(engine=engine, relation=relation, n=int(rows))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.relation.columns

    def __len__(self) -> int:
        return self.n


def recount(
    claim: Mapping[str, Any],
    table: pl.DataFrame | Parts,
    schema: Schema,
    recipe: Mapping[str, Any] | None = None,
) -> Recount | None:
    """Hold `table` to a claim; None where the table alone can't show it. `recipe` tells what limits were asked for."""
    kind, unit = claim["kind"], _unit(claim)
    if kind == "k-anonymity":
        count = _k_of_parts if isinstance(table, Parts) else _k
        return count(claim, table, schema) if unit == "records" else None  # type: ignore[arg-type]
    if claim["scope"] == "per group":
        return None  # groups are not to be seen in the table
    if kind in _ATTACKERS or kind == "rules kept":
        return None if isinstance(table, Parts) else _beyond_classes(claim, table, schema, recipe or {}, unit)
    column = claim.get("column")
    if kind not in _MIXES or not isinstance(column, str) or (unit == "persons" and kind != "distinct l-diversity"):
        return None
    if column not in table.columns or column not in schema or not len(table):
        return Recount(holds=False, detail="the table has no such column")
    return _mix(claim, column, table, schema)


def _beyond_classes(
    claim: Mapping[str, Any], table: pl.DataFrame, schema: Schema, recipe: Mapping[str, Any], unit: str | None
) -> Recount | None:
    if claim["kind"] == "rules kept":
        return _rules_hold(claim, table, schema)
    return _risk(claim, table, schema, recipe) if unit == "records" else None


def _unit(claim: Mapping[str, Any]) -> str | None:
    """Whether records or persons are counted; claims of earlier versions say so in their scope."""
    former = {"per record": "records", "per person": "persons"}
    return claim.get("unit") or former.get(claim["scope"])


def _k_of_parts(claim: Mapping[str, Any], table: Parts, schema: Schema) -> Recount:
    if not schema.quasi or not set(schema.quasi) <= set(table.columns):
        return Recount(holds=False, detail="no column is said to be a quasi-identifier, or one is not there")
    counts = table.engine.count(table.relation, schema.quasi)
    sizes = table.engine.collect(table.engine.aggregate(counts, [ROWS], []))[ROWS]
    return _smallest(claim, int(sizes.min() or 0))  # type: ignore[arg-type]


def _k(claim: Mapping[str, Any], table: pl.DataFrame, schema: Schema) -> Recount:
    if not schema.quasi:
        return Recount(holds=False, detail="no column is said to be a quasi-identifier")
    return _smallest(claim, table_classes(enter(table), schema).k if len(table) else 0)


def _rules_hold(claim: Mapping[str, Any], table: pl.DataFrame, schema: Schema) -> Recount:
    """Which rows break one of the rules that the manifest lists."""
    named = {name for rule in schema.rules for name in rule.columns}
    if claim["value"] != len(schema.rules) or not named <= set(table.columns):
        return Recount(holds=False, detail="the manifest doesn't list these rules, or a column is not there")
    n = int(breaking(enter(table), schema, schema.rules).sum())
    return Recount(holds=n == 0, detail=f"{n:,} rows that break one of {len(schema.rules)} rules")


def _smallest(claim: Mapping[str, Any], k: int) -> Recount:
    return Recount(holds=k >= claim["value"], detail=f"smallest class: {k} records")


_ATTACKERS = {f"{name} risk": name for name in get_args(Attacker)}


def _risk(claim: Mapping[str, Any], table: pl.DataFrame, schema: Schema, recipe: Mapping[str, Any]) -> Recount | None:
    """The risk of the attacker that a claim names; of which share a quantile holds is told by the recipe."""
    asked, population = _asked(recipe)
    wanted = [limit for limit in asked if limit.attacker == _ATTACKERS[claim["kind"]] and limit.value == claim["value"]]
    if not schema.quasi or not len(table) or not wanted:
        return None if schema.quasi and len(table) else Recount(holds=False, detail="no class can be counted")
    frame = enter(table)
    worst = worst_risks(wanted, frame, schema, table_classes(frame, schema), population)
    holds = all(limit.holds(value) for limit, value in zip(wanted, worst, strict=True))
    return Recount(holds=holds, detail=f"counted again: {max(worst):.4g}")


def _asked(recipe: Mapping[str, Any]) -> tuple[list[RiskLimit], float | None]:
    """The limits of the last step that has some, and the size of the population that it was given."""
    limits: list[RiskLimit] = []
    population: float | None = None
    steps = recipe.get("coarsen", [])
    for step in [*(steps if isinstance(steps, list) else []), recipe]:
        words = step.get("risk", "none") if isinstance(step, Mapping) else "none"
        if words != "none":
            size = step.get("population", "none")
            limits, population = [*risk_limits(words)], None if size == "none" else float(size)
    return limits, population


def _mix(claim: Mapping[str, Any], column: str, table: pl.DataFrame | Parts, schema: Schema) -> Recount | None:
    """How mixed a sensitive column is in the worst class."""
    kind = claim["kind"]
    dtype = table.relation.types[column] if isinstance(table, Parts) else table.schema[column]
    if kind == "ordered t-closeness" and not dtype.is_numeric():
        return None  # the order of its levels is not in the file
    worst = _worst_of_all([_MIXES[kind](contents) for contents in _contents(kind, column, table, schema)], kind)
    holds = worst <= claim["value"] + _SLACK if "closeness" in kind else worst >= claim["value"] - _SLACK
    if not holds and kind == "ordered t-closeness" and schema[column].kind == "ordinal":
        return None  # its levels may be in another order than their numbers
    return Recount(holds=holds, detail=f"worst class: {worst:.4g} ({column})")


def _contents(kind: str, column: str, table: pl.DataFrame | Parts, schema: Schema) -> Iterator[Contents]:
    """The values of a sensitive column in each class, all at once or some classes at a time."""
    ordered = kind == "ordered t-closeness"
    if isinstance(table, Parts):
        as_written = Column(name=column, role="sensitive", kind="numeric" if ordered else "nominal")
        _, parts = counted_contents(table.engine, table.relation, schema.quasi, as_written, None)
        yield from (contents for contents, _ in parts)
    else:
        frame = enter(table)
        content = series(frame, column)
        yield contents_of(table_classes(frame, schema), ranks(content, None) if ordered else codes(content))


def _worst_of_all(found: Sequence[FloatArray], kind: str) -> float:
    worst = [float(of.max() if "closeness" in kind else of.min()) for of in found]
    return max(worst) if "closeness" in kind else min(worst)


def _distinct(contents: Contents) -> FloatArray:
    return contents.distinct().astype(float)


_MIXES = {
    "distinct l-diversity": _distinct,
    "entropy l-diversity": Contents.entropy,
    "equal t-closeness": Contents.variation,
    "ordered t-closeness": Contents.ordered_distance,
}


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


def repeat_parts(
    engine: Engine, folder: Path, path: Path, recorded: Mapping[str, Any], words: Mapping[str, Any], original: Path
) -> Repeated:
    """Repeat the run of an engine that the replay file `path` records, and compare with what lies in `folder`."""
    decided = Decision.from_dict(words["decision"]) if "decision" in words else None
    with tempfile.TemporaryDirectory() as scratch:
        again = Path(scratch) / "again"
        made = repeat_files(engine, path, again, input=original, decision=decided)
        bounds = {claim.value for claim in made.claims if claim.kind == "re-identification bound"}
        claimed = {claim["value"] for claim in words["claims"] if claim["kind"] == "re-identification bound"}
        return Repeated(
            claims=tuple(claim.to_dict() for claim in made.claims),
            same_input=fits_input(original, recorded, words),
            same_table={part.name: part.sha256 for part in made.parts} == parts_of(words),
            keeps_bound=all(any(bound <= value for bound in bounds) for value in claimed),
            manifest=_manifest_difference(again / MANIFEST, folder / MANIFEST),
            report=_report_difference(again / REPORT, folder / REPORT),
        )


def fits_input(original: Path, recorded: Mapping[str, Any], words: Mapping[str, Any]) -> bool:
    """Whether the manifest's commitment is to this file, or to these files."""
    digest = Inputs.of(original).sha256() if is_parts(words["output"]["file"]) else sha256(original)
    return bool(commitment(digest, recorded["key"]) == _committed(words))


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
