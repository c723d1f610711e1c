"""A link to a data file has the account of the file."""

import polars as pl
import pytest

from shoal.dp import Account, Budget
from shoal.errors import GuaranteeError, ParameterError
from shoal.recipe import Synthesis
from shoal.release.charge import account_of
from shoal.synth import PeGS


def test_a_link_uses_the_account_that_the_file_has(tmp_path):
    folder = tmp_path / "safe"
    folder.mkdir()
    data, link = folder / "visits.csv", tmp_path / "link.csv"
    pl.DataFrame({"a": [1, 2]}).write_csv(data)
    link.symlink_to(data)
    begun = Account.open(data, limit=Budget(epsilon=2))
    with account_of(link, Synthesis.of(PeGS(epsilon=1.0)), None) as book:
        assert book.limit == Budget(epsilon=2)
        book.charge(Budget(epsilon=1), purpose="rows")
    assert begun.spent == Budget(epsilon=1)
    assert not list(tmp_path.glob("link.csv.budget.*"))


def test_a_refused_first_run_leaves_the_account_that_another_run_began(tmp_path):
    """It looked, found nothing spent, and deleted both files: what the other run charged meanwhile was lost."""
    data = tmp_path / "visits.csv"
    pl.DataFrame({"a": [1, 2]}).write_csv(data)
    with account_of(data, Synthesis.of(PeGS(epsilon=1.0)), 3.0) as refused:
        assert refused.spent.empty
        with account_of(data, Synthesis.of(PeGS(epsilon=1.0)), None) as other:
            other.charge(Budget(epsilon=1), purpose="rows")
    assert Account.open(data).spent == Budget(epsilon=1)


def test_two_first_runs_at_once_begin_one_account_and_lose_no_charge(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    def run(number):
        with account_of(data, Synthesis.of(PeGS(epsilon=1.0)), 100.0) as book:
            if number % 2:
                book.charge(Budget(epsilon=1), purpose="rows")

    for trial in range(5):
        data = tmp_path / f"visits {trial}.csv"
        data.write_text("a\n1\n")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(run, range(8)))
        assert Account.open(data).spent == Budget(epsilon=4)


def test_a_first_run_that_its_limit_does_not_cover_begins_nothing(tmp_path):
    data = tmp_path / "visits.csv"
    data.write_text("a\n1\n")
    with (
        pytest.raises(GuaranteeError, match="Nothing was spent"),
        account_of(data, Synthesis.of(PeGS(epsilon=5.0)), 3.0),
    ):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["visits.csv"]


def test_a_limit_can_be_set_anew_while_nothing_is_spent(tmp_path):
    data = tmp_path / "visits.csv"
    data.write_text("a\n1\n")
    with account_of(data, Synthesis.of(PeGS(epsilon=1.0)), 3.0):
        pass
    with account_of(data, Synthesis.of(PeGS(epsilon=1.0)), 5.0) as book:
        assert book.limit.epsilon == 5.0
        book.charge(Budget(epsilon=1), purpose="rows")
    with pytest.raises(ParameterError, match="--limit"), account_of(data, Synthesis.of(PeGS(epsilon=1.0)), 9.0):
        pass
