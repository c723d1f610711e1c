"""`shoal serve`: answer risk-score queries over REST, with every charge in a ledger."""

from __future__ import annotations

import inspect
import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import err, print_table
from shoal.cli.output import answer, answer_now
from shoal.errors import FileError
from shoal.extras import need
from shoal.files.atomic import reporting
from shoal.ledger import Ledger
from shoal.ledger.amount import to_text
from shoal.ledger.chain import now
from shoal.params import Parameter, parameters
from shoal.release.minisign import PublicKey
from shoal.service.settings import Settings

if TYPE_CHECKING:  # an extra that may not be installed
    from shoal.service.models import Catalogue, Served

__all__ = ["EXAMPLES", "serve"]

EXAMPLES = """Examples:

shoal serve --models models --ledger sqlite:///ledger.db

shoal serve --models models --ledger postgresql://shoal@db/ledger --workers 2 --port 8080

shoal serve --config serve.toml --check
"""


def _configure(context: typer.Context, file: Path | None) -> Path | None:
    """Take defaults from a TOML file: a flag wins over the environment, that over the file."""
    if file is not None:
        with reporting(file):
            text = file.read_text(encoding="utf-8")
        try:
            words = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            raise FileError(str(file), "must be TOML") from None
        known = {parameter.name for parameter in context.command.params}
        unknown = sorted(set(words) - known)
        if unknown:
            raise FileError(str(file), f"has an unknown setting '{unknown[0][:60]}'", hint="See `shoal serve --help`.")
        context.default_map = {**(context.default_map or {}), **{name: str(value) for name, value in words.items()}}
    return file


def _with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each of the `Settings` that it does not name itself, before its last two."""
    signature = inspect.signature(command, eval_str=True)
    own = list(signature.parameters.values())[:-1]
    options = [_option(p) for p in parameters(Settings) if p.name not in signature.parameters]
    shown = [*own[:-2], *options, *own[-2:]]
    command.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in shown}
    return command


def _option(p: Parameter) -> inspect.Parameter:
    """A setting as an option, and as a variable of the environment."""
    option = typer.Option(envvar=f"SHOAL_{p.name.upper()}", help=p.help)
    return inspect.Parameter(
        p.name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[p.type, option], default=p.default
    )


@_with_settings
def serve(
    *,
    models: Annotated[
        Path, typer.Option(envvar="SHOAL_MODELS", help="Folder of model files (*.json), made by `shoal score fit`.")
    ],
    config: Annotated[
        Path | None,
        typer.Option(
            envvar="SHOAL_CONFIG",
            callback=_configure,
            is_eager=True,
            help="TOML file with these settings, with _ for - in their names.",
        ),
    ] = None,
    ledger: Annotated[
        str, typer.Option(envvar="SHOAL_LEDGER", help="Database URL: sqlite:///FILE or postgresql://...")
    ] = "sqlite:///ledger.db",
    host: Annotated[
        str, typer.Option(envvar="SHOAL_HOST", help="Address to listen on; any but the default needs a TLS proxy.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="SHOAL_PORT", min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[
        int, typer.Option(envvar="SHOAL_WORKERS", min=1, max=64, help="Number of worker processes.")
    ] = 1,
    signer: Annotated[
        Path | None, typer.Option(envvar="SHOAL_SIGNER", help="Public key: only models signed with it are served.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Check configuration, models and ledger, and exit.")] = False,
    **limits: Any,
) -> None:
    """Serve the models of a folder; clients need a key from `shoal keys add`.

    Only models admitted to the ledger are served: those that `shoal score fit` wrote with this ledger, or that were
    admitted by hand. Queries to certified models are free. Each new query to a published model costs epsilon, charged
    to the account of its data set before it is answered. SIGHUP reloads the models, SIGTERM stops the service.
    """
    for module in ("fastapi", "uvicorn"):
        need(module, "shoal serve")
    key = "" if signer is None else str(signer.resolve())
    settings = Settings(models=str(models.resolve()), ledger=ledger, signer=key, **limits)
    catalogue, served = _read(settings)
    _tell(served, host, port)
    models_served = [{"model": one.name, "epsilon": to_text(one.amount), "data": one.data} for one in served]
    refusals = [refused.why for refused in catalogue.refused]
    if check:
        answer(models=models_served, refused=refusals)
        for refused in catalogue.refused:
            err.print(f"Not served: {refused.why}", markup=False)
        raise typer.Exit(3 if catalogue.refused else 0)
    if host not in ("127.0.0.1", "localhost", "::1"):
        _event("clear-text", hint="Keys and queries travel in clear text: put a TLS proxy in front.")
    answer_now(address=f"http://{host}:{port}", models=models_served, refused=refusals)
    raise typer.Exit(_run(settings, host, port, workers, catalogue))


def _read(settings: Settings) -> tuple[Catalogue, list[Served]]:
    """The models that may be served, and their accounts: once here, so that what is wrong is said once."""
    from shoal.service.models import enrol, read_folder

    book = Ledger.open(settings.ledger, create=False, patience=settings.deadline)
    try:
        signer = PublicKey.read(settings.signer) if settings.signer else None
        catalogue = read_folder(settings.models, book.admissions(), signer)
        served = list(enrol(catalogue.loaded, book, settings).values())
        _event("ledger", head=str(book.head()))
        return catalogue, served
    finally:
        book.close()


def _run(settings: Settings, host: str, port: int, workers: int, first: Catalogue) -> int:
    from shoal.service.supervisor import Supervisor

    catalogues = [first]

    def read() -> Catalogue:
        return catalogues.pop() if catalogues else _read(settings)[0]

    return Supervisor(
        settings, host=host, port=port, workers=workers, read=read, log=_line, inspect=lambda: _checked(settings)
    ).run()


def _checked(settings: Settings) -> str:
    """The head of the ledger, once it was opened and found in order."""
    book = Ledger.open(settings.ledger, create=False, keep=False, patience=settings.deadline)
    try:
        return str(book.head())
    finally:
        book.close()


def _line(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _event(event: str, **words: str) -> None:
    _line(json.dumps({"at": now(), "event": event, **words}))


def _tell(served: list[Served], host: str, port: int) -> None:
    rows: list[list[Any]] = [[one.name, to_text(one.amount), str(len(one.domain)), one.data] for one in served]
    print_table(f"http://{host}:{port}", ["model", "epsilon per query", "fields", "data set"], rows)
