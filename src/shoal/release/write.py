"""Write a release with its evidence, read it back, measure it again, and leave nothing if a claim fails.

Two reports are drawn, from everything for inside and from what the gate lets through for outside. Evidence for outside
is gathered from the kept records alone (`shoal.release.disclose`), so a page drawn from it can't tell of anybody who
was left out. Where no comparison may leave, it holds none: whoever asks it for one gets an error and not a number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal import report
from shoal.conform import with_persons
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Step, sentences
from shoal.files import Labels, read_table, sha256, write_table, write_text
from shoal.frame import enter, series
from shoal.release.disclose import Measured, rounded, why_inside
from shoal.release.folders import FORMATS, GROUPS, MANIFEST, MODEL, REPLAY, REPORT, SUPPRESSION, inside_of, staged
from shoal.release.hierarchical_risk import hierarchy_of
from shoal.release.linked import require_linked, table_words, write_linked
from shoal.release.manifest import manifest, read_manifest, replay_text, versions
from shoal.report.bands import Bands
from shoal.report.correlation import Correlations
from shoal.report.decision import Decision, with_decision
from shoal.report.marginal import Marginal
from shoal.report.what_was_done import accounts_of
from shoal.report.who_stands_out import standing_of
from shoal.risk.class_sizes import table_classes
from shoal.rng import fresh_key, is_repeatable

if TYPE_CHECKING:
    from shoal.release.release import Release
    from shoal.utility.suppressed import SuppressionLoss

__all__ = [
    "FORMATS",
    "check_written",
    "gathered",
    "keeps_bound",
    "manifest_text",
    "smallest_class",
    "write",
    "write_evidence",
    "write_released",
    "write_suppression",
]


def write(release: Release, directory: Path, *, format: str, overwrite: bool, progress: Callable[[str], None]) -> Path:
    """Write `release` to `directory` and what stays inside to the folder beside it, or raise and leave both as they
    were.
    """
    if format not in FORMATS:
        raise ParameterError("write", f"format must be one of {', '.join(FORMATS)}", got=repr(format)[:40])
    _check_not_input(release, directory)
    _require_secret(release)
    with staged(directory, overwrite=overwrite) as (stage, inside):
        release.measure(progress=progress)
        progress("writing")
        table = stage / f"{release.stem}.{format}"
        write_released(release, table)
        progress("verifying")
        check_written(release, table)
        progress("reporting")
        created, key = datetime.now(UTC).date().isoformat(), fresh_key()
        evidence = write_evidence(release, table, key=key, created=created)
        _write_inside(release, inside, evidence, table, key=key, created=created)
        if release.entry is not None:  # before the folders appear: what left without an entry could not be called back
            release.entry.enter(stage, directory, read_manifest(stage), _levels(release))
    if release.paid is not None:
        release.paid.forget()
    return directory


def _levels(release: Release) -> Mapping[str, Any]:
    """The levels that columns were written at, where a method chose some."""
    return {name: level for step in release.steps for name, level in (step.outside.get("levels") or {}).items()}


def write_released(release: Release, path: Path) -> None:
    """Write the released table, with the labels that its file came with, and those that are linked to it."""
    table = release.in_file_types()
    write_table(table, path, labels=_labels(release, table))
    write_linked(release, path)


def _labels(release: Release, table: pl.DataFrame) -> Labels | None:
    """The labels of the input's file, of codes that the schema declares or the release holds: others tell of others.

    Codes for an absence, which the schema declares, come with their meaning and are marked as such.
    """
    own = release.source.labels if release.source is not None else None
    declared = [release.declared[name] for name in table.columns if name in release.declared]
    codes = {column.name: column.missing_codes for column in declared if column.missing_codes}
    if own is None and not codes:
        return None
    labels = own or Labels()
    known = {name: _known_codes(release, table, name) for name in labels.values if name in table.columns}
    values = {
        name: {code: text for code, text in labels.values[name].items() if code in there}
        for name, there in known.items()
    }
    meanings = {name: {**found, **values.get(name, {})} for name, found in codes.items()}
    return replace(labels, values=values | meanings, missing={name: tuple(found) for name, found in codes.items()})


def _known_codes(release: Release, table: pl.DataFrame, name: str) -> set[Any]:
    declared = release.declared[name]
    return {*table[name].unique().to_list(), *(declared.levels or ()), *(declared.missing_codes or ())}


def check_written(release: Release, path: Path) -> None:
    """Measure the file again; a claim that does not hold is a GuaranteeError."""
    memory = release.frame
    written = read_table(path, codes=None)
    _require(written.columns == memory.columns, "must hold exactly the released columns")
    _require(len(written) == len(memory), "must hold exactly the released rows")
    for name in release.schema.quasi:
        same = _plain(written[name], series(memory, name).dtype).equals(_plain(series(memory, name)))
        _require(same, f"must read back column '{name}' as it was released")
    for claim in release.claims:
        if claim.kind == "k-anonymity":
            _require(smallest_class(release, written) >= claim.value, f"must be {claim.value:g}-anonymous")
    _require(keeps_bound(release), "must keep the re-identification bound for every record")
    require_linked(release, path)


def keeps_bound(release: Release) -> bool:
    """Whether the group formula of every record is within the bound that the release claims, if it claims one."""
    by_group = release.risk.reidentification.by_group
    claimed = [claim.value for claim in release.claims if claim.kind == "re-identification bound"]
    if not claimed:
        return True
    return by_group is not None and by_group.holds and all(by_group.bound <= value for value in claimed)


def write_evidence(
    release: Release, table: Path, *, key: str, created: str, decision: Decision | None = None
) -> report.Evidence:
    """Write report and manifest beside the written `table`: the same release, key, day and decision, the same bytes.

    The manifest holds the SHA-256 of the other files that leave, so that who signs it signs them all.
    """
    digest = sha256(table)
    words = manifest(release, file=table.name, sha256=digest, key=key, created=created)
    tables = table_words(release, table)
    words |= {"tables": tables} if tables else {}
    inside, outside = gathered(release, words, digest)
    page = with_decision(report.render(outside, "external"), decision)
    write_text(table.with_name(REPORT), page)
    events = {one["file"]: one["sha256"] for one in tables.values() if "parent" in one}
    words["files"] = {table.name: digest, **events, REPORT: sha256(table.with_name(REPORT))}
    if decision is not None:
        words["decision"] = decision.to_dict()
    write_text(table.with_name(MANIFEST), manifest_text(words))
    return inside


def manifest_text(words: Mapping[str, Any]) -> str:
    """The manifest as it is written."""
    return json.dumps(words, indent=2, ensure_ascii=False) + "\n"


def _write_inside(
    release: Release, inside: Path, evidence: report.Evidence, table: Path, *, key: str, created: str
) -> None:
    """Write what must not leave: replay file, internal report, and the model where there is one to keep."""
    text = replay_text(release, file=table.name, sha256=sha256(table), key=key, created=created)
    write_text(inside / REPLAY, text)
    if release.recipe.records_groups:
        pl.DataFrame({"group": release.labels}).write_parquet(inside / GROUPS)
    if release.model is not None:
        with suppress(GuaranteeError):  # a model that is the data itself is not kept
            release.model.save(inside / MODEL, internal=True)
    facts: dict[str, Any] = {"seed": release.seed, "replay": f"{REPLAY}, beside this page", "labels": release.labels}
    if release.beside is not None:
        facts |= {"register": release.beside.ledger, "entered as": f"release {release.beside.release}"}
    if release.pair.is_of_people and release.schema.quasi:
        facts["standing"] = standing_of(release.pair, release.risk)
        facts |= hierarchy_of(release)
    if release.suppression is not None:
        facts["suppression"] = release.suppression
        write_suppression(inside, release.suppression)
    own = replace(evidence, warnings=release.inside_warnings)
    write_text(inside / REPORT, report.render(own, "internal", internal=facts))


def write_suppression(inside: Path, loss: SuppressionLoss) -> None:
    """Write what suppression took to the folder that stays inside."""
    write_text(inside / SUPPRESSION, json.dumps(loss.to_dict(), indent=2, ensure_ascii=False) + "\n")


def smallest_class(release: Release, written: pl.DataFrame) -> int:
    """k of the written table, in persons where the schema names a unit."""
    unit = release.schema.unit
    if unit is None:
        return table_classes(enter(written), release.schema).k
    own, _ = with_persons(enter(release.original), release.declared)
    people = series(own, unit).gather(release.source_rows)
    return table_classes(enter(written.with_columns(people.alias(unit))), release.schema).k


def _plain(column: pl.Series, dtype: Any = None) -> pl.Series:
    """A column as plain as a text file can hold it: empty text is missing, categories are texts."""
    target = column.dtype if dtype is None else dtype
    if target in (pl.Categorical, pl.Enum):
        target = pl.String
    plain = column.cast(target, strict=False).alias("")
    return plain.replace("", None) if target == pl.String else plain


def _check_not_input(release: Release, directory: Path) -> None:
    if release.source is None or release.source.path is None:
        return
    source, targets = Path(release.source.path).resolve(), (directory.resolve(), inside_of(directory).resolve())
    if any(source == target or target in source.parents for target in targets):
        raise ParameterError(
            "write", "output must be neither the input nor a folder that contains it", hint="Choose another folder."
        )


def _require_secret(release: Release) -> None:
    """Neither the pairing nor the key of the commitment may follow from a seed."""
    if release.repeatable or is_repeatable():
        raise GuaranteeError(
            "write",
            "must not write a release whose key follows from a seed",
            hint="Make and write it outside `shoal.rng.repeatable`, which is for studies.",
        )


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise GuaranteeError("written table", rule, hint="Nothing was released.")


def gathered(release: Release, words: Mapping[str, Any], digest: str) -> tuple[report.Evidence, report.Evidence]:
    """The evidence for inside and for outside; `words` is the manifest, `digest` the hash of the released table."""
    common = {
        "recipe": words["recipe"],
        "k": release.small_cell,
        "hidden": 1 if release.recipe.perturbs else release.recipe.k,
        "versions": versions(),
        "created": words["created"],
        "hashes": {"released table, SHA-256": digest, "input, keyed hash": words["input"]["commitment"]},
        "leaves_out": release.leaves_out,
        "withheld": why_inside(release),
        "warnings": release.warnings,
        "tables": words.get("tables", {}),
        "population": release.recipe.population_size,
    }
    inside = report.gather(
        release.pair,
        claims=release.claims,
        risk=release.risk,
        utility=release.utility,
        steps=release.steps,
        notes=release.notes,
        quality=release.quality,
        usefulness=release.usefulness,
        **common,
    )
    return inside, _outside(release, inside, common)


def _outside(release: Release, inside: report.Evidence, common: Mapping[str, Any]) -> report.Evidence:
    found = release.outside_measures
    if found is None:
        return _without_comparisons(release, _for_outside(release, inside))
    same = found.pair.original.n == release.prepared.n
    whole = inside if same else _without_left_out(release, found, common)
    return _rounded(_for_outside(release, whole), found)


def _without_left_out(release: Release, found: Measured, common: Mapping[str, Any]) -> report.Evidence:
    return report.gather(
        found.pair, claims=release.claims, risk=found.risk, utility=found.utility, steps=(), notes=(), **common
    )


def _for_outside(release: Release, evidence: report.Evidence) -> report.Evidence:
    """The same with the facts that may leave, and with no row but the released ones."""
    n = evidence.n_released
    return replace(
        evidence,
        claims=release.outside_claims,
        notes=sentences(release.facts, outside=True),
        steps=tuple(Step(name=step.name, outside=step.outside) for step in release.steps),
        columns=tuple(replace(account, changed_share=None) for account in evidence.columns),
        n_original=n,
        n_used=n,
    )


def _rounded(evidence: report.Evidence, found: Measured) -> report.Evidence:
    return replace(
        evidence,
        risk=rounded(found.risk),
        utility=rounded(found.utility),
        attackers=rounded(evidence.attackers),
        correlations=rounded(evidence.correlations),
        marginals=tuple(map(_with_round_shares, evidence.marginals)),
        sizes=rounded(evidence.sizes),
        risks=rounded(evidence.risks),
    )


def _without_comparisons(release: Release, evidence: report.Evidence) -> report.Evidence:
    columns = accounts_of(release.outside_pair, evidence.recipe)
    none = Bands(bands=())
    withheld: Any = _Withheld()
    return replace(
        evidence,
        columns=tuple(replace(account, changed_share=None) for account in columns),
        marginals=(),
        n_marginals=0,
        sizes=none,
        risks=none,
        correlations=Correlations.none(),
        n_correlated=0,
        mosaic=None,
        attackers=withheld,
        risk=withheld,
        utility=withheld,
        quality=None,
        usefulness=None,
    )


class _Withheld:
    """Stands where a comparison with the original would be: any look at it is an error."""

    def __getattr__(self, name: str) -> Any:
        raise GuaranteeError("external report", "must not compare with the original")

    __getitem__ = __getattr__


def _with_round_shares(marginal: Marginal) -> Marginal:
    """Shares are rounded; edges are round numbers as they are, and three digits can't tell 12344.2 from 12344.4."""
    short: Marginal = rounded(marginal)
    edges = zip(short.cells, marginal.cells, strict=True)
    return replace(short, cells=tuple(replace(cell, low=own.low, high=own.high) for cell, own in edges))
