"""The end of the chain, and where it is noted."""

import hmac
import stat
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from shoal.ledger.chain import Anchor, Head, broken_at, entry, keyed_hash, linked

OLD, NEW = Head(number=3, link="ab" * 32), Head(number=7, link="cd" * 32)


@pytest.fixture
def anchor(tmp_path):
    made = Anchor(tmp_path / "state" / "ledger.anchor")
    yield made
    made.close()


def test_a_head_is_written_short():
    assert str(OLD) == "3:abababababababab"


def test_an_anchor_only_moves_forward_unless_a_person_sets_it_back(anchor):
    assert anchor.read() is None
    anchor.note(NEW)
    anchor.note(OLD)
    assert anchor.read() == NEW
    anchor.set_back(OLD)
    assert anchor.read() == OLD
    anchor.set_back(Head(number=0, link="0" * 64))
    assert anchor.read().number == 0


def test_another_head_of_the_same_number_is_not_noted(anchor):
    anchor.note(NEW)
    anchor.note(Head(number=NEW.number, link="ef" * 32))
    assert anchor.read() == NEW


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 200])
def test_the_keyed_hash_is_that_of_the_standard(size):
    key = bytes(range(size))
    assert keyed_hash(key, "a row, in words: ø") == hmac.digest(key, "a row, in words: ø".encode(), "sha256").hex()


def test_an_anchor_is_the_owners_alone(anchor):
    anchor.note(NEW)
    assert stat.S_IMODE(anchor.place.stat().st_mode) == 0o600


def test_anchors_of_a_server_lie_where_the_environment_says(tmp_path, monkeypatch):
    engine = sa.create_engine("postgresql+psycopg://shoal@127.0.0.1:1/none")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SHOAL_ANCHORS", raising=False)
    assert Anchor.of(engine, "book").place.parent == tmp_path / "state" / "shoal"
    monkeypatch.setenv("SHOAL_ANCHORS", str(tmp_path / "own"))
    assert Anchor.of(engine, "book").place.parent == tmp_path / "own"
    engine.dispose()


def test_a_break_is_named_with_the_head_that_still_held():
    begin = Head(number=2, link="0" * 64)
    steps, end = linked(b"key", [entry("charge", amount=number) for number in range(4)], begin)
    rows = [SimpleNamespace(id=row["id"], link=row["link"], _mapping=row) for row in steps[0][1]]
    assert broken_at(rows, b"key", begin) == (None, end)
    assert end.number == 6
    held = Head(number=3, link=rows[0].link)
    assert broken_at([rows[0], *rows[2:]], b"key", begin) == (4, held)  # one is missing
    rows[1]._mapping = {**rows[1]._mapping, "amount": 0}
    assert broken_at(rows, b"key", begin) == (4, held)  # one was changed
