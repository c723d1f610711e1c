"""A link to a data file has the account of the file.

A forecast grows with rows and columns, knows its methods, and says where it doesn't."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.dp import Account, Budget
from shoal.errors import GuaranteeError, ParameterError
from shoal.method import methods
from shoal.recipe import Anonymization, Coarsening, Synthesis
from shoal.release.account import account_of
from shoal.release.forecast import LONG, Forecast, forecast
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


SCHEMA = shoal.Schema.of(quasi=["age", "sex", "county"], sensitive=["cost"])
DEFAULT = Anonymization.of(shoal.KMember(k=5), shoal.GaussianDither())


def total(n, recipe=DEFAULT, schema=SCHEMA):
    return forecast(n, schema, recipe).total


@given(st.integers(1, 10**7), st.integers(1, 10**6))
def test_more_rows_never_take_less(n, more):
    assert 0 < total(n) <= total(n + more)


def test_it_grows_in_proportion_to_large_tables():
    assert total(10_000_000) == pytest.approx(10 * total(1_000_000), rel=0.05)


def test_more_columns_take_longer():
    wide = shoal.Schema.of(quasi=["age", "sex", "county", "race", "plan"], sensitive=["cost"])
    assert total(100_000, schema=wide) > total(100_000)


def test_the_steps_are_those_that_a_run_tells(tmp_path):
    table, schema = shoal.datasets.health_survey(100, seed=1), shoal.datasets.health_survey_schema()
    for recipe in (DEFAULT, Coarsening.of(shoal.Mondrian(k=5))):
        told = []
        release = shoal.release.make(table, schema, recipe, seed=1, progress=told.append)
        release.write(tmp_path / recipe.command, progress=told.append)
        assert told == list(forecast(100, schema, recipe).seconds)


def test_records_left_out_are_measured_without_them_too():
    assert total(10**6, Coarsening.of(shoal.Generalize(k=5))) > total(
        10**6, Coarsening.of(shoal.Generalize(k=5, suppression=0.0))
    )


def test_a_method_without_measured_costs_gives_a_floor():
    known, unknown = (
        forecast(10**6, SCHEMA, DEFAULT),
        forecast(10**6, SCHEMA, Anonymization.of(shoal.MST(k=5), shoal.Centroid())),
    )
    assert not known.is_floor
    assert str(known).startswith("about ")
    assert unknown.is_floor
    assert str(unknown).startswith("at least ")


def test_every_family_has_a_forecast():
    assert all(methods(family) for family in ("group", "mask", "coarsen", "synthesize"))
    assert total(1000, Synthesis.of(shoal.PeGS(epsilon=1.0))) > 0


def test_only_long_runs_are_worth_a_word():
    assert not Forecast(seconds={"grouping": LONG}).is_long
    assert Forecast(seconds={"grouping": LONG, "masking": 0.1}).is_long
