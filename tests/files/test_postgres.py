"""Queries to a real PostgreSQL, and tables written there: types kept, all or nothing, reasons without a password."""

import datetime as dt
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from shoal.errors import FileError, InputError, ParameterError
from shoal.files import read_table
from shoal.files.database import write_rows, write_tables

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))

from postgres import Cluster, reason_for_none

VISITS = """
CREATE TABLE visits AS SELECT 34 AS age, DATE '1980-02-03' AS born, TIMESTAMP '2020-01-02 03:04:05' AS came,
  TIME '07:30' AS seen, INTERVAL '30 hours' AS stay, 12.50::numeric(10,2) AS cost, TRUE AS smoker,
  TIMESTAMPTZ '2020-01-02 03:04:05+02' AS entered, ARRAY['a'] AS tags, '{"a": 1}'::jsonb AS extra, 'x'::bytea AS raw
"""


@pytest.fixture(scope="module")
def cluster():
    reason = reason_for_none()
    if reason:
        pytest.skip(reason)
    with Cluster(fsync="off") as made:
        yield made


@pytest.fixture
def database(cluster):
    psycopg = pytest.importorskip("psycopg")
    url = cluster.database()
    with psycopg.connect(url) as connection:
        connection.execute(VISITS)
    return url


PLAIN = "SELECT age, born, came, seen, stay, cost, smoker, entered FROM visits"


def test_every_plain_type_is_read_and_an_interval_is_seconds(database):
    universal = dt.datetime(2020, 1, 2, 1, 4, 5, tzinfo=dt.UTC)
    born, came = dt.date(1980, 2, 3), dt.datetime(2020, 1, 2, 3, 4, 5)
    assert read_table(database, sql=PLAIN).rows() == [(34, born, came, dt.time(7, 30), 108000, 12.5, True, universal)]


@pytest.mark.parametrize("column", ["tags", "extra", "raw"])
def test_what_is_no_plain_column_is_named_with_a_remedy(database, column):
    with pytest.raises(InputError, match=f"column '{column}' must hold.*CAST"):
        read_table(database, sql=f"SELECT {column} FROM visits")


def test_tables_come_back_with_their_types(database):
    rows = read_table(database, sql=PLAIN)
    write_rows(rows, database, "released")
    assert read_table(database, sql="SELECT * FROM released").equals(rows)
    with pytest.raises(InputError, match="already has a table 'released'"):
        write_rows(rows, database, "released")


def test_server_that_goes_away_leaves_the_old_table(cluster, database):
    write_rows(pl.DataFrame({"a": [1]}), database, "kept")
    many = pl.DataFrame({"a": range(400_000)})
    stop = threading.Timer(0.3, cluster.stop, ["immediate"])
    stop.start()
    try:
        with pytest.raises(FileError, match="accessible.*nothing was changed"):
            write_tables({"kept": many, "more": many, "most": many, "last": many}, database, replace=True)
    finally:
        stop.join()
        cluster.start()
    assert read_table(database, sql="SELECT * FROM kept").rows() == [(1,)]


def test_why_a_server_refuses_is_said_without_the_password(cluster, database):
    with pytest.raises(FileError, match='got role "nobody" does not exist') as caught:
        read_table(f"postgresql://nobody:hunter2@127.0.0.1:{cluster.port}/postgres", sql="SELECT 1")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(FileError, match='got database "none" does not exist'):
        read_table(f"postgresql://shoal@127.0.0.1:{cluster.port}/none", sql="SELECT 1")


def test_an_unescaped_at_sign_does_not_show_the_end_of_a_password():
    with pytest.raises(ParameterError, match="%40") as caught:
        read_table("postgresql://me:hun@ter2@127.0.0.1/none", sql="SELECT 1")
    assert "ter2" not in str(caught.value)


def test_a_server_that_hangs_is_given_up(cluster, database):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(database) as other:
        other.execute("CREATE FUNCTION hang() RETURNS int AS 'SELECT 1 FROM pg_sleep(60)' LANGUAGE sql")
    with pytest.raises(FileError, match=r"must answer within 0.3 seconds.*--timeout; nothing was changed"):
        read_table(database, sql="SELECT hang()", timeout=0.3)
    assert len(read_table(database, sql=PLAIN, timeout=60)) == 1


def test_a_locked_table_is_named_as_such(database, monkeypatch):
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.setattr("shoal.files.database._PATIENCE", 1)
    with psycopg.connect(database) as other:
        other.execute("LOCK TABLE visits")
        with pytest.raises(FileError, match="must not be locked by somebody else"):
            read_table(database, sql=PLAIN)


def test_a_query_that_changes_is_refused(database):
    with pytest.raises(InputError, match="query must return rows. Give a SELECT"):
        read_table(database, sql="DELETE FROM visits RETURNING age")
