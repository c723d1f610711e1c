"""Pages drawn by the server: a page is some parts, and each request draws it anew from what is stored.

A page holds nothing between requests, so a reload, a second tab or a restart of the browser finds it as it is. What a
person changes or presses is sent to the page's own address (``POST``); the answer holds its parts as they are then, and
the browser changes what differs. Now and then the browser asks whether anything has changed (``GET`` with the stamp of
what it shows); equal facts have equal stamps, and then nothing is drawn.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse

from shoal.errors import ShoalError
from shoal.report.markup import Html
from shoal.web.controller import Controller
from shoal.web.pages.layout import document
from shoal.web.session_control import GoneError

__all__ = ["Act", "Page", "Said", "serve", "shown"]

NO_STORE = {"Cache-Control": "no-store"}
LONGEST = 8_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What a person did: pressed a button (`do`, `of`, with the `fields` around it) or changed a field (`name`).

    `marks` are those of the parts that the browser shows.
    """

    do: str = ""
    of: str = ""
    name: str = ""
    value: Any = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    marks: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, words: Any) -> Act:
        """Read what a browser sent; anything else is nothing done."""
        given = words if isinstance(words, Mapping) else {}
        do, of, name = (str(given.get(entry, "")) for entry in ("do", "of", "name"))
        return cls(
            do=do, of=of, name=name, value=given.get("value"), fields=_map(given, "fields"), marks=_map(given, "marks")
        )


def _map(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = given.get(name)
    return value if isinstance(value, Mapping) else {}


class Page:
    """One page as it is now.

    Parameters
    ----------
    controller, session, query
        What it stands on, the session it is about (empty for none), and the words after the address.
    """

    slug = ""
    name = ""
    status = 200

    def __init__(self, controller: Controller, session: str = "", query: Mapping[str, str] | None = None) -> None:
        self.controller, self.session, self.query = controller, session, dict(query or {})
        self.go = ""
        self.wrong: dict[str, str] = {}
        self.said = ""
        self.sort = "problem"

    @property
    def title(self) -> str:
        """The browser's title: the page and the file."""
        found = self.controller.find(self.session) if self.session else None
        file = f"{found.notes.get('name', '')} · " if found else ""
        return f"{file}{self.name} · Shoal"

    def parts(self) -> dict[str, Html]:
        """The parts by name, in their order."""
        raise NotImplementedError

    def facts(self) -> Any:
        """What the parts depend on: they are drawn anew when it changes."""
        raise NotImplementedError

    @property
    def refused(self) -> bool:
        """Whether what a person asked for was not done: `wrong` says why, by the place where it was asked for."""
        return bool(self.wrong) or (bool(self.said) and self.sort == "problem")

    def act(self, act: Act) -> None:
        """Do what a person asked for; a ShoalError is said."""

    @property
    def stamp(self) -> str:
        """A short text that changes when the page does."""
        return hashlib.sha256(repr((self.session, self.facts())).encode()).hexdigest()[:16]


class Said(Page):
    """A page that only says something, and where to go on.

    Parameters
    ----------
    words, status
        What it says, and the status of the answer.
    """

    def __init__(self, controller: Controller, words: str, *, status: int = 200) -> None:
        super().__init__(controller)
        self.words, self.status = words, status

    def facts(self) -> Any:
        """Nothing changes here."""
        return self.words


Build = Callable[[Request], Page]


def serve(app: FastAPI, path: str, build: Build) -> None:
    """Answer at `path` with the page that `build` makes: as a document, as parts, or by doing something first."""

    @app.get(path)
    def show(request: Request) -> Response:
        page = build(request)
        seen = request.headers.get("x-shoal")
        if seen is None:
            theme = request.cookies.get("theme", "")
            return HTMLResponse(document(page, theme), page.status, headers=NO_STORE)
        if seen == page.stamp:
            return Response(status_code=204)
        return JSONResponse(_answer(page, _marks(request)), headers=NO_STORE)

    @app.post(path)
    async def change(request: Request) -> Response:
        if "x-shoal" not in request.headers:  # a form of another site can't set it
            return JSONResponse({"said": "Use the workbench's own page."}, 403)
        words = await _words(request)
        return await run_in_threadpool(_changed, build, request, Act.read(words))


def shown(page: Said, request: Request) -> Response:
    """A page that nothing is done on: a document for who reads, its words alone for a program."""
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(page.words, page.status, headers=NO_STORE)
    return HTMLResponse(document(page, request.cookies.get("theme", "")), page.status, headers=NO_STORE)


def _marks(request: Request) -> Mapping[str, Any]:
    """The marks of the parts that a browser has, where it says so."""
    try:
        given = json.loads(request.headers.get("x-shoal-marks", "{}"))
    except ValueError:
        return {}
    return given if isinstance(given, Mapping) else {}


async def _words(request: Request) -> Any:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST:
            return None
    try:
        return json.loads(body)
    except ValueError:
        return None


def _changed(build: Build, request: Request, act: Act) -> Response:
    page = build(request)
    try:
        page.act(act)
    except GoneError:
        return JSONResponse({"go": str(request.url.path)}, headers=NO_STORE)
    except ShoalError as error:
        page.said = str(error)
    if page.go:
        return JSONResponse({"go": page.go}, headers=NO_STORE)
    said = {"said": page.said, "sort": page.sort, "refused": page.refused}
    return JSONResponse(_answer(page, act.marks) | said, headers=NO_STORE)


def _answer(page: Page, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The parts that differ from those which the browser has (`known`, by their marks)."""
    stamp = page.stamp  # before the parts: a change in between is drawn by the next look
    drawn = {name: str(part) for name, part in page.parts().items()}
    marks = {name: hashlib.sha256(text.encode()).hexdigest()[:12] for name, text in drawn.items()}
    changed = {name: text for name, text in drawn.items() if (known or {}).get(name) != marks[name]}
    return {"parts": changed, "marks": marks, "stamp": stamp, "title": page.title}
