"""Databases for the ledger: SQLite in a file, and a real PostgreSQL in a cluster of its own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from postgres import Cluster, reason_for_none

from shoal.ledger import Ledger


@pytest.fixture(scope="session", autouse=True)
def anchors(tmp_path_factory):
    """Anchors of the PostgreSQL ledgers, away from the home folder."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SHOAL_ANCHORS", str(tmp_path_factory.mktemp("anchors")))
        yield


@pytest.fixture(scope="session")
def cluster():
    reason = reason_for_none()
    if reason:
        print(reason)
        pytest.skip(reason)
    with Cluster(fsync="off") as made:  # the tests kill processes, not the machine
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of an empty database, on each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    return request.getfixturevalue("cluster").database()


@pytest.fixture
def ledger(url):
    made = Ledger.open(url)
    yield made
    made.close()


@pytest.fixture
def sqlite_ledger(tmp_path):
    made = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield made
    made.close()
