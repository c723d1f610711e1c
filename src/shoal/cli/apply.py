"""`shoal apply`: new rows, written by the levels that were chosen once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import steps
from shoal.cli.reading import FILE_HELP, Reading, reads
from shoal.cli.releasing import FORMAT_HELP, KEY_HELP, SCOPE_HELP, format_of, pseudonyms_of, required, tell
from shoal.cli.summary import VERBOSE
from shoal.release.policy import Policy
from shoal.release.staging import check_target

__all__ = ["EXAMPLES", "apply"]

EXAMPLES = """Examples:

shoal coarsen january.csv -s schema.toml -o january --method generalize --k 5 --policy policy.json

shoal apply policy.json february.csv --out february
"""


@reads
def apply(
    policy: Annotated[Path, typer.Argument(help="Policy in JSON, by `shoal coarsen --policy`.")],
    file: Annotated[Path | None, typer.Argument(help=FILE_HELP)] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the release; must not exist yet.")] = None,
    format: Annotated[str | None, typer.Option("--format", "-f", help="csv, tsv, parquet, dta, sav, xpt.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older release in that folder.")] = False,
    pseudonym_key: Annotated[Path | None, typer.Option(help=KEY_HELP)] = None,
    scope: Annotated[str | None, typer.Option(help=SCOPE_HELP)] = None,
    pseudonym_format: Annotated[str | None, typer.Option(help=FORMAT_HELP)] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help=VERBOSE)] = False,
    *,
    reading: Reading,
) -> None:
    """Release the new rows of FILE by a policy that `shoal coarsen --policy` wrote.

    Values are written at the levels of the policy, and k is counted again. Where it no longer holds, nothing is
    written and the exit code is 3. FILE must hold new people: two releases of the same people can single them out.
    """
    target = required(out, "--out FOLDER", "apply")
    check_target(target, overwrite=overwrite)
    rules = Policy.read(policy)
    pseudonyms = pseudonyms_of(rules.schema, pseudonym_key, scope, pseudonym_format)
    with steps() as step:
        step("reading")
        source = reading.source(file, "apply", rules.schema)
        release = rules.apply(source, pseudonyms=pseudonyms, progress=step)
        release.write(target, format=format or format_of(release), overwrite=overwrite, progress=step)
    tell(release, target, verbose=verbose)
