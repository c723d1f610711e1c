"""What ledgers, accounts, keys and the register refuse: files that hold something else, and settings out of range."""

import pytest
import sqlalchemy

import shoal
from shoal.dp import Account, Budget
from shoal.errors import FileError, InputError, ParameterError
from shoal.ledger import Keys, Ledger


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "visits.csv"
    made.write_text("age\n40\n")
    return made


@pytest.fixture
def register_key(tmp_path, monkeypatch):
    """The key file of a register that was used once."""
    monkeypatch.setenv("SHOAL_REGISTER_KEY", str(tmp_path / "register.key"))
    opened(tmp_path)
    return tmp_path / "register.key"


def opened(folder):
    """The register's key is read when people are marked."""
    url = f"sqlite:///{folder / 'ledger.db'}"
    Ledger.open(url).close()
    register = shoal.Register.open("patients", ledger=url)
    try:
        return shoal.anonymize(
            shoal.datasets.health_survey(60, seed=1), shoal.datasets.health_survey_schema(), register=register
        )
    finally:
        register.close()


@pytest.mark.parametrize("text", ["not hexadecimal", "ab" * 31, ""], ids=repr)
def test_a_file_that_holds_no_key_is_not_the_registers(register_key, tmp_path, text):
    register_key.write_text(text)
    with pytest.raises(FileError, match="64 hexadecimal digits"):
        opened(tmp_path)


def test_another_registers_key_is_refused(register_key, tmp_path):
    register_key.write_text("ab" * 32)
    with pytest.raises(FileError, match="key of this ledger's register"):
        opened(tmp_path)


def test_a_register_whose_key_is_lost_does_not_begin_anew(register_key, tmp_path):
    register_key.unlink()
    with pytest.raises(FileError, match="key of the register is missing"):
        opened(tmp_path)
    assert not register_key.exists()


def test_a_file_that_holds_no_key_is_not_the_chains(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_LEDGER_KEY", str(tmp_path / "chain.key"))
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    Ledger.open(url).close()
    (tmp_path / "chain.key").write_text("not hexadecimal")
    with pytest.raises(FileError, match="key of a ledger's chain"):
        Ledger.open(url)


def test_a_database_of_something_else_is_no_ledger(tmp_path):
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'other.db'}")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)"))
    engine.dispose()
    with pytest.raises(InputError, match="no ledger in that database"):
        Ledger.open(f"sqlite:///{tmp_path / 'other.db'}", create=False)


def test_the_account_of_another_data_set_is_not_opened(file):
    account = Account.open(file, limit=Budget(epsilon=1))
    account.ledger.close()
    with pytest.raises(ParameterError, match="refers to another data set"):
        Account.open(file, data="0123456789abcdef")


def test_a_ledger_in_the_place_of_another_is_refused(file, tmp_path):
    """Somebody moved a fresh account beside the file: what was spent would be forgotten."""
    other = tmp_path / "other.csv"
    other.write_text("age\n41\n")
    for one in (file, other):
        account = Account.open(one, limit=Budget(epsilon=1))
        account.charge(Budget(epsilon=0.5), purpose="a table")
        account.ledger.close()
    for moved in tmp_path.glob("other.csv.budget.db*"):
        moved.replace(tmp_path / moved.name.replace("other", "visits"))
    with pytest.raises(FileError, match="different ledger"):
        Account.open(file)


def test_a_limit_in_use_keeps_its_kind(tmp_path, file):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    Ledger.open(url).close()
    account = Account.open(file, limit=Budget(epsilon=1), ledger=url)
    account.charge(Budget(epsilon=0.5), purpose="a table")
    with pytest.raises(ParameterError, match="the kind of a limit in use"):
        account.ledger.limit("data", account.data_set, Budget.zcdp(0.1))
    account.ledger.close()


@pytest.mark.parametrize(
    ("rule", "asked"),
    {
        "role must be one of": {"role": "owner"},
        "days must be between 0 and a hundred years": {"days": -1},
        "a hundred years": {"days": 40_000},
    }.items(),
    ids=str,
)
def test_keys_of_no_known_role_or_term_are_not_made(sqlite_ledger, rule, asked):
    keys = Keys(sqlite_ledger)
    with pytest.raises(ParameterError, match=rule):
        keys.add("ward", epsilon=1, **asked)
    assert keys.list() == []
