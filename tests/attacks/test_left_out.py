"""People who were left out come back through names, levels and medians: each attack with the published files only.

What a release says of the others must not be named after, numbered by or filled from somebody who is not in it.
"""

from datetime import datetime

import numpy as np
import polars as pl
import pytest
from test_non_interference import KEY, changed, leaving

import shoal
from shoal.recipe import Coarsening
from shoal.release import make
from shoal.rng import repeatable

N = 121


def crowd():
    """Crowds that resemble each other, and one person (row 0) in a town of their own, who is suppressed."""
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "age": rng.integers(3, 7, N) * 10,
            "sex": rng.choice(["f", "m"], N),
            "town": rng.choice(["Alba", "Boro"], N),
            "cost": rng.permutation(N) * 10,
            "visits": rng.integers(0, 9, N),
        }
    )
    return changed(table, 0, age=50, town="Zed")


def written(table, schema, folder, **method):
    method = shoal.Generalize(**({"k": 4, "suppression": 0.02} | method))
    release = make(table, schema, Coarsening.of(method), seed=3, key=KEY)
    assert 0 not in release.source_rows
    release.write(folder)
    return leaving(folder)


def schema_of(quasi=("age", "sex", "town"), **more):
    return shoal.Schema.of(quasi=quasi, sensitive=["cost"], other=["visits"], **more)


@pytest.mark.parametrize(
    "cells", [{"age": 97}, {"age": 97.5}, {"age": None}, {"town": "Y" * 90}, {"town": "00001"}, {"sex": None}]
)
def test_the_number_of_levels_and_the_names_of_intervals_are_those_of_the_kept(cells, tmp_path):
    """ "Level 0 of 6" told that somebody is 1000; "20 to <40" instead of "20-39" that somebody's age is not whole."""
    schema = schema_of(hierarchies={"age": {"kind": "intervals", "widths": [20, 40]}}, missing={"age": 130})
    method = {"limits": {"town": 0}, "importance": {"town": 9, "age": 0.1}}
    before = written(crowd(), schema, tmp_path / "before", **method)
    assert b"20-39" in before["release.csv"]
    assert written(changed(crowd(), 0, **cells), schema, tmp_path / "after", **method) == before


def test_a_range_of_values_does_not_number_the_levels(tmp_path):
    schema, method = schema_of(), {"limits": {"town": 0, "age": 0, "sex": 0}, "k": 2}
    before = written(crowd(), schema, tmp_path / "before", **method)
    for age in (101, 1000, 0.5):
        assert written(changed(crowd(), 0, age=age), schema, tmp_path / str(age), **method) == before


def test_no_block_of_neighbours_is_named_after_somebody_who_is_not_in_it(tmp_path):
    """Levels of an ordinal column merge by twos: "60 to 97" was written of people of 60, and 97 of nobody there."""
    schema = schema_of(kinds={"age": "ordinal"})
    ages = [97, 30, 30, 30, 30, *([40, 50] * N)][:N]
    table = crowd().with_columns(age=pl.Series(ages))
    files = written(table, schema, tmp_path / "out", k=6, limits={"town": 0, "age": 1})
    shown = set(pl.read_csv(files["release.csv"])["age"].cast(pl.String))
    assert shown == {"30 to 40", "50"}


@pytest.mark.parametrize("column", ["cost", "age", "visits"])
def test_a_median_is_that_of_the_kept(column, tmp_path):
    """A person without a value got the suppressed person's own, to the last digit, where that was the median."""
    middle = float(np.median(crowd()[column]))
    schema = schema_of(missing={column: "median"}, bounds={"age": (0, 120)})
    method = {"limits": {"town": 0, "age": 0, "sex": 0}, "k": 2}
    table = changed(crowd(), 7, **{column: None})
    before = written(table, schema, tmp_path / "before", **method)
    for value in (middle + 0.25, middle - 0.25, 113):
        after = written(changed(table, 0, **{column: value}), schema, tmp_path / str(value), **method)
        assert after == before


@pytest.mark.parametrize("column", ["age", "cost"])
def test_a_recoding_before_a_suppression_names_intervals_by_the_kept(column, tmp_path):
    bins = shoal.Recode(steps={column: {"kind": "bins", "width": 20}})
    method = Coarsening.of([bins, shoal.Generalize(k=2, suppression=0.02, limits={"town": 0, "age": 0, "sex": 0})])
    seen = []
    for table in (crowd(), changed(crowd(), 0, **{column: 50.5})):
        given = {"seed": 3, "key": KEY, "progress": lambda step: None}
        release = make(table, schema_of(bounds={"age": (0, 120)}), method, **given)
        assert 0 not in release.source_rows
        release.write(tmp_path / str(len(seen)))
        seen.append(leaving(tmp_path / str(len(seen))))
    assert b"40-59" in seen[0]["release.csv"]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("value", ["many", 3.5])
def test_a_column_that_only_a_left_out_person_mixes(value, tmp_path):
    """pandas holds any object; writing failed with the library's own words, which may quote a cell."""
    table = crowd().to_pandas()
    method = {"limits": {"town": 0, "age": 0, "sex": 0}, "k": 2}
    before = written(table, schema_of(), tmp_path / "before", **method)
    mixed = table.astype({"visits": object})
    mixed.loc[0, "visits"] = value
    assert written(mixed, schema_of(), tmp_path / "after", **method) == before


def test_a_commitment_under_a_key_that_follows_from_a_seed_is_refused(tmp_path):
    """Whoever guesses the seed could try inputs against the commitment in the manifest."""
    release = shoal.anonymize(crowd(), schema_of(), group=shoal.MDAV(k=4), mask=shoal.Resample())
    with repeatable(7), pytest.raises(shoal.GuaranteeError, match="follows from a seed"):
        release.write(tmp_path / "out")


def test_the_clock_and_the_decimals_of_a_left_out_person_do_not_show(tmp_path):
    """One time in nanoseconds, one price with three decimals: the others were written with as many."""
    schema, method = schema_of(), {"limits": {"town": 0, "age": 0, "sex": 0}, "k": 2}
    times = pl.Series([datetime(2020, 1, 1 + i % 9, 5) for i in range(N)], dtype=pl.Datetime("us"))
    table = crowd().with_columns(visits=times, cost=pl.col("cost").cast(pl.Decimal(12, 2)))
    fine = table.with_columns(
        pl.col("visits").cast(pl.Datetime("ns")) + pl.Series([1, *[0] * (N - 1)]).cast(pl.Duration("ns")),
        pl.col("cost").cast(pl.Decimal(12, 3)) + pl.Series(["0.001", *["0"] * (N - 1)]).cast(pl.Decimal(12, 3)),
    )
    before = written(table, schema, tmp_path / "before", **method)
    assert written(fine, schema, tmp_path / "after", **method) == before


def test_days_are_days_however_they_were_kept(tmp_path):
    """pandas has no days, only midnights: the file must not tell which library held the table."""
    schema, method = schema_of(), {"limits": {"town": 0, "age": 0, "sex": 0}, "k": 2}
    days = crowd().with_columns(visits=pl.Series([datetime(2020, 1, 1 + i % 9) for i in range(N)]).cast(pl.Date))
    midnights = days.with_columns(pl.col("visits").cast(pl.Datetime("ns")))
    before = written(days, schema, tmp_path / "before", **method)
    assert written(midnights, schema, tmp_path / "after", **method) == before
    assert written(midnights.to_pandas(), schema, tmp_path / "pandas", **method) == before


@pytest.mark.parametrize("preset", [None, "safe-harbor"])
def test_that_a_left_out_person_is_over_89_is_not_told(preset, tmp_path):
    """ "Ages over 89: found and removed" told that somebody is, where the only one was suppressed."""
    last = shoal.Generalize(k=2, suppression=0.02, limits={"town": 0, "age": 0, "sex": 0})
    recipe = Coarsening.of([shoal.compliance.SafeHarbor(), last])
    seen = []
    for age in (50, 95):
        table = changed(crowd(), 0, sex="x", age=age)
        release = make(table, schema_of(), recipe, seed=3, key=KEY, preset=preset, accept=True)
        assert 0 not in release.source_rows
        release.write(tmp_path / str(len(seen)))
        seen.append(leaving(tmp_path / str(len(seen))))
    assert seen[0] == seen[1]
    assert release.steps[0].details["ages over 89"] == ["age"], "inside it is told"


def test_rules_of_a_preset_see_the_types_that_are_written(tmp_path):
    """One left-out 3.5 among whole numbers, and codes or rare levels were floats, which have none."""
    method = Coarsening.of(shoal.Generalize(k=2, suppression=0.02, limits={"town": 0, "age": 0, "sex": 0}))
    seen = []
    for table in (crowd(), changed(crowd(), 0, cost=3.5)):
        release = make(table, schema_of(), method, seed=3, key=KEY, preset="safe-harbor", accept=True)
        release.write(tmp_path / str(len(seen)))
        seen.append(leaving(tmp_path / str(len(seen))))
    assert seen[0] == seen[1]


def test_whether_most_dates_were_rewritten_is_judged_by_the_kept(tmp_path):
    """Half of the others have dates, half have years: the manifest told which of both the suppressed person has."""
    steps = [shoal.SafeHarbor(year=2024), shoal.Generalize(k=2, limits={"age": 0, "sex": 0, "kind": 0})]
    seen = []
    for own in ("2020-05-01", "2019"):
        dates = ["2020-05-01" if i % 2 else "2019" for i in range(N)]
        table = (
            crowd().rename({"town": "kind"}).with_columns(pl.col("cost") % 90, seen_date=pl.Series([own, *dates[1:]]))
        )
        schema = shoal.Schema.of(quasi=["age", "sex", "kind"], sensitive=["cost"], other=["visits", "seen_date"])
        given = {"seed": 3, "key": KEY, "preset": "safe-harbor"}
        release = make(table, schema, Coarsening.of(steps), **given)
        assert 0 not in release.source_rows
        release.write(tmp_path / own)
        seen.append(leaving(tmp_path / own))
    assert seen[0] == seen[1]
