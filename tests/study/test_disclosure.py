"""The study of chapter 2 in miniature: its steps by hand, its measures, its page."""

import json

import numpy as np
import polars as pl
import pytest

from shoal.datasets.inpatients import inpatient
from shoal.errors import InputError, ParameterError
from shoal.schema import Schema
from shoal.study.disclosure import STEPS, Roles, Settings, anatomy, prepared_stays, run, shortened
from shoal.study.disclosure_page import STUDY, crossed, findings
from shoal.study.page import render

ROLES = Roles(place="zip", first="unit", second="race", stay="days", charge="charge")


@pytest.fixture(scope="module")
def study():
    return run(settings=Settings(n=300, draws=2, seed=1))


def test_the_five_columns_are_found(study):
    assert study.roles == ROLES


def test_rare_records_go_long_stays_are_pooled_and_charges_binned():
    raw = inpatient(300, seed=1).select(ROLES.names)
    ready, rows = prepared_stays(raw, ROLES)
    top = raw["charge"].quantile(0.99, "higher")
    assert rows.tolist() == np.flatnonzero(raw["charge"].to_numpy() <= top).tolist()
    assert ready["days"].max() == raw["days"].quantile(0.99, "higher")
    width = np.diff(np.unique(ready["charge"])).min()
    assert ((ready["charge"] % width) == 0).all()
    assert (raw["charge"][rows] - ready["charge"]).is_between(0, width, closed="left").all()
    assert ready.drop("days", "charge").equals(raw[rows].drop("days", "charge"))


def test_places_are_shortened_but_never_to_nothing():
    table = pl.DataFrame({"zip": ["78001", "78012"]})
    assert shortened(table, "zip", 1)["zip"].to_list() == ["7800", "7801"]
    assert shortened(table, "zip", 9)["zip"].to_list() == ["7", "7"]


def test_anatomy_keeps_values_in_buckets_that_span_the_range():
    values = np.arange(90.0)
    dealt = anatomy(values, 3, np.random.default_rng(1))
    assert sorted(dealt) == sorted(values)
    assert set(np.round(dealt - values) % 30) == {0.0}
    assert 0.5 < (dealt != values).mean() < 0.8


def test_outcomes_by_hand(study):
    raw = inpatient(300, seed=1).select(ROLES.names)
    plain = study.outcome("as it is")
    sizes = raw.group_by("zip", "unit", "race", "days").len()["len"]
    assert plain.unique_share[0] == pytest.approx((sizes == 1).sum() / 300)
    assert (plain.overlap, plain.slope, plain.rows_share) == ((1.0, 1.0),) * 3
    assert study.outcome("Anatomy").linkage == study.outcome("filtered, top-coded, binned").linkage
    assert max(map(abs, study.outcome("Anatomy").slope)) < 0.5
    assert study.outcome("all imputed, tree").linkage == ()
    short = study.outcome("place shortened")
    assert min(short.linkage) > 0.9 * max(short.unique_share)  # who is alone is found by whoever shortens alike
    assert max(study.outcome("places swapped").linkage) < min(study.outcome("noise added").linkage)


def test_suppressed_keys_are_shared(study):
    suppressed = study.pictures.suppressed
    assert suppressed.group_by("zip", "unit", "race").len()["len"].min() >= study.settings.k


def test_taking_the_noise_out_brings_the_slope_nearer():
    found = run(settings=Settings(n=1500, draws=2, ratio=1.0, seed=3))
    shrunken = np.divide(found.outcome("noise added").slope, found.outcome("filtered, top-coded, binned").slope)
    assert (np.abs(np.subtract(found.corrected, 1)) < np.abs(shrunken - 1)).all()


def test_cells_of_two_columns_hold_all_records():
    table = inpatient(200, seed=2)
    x, y, counts = crossed(table["zip"], table["charge"])
    assert counts.sum() == 200
    assert 0 <= min(x.min(), y.min()) <= max(x.max(), y.max()) < 24


def test_findings_and_page(study):
    said = findings(study)
    assert len(said) == len(STEPS)
    assert "not measured" in next(text for text in said if text.startswith("all imputed"))
    assert "(unchanged)" in next(text for text in said if text.startswith("Anatomy"))
    page = render(STUDY, study)
    assert page.count("<svg") == 6
    assert all(step in page for step in STEPS)
    json.dumps(study.to_dict(), allow_nan=False)


def test_files_take_the_same_way_and_bad_ones_are_refused():
    table = inpatient(250, seed=4).select("zip", "unit", "race", "days", "charge")
    schema = Schema.of(quasi=["zip", "unit", "race", "days"], sensitive=["charge"], kinds={"days": "numeric"})
    found = run(table.to_pandas(), schema, name="a file", settings=Settings(draws=2))
    assert (found.data, found.outcome("as it is").rows_share) == ("a file", (1.0, 1.0))
    with pytest.raises(ParameterError, match="both a file and its schema"):
        run(table)
    with pytest.raises(InputError, match="three nominal"):
        run(table, Schema.of(quasi=["zip", "days"], sensitive=["charge"], other=["unit", "race"]))
