"""What is not a page: files coming in, reports and results going out.

A file comes in as the body of one request and is written piece by piece into the private room; if the sender breaks
off or the disk is full, what was written is removed. What goes out is named in a list: no path is taken from an
address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse

from shoal.errors import ShoalError
from shoal.recipe import recipe_toml
from shoal.web.controller import Controller
from shoal.web.error_text import is_disk_full
from shoal.web.export import bundle
from shoal.web.forms import read_words
from shoal.web.job import Job

__all__ = ["add_routes"]

SANDBOX = {"Content-Security-Policy": "sandbox allow-scripts allow-popups", "Cache-Control": "no-store"}
PIECE = 1 << 22
FULL = "The disk is full: free some space, then upload the file again. Nothing was stored."


def add_routes(app: FastAPI, controller: Controller) -> None:
    """Add the routes to `app`."""

    @app.put("/files/{name}")
    async def receive(request: Request, name: str) -> Response:
        if "x-shoal" not in request.headers:  # a form of another site can't set it
            return JSONResponse({"problem": "Upload files from the workbench's own page."}, 403)
        return await _receive(request, controller, name)

    @app.get("/jobs/{job}/{name}")
    async def result(job: str, name: str) -> Response:
        found = controller.job(job)
        if found is None or name not in _RESULTS:
            return PlainTextResponse("There is no such result. It may have been removed.", 404)
        try:
            return await asyncio.to_thread(_RESULTS[name], found)
        except (ShoalError, OSError):
            return PlainTextResponse("This result is not available yet.", 404)

    @app.get("/b/{bench}/schema.toml")
    async def schema(bench: str) -> Response:
        return _told(lambda: controller.schema(bench).to_toml(), "schema.toml")

    @app.get("/b/{bench}/recipe.toml")
    async def recipe(bench: str) -> Response:
        return _told(lambda: recipe_toml(read_words(controller.recipe(bench))), "recipe.toml")


async def _receive(request: Request, controller: Controller, name: str) -> Response:
    place = None
    try:
        place = controller.room.receive(name)
        await _write(request, place)
        return JSONResponse({"next": f"/b/{controller.open(place).id}/columns"}, 201)
    except BaseException as error:
        if place is not None:
            controller.room.forget(place)
        if not isinstance(error, ClientDisconnect | OSError | ShoalError):
            raise
        return _not_kept(error)


def _not_kept(error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return JSONResponse({"problem": "The upload was interrupted."}, 400)
    full = is_disk_full(error)
    return JSONResponse({"problem": FULL if full else "The file could not be stored."}, 507 if full else 500)


async def _write(request: Request, place: Path) -> None:
    """Pieces of some megabytes, each written by a thread, so that other pages go on."""
    with place.open("wb") as file:
        piece = bytearray()
        async for chunk in request.stream():
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


def _told(text: Callable[[], str], name: str) -> Response:
    try:
        return _download(text(), name)
    except ShoalError as error:
        return PlainTextResponse(str(error), 404)


def _download(text: str, name: str) -> Response:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(text, media_type="application/toml", headers=disposition)


_RESULTS: dict[str, Callable[[Job], Response]] = {
    "report.html": _page("release", "report.html"),
    "internal.html": _page("release.internal", "report.html"),
    "comparison.html": _page("comparison", "comparison.html"),
    "release.zip": _zip(False),
    "internal.zip": _zip(True),
}
