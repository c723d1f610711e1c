"""What suppression took, against counts by hand: small states, rare races in one of them, blanks, tenths, absences."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.frame import enter
from shoal.release.folders import SUPPRESSION, inside_of
from shoal.report.suppressed import group_words, loss_points
from shoal.schema import Column
from shoal.utility.suppressed import levels_of, loss_between

BIG, SMALL = "Ohio", "Wyoming"


def states():
    """400 of a large state; 19 of a small one, of whom 12 share a class, and one each of seven races."""
    race = [*["A", "B", "C", "D"] * 100, *["A"] * 12, *"BCDEFGH"]
    return pl.DataFrame({"state": [*[BIG] * 400, *[SMALL] * 19], "race": race, "cost": range(419)})


SCHEMA = shoal.Schema.of(quasi=["state", "race"], sensitive=["cost"], kinds={"state": "nominal", "race": "nominal"})
KEEPING = shoal.Generalize(k=10, suppression=0.05, limits={"state": 0, "race": 0})


def release_of(table, method=KEEPING, schema=SCHEMA):
    return shoal.coarsen(table, schema, method, seed=1)


def test_a_group_that_is_nearly_gone_comes_first():
    loss = release_of(states()).suppression
    assert (loss.before, loss.after, loss.left_out, loss.blanked) == (419, 412, 7, 0)
    by_level = {group.name: (group.before, group.after) for group in loss.levels}
    assert by_level[f"state {SMALL}"] == (19, 12)
    assert by_level[f"state {BIG}"] == (400, 400)
    assert by_level["race A"] == (112, 112)
    assert by_level["race B"] == (101, 100)
    assert {group.name for group in loss.vanished} == {"race E", "race F", "race G", "race H"}
    assert loss.worst()[0].name == f"state {SMALL}"
    assert group_words(loss.worst()[0]) == "state Wyoming 36.8% (19 → 12)"


def test_every_level_that_vanished_is_named():
    points = loss_points(release_of(states()).suppression)
    assert points[0].startswith("Suppression took most of: state Wyoming 36.8% (19 → 12); ")
    assert points[1] == "4 levels vanished: race E (1), race F (1), race G (1), race H (1)."
    merged = "merge Wyoming with another level (a hierarchy)"
    assert points[2] == f"To keep more of state Wyoming: {merged}, allow less suppression, or lower k."


def test_a_pair_is_listed_where_its_levels_do_not_explain_it():
    """300 of the small state, 60 of them of race B: all of these and nobody else are left out."""
    table = pl.DataFrame({"state": [BIG] * 1000 + [SMALL] * 300, "race": ["A", "B"] * 500 + ["A"] * 240 + ["B"] * 60})
    rows = np.flatnonzero(~((table["state"] == SMALL) & (table["race"] == "B")).to_numpy())
    loss = loss_between(enter(table), enter(table[rows]), rows, SCHEMA, blanks=False)
    assert [(g.columns, g.values, g.before, g.after) for g in loss.pairs] == [(("state", "race"), (SMALL, "B"), 60, 0)]


def test_a_loss_that_is_spread_evenly_lists_no_pair():
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"state": rng.choice([BIG, SMALL], 2000), "race": rng.choice(["A", "B"], 2000)})
    rows = np.flatnonzero(rng.random(2000) > 0.2)
    assert loss_between(enter(table), enter(table[rows]), rows, SCHEMA, blanks=False).pairs == ()


def test_nothing_suppressed_is_nothing_told():
    release = release_of(states(), shoal.Generalize(k=2, suppression=0))
    assert release.suppression is None


def test_blanked_cells_are_lost_too():
    release = release_of(states(), shoal.Suppress(k=5))
    texts = {name: release.table[name] for name in ("state", "race")}
    loss = release.suppression
    assert loss.left_out == 0
    assert loss.blanked == sum(int((cells == "*").sum()) for cells in texts.values()) > 0
    assert "raise the importance of" in loss_points(loss)[-1]
    for group in loss.levels:
        (name,), (level,) = group.columns, group.values
        assert group.before == (states()[name] == level).sum()
        assert group.after == (texts[name] == level).sum()


def test_numbers_are_counted_in_tenths_and_absences_by_value():
    values = pl.Series("income", [*range(100), *[-8] * 5, None])
    column = Column(name="income", role="quasi", kind="numeric", missing="level", missing_codes={-8: "refused"})
    kind, names, place = levels_of(values, column)
    assert kind == "tenths"
    assert len(names) == 12
    assert names[-2:] == ("-8", "missing")
    assert np.bincount(place).tolist()[-2:] == [5, 1]
    assert max(np.bincount(place)[:10]) <= 11


def test_declared_intervals_are_used():
    column = Column(name="age", role="quasi", kind="numeric", edges=(0, 18, 65, 120))
    kind, names, place = levels_of(pl.Series("age", [*range(90)]), column)
    assert (kind, names) == ("declared intervals", ("below 18", "18 to 65", "65 and above"))
    assert np.bincount(place).tolist() == [18, 47, 25]


def test_a_loss_weighs_people_and_share():
    """A thousandth of a large state is more people than all of a hamlet, and less of a loss."""
    table = pl.DataFrame({"state": [BIG] * 100_000 + ["Hamlet"] * 60, "race": ["A"] * 100_060})
    rows = np.arange(100, 100_000)
    loss = loss_between(enter(table), enter(table[rows]), rows, SCHEMA, blanks=False)
    assert loss.worst()[0].values == ("Hamlet",)


def test_a_loss_that_is_spread_evenly_names_no_group():
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"state": rng.choice([BIG, SMALL], 2000), "race": rng.choice(["A", "B"], 2000)})
    rows = np.flatnonzero(rng.random(2000) > 0.2)
    loss = loss_between(enter(table), enter(table[rows]), rows, SCHEMA, blanks=False)
    assert loss.worst() == ()
    assert loss_points(loss)[0].endswith("of the records, and of no group clearly more.")


def test_it_stays_inside(tmp_path):
    release = release_of(states())
    release.write(tmp_path / "out")
    inside = inside_of(tmp_path / "out")
    words = json.loads((inside / SUPPRESSION).read_text())
    assert [level["after"] for level in words["columns"][0]["levels"]] == [400, 12]
    page = (inside / "report.html").read_text()
    assert "What suppression took" in page
    assert "state Wyoming 36.8% (19 → 12)" in page
    for file in (tmp_path / "out").iterdir():
        assert "What suppression took" not in file.read_text()
        assert "36.8" not in file.read_text()


def test_people_held_back_under_the_register_are_counted():
    held = np.zeros(419, dtype=np.bool_)
    held[400:] = True
    table = states()
    given = table.filter(pl.Series(~held))
    release = shoal.coarsen(given, SCHEMA, shoal.Generalize(k=10), seed=1)
    from dataclasses import replace

    whole = replace(release, whole=table, held_back=held)
    assert {group.name for group in whole.suppression.vanished} >= {f"state {SMALL}"}


def test_persons_of_linked_tables():
    tables = shoal.datasets.clinic(300, visits=2.0, seed=3)
    schema = shoal.datasets.clinic_schema()
    release = shoal.coarsen(tables, schema, shoal.Generalize(k=8, suppression=0.2), seed=1)
    persons = schema.persons.name
    gone = len(tables[persons]) - len(release.table[persons])
    loss = release.suppression
    assert (0 if loss is None else loss.left_out) == gone


@pytest.mark.parametrize("kind", ["numeric", "nominal"])
def test_a_column_without_values_is_counted(kind):
    column = Column(name="x", role="quasi", kind=kind, missing="level")
    _, names, place = levels_of(pl.Series("x", [None, None], dtype=pl.Float64), column)
    assert names == ("missing",)
    assert place.tolist() == [0, 0]
