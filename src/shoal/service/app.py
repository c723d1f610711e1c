"""The service: routes, and the factory that puts them together.

| route | |
| --- | --- |
| ``POST /v1/models/{name}/score`` | the risk of one person |
| ``POST /v1/models/{name}/scores`` | the risk of several, charged together or not at all |
| ``POST /v1/models/{name}/explain`` | what each value contributed, for certified models |
| ``GET /v1/models``, ``/v1/models/{name}`` | what is served: schema, claims, plain words |
| ``GET /v1/budget`` | what the client, the models and the data sets have left; all accounts for an auditor |
| ``GET /v1/openapi.json`` | the OpenAPI document with the fields of the models that the key may ask |
| ``/v2/...`` | the Open Inference Protocol (`shoal.service.inference`) |
| ``GET /livez``, ``/readyz``, ``/metrics`` | for the operator; ``/healthz`` is ``/readyz`` |
| ``GET /problems/{kind}`` | what an error means |
| ``GET /`` | a page to try it |

Everything under ``/v1``, and every model under ``/v2``, needs a key. The rest shows nothing about models' fields,
clients or their queries beyond counts; keep ``/metrics`` inside all the same.

The page at ``/``: shows what the models promise, asks one, and says what the answer means and what it cost.

Nothing comes from elsewhere, and its script and style are pinned by hash. The script (``page.js``) has one function for
others to use: ``mountScores(root, ask)`` builds the page inside an element, with any ``ask(path, body)`` that speaks to
the service's routes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse

from shoal import __version__
from shoal.ledger import Ledger, LedgerError
from shoal.service import shapes
from shoal.service.errors import KINDS, Problem, ProblemDocument, problem_response
from shoal.service.errors import ledger_down as down
from shoal.service.inference import add_inference
from shoal.service.ledger_calls import Bounded, Pulse, Writer
from shoal.service.metrics import CONTENT_TYPE, Metrics
from shoal.service.middleware import Frame
from shoal.service.models import Loaded, enrol, read_folder
from shoal.service.query import Asked
from shoal.service.scoring import Scorer
from shoal.service.settings import Settings
from shoal.service.shapes import ABOUT, KEY, KEYED, Once, for_models, problem_responses
from shoal.service.tracing import Traces

__all__ = ["PAGE", "PAGE_HEADERS", "SCRIPT", "STYLE", "create_app", "from_environment"]

# FastAPI's own traces and metrics: `shoal.service.tracing` says what may leave, and asking costs time at each request.
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
_ABOUT_MODEL = ("out-of-scope", "no-such-model")
_BODY = ("bad-json", "bad-header", "too-slow", "too-large", "wrong-media-type")
_PRICED = ("bad-features", "key-reuse", "budget-exhausted", "answer-failed")
_SCORING = problem_responses(*KEYED, *_ABOUT_MODEL, *_BODY, *_PRICED)


def create_app(
    models: Iterable[Loaded], ledger: Ledger, settings: Settings | None = None, traces: Traces | None = None
) -> FastAPI:
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
    traces = traces or (Traces.started() if settings.traces else Traces())
    scorer = Scorer(enrol(models, ledger, settings), ledger, writer, metrics, settings, bounded, traces)

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
        telemetry=_NO_TELEMETRY,
    )
    most = max(settings.max_body, settings.max_batch_body)
    score = partial(_scored, scorer)
    app.add_middleware(Frame, metrics=metrics, max_body=most, log=settings.log, traces=traces, score=score)
    _handle_errors(app)
    _add_scores(app, scorer)
    _add_reading(app, scorer, ledger, bounded)
    pulse = Pulse(ledger, bounded)
    _add_service(app, metrics, pulse)
    add_inference(app, scorer, pulse)
    _declare_problems(app)
    return app


def from_environment() -> FastAPI:
    """The application in a worker of `shoal serve`."""
    settings = Settings.from_environment()
    ledger = Ledger.open(settings.ledger, create=False, patience=settings.deadline * 0.6)
    return create_app(read_folder(settings.models, ledger.admissions()).loaded, ledger, settings)


def _add_scores(app: FastAPI, scorer: Scorer) -> None:
    async def scores(request: Request) -> Response:
        request.scope["template"] = "/v1/models/{name}/scores"
        return _json(await scorer.score_all(Asked.of(request), request.path_params["name"]))

    async def explain(request: Request) -> Response:
        request.scope["template"] = "/v1/models/{name}/explain"
        return _json(await scorer.explain(Asked.of(request), request.path_params["name"]))

    # Plain routes answer, in half the time of declared ones (`Frame` answers single scores without a route at all); the
    # declared ones below, never reached, are the document.
    app.add_route("/v1/models/{name}/scores", scores, methods=["POST"])
    app.add_route("/v1/models/{name}/explain", explain, methods=["POST"])

    @app.post("/v1/models/{name}/score", response_model=shapes.Score, responses=_SCORING, dependencies=[KEY])
    async def score_one(name: str, query: shapes.ScoreQuery, once: Once = None) -> None:
        """The risk of one person."""

    @app.post("/v1/models/{name}/scores", response_model=shapes.BatchScores, responses=_SCORING, dependencies=[KEY])
    async def score_several(name: str, query: shapes.BatchQuery) -> None:
        """The risk of several people: one price, charged together or not at all."""

    reasons = problem_responses(*KEYED, *_ABOUT_MODEL, *_BODY, "bad-features", "not-explained")

    @app.post(
        "/v1/models/{name}/explain", response_model=shapes.ScoreExplanation, responses=reasons, dependencies=[KEY]
    )
    async def explain_one(name: str, query: shapes.ScoreQuery) -> None:
        """What each value contributed to a score; free, for certified models."""


def _add_reading(app: FastAPI, scorer: Scorer, ledger: Ledger, bounded: Bounded) -> None:
    keyed, of_model = problem_responses(*KEYED), problem_responses(*KEYED, *_ABOUT_MODEL)

    @app.get("/v1/models", responses=keyed, dependencies=[KEY])
    async def models(request: Request) -> shapes.ModelList:
        """The models that the key may ask."""
        key = await scorer.admit(Asked.of(request))
        return shapes.ModelList(models=[shapes.ModelLine.of(model) for model in scorer.open_to(key)])

    @app.get("/v1/models/{name}", responses=of_model, dependencies=[KEY])
    async def model(request: Request, name: str) -> shapes.Card:
        """Schema, claims and words of a model."""
        asked = Asked.of(request)
        return shapes.Card.of(scorer.model(asked, await scorer.admit(asked), name))

    @app.get("/v1/budget", response_model_exclude_unset=True, responses=keyed, dependencies=[KEY])
    async def budget(request: Request) -> shapes.BudgetView:
        """What is spent, reserved and left, over all uses."""
        key = await scorer.admit(Asked.of(request))
        allowed = scorer.open_to(key)
        own = {("client", key.name), *(("model", m.name) for m in allowed), *(("data", m.data) for m in allowed)}
        shown = [b for b in await bounded.call(ledger.balances) if key.sees_all or (b.kind, b.name) in own]
        return shapes.BudgetView(accounts=[shapes.BalanceView(**balance.to_dict()) for balance in shown])

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def document(request: Request) -> Response:
        key = await scorer.admit(Asked.of(request))
        return JSONResponse(for_models(app.openapi(), scorer.open_to(key)))


def _add_service(app: FastAPI, metrics: Metrics, pulse: Pulse) -> None:
    @app.get("/livez")
    async def livez() -> shapes.Health:
        """Whether the process answers."""
        return shapes.Health(status="ok")

    async def ready() -> shapes.Health:
        await pulse.check()
        return shapes.Health(status="ok")

    down = problem_responses("ledger-down")
    app.get("/readyz", responses=down, summary="Whether a charge can be made")(ready)
    app.get("/healthz", responses=down, summary="The same as /readyz")(ready)

    @app.get("/metrics", responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
    async def show_metrics() -> Response:
        """Counters and budgets for Prometheus."""
        text = metrics.text(await pulse.balances(), await pulse.last_entry())
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    @app.get("/problems/{kind}", responses=problem_responses("not-found"))
    async def explain(kind: str) -> shapes.Explanation:
        """What an error means."""
        if kind not in KINDS:
            raise Problem("not-found")
        found = KINDS[kind]
        return shapes.Explanation(title=found.title, status=found.status, meaning=found.meaning)

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(PAGE, headers=PAGE_HEADERS)


def _declare_problems(app: FastAPI) -> None:
    """Put the shape of every error into FastAPI's document, in place of its own, which no reply has."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        parts = document.setdefault("components", {}).setdefault("schemas", {})
        schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
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
        return problem_response(down(), request.scope["notes"]["id"])

    @app.exception_handler(HTTPException)
    async def routing(request: Request, error: HTTPException) -> Response:
        name = "method-not-allowed" if error.status_code == 405 else "not-found"
        return problem_response(Problem(name, headers=dict(error.headers or {})), request.scope["notes"]["id"])


async def _scored(scorer: Scorer, asked: Asked, name: str) -> bytes:
    return _bytes(await scorer.score(asked, name))


def _json(reply: BaseModel) -> Response:
    return Response(_bytes(reply), media_type="application/json")


def _bytes(reply: BaseModel) -> bytes:
    return reply.model_dump_json(exclude_none=True).encode()


def _text(name: str) -> str:
    return files("shoal.service").joinpath(name).read_text(encoding="utf-8")


STYLE, SCRIPT = _text("page.css"), _text("page.js")
PAGE = _text("page.html").replace("{{ style }}", STYLE).replace("{{ script }}", SCRIPT)


def _pinned(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_pinned(SCRIPT)}; style-src {_pinned(STYLE)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'"
    ),
}
