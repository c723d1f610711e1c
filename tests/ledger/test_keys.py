"""API keys: shown once, hashed, scoped, revoked."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text

from shoal.errors import InputError, ParameterError
from shoal.ledger import Keys, Ledger
from shoal.ledger.tables import ACCOUNT


def test_a_key_is_found_by_its_token_only(ledger):
    keys = Keys(ledger)
    key, token = keys.add("ward", epsilon=2, models=["risk", "other"])
    assert keys.find(token) == key
    assert (key.name, key.scopes) == ("ward", ("other", "risk"))
    for wrong in (
        token[:-1],
        token[:-1] + ("a" if token[-1] != "a" else "b"),
        "",
        "shoal_",
        token + "x",
        token.upper(),
    ):
        assert keys.find(wrong) is None
    _, other = keys.add("ward")
    assert keys.find(other[:19] + token[19:]) is None  # another's secret


def test_no_secret_in_the_database(ledger):
    _, token = Keys(ledger).add("ward", epsilon=1)
    secret = token.split("_", 2)[2]
    with ledger.reading() as connection:
        rows = str(connection.execute(text("SELECT * FROM api_key")).all())
    assert secret not in rows
    assert secret not in str(Keys(ledger).list())
    assert len(secret) == 43  # 256 bits
    assert "hash" not in Keys(ledger).list()[0].to_dict()


def test_a_second_key_spends_from_the_same_account(ledger):
    keys = Keys(ledger)
    first, _ = keys.add("ward", epsilon=1)
    second, _ = keys.add("ward")
    assert first.client == second.client
    keys.add("ward", epsilon=1)
    with pytest.raises(ParameterError, match="limit of an existing client is fixed"):
        keys.add("ward", epsilon=2)
    assert len(keys.list()) == 3


def test_revocation_is_for_good(ledger):
    keys = Keys(ledger)
    key, token = keys.add("ward", epsilon=1)
    keys.revoke(key.id)
    assert keys.find(token) is None
    assert keys.list()[0].revoked
    for number in (key.id, "000000000000", ""):
        with pytest.raises(InputError, match="no active key with that id"):
            keys.revoke(number)


def test_a_new_client_needs_a_limit_and_models(sqlite_ledger):
    keys = Keys(sqlite_ledger)
    with pytest.raises(ParameterError, match="needs a limit"):
        keys.add("ward")
    with pytest.raises(ParameterError, match="models"):
        keys.add("ward", epsilon=1, models=[])
    with pytest.raises(ParameterError):
        keys.add("ward", epsilon=-1)
    assert keys.list() == []
    assert sqlite_ledger.balances() == []


def test_scopes(sqlite_ledger):
    keys = Keys(sqlite_ledger)
    everything, _ = keys.add("a", epsilon=0)
    one, _ = keys.add("b", epsilon=0, models=["risk"])
    assert everything.allows("risk")
    assert one.allows("risk")
    assert not one.allows("risks")


def test_a_name_has_one_spelling_and_no_space_around_it(ledger):
    keys = Keys(ledger)
    first, _ = keys.add("caf\u00e9", epsilon=1)
    second, _ = keys.add("cafe\u0301")  # the same letters, written in two parts
    assert first.client == second.client
    assert ledger.balance("client", "cafe\u0301").name == "caf\u00e9"
    assert ledger.limit("client", "cafe\u0301", 2).to_dict()["limit"] == "2"
    for name in (" ward", "ward ", "", "x" * 201, "a\nb", "a\u202eb", "\ud800"):
        with pytest.raises(ParameterError, match="printable"):
            keys.add(name, epsilon=1)


def test_a_revocation_waits_for_charges_under_way(url):
    """Whoever revoked a key can rely on it: what it charged is already in the journal."""
    ledger, other = Ledger.open(url), Ledger.open(url)
    key, _ = Keys(ledger).add("ward", epsilon=1)
    order = []

    def revoke():
        Keys(other).revoke(key.id)
        order.append("revoked")

    with ThreadPoolExecutor(1) as pool:
        with ledger.writing() as connection:
            connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == key.client).with_for_update())
            waiting = pool.submit(revoke)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.3)
            order.append("charged")
        waiting.result(timeout=10)
    assert order == ["charged", "revoked"]
    ledger.close(), other.close()
