"""A service killed by -9 at every step of a charged query, on a full disk, and two machines on one database."""

import asyncio
import contextlib
import signal
import sys

import pytest
from faulty_service import STEPS, KilledAt, on_a_full_disk
from serving import Line, processes
from sqlalchemy import func, select
from toy_service import QUERY

from shoal.dp import Budget
from shoal.ledger import Keys, Ledger
from shoal.ledger.amount import UNITS
from shoal.ledger.tables import ANSWER, JOURNAL

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals and limits of a process")

TENTH = UNITS // 10


async def ask(port, token, visits=3):
    with contextlib.closing(Line(port, token)) as line, contextlib.suppress(OSError, asyncio.IncompleteReadError):
        return await line.score("priced", {**QUERY, "visits": visits}, key=f"once-{visits}")
    return None


def counts(ledger):
    with ledger.reading() as connection:
        charges = connection.execute(select(func.count()).where(JOURNAL.c.kind == "charge")).scalar_one()
        return charges, connection.execute(select(func.count()).select_from(ANSWER)).scalar_one()


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_each_step_a_query_is_charged_once_and_answered_the_same(url, step):
    *_, charged, stored = STEPS[step]
    ledger = Ledger.open(url)
    _, token = Keys(ledger).add("ward", epsilon=1)
    with processes(url, run=KilledAt(step)) as [(process, port)]:
        assert asyncio.run(ask(port, token)) is None  # it died before the reply
        process.join(30)
        assert process.exitcode == -signal.SIGKILL
    ledger.check()
    assert counts(ledger) == (int(charged), int(stored))
    assert ledger.balance("client", "ward").spent == charged * TENTH
    with processes(url) as [(_, port)]:
        status, first = asyncio.run(ask(port, token))
        assert (status, first["epsilon_charged"]) == (200, "0" if charged else "0.1")
        assert first["cached"] is stored
        assert asyncio.run(ask(port, token)) == (200, {**first, "epsilon_charged": "0", "cached": True})
    assert (counts(ledger), ledger.balance("client", "ward").spent) == ((1, 1), TENTH)
    ledger.check()
    ledger.close()


def test_on_a_full_disk_nothing_is_answered_at_a_price_and_nothing_is_lost(tmp_path):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger = Ledger.open(url)
    _, token = Keys(ledger).add("ward", epsilon=1)
    with processes(url) as [(_, port)]:
        assert asyncio.run(ask(port, token, 1))[0] == 200
    with processes(url, run=on_a_full_disk) as [(_, port)]:
        for visits in (2, 3):
            status, words = asyncio.run(ask(port, token, visits))
            assert (status, words["type"]) == (503, "/problems/ledger-down")
    assert (counts(ledger), ledger.balance("client", "ward").spent) == ((1, 1), TENTH)
    ledger.check()
    with processes(url) as [(_, port)]:
        assert asyncio.run(ask(port, token, 2))[0] == 200
    ledger.check()
    ledger.close()


def test_two_machines_on_one_postgresql_share_one_limit_and_keep_an_anchor_each(cluster, tmp_path, monkeypatch):
    url, machines = cluster.database(), []
    for name in ("one", "two"):
        monkeypatch.setenv("SHOAL_ANCHORS", str(tmp_path / name))
        machines.append(Ledger.open(url))
    people = machines[0].begin_data_set("patients", limit=Budget(epsilon=1))
    for number in range(10):
        machines[number % 2].charge(people, Budget(epsilon=0.1), purpose=f"table {number}")
    assert machines[1].balance("data", people).left == 0
    heads = [ledger.anchor.read().number for ledger in machines]
    assert sorted(heads) == [10, 11]  # each noted what it wrote itself, and neither ran ahead
    for name, ledger in zip(("one", "two"), machines, strict=True):
        ledger.close()
        monkeypatch.setenv("SHOAL_ANCHORS", str(tmp_path / name))
        again = Ledger.open(url)  # an anchor that lags behind is no loss
        assert again.head().number == 11
        again.close()
