"""Older accounts and ledgers come into the one book with everything that is in them."""

import hmac
import json
import sqlite3

import pytest
from sqlalchemy import create_engine, text

from shoal.claim import Claim
from shoal.dp import Account, Budget
from shoal.dp.journal import Journal
from shoal.errors import FileError, InputError
from shoal.ledger import Ledger
from shoal.ledger.migration import migrate_file, migrate_ledger

KEY = "ab" * 32
OLD = "shoal budget account, version 1"


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("age,cost\n41,1234567\n")
    return file


def old_account(data, journal):
    """The two files as earlier versions wrote them."""
    mark = hmac.new(KEY.encode(), data.read_bytes(), "sha256").hexdigest()
    seal = hmac.new(KEY.encode(), json.dumps([OLD, mark, journal.to_dict()], sort_keys=True).encode(), "sha256")
    words = {"format": OLD, "data": mark, "journal": journal.to_dict(), "seal": seal.hexdigest()}
    data.with_name(f"{data.name}.budget.json").write_text(json.dumps(words))
    data.with_name(f"{data.name}.budget.key").write_text(KEY)
    return mark[:16]


def some_journal():
    claim = Claim(kind="epsilon-DP", value=0.1, scope="per data set", basis="proved", statement="A promise.")
    journal = Journal.begun(Budget(epsilon=3, delta=1e-6)).charged(Budget(epsilon=1) * 0.1, "a table", claim)
    return journal.charged(Budget.zcdp(0.01), "Gaussian noise").charged(Budget(epsilon=0.25), "a score")


def test_an_old_account_is_refused_until_it_is_migrated_and_then_nothing_is_lost(data):
    journal = some_journal()
    name = old_account(data, journal)
    with pytest.raises(FileError, match="earlier version"):
        Account.open(data, limit=Budget(epsilon=1))
    account = migrate_file(data)
    assert account.data_set == name  # models fitted earlier name it so
    assert account.limit == journal.limit
    assert [(e.purpose, e.budget, e.claim, e.when) for e in account.entries] == [
        (e.purpose, e.budget, e.claim, e.when) for e in journal.entries
    ]
    assert 0 <= account.spent.epsilon - journal.spent.epsilon < 1e-11
    assert f"α = {float(journal.conversion.order):.4g}:" in account.balance.rule  # the order of conversion is kept
    account.charge(Budget.zcdp(0.01), purpose="more")
    assert Account.open(data).spent == account.spent
    assert data.with_name("visits.csv.budget.json.migrated").exists()
    assert not data.with_name("visits.csv.budget.key").exists()
    with pytest.raises(InputError, match="earlier version"):
        migrate_file(data)


def test_an_old_account_goes_straight_into_a_shared_ledger_and_joins_what_was_served(url, data):
    journal = Journal.begun(Budget(epsilon=3)).charged(Budget(epsilon=1), "a table")
    name = old_account(data, journal)
    ledger = Ledger.open(url)
    ledger.enrol("risk", digest="d", data=name, fit=Budget(epsilon=0.5), data_limit=Budget(epsilon=10))
    account = migrate_file(data, url)
    assert account.spent == Budget(epsilon=1.5)
    assert account.limit == Budget(epsilon=3)  # the lower of the two
    ledger.check()
    ledger.close()
    account.ledger.close()


def test_a_file_that_changed_since_is_migrated_and_must_be_declared_corrected(data):
    old_account(data, some_journal())
    data.write_text("age,cost\n42,1234567\n")
    account = migrate_file(data)
    assert len(account.entries) == 3
    with pytest.raises(FileError, match="different content"):
        Account.open(data)
    assert Account.open(data, changed="continue").spent == account.spent


def test_a_harmed_old_account_is_refused(data):
    old_account(data, some_journal())
    place = data.with_name("visits.csv.budget.json")
    place.write_text(place.read_text().replace("0.25", "0.01"))
    with pytest.raises(FileError, match="intact"):
        migrate_file(data)
    assert not data.with_name("visits.csv.budget.db").exists()


def test_an_account_of_its_own_moves_into_a_shared_ledger(url, data):
    account = Account.open(data, limit=Budget(epsilon=2))
    account.charge(Budget(epsilon=0.5), purpose="a table")
    Ledger.open(url).close()
    moved = migrate_file(data, url)
    assert (moved.data_set, moved.spent, moved.limit) == (account.data_set, Budget(epsilon=0.5), Budget(epsilon=2))
    assert [e.purpose for e in moved.entries] == ["a table"]
    assert Account.open(data, ledger=url).spent == Budget(epsilon=0.5)
    assert not data.with_name("visits.csv.budget.db").exists()
    with pytest.raises(InputError, match="already in a shared ledger"):
        migrate_file(data, url)
    moved.ledger.close()


FIRST_LAYOUT = """
CREATE TABLE meta (name VARCHAR(32) PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE account (id INTEGER PRIMARY KEY, kind VARCHAR(8), name VARCHAR(200), cap BIGINT, spent BIGINT);
CREATE TABLE journal (id INTEGER PRIMARY KEY, at VARCHAR(40), kind VARCHAR(8), client_id BIGINT, model_id BIGINT,
                      data_id BIGINT, amount BIGINT, mark VARCHAR(64) UNIQUE);
CREATE TABLE answer (mark VARCHAR(64) PRIMARY KEY, score VARCHAR(40), at VARCHAR(40));
CREATE TABLE request (client_id BIGINT, token VARCHAR(64), mark VARCHAR(64));
CREATE TABLE api_key (id VARCHAR(16) PRIMARY KEY, client_id BIGINT, hash VARCHAR(64), scopes TEXT, made VARCHAR(40),
                      revoked VARCHAR(40));
INSERT INTO meta VALUES ('format', '1'), ('secret', 'abcd');
INSERT INTO account VALUES (1, 'client', 'ward', 1000, 30), (2, 'model', 'risk', NULL, 30), (5, 'data', 'p', 500, 130);
INSERT INTO journal VALUES (1, 't', 'limit', 1, NULL, NULL, 1000, NULL), (3, 't', 'limit', NULL, NULL, 5, 500, NULL),
                           (4, 't', 'fit', NULL, 2, 5, 100, 'f'), (9, 't', 'charge', 1, 2, 5, 30, 'm');
INSERT INTO answer VALUES ('m', '0.5', 't');
INSERT INTO request VALUES (1, 'tok', 'm');
INSERT INTO api_key VALUES ('k', 1, 'h', '["*"]', 't', NULL)
"""


def test_a_ledger_of_the_first_layout_is_brought_up_to_date(url):
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        for statement in FIRST_LAYOUT.split(";"):
            connection.execute(text(statement))
    engine.dispose()
    with pytest.raises(InputError, match="layout 1"):
        Ledger.open(url)
    assert migrate_ledger(url) == 4
    ledger = Ledger.open(url)
    assert ledger.verify().answers == 1
    assert {(b.kind, b.name): (b.cap, b.spent, b.answered) for b in ledger.balances()} == {
        ("client", "ward"): (1000, 30, 30),
        ("model", "risk"): (None, 30, 30),
        ("data", "p"): (500, 130, 30),
    }
    ledger.begin_data_set("more", limit=Budget(epsilon=1))
    ledger.close()
    with pytest.raises(InputError, match="layout 5"):
        migrate_ledger(url)


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path):
    sqlite3.connect(tmp_path / "x.db").close()
    with pytest.raises(InputError):
        migrate_ledger(f"sqlite:///{tmp_path / 'x.db'}")
