"""The pages of the workbench, one file each."""

from functools import partial

from fastapi import FastAPI, Request
from starlette.responses import Response

from shoal.web.controller import Controller
from shoal.web.pages.columns import ColumnsPage
from shoal.web.pages.compare import ComparePage
from shoal.web.pages.file import FilePage
from shoal.web.pages.history import HistoryPage
from shoal.web.pages.jobs import JobsPage, MissingPage, ReleasesPage, ScoresPage
from shoal.web.pages.method import MethodPage
from shoal.web.pages.page import Page, serve, shown
from shoal.web.pages.result import ResultPage

__all__ = ["add_pages"]

_ALONE: dict[str, type[Page]] = {"/": FilePage, "/jobs": JobsPage, "/releases": ReleasesPage, "/scores": ScoresPage}
_PAGES: dict[str, type[Page]] = {
    "columns": ColumnsPage,
    "method": MethodPage,
    "compare": ComparePage,
    "result": ResultPage,
    "history": HistoryPage,
}


def add_pages(app: FastAPI, controller: Controller) -> None:
    """Add every page to `app`, and one for what isn't there."""
    for path, page in _ALONE.items():
        serve(app, path, partial(_alone, controller, page))
    for name, page in _PAGES.items():
        serve(app, f"/b/{{session}}/{name}", partial(_of_session, controller, page))
    serve(app, "/b/{session}/result/{job}", partial(_of_job, controller))
    _add_missing(app, controller)


def _alone(controller: Controller, page: type[Page], request: Request) -> Page:
    return page(controller, query=request.query_params)


def _of_session(controller: Controller, page: type[Page], request: Request) -> Page:
    return page(controller, request.path_params["session"], request.query_params)


def _of_job(controller: Controller, request: Request) -> Page:
    session, job = (request.path_params[name] for name in ("session", "job"))
    return ResultPage(controller, session, request.query_params, job=job)


def _add_missing(app: FastAPI, controller: Controller) -> None:
    @app.exception_handler(404)
    async def missing(request: Request, _: Exception) -> Response:
        return shown(MissingPage(controller), request)
