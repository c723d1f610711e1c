"""Old charges leave for a file; sums, limits and chain stand as before, and with the file every entry is checked."""

import json
import sqlite3
import time
from datetime import UTC, datetime, timedelta

import earlier
import pytest
from sqlalchemy import text, update
from test_checkpoint import Filled

from shoal.errors import FileError, GuaranteeError, InputError, ParameterError
from shoal.ledger import Answer, Ledger, LedgerError, archive
from shoal.ledger.migration import migrate_ledger
from shoal.ledger.tables import ARCHIVE, JOURNAL, grant


@pytest.fixture
def filled(url):
    made = Filled(url)
    yield made
    made.ledger.close()


def a_moment_later():
    time.sleep(0.003)
    return datetime.now(UTC)


def answered(filled, times):
    """Charges with their answers; the marks."""
    first = filled.count
    filled.ask(times)
    marks = [filled.ledger.mark(str(number)) for number in range(first, first + times)]
    filled.ledger.settle([Answer(mark=mark, score=0.25) for mark in marks])
    return marks


def rows(ledger, what):
    with ledger.reading() as connection:
        return connection.execute(text(f"SELECT {what}")).all()


def test_charges_leave_and_everything_else_stands(filled, tmp_path):
    answered(filled, 12)
    moment = a_moment_later()
    kept = answered(filled, 3)
    before, head = filled.ledger.balances(), filled.ledger.head()
    journal = list(filled.ledger.journal())
    file = tmp_path / "old.jsonl"
    made = archive.archive(filled.ledger, file, before=moment)
    assert (made.charges, made.answers, made.end.number) == (12, 12, head.number - 3)
    assert file.stat().st_mode & 0o777 == 0o600
    assert filled.opened_again().ledger.balances() == before
    assert filled.ledger.head() == head
    stayed = [entry for entry in journal if entry["kind"] != "charge" or entry["number"] > made.end.number]
    assert list(filled.ledger.journal()) == stayed
    assert {mark for (mark,) in rows(filled.ledger, "mark FROM answer")} == set(kept)
    found = filled.ledger.verify()
    assert (found.head, found.unseen, found.answers) == (head, made.end.number, 3)
    assert filled.ledger.verify(archives=[file]).unseen == 0


def test_archives_follow_one_another_and_the_ledger_goes_on(filled, tmp_path):
    files = []
    for number in range(3):
        answered(filled, 4 + number)
        if number == 1:
            filled.ledger.limit("client", "ward", 4)
            filled.ledger.reserve(filled.people, None)
        files.append(tmp_path / f"{number}.jsonl")
        archive.archive(filled.ledger, files[-1], before=a_moment_later())
        filled.opened_again()
    filled.ask(2)
    assert filled.ledger.verify(archives=files).unseen == 0
    assert filled.ledger.verify(archives=files[1:]).unseen > 0
    assert filled.ledger.balance("data", filled.people).answered == filled.count * 10**9
    with pytest.raises(InputError, match="from before that moment"):
        archive.archive(filled.ledger, tmp_path / "none.jsonl", before=datetime.now(UTC) - timedelta(days=1))
    assert not (tmp_path / "none.jsonl").exists()


def test_a_query_that_was_archived_is_charged_again_like_a_new_one(filled, tmp_path):
    answered(filled, 1)
    spent = filled.ledger.balance("client", "ward").spent
    archive.archive(filled.ledger, tmp_path / "old.jsonl", before=a_moment_later())
    filled.count = 0
    filled.ask(1)
    assert filled.ledger.balance("client", "ward").spent == spent + 10**9
    filled.opened_again()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE archive SET held = replace(held, '2000000000', '1000000000')",
        "UPDATE archive SET link = 'ab'",
        "UPDATE archive SET file = 'ab'",
        "UPDATE archive SET kept = 'ab'",
        "DELETE FROM archive",
    ],
)
def test_the_note_of_an_archive_can_be_neither_edited_nor_removed(filled, tmp_path, statement):
    answered(filled, 2)
    archive.archive(filled.ledger, tmp_path / "old.jsonl", before=a_moment_later())
    with filled.ledger.writing() as connection:
        assert connection.execute(text(statement)).rowcount == 1
    with pytest.raises(GuaranteeError):
        filled.opened_again()
    filled.ledger = Ledger.unchecked(filled.url)


@pytest.mark.parametrize(
    "statement", ["UPDATE journal SET amount = 10 WHERE id = 1", "DELETE FROM journal WHERE kind = 'reserve'"]
)
def test_what_stayed_can_be_neither_edited_nor_removed(tmp_path, statement):
    filled = Filled(f"sqlite:///{tmp_path / 'ledger.db'}")
    answered(filled, 2)
    archive.archive(filled.ledger, tmp_path / "old.jsonl", before=a_moment_later())
    filled.ledger.close()
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        triggers = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
        for name in ("journal_no_UPDATE", "journal_no_DELETE"):
            database.execute(f"DROP TRIGGER {name}")
        assert database.execute(statement).rowcount == 1
        for name in ("journal_no_UPDATE", "journal_no_DELETE"):
            database.execute(triggers[name])
    database.close()
    with pytest.raises(GuaranteeError, match="that stayed"):
        Ledger.open(filled.url)


def test_a_file_that_was_changed_is_not_an_archive_of_the_ledger(filled, tmp_path):
    answered(filled, 3)
    file = tmp_path / "old.jsonl"
    archive.archive(filled.ledger, file, before=a_moment_later())
    lines = file.read_text().splitlines()
    words = json.loads(lines[-1])
    lines[-1] = json.dumps({**words, "amount": 1})
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError, match="archive of this ledger"):
        filled.ledger.verify(archives=[file])


def test_a_file_that_the_keys_holder_rewrote_breaks_the_chain(filled, tmp_path):
    """The note says what file it was; with a forged note the links still show."""
    answered(filled, 3)
    file = tmp_path / "old.jsonl"
    archive.archive(filled.ledger, file, before=a_moment_later())
    lines = file.read_text().splitlines()
    lines[-1] = json.dumps({**json.loads(lines[-1]), "amount": 1})
    file.write_text("\n".join(lines) + "\n")
    with filled.ledger.writing() as connection:
        row = dict(connection.execute(ARCHIVE.select()).one()._mapping) | {"file": archive._digest(file)}
        seal = archive._seal(filled.ledger.founded.key, row)
        connection.execute(update(ARCHIVE).values(file=row["file"], seal=seal))
    with pytest.raises(GuaranteeError, match="archive must match the hash chain"):
        filled.ledger.verify(archives=[file])


def test_a_head_from_before_the_archive_is_found_in_its_file(filled, tmp_path):
    answered(filled, 3)
    head = filled.ledger.head()
    answered(filled, 3)
    file = tmp_path / "old.jsonl"
    made = archive.archive(filled.ledger, file, before=a_moment_later())
    assert filled.ledger.verify(head=str(made.end)).unseen  # the end of an archive is noted in the ledger
    with pytest.raises(ParameterError, match="in an archive"):
        filled.ledger.verify(head=str(head))
    filled.ledger.verify(head=str(head), archives=[file])
    for wrong in (f"{head.number}:{'0' * 16}", f"{made.end.number}:{'0' * 16}", f"{made.end.number + 9}:{'0' * 16}"):
        with pytest.raises(GuaranteeError, match="must not lose entries"):
            filled.ledger.verify(head=wrong, archives=[file])


def test_a_fault_while_rows_are_removed_leaves_all_of_them_and_the_guards(filled, tmp_path, monkeypatch):
    answered(filled, 3)
    count = rows(filled.ledger, "count(*) FROM journal")
    with monkeypatch.context() as patched:
        patched.setattr(archive, "_seal", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            archive.archive(filled.ledger, tmp_path / "old.jsonl", before=a_moment_later())
    assert rows(filled.opened_again().ledger, "count(*) FROM journal") == count
    archive.archive(filled.ledger, tmp_path / "again.jsonl", before=a_moment_later())
    filled.opened_again()
    with pytest.raises(LedgerError), filled.ledger.writing() as connection:
        connection.execute(JOURNAL.delete())


def test_checkpoints_go_on_after_an_archive(filled, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.ledger.checkpoint.EVERY", 10)
    filled.ask(20)
    assert filled.opened_again().checkpoints()
    archive.archive(filled.ledger, tmp_path / "old.jsonl", before=a_moment_later())
    assert filled.opened_again().checkpoints() == []
    filled.ask(12)
    assert filled.opened_again().checkpoints() == [filled.ledger.head().number]
    filled.ask(1)
    filled.opened_again().ledger.verify(archives=[tmp_path / "old.jsonl"])


def test_an_anchor_from_before_the_archive_is_not_mistaken_for_a_loss(filled, tmp_path):
    answered(filled, 2)
    old = filled.ledger.anchor.read()
    answered(filled, 2)
    archive.archive(filled.ledger, tmp_path / "old.jsonl", before=a_moment_later())
    filled.ledger.anchor.set_back(old)  # as on another machine that slept
    filled.opened_again()


def test_the_role_of_the_service_can_not_archive(cluster, tmp_path):
    filled = Filled(cluster.database())
    answered(filled, 2)
    with filled.ledger.writing() as connection:
        connection.execute(text("DROP ROLE IF EXISTS archivist"))
        connection.execute(text("CREATE ROLE archivist LOGIN"))
    grant(filled.ledger, "archivist")
    service = Ledger.open(filled.url.replace("shoal@", "archivist@"))
    with pytest.raises(LedgerError):
        archive.archive(service, tmp_path / "old.jsonl", before=a_moment_later())
    service.close()
    made = archive.archive(filled.ledger, tmp_path / "own.jsonl", before=a_moment_later())
    service = Ledger.open(filled.url.replace("shoal@", "archivist@"))  # it still opens, and may go on
    filled.ledger.close()
    filled.ledger = service
    filled.ask(1)
    assert filled.ledger.verify().unseen == made.end.number
    service.close()


def test_a_ledger_of_the_third_layout_is_brought_up_to_date(filled, tmp_path):
    answered(filled, 2)
    filled.ledger.close()
    earlier.take_back(filled.url, "3")
    with pytest.raises(InputError, match="layout 3"):
        Ledger.open(filled.url)
    migrate_ledger(filled.url)
    filled.ledger = Ledger.open(filled.url)
    archive.archive(filled.ledger, tmp_path / "old.jsonl", before=a_moment_later())
    filled.opened_again()


def test_wrong_moments_and_files(filled, tmp_path):
    filled.ask(1)
    with pytest.raises(ParameterError, match="in the past"):
        archive.archive(filled.ledger, tmp_path / "a.jsonl", before=datetime.now(UTC) + timedelta(hours=1))
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(FileError, match="must not exist"):
        archive.archive(filled.ledger, tmp_path / "a.jsonl", before=a_moment_later())
