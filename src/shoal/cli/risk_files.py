"""`shoal risk --engine duckdb`: k, l and t of files of any size, counted exactly."""

from __future__ import annotations

from pathlib import Path

from shoal.cli.console import out
from shoal.engine import Inputs, open_engine
from shoal.risk import ClassReport
from shoal.risk.counted_classes import counted_classes
from shoal.schema import Schema

__all__ = ["count_files", "print_classes"]


def count_files(
    path: Path, schema: Schema, *, engine: str, memory: str | None, spill: Path | None, delimiter: str | None
) -> ClassReport:
    """The classes of the table that a file, folder or pattern holds."""
    inputs = Inputs.of(path, delimiter=delimiter)
    with open_engine(engine, memory=memory, spill=spill) as opened:
        return counted_classes(opened, opened.scan(inputs), schema)


def print_classes(found: ClassReport, schema: Schema, k: int) -> None:
    """The classes in a few lines."""
    who = "people" if schema.unit else "records"
    lines = [
        f"{found.n_records:,} rows in {found.n_classes:,} classes; smallest class k = {found.k} {who}",
        f"rows in classes of one: {found.unique_share:.2%}; of fewer than {k}: {found.small_share(k):.2%}",
    ]
    for name, mix in found.sensitive.items():
        lines.append(
            f"{name}: at least {mix.distinct_l} different values in a class (entropy l = {mix.entropy_l:.3g}), "
            f"t = {mix.t:.3g}, most frequent value up to {mix.alpha:.1%}, "
            f"{mix.homogeneous_share:.2%} of rows in classes with one value only"
        )
    lines.append("Attacks and what would help are measured in memory only: try them on a sample.")
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
