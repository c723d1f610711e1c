"""All dates of a person move together: over tables, over releases of one key, by person or by household."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError, SchemaError
from shoal.linked import Collection
from shoal.pseudonym import ProjectKey, Pseudonyms

SCHEMA = shoal.datasets.clinic_schema()
NAMES = Pseudonyms(key=ProjectKey(bytes(range(32))), scope="registry")


@pytest.fixture(scope="module")
def tables():
    return shoal.datasets.clinic(120, visits=3.0, seed=3)


def moved(tables, method, names=NAMES, key="00", schema=SCHEMA):
    before = Collection.of(tables, schema)
    done = method.first(before, names, key)
    return before, done.collection, done.facts


def shifts(before, after):
    days = [made.tables["visits"]["day"].cast(pl.Int32).to_numpy().astype(int) for made in (before, after)]
    return days[1] - days[0]


def test_a_person_moves_as_one_and_weekdays_stay(tables):
    before, after, facts = moved(tables, shoal.ShiftDates(weeks=26))
    by = shifts(before, after)
    assert (by % 7 == 0).all()
    assert np.abs(by).max() <= 182
    each = [set(by[before.persons["visits"] == i].tolist()) for i in range(120)]
    assert max(map(len, each)) == 1
    assert len(set().union(*each)) > 20
    assert any("born" in str(fact) for fact in facts), "a birth that is a quasi-identifier is said to stay"


def test_one_key_moves_alike_and_no_key_moves_afresh(tables):
    method = shoal.ShiftDates(weeks=26)
    first, second = (shifts(*moved(tables, method, key=key)[:2]) for key in ("aa", "bb"))
    assert (first == second).all()
    fresh = [shifts(*moved(tables, method, names=None, key=key)[:2]) for key in ("aa", "bb")]
    assert (fresh[0] != fresh[1]).mean() > 0.5


def test_households_move_together(tables):
    before, after, _ = moved(tables, shoal.ShiftDates(days=100, weeks=None, by="household"))
    by, home = shifts(before, after), tables["patients"]["household"].to_numpy()[before.persons["visits"]]
    assert all(len(set(by[home == h].tolist())) == 1 for h in set(home.tolist()))
    assert len(set(by.tolist())) > 10


def test_a_household_must_be_there(tables):
    words = SCHEMA.to_dict()
    words["tables"]["patients"]["columns"]["household"] = {"role": "identifier"}
    with pytest.raises(SchemaError, match="household"):
        moved(tables, shoal.ShiftDates(by="household"), schema=shoal.LinkedSchema.from_dict(words))


def test_a_birth_that_nobody_is_looked_for_by_moves_too(tables):
    words = SCHEMA.to_dict()
    words["tables"]["patients"]["columns"]["born"] = {"role": "other"}
    schema = shoal.LinkedSchema.from_dict(words)
    names = ["sex", "region"]
    release = shoal.anonymize(tables, schema, group=shoal.MDAV(k=5), events=shoal.ShiftDates(), pseudonyms=NAMES)
    old, new = tables["patients"], release.table["patients"]
    assert set(new.columns) == {"patient", "born", "income", *names}
    by = dict(zip(NAMES.of(old["patient"], "patients"), old["born"], strict=True))
    gaps = {(row["born"] - by[row["patient"]]).days for row in new.iter_rows(named=True)}
    assert len(gaps) > 20
    assert all(gap % 7 == 0 for gap in gaps)


def test_edges_of_a_study_leave_few_shifts():  # [P13], in days
    schema = shoal.LinkedSchema.of(
        patients={"key": "patient", "columns": {"sex": {"role": "quasi"}}},
        visits={"parent": "patients", "link": "patient", "columns": {"day": {"role": "time"}}},
    )
    day = dt.date(2024, 1, 2)
    given = {
        "patients": pl.DataFrame({"patient": range(400), "sex": ["f"] * 400}),
        "visits": pl.DataFrame({"patient": range(400), "day": [day] * 400}),
    }
    method = shoal.ShiftDates(weeks=3, window="2024-01-01/2024-04-10")
    _, after, facts = moved(given, method, schema=schema)
    by = shifts(Collection.of(given, schema), after)
    alone = int((by == -21).sum())
    assert alone > 0
    (fact,) = [one for one in facts if "leave possible" in str(one)]
    assert fact.values == {"fewest": 1, "single": alone}
    assert not fact.outside


@pytest.mark.parametrize("window", ["2024", "2024-02-01/2024-01-01"])
def test_windows_are_checked(tables, window):
    with pytest.raises(ParameterError, match="window"):
        moved(tables, shoal.ShiftDates(window=window))


def test_gaps_are_untouched_and_counted(tables):
    release = shoal.anonymize(tables, SCHEMA, group=shoal.MDAV(k=5), events=shoal.ShiftDates(weeks=26), seed=7)
    plain = shoal.anonymize(tables, SCHEMA, group=shoal.MDAV(k=5), seed=7)
    assert release.linked.joint.k(3, "gaps") == plain.linked.joint.k(3, "gaps") == 1
    assert not {claim.kind for claim in release.claims} & {"event bound"}, "nothing is promised"
