"""The OpenAPI document: what FastAPI knows of the routes, and what only this service knows of its models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from shoal.service import shapes
from shoal.service.models import Served

__all__ = ["describe"]

_KEYED = ("unauthorized", "rate-limited", "headers-too-large", "ledger-down", "internal")
_ABOUT = (
    "Risk scores from models that make a promise about their data. Certified models are free to ask. "
    "Published ones cost epsilon for each new query, charged before it is answered; the same query again is free."
)
_SHAPES: tuple[type[BaseModel], ...] = (
    shapes.ScoreQuery,
    shapes.Score,
    shapes.ModelList,
    shapes.Card,
    shapes.BudgetView,
    shapes.Health,
    shapes.ProblemDocument,
)
_SCORE = {"model": "risk", "score": 0.31, "epsilon_charged": "0.1", "cached": False, "notes": []}


def describe(app: FastAPI, catalogue: dict[str, Served]) -> None:
    """Have the application publish the document for these models at ``/openapi.json``."""
    document = _document(app, catalogue)
    app.openapi = lambda: document  # type: ignore[method-assign]


def _document(app: FastAPI, catalogue: dict[str, Served]) -> dict[str, Any]:
    _, definitions = models_json_schema(
        [(shape, "validation") for shape in _SHAPES], ref_template="#/components/schemas/{model}"
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": app.title, "version": app.version, "description": _ABOUT},
        "paths": _paths(catalogue),
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "shoal_<id>_<secret>"}},
        },
    }


def _paths(catalogue: dict[str, Served]) -> dict[str, Any]:
    name = {"name": "name", "in": "path", "required": True, "schema": _names(catalogue)}
    about = ("out-of-scope", "no-such-model")
    return {
        "/v1/models/{name}/score": {"post": _score([name], _GENERAL, catalogue.values())},
        **{
            f"/v1/models/{model.name}/score": {"post": _score([], _query(model), [model])}
            for model in catalogue.values()
        },
        "/v1/models": {"get": _get("The models that the key may ask", "ModelList")},
        "/v1/models/{name}": {
            "get": {**_get("Schema, claims and words of a model", "Card", *about), "parameters": [name]}
        },
        "/v1/budget": {"get": _get("What is left", "BudgetView")},
        "/healthz": {"get": _open("Whether the service and its ledger answer", "Health", "ledger-down")},
        "/metrics": {"get": _metrics()},
    }


_GENERAL = {"$ref": "#/components/schemas/ScoreQuery"}


def _query(model: Served) -> dict[str, Any]:
    features = {"features": model.form.json_schema()}
    return {"type": "object", "properties": features, "required": ["features"], "additionalProperties": False}


def _score(place: list[dict[str, Any]], schema: dict[str, Any], models: Iterable[Served]) -> dict[str, Any]:
    refused = ("bad-json", "bad-header", "out-of-scope", "no-such-model", "too-slow", "too-large", "wrong-media-type")
    priced = ("bad-features", "key-reuse", "budget-exhausted", "answer-failed")
    operation = _get("The risk of one person", "Score", *refused, *priced)
    operation["responses"]["200"]["content"]["application/json"]["example"] = _SCORE
    examples = {model.name: {"value": {"features": model.form.example()}} for model in models}
    content = {"schema": schema, "examples": examples}
    return {
        **operation,
        "parameters": [*place, _IDEMPOTENCY],
        "requestBody": {"required": True, "content": {"application/json": content}},
    }


_IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Sent again with the same query it is charged once and answered the same; with another query, 422.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}


def _names(catalogue: dict[str, Served]) -> dict[str, Any]:
    return {"type": "string", "enum": list(catalogue)} if catalogue else {"type": "string"}


def _get(summary: str, shape: str, *problems: str) -> dict[str, Any]:
    return {**_open(summary, shape, *_KEYED, *problems), "security": [{"key": []}]}


def _open(summary: str, shape: str, *problems: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{shape}"}}}
    failures = {str(status): words for status, words in shapes.problem_responses(*problems).items()}
    return {"summary": summary, "responses": {"200": {"description": "Done", "content": content}, **failures}}


def _metrics() -> dict[str, Any]:
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {"summary": "Counters for Prometheus", "responses": {"200": {"description": "Done", "content": content}}}
