"""The door of the workbench: who may come in, and from where.

Three checks, before any page is built:

- **Host.** On loopback only the names of this machine are answered, so that a web site whose name was made to point
  here (DNS rebinding) reaches nothing.
- **Origin.** A request or socket that another site's page sends is refused.
- **Token.** Where one is set, a browser shows it once, by the link that `shoal web` prints or by the form, and gets a
  cookie that scripts can't read.

What is answered is kept out of caches and frames of others. The form that asks for the token is plain
HTML, without a script.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.report.markup import Html, tag
from shoal.web.access import Access
from shoal.web.pages.layout import FAVICON, STYLE

__all__ = ["Guard", "login_page"]

LONGEST_FORM = 4096
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",  # with none, a browser names no origin for our own form either
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}


class Guard:
    """Let through what may come in; answer the rest here.

    Parameters
    ----------
    access
        The token, and whether this is loopback.
    hosts
        Names under which the workbench answers; none: any.
    """

    def __init__(self, app: ASGIApp, access: Access, hosts: Iterable[str] = ()) -> None:
        self.app, self.access, self.hosts = app, access, frozenset(hosts)
        self._cookie = f"shoal-{secrets.token_hex(4)}"  # its own: browsers don't tell two ports of a host apart
        self._pass = secrets.token_urlsafe(32)  # what the cookie holds: not the token itself

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request or socket."""
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        refusal = self._refusal(scope)
        if refusal is None and not self._knows(scope):
            refusal = await self._login(scope, receive)
        if refusal is None:
            return await self.app(scope, receive, _with_headers(send))
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4403})
            return None
        return await refusal(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        host = _header(scope, b"host")
        if self.hosts and _name(host) not in self.hosts:
            return PlainTextResponse("The workbench only answers to the host name it was started with.", 421)
        origin = _header(scope, b"origin")
        if origin and origin.partition("://")[2] != host:
            return PlainTextResponse("Pages of other sites may not use the workbench.", 403)
        return None

    def _knows(self, scope: Scope) -> bool:
        if self.access.token is None or scope.get("path", "").startswith("/static/"):
            return True
        shown = cookie_parser(_header(scope, b"cookie")).get(self._cookie, "")  # of a machine's other programs too
        return secrets.compare_digest(shown.encode(), self._pass.encode())

    async def _login(self, scope: Scope, receive: Receive) -> Response:
        if scope["type"] == "websocket":
            return PlainTextResponse("", 403)
        request = Request(scope, receive)
        given = request.query_params.get("token", "")
        if request.method == "POST" and request.url.path == "/login":
            given = await _token_of(request)
        if given and self.access.admits(given):
            return self._admitted(request)
        status = 401 if not given else 403
        return HTMLResponse(login_page(wrong=bool(given)), status, headers={"Cache-Control": "no-store"})

    def _admitted(self, request: Request) -> Response:
        """Go on without the token in the address, so that it stays out of the history."""
        path = "/" if request.url.path == "/login" else f"/{request.url.path.lstrip('/')}"
        reply = RedirectResponse(path, 303, headers={"Cache-Control": "no-store"})
        secure = request.url.scheme == "https"
        reply.set_cookie(self._cookie, self._pass, httponly=True, samesite="strict", secure=secure)
        return reply


async def _token_of(request: Request) -> str:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            return ""
    return parse_qs(body.decode(errors="replace")).get("token", [""])[0].strip()


def _header(scope: Scope, name: bytes) -> str:
    for key, value in scope["headers"]:
        if key == name:
            return str(value.decode("latin-1"))
    return ""


def _name(host: str) -> str:
    """The host without its port; an IPv6 address keeps its brackets."""
    return host.rsplit(":", 1)[0] if not host.endswith("]") else host


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def login_page(*, wrong: bool) -> str:
    """The page; `wrong` says that the token just given was not the right one."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "Shoal workbench"),
        STYLE,
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', _body(wrong)), lang='en')}\n"


def _body(wrong: bool) -> Html:
    said = tag("p", "That token is not valid.", class_="problem", role="alert") if wrong else None
    field = Html('<input id="token" name="token" type="password" autocomplete="off" required autofocus>')
    form = tag(
        "form",
        tag("label", "Token", for_="token"),
        field,
        tag("button", "Enter", class_="main", type="submit"),
        method="post",
        action="/login",
        class_="login",
    )
    words = tag(
        "p", "Open the link that ", tag("code", "shoal web"), " printed, or paste the token at its end.", class_="lead"
    )
    brand = tag("h1", FAVICON, "Shoal workbench", class_="brand")
    return tag("main", tag("div", brand, words, said, form, class_="card"), class_="sheet door")
