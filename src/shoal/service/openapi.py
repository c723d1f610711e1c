"""The OpenAPI document: FastAPI's own, from the shapes of the routes; with a key, also the fields of each model.

Without a key nobody learns which models there are, let alone their fields and bounds: ``/openapi.json`` speaks of any
model. ``/v1/openapi.json`` adds a path, a schema and an example for each model that the key may ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shoal.service.models import Served

__all__ = ["ABOUT", "IDEMPOTENCY", "KEYED", "SECURITY", "body_of", "for_models"]

ABOUT = (
    "Risk scores from models that make a promise about their data. Certified models are free to ask. "
    "Published ones cost epsilon for each new query, charged before it is answered; the same query again is free."
)
KEYED = ("unauthorized", "rate-limited", "headers-too-large", "ledger-down", "internal")
SECURITY = {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "shoal_<id>_<secret>"}}
IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Sent again with the same query it is charged once and answered the same; with another query, 422.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}


def body_of(shape: str) -> dict[str, Any]:
    """The request body of a route that reads it by hand."""
    schema = {"$ref": f"#/components/schemas/{shape}"}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def for_models(document: dict[str, Any], models: Iterable[Served]) -> dict[str, Any]:
    """The document with a path for each of these models."""
    general = document["paths"]["/v1/models/{name}/score"]["post"]
    paths = {f"/v1/models/{model.name}/score": {"post": _named(general, model)} for model in models}
    return {**document, "paths": {**document["paths"], **paths}}


def _named(general: dict[str, Any], model: Served) -> dict[str, Any]:
    features = {"features": model.domain.json_schema()}
    schema = {"type": "object", "properties": features, "required": ["features"], "additionalProperties": False}
    content = {"schema": schema, "example": {"features": model.domain.example()}}
    return {
        **general,
        "operationId": f"score_{model.name}",
        "parameters": [IDEMPOTENCY],
        "requestBody": {"required": True, "content": {"application/json": content}},
    }
