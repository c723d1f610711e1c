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

shoal handover release --to release.zip --signer publisher.pub
"""


def handover(
    directory: Annotated[Path, typer.Argument(help="Release folder.")],
    to: Annotated[Path | None, typer.Option(help="ZIP file to write.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    signer: Annotated[
        Path | None, typer.Option(help="The public key of whoever must have signed it. [default: who signed it here]")
    ] = None,
) -> None:
    """Pack table, report, manifest and signature into one ZIP file, and nothing else.

    The folder must hold exactly what its manifest names: if a file is changed, unknown, missing, a link or internal,
    it is named, nothing is written and the exit code is 3. So it is if the release is signed and the signature no
    longer fits, is somebody else's, or has expired.
    """
    done = pack(directory, required(to, "--to FILE.zip", "handover"), overwrite=overwrite, signer=signer)
    answer(file=done)
    out.print(f"Packed: {done}", markup=False)
