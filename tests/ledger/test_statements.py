"""Rows that go to the database as one text, and keyed hashes that are begun once."""

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.ledger import Ledger, LedgerError, settling
from shoal.ledger.chain import keyed_hash
from shoal.ledger.statements import adding, insertion, lookup, run

WORDS = {"name": "text", "value": "text"}


@given(st.binary(max_size=100), st.text(max_size=300))
def test_a_keyed_hash_is_hmac_sha256(key, text):
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return
    assert keyed_hash(key, text) == hmac.digest(key, text.encode(), "sha256").hex()


def test_rows_come_back_as_they_were_given(ledger):
    rows = [{"name": f"n{i}", "value": value} for i, value in enumerate(['a"b\\', "ß ’ 病 \U0001f41f", "1", "", "{}"])]
    with ledger.writing() as connection:
        run(connection, [(insertion("meta", WORDS), rows)])
        found = run(connection, [(lookup("meta", list(WORDS), "name", "text"), [row["name"] for row in rows])])
        nothing = run(connection, [(lookup("meta", ["name"], "name", "text"), ["nobody's"])])
    assert sorted(found[0]) == sorted([row["name"], row["value"]] for row in rows)
    assert nothing == [[]]


def test_the_first_is_kept_and_sums_are_exact_beyond_floats(ledger):
    keep = insertion("meta", WORDS, keep_first=True)
    with ledger.writing() as connection:
        run(connection, [(keep, [{"name": "a", "value": "1"}]), (keep, [{"name": "a", "value": "2"}])])
        assert run(connection, [(lookup("meta", ["value"], "name", "text"), ["a"])]) == [[["1"]]]
        large = 2**62 + 1
        run(connection, [(adding("head", ["number", "pulse"]), [{"id": 1, "added": large}])])
        assert run(connection, [(lookup("head", ["number", "pulse"], "id", "bigint"), [1])]) == [[[large, large]]]
        connection.rollback()


def test_a_statement_that_fails_is_a_ledger_error_without_the_values(ledger):
    with pytest.raises(LedgerError, match="IntegrityError|UniqueViolation") as told, ledger.writing() as connection:
        run(connection, [(insertion("meta", WORDS), [{"name": "secret", "value": "whispered"}])])
    assert "whispered" not in str(told.value)
    ledger.check()


def test_postgresql_looks_charges_up_by_their_key_in_a_new_ledger_too(cluster):
    ledger = Ledger.open(cluster.database())
    with ledger.reading() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN {settling._CHARGES.postgresql}", ('["ab"]',)).scalars().all()
    assert not any("Seq Scan on" in line for line in plan), plan
    ledger.close()
