"""Opening replays what follows the last checkpoint, and a checkpoint can be neither forged nor used to hide an edit."""

import earlier
import pytest
from sqlalchemy import event, text, update

from shoal.dp.budget import Budget
from shoal.errors import GuaranteeError, InputError
from shoal.ledger import Account, Charge, Keys, Ledger, checkpoint
from shoal.ledger.migration import migrate_file, migrate_ledger
from shoal.ledger.tables import ACCOUNT, TABLES


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 20)


class Filled:
    """A ledger with a client, a model, a data set with a reservation, and queries."""

    def __init__(self, url):
        self.url, self.ledger = url, Ledger.open(url)
        self.people = self.ledger.begin_data_set("patients", limit=Budget(epsilon=10, delta=1e-6))
        self.key, _ = Keys(self.ledger).add("ward", epsilon=5)
        self.model = self.ledger.enrol("risk", digest="d", data=self.people)
        self.ledger.charge(self.people, Budget(epsilon=1, delta=1e-7), purpose="synthesis")
        self.ledger.reserve(self.people, 4)
        self.count = 0

    def ask(self, times):
        accounts = {"client": self.key.client, "model": self.model.model, "data": self.model.data}
        marks = [self.ledger.mark(str(self.count + i)) for i in range(times)]
        self.count += times
        self.ledger.settle([Charge(key=self.key.id, amount=10**9, mark=mark, **accounts) for mark in marks])

    def opened_again(self):
        self.ledger.close()
        self.ledger = Ledger.open(self.url)
        return self

    def checkpoints(self):
        with self.ledger.reading() as connection:
            return list(connection.execute(text("SELECT id FROM checkpoint ORDER BY id")).scalars())


@pytest.fixture
def filled(url):
    made = Filled(url)
    yield made
    made.ledger.close()


def test_a_checkpoint_is_made_where_many_entries_were_checked_and_the_rest_is_replayed(filled):
    filled.ask(10)
    assert filled.opened_again().checkpoints() == []
    filled.ask(15)
    (first,) = filled.opened_again().checkpoints()
    assert first == filled.ledger.head().number
    filled.ask(5)
    filled.ledger.limit("client", "ward", 4)
    filled.ledger.reserve(filled.people, None)
    assert filled.opened_again().checkpoints() == [first]
    filled.ask(30)
    assert len(filled.opened_again().checkpoints()) == 2
    before = {(b.kind, b.name): b for b in filled.ledger.balances()}
    assert filled.ledger.verify().head == filled.ledger.head()  # from the first entry, whatever checkpoints say
    assert {(b.kind, b.name): b for b in filled.opened_again().ledger.balances()} == before
    assert before["data", filled.people].answered == filled.count * 10**9


def test_opening_reads_no_entry_before_the_checkpoint(filled):
    filled.ask(40)
    filled.opened_again()
    rows = []

    def count(conn, cursor, statement, parameters, context, executemany):
        if "FROM journal" in statement:
            rows.append((statement, parameters))

    event.listen(filled.ledger.engine, "before_cursor_execute", count)
    filled.ledger.check()
    number = filled.checkpoints()[-1]
    for statement, parameters in rows:
        values = list(parameters.values() if isinstance(parameters, dict) else parameters)
        assert "journal.id =" in statement or number in values, statement


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE checkpoint SET held = replace(held, '40000000000', '10000000000')",
        "UPDATE checkpoint SET link = 'ab'",
        "UPDATE checkpoint SET seal = 'ab'",
    ],
)
def test_an_edited_checkpoint_is_refused(filled, statement):
    filled.ask(40)
    filled.opened_again()
    with filled.ledger.writing() as connection:
        assert connection.execute(text(statement)).rowcount == 1
    with pytest.raises(GuaranteeError, match="checkpoint"):
        filled.opened_again()
    filled.ledger = Ledger.unchecked(filled.url)


def test_a_sum_edited_after_the_checkpoint_is_found_at_open(filled):
    filled.ask(40)
    filled.opened_again()
    with filled.ledger.writing() as connection:
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.kind == "client").values(spent=0, answered=0))
    with pytest.raises(GuaranteeError, match="account of a client"):
        filled.opened_again()
    filled.ledger = Ledger.unchecked(filled.url)


def test_an_old_entry_edited_under_a_checkpoint_is_found_by_verify(tmp_path):
    import sqlite3

    filled = Filled(f"sqlite:///{tmp_path / 'ledger.db'}")
    filled.ask(40)
    filled.opened_again().ledger.close()
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        triggers = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
        database.execute("DROP TRIGGER journal_no_UPDATE")
        database.execute("UPDATE journal SET at = '1999' WHERE id = 9")
        database.execute(triggers["journal_no_UPDATE"])
    database.close()
    ledger = Ledger.open(filled.url)  # it looked at that entry once, and does not again
    with pytest.raises(GuaranteeError, match="hash chain"):
        ledger.verify()
    ledger.close()


def test_a_ledger_of_the_second_layout_is_brought_up_to_date(filled):
    filled.ask(25)
    head = filled.ledger.head()
    filled.ledger.close()
    earlier.take_back(filled.url, "2")
    with pytest.raises(InputError, match="layout 2"):
        Ledger.open(filled.url)
    assert migrate_ledger(filled.url) == head.number
    assert filled.opened_again().checkpoints() == [head.number]
    assert filled.ledger.verify().head == head
    assert {table.name for table in TABLES.sorted_tables} >= {"checkpoint", "journal"}


def test_the_ledger_beside_a_file_is_brought_up_to_date_with_it(tmp_path):
    data = tmp_path / "visits.csv"
    data.write_text("age\n41\n")
    account = Account.open(data, limit=Budget(epsilon=1))
    account.charge(Budget(epsilon=0.25), purpose="a table")
    earlier.take_back(f"sqlite:///{data}.budget.db", "2")
    with pytest.raises(InputError, match="layout 2"):
        Account.open(data)
    assert migrate_file(data).spent == Budget(epsilon=0.25)
    assert Account.open(data).left == Budget(epsilon=0.75)
