"""`shoal serve`: answer risk-score queries over REST, with every charge in a ledger."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoal.service.models import Served
    from shoal.service.settings import Settings

__all__ = ["EXAMPLES", "serve"]

EXAMPLES = """Examples:

shoal serve --models models --ledger sqlite:///ledger.db

shoal serve --models models --ledger postgresql://shoal@db/ledger --workers 2 --port 8080
"""


def serve(
    models: Annotated[Path, typer.Option(help="Folder of model files (*.json), made by `shoal score fit`.")],
    ledger: Annotated[
        str, typer.Option(envvar="SHOAL_LEDGER", help="Database URL: sqlite:///FILE or postgresql://...")
    ] = "sqlite:///ledger.db",
    host: Annotated[str, typer.Option(help="Address to listen on; others need TLS in front.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
    data_epsilon: Annotated[
        float, typer.Option(help="Epsilon that may ever be spent on a data set; set when it is new to the ledger.")
    ] = 10.0,
    model_epsilon: Annotated[
        float | None, typer.Option(help="The same for a new model over all clients. [default: no limit of its own]")
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests a second of one client in one worker; 0 for no limit.")] = 100.0,
    max_body: Annotated[int, typer.Option(help="Largest body of a request in bytes.")] = 65_536,
    log: Annotated[bool, typer.Option(help="Write one JSON line for each request to standard error.")] = True,
) -> None:
    """Serve the models of a folder; clients need a key from `shoal keys add`.

    Certified models are free to ask: the ledger records their fit once, on the account of the data set. Published
    models cost epsilon for each new query, charged before it is answered. A model file whose hash does not fit is
    refused, and so is a ledger whose sums do not follow from its journal.
    """
    from shoal.service.settings import Settings

    settings = Settings(
        models=str(models),
        ledger=ledger,
        data_epsilon=data_epsilon,
        model_epsilon=model_epsilon,
        rate=rate,
        burst=max(2 * rate, 1.0),
        max_body=max_body,
        log=log,
    )
    _tell(_opened(settings), host, port)
    with tempfile.TemporaryDirectory(prefix="shoal-metrics-") as folder:
        _run(settings, host, port, workers, folder)


def _opened(settings: Settings) -> list[Served]:
    """Load and enrol once here, so that what is wrong is said once and not by every worker."""
    from shoal.ledger import Ledger
    from shoal.service.models import enrol, load_folder

    loaded = load_folder(settings.models)
    book = Ledger.open(settings.ledger)
    try:
        return list(enrol(loaded, book, settings).values())
    finally:
        book.close()


def _run(settings: Settings, host: str, port: int, workers: int, folder: str) -> None:
    import uvicorn

    os.environ.update(settings.environment())
    if workers > 1:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # so that any worker can tell the sum of all
    uvicorn.run(
        "shoal.service.app:from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=15,
        timeout_worker_healthcheck=120,  # 5 by default: a busy machine would kill workers while they still import
    )


def _tell(catalogue: list[Served], host: str, port: int) -> None:
    from shoal.cli.console import err, print_table
    from shoal.ledger.amount import to_text
    from shoal.service.models import UNKNOWN_DATA

    rows = [[served.name, to_text(served.amount), str(len(served.form.fields))] for served in catalogue]
    print_table(f"http://{host}:{port}", ["model", "epsilon a query", "fields"], rows)
    nameless = [served.name for served in catalogue if served.data == UNKNOWN_DATA]
    if nameless:
        said = "Such models share one account, apart from those that name theirs"
        err.print(f"No data set is named in the file of {', '.join(nameless)}. {said}.", markup=False)
    if host not in ("127.0.0.1", "localhost", "::1"):
        err.print("Keys and queries travel in clear text: put a proxy with TLS in front.", markup=False)
