"""API keys: shown once, hashed, scoped, revoked."""

import pytest
from sqlalchemy import text

from shoal.errors import InputError, ParameterError
from shoal.ledger import Keys


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
    with pytest.raises(ParameterError, match="limit of a known client stays"):
        keys.add("ward", epsilon=2)
    assert len(keys.list()) == 3


def test_revocation_is_for_good(ledger):
    keys = Keys(ledger)
    key, token = keys.add("ward", epsilon=1)
    keys.revoke(key.id)
    assert keys.find(token) is None
    assert keys.list()[0].revoked
    for number in (key.id, "000000000000", ""):
        with pytest.raises(InputError, match="no key of that id in force"):
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
