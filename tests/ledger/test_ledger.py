"""The ten invariants of a ledger, each a test, on SQLite and on PostgreSQL."""

import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from shoal.dp import Budget
from shoal.errors import GuaranteeError, InputError, ParameterError
from shoal.ledger import Answer, Charge, Charged, Keys, Ledger, LedgerError, Refused, Reply
from shoal.ledger.amount import UNITS

TENTH = UNITS // 10


class Desk:
    """A client at a ledger: makes charges with short names."""

    def __init__(self, ledger, name="ward", epsilon=1, data="people", model="risk", data_limit=10):
        self.ledger, self.name = ledger, name
        self.key, self.token = Keys(ledger).add(name, epsilon=epsilon)
        self.model, self.data = model, data
        self.place = ledger.enrol(model, digest="d", data=data, data_limit=Budget(epsilon=data_limit))

    def charge(self, what, amount=TENTH, token=None):
        return Charge(
            key=self.key.id,
            client=self.key.client,
            model=self.place.model,
            data=self.place.data,
            amount=amount,
            mark=self.ledger.mark("query", self.name, str(what)),
            token=None if token is None else self.ledger.mark("token", self.name, token),
        )

    def pay(self, what, amount=TENTH, token=None):
        return self.ledger.settle([self.charge(what, amount, token)])[0]

    def spent(self, kind="client"):
        name = {"client": self.name, "data": self.data, "model": self.model}[kind]
        return self.ledger.balance(kind, name).spent


def test_1_never_above_the_cap_whoever_asks_at_once(url):
    first = Ledger.open(url, patience=60)
    desk = Desk(first, epsilon=5)
    ledgers = [first, *(Ledger.open(url, patience=60) for _ in range(3))]

    def work(number):
        ledger = ledgers[number % 4]
        orders = [desk.charge((number, i)) for i in range(6)]
        return [outcome for at in range(0, 6, 2) for outcome in ledger.settle(orders[at : at + 2])]

    with ThreadPoolExecutor(8) as pool:
        outcomes = [outcome for found in pool.map(work, range(16)) for outcome in found]
    kinds = Counter(type(outcome) for outcome in outcomes)
    assert kinds == {Charged: 50, Refused: 46}
    assert desk.spent() == desk.spent("data") == desk.spent("model") == 5 * UNITS
    first.check()
    for ledger in ledgers:
        ledger.close()


def test_1_the_database_itself_refuses_a_sum_above_the_cap(ledger):
    desk = Desk(ledger)
    with pytest.raises(DBAPIError), ledger.engine.begin() as connection:
        connection.execute(text("UPDATE account SET spent = cap + 1 WHERE id = :id"), {"id": desk.key.client})


def test_2_a_charge_is_there_for_everybody_before_anything_is_answered(ledger, url):
    desk = Desk(ledger)
    desk.pay("a")
    other = Ledger.open(url)
    assert other.balance("client", "ward").spent == TENTH
    assert [entry["kind"] for entry in other.journal()].count("charge") == 1
    other.close()


def test_2_a_commit_is_on_the_disk_when_it_returns(ledger):
    with ledger.reading() as connection:
        if connection.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


@pytest.mark.parametrize("statement", ["UPDATE journal SET amount = 0", "DELETE FROM journal", "DELETE FROM answer"])
def test_3_and_8_no_refund_the_journal_only_grows(ledger, statement):
    desk = Desk(ledger)
    desk.pay("a")
    ledger.settle([Answer(mark=desk.charge("a").mark, score=0.5)])
    with pytest.raises(DBAPIError, match="append-only"), ledger.engine.begin() as connection:
        connection.execute(text(statement))
    ledger.check()


def test_4_the_same_query_is_charged_once_and_answered_the_same(ledger):
    desk = Desk(ledger)
    assert desk.pay("a") == Charged(mark=desk.charge("a").mark, amount=TENTH)
    assert desk.pay("a") == Charged(mark=desk.charge("a").mark, amount=0)  # charged, not yet answered
    mark = desk.charge("a").mark
    assert ledger.settle([Answer(mark=mark, score=0.25)]) == [Reply(score=0.25)]
    assert ledger.settle([Answer(mark=mark, score=0.75)]) == [Reply(score=0.25)]  # the first answer stays
    assert desk.pay("a") == Charged(mark=mark, amount=0, score=0.25)
    assert desk.spent() == TENTH


def test_4_an_idempotency_key_stands_for_one_query(ledger):
    desk = Desk(ledger)
    assert desk.pay("a", token="t").amount == TENTH
    assert desk.pay("a", token="t").amount == 0
    assert desk.pay("b", token="t") == Refused(why="token")
    assert desk.pay("a", token="u").amount == 0  # another key for a known query costs nothing
    assert desk.pay("b", token="u") == Refused(why="token")
    assert desk.spent() == TENTH
    other = Desk(ledger, name="other")
    assert other.pay("b", token="t").amount == TENTH  # keys are each client's own


def test_4_within_one_batch_too(ledger):
    desk = Desk(ledger)
    same, twin = desk.charge("a", token="t"), desk.charge("b", token="t")
    outcomes = ledger.settle([same, replace(same), twin, desk.charge("b")])
    assert [getattr(outcome, "amount", None) for outcome in outcomes] == [TENTH, 0, None, TENTH]
    mark = same.mark
    assert ledger.settle([Answer(mark=mark, score=1.5), Answer(mark=mark, score=2.5)]) == [Reply(score=1.5)] * 2


def test_4_two_processes_that_answer_at_once_give_one_answer(url):
    ledgers = [Ledger.open(url), Ledger.open(url)]
    desk = Desk(ledgers[0], epsilon=10)
    marks = [desk.pay(i).mark for i in range(10)]
    barrier = threading.Barrier(2)

    def answer(number):
        barrier.wait()
        return ledgers[number].settle([Answer(mark=m, score=float(number)) for m in (marks, marks[::-1])[number]])

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(answer, range(2))
    assert one == two[::-1]
    for ledger in ledgers:
        ledger.close()


def test_5_exact_where_floats_drift(ledger):
    desk = Desk(ledger, epsilon=1)
    outcomes = ledger.settle([desk.charge(i) for i in range(11)])
    assert [type(outcome) for outcome in outcomes] == [Charged] * 10 + [Refused]
    assert desk.spent() == UNITS


@pytest.mark.parametrize(("epsilon", "data_limit", "short"), [(1, 0.3, "data"), (0.3, 1, "client")])
def test_6_client_and_data_set_together_all_or_nothing(ledger, epsilon, data_limit, short):
    desk = Desk(ledger, epsilon=epsilon, data_limit=data_limit)
    outcomes = ledger.settle([desk.charge(i) for i in range(4)])
    assert outcomes[-1].short == (short,)
    assert {kind: desk.spent(kind) for kind in ("client", "data", "model")} == dict.fromkeys(
        ("client", "data", "model"), 3 * TENTH
    )


def test_6_clients_who_join_forces_share_the_data_set(ledger):
    desks = [Desk(ledger, name=f"ward {i}", epsilon=1, data_limit=1) for i in range(3)]
    outcomes = [desk.pay(i) for i in range(5) for desk in desks]
    assert sum(isinstance(outcome, Charged) for outcome in outcomes) == 10


def test_6_a_model_may_have_a_limit_of_its_own(ledger):
    desk = Desk(ledger)
    ledger.limit("model", "risk", 0.2)
    assert [type(desk.pay(i)) for i in range(3)] == [Charged, Charged, Refused]


def test_7_a_refusal_changes_nothing_and_tells_what_is_left(ledger):
    desk = Desk(ledger, epsilon=0.25)
    desk.pay("a"), desk.pay("b")
    before = list(ledger.journal()), ledger.balances()
    for _ in range(3):
        refused = desk.pay("c", token="t")
        assert refused.why == "budget"
        assert refused.short == ("client",)
        assert dict(refused.left) == {"client": UNITS // 20, "model": None, "data": 98 * TENTH}
    assert (list(ledger.journal()), ledger.balances()) == before
    assert desk.pay("c", amount=UNITS // 20, token="t").amount == UNITS // 20  # the account is not burnt


def test_8_balances_follow_from_the_journal_and_a_restart_compares(url):
    ledger = Ledger.open(url)
    desk = Desk(ledger)
    desk.pay("a")
    ledger.close()
    Ledger.open(url).close()
    ledger = Ledger.open(url)
    with ledger.engine.begin() as connection:
        connection.execute(text("UPDATE account SET spent = 0, answered = 0 WHERE kind = 'client'"))
    with pytest.raises(GuaranteeError, match="follow from the journal"):
        Ledger.open(url)
    ledger.close()


def test_8_a_limit_changed_by_hand_is_noticed(ledger, url):
    Desk(ledger)
    with ledger.engine.begin() as connection:
        connection.execute(text("UPDATE account SET cap = cap * 2 WHERE kind = 'data'"))
    with pytest.raises(GuaranteeError):
        ledger.check()


def test_8_no_reset_and_no_raise_for_a_data_set(ledger):
    Desk(ledger, data_limit=2).pay("a")
    with pytest.raises(GuaranteeError, match="raised"):
        ledger.limit("data", "people", 3)
    with pytest.raises(ParameterError, match="less than what is spent"):
        ledger.limit("data", "people", 0.05)
    assert ledger.limit("data", "people", 1).cap == UNITS
    with pytest.raises(ParameterError, match="limit of an existing data set is fixed"):  # and is not ignored in silence
        ledger.enrol("risk", digest="d", data="people", data_limit=Budget(epsilon=50))
    assert ledger.balance("data", "people").cap == UNITS
    ledger.check()


def test_9_a_new_name_or_a_new_fit_brings_no_fresh_budget(ledger):
    desk = Desk(ledger, epsilon=5, data_limit=1)
    ledger.settle([desk.charge(i) for i in range(10)])
    renamed = ledger.enrol("other name", digest="another fit", data="people")
    assert renamed.data == desk.place.data
    assert ledger.settle([replace(desk.charge("new"), model=renamed.model)])[0].short == ("data",)


def test_9_a_fit_is_recorded_once_on_the_data_sets_account(ledger):
    words = {"digest": "file", "data": "people", "fit": Budget(epsilon=0.6), "data_limit": Budget(epsilon=1)}
    for _ in range(3):
        ledger.enrol("certified", **words)
    assert ledger.balance("data", "people").spent == 6 * TENTH
    assert ledger.balance("model", "certified").spent == 0
    with pytest.raises(GuaranteeError, match="cover what the fit cost"):
        ledger.enrol("certified again", **{**words, "digest": "second fit"})
    assert ledger.balance("data", "people").spent == 6 * TENTH
    ledger.check()


def test_10_several_start_at_once(url):
    with ThreadPoolExecutor(6) as pool:
        ledgers = list(pool.map(lambda _: Ledger.open(url), range(6)))
        assert len({ledger.mark("x") for ledger in ledgers}) == 1
        places = list(pool.map(lambda book: book.enrol("m", digest="d", data="p", fit=Budget(epsilon=1)), ledgers))
    assert len(set(places)) == 1
    assert ledgers[0].balance("data", "p").spent == UNITS
    for ledger in ledgers:
        ledger.close()


def test_a_revoked_key_can_not_charge(ledger):
    desk = Desk(ledger)
    Keys(ledger).revoke(desk.key.id)
    assert desk.pay("a") == Refused(why="revoked")
    assert desk.spent() == 0


def test_a_key_can_not_charge_another_client(ledger):
    desk, other = Desk(ledger), Desk(ledger, name="other")
    forged = replace(desk.charge("a"), client=other.key.client)
    assert ledger.settle([forged]) == [Refused(why="revoked")]


def test_a_database_that_is_locked_is_down_and_nothing_is_lost(tmp_path):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger = Ledger.open(url, patience=0.1)
    desk = Desk(ledger)
    desk.pay("a")
    with ledger.engine.connect().execution_options(writes=True) as connection, connection.begin():
        with pytest.raises(LedgerError, match="must answer") as caught:
            desk.pay("b")
        assert "Nothing was answered" in str(caught.value)
    assert desk.pay("b").amount == TENTH
    ledger.close()


def test_a_postgresql_that_goes_away_and_comes_back(cluster):
    ledger = Ledger.open(cluster.database())
    desk = Desk(ledger)
    desk.pay("a")
    cluster.stop()
    with pytest.raises(LedgerError):
        desk.pay("b")
    cluster.start()
    assert desk.pay("b").amount == TENTH
    assert desk.pay("a").amount == 0
    ledger.check()
    ledger.close()


def test_a_database_without_an_encoding_serves(cluster):
    """One made in the locale C, as in a bare container, would send bytes."""
    ledger = Ledger.open(cluster.database(settings="TEMPLATE template0 ENCODING 'SQL_ASCII'"))
    desk = Desk(ledger, name="Zürich")
    assert desk.pay("a").amount == TENTH
    assert desk.spent() == TENTH
    ledger.check()
    ledger.close()


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "nonsense", ""])
def test_other_places_are_refused(url):
    with pytest.raises(ParameterError, match="ledger"):
        Ledger.open(url)


def test_a_reader_makes_no_ledger(tmp_path):
    file = tmp_path / "none.db"
    with pytest.raises(InputError, match="no ledger"):
        Ledger.open(f"sqlite:///{file}", create=False)
    assert not file.exists()
    file.write_bytes(b"not a database" * 100)
    with pytest.raises(LedgerError):
        Ledger.open(f"sqlite:///{file}")


@pytest.mark.skipif(sys.platform == "win32", reason="rights of another kind")
def test_a_new_file_is_its_owners_alone_with_its_companions(tmp_path):
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    Desk(ledger).pay("a")
    assert {oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()} == {"0o600"}
    ledger.close()


def test_a_file_that_was_moved_or_replaced_is_not_charged_any_more(tmp_path):
    """Its charges would be on the disk and yet lost: nobody opens that file again."""
    file, aside = tmp_path / "ledger.db", tmp_path / "aside.db"
    ledger = Ledger.open(f"sqlite:///{file}")
    desk = Desk(ledger)
    desk.pay("a")
    file.rename(aside)
    for replaced in (False, True):
        if replaced:
            file.write_bytes(aside.read_bytes())
        with pytest.raises(LedgerError, match="replaced while open"):
            desk.pay("b")
        with pytest.raises(LedgerError):
            ledger.ping()
    aside.replace(file)
    assert desk.pay("b").amount == TENTH
    ledger.close()


def test_a_clock_that_goes_back_changes_no_balance_and_no_limit(ledger, url, monkeypatch):
    desk = Desk(ledger)
    desk.pay("a")
    ledger.limit("client", "ward", 2)
    for module in ("settling", "chain", "keys"):
        monkeypatch.setattr(f"shoal.ledger.{module}.now", lambda: "1970-01-01T00:00:00.000+00:00")
    assert desk.pay("a").amount == 0
    assert desk.pay("b").amount == TENTH
    ledger.limit("client", "ward", 0.25)
    assert isinstance(desk.pay("c"), Refused)
    again = Ledger.open(url)  # replays: the order is that of the entries, not of their times
    assert again.balance("client", "ward").left == UNITS // 20
    Keys(again).revoke(desk.key.id)
    assert Keys(again).find(desk.token) is None
    again.close()


def test_unknown_accounts_and_bad_names(sqlite_ledger):
    with pytest.raises(InputError, match="no account"):
        sqlite_ledger.balance("client", "nobody")
    with pytest.raises(InputError, match="no account"):
        sqlite_ledger.limit("data", "nothing", 1)
    for name in ("", "x" * 201, "two\nlines"):
        with pytest.raises(ParameterError):
            sqlite_ledger.enrol(name, digest="d", data="p")


def test_the_export_holds_neither_marks_nor_answers(sqlite_ledger):
    desk = Desk(sqlite_ledger)
    mark = desk.pay("a").mark
    sqlite_ledger.settle([Answer(mark=mark, score=0.123456789)])
    entries = list(sqlite_ledger.journal())
    assert [entry["kind"] for entry in entries] == ["limit", "limit", "charge"]
    assert entries[-1] | {"at": ""} == {
        "number": 3, "at": "", "kind": "charge", "client": "ward", "model": "risk", "data": "people", "epsilon": "0.1",
        "rho": None, "purpose": None,
    }  # fmt: skip
    assert mark not in str(entries)
    assert "123456789" not in str(entries)


ORDERS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 5), st.integers(1, 4)), max_size=30)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(ORDERS, st.integers(1, 7))
def test_any_order_agrees_with_a_plain_oracle(tmp_path_factory, orders, size):
    """The oracle: dictionaries and one loop."""
    ledger = Ledger.open(f"sqlite:///{tmp_path_factory.mktemp('oracle') / 'ledger.db'}")
    desks = [
        Desk(ledger, name=f"c{i}", epsilon=1, data=f"p{i % 2}", model=f"m{i % 2}", data_limit=1.5) for i in range(2)
    ]
    places = [desk.place for desk in desks]
    caps = {("c", 0): 10, ("c", 1): 10, ("d", 0): 15, ("d", 1): 15}
    known, expected, charges = set(), [], []
    for client, place, what, tenths in orders:
        desk, at = desks[client], places[place]
        charges.append(replace(desk.charge((place, what), tenths * TENTH), model=at.model, data=at.data))
        accounts = [("c", client), ("d", place)]
        if (client, place, what) in known:
            expected.append(0)
        elif all(caps[account] >= tenths for account in accounts):
            known.add((client, place, what))
            caps.update({account: caps[account] - tenths for account in accounts})
            expected.append(tenths * TENTH)
        else:
            expected.append(None)
    outcomes = [o for at in range(0, len(charges), size) for o in ledger.settle(charges[at : at + size])]
    assert [getattr(outcome, "amount", None) for outcome in outcomes] == expected
    assert [desk.spent() for desk in desks] == [UNITS - caps["c", i] * TENTH for i in range(2)]
    ledger.check()
    ledger.close()
