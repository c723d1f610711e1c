"""Several processes on one ledger, under load, and killed at random moments."""

import asyncio
import contextlib
import os
import random
from collections import Counter

import pytest
from serving import Line, processes
from sqlalchemy import select
from toy_service import QUERY

from shoal.ledger import Keys, Ledger
from shoal.ledger.amount import UNITS
from shoal.ledger.tables import ANSWER, JOURNAL

PRICE = UNITS // 10
KILLS = int(os.environ.get("SHOAL_KILLS", "20"))  # on both databases together; `make test-full` has 200


async def attempts(port, token, number, times):
    """Statuses of `times` different queries of one client."""
    line = Line(port, token)
    replies = [await line.score("priced", {**QUERY, "visits": number * 1000 + i}) for i in range(times)]
    line.close()
    return [status for status, _ in replies]


@pytest.mark.parametrize(("url", "calls"), [("sqlite", 1000), ("postgresql", 400)], indirect=["url"])
def test_64_clients_two_processes_exactly_as_many_answers_as_the_budget_holds(url, calls):
    ledger = Ledger.open(url)
    tokens = [Keys(ledger).add(f"ward {i}", epsilon=1000)[1] for i in range(64)]
    times = calls // 64 + 3

    async def everybody(ports):
        tasks = [attempts(ports[i % 2], token, i, times) for i, token in enumerate(tokens)]
        return [status for found in await asyncio.gather(*tasks) for status in found]

    with processes(url, count=2, data_epsilon=1 + calls / 10) as started:  # 1 for the fit of the free model
        statuses = Counter(asyncio.run(everybody([port for _, port in started])))
    assert statuses == {200: calls, 429: 64 * times - calls}
    assert ledger.balance("data", "toy data").left == 0
    assert ledger.balance("model", "priced").spent == calls * PRICE
    ledger.check()
    ledger.close()


async def until_killed(process, port, token, after, number):
    """Ask until the process dies, `after` seconds from its first answer; what was answered: query number to score."""
    answered, begun = {}, asyncio.Event()

    async def one(client):
        line = Line(port, token)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            for i in range(10_000):
                what = number * 1_000_000 + client * 10_000 + i
                status, words = await line.score("priced", {**QUERY, "visits": what}, key=f"k{what}")
                assert status == 200
                answered[what] = words["score"]
                begun.set()
        line.close()

    async def kill():
        await begun.wait()
        await asyncio.sleep(after)
        process.kill()

    await asyncio.gather(kill(), *(one(client) for client in range(16)))
    return answered


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_kill_9_at_random_moments_loses_answers_never_charges(url):
    ledger = Ledger.open(url)
    _, token = Keys(ledger).add("ward", epsilon=10_000)
    moments, answered = random.Random(7), {}
    for number in range(KILLS // 2):
        with processes(url) as [(process, port)]:
            answered |= asyncio.run(until_killed(process, port, token, moments.uniform(0.0, 0.25), number))
    ledger.close()
    ledger = Ledger.open(url)  # readable, and its sums follow from the journal
    spent = ledger.balance("client", "ward").spent
    with ledger.reading() as connection:
        charges = connection.execute(select(JOURNAL.c.mark).where(JOURNAL.c.kind == "charge")).scalars().all()
        scores = set(map(float, connection.execute(select(ANSWER.c.score)).scalars()))
    assert spent == len(charges) * PRICE
    assert len(charges) >= len(answered) > 0
    assert set(answered.values()) <= scores
    with processes(url) as [(_, port)]:  # whoever asks again is not charged again and hears the same
        asyncio.run(again(port, token, answered))
    assert ledger.balance("client", "ward").spent == spent
    ledger.close()


async def again(port, token, answered):
    line = Line(port, token)
    for what, score in list(answered.items())[-20:]:
        status, words = await line.score("priced", {**QUERY, "visits": what}, key=f"k{what}")
        assert (status, words["score"], words["cached"], words["epsilon_charged"]) == (200, score, True, "0")
    line.close()
