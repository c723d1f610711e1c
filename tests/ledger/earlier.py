"""Ledgers of earlier layouts: the first one filled by hand, and the present one taken back to a later one."""

from contextlib import contextmanager

from sqlalchemy import text

from shoal.ledger import layouts
from shoal.ledger.engine import open_engine

FIRST = [
    "INSERT INTO meta VALUES ('format', '1'), ('secret', 'abcd')",
    "INSERT INTO account VALUES (1, 'client', 'ward', 1000, 30), (2, 'model', 'risk', NULL, 30), "
    "(5, 'data', 'p', 500, 130)",
    "INSERT INTO journal VALUES (1, 't', 'limit', 1, NULL, NULL, 1000, NULL), "
    "(3, 't', 'limit', NULL, NULL, 5, 500, NULL), "
    "(4, 't', 'fit', NULL, 2, 5, 100, 'f'), (9, 't', 'charge', 1, 2, 5, 30, 'm')",
    "INSERT INTO answer VALUES ('m', '0.5', 't')",
    "INSERT INTO request VALUES (1, 'tok', 'm')",
    "INSERT INTO api_key VALUES ('k', 1, 'h', '[\"*\"]', 't', NULL)",
]
TABLES_SINCE = {"3": ["checkpoint"], "4": ["archive"], "5": ["released"], "6": []}  # what each layout added


def make(url, layout):
    """A ledger of that layout with four entries and an answer, as an earlier version left it."""
    with writing(url) as connection:
        layouts.upgrade(connection, "1")
        for statement in FIRST:
            connection.execute(text(statement))
        layouts.upgrade(connection, layout)
        name_in_meta(connection, layout)


def take_back(url, layout):
    """Take a ledger of the present layout back to an earlier one; what the later ones added is dropped."""
    with writing(url) as connection:
        for later, tables in reversed(TABLES_SINCE.items()):
            for table in tables if int(later) > int(layout) else []:
                connection.execute(text(f"DROP TABLE {table}"))
        name_in_meta(connection, layout)


def name_in_meta(connection, layout):
    """Earlier versions keep the number of the layout in ``meta``."""
    connection.execute(text("DROP TABLE layout"))
    connection.execute(text("DELETE FROM meta WHERE name = 'format'"))
    connection.execute(text(f"INSERT INTO meta VALUES ('format', '{layout}')"))


@contextmanager
def writing(url):
    """A transaction on an engine that is gone afterwards."""
    engine = open_engine(url, keep=False)
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection
    engine.dispose()
