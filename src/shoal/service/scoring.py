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
import math
from typing import Any

from shoal.ledger import Answer, Batch, Charge, Charged, ChargedBatch, Key, Ledger, Refused, Reply
from shoal.ledger.amount import UNITS, to_text
from shoal.ledger.records import Outcome
from shoal.service.authentication import Guard
from shoal.service.errors import Problem
from shoal.service.ledger_calls import Bounded, Writer
from shoal.service.metrics import Metrics
from shoal.service.models import Served
from shoal.service.query import Asked, Query, Receive, Value, idempotency_key, member, read, read_all
from shoal.service.settings import Settings
from shoal.service.shapes import BatchScores, Score, ScoreExplanation
from shoal.service.tracing import Traces

__all__ = ["Scorer"]

_JSON = "application/json"


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
        traces: Traces | None = None,
    ) -> None:
        self.catalogue, self._ledger, self._writer = catalogue, ledger, writer
        self._metrics, self._settings = metrics, settings
        self._traces = traces or Traces()
        self._together = {name: _Together(served) for name, served in catalogue.items()}
        self.guard = Guard(ledger, settings, bounded)

    async def admit(self, asked: Asked) -> Key:
        """The key that asks; its client is noted for the log."""
        key = await self.guard.admit(asked.header("authorization"), asked.address)
        asked.scope["notes"]["client"] = key.name
        return key

    def model(self, asked: Asked, key: Key, name: str) -> Served:
        """The model of that name, if the key covers it."""
        served = self.catalogue.get(name)
        if served is None:
            raise Problem("no-such-model")
        asked.scope["notes"]["model"] = name
        if not key.allows(name):
            raise Problem("out-of-scope")
        return served

    def open_to(self, key: Key) -> list[Served]:
        """The models that the key may ask."""
        return [served for served in self.catalogue.values() if key.allows(served.name)]

    async def score(self, asked: Asked, name: str) -> Score:
        """The reply to ``POST /v1/models/{name}/score``."""
        key = await self.admit(asked)
        served = self.model(asked, key, name)
        token = idempotency_key(asked)
        query = read(served.domain, member(await self._body(asked, self._settings.max_body), "features"))
        if not served.amount:
            self._metrics.score(name, "free")
            (score,) = served.model.scores([query.values])
            return _reply(served, _finite(score), query, Charged(mark="", amount=0))
        return await self._priced(asked, served, key, query, token)

    async def explain(self, asked: Asked, name: str) -> ScoreExplanation:
        """The reply to ``POST /v1/models/{name}/explain``: made from the model alone, so free where answers are."""
        key = await self.admit(asked)
        served = self.model(asked, key, name)
        query = read(served.domain, member(await self._body(asked, self._settings.max_body), "features"))
        found = None if served.amount else served.model.explain(query.values)
        if found is None:
            raise Problem("not-explained")
        self._metrics.score(name, "explained")
        return ScoreExplanation(model=served.name, notes=list(query.notes), **found.to_dict())

    async def score_all(self, asked: Asked, name: str) -> BatchScores:
        """The reply to ``POST /v1/models/{name}/scores``: one price, all or nothing."""
        key = await self.admit(asked)
        served = self.model(asked, key, name)
        rows = member(await self.body(asked), "rows")
        if not isinstance(rows, list) or not 0 < len(rows) <= self.max_batch:
            raise Problem("bad-json", f"The member 'rows' must be a list of 1 to {self.max_batch:,} objects.")
        return await self.score_rows(asked, served, key, rows)

    async def score_rows(self, asked: Asked, served: Served, key: Key, rows: list[Any]) -> BatchScores:
        """The answers to some rows, charged together or not at all."""
        queries = read_all(served.domain, rows)
        if served.amount:
            charged, scores = await self._priced_all(asked, served, key, queries)
        else:
            charged = ChargedBatch(charged=())
            scores = [_finite(score) for score in served.model.scores([query.values for query in queries])]
            self._metrics.score(served.name, "free", times=len(scores))
        return _batch_reply(served, scores, queries, charged)

    async def _priced_all(
        self, asked: Asked, served: Served, key: Key, queries: list[Query]
    ) -> tuple[ChargedBatch, list[float]]:
        batch = Batch(charges=tuple(self._order(served, key, query, None) for query in queries))
        with self._traces.span("charge"):
            outcome = await self._writer.settle(batch)
        if isinstance(outcome, Refused):
            self._metrics.score(served.name, "refused", times=len(queries))
            raise _refusal(outcome, served, len(queries))
        assert isinstance(outcome, ChargedBatch)
        asked.scope["notes"] |= {"epsilon": to_text(outcome.amount), "head": str(self._ledger.last or "")}
        new = sum(1 for one in outcome.charged if one.amount)
        self._metrics.score(served.name, "charged", outcome.amount / UNITS, times=new)
        return outcome, await self._answers(served, queries, outcome)

    async def _answers(self, served: Served, queries: list[Query], outcome: ChargedBatch) -> list[float]:
        """The stored answers, and new ones for the rest, stored before they leave."""
        due = [(one, query) for one, query in zip(outcome.charged, queries, strict=True) if one.score is None]
        scores = await asyncio.gather(*(self._computed(served, query) for _, query in due))
        orders = [Answer(mark=one.mark, score=score) for (one, _), score in zip(due, scores, strict=True)]
        with self._traces.span("store"):
            stored = await self._writer.settle_all(orders)
        replies = {order.mark: reply for order, reply in zip(orders, stored, strict=True)}
        return [_stored(replies[one.mark]) if one.score is None else one.score for one in outcome.charged]

    async def _priced(self, asked: Asked, served: Served, key: Key, query: Query, token: str | None) -> Score:
        charged = await self._charge(served, key, query, token)
        notes = asked.scope["notes"]
        notes["epsilon"], notes["cached"] = to_text(charged.amount), charged.score is not None
        if charged.amount:
            notes["head"] = str(self._ledger.last or "")
        self._metrics.score(served.name, "charged" if charged.amount else "cached", charged.amount / UNITS)
        if charged.score is not None:
            return _reply(served, charged.score, query, charged)
        answer = Answer(mark=charged.mark, score=await self._computed(served, query))
        with self._traces.span("store"):
            reply = await self._writer.settle(answer)
        assert isinstance(reply, Reply)
        return _reply(served, reply.score, query, charged)

    async def _computed(self, served: Served, query: Query) -> float:
        """A new answer; a fault is one constant reply, whatever it was."""
        try:
            with self._traces.span("compute"):
                return await self._together[served.name].answer(query.values)
        except Exception:
            self._metrics.score(served.name, "failed")
            raise Problem("answer-failed") from None

    async def _charge(self, served: Served, key: Key, query: Query, token: str | None) -> Charged:
        with self._traces.span("charge"):
            outcome = await self._writer.settle(self._order(served, key, query, token))
        if isinstance(outcome, Refused):
            self._metrics.score(served.name, "refused")
            raise _refusal(outcome, served)
        assert isinstance(outcome, Charged)
        return outcome

    def _order(self, served: Served, key: Key, query: Query, token: str | None) -> Charge:
        return Charge(
            key=key.id,
            client=key.client,
            model=served.account,
            data=served.data_account,
            amount=served.amount,
            mark=self._ledger.mark("query", str(key.client), served.digest, query.canonical),
            token=None if token is None else self._ledger.mark("token", str(key.client), token),
        )

    @property
    def max_batch(self) -> int:
        """The largest number of people in a batch."""
        return self._settings.max_batch

    async def body(self, asked: Asked) -> bytes:
        """The body of a batch."""
        return await self._body(asked, self._settings.max_batch_body)

    async def _body(self, asked: Asked, most: int) -> bytes:
        kind = asked.header("content-type") or _JSON
        if kind != _JSON and kind.partition(";")[0].strip().lower() != _JSON:
            raise Problem("wrong-media-type")
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                return await _received(asked.receive, most)
        except TimeoutError:
            raise Problem("too-slow") from None


async def _received(receive: Receive, most: int) -> bytes:
    """The whole body; most come in one piece."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("too-slow")
        body += message.get("body", b"")
        if len(body) > most:
            raise Problem("too-large")
        more = message.get("more_body", False)
    return body


class _Together:
    """Computes the answers that are due at one moment in one go: drawing noise costs by the call, not by the answer."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._due: list[tuple[dict[str, Value], asyncio.Future[float]]] = []

    async def answer(self, values: dict[str, Value]) -> float:
        """The answer to one query."""
        loop = asyncio.get_running_loop()
        if not self._due:
            loop.call_soon(self._compute)
        future: asyncio.Future[float] = loop.create_future()
        self._due.append((values, future))
        return await future

    def _compute(self) -> None:
        due, self._due = [(values, future) for values, future in self._due if not future.done()], []
        try:
            scores: list[float | Exception] = [_finite(one) for one in self._served.model.scores([v for v, _ in due])]
        except Exception:  # one that fails must not fail the others
            scores = [self._alone(values) for values, _ in due]
        for (_, future), score in zip(due, scores, strict=True):
            if isinstance(score, Exception):
                future.set_exception(score)
            else:
                future.set_result(score)

    def _alone(self, values: dict[str, Value]) -> float | Exception:
        try:
            (score,) = self._served.model.scores([values])
            return _finite(score)
        except Exception as error:
            return error


def _finite(score: float) -> float:
    value = float(score)
    if not math.isfinite(value):
        raise ValueError("a score must be finite")
    return value


def _reply(served: Served, score: float, query: Query, charged: Charged) -> Score:
    return Score(
        model=served.name,
        score=score,
        probabilities=served.model.probabilities(query.values),
        epsilon_charged=to_text(charged.amount),
        cached=charged.score is not None,
        notes=list(query.notes),
    )


def _batch_reply(served: Served, scores: list[float], queries: list[Query], charged: ChargedBatch) -> BatchScores:
    return BatchScores(
        model=served.name,
        scores=scores,
        probabilities=[p for query in queries if (p := served.model.probabilities(query.values))] or None,
        epsilon_charged=to_text(charged.amount),
        cached=sum(1 for one in charged.charged if one.score is not None),
        notes=[f"row {number}: {note}" for number, query in enumerate(queries) for note in query.notes],
    )


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
