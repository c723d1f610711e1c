"""The shapes of bodies, declared once: the OpenAPI document shows them, and replies are made of them.

The OpenAPI document is FastAPI's own, made from them. Without a key nobody learns which models there are, let alone
their fields and bounds: ``/openapi.json`` speaks of any model. ``/v1/openapi.json`` adds a path, a schema and an
example for each model that the key may ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

from fastapi import Depends, Header
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from shoal.ledger.amount import to_text
from shoal.service.errors import KINDS, Problem
from shoal.service.models import Served

__all__ = [
    "ABOUT",
    "KEY",
    "KEYED",
    "BalanceView",
    "BatchQuery",
    "BatchScores",
    "BudgetView",
    "Card",
    "Explanation",
    "Health",
    "ModelLine",
    "ModelList",
    "Once",
    "Part",
    "Score",
    "ScoreExplanation",
    "ScoreQuery",
    "for_models",
    "problem_responses",
]

_DECIMAL = "Epsilon as an exact decimal number in text."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ScoreQuery(_Strict):
    """A query: the person's features."""

    features: dict[str, float | str | bool | None] = Field(description="Field name to value; see the model's card.")


class Score(_Strict):
    """The answer to a query."""

    model: str
    score: float = Field(description="The probability of the outcome, 0 to 1, or the expected value of a number.")
    probabilities: dict[str, float] | None = Field(
        default=None, description="The probability of each class, where there are more than two."
    )
    epsilon_charged: str = Field(description=f"{_DECIMAL} 0 for a free model and for a query asked before.")
    cached: bool = Field(description="Whether this is the answer given before.")
    notes: list[str] = Field(description="What was changed on the way, such as a number moved to its public bound.")


class BatchQuery(_Strict):
    """Several people at once, charged together or not at all."""

    rows: list[dict[str, float | str | bool | None]] = Field(description="The features of each person.", min_length=1)


class BatchScores(_Strict):
    """The answers to a batch, in its order."""

    model: str
    scores: list[float] = Field(description="The score of each person.")
    probabilities: list[dict[str, float]] | None = Field(
        default=None, description="The probability of each class for each person, where there are more than two."
    )
    epsilon_charged: str = Field(description=f"{_DECIMAL} For all of them together.")
    cached: int = Field(description="How many of the answers were given before, and were free.")
    notes: list[str] = Field(description="What was changed on the way, with the number of the row, from 0.")


class Part(_Strict):
    """What one value contributed."""

    feature: str
    cell: str = Field(description="The cell of the feature that the value lies in.")
    log_odds: float


class ScoreExplanation(_Strict):
    """A score taken apart: base and contributions add up to its log-odds."""

    model: str
    outcome: str = Field(description="The class that is explained, or the name of the number.")
    score: float
    base: float = Field(description="The log-odds where everybody starts.")
    contributions: list[Part] = Field(description="The largest first.")
    notes: list[str] = Field(description="What was changed on the way, such as a number moved to its public bound.")


class ModelLine(_Strict):
    """A model in the list."""

    name: str
    epsilon_per_query: str = Field(description=_DECIMAL)
    words: str

    @classmethod
    def of(cls, model: Served, **more: Any) -> Self:
        """The entry of a model."""
        return cls(name=model.name, epsilon_per_query=to_text(model.amount), words=model.model.words, **more)


class ModelList(_Strict):
    """The models that the key may ask."""

    models: list[ModelLine]


class FieldCard(_Strict):
    """One field of a query."""

    name: str
    kind: str
    required: bool
    nullable: bool
    levels: list[Any] | None
    bounds: list[float] | None


class Card(ModelLine):
    """All about a model that a client may know."""

    outcome: str | None = Field(description="The class whose probability the score is, or the number it expects.")
    bounds: list[float] | None = Field(description="The range of a numeric outcome; null where it is a probability.")
    digest: str
    data: str = Field(description="Name of the data set; everything that is computed from it shares one account.")
    features: list[FieldCard]
    claims: list[dict[str, Any]]
    example: dict[str, Any]

    @classmethod
    def of(cls, model: Served, **more: Any) -> Self:
        """Fields, claims, plain words and an example of a model."""
        return super().of(
            model,
            outcome=getattr(model.model, "outcome", None),
            bounds=getattr(model.model, "bounds", None),
            digest=model.digest,
            data=model.data,
            features=[axis.form_field() for axis in model.domain.axes],
            claims=[claim.to_dict() for claim in model.model.claims],
            example={"features": model.domain.example()},
            **more,
        )


class BalanceView(_Strict):
    """An account."""

    kind: str
    name: str
    limit: str | None = Field(description=_DECIMAL)
    spent: str
    reserved: str = Field(description="Kept free for answers: neither spent nor left.")
    left: str | None
    label: str | None = None
    answered: str | None = Field(default=None, description="The part of what is spent that answers cost.")
    left_for_answers: str | None = Field(default=None, description="The reservation, or without one what is left.")
    currency: str | None = None
    rule: str | None = Field(default=None, description="How costs are added up against the limit.")
    delta_limit: str | None = None
    delta_spent: str | None = None


class BudgetView(_Strict):
    """The accounts that the key spends from."""

    accounts: list[BalanceView]


class Health(_Strict):
    """Whether the service can answer."""

    status: str


class Explanation(_Strict):
    """What an error means."""

    title: str
    status: int
    meaning: str


def problem_responses(*names: str) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route, each with an example of each kind; for FastAPI's ``responses``."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for name in names:
        kind = KINDS[name]
        response = by_status.setdefault(kind.status, {"description": kind.title, "content": _content()})
        document = Problem(name).document("3f9c2a7d51e80b46").model_dump(exclude_unset=True)
        response["content"]["application/problem+json"]["examples"][name] = {"summary": kind.title, "value": document}
    return by_status


def _content() -> dict[str, Any]:
    shape = {"$ref": "#/components/schemas/ProblemDocument"}
    return {"application/problem+json": {"schema": shape, "examples": {}}}


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
