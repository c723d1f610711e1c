"""The workbench as an application: one private workspace, its jobs, the pages and the routes.

It is for one steward or a few who share a token; by default it listens on this machine only. Nothing is fetched from
elsewhere and nothing is reported to anybody.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from shoal.web.access import Access
from shoal.web.controller import Controller
from shoal.web.jobs import Jobs
from shoal.web.middleware import Guard
from shoal.web.pages import add_pages
from shoal.web.project import Recent
from shoal.web.routes import add_routes
from shoal.web.session_control import UPLOAD_LIMIT
from shoal.web.workspace import Workspace

__all__ = ["LOOPBACK", "WebSettings", "create_web_app", "opened_at"]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """How the workbench is run.

    Parameters
    ----------
    access
        The token, and where files may be opened from and written to.
    folder
        Where the private workspace is made; the system's folder for temporary files if None.
    hosts
        Names under which it answers; empty for any.
    models, ledger
        A folder of score models (None for no score page), and the ledger that charges for their answers.
    upload_limit
        The most bytes that an uploaded file may have.
    recent
        Whether the projects saved last are remembered in the user's own folder.
    registers
        Whether releases are held against the user's register of releases, and entered in it when they leave.
    """

    access: Access
    folder: Path | None = None
    hosts: tuple[str, ...] = LOOPBACK
    models: Path | None = None
    ledger: str = "sqlite:///ledger.db"
    upload_limit: int = UPLOAD_LIMIT
    recent: bool = False
    registers: bool = True


def create_web_app(settings: WebSettings, controller: Controller | None = None) -> FastAPI:
    """The application around a controller (None: one of its own); its workspace is removed when it stops."""
    service = _service(settings)
    controller = _controller(settings) if controller is None else controller

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if service is not None:
                await stack.enter_async_context(service.router.lifespan_context(service))
            yield
        controller.close()

    app = FastAPI(title="Shoal workbench", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(Guard, access=settings.access, hosts=settings.hosts)
    add_routes(app, controller)
    if service is not None:
        app.mount("/service", service)
    app.mount("/static", StaticFiles(packages=[("shoal.web", "static")]), name="static")
    add_pages(app, controller)
    app.state.controller = controller
    return app


def opened_at(app: FastAPI, file: Path | None) -> str:
    """Open a table or a project before anybody comes, and return the address of its first page; none: the start."""
    if file is None:
        return "/"
    controller: Controller = app.state.controller
    try:
        return f"/b/{controller.open_by_path(str(file.absolute())).id}/columns"
    except BaseException:
        controller.close()
        raise


def _controller(settings: WebSettings) -> Controller:
    workspace = Workspace.create(settings.folder)
    return Controller(
        workspace=workspace,
        jobs=Jobs(workspace),
        access=settings.access,
        scores=settings.models is not None,
        upload_limit=settings.upload_limit,
        recent=Recent.of_user() if settings.recent else Recent(None),
        registers=settings.registers,
    )


def _service(settings: WebSettings) -> FastAPI | None:
    """The risk scores, which keep their own keys and ledger, beneath the workbench."""
    if settings.models is None:
        return None
    from shoal.ledger import Ledger
    from shoal.service.app import create_app
    from shoal.service.models import read_folder
    from shoal.service.settings import Settings

    book = Ledger.open(settings.ledger, create=False)
    return create_app(read_folder(str(settings.models), book.admissions()).loaded, book, Settings(log=False))
