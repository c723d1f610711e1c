"""What the result page shows, against counts by hand."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.web.pages.result_summary import held_to
from shoal.web.result_view import view_of


@pytest.fixture(scope="module")
def table():
    return shoal.datasets.health_survey(400, seed=5)


@pytest.fixture(scope="module")
def schema():
    return shoal.datasets.health_survey_schema()


def measured(view, part, name):
    return next(one for one in view[part] if one["name"] == name)


def sizes(frame, names):
    return frame.join(frame.group_by(names).len(), on=names, nulls_equal=True)["len"].to_numpy()


def test_a_coarsened_release(table, schema):
    release = shoal.coarsen(table, schema, shoal.Generalize(k=5))
    view = view_of(release)
    quasi = list(schema.quasi)
    before, after = sizes(table, quasi), sizes(release.table, quasi)
    assert view["lost"] == {"came": 400, "used": 400, "out": len(release.table)}
    found = measured(view, "risk", "found by nearest match")
    assert found["before"] == pytest.approx((1 / before).mean())
    assert found["value"] == release.risk.reidentification.expected
    smallest = measured(view, "risk", "smallest class")
    assert (smallest["before"], smallest["value"], smallest["limit"]) == (before.min(), after.min(), 5)
    for band, low, high in (("alone", 1, 1), ("5 to 9", 5, 9)):
        [row] = [row for row in view["sizes"] if row["label"] == band]
        assert row["before"] == pytest.approx(np.mean((before >= low) & (before <= high)))
        assert row["after"] == pytest.approx(np.mean((after >= low) & (after <= high)))
    assert {one["column"] for one in view["levels"]} == set(quasi)
    assert all(0 <= one["level"] <= one["height"] for one in view["levels"])
    starred = {name for name in quasi if (release.table[name].cast(pl.String) == "*").any()}
    assert set(view["blanks"]) == starred
    json.dumps(view)


def test_rows_stand_beside_those_of_the_same_people(table, schema):
    release = shoal.coarsen(table, schema, shoal.Mondrian(k=5))
    rows = view_of(release)["rows"]
    assert len(rows["after"]) == len(rows["before"]) == 50
    place = rows["both"].index("cost")
    for i, before in enumerate(rows["before"]):
        assert before[place] == f"{table['cost'][int(release.source_rows[i])]:.6g}"


def test_groups_whose_rows_differ_are_counted_as_groups(table, schema):
    release = shoal.anonymize(table, schema, group=shoal.KMember(k=5), mask=shoal.GaussianDither(exact=True), seed=1)
    view = view_of(release)
    counts = np.bincount(release.labels)
    shares = {row["label"]: row["after"] for row in view["sizes"]}
    assert shares["alone"] == shares["2 to 4"] == 0
    assert shares["5 to 9"] == pytest.approx(counts[(counts >= 5) & (counts <= 9)].sum() / 400)
    assert view["levels"] == []
    assert view["lattice"] is None


def test_the_accepted_risk_is_held_against_what_is_found_and_a_stricter_limit_stays():
    found = {"name": "found", "value": 0.03, "limit": 0.2, "basis": "proved", "first": True, "verdict": "good"}
    assert (held_to(found, 0.05).limit, held_to(found, 0.05).verdict) == (0.05, "good")
    assert (held_to(found, 0.01).basis, held_to(found, 0.01).verdict) == ("accepted", "bad")
    assert held_to(found, 0.5).basis == "proved"
    assert held_to({"name": "kept", "value": 0.5, "better": "higher", "first": True}, 0.05).limit is None
    closer = held_to({"name": "closer", "value": 0.48, "chance": 0.5, "against": "new rows", "first": True}, 0.05)
    assert (closer.limit, closer.verdict) == (None, "good")


def test_nobody_stands_beside_synthetic_rows(table, schema):
    names = [name for name in schema.quasi if schema[name].levels]
    public = shoal.Schema(tuple(schema[name] for name in names))
    release = shoal.synthesize(table.select(names), public, shoal.PeGS(epsilon=1.0))
    view = view_of(release)
    assert view["rows"]["before"] is None
    assert view["curve"] is None
    assert view["sizes"] == []
    assert view["risk"][0]["name"] == "combinations of one person"
    json.dumps(view)


def test_a_coarsened_level_stands_beside_the_levels_it_was_made_of():
    """Each original level counts under the group that it was released as: a group doesn't look like a change."""
    rng = np.random.default_rng(3)
    levels = ["[0-10)", "[10-20)", "[20-30)", "[30-40)"]
    table = pl.DataFrame({"age": rng.choice(levels, 60), "cost": rng.normal(size=60)})
    kinds = {"age": "ordinal", "cost": "numeric"}
    schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"], kinds=kinds, levels={"age": levels})
    view = view_of(shoal.coarsen(table, schema, shoal.Generalize(k=20, suppression=0.0)))
    shown = next(one for one in view["columns"] if one["column"] == "age")
    assert shown["moved"] == 0
    assert [cell["label"] for cell in shown["cells"]] == ["[0-10) to [10-20)", "[20-30) to [30-40)"]
    young = table["age"].is_in(levels[:2]).mean()
    assert shown["cells"][0]["before"] == pytest.approx(young)


def test_groups_that_suppression_took_are_watched():
    race = [*["A", "B", "C", "D"] * 100, *["A"] * 12, *"BCDEFGH"]
    people = pl.DataFrame({"state": ["Ohio"] * 400 + ["Wyoming"] * 19, "race": race, "cost": range(419)})
    kinds = {"state": "nominal", "race": "nominal"}
    roles = shoal.Schema.of(quasi=["state", "race"], sensitive=["cost"], kinds=kinds)
    kept = shoal.Generalize(k=10, suppression=0.05, limits={"state": 0, "race": 0})
    watched = view_of(shoal.coarsen(people, roles, kept, seed=1))["watch"]
    assert any(text.startswith("Suppression took most of: state Wyoming 36.8% (19 → 12)") for text in watched)
    assert "4 levels vanished: race E (1), race F (1), race G (1), race H (1)." in watched
