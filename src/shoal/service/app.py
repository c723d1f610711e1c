"""The service: routes, and the factory that puts them together.

| route | |
| --- | --- |
| ``POST /v1/models/{name}/score`` | the risk of one person |
| ``GET /v1/models``, ``/v1/models/{name}`` | what is served: schema, claims, plain words |
| ``GET /v1/budget`` | what the client, the models and the data sets have left |
| ``GET /healthz``, ``/metrics`` | for the operator |
| ``GET /problems/{kind}`` | what an error means |
| ``GET /`` | a page to try it |

Everything under ``/v1`` needs a key. The rest shows nothing about data, clients or their queries beyond counts; keep
``/metrics`` inside all the same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from shoal import __version__
from shoal.ledger import Ledger, LedgerError
from shoal.ledger.records import Balance
from shoal.service.describe import describe
from shoal.service.frame import Frame
from shoal.service.metrics import CONTENT_TYPE, Metrics
from shoal.service.models import Loaded, enrol, load_folder
from shoal.service.page import PAGE, PAGE_HEADERS
from shoal.service.problems import KINDS, Problem, problem_response
from shoal.service.scoring import Scorer
from shoal.service.settings import Settings
from shoal.service.writer import Writer

__all__ = ["create_app", "from_environment"]


def create_app(models: Iterable[Loaded], ledger: Ledger, settings: Settings | None = None) -> FastAPI:
    """The application for these models and this ledger; enrols the models, which records each fit once.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.ledger import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.open("sqlite:///" + str(pathlib.Path(folder.name, "ledger.db")))
    >>> app = create_app([], ledger)
    >>> "/v1/models/{name}/score" in app.openapi()["paths"]
    True
    >>> ledger.close(); folder.cleanup()
    """
    settings = settings or Settings()
    metrics = Metrics()
    writer = Writer(ledger, metrics.batch)
    scorer = Scorer(enrol(models, ledger, settings), ledger, writer, metrics, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await writer.close()
        ledger.close()

    app = FastAPI(
        title="Shoal", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.add_middleware(Frame, metrics=metrics, max_body=settings.max_body, log=settings.log)
    _handle_errors(app)
    _add_scores(app, scorer, ledger)
    _add_service(app, metrics, ledger)
    describe(app, scorer.catalogue)
    return app


def from_environment() -> FastAPI:
    """The application in a worker of `shoal serve`."""
    settings = Settings.from_environment()
    return create_app(load_folder(settings.models), Ledger.open(settings.ledger), settings)


def _add_scores(app: FastAPI, scorer: Scorer, ledger: Ledger) -> None:
    async def score(request: Request) -> Response:
        request.scope["template"] = "/v1/models/{name}/score"
        return _json(await scorer.score(request, request.path_params["name"]))

    app.add_route("/v1/models/{name}/score", score, methods=["POST"])  # a plain route: half the time of a described one

    @app.get("/v1/models")
    async def models(request: Request) -> Response:
        key = await scorer.admit(request)
        return _json({"models": [m.line() for m in scorer.catalogue.values() if key.allows(m.name)]})

    @app.get("/v1/models/{name}")
    async def model(request: Request, name: str) -> Response:
        return _json(scorer.model(request, await scorer.admit(request), name).card())

    @app.get("/v1/budget")
    async def budget(request: Request) -> Response:
        key = await scorer.admit(request)
        allowed = [m for m in scorer.catalogue.values() if key.allows(m.name)]
        wanted = {("client", key.name), *(("model", m.name) for m in allowed), *(("data", m.data) for m in allowed)}
        balances = await asyncio.to_thread(ledger.balances)
        return _json({"accounts": [b.to_dict() for b in balances if _names(b) in wanted]})


def _add_service(app: FastAPI, metrics: Metrics, ledger: Ledger) -> None:
    @app.get("/healthz")
    async def healthz() -> Response:
        await asyncio.to_thread(ledger.ping)
        return _json({"status": "ok"})

    @app.get("/metrics")
    async def show_metrics() -> Response:
        return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    @app.get("/problems/{kind}")
    async def explain(kind: str) -> Response:
        if kind not in KINDS:
            raise Problem("not-found")
        found = KINDS[kind]
        return _json({"title": found.title, "status": found.status, "meaning": found.meaning})

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(PAGE, headers=PAGE_HEADERS)


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(request: Request, error: Problem) -> Response:
        return problem_response(error, request.scope["notes"]["id"])

    @app.exception_handler(LedgerError)
    async def ledger_down(request: Request, _: LedgerError) -> Response:
        return problem_response(Problem("ledger-down", headers={"Retry-After": "2"}), request.scope["notes"]["id"])

    @app.exception_handler(HTTPException)
    async def routing(request: Request, error: HTTPException) -> Response:
        name = "method-not-allowed" if error.status_code == 405 else "not-found"
        return problem_response(Problem(name, headers=dict(error.headers or {})), request.scope["notes"]["id"])


def _json(words: dict[str, Any]) -> Response:
    return Response(json.dumps(words).encode(), media_type="application/json")


def _names(balance: Balance) -> tuple[str, str]:
    return balance.kind, balance.name
