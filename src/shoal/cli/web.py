"""`shoal web`: the workbench in the browser."""

from __future__ import annotations

import os
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.console import err, out
from shoal.cli.output import answer_now
from shoal.errors import FileError, ParameterError
from shoal.extras import need

if TYPE_CHECKING:  # an extra that may not be installed
    from fastapi import FastAPI

    from shoal.web.access import Access

__all__ = ["EXAMPLES", "web"]

EXAMPLES = """Examples:

shoal web

shoal web people.csv

shoal web --port 9000 --no-browser

shoal web --no-token                                  (on a machine that nobody else can log in to)

shoal web --host 0.0.0.0 --data /srv/microdata        (prints a token; use a TLS proxy)

shoal web --models models --ledger sqlite:///ledger.db
"""


def web(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Table or project to open at once.", show_default=False)
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any address but localhost requires a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")] = 8137,
    data: Annotated[
        Path | None,
        typer.Option(help="With --host: folder in which files may be opened and releases written by path."),
    ] = None,
    token: Annotated[
        bool,
        typer.Option(help="Require a token. Without one, everybody who can log in to this machine can use it."),
    ] = True,
    folder: Annotated[
        Path | None,
        typer.Option(help="Parent of the private folder; needs space for uploads. [default: temporary folder]"),
    ] = None,
    upload_limit: Annotated[float, typer.Option(min=0.001, help="Largest file that can be uploaded, in GB.")] = 2.0,
    register: Annotated[
        bool, typer.Option(help="Check against earlier releases of the same people, and record those that leave.")
    ] = True,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    models: Annotated[Path | None, typer.Option(help="Folder of score models for the score page.")] = None,
    ledger: Annotated[
        str, typer.Option(envvar="SHOAL_LEDGER", help="Database URL of the ledger charged for scores.")
    ] = "sqlite:///ledger.db",
) -> None:
    """Open the workbench: from a file to a release with evidence, in the browser, offline.

    Uploads and results are stored in a private folder that is deleted when the command stops (Ctrl-C). No data
    leave the machine.
    """
    for module in ("fastapi", "uvicorn", "altair", "vl_convert", "opendp", "sklearn"):
        need(module, "shoal web", extra="web")
    from shoal.web.app import WebSettings, create_web_app, opened_at

    if file is not None and not file.exists():
        raise FileError(str(file), "must exist")
    access = _access(host, data, token)
    with _socket(host, port) as sock:
        settings = WebSettings(
            access=access,
            folder=folder,
            hosts=_hosts(host, access),
            models=models,
            ledger=ledger,
            upload_limit=int(upload_limit * 1e9),
            recent=access.loopback,
            registers=register,
        )
        app = create_web_app(settings)
        address = _address(host, sock.getsockname()[1], access, opened_at(app, file))
        _tell(address, access)
        _serve(app, sock, address if browser else None)


def _access(host: str, data: Path | None, token: bool) -> Access:
    from shoal.web.access import Access, make_token

    if data is not None and not data.is_dir():
        raise FileError(str(data), "must be a folder", hint="Give the folder from which files may be opened.")
    return Access.of(host, data=data, token=make_token() if token else None)


def _hosts(host: str, access: Access) -> tuple[str, ...]:
    """The names it answers to: those of this machine and the one it was given; any where a token is asked for."""
    from shoal.web.app import LOOPBACK

    return (*LOOPBACK, _in_address(host)) if access.loopback else ()


def _socket(host: str, port: int) -> socket.socket:
    """Bound before anything is made, so that a port in use is said at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(128)  # whoever follows the printed address at once waits for the page instead of being refused
    except OSError as error:
        sock.close()
        got, hint = (error.strerror or "").lower(), "Choose another with --port, or 0 for any free one."
        raise ParameterError(
            "shoal web", f"must be able to listen on {host}, port {port}", got=got, hint=hint
        ) from None
    return sock


def _address(host: str, port: int, access: Access, page: str) -> str:
    name = socket.gethostname() if host in ("0.0.0.0", "::") else _in_address(host)
    return f"http://{name}:{port}{page}" + (f"?token={access.token}" if access.token else "")


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _tell(address: str, access: Access) -> None:
    answer_now(address=address)
    out.print(f"Workbench: {address}", markup=False, soft_wrap=True)
    out.print("Press Ctrl-C to stop; uploads and results are then deleted.", style="dim")
    if not access.loopback:
        err.print("Tables and the token travel in clear text: put a TLS proxy in front.", markup=False)


def _serve(app: FastAPI, sock: socket.socket, address: str | None) -> None:
    import uvicorn

    if address and _has_screen():
        threading.Timer(0.5, webbrowser.open, [address]).start()
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="error",
        server_header=False,
        timeout_graceful_shutdown=3,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[sock])


def _has_screen() -> bool:
    """Whether a browser window can appear: over a plain terminal connection it can't."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
