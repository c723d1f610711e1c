"""Write a release with its evidence, read it back, measure it again, and leave nothing if a claim fails."""

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
from shoal.errors import GuaranteeError, ParameterError
from shoal.files import Labels, read_table, sha256, write_table, write_text
from shoal.frame import enter, series
from shoal.release.evidence import gathered
from shoal.release.layout import FORMATS, MANIFEST, MODEL, REPLAY, REPORT, inside_of
from shoal.release.manifest import manifest, replay_text
from shoal.release.staging import staged
from shoal.report.signing import Decision, with_decision
from shoal.risk.class_sizes import table_classes
from shoal.rng import fresh_key, is_repeatable

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = [
    "FORMATS",
    "check_written",
    "keeps_bound",
    "manifest_text",
    "smallest_class",
    "write",
    "write_evidence",
    "write_released",
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
        table = stage / f"release.{format}"
        write_released(release, table)
        progress("verifying")
        check_written(release, table)
        progress("reporting")
        created, key = datetime.now(UTC).date().isoformat(), fresh_key()
        evidence = write_evidence(release, table, key=key, created=created)
        _write_inside(release, inside, evidence, table, key=key, created=created)
    return directory


def write_released(release: Release, path: Path) -> None:
    """Write the released table, with the labels that its file came with."""
    table = release.in_file_types()
    write_table(table, path, labels=_labels(release, table))


def _labels(release: Release, table: pl.DataFrame) -> Labels | None:
    """The labels of the input's file, of codes that the schema declares or the release holds: others tell of others."""
    labels = release.source.labels if release.source is not None else None
    if labels is None:
        return None
    known = {name: _known_codes(release, table, name) for name in labels.values if name in table.columns}
    values = {
        name: {code: text for code, text in labels.values[name].items() if code in codes}
        for name, codes in known.items()
    }
    return replace(labels, values=values)


def _known_codes(release: Release, table: pl.DataFrame, name: str) -> set[Any]:
    return {*table[name].unique().to_list(), *(release.declared[name].levels or ())}


def check_written(release: Release, path: Path) -> None:
    """Measure the file again; a claim that does not hold is a GuaranteeError."""
    memory = enter(release.table)
    written = read_table(path)
    _require(written.columns == memory.columns, "must hold exactly the released columns")
    _require(len(written) == len(memory), "must hold exactly the released rows")
    for name in release.schema.quasi:
        same = _plain(written[name], series(memory, name).dtype).equals(_plain(series(memory, name)))
        _require(same, f"must read back column '{name}' as it was released")
    for claim in release.claims:
        if claim.kind == "k-anonymity":
            _require(smallest_class(release, written) >= claim.value, f"must be {claim.value:g}-anonymous")
    _require(keeps_bound(release), "must keep the re-identification bound for every record")


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
    inside, outside = gathered(release, words, digest)
    page = with_decision(report.render(outside, "external"), decision)
    write_text(table.with_name(REPORT), page)
    words["files"] = {table.name: digest, REPORT: sha256(table.with_name(REPORT))}
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
    if release.model is not None:
        with suppress(GuaranteeError):  # a model that is the data itself is not kept
            release.model.save(inside / MODEL, internal=True)
    facts = {"seed": release.seed, "replay": f"{REPLAY}, beside this page", "labels": release.labels}
    write_text(inside / REPORT, report.render(evidence, "internal", internal=facts))


def smallest_class(release: Release, written: pl.DataFrame) -> int:
    """k of the written table, in persons where the schema names a unit."""
    unit = release.schema.unit
    if unit is None:
        return table_classes(enter(written), release.schema).k
    people = series(enter(release.original), unit).gather(release.source_rows)
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
