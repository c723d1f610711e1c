"""The service: routes, and the factory that puts them together.

| route | |
| --- | --- |
| ``POST /v1/models/{name}/score`` | the risk of one person |
| ``POST /v1/models/{name}/scores`` | the risk of several, charged together or not at all |
| ``GET /v1/models``, ``/v1/models/{name}`` | what is served: schema, claims, plain words |
| ``GET /v1/budget`` | what the client, the models and the data sets have left; all accounts for an auditor |
| ``GET /v1/openapi.json`` | the OpenAPI document with the fields of the models that the key may ask |
| ``GET /livez``, ``/readyz``, ``/metrics`` | for the operator; ``/healthz`` is ``/readyz`` |
| ``GET /problems/{kind}`` | what an error means |
| ``GET /`` | a page to try it |

Everything under ``/v1`` needs a key. The rest shows nothing about models' fields, clients or their queries beyond
counts; keep ``/metrics`` inside all the same.
"""

from __future__ import annotations

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
from shoal.service import shapes
from shoal.service.deadline import Bounded
from shoal.service.errors import KINDS, Problem, problem_response
from shoal.service.health import Pulse
from shoal.service.metrics import CONTENT_TYPE, Metrics
from shoal.service.middleware import Frame
from shoal.service.models import Loaded, enrol, read_folder
from shoal.service.openapi import ABOUT, KEY, KEYED, Once, for_models
from shoal.service.page import PAGE, PAGE_HEADERS
from shoal.service.scoring import Scorer
from shoal.service.settings import Settings
from shoal.service.shapes import problem_responses
from shoal.service.writer import Writer

__all__ = ["create_app", "from_environment"]

_ABOUT_MODEL = ("out-of-scope", "no-such-model")
_BODY = ("bad-json", "bad-header", "too-slow", "too-large", "wrong-media-type")
_PRICED = ("bad-features", "key-reuse", "budget-exhausted", "answer-failed")
_BUDGET: dict[str, Any] = {"response_model": shapes.BudgetView, "response_model_exclude_unset": True}
_SCORING = problem_responses(*KEYED, *_ABOUT_MODEL, *_BODY, *_PRICED)


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
    writer, bounded = Writer(ledger, metrics.batch, settings.deadline), Bounded(ledger, settings.deadline)
    scorer = Scorer(enrol(models, ledger, settings), ledger, writer, metrics, settings, bounded)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await writer.close()
        bounded.close()
        ledger.close()

    app = FastAPI(
        title="Shoal",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    most = max(settings.max_body, settings.max_batch_body)
    app.add_middleware(Frame, metrics=metrics, max_body=most, log=settings.log)
    _handle_errors(app)
    _add_scores(app, scorer)
    _add_reading(app, scorer, ledger, bounded)
    _add_service(app, metrics, Pulse(ledger, bounded))
    _declare_problems(app)
    return app


def from_environment() -> FastAPI:
    """The application in a worker of `shoal serve`."""
    settings = Settings.from_environment()
    ledger = Ledger.open(settings.ledger, create=False, patience=settings.deadline * 0.6)
    return create_app(read_folder(settings.models, ledger.admissions()).loaded, ledger, settings)


def _add_scores(app: FastAPI, scorer: Scorer) -> None:
    async def score(request: Request) -> Response:
        request.scope["template"] = "/v1/models/{name}/score"
        return _json(await scorer.score(request, request.path_params["name"]))

    async def scores(request: Request) -> Response:
        request.scope["template"] = "/v1/models/{name}/scores"
        return _json(await scorer.score_all(request, request.path_params["name"]))

    # Plain routes answer, in half the time of declared ones; the declared ones below, never reached, are the document.
    app.add_route("/v1/models/{name}/score", score, methods=["POST"])
    app.add_route("/v1/models/{name}/scores", scores, methods=["POST"])

    @app.post("/v1/models/{name}/score", response_model=shapes.Score, responses=_SCORING, dependencies=[KEY])
    async def score_one(name: str, query: shapes.ScoreQuery, once: Once = None) -> None:
        """The risk of one person."""

    @app.post("/v1/models/{name}/scores", response_model=shapes.BatchScores, responses=_SCORING, dependencies=[KEY])
    async def score_several(name: str, query: shapes.BatchQuery) -> None:
        """The risk of several people: one price, charged together or not at all."""


def _add_reading(app: FastAPI, scorer: Scorer, ledger: Ledger, bounded: Bounded) -> None:
    keyed, of_model = problem_responses(*KEYED), problem_responses(*KEYED, *_ABOUT_MODEL)

    @app.get("/v1/models", response_model=shapes.ModelList, responses=keyed, dependencies=[KEY])
    async def models(request: Request) -> Any:
        """The models that the key may ask."""
        key = await scorer.admit(request)
        return {"models": [m.line() for m in scorer.catalogue.values() if key.allows(m.name)]}

    @app.get("/v1/models/{name}", response_model=shapes.Card, responses=of_model, dependencies=[KEY])
    async def model(request: Request, name: str) -> Any:
        """Schema, claims and words of a model."""
        return scorer.model(request, await scorer.admit(request), name).card()

    @app.get("/v1/budget", responses=keyed, dependencies=[KEY], **_BUDGET)
    async def budget(request: Request) -> Any:
        """What is spent, reserved and left, over all uses."""
        key = await scorer.admit(request)
        allowed = [m for m in scorer.catalogue.values() if key.allows(m.name)]
        wanted = {("client", key.name), *(("model", m.name) for m in allowed), *(("data", m.data) for m in allowed)}
        balances = await bounded.call(lambda: ledger.balances())
        return {"accounts": [b.to_dict() for b in balances if key.sees_all or _names(b) in wanted]}

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def document(request: Request) -> Response:
        key = await scorer.admit(request)
        return _json(for_models(app.openapi(), [m for m in scorer.catalogue.values() if key.allows(m.name)]))


def _add_service(app: FastAPI, metrics: Metrics, pulse: Pulse) -> None:
    @app.get("/livez", response_model=shapes.Health)
    async def livez() -> Any:
        """Whether the process answers."""
        return {"status": "ok"}

    async def ready() -> Any:
        await pulse.check()
        return {"status": "ok"}

    down = problem_responses("ledger-down")
    app.get("/readyz", response_model=shapes.Health, responses=down, summary="Whether a charge can be made")(ready)
    app.get("/healthz", response_model=shapes.Health, responses=down, summary="The same as /readyz")(ready)

    @app.get("/metrics", responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
    async def show_metrics() -> Response:
        """Counters and budgets for Prometheus."""
        return Response(metrics.text(await pulse.balances()), headers={"Content-Type": CONTENT_TYPE})

    @app.get("/problems/{kind}", response_model=shapes.Explanation, responses=problem_responses("not-found"))
    async def explain(kind: str) -> Any:
        """What an error means."""
        if kind not in KINDS:
            raise Problem("not-found")
        found = KINDS[kind]
        return {"title": found.title, "status": found.status, "meaning": found.meaning}

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(PAGE, headers=PAGE_HEADERS)


def _declare_problems(app: FastAPI) -> None:
    """Put the shape of every error into FastAPI's document, in place of its own, which no reply has."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        parts = document.setdefault("components", {}).setdefault("schemas", {})
        schema = shapes.ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        parts.update({**schema.pop("$defs", {}), "ProblemDocument": schema})
        for name in ("HTTPValidationError", "ValidationError"):
            parts.pop(name, None)
        for operation in (found for path in document["paths"].values() for found in path.values()):
            replies = operation["responses"]
            replies.get("422", {}).get("content", {}).pop("application/json", None)
            if "content" in replies.get("422", {}) and not replies["422"]["content"]:
                del replies["422"]
        return document

    app.openapi = openapi  # type: ignore[method-assign]


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
