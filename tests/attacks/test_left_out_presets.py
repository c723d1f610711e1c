"""Chains of presets: nothing about a person who is left out may show, not even that a rule rewrote their age or date.

Row 0 has a sex that nobody else has, or lacks a number that everybody must have, and is left out. Each change of their
cells must give the same bytes in everything that leaves: table, manifest, report.
"""

from datetime import date
from functools import cache

import numpy as np
import polars as pl
import pytest
from test_non_interference import KEY, changed, leaving

import shoal
from shoal.compliance import preset
from shoal.recipe import Anonymization, Coarsening, LinkedRecipe
from shoal.release import make

N = 128
QUASI = ["age", "born", "admitted", "seen_date", "zip", "sex"]
OTHER = ["age_group", "yob", "visit_day", "zip3", "metro", "visits", "married"]
GROUPS = ["0-17", "18-39", "40-64", "65-79", "80+"]
BOUNDS = {"age": (0, 120), "born": (1900, 2024), "bmi": (10, 80)}
HARBOR = shoal.SafeHarbor(year=2021)


def people():
    """Eight of each combination of quasi-identifiers, and one person with a sex of their own and without a BMI."""
    rng = np.random.default_rng(1)
    crowd = np.arange(N) % 16
    table = pl.DataFrame(
        {
            "age": 30 + 20 * (crowd // 8),
            "born": 1990 - 20 * (crowd // 8),
            "admitted": [date(2019 + int(c) // 4 % 2, 5, 3) for c in crowd],
            "seen_date": [f"{2019 + int(c) // 4 % 2}-05-11" for c in crowd],
            "zip": [["02139", "10001"][int(c) // 2 % 2] for c in crowd],
            "sex": [["f", "m"][int(c) % 2] for c in crowd],
            "bmi": 20 + crowd // 4,
            "age_group": rng.choice(["18-39", "40-64"], N),
            "yob": [str(year) for year in rng.integers(1940, 1990, N)],
            "visit_day": [f"2020-0{month}-11" for month in rng.integers(1, 6, N)],
            "zip3": rng.choice(["021", "100"], N),
            "metro": rng.choice(["yes", "no"], N),
            "married": rng.choice([*range(1975, 1999), 9999], N),
            "visits": rng.integers(0, 9, N),
            "cost": rng.integers(1, 90, N) * 10,
            "ill": rng.choice(["no", "flu"], N),
        }
    )
    return changed(table, 0, sex="x", bmi=None)


def schema(quasi=QUASI, **more):
    """Numbers that lack are a level, so that a person without an age gets as far as to be left out."""
    missing = {"age": "level", "born": "level", "bmi": "drop", "cost": "level"}
    kinds = {"zip": "nominal", "seen_date": "ordinal"}
    given = {"levels": {"age_group": GROUPS}, "missing": missing, "bounds": BOUNDS, "kinds": kinds} | more
    other = [name for name in (*OTHER, *QUASI, "bmi") if name not in quasi]
    bounds = {name: bounds for name, bounds in given.pop("bounds").items() if name in (*quasi, *other)}
    return shoal.Schema.of(quasi=quasi, sensitive=["cost", "ill"], other=other, bounds=bounds, **given)


def levels_as_they_are(quasi):
    return {name: 0 for name in quasi if name != "age"}


SUPPRESSING = {
    "generalize": shoal.Generalize(k=4, suppression=0.1, limits=levels_as_they_are(QUASI)),
    "suppress": shoal.Suppress(k=4, records=0.1),
}
DROPPING = {
    "mondrian": Coarsening.of([HARBOR, shoal.Mondrian(k=4)]),
    "resample": Anonymization.of(shoal.MDAV(k=4), shoal.Resample()),
    "shuffle": Anonymization.of(shoal.MDAV(k=4), shoal.Shuffle()),
    "centroid": Anonymization.of(shoal.MDAV(k=11), shoal.Centroid()),
}


def cases():
    """Each recipe with its preset, and the schema under which row 0 is left out."""
    harbor, limited = preset("safe-harbor").asked(year=2021), preset("limited-data-set")
    dropped = schema([*QUASI, "bmi"])
    suppressed = schema(missing={"age": "level", "born": "level", "bmi": "level", "cost": "level"})
    for name, method in SUPPRESSING.items():
        yield f"safe-harbor, {name}", Coarsening.of([HARBOR, method]), harbor, suppressed
        yield f"limited-data-set, {name}", Coarsening.of([shoal.LimitedDataSet(), method]), limited, suppressed
    yield "safe-harbor, mondrian", DROPPING["mondrian"], harbor, dropped
    for name in ("resample", "shuffle"):
        yield f"safe-harbor, {name}", DROPPING[name], harbor, dropped
        yield f"limited-data-set, {name}", DROPPING[name], limited, dropped
    yield "public-11, centroid", DROPPING["centroid"], preset("public-11"), dropped
    yield "cms, mondrian", Coarsening.of(shoal.Mondrian(k=11)), preset("cms"), dropped


CASES = {name: given for name, *given in cases()}
CHANGES = (
    {"age": 12},
    {"age": 44},
    {"age": 95},
    {"age": None, "born": None, "admitted": None},
    {"age": 44.5, "cost": 3.5, "visits": 1.5},
    {"born": 1901, "yob": "1901", "married": 1901},
    {"born": 2023, "yob": "born '31", "married": 2090},
    {"admitted": date(1901, 2, 3), "seen_date": "1901-02-03", "visit_day": "3 March 1901"},
    {"seen_date": "unknown", "visit_day": None, "zip": None, "zip3": None},
    {"seen_date": "2019", "visit_day": "2019", "zip": "036", "zip3": "036"},
    {"zip": "K1A 0B1", "zip3": "03601-1234", "age_group": "80+"},
    {"cost": 813_377, "ill": "maybe", "visits": 61},
    {"ill": "Seen again after the operation, doing rather well on the day", "cost": None, "visits": None},
)


def files(name, table, folder):
    recipe, rules, declared = CASES[name]
    release = make(table, declared, recipe, seed=3, key=KEY, preset=rules, accept=True)
    assert 0 not in release.source_rows
    release.write(folder)
    return leaving(folder)


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return cache(lambda name: files(name, people(), tmp_path_factory.mktemp("before") / "out"))


@pytest.mark.thinned(4)
@pytest.mark.parametrize("cells", CHANGES, ids=" ".join)
@pytest.mark.parametrize("name", CASES)
def test_what_a_left_out_person_has_does_not_show(name, cells, before, tmp_path):
    assert files(name, changed(people(), 0, **cells), tmp_path / "after") == before(name)


def test_bounds_and_levels_under_the_preset_follow_from_the_schema(tmp_path):
    """The note on levels told that somebody was over 89, because only then the declared bounds were dropped."""
    words = files("safe-harbor, generalize", people(), tmp_path / "out")["manifest.json"].decode()
    told = next(line for line in words.splitlines() if "without a hierarchy, bounds or levels" in line)
    assert '"age' not in told
    assert "born" not in told


DERIVED = {"old": ["age"]}
RULES = [{"when": {"old": ["yes"]}, "then": {"age": {"min": 50}}}]


@pytest.mark.parametrize("cells", [{"age": 95, "old": "yes"}, {"age": 12, "old": "no"}, {"age": 70, "old": "yes"}])
@pytest.mark.parametrize("given", [{"derived": DERIVED}, {"rules": RULES}], ids=["derived", "rules"])
def test_derived_columns_and_rules_after_a_preset(given, cells, tmp_path):
    table = people().with_columns(old=pl.when(pl.col("age") >= 50).then(pl.lit("yes")).otherwise(pl.lit("no")))
    declared = shoal.Schema.of(
        quasi=["age", "sex", "bmi"],
        sensitive=["cost"],
        other=["old"],
        bounds={"age": (0, 120)},
        missing={"bmi": "drop"},
        **given,
    )
    rules, out = preset("safe-harbor").asked(year=2021), []
    for i, one in enumerate((table, changed(table, 0, **cells))):
        shown = one.select("age", "sex", "bmi", "cost", "old")
        recipe = DROPPING["mondrian"] if "derived" in given else DROPPING["resample"]
        release = make(shown, declared, recipe, seed=3, key=KEY, preset=rules, accept=True)
        assert 0 not in release.source_rows
        release.write(tmp_path / str(i))
        out.append(leaving(tmp_path / str(i)))
    assert out[0] == out[1]


LINKED = {
    "patients": {
        "key": "patient",
        "columns": {
            "age": {"role": "quasi", "kind": "numeric", "bounds": [0, 120], "missing": "level"},
            "sex": {"role": "quasi", "kind": "nominal"},
        },
    },
    "visits": {
        "parent": "patients",
        "link": "patient",
        "columns": {
            "age_then": {"role": "other"},
            "seen_date": {"role": "other"},
            "zip3": {"role": "other"},
            "born_year": {"role": "other"},
        },
    },
}


@pytest.mark.parametrize(
    "cells",
    [
        {"age_then": 95},
        {"born_year": "1901"},
        {"seen_date": "unknown", "zip3": "03601"},
        {"seen_date": None, "zip3": "036", "age_then": None},
    ],
    ids=" ".join,
)
def test_events_of_a_left_out_person_under_a_preset(cells, tmp_path):
    declared, rules = shoal.LinkedSchema.of(**LINKED), preset("safe-harbor").asked(year=2024)
    recipe = LinkedRecipe.of(Coarsening.of(shoal.Generalize(k=2, suppression=0.05, limits={"sex": 0})), None)
    n = 41
    patients = pl.DataFrame({"patient": range(n), "age": [50] * n, "sex": ["x", *["f", "m"] * 20]})
    visits = pl.DataFrame(
        {
            "patient": range(n),
            "age_then": [44, *[40, 41] * 20],
            "seen_date": ["2020-05-01", "2019-03-02", "2021-05-06"] * 13 + ["2020-05-01"] * 2,
            "zip3": ["021", *["021", "100"] * 20],
            "born_year": ["1970", *["1969", "1971"] * 20],
        }
    )
    out = []
    for i, (person, event) in enumerate(
        ((patients, visits), (changed(patients, 0, age=95), changed(visits, 0, **cells)))
    ):
        release = make({"patients": person, "visits": event}, declared, recipe, seed=3, key=KEY, preset=rules)
        assert 0 not in release.source_rows
        release.write(tmp_path / str(i))
        out.append(leaving(tmp_path / str(i)))
    assert out[0] == out[1]
