"""A ledger that was edited, thinned out, or put back from an old copy is noticed; and copies hold all of it."""

import contextlib
import os
import shutil
import sqlite3
import stat

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from test_ledger import TENTH, Desk

from shoal.dp import Budget
from shoal.errors import FileError, GuaranteeError, InputError, ParameterError
from shoal.ledger import Answer, Keys, Ledger
from shoal.ledger.copies import backup, instructions, restore
from shoal.ledger.engine import open_engine
from shoal.ledger.tables import grant, script


@pytest.fixture
def file(tmp_path):
    return tmp_path / "ledger.db"


def used(url, charges=5):
    ledger = Ledger.open(url)
    desk = Desk(ledger)
    for number in range(charges):
        mark = desk.pay(number).mark
        ledger.settle([Answer(mark=mark, score=number / 10)])
    return ledger


def by_hand(file, *statements):
    with contextlib.closing(sqlite3.connect(file)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def test_insert_or_replace_is_refused_like_an_update(file):
    used(f"sqlite:///{file}").close()
    columns = "id, at, kind, client_id, model_id, data_id, 0, delta, mark, note, link"
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        by_hand(file, f"INSERT OR REPLACE INTO journal SELECT {columns} FROM journal WHERE id = 4")
    by_hand(file, "INSERT OR REPLACE INTO answer SELECT mark, '0.99', at, seal FROM answer")
    ledger = Ledger.open(f"sqlite:///{file}")
    assert ledger.verify().answers == 5  # the answers stayed as they were
    ledger.close()


GUARDS_OFF = [f"DROP TRIGGER {table}_no_{verb}" for table in ("journal", "answer") for verb in ("UPDATE", "DELETE")]


def test_dropped_triggers_are_noticed_at_open(file):
    used(f"sqlite:///{file}").close()
    by_hand(file, GUARDS_OFF[0])
    with pytest.raises(GuaranteeError, match="triggers"):
        Ledger.open(f"sqlite:///{file}")


def test_dropped_and_disabled_triggers_are_noticed_on_postgresql(cluster):
    url = cluster.database()
    ledger = used(url)
    for statement in (
        "ALTER TABLE journal DISABLE TRIGGER journal_append_only",
        "DROP TRIGGER answer_append_only ON answer",
    ):
        with ledger.engine.begin() as connection:
            connection.execute(text(statement))
        with pytest.raises(GuaranteeError, match="triggers"):
            Ledger.open(url)
    ledger.close()


SILENCED = "CREATE OR REPLACE FUNCTION shoal_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
DROPPED = "DROP TRIGGER journal_append_only ON journal"
PRETENDED = "CREATE TRIGGER journal_append_only BEFORE {} FOR EACH STATEMENT {} EXECUTE FUNCTION shoal_append_only()"


@pytest.mark.parametrize(
    "statements",
    [
        [f"{SILENCED} RETURN NULL; RAISE EXCEPTION 'append-only'; END $$"],
        [DROPPED, PRETENDED.format("UPDATE OR DELETE OR TRUNCATE ON request", "")],
        [DROPPED, PRETENDED.format("UPDATE OR DELETE OR TRUNCATE ON journal", "WHEN (current_user = 'nobody')")],
    ],
    ids=["a function that lets all pass", "on another table", "on a condition"],
)
def test_guards_that_only_look_like_guards_are_noticed_on_postgresql(cluster, statements):
    url = cluster.database()
    used(url).close()
    engine = open_engine(url, keep=False)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    with pytest.raises(GuaranteeError, match="triggers"):
        Ledger.open(url)


def _and_back(file, *statements):
    """Take the guards away, do it, and put them up again as they were."""
    with contextlib.closing(sqlite3.connect(file)) as database:
        guards = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    by_hand(file, *(f"DROP TRIGGER {name}" for name, _ in guards), *statements, *(sql for _, sql in guards))


@pytest.mark.parametrize(
    ("statements", "rule"),
    [
        (["UPDATE journal SET at = '2020' WHERE id = 4"], "chain"),
        (["UPDATE journal SET client_id = NULL, amount = 0 WHERE id = 4",
          "UPDATE account SET spent = spent - 100000000000, answered = answered - 100000000000"], "chain"),
        (["DELETE FROM answer WHERE mark = (SELECT mark FROM journal WHERE id = 7)", "DELETE FROM journal WHERE id = 7",
          "UPDATE account SET spent = spent - 100000000000, answered = answered - 100000000000",
          "UPDATE head SET number = 6, link = (SELECT link FROM journal WHERE id = 6)"], "lose entries"),
        (["DELETE FROM journal WHERE id = 4"], "answer must have its charge"),
    ],
    ids=["time", "amount", "last entry", "orphan"],
)  # fmt: skip
def test_edits_that_leave_sums_and_guards_right_break_the_chain(file, statements, rule):
    used(f"sqlite:///{file}").close()
    _and_back(file, *statements)
    with pytest.raises(GuaranteeError, match=rule):
        Ledger.open(f"sqlite:///{file}")


def test_a_changed_answer_is_found_by_verify(file):
    used(f"sqlite:///{file}").close()
    _and_back(file, "UPDATE answer SET score = '0.5'")
    ledger = Ledger.open(f"sqlite:///{file}")
    with pytest.raises(GuaranteeError, match="seal"):
        ledger.verify()
    ledger.close()


def test_a_head_noted_elsewhere_finds_a_rewritten_history(url):
    ledger = used(url)
    noted = str(ledger.head())
    assert ledger.verify(head=noted).head.number == 7
    number, _, link = noted.partition(":")
    with pytest.raises(GuaranteeError, match="lose entries"):
        ledger.verify(head=f"{number}:{'0' * len(link)}")
    with pytest.raises(GuaranteeError, match="lose entries"):
        ledger.verify(head=f"99:{link}")
    with pytest.raises(ParameterError, match="as printed"):
        ledger.verify(head="nonsense")
    ledger.close()


def test_a_database_that_went_back_is_refused_on_postgresql_too(cluster):
    url = cluster.database()
    ledger = used(url)
    with ledger.engine.begin() as connection:
        for table in ("journal", "answer"):
            connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER {table}_append_only"))
        connection.execute(text("DELETE FROM answer WHERE mark = (SELECT mark FROM journal WHERE id = 7)"))
        connection.execute(text("DELETE FROM journal WHERE id = 7"))
        connection.execute(text("UPDATE account SET spent = spent - 100000000000, answered = answered - 100000000000"))
        connection.execute(text("UPDATE head SET number = 6, link = (SELECT link FROM journal WHERE id = 6)"))
        for table in ("journal", "answer"):
            connection.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER {table}_append_only"))
    ledger.close()
    with pytest.raises(GuaranteeError, match="lose entries"):
        Ledger.open(url)


def test_the_key_of_the_chain_may_lie_outside(file, tmp_path, monkeypatch):
    key = tmp_path / "chain.key"
    monkeypatch.setenv("SHOAL_LEDGER_KEY", str(key))
    used(f"sqlite:///{file}").close()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_bytes() not in file.read_bytes()
    ledger = Ledger.open(f"sqlite:///{file}")
    assert ledger.verify().key_outside
    ledger.close()
    monkeypatch.setenv("SHOAL_LEDGER_KEY", str(tmp_path / "other.key"))
    (tmp_path / "other.key").write_text("ab" * 32)
    with pytest.raises(FileError, match="another one"):
        Ledger.open(f"sqlite:///{file}")
    monkeypatch.delenv("SHOAL_LEDGER_KEY")
    with pytest.raises(ParameterError, match="must name the file"):
        Ledger.open(f"sqlite:///{file}")


def test_a_backup_of_a_ledger_in_use_holds_every_charge(file, tmp_path):
    """A plain copy of the file lacks what is in the write-ahead log."""
    ledger = used(f"sqlite:///{file}", charges=9)
    plain = tmp_path / "plain.db"
    shutil.copy(file, plain)
    copy = tmp_path / "copy.db"
    head = backup(f"sqlite:///{file}", copy)
    assert head == ledger.head()
    assert [f.name for f in tmp_path.iterdir() if "copy" in f.name] == ["copy.db"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    again = Ledger.open(f"sqlite:///{copy}", create=False)
    assert again.balances() == ledger.balances()
    again.close()
    with pytest.raises(FileError, match="must not exist"):
        backup(f"sqlite:///{file}", copy)
    ledger.close()
    shutil.copy(plain, file)  # the documented restore of old: a silent reset
    with pytest.raises((GuaranteeError, InputError)):
        Ledger.open(f"sqlite:///{file}", create=False)


def test_restore_refuses_to_go_back_in_time_unless_told(file, tmp_path):
    url, copy = f"sqlite:///{file}", tmp_path / "copy.db"
    ledger = used(url)
    backup(url, copy)
    assert restore(url, copy)[1] == 0  # nothing was charged since
    ledger.close()
    ledger = Ledger.open(url)
    key = Keys(ledger).add("other", epsilon=3)[0]
    ledger.close()
    with pytest.raises(GuaranteeError, match="lose entries"):
        restore(url, copy)
    ledger = Ledger.open(url)
    assert Keys(ledger).by_id(key.id) is not None  # nothing was touched
    ledger.close()
    os.unlink(file)
    with pytest.raises(GuaranteeError, match="lose entries"):  # the anchor remembers
        restore(url, copy)
    head, lost = restore(url, copy, go_back=True)
    assert lost == 1
    ledger = Ledger.open(url)
    assert ledger.head() == head
    assert [e["kind"] for e in ledger.journal()][-1] == "restore"
    ledger.close()
    other = f"sqlite:///{tmp_path / 'other.db'}"
    Ledger.open(other).close()
    with pytest.raises(GuaranteeError, match="of the ledger that it replaces"):
        restore(other, copy)


def test_restore_counts_histories_that_parted_and_not_entries(file, tmp_path):
    """A backup with more entries than the ledger may still lack some of them."""
    url, short, long = f"sqlite:///{file}", tmp_path / "short.db", tmp_path / "long.db"
    ledger = used(url)
    backup(url, short)
    for name in ("a", "b", "c", "d"):
        Keys(ledger).add(name, epsilon=1)
    ledger.close()
    backup(url, long)
    assert restore(url, short, go_back=True)[1] == 4
    ledger = Ledger.open(url)
    key = Keys(ledger).add("since then", epsilon=1)[0]
    ledger.close()
    with pytest.raises(GuaranteeError, match="without 2 of the entries"):  # the note of going back, and the new client
        restore(url, long)
    ledger = Ledger.open(url)
    assert Keys(ledger).by_id(key.id) is not None
    ledger.close()
    os.unlink(file)
    with pytest.raises(GuaranteeError, match="lose entries"):  # the anchor knows another entry of that number
        restore(url, long)


def test_a_dump_of_postgresql_is_whole_and_an_old_one_put_back_is_refused(cluster, tmp_path):
    """The instructions, followed."""
    url = cluster.database()
    ledger = used(url)
    dump = tmp_path / "ledger.dump"
    said = instructions(url)
    assert "pg_dump --format=custom" in said
    cluster.tool("pg_dump", url, "--format=custom", f"--file={dump}")
    restored = cluster.database()
    cluster.tool("pg_restore", restored, "--no-owner", str(dump))
    found = Ledger.unchecked(restored)
    assert found.verify().head == ledger.head()  # `shoal ledger verify`, the anchor of the ledger at hand
    found.close()
    Desk(ledger, name="later").pay("z")
    ledger.close()
    with pytest.raises(GuaranteeError, match="lose entries"):
        Ledger.open(restored)


def test_postgresql_is_backed_up_by_its_own_tools():
    with pytest.raises(ParameterError, match="only a SQLite"):
        backup("postgresql://nobody@127.0.0.1:1/ledger", "x")
    assert "pg_dump" in instructions("postgresql://nobody@127.0.0.1:1/ledger")


def test_a_reservation_is_kept_for_answers_and_shown(ledger):
    desk = Desk(ledger, epsilon=5, data_limit=1)
    ledger.charge("people", Budget(epsilon=0.3), purpose="synthesis")
    assert ledger.reserve("people", 0.5).to_dict() | {"rule": ""} == {
        "kind": "data", "name": "people", "label": None, "limit": "1", "spent": "0.3", "reserved": "0.5", "left": "0.2",
        "answered": "0", "left_for_answers": "0.5", "currency": "epsilon", "rule": "", "delta_limit": "0",
        "delta_spent": "0",
    }  # fmt: skip
    with pytest.raises(GuaranteeError, match="left"):
        ledger.charge("people", Budget(epsilon=0.3), purpose="another synthesis")
    outcomes = ledger.settle([desk.charge(i) for i in range(6)])
    assert [getattr(o, "amount", None) for o in outcomes] == [TENTH] * 5 + [None]  # and not from what others may spend
    ledger.charge("people", Budget(epsilon=0.2), purpose="another synthesis")
    balance = ledger.balance("data", "people")
    assert (balance.left, balance.reserved, balance.spent) == (0, 0, 10 * TENTH)
    with pytest.raises(ParameterError, match="less than what answers"):
        ledger.reserve("people", 0.4)
    ledger.check()
    with pytest.raises(GuaranteeError, match="cover what is reserved"):
        ledger.reserve("people", 0.6)
    assert ledger.reserve("people", None).share is None
    ledger.check()


def test_the_service_role_may_add_and_not_rewrite(cluster):
    owner = cluster.database()
    ledger = used(owner)
    with ledger.engine.begin() as connection:
        connection.execute(text("DROP ROLE IF EXISTS shoal_service"))
        connection.execute(text("CREATE ROLE shoal_service LOGIN"))
    grant(ledger, "shoal_service")
    service = Ledger.open(owner.replace("shoal@", "shoal_service@"), create=False)
    desk = Desk(service, name="other")
    assert desk.pay("a").amount == TENTH
    service.settle([Answer(mark=desk.charge("a").mark, score=0.5)])
    Keys(service).revoke(desk.key.id)
    service.ping()
    for statement in (
        "ALTER TABLE journal DISABLE TRIGGER journal_append_only",
        "DROP TRIGGER journal_append_only ON journal",
        "DELETE FROM journal",
        "UPDATE answer SET score = '1'",
        "UPDATE meta SET value = 'x'",
        "CREATE OR REPLACE FUNCTION shoal_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "TRUNCATE journal CASCADE",
    ):
        with pytest.raises(DBAPIError) as refused, service.engine.begin() as connection:
            connection.execute(text(statement))
        assert type(refused.value.orig).__name__ == "InsufficientPrivilege", statement  # not by a trigger alone
    service.close()
    with ledger.engine.begin() as connection:
        connection.execute(text("DROP OWNED BY shoal_service"))
        connection.execute(text("DROP ROLE shoal_service"))
    ledger.verify()
    ledger.close()
    with pytest.raises(ParameterError, match="plain lower-case name"):
        script("x; DROP TABLE journal")
