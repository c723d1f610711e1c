"""`shoal apply`: new rows, written by the levels that were chosen once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import steps
from shoal.cli.options import File, Reading, grouped, required
from shoal.cli.releasing import Destination, PseudonymOptions, RegisterOptions
from shoal.release.folders import check_target
from shoal.release.policy import Policy

__all__ = ["EXAMPLES", "apply"]

EXAMPLES = """Examples:

shoal coarsen january.csv -s schema.toml -o january --method generalize --k 5 --policy policy.json

shoal apply policy.json february.csv --out february
"""


@grouped
def apply(
    policy: Annotated[Path, typer.Argument(help="Policy in JSON, by `shoal coarsen --policy`.")],
    file: File = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Keep a column that merely looks like an identifier or free text. Repeatable."),
    ] = None,
    *,
    to: Destination,
    pseudonym: PseudonymOptions,
    registering: RegisterOptions,
    reading: Reading,
) -> None:
    """Release the new rows of FILE by a policy that `shoal coarsen --policy` wrote.

    Values are written at the levels of the policy, and k is counted again. Where it no longer holds, nothing is
    written and the exit code is 3. FILE may hold people who were released before (name their data set with --data):
    newcomers to a class are released in groups of k or more, and held back until then.
    """
    check_target(required(to.out, "--out FOLDER", "apply"), overwrite=to.overwrite)
    rules = Policy.read(policy)
    pseudonyms = pseudonym.of(rules.schema)
    with steps() as step:
        step("reading")
        source = reading.source(file, "apply", rules.schema)
        with registering.opened(source, to) as register:
            given: dict[str, Any] = {"pseudonyms": pseudonyms, "register": register, "allow": tuple(allow or ())}
            release = rules.apply(source, **given, progress=step)
            to.write(release, step)
    to.tell(release)
