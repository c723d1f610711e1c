"""Every error of the service, of one shape: a problem document (RFC 9457).

``type`` leads to a page of this service that explains it, ``title`` is the same for each kind, ``detail`` is about this
request, ``request_id`` finds it in the log. No document repeats a value that was sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import Response

__all__ = ["KINDS", "Problem", "ProblemDocument", "ProblemKind", "ledger_down", "problem_response"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemKind:
    """A kind of problem: its status, its title, and what to do about it."""

    status: int
    title: str
    meaning: str


def _kind(status: int, title: str, meaning: str) -> ProblemKind:
    return ProblemKind(status=status, title=title, meaning=meaning)


KINDS = {
    "bad-request": _kind(400, "The request is not HTTP", "What arrived could not be read as a request."),
    "bad-json": _kind(400, "The body is not usable JSON", 'Send one object: {"features": {...}}.'),
    "bad-header": _kind(400, "A header is not usable", "An Idempotency-Key is 1 to 200 visible ASCII characters."),
    "unauthorized": _kind(
        401,
        "A valid API key is needed",
        "It is missing, mistyped or revoked. Send 'Authorization: Bearer shoal_...', all of the line that was given.",
    ),
    "out-of-scope": _kind(403, "The key does not cover this model", "Ask the operator for a key that does."),
    "not-explained": _kind(
        403, "The model explains nothing", "Its price covers one noisy answer. Certified models explain theirs."
    ),
    "no-such-model": _kind(404, "There is no such model", "GET /v1/models lists what the key may ask."),
    "not-found": _kind(404, "There is nothing here", "GET /openapi.json lists the routes."),
    "method-not-allowed": _kind(405, "The method does not fit the route", "The Allow header says which do."),
    "too-slow": _kind(408, "The request did not arrive in time", "Send it again; nothing was charged."),
    "too-large": _kind(413, "The body is too large", "A score needs the model's fields only; nothing was charged."),
    "wrong-media-type": _kind(415, "The body must be JSON", "Send Content-Type: application/json."),
    "bad-features": _kind(
        422, "The features do not fit the model", "'errors' names each field and its rule. Not charged."
    ),
    "key-reuse": _kind(
        422, "The Idempotency-Key stands for another query", "Use a new one for each query. Not charged."
    ),
    "rate-limited": _kind(429, "Too many requests", "Wait as long as Retry-After says; nothing was charged."),
    "budget-exhausted": _kind(
        429, "The budget does not cover this query", "'left' says what is left; nothing was charged."
    ),
    "headers-too-large": _kind(431, "The headers are too large", "A query needs a key, a type and a length."),
    "answer-failed": _kind(
        500, "The answer could not be computed", "The charge stands. The same query may be sent again free."
    ),
    "internal": _kind(500, "Something went wrong inside", "The operator finds it in the log by its request_id."),
    "busy": _kind(503, "Too many connections", "Try again soon; nothing was charged."),
    "ledger-down": _kind(
        503, "The ledger does not answer", "Nothing was answered. The same query is never charged twice."
    ),
}


class FieldProblem(BaseModel):
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
    row: int | None = Field(default=None, description="The first row of a batch that does not fit, from 0.")
    errors: list[FieldProblem] | None = None
    cost: str | None = None
    short: list[str] | None = None
    left: dict[str, str | None] | None = None
    error: str | None = Field(default=None, description="The detail, as the Open Inference Protocol names it.")

    @property
    def body(self) -> bytes:
        """The document as it is sent: without the members that this problem does not have."""
        return self.model_dump_json(exclude_unset=True).encode()


class Problem(Exception):  # noqa: N818 (the standard's word)
    """A problem document on its way out.

    Examples
    --------
    >>> Problem("no-such-model", "The model 'x' is not served.").document("ab12").status
    404
    """

    def __init__(self, name: str, detail: str = "", *, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(name)
        self.name, self.kind, self.detail = name, KINDS[name], detail
        self.headers, self.more = headers or {}, more

    def document(self, request_id: str) -> ProblemDocument:
        """The problem as a document."""
        return ProblemDocument(
            type=f"/problems/{self.name}",
            title=self.kind.title,
            status=self.kind.status,
            detail=self.detail or self.kind.meaning,
            request_id=request_id,
            **self.more,
        )


def ledger_down() -> Problem:
    """The problem of a ledger that does not answer."""
    return Problem("ledger-down", headers={"Retry-After": "2"})


def problem_response(problem: Problem, request_id: str) -> Response:
    """The document as a response."""
    headers = dict(problem.headers)
    if problem.kind.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="shoal"'
    return Response(
        problem.document(request_id).body, problem.kind.status, headers, media_type="application/problem+json"
    )
