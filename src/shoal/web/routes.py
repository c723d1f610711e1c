"""What is not a page: files coming in, reports and results going out.

A file comes in as the body of one request and is written piece by piece into the private workspace; if the sender
breaks off or the disk is full, what was written is removed. What goes out is named in a list: no path is taken from an
address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, JSONResponse

from shoal.errors import GuaranteeError, InputError, ShoalError
from shoal.recipe import recipe_toml
from shoal.web.controller import Controller
from shoal.web.error_text import is_disk_full
from shoal.web.export import bundle
from shoal.web.forms import read_words
from shoal.web.handover import entered
from shoal.web.job import Job
from shoal.web.opening import LARGEST_CODEBOOK, check_codebook
from shoal.web.pages.column_panel import hierarchy_rows
from shoal.web.pages.jobs import RefusedPage
from shoal.web.pages.page import shown
from shoal.web.project import ENDING, schema_text, script_of
from shoal.web.recoding import table_text
from shoal.web.session import Session
from shoal.web.unopened import Unopened
from shoal.web.workspace import plain_name

__all__ = ["add_routes"]

SANDBOX = {"Content-Security-Policy": "sandbox allow-scripts allow-popups", "Cache-Control": "no-store"}
PIECE = 1 << 22
LEAVES = "release.zip"
NOT_THERE = "This result has no such file: it is not finished, was a trial, or has been removed."
FULL = "The disk is full: free some space, then upload the file again. Nothing was stored."


def add_routes(app: FastAPI, controller: Controller) -> None:
    """Add the routes to `app`."""
    _add_files(app, controller)
    _add_results(app, controller)
    _add_texts(app, controller)


def _add_files(app: FastAPI, controller: Controller) -> None:
    """Files that come in."""
    unopened = Unopened(lambda mark: _forget_together(controller, mark))

    @app.put("/files/{name}")
    async def receive(request: Request, name: str) -> Response:
        if "x-shoal" not in request.headers:  # a form of another site can't set it
            return JSONResponse({"problem": "Upload files from the workbench's own page."}, 403)
        return await _receive(request, controller, name, unopened)

    @app.put("/codebooks/{name}")
    async def receive_codebook(request: Request, name: str) -> Response:
        if "x-shoal" not in request.headers:
            return JSONResponse({"problem": "Upload files from the workbench's own page."}, 403)
        return await _receive_codebook(request, controller, name, unopened)

    @app.delete("/files")
    async def stop(request: Request) -> Response:
        if "x-shoal" in request.headers:
            _forget_together(controller, request.query_params.get("together", ""))
        return Response(status_code=204)

    @app.post("/files")
    async def together(request: Request) -> Response:
        if "x-shoal" not in request.headers:
            return JSONResponse({"problem": "Upload files from the workbench's own page."}, 403)
        mark = request.query_params.get("together", "")
        unopened.has_come(mark)
        return await asyncio.to_thread(_open_together, controller, mark)


def _add_results(app: FastAPI, controller: Controller) -> None:
    """What a job has made."""

    @app.get("/jobs/{job}/{name}")
    async def result(request: Request, job: str, name: str) -> Response:
        found = controller.job(job)
        if found is None or name not in _RESULTS:
            return _refused(controller, request, "There is no such result. It may have been removed.", 404)
        back = f"/b/{controller.home(found)}/result/{found.id}"
        try:
            return await asyncio.to_thread(_given, controller, found, name)
        except GuaranteeError as error:
            return _refused(controller, request, str(error), 409, back)
        except (ShoalError, OSError):
            return _refused(controller, request, NOT_THERE, 404, back)


def _given(controller: Controller, job: Job, name: str) -> Response:
    """One file of a result; the release itself is entered in the register first."""
    with entered(controller, controller.home(job), job) if name == LEAVES else nullcontext():
        return _RESULTS[name](job)


def _add_texts(app: FastAPI, controller: Controller) -> None:
    """What can be taken along as text."""

    def given(request: Request, text: Callable[[], str], name: str, kind: str = "application/toml") -> Response:
        try:
            return _download(text(), name, kind)
        except ShoalError as error:
            back = str(request.url.path).rpartition("/")[0] + "/columns"
            return _refused(controller, request, str(error), 404, back)

    @app.get("/b/{session}/schema.toml")
    def schema(request: Request, session: str) -> Response:
        return given(request, lambda: schema_text(controller.whole_schema(session).to_dict()), "schema.toml")

    @app.get("/b/{session}/project.shoal")
    def project(request: Request, session: str) -> Response:
        name = f"{_stem(controller, session)}.shoal"
        return given(request, lambda: controller.project_text(session), name, "application/json")

    @app.get("/b/{session}/script.sh")
    def script(request: Request, session: str) -> Response:
        return given(request, lambda: script_of(controller.session(session)), "what-was-done.sh", "text/x-shellscript")

    @app.get("/b/{session}/hierarchy.csv")
    def hierarchy(request: Request, session: str, column: str, table: str = "") -> Response:
        return given(request, lambda: _hierarchy(controller, session, column, table), "hierarchy.csv", "text/csv")

    @app.get("/b/{session}/recipe.toml")
    def recipe(request: Request, session: str) -> Response:
        return given(request, lambda: recipe_toml(read_words(controller.recipe(session))), "recipe.toml")


def _refused(controller: Controller, request: Request, words: str, status: int, back: str = "/") -> Response:
    """A file that is not handed over: a page of ours says why."""
    return shown(RefusedPage(controller, words, status=status, back=back), request)


def _stem(controller: Controller, session: str) -> str:
    found = controller.find(session)
    return plain_name(str(found.notes.get("name", ""))).partition(".")[0] if found else "project"


def _hierarchy(controller: Controller, session: str, name: str, table: str) -> str:
    opened, words = controller.opened(session), controller.session(session).columns(table)
    columns = opened.columns if opened else ()
    view = next((column for column in columns if (column.table, column.name) == (table, name)), None)
    if opened is None or view is None:
        raise InputError("hierarchy", "must be of a column of the file")
    return table_text(hierarchy_rows(opened, view, words.get(name, {})))


def _open_together(controller: Controller, mark: str) -> Response:
    """Open the files that were sent together as linked tables."""
    try:
        folder = controller.workspace.together(mark)
        if not folder.is_dir():
            raise InputError("files", "must be sent before they are opened")
        return JSONResponse({"next": f"/b/{controller.open(folder).id}/columns"}, 201)
    except (ShoalError, OSError) as error:
        return _not_kept(error)


def _forget_together(controller: Controller, mark: str) -> None:
    """Remove files that were sent together and not opened; those of an open session stay."""
    if not controller.workspace.is_open:
        return
    with suppress(ShoalError):
        folder = controller.workspace.together(mark)
        if not controller.is_open(folder):
            controller.workspace.forget(folder)


async def _receive(request: Request, controller: Controller, name: str, unopened: Unopened) -> Response:
    place, mark = None, request.query_params.get("together", "")
    book = request.query_params.get("codebook", "")
    unopened.has_come(mark or book)
    try:
        place = controller.workspace.receive_together(mark, name) if mark else controller.workspace.receive(name)
        await _write(request, place, controller.upload_limit)
        if mark:
            unopened.wait_for_next(mark)
            return JSONResponse({}, 201)
        session = await asyncio.to_thread(_begun, controller, place, book)
        return JSONResponse({"next": f"/b/{session.id}/columns"}, 201)
    except BaseException as error:
        if book:
            _forget_together(controller, book)
        if place is not None:
            controller.workspace.forget(place.parent if mark else place)
        if not isinstance(error, ClientDisconnect | OSError | ShoalError):
            raise
        return _not_kept(error)


def _begun(controller: Controller, place: Path, book: str) -> Session:
    """A session for a file that was sent, with the codebook that was sent before it under this mark."""
    if place.suffix == ENDING:
        return controller.open_project(place)
    return controller.open(place, codebook=controller.workspace.codebook(book) if book else None)


async def _receive_codebook(request: Request, controller: Controller, name: str, unopened: Unopened) -> Response:
    """Keep a codebook until its file comes, if it can be read."""
    place, mark = None, request.query_params.get("mark", "")
    try:
        place = controller.workspace.receive_codebook(mark, name)
        await _write(request, place, min(LARGEST_CODEBOOK, controller.upload_limit))
        await asyncio.to_thread(check_codebook, place)
        unopened.wait_for_next(mark)
        return JSONResponse({}, 201)
    except BaseException as error:
        if place is not None:
            controller.workspace.forget(place)
        if not isinstance(error, ClientDisconnect | OSError | ShoalError):
            raise
        return _not_kept(error, place)


def _not_kept(error: Exception, place: Path | None = None) -> Response:
    if isinstance(error, ClientDisconnect):
        return JSONResponse({"problem": "The upload was interrupted."}, 400)
    if isinstance(error, ShoalError) and not is_disk_full(error):
        said = str(error) if place is None else str(error).replace(str(place), place.name)
        return JSONResponse({"problem": said}, 413 if isinstance(error, TooLargeError) else 400)
    full = is_disk_full(error)
    return JSONResponse({"problem": FULL if full else "The file could not be stored."}, 507 if full else 500)


class TooLargeError(InputError):
    """An upload beyond the limit."""


def _check_size(n: int, limit: int) -> None:
    if n > limit:
        hint = "Open it by its path, or start the workbench with a larger --upload-limit."
        raise TooLargeError("upload", f"must have at most {limit / 1e9:g} GB", hint=hint)


async def _write(request: Request, place: Path, limit: int) -> None:
    """Pieces of some megabytes, each written by a thread, so that other pages go on."""
    declared = request.headers.get("content-length", "")
    _check_size(int(declared) if declared.isdigit() else 0, limit)
    with place.open("wb") as file:
        piece, n = bytearray(), 0
        async for chunk in request.stream():
            n += len(chunk)
            _check_size(n, limit)
            piece += chunk
            if len(piece) >= PIECE:
                await asyncio.to_thread(file.write, bytes(piece))
                piece.clear()
        await asyncio.to_thread(file.write, bytes(piece))


def _page(*names: str) -> Callable[[Job], Response]:
    return lambda job: _existing(job.folder.joinpath(*names), media_type="text/html", headers=SANDBOX)


def _existing(path: Path, **options: Any) -> Response:
    path.stat()
    return FileResponse(path, **options)


def _zip(internal: bool) -> Callable[[Job], Response]:
    name = "internal.zip" if internal else "release.zip"
    return lambda job: _existing(bundle(job, internal=internal), filename=name, media_type="application/zip")


def _download(text: str, name: str, kind: str) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(text, media_type=kind, headers=disposition)


_RESULTS: dict[str, Callable[[Job], Response]] = {
    "report.html": _page("release", "report.html"),
    "internal.html": _page("release.internal", "report.html"),
    "comparison.html": _page("comparison", "comparison.html"),
    LEAVES: _zip(False),
    "internal.zip": _zip(True),
}
