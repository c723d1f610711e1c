"""Households and known events on the internal page: what they count, and that they stay inside."""

import polars as pl
import pytest

import shoal
from shoal.release.hierarchical_risk import hierarchy_of
from shoal.report.hierarchical_risk import by_events, by_households


@pytest.fixture(scope="module")
def release():
    tables, schema = shoal.datasets.clinic(200, visits=2.0, seed=3), shoal.datasets.clinic_schema()
    events = shoal.ExchangeTrajectories(days=4)
    return shoal.anonymize(tables, schema, group=shoal.MDAV(k=5), mask=shoal.Centroid(), events=events, seed=7)


def test_before_and_after_by_counting(release):
    found = hierarchy_of(release)
    before, after = found["households"]
    home = release.original["patients"]["household"]
    assert before.n_households == after.n_households == home.n_unique()
    joined = release.table["patients"].with_columns(household=home.gather(release.source_rows))
    members = joined.group_by("household").agg(
        pl.concat_str("sex", "born", "region", separator="|").sort().str.join("/").alias("who")
    )
    assert after.k == members.group_by("who").len()["len"].min()
    assert found["events"][0].k(0) == 1
    assert found["events"][1] is release.linked.joint


def test_masked_rows_hide_in_their_groups():
    table, linked = shoal.datasets.clinic(200, seed=3)["patients"].drop("patient"), shoal.datasets.clinic_schema()
    group = shoal.Households(of=shoal.MDAV(k=5))
    masked = shoal.anonymize(table, linked.persons.columns, group=group, mask=shoal.Resample())
    before, after = hierarchy_of(masked)["households"]
    assert before.k == 1
    assert after.k >= 5, "k households of one group have the same slots"


def test_the_sections_say_it(release):
    found = hierarchy_of(release)
    homes = str(by_households(*found["households"]))
    assert "Households like no other" in homes
    events = str(by_events(*found["events"]))
    assert "2 events and the days between them, no date" in events
    assert "differ by up to 4 days" in events


def test_nothing_of_it_leaves(release, tmp_path):
    release.write(tmp_path / "out")
    outside = (tmp_path / "out" / "report.html").read_text()
    inside = (tmp_path / "out.internal" / "report.html").read_text()
    assert 'id="households"' in inside
    assert 'id="events"' in inside
    assert "Tables of events" in outside
    assert "prescriptions" in outside
    assert 'id="households"' not in outside
    assert 'id="events"' not in outside
    assert "Households like no other" not in outside


def test_without_households_and_events_there_are_no_sections():
    table = pl.DataFrame({"age": [30, 31, 32, 33], "cost": [1, 2, 3, 4]})
    schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"])
    assert hierarchy_of(shoal.anonymize(table, schema, group=shoal.MDAV(k=2))) == {}


def test_one_table_with_persons_of_several_rows():
    table = pl.DataFrame({"age": [30, 30, 40, 40, 50, 50], "who": [1, 1, 2, 2, 3, 3], "home": [1, 1, 1, 1, 2, 2]})
    schema = shoal.Schema.of(quasi=["age"], unit="who", household="home")
    before, after = hierarchy_of(shoal.anonymize(table, schema, group=shoal.MDAV(k=3)))["households"]
    assert (before.n_households, after.n_households) == (2, 2)
