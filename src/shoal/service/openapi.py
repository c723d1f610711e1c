"""The OpenAPI document: FastAPI's own, from the shapes of the routes; with a key, also the fields of each model.

Without a key nobody learns which models there are, let alone their fields and bounds: ``/openapi.json`` speaks of any
model. ``/v1/openapi.json`` adds a path, a schema and an example for each model that the key may ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import Depends, Header
from fastapi.security import HTTPBearer

from shoal.service.models import Served

__all__ = ["ABOUT", "KEY", "KEYED", "Once", "for_models"]

ABOUT = (
    "Risk scores from models that make a promise about their data. Certified models are free to ask. "
    "Published ones cost epsilon for each new query, charged before it is answered; the same query again is free."
)
KEYED = ("unauthorized", "rate-limited", "headers-too-large", "ledger-down", "internal")
KEY = Depends(HTTPBearer(scheme_name="key", bearerFormat="shoal_<id>_<secret>", auto_error=False))
"""What a route says that needs a key; the key itself is read by `shoal.service.authentication`."""

Once = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern="^[!-~]{1,200}$",
        description="Sent again with the same query it is charged once and answered the same; with another query, 422.",
    ),
]


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
        "parameters": [parameter for parameter in general["parameters"] if parameter["in"] == "header"],
        "requestBody": {"required": True, "content": {"application/json": content}},
    }
