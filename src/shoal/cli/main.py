"""The `shoal` command: one sub-command a job, errors as one line, exit codes that scripts can rely on.

0 done, 2 wrong usage, 3 the guarantee can't be met or a check fails (nothing was written), 4 the input is unusable
(nothing was written), 5 (verify) nothing fails but something rests on the publisher's word, 1 an internal fault, 130 or
143 stopped.
"""

from __future__ import annotations

import signal
import sys
import traceback
from types import FrameType
from typing import Annotated

import typer

from shoal import __version__
from shoal.cli import (
    anonymize,
    coarsen,
    compare,
    demo,
    export,
    handover,
    keys,
    ledger,
    market,
    outliers,
    reconstruct,
    risk,
    scan,
    schema,
    score,
    serve,
    sign,
    study,
    synthesize,
    verify,
    warm_up,
    web,
)
from shoal.cli.console import complain, complain_of
from shoal.cli.listing import ListsMethods
from shoal.errors import ShoalError

__all__ = ["app", "run"]

app = typer.Typer(
    name="shoal",
    help="Publish health microdata that hides each person among k others and keeps the shape of the data.",
    epilog="Start with: shoal demo. Then: shoal schema infer FILE, correct the schema, shoal anonymize FILE.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("anonymize", cls=ListsMethods, epilog=anonymize.EXAMPLES)(anonymize.anonymize)
app.command("coarsen", cls=ListsMethods, epilog=coarsen.EXAMPLES)(coarsen.coarsen)
app.command("synthesize", cls=ListsMethods, epilog=synthesize.EXAMPLES)(synthesize.synthesize)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.command("risk", epilog=risk.EXAMPLES)(risk.risk)
app.command("verify", epilog=verify.EXAMPLES)(verify.verify)
app.command("sign", epilog=sign.EXAMPLES)(sign.sign)
app.command("export", epilog=export.EXAMPLES)(export.export)
app.command("handover", epilog=handover.EXAMPLES)(handover.handover)
app.command("outliers", epilog=outliers.EXAMPLES)(outliers.outliers)
app.command("reconstruct", epilog=reconstruct.EXAMPLES)(reconstruct.reconstruct)
app.command("scan", epilog=scan.EXAMPLES)(scan.scan)
app.add_typer(schema.app, name="schema")
app.command("market", epilog=market.EXAMPLES)(market.market)
app.add_typer(score.app, name="score")
app.command("serve", epilog=serve.EXAMPLES)(serve.serve)
app.add_typer(keys.app, name="keys")
app.add_typer(ledger.app, name="ledger")
app.command("web", epilog=web.EXAMPLES)(web.web)
app.add_typer(study.app, name="study")
app.command("warm-up", epilog=warm_up.EXAMPLES)(warm_up.warm_up)
app.command("demo", epilog=demo.EXAMPLES)(demo.demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Nothing of its own; the work is in the sub-commands."""


def run() -> None:
    """Run the command line; every error Shoal raises becomes one line and its exit code."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        app()
    except ShoalError as error:
        complain_of(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        complain(_stopped())
        sys.exit(130)
    except Exception as error:  # messages of other libraries may quote cells: say where, not what
        place = traceback.extract_tb(error.__traceback__)[-1]
        complain(f"internal fault: {type(error).__name__} in {place.name} ({place.filename}:{place.lineno}).")
        sys.exit(1)


def _stop(signum: int, frame: FrameType | None) -> None:
    complain(_stopped())
    sys.exit(128 + signum)


def _stopped() -> str:
    """What is true of a run that was stopped: a charge that is on the disk stays, whatever became of the result."""
    tally = sys.modules.get("shoal.ledger.tally")
    spent = tally.charged() if tally is not None else ()
    return f"stopped; charged, and it stays spent: {'; '.join(spent)}." if spent else "stopped; nothing was written."
