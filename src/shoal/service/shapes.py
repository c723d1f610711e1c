"""The shapes of bodies, declared once: the OpenAPI document shows them, and replies are made of them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shoal.service.errors import KINDS, Problem

__all__ = [
    "BatchQuery",
    "BatchScores",
    "BudgetView",
    "Card",
    "Explanation",
    "Health",
    "ModelList",
    "ProblemDocument",
    "Score",
    "ScoreQuery",
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
    score: float = Field(description="The risk: the probability of the outcome, 0 to 1.")
    epsilon_charged: str = Field(description=f"{_DECIMAL} 0 for a free model and for a query asked before.")
    cached: bool = Field(description="Whether this is the answer given before.")
    notes: list[str] = Field(description="What was changed on the way, such as a number moved to its public bound.")


class BatchQuery(_Strict):
    """Several people at once, charged together or not at all."""

    rows: list[dict[str, float | str | bool | None]] = Field(description="The features of each person.", min_length=1)


class BatchScores(_Strict):
    """The answers to a batch, in its order."""

    model: str
    scores: list[float] = Field(description="The risk of each person, 0 to 1.")
    epsilon_charged: str = Field(description=f"{_DECIMAL} For all of them together.")
    cached: int = Field(description="How many of the answers were given before, and were free.")
    notes: list[str] = Field(description="What was changed on the way, with the number of the row, from 0.")


class ModelLine(_Strict):
    """A model in the list."""

    name: str
    epsilon_per_query: str = Field(description=_DECIMAL)
    words: str


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

    outcome: str | None = Field(description="The class whose probability the score is, where the model names one.")
    digest: str
    data: str = Field(description="Name of the data set; everything that is computed from it shares one account.")
    features: list[FieldCard]
    claims: list[dict[str, Any]]
    example: dict[str, Any]


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


class FieldProblem(_Strict):
    """A field that does not fit."""

    field: str
    rule: str


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[FieldProblem] | None = None
    cost: str | None = None
    short: list[str] | None = None
    left: dict[str, str | None] | None = None


def problem_responses(*names: str) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route, each with an example of each kind; for FastAPI's ``responses``."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for name in names:
        kind = KINDS[name]
        response = by_status.setdefault(kind.status, {"description": kind.title, "content": _content()})
        example = {"summary": kind.title, "value": Problem(name).document("3f9c2a7d51e80b46")}
        response["content"]["application/problem+json"]["examples"][name] = example
    return by_status


def _content() -> dict[str, Any]:
    shape = {"$ref": "#/components/schemas/ProblemDocument"}
    return {"application/problem+json": {"schema": shape, "examples": {}}}
