"""The account of a data file: never overspent by any number of processes, durable, and hard to fool."""

import contextlib
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys

import pytest

from shoal.claim import Claim
from shoal.dp import Account, Budget
from shoal.errors import FileError, GuaranteeError, ParameterError, ShoalError
from shoal.ledger import Ledger, LedgerError
from shoal.ledger.account import fingerprint

TENTH = Budget(epsilon=0.1)


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("age,cost\n41,1234567\n")
    return file


@pytest.fixture
def account(data):
    return Account.open(data, limit=Budget(epsilon=1))


def test_ten_tenths_and_no_more(account, data):
    for i in range(10):
        entry = account.charge(TENTH, purpose=f"table {i}")
        assert entry.price == TENTH
    before = account.head
    with pytest.raises(GuaranteeError, match="Nothing was spent"):
        account.charge(Budget(epsilon=1e-12), purpose="one more")
    assert account.head == before
    again = Account.open(data)
    assert again.spent == again.limit == Budget(epsilon=1)
    assert again.left.empty
    assert [entry.purpose for entry in again.entries] == [f"table {i}" for i in range(10)]


def test_files_lie_next_to_the_data_and_tell_nothing(account, data):
    import hashlib

    account.charge(TENTH, purpose="x")
    assert account.path == data.with_name("visits.csv.budget.json")
    own = data.with_name("visits.csv.budget.db")
    names = {file.name for file in data.parent.iterdir()}
    assert names == {"visits.csv", account.path.name, own.name, f"{own.name}.anchor"}
    content = own.read_bytes() + account.path.read_bytes()
    assert b"1234567" not in content
    assert hashlib.sha256(data.read_bytes()).hexdigest().encode() not in content
    assert stat.S_IMODE(own.stat().st_mode) == 0o600 or sys.platform == "win32"
    assert json.loads(json.dumps(account.to_dict()))["spent"] == {"epsilon": 0.1, "delta": 0.0}


def test_same_content_has_another_name_and_mark_elsewhere(account, data, tmp_path):
    twin = tmp_path / "twin.csv"
    twin.write_bytes(data.read_bytes())
    other = Account.open(twin, limit=Budget(epsilon=1))
    assert other.data_set != account.data_set
    assert fingerprint(twin, other.ledger) != fingerprint(data, account.ledger)


def test_links_lead_to_the_same_account(account, data, tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(data)
    Account.open(link).charge(TENTH, purpose="through a link")
    assert account.spent == TENTH


def test_claims_are_kept(account):
    claim = Claim(kind="epsilon-DP", value=0.1, scope="per data set", basis="proved", statement="A promise.")
    account.charge(TENTH, purpose="x", claim=claim)
    assert account.entries[0].claim == claim


def test_affords_charges_nothing(account):
    assert account.affords(Budget(epsilon=1))
    assert not account.affords(Budget(epsilon=1.1))
    assert not account.affords(Budget.zcdp(0.001))
    assert account.spent.empty


def test_changed_data(account, data):
    account.charge(TENTH, purpose="x")
    data.write_text("age,cost\n42,1234567\n")
    with pytest.raises(FileError, match="different content") as caught:
        Account.open(data)
    assert "1234567" not in str(caught.value)
    going_on = Account.open(data, changed="continue")
    assert going_on.spent == TENTH
    assert "stays spent" in going_on.entries[-1].purpose
    assert going_on.data_set == account.data_set  # or a service would take it for other data
    assert Account.open(data).spent == TENTH


def test_the_limit_is_fixed_once_something_is_spent(account, data):
    Account.open(data, limit=Budget(epsilon=3))
    Account.open(data, limit=Budget(epsilon=1)).charge(TENTH, purpose="x")
    assert Account.open(data, limit=Budget(epsilon=1)).limit == Budget(epsilon=1)
    with pytest.raises(ParameterError, match="limit is fixed"):
        Account.open(data, limit=Budget(epsilon=2))


def test_beginning_needs_a_limit_and_leaves_nothing(data):
    with pytest.raises(ParameterError, match="limit must be given"):
        Account.open(data)
    with pytest.raises(FileError):
        Account.open(data.parent / "nothing.csv", limit=Budget(epsilon=1))
    (data.parent / "empty").mkdir()
    with pytest.raises(FileError, match="at least one file"):
        Account.open(data.parent / "empty", limit=Budget(epsilon=1))
    assert sorted(file.name for file in data.parent.iterdir()) == ["empty", "visits.csv"]


def test_a_failed_beginning_can_be_repeated(data, monkeypatch):
    def full(*_):
        raise FileError("disk", "must have room")

    with monkeypatch.context() as patched:
        patched.setattr("shoal.ledger.tag.write_text", full)
        with pytest.raises(FileError, match="room"):
            Account.open(data, limit=Budget(epsilon=1))
    assert Account.open(data, limit=Budget(epsilon=2)).limit == Budget(epsilon=2)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
def test_a_full_disk_spends_nothing_and_is_told(account, data):
    account.charge(TENTH, purpose="x")
    done = subprocess.run([sys.executable, "-c", FULL, str(data)], capture_output=True, text=True, check=False)
    assert "LedgerError" in done.stdout, done.stderr
    assert account.spent == TENTH
    account.charge(TENTH, purpose="y")
    assert Account.open(data).spent == Budget(epsilon=0.2)


FULL = """
import resource, signal, sys
from shoal.dp import Account, Budget
from shoal.errors import ShoalError

account = Account.open(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    account.charge(Budget(epsilon=0.1), purpose="y")
except ShoalError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("harm", [b"", b"not a database" * 600])
def test_a_harmed_ledger_is_refused_and_left_alone(account, data, harm):
    account.charge(TENTH, purpose="teaching")
    own = data.with_name("visits.csv.budget.db")
    own.write_bytes(harm)
    with pytest.raises(ShoalError):
        Account.open(data)
    assert own.read_bytes() == harm


@pytest.mark.parametrize("harm", ["", "[1, 2]", '{"format": "something else"}', "[" * 100_000])
def test_a_harmed_tag_is_refused_and_left_alone(account, data, harm):
    account.path.write_text(harm)
    with pytest.raises(FileError, match="must be the tag") as caught:
        Account.open(data, limit=Budget(epsilon=1))
    assert caught.value.exit_code == 4
    assert account.path.read_text() == harm


def test_a_charge_is_on_the_disk_before_it_returns(account):
    """SQLite syncs its log at each commit only if it is told to; a power cut must lose no charge."""
    with account.ledger.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2, "FULL"
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE account SET spent = 0",
        "UPDATE account SET cap = 9000000000000",
        "INSERT OR REPLACE INTO journal SELECT id, at, kind, client_id, model_id, data_id, 0, delta, mark, note, link "
        "FROM journal WHERE kind = 'fit'",
    ],
)
def test_an_account_edited_by_hand_is_refused(account, data, statement):
    account.charge(TENTH, purpose="teaching")
    with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(sqlite3.connect(own_ledger(data))) as database:
        database.execute("DROP TRIGGER journal_no_REPLACE")
        database.execute("CREATE TRIGGER journal_no_REPLACE BEFORE DELETE ON meta BEGIN SELECT 1; END")
        database.execute(statement)
        database.commit()
    with pytest.raises(GuaranteeError):
        Account.open(data)


def own_ledger(data):
    return data.with_name(f"{data.name}.budget.db")


def test_a_ledger_of_other_data_is_refused(account, data, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("age\n1\n")
    Account.open(other, limit=Budget(epsilon=50))
    own_ledger(data).write_bytes(own_ledger(other).read_bytes())
    with pytest.raises(ShoalError):
        Account.open(data)


def test_vanished_files_do_not_give_a_fresh_budget(account, data):
    account.charge(TENTH, purpose="x")
    kept = own_ledger(data).read_bytes()
    own_ledger(data).unlink()
    with pytest.raises(FileError, match="is missing although"):
        Account.open(data, limit=Budget(epsilon=1))
    with pytest.raises(LedgerError, match="replaced while open"):
        account.charge(TENTH, purpose="x")
    own_ledger(data).write_bytes(kept)
    assert Account.open(data).spent == TENTH
    account.path.unlink()
    assert Account.open(data, limit=Budget(epsilon=1)).spent == TENTH  # its own ledger knows it still
    assert account.path.exists()


def test_an_old_copy_put_back_is_refused(account, data):
    account.charge(TENTH, purpose="x")
    old = own_ledger(data).read_bytes()
    account.charge(TENTH, purpose="y")
    own_ledger(data).write_bytes(old)
    with pytest.raises(GuaranteeError, match="lose entries"):
        Account.open(data)


def test_one_book_in_a_shared_ledger(url, data, tmp_path):
    """A copy is recognised and declared by a person; a reservation is neither spent nor left."""
    ledger = Ledger.open(url)
    account = Account.open(data, limit=Budget(epsilon=1), ledger=url)
    account.charge(TENTH, purpose="synthesis")
    ledger.reserve(account.data_set, 0.5)
    assert (account.spent, account.reserved, account.left) == (TENTH, Budget(epsilon=0.5), Budget(epsilon=0.4))
    with pytest.raises(GuaranteeError, match="left"):
        account.charge(Budget(epsilon=0.5), purpose="more")
    copy = tmp_path / "copy.csv"
    copy.write_bytes(data.read_bytes())
    with pytest.raises(FileError, match="already in the ledger") as caught:
        Account.open(copy, limit=Budget(epsilon=1), ledger=url)
    assert account.data_set in str(caught.value)
    declared = Account.open(copy, ledger=url, data=account.data_set)
    declared.charge(Budget(epsilon=0.4), purpose="from the copy")
    assert account.left.empty
    assert Account.open(data).spent == Budget(epsilon=0.5)  # the tag knows the ledger
    with pytest.raises(ParameterError, match="another ledger"):
        Account.open(data, ledger=f"sqlite:///{tmp_path / 'no.db'}")
    ledger.check()
    ledger.close()


def test_limits_in_rho_and_with_delta(data):
    account = Account.open(data, limit=Budget(epsilon=2, delta=1e-6))
    account.charge(Budget.zcdp(0.01), purpose="Gaussian noise")
    order = account.balance.rule
    assert "Rényi order" in order
    before = account.spent
    account.charge(Budget.zcdp(0.01), purpose="Gaussian noise")
    assert account.balance.rule == order  # fixed by the first charge
    assert account.spent.epsilon - before.epsilon < before.epsilon  # which also paid the conversion
    assert not account.affords(Budget.zcdp(1))
    Account.open(data).ledger.check()


@pytest.mark.parametrize(
    "words",
    [
        {"budget": 0.1, "purpose": "x"},
        {"budget": TENTH, "purpose": " "},
        {"budget": TENTH, "purpose": 3},
        {"budget": TENTH, "purpose": "x", "claim": "safe"},
    ],
)
def test_bad_charges(account, words):
    with pytest.raises(ParameterError):
        account.charge(words.pop("budget"), **words)
    assert account.spent.empty


def test_other_bad_input(account, data):
    claim = Claim(kind="epsilon-DP", value=float("nan"), scope="s", basis="proved", statement="s")
    with pytest.raises(ParameterError, match="finite"):
        account.charge(TENTH, purpose="x", claim=claim)
    with pytest.raises(ParameterError, match="limit must be a Budget"):
        Account.open(data, limit=1.0)
    with pytest.raises(ParameterError, match="changed must be"):
        Account.open(data, changed="maybe")


RACE = """
import os, sys
import shoal.files.atomic
from shoal.dp import Account, Budget
from shoal.errors import GuaranteeError

def buy(start):
    os.read(start, 1)
    account = Account.open(sys.argv[1], limit=Budget(epsilon=1))
    for i in range(int(sys.argv[3])):
        try:
            account.charge(Budget(epsilon=0.05), purpose="race")
            os.write(1, b"bought\\n")
        except GuaranteeError:
            pass

start, go = os.pipe()
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        try:
            buy(start)
        finally:
            os._exit(0)
os.write(go, b"." * int(sys.argv[2]))
for _ in range(int(sys.argv[2])):
    os.wait()
"""


def race(data, workers, charges):
    """Processes that begin the account of `data` together, and report each charge once it has returned."""
    command = [sys.executable, "-c", RACE, str(data), str(workers), str(charges)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_processes_at_once_never_overspend(data):
    """Four processes want 10 of 20 parts each."""
    bought = race(data, 4, 10).communicate()[0].count("bought")
    account = Account.open(data)
    assert bought == len(account.entries) == 20
    assert account.spent == account.limit == Budget(epsilon=1)


def first_run(place, charge):
    """What a first run of `shoal synthesize` or `score fit` does, at one moment with others."""
    from shoal.release.account import account_for

    path, spend = place
    charge.wait()
    try:
        account_for(path, 1.0).charge(Budget(epsilon=spend), purpose="a first run")
        return spend
    except GuaranteeError:
        return 0.0


def test_a_refused_first_run_leaves_the_account_of_another_alone(tmp_path):
    """It looked and unlinked outside the lock: charges were lost, and accounts could not be used any more."""
    import threading
    from concurrent.futures import ThreadPoolExecutor

    for round_ in range(12):
        data = tmp_path / f"visits{round_}.csv"
        data.write_text("age\n41\n")
        start = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            spent = sum(pool.map(lambda spend, s=start, d=data: first_run((d, spend), s), (5.0, 0.5, 5.0, 0.25)))
        account = Account.open(data)  # usable
        assert (spent, account.spent) == (0.75, Budget(epsilon=0.75))
        assert len(account.entries) == 2


def test_a_new_ledger_waits_for_another_that_is_being_made(tmp_path):
    """SQLite refuses to change a journal's mode at once while the file is locked, whatever its timeout says."""
    import threading

    from sqlalchemy import text

    from shoal.ledger.engine import open_engine

    file = tmp_path / "ledger.db"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with contextlib.closing(sqlite3.connect(file, timeout=5)) as plain, pytest.raises(sqlite3.OperationalError):
        plain.execute("PRAGMA journal_mode=WAL")
    ends = threading.Timer(0.2, lambda: other.execute("COMMIT"))
    ends.start()
    engine = open_engine(f"sqlite:///{file}", keep=False)
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
    ends.join()
    other.close()


def test_threads_at_once_never_overspend(account):
    from concurrent.futures import ThreadPoolExecutor

    def buy(_):
        try:
            return bool(account.charge(TENTH, purpose="race"))
        except GuaranteeError:
            return False

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(buy, range(30))) == 10
    assert account.left.empty


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_process_loses_no_charge(data):
    one = race(data, 1, 1000)
    seen = [one.stdout.readline() for _ in range(5)]
    os.killpg(one.pid, signal.SIGKILL)
    seen += one.communicate()[0].split()
    account = Account.open(data)
    assert len(account.entries) >= len(seen)
    account.charge(Budget(epsilon=0), purpose="the lock is free again")
