"""A link to a data file has the account of the file."""

import polars as pl

from shoal.dp import Account, Budget
from shoal.release.paying import account_of
from shoal.synth import PeGS


def test_a_link_uses_the_account_that_the_file_has(tmp_path):
    folder = tmp_path / "safe"
    folder.mkdir()
    data, link = folder / "visits.csv", tmp_path / "link.csv"
    pl.DataFrame({"a": [1, 2]}).write_csv(data)
    link.symlink_to(data)
    begun = Account.open(data, limit=Budget(epsilon=2))
    with account_of(link, PeGS(epsilon=1.0), None, None) as book:
        assert book.limit == Budget(epsilon=2)
        book.charge(Budget(epsilon=1), purpose="rows")
    assert begun.spent == Budget(epsilon=1)
    assert not list(tmp_path.glob("link.csv.budget.*"))


def test_an_account_begun_through_a_link_and_not_used_is_removed(tmp_path):
    data, link = tmp_path / "visits.csv", tmp_path / "link.csv"
    pl.DataFrame({"a": [1, 2]}).write_csv(data)
    link.symlink_to(data)
    with account_of(link, PeGS(epsilon=1.0), None, 3.0):
        assert (tmp_path / "visits.csv.budget.json").exists()
    assert not list(tmp_path.glob("*.budget.*"))
