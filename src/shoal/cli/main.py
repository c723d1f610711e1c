"""The `shoal` command: one sub-command a job, errors as one line, exit codes that scripts can rely on.

0 done, 2 wrong usage, 3 the guarantee can't be met or a check fails (nothing was written), 4 the input is unusable
(nothing was written), 5 (verify) nothing fails but something rests on the publisher's word, 1 an internal fault, 130 or
143 stopped, 141 whoever read the output went away.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from types import FrameType
from typing import Annotated, ClassVar

import typer

from shoal import __version__
from shoal.cli.console import complain_of, print_error
from shoal.cli.lazy import ModuleGroup
from shoal.cli.output import stopped
from shoal.errors import ShoalError
from shoal.heap import keep_freed_memory

__all__ = ["app", "run"]


class Commands(ModuleGroup):
    """Each command with what it does; its module is loaded when it is called."""

    summaries: ClassVar[Mapping[str, str]] = {
        "anonymize": "Hide each person in FILE in a group of at least k, and write the table, report and manifest.",
        "coarsen": "Coarsen the quasi-identifiers of FILE until every combination is shared by at least k people.",
        "pseudonymize": "Replace identifiers of FILE by keyed pseudonyms, and shift each person's dates.",
        "apply": "Release the new rows of FILE by a policy that `shoal coarsen --policy` wrote.",
        "synthesize": "Draw a synthetic table from FILE, and write it with a report and manifest.",
        "compare": "Try many recipes on FILE, measure each in the same way, and report utility against risk.",
        "risk": "Show who stands out in FILE, because of which columns, to which attackers, and what would help most.",
        "verify": "Check a written release, and report what each claim rests on.",
        "sign": "Sign the manifest of a release, and with it every released file.",
        "export": "Write released tables to a database, a workbook or FHIR resources, or one table to standard output.",
        "handover": "Pack table, report, manifest and signature into one ZIP file, and nothing else.",
        "outliers": "Count the people with too few near neighbours, by a distance for each quasi-identifier.",
        "reconstruct": "Rebuild individual values from the means (totals, medians) of their groups.",
        "scan": "Scan FILE for the 18 Safe Harbor identifiers, by column names and values; print counts, never values.",
        "scrub": "Replace what Presidio recognises in free text of FILE by its kind, and print how much of each.",
        "schema": "Propose, check and fix schemas, which describe each column; packs for OMOP, FHIR and CMS.",
        "market": "Predict what people who enrol in new markets will cost, and rank the markets.",
        "transfer": "Predict a response for one task from the tables of several.",
        "score": "Risk scores: fit, explain, evaluate.",
        "serve": "Serve the models of a folder; clients need a key from `shoal keys add`.",
        "keys": "API keys of the service: add, list, rotate, revoke.",
        "ledger": "The privacy ledger: show, verify, back up, set limits.",
        "web": "Open the workbench: from a file to a release with evidence, in the browser, offline.",
        "study": "Repeat the tables and figures of the papers.",
        "warm-up": "Compile the kernels of anonymize and coarsen ahead of the first run.",
        "demo": "Protect a simulated health survey in nine ways, compare them, and write one release.",
    }


app = typer.Typer(
    name="shoal",
    cls=Commands,
    help="Publish health microdata: hide each person in a group of at least k, and preserve the shape of the data.",
    epilog="Start with: shoal demo. Then: shoal schema infer FILE, correct the schema, shoal anonymize FILE.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Nothing of its own; the work is in the sub-commands."""


def run() -> None:
    """Run the command line; every error Shoal raises becomes one line and its exit code."""
    signal.signal(signal.SIGTERM, _stop)
    keep_freed_memory()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # tall, narrow matrices: more threads only wait for each other
    gc.set_threshold(20_000, 50, 100)  # most objects live to the end: looking for garbage as often as usual costs 5%
    try:
        app()
    except ShoalError as error:
        complain_of(error)
        sys.exit(error.exit_code)
    except Exception as error:  # messages of other libraries may quote cells: say where, not what
        place = traceback.extract_tb(error.__traceback__)[-1]
        print_error(f"internal fault: {type(error).__name__} in {place.name} ({place.filename}:{place.lineno}).")
        sys.exit(1)


def _stop(signum: int, frame: FrameType | None) -> None:
    print_error(stopped())
    sys.exit(128 + signum)
