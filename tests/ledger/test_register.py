"""The register of releases on each kind of database: entered, refused, kept, withdrawn, expired, and in the chain."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.dp import Budget
from shoal.errors import FileError, GuaranteeError, ParameterError
from shoal.ledger import Ledger
from shoal.release.manifest import replay

SCHEMA = shoal.Schema.of(
    identifier=["id"], quasi=["age", "sex"], sensitive=["cost"], kinds={"age": "numeric"}, bounds={"age": (0, 120)}
)


@pytest.fixture
def people():
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "id": [f"sentinel{i}" for i in range(80)],
            "age": rng.integers(20, 80, 80),
            "sex": rng.choice(["f", "m"], 80),
            "cost": rng.permutation(80) * 3.5,
        }
    )


@pytest.fixture
def register(url, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_REGISTER_KEY", str(tmp_path / "register.key"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    Ledger.open(url).close()
    made = shoal.Register.open("patients", ledger=url)
    yield made
    made.close()


def masked(table, register, group=None, **words):
    return shoal.anonymize(
        table, SCHEMA, group=group or shoal.MDAV(k=5), mask=shoal.Resample(), register=register, **words
    )


def test_year_after_year(register, people, tmp_path):
    masked(people, register.to("University")).write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="must hold beside release 1 of the same people"):
        masked(people, register, shoal.KMember(k=5))
    second = masked(people[2:], register, same_groups_as="last")
    second.write(tmp_path / "two")
    assert second.beside.holds
    assert second.beside.held_back + len(second.table) == 78
    again = replay(tmp_path / "two.internal" / "replay.toml", people[2:])
    assert again.table.equals(second.table)
    despite = masked(people, register.to(None, despite="a test"), shoal.KMember(k=5))
    despite.write(tmp_path / "three")
    assert [words["people"] for words in register.releases()] == [80, len(second.table), 80]
    register.ledger.verify()


def test_withdrawn_expired_and_overtaken(register, people, tmp_path):
    first, second = masked(people, register), masked(people, register, shoal.KMember(k=5))
    out = first.write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="entered meanwhile"):
        second.write(tmp_path / "two")
    assert not (tmp_path / "two").exists()
    name = register.releases()[0]["release"]
    register.ledger.withdraw(name, "a trial")
    with pytest.raises(GuaranteeError, match="withdrawn from the register"):
        shoal.handover(out, tmp_path / "one.zip")
    masked(people, register, shoal.KMember(k=5)).write(tmp_path / "three")
    register.ledger.forget(register.releases()[1]["release"], "it is over")
    with pytest.raises(GuaranteeError, match="were deleted"):
        masked(people, register)
    register.ledger.verify()


def test_marks_of_many_parts_come_back_whole(register):
    content = np.random.default_rng(1).bytes(32 * 600_000)  # more than one part
    data = register.ledger.begin_data_set("large", limit=Budget(epsilon=1))
    register.ledger.register(data, digest="ab" * 32, words={"release": "large"}, marks={"people": content})
    [words] = register.ledger.releases(data)
    assert register.ledger.released_marks(words, "people") == content


def test_a_shared_database_needs_a_key_that_is_not_in_it(url, people, tmp_path, monkeypatch):
    monkeypatch.delenv("SHOAL_REGISTER_KEY", raising=False)
    Ledger.open(url).close()
    register = shoal.Register.open("patients", ledger=url)
    if url.startswith("postgresql"):
        with pytest.raises(ParameterError, match="SHOAL_REGISTER_KEY"):
            masked(people, register)
    monkeypatch.setenv("SHOAL_REGISTER_KEY", str(tmp_path / "one.key"))
    register = shoal.Register.open("patients", ledger=url)
    masked(people, register).write(tmp_path / "one")
    monkeypatch.setenv("SHOAL_REGISTER_KEY", str(tmp_path / "other.key"))
    other = shoal.Register.open("patients", ledger=url)
    with pytest.raises(FileError, match="is missing"):
        masked(people, other)
    for one in (register, other):
        one.close()
