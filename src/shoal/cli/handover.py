"""`shoal handover`: pack what may leave into one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import out
from shoal.cli.options import required
from shoal.cli.output import answer
from shoal.release.contents import handover as pack

__all__ = ["EXAMPLES", "handover"]

EXAMPLES = """Examples:

shoal handover release --to release.zip

shoal handover release --to release.zip --overwrite
"""


def handover(
    directory: Annotated[Path, typer.Argument(help="Release folder.")],
    to: Annotated[Path | None, typer.Option(help="ZIP file to write.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Pack table, report, manifest and signature into one ZIP file, and nothing else.

    The folder must hold exactly what its manifest names: if a file is changed, unknown, missing, a link or internal,
    it is named, nothing is written and the exit code is 3.
    """
    done = pack(directory, required(to, "--to FILE.zip", "handover"), overwrite=overwrite)
    answer(file=done)
    out.print(f"Packed: {done}", markup=False)
