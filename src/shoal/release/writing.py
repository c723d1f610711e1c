"""Write a release with its evidence, read it back, measure it again, and leave nothing if a claim fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal import report
from shoal.errors import GuaranteeError, ParameterError
from shoal.files import read_table, sha256, write_table, write_text
from shoal.frame import enter, series
from shoal.release.evidence import gathered
from shoal.release.manifest import fresh_key, manifest, replay_text
from shoal.release.staging import staged
from shoal.risk import classes

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = ["FORMATS", "keeps_bound", "smallest_class", "write"]

FORMATS = ("csv", "tsv", "parquet", "dta", "sav", "xpt")


def write(release: Release, directory: Path, *, format: str, overwrite: bool, progress: Callable[[str], None]) -> Path:
    """Write `release` to `directory`, or raise and leave it as it was."""
    if format not in FORMATS:
        raise ParameterError("write", f"format must be one of {', '.join(FORMATS)}", got=repr(format)[:40])
    _check_not_input(release, directory)
    with staged(directory, overwrite=overwrite) as stage:
        progress("measuring risk")
        _ = release.risk
        progress("measuring utility")
        _ = release.utility
        progress("writing")
        table = stage / f"release.{format}"
        labels = release.source.labels if release.source is not None else None
        write_table(enter(release.table).to_polars(), table, labels=labels)
        progress("verifying")
        check_written(release, table)
        _write_evidence(release, stage, table)
    return directory


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


def _write_evidence(release: Release, stage: Path, table: Path) -> None:
    created, digest, key = datetime.now(UTC).date().isoformat(), sha256(table), fresh_key()
    words = manifest(release, file=table.name, sha256=digest, key=key, created=created)
    write_text(stage / "manifest.json", json.dumps(words, indent=2, ensure_ascii=False) + "\n")
    write_text(stage / "internal" / "replay.toml", replay_text(release, file=table.name, sha256=digest, key=key))
    evidence, outside = gathered(release, words, digest)
    write_text(stage / "report.html", report.render(outside, "external"))
    if release.model is not None:
        with suppress(GuaranteeError):  # a model that is the data itself is not kept
            release.model.save(stage / "internal" / "model.json", internal=True)
    internal = {"seed": release.seed, "replay": "internal/replay.toml", "labels": release.labels}
    write_text(stage / "internal" / "report.html", report.render(evidence, "internal", internal=internal))


def smallest_class(release: Release, written: pl.DataFrame) -> int:
    """k of the written table, in persons where the schema names a unit."""
    unit = release.schema.unit
    if unit is None:
        return classes(written, release.schema).k
    people = series(enter(release.original), unit).gather(release.source_rows)
    return classes(written.with_columns(people.alias(unit)), release.schema).k


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
    source, target = Path(release.source.path).resolve(), directory.resolve()
    if source == target or target in source.parents:
        raise ParameterError("write", "output must not be the input or a folder around it", hint="Name another folder.")


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise GuaranteeError("written table", rule, hint="Nothing was released.")
