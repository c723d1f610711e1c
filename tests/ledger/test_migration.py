"""Older accounts and ledgers come into the one book with everything that is in them."""

import hmac
import itertools
import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import earlier
import pytest
from sqlalchemy import Engine, event, inspect, text

from shoal.claim import Claim
from shoal.dp import Account, Budget
from shoal.dp.journal import Journal
from shoal.errors import FileError, GuaranteeError, InputError
from shoal.ledger import Ledger, layouts
from shoal.ledger.migration import has_earlier_layout, migrate_file, migrate_ledger

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


@pytest.mark.parametrize("layout", ["1", "2", "3", "4", "5"])
def test_a_ledger_of_an_earlier_layout_is_brought_up_to_date(url, layout):
    earlier.make(url, layout)
    with pytest.raises(InputError, match=f"layout {layout}"):
        Ledger.open(url)
    assert migrate_ledger(url) == 4
    ledger = Ledger.open(url)
    assert ledger.verify().answers == 1
    assert {(b.kind, b.name): (b.cap, b.spent, b.answered) for b in ledger.balances()} == {
        ("client", "ward"): (1000, 30, 30),
        ("model", "risk"): (None, 30, 30),
        ("data", "p"): (500, 130, 30),
    }
    with ledger.reading() as connection:
        assert connection.execute(text("SELECT token, mark FROM request")).all() == [("tok", "m")]
        assert connection.execute(text("SELECT id, client_id, role FROM api_key")).all() == [("k", 1, "client")]
    ledger.begin_data_set("more", limit=Budget(epsilon=1))
    ledger.close()
    with pytest.raises(InputError, match="layout 6"):
        migrate_ledger(url)


def structure(url):
    """Every table, index, constraint, trigger and function of a database, in its own words."""
    with earlier.writing(url) as connection:
        if connection.dialect.name == "sqlite":
            rows = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
            return {(name, *sorted(_parts(sql))) for name, sql in rows}
        queries = (
            "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable "
            "FROM information_schema.columns WHERE table_schema = current_schema()",
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE connamespace = current_schema()::regnamespace",
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()",
            "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
            "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace",
        )
        return {tuple(row) for query in queries for row in connection.execute(text(query))}


def _parts(sql):
    """The columns and constraints of a table, in any order; one part for everything else."""
    return sql.replace("\t", "").split(", \n") if sql.startswith("CREATE TABLE") else [sql]


@pytest.mark.parametrize("layout", ["1", "2", "5"])
def test_an_upgraded_ledger_has_the_tables_of_a_new_one(url, tmp_path, request, layout):
    new = f"sqlite:///{tmp_path / 'new.db'}"
    if url.startswith("postgresql"):
        new = request.getfixturevalue("cluster").database()
    Ledger.open(new).close()
    earlier.make(url, layout)
    migrate_ledger(url)
    assert structure(url) == structure(new)


def content(url):
    """Every row of every table."""
    with earlier.writing(url) as connection:
        tables = inspect(connection).get_table_names()
        return {name: sorted(map(tuple, connection.execute(text(f"SELECT * FROM {name}")))) for name in tables}


def failing_at(number):
    """Stop before the statement of that number."""
    count = itertools.count(1)

    def fail(*_):
        if next(count) == number:
            raise KeyboardInterrupt

    return fail


def test_an_upgrade_that_is_stopped_at_any_statement_leaves_everything_as_it_was(url):
    earlier.make(url, "1")
    before = content(url), structure(url)
    stopped = 0
    for number in itertools.count(1, 7):
        fail = failing_at(number)
        event.listen(Engine, "before_cursor_execute", fail)
        try:
            migrate_ledger(url)
        except KeyboardInterrupt:
            pass
        finally:
            event.remove(Engine, "before_cursor_execute", fail)
        if "layout" in content(url):
            break
        assert (content(url), structure(url)) == before
        stopped += 1
    assert stopped > 10
    assert Ledger.open(url).verify().head.number == 4


def test_an_upgrade_that_changes_what_was_spent_is_not_committed(url, monkeypatch):
    earlier.make(url, "2")
    before = content(url)
    upgrade = layouts.upgrade

    def forgetful(connection):
        upgrade(connection)
        connection.execute(text("UPDATE account SET name = 'other' WHERE id = 1"))

    monkeypatch.setattr(layouts, "upgrade", forgetful)
    with pytest.raises(GuaranteeError, match="every account as it was"):
        migrate_ledger(url)
    assert content(url) == before


def test_a_forged_ledger_is_not_upgraded(url):
    """The chain is followed inside the transaction: a harmed ledger stays as it is, for a person to look at."""
    earlier.make(url, "3")
    with earlier.writing(url) as connection:
        connection.execute(text("UPDATE account SET spent = 20, answered = 20 WHERE id = 1"))
    before = content(url)
    with pytest.raises(GuaranteeError, match="must follow from the journal"):
        migrate_ledger(url)
    assert content(url) == before


def test_two_upgrades_at_once_run_one_after_the_other(url):
    earlier.make(url, "1")
    with ThreadPoolExecutor(4) as threads:
        ended = [threads.submit(migrate_ledger, url) for _ in range(4)]
    errors = [one.exception() for one in ended if one.exception()]
    assert len(errors) == 3
    assert all(isinstance(error, InputError) and "layout 6" in str(error) for error in errors)
    Ledger.open(url).verify()


def test_an_earlier_version_refuses_the_new_layout(url):
    """It looks for a number in ``meta`` and must not find one that it knows."""
    Ledger.open(url).close()
    assert "format" not in dict(content(url)["meta"])


def test_a_later_layout_is_refused(url):
    Ledger.open(url).close()
    with earlier.writing(url) as connection:
        connection.execute(text("UPDATE layout SET version_num = '7'"))
    with pytest.raises(InputError, match="supported by this version"):
        Ledger.open(url)
    with pytest.raises(InputError, match="earlier layout"):
        migrate_ledger(url)


def test_opening_a_ledger_does_not_load_alembic(tmp_path):
    script = (
        "import sys; from shoal.ledger import Ledger; from shoal.ledger.migration import bring_up_to_date; "
        f"from pathlib import Path; Ledger.open('sqlite:///{tmp_path}/x.db').close(); "
        f"assert not bring_up_to_date(Path('{tmp_path}/x.db')); print('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path):
    sqlite3.connect(tmp_path / "x.db").close()
    with pytest.raises(InputError):
        migrate_ledger(f"sqlite:///{tmp_path / 'x.db'}")


def test_looking_for_an_earlier_layout_makes_no_database(tmp_path):
    assert not has_earlier_layout(f"sqlite:///{tmp_path / 'none.db'}")
    assert not list(tmp_path.iterdir())
