"""One query from header to answer. The order of steps is the promise:

1. who asks, how often, which model, may they: no cost, no data;
2. the body, held to the model's public schema: no cost, no data;
3. the charge, durable in the ledger;
4. only now the model computes, and noise is drawn;
5. the answer, stored durably; the first one stored for a charge is the one that leaves;
6. the reply.

A crash after 3 loses an answer, never a charge; the same query sent again is free and, if nothing was stored, answered
then. A fault in step 4 gives one constant reply and keeps the charge: an error that depended on the data would be a
free question. Models without a price skip 3 and 5.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import Any

from starlette.requests import ClientDisconnect, Request

from shoal.ledger import Answer, Batch, Charge, Charged, ChargedBatch, Key, Ledger, Refused, Reply
from shoal.ledger.amount import UNITS, to_text
from shoal.ledger.records import Outcome
from shoal.service.authentication import Guard
from shoal.service.deadline import Bounded
from shoal.service.errors import Problem
from shoal.service.fields import Reading, read
from shoal.service.metrics import Metrics
from shoal.service.models import Served
from shoal.service.settings import Settings
from shoal.service.writer import Writer

__all__ = ["Scorer"]

_TOKEN = re.compile(r"[\x21-\x7e]{1,200}")


class Scorer:
    """Answers queries to the models of a catalogue."""

    def __init__(
        self,
        catalogue: dict[str, Served],
        ledger: Ledger,
        writer: Writer,
        metrics: Metrics,
        settings: Settings,
        bounded: Bounded,
    ) -> None:
        self.catalogue, self._ledger, self._writer = catalogue, ledger, writer
        self._metrics, self._settings = metrics, settings
        self.guard = Guard(ledger, settings, bounded)

    async def admit(self, request: Request) -> Key:
        """The key that asks; its client is noted for the log."""
        key = await self.guard.admit(
            request.headers.get("authorization"), request.client.host if request.client else ""
        )
        request.scope["notes"]["client"] = key.name
        return key

    def model(self, request: Request, key: Key, name: str) -> Served:
        """The model of that name, if the key covers it."""
        served = self.catalogue.get(name)
        if served is None:
            raise Problem("no-such-model")
        request.scope["notes"]["model"] = name
        if not key.allows(name):
            raise Problem("out-of-scope")
        return served

    async def score(self, request: Request, name: str) -> dict[str, Any]:
        """The reply to ``POST /v1/models/{name}/score``, as words."""
        key = await self.admit(request)
        served = self.model(request, key, name)
        token = _idempotency_key(request)
        reading = read(served.domain, _member(await self._body(request, self._settings.max_body), "features"))
        if not served.amount:
            self._metrics.score(name, "free")
            return _words(served, _finite(served.model.score(reading.values)), reading, Charged(mark="", amount=0))
        return await self._priced(request, served, key, reading, token)

    async def score_all(self, request: Request, name: str) -> dict[str, Any]:
        """The reply to ``POST /v1/models/{name}/scores``, as words: one price, all or nothing."""
        key = await self.admit(request)
        served = self.model(request, key, name)
        rows = _member(await self._body(request, self._settings.max_batch_body), "rows")
        if not isinstance(rows, list) or not 0 < len(rows) <= self._settings.max_batch:
            raise Problem("bad-json", f"The member 'rows' must be a list of 1 to {self._settings.max_batch:,} objects.")
        readings = _readings(served, rows)
        if served.amount:
            charged, scores = await self._priced_all(request, served, key, readings)
        else:
            charged, scores = ChargedBatch(charged=()), [_finite(served.model.score(r.values)) for r in readings]
            self._metrics.score(name, "free", times=len(scores))
        return _batch_words(served, scores, readings, charged)

    async def _priced_all(
        self, request: Request, served: Served, key: Key, readings: list[Reading]
    ) -> tuple[ChargedBatch, list[float]]:
        batch = Batch(charges=tuple(self._order(served, key, reading, None) for reading in readings))
        outcome = await self._writer.settle(batch)
        if isinstance(outcome, Refused):
            self._metrics.score(served.name, "refused", times=len(readings))
            raise _refusal(outcome, served, len(readings))
        assert isinstance(outcome, ChargedBatch)
        request.scope["notes"] |= {"epsilon": to_text(outcome.amount), "head": str(self._ledger.last or "")}
        new = sum(1 for one in outcome.charged if one.amount)
        self._metrics.score(served.name, "charged", outcome.amount / UNITS, times=new)
        return outcome, await self._answers(served, readings, outcome)

    async def _answers(self, served: Served, readings: list[Reading], outcome: ChargedBatch) -> list[float]:
        """The stored answers, and new ones for the rest, stored before they leave."""
        try:
            orders = [
                Answer(mark=one.mark, score=_finite(served.model.score(reading.values)))
                for one, reading in zip(outcome.charged, readings, strict=True)
                if one.score is None
            ]
        except Exception:  # whatever it was, the reply is the same
            self._metrics.score(served.name, "failed")
            raise Problem("answer-failed") from None
        replies = {
            order.mark: reply for order, reply in zip(orders, await self._writer.settle_all(orders), strict=True)
        }
        return [_stored(replies[one.mark]) if one.score is None else one.score for one in outcome.charged]

    async def _priced(
        self, request: Request, served: Served, key: Key, reading: Reading, token: str | None
    ) -> dict[str, Any]:
        charged = await self._charge(served, key, reading, token)
        notes = request.scope["notes"]
        notes["epsilon"], notes["cached"] = to_text(charged.amount), charged.score is not None
        notes["head"] = str(self._ledger.last or "")
        self._metrics.score(served.name, "charged" if charged.amount else "cached", charged.amount / UNITS)
        if charged.score is not None:
            return _words(served, charged.score, reading, charged)
        try:
            score = _finite(served.model.score(reading.values))
        except Exception:  # whatever it was, the reply is the same
            self._metrics.score(served.name, "failed")
            raise Problem("answer-failed") from None
        reply = await self._writer.settle(Answer(mark=charged.mark, score=score))
        assert isinstance(reply, Reply)
        return _words(served, reply.score, reading, charged)

    async def _charge(self, served: Served, key: Key, reading: Reading, token: str | None) -> Charged:
        outcome = await self._writer.settle(self._order(served, key, reading, token))
        if isinstance(outcome, Refused):
            self._metrics.score(served.name, "refused")
            raise _refusal(outcome, served)
        assert isinstance(outcome, Charged)
        return outcome

    def _order(self, served: Served, key: Key, reading: Reading, token: str | None) -> Charge:
        return Charge(
            key=key.id,
            client=key.client,
            model=served.account,
            data=served.data_account,
            amount=served.amount,
            mark=self._ledger.mark("query", str(key.client), served.digest, reading.canonical),
            token=None if token is None else self._ledger.mark("token", str(key.client), token),
        )

    async def _body(self, request: Request, most: int) -> bytes:
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Problem("wrong-media-type")
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                body = await request.body()
        except (TimeoutError, ClientDisconnect):
            raise Problem("too-slow") from None
        if len(body) > most:
            raise Problem("too-large")
        return body


def _readings(served: Served, rows: list[Any]) -> list[Reading]:
    """Each row held to the domain; a problem that names the first row that does not fit."""
    readings = []
    for number, row in enumerate(rows):
        try:
            readings.append(read(served.domain, row))
        except Problem as problem:
            raise Problem(problem.name, f"Row {number}: {problem.detail}", row=number, **problem.more) from None
    return readings


def _member(body: bytes, name: str) -> object:
    """The one member of the object that the body is."""
    try:
        words = _DECODER.decode(body.decode())
    except _TwiceError:
        raise Problem("bad-json", "No object may name a member twice: readers differ on which one counts.") from None
    except (ValueError, RecursionError):
        rule = "The body must be one JSON object in UTF-8, without NaN, Infinity or numbers of thousands of digits."
        raise Problem("bad-json", rule) from None
    if not isinstance(words, dict) or set(words) != {name}:
        raise Problem("bad-json", f"The body must be an object with the one member '{name}'.")
    return words[name]


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


class _TwiceError(ValueError):
    """A member is named twice."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _TwiceError
    return members


_DECODER = json.JSONDecoder(
    parse_constant=_no_constant, object_pairs_hook=_each_once
)  # made once, as making one costs more than using it


def _idempotency_key(request: Request) -> str | None:
    token = request.headers.get("idempotency-key")
    if token is not None and not _TOKEN.fullmatch(token):
        raise Problem("bad-header")
    return token


def _finite(score: float) -> float:
    value = float(score)
    if not math.isfinite(value):
        raise ValueError("a score must be finite")
    return value


def _words(served: Served, score: float, reading: Reading, charged: Charged) -> dict[str, Any]:
    return {
        "model": served.name,
        "score": score,
        "epsilon_charged": to_text(charged.amount),
        "cached": charged.score is not None,
        "notes": list(reading.notes),
    }


def _batch_words(served: Served, scores: list[float], readings: list[Reading], charged: ChargedBatch) -> dict[str, Any]:
    return {
        "model": served.name,
        "scores": scores,
        "epsilon_charged": to_text(charged.amount),
        "cached": sum(1 for one in charged.charged if one.score is not None),
        "notes": [f"row {number}: {note}" for number, reading in enumerate(readings) for note in reading.notes],
    }


def _stored(reply: Outcome) -> float:
    assert isinstance(reply, Reply)
    return reply.score


def _refusal(refused: Refused, served: Served, times: int = 1) -> Problem:
    if refused.why == "revoked":
        return Problem("unauthorized")
    if refused.why == "token":
        return Problem("key-reuse")
    left = {kind: None if units is None else to_text(units) for kind, units in refused.left}
    cost = to_text(served.amount * times)
    detail = (
        f"The query costs epsilon = {cost}; the account of the {' and the '.join(refused.short)} does not cover it."
    )
    return Problem("budget-exhausted", detail, cost=cost, short=list(refused.short), left=left)
