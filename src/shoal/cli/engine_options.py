"""The options of an engine, the same for every command that has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.reading import Reading
from shoal.errors import ParameterError

__all__ = ["EngineName", "Memory", "Spill", "refuse", "refuse_reading"]

EngineName = Annotated[
    str, typer.Option("--engine", help="memory, or duckdb for files that don't fit: Parquet or CSV, folders, patterns.")
]
Memory = Annotated[str | None, typer.Option("--memory", help="Memory limit of the engine, as 4GB.")]
Spill = Annotated[Path | None, typer.Option("--spill", help="Folder for what exceeds the memory limit.")]


def refuse_reading(engine: str, reading: Reading) -> None:
    """Refuse the options of reading that an engine doesn't have."""
    names = ("encoding", "thousands", "sheet", "sql")
    wanted: dict[str, Any] = {f"--{name}": getattr(reading, name) for name in names}
    refuse(engine, wanted | {"--decimal": reading.decimal not in (None, ".")})


def refuse(engine: str, given: Mapping[str, Any]) -> None:
    """Refuse options that an engine doesn't have: those of `given` with a value."""
    for option, value in given.items():
        if value:
            raise ParameterError(
                option, f"can't be used with --engine {engine}", hint="Leave it out, or use the engine in memory."
            )
