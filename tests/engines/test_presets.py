"""Presets on an engine: the checks, facts and words of memory, counted over all rows."""

import json

import numpy as np
import polars as pl
import pytest
from tests.engines.conftest import cut

import shoal
from shoal.engine import Inputs
from shoal.errors import ColumnError, GuaranteeError
from shoal.recipe import Anonymization, Coarsening
from shoal.release.on_engine import first_steps
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import release_files

SCHEMA = shoal.Schema.of(identifier=["who"], quasi=["age", "zip"], sensitive=["ill"], other=["rate", "cost"])
GENERALIZE = Coarsening.of(shoal.Generalize(k=11, suppression=0.1))
DITHER = Anonymization.of(shoal.MDAV(k=11), shoal.GaussianDither())


@pytest.fixture
def table(visits):
    return visits.with_columns(pl.col("rate").fill_nan(None), pl.col("ill").fill_null("no"))


def made(engine, table, recipe, out, preset, **given):
    folder = out.parent / "in"
    inputs = Inputs.of(folder if folder.exists() else cut(table, folder, 3))
    return release_files(engine, inputs, SCHEMA, recipe, out, preset=preset, plan=Plan(rows=700, sample=1500), **given)


def of_preset(facts, name):
    return [str(fact) for fact in facts if fact.values.get("preset") == name]


@pytest.mark.parametrize("preset", ["cms", "public-11"])
def test_rules_are_counted_as_in_memory(engine, table, tmp_path, preset):
    done = made(engine, table, GENERALIZE, tmp_path / "out", preset)
    whole = shoal.coarsen(table, SCHEMA, *GENERALIZE.methods, preset=preset)
    assert of_preset(done.facts, preset) == of_preset(whole.facts, preset)
    words = json.loads((tmp_path / "out" / "manifest.json").read_text())["preset"]
    assert words["name"] == preset
    assert all(words["holds"].values())
    found = shoal.verify(tmp_path / "out", engine=engine, original=tmp_path / "in")
    assert found.exit_code == 0
    again = [check.name for check in found.checks if check.name.startswith(preset)]
    assert again == [f"{preset}: {rule}" for rule in words["holds"]]


def test_a_dither_meets_a_preset_by_its_proved_bound(engine, table, tmp_path):
    done = made(engine, table, DITHER, tmp_path / "out", "ema-0070", seed=3)
    assert any("found with probability 0.09091 at most" in text for text in of_preset(done.facts, "ema-0070"))


def test_a_rule_that_fails_is_refused_until_somebody_accepts_it(engine, table, tmp_path):
    rare = table.with_columns(cost=pl.Series([1] * 3 + [0] * (len(table) - 3)))
    with pytest.raises(GuaranteeError, match="no level of a column is held by 1 to 10") as caught:
        made(engine, rare, GENERALIZE, tmp_path / "out", "cms")
    assert "1 in 'cost'" in str(caught.value)
    assert not (tmp_path / "out").exists()
    made(engine, rare, GENERALIZE, tmp_path / "out", "cms", accept=True)
    holds = json.loads((tmp_path / "out" / "manifest.json").read_text())["preset"]["holds"]
    assert list(holds.values()) == [True, False]


def test_a_written_table_that_breaks_a_rule_is_found(engine, table, tmp_path):
    """Somebody claims a preset that the files don't keep."""
    made(engine, table, Coarsening.of(shoal.Generalize(k=5)), tmp_path / "out", None)
    path = tmp_path / "out" / "manifest.json"
    words = json.loads(path.read_text())
    rule = (
        shoal.compliance.PRESETS["public-11"]
        .counted_findings(shoal.compliance.presets.Counts(k=11, n_small=0, rare={}))[0]
        .rule
    )
    words["preset"] = {"name": "public-11", "holds": {rule: True}}
    words["claims"] = [claim for claim in words["claims"] if claim["kind"] != "re-identification bound"]
    path.write_text(json.dumps(words))
    (check,) = [c for c in shoal.verify(tmp_path / "out", engine=engine).checks if c.name.startswith("public-11")]
    assert check.holds is False


CLINIC = shoal.Schema.of(
    identifier=["name"],
    quasi=["age", "zip", "admitted", "sex"],
    sensitive=["ill"],
    other=["city", "cost", "birth_year"],
    kinds={"zip": "nominal"},
)


@pytest.fixture
def clinic():
    rng, n = np.random.default_rng(2), 1500
    return pl.DataFrame(
        {
            "name": [f"P{i}" for i in range(n)],
            "age": rng.integers(60, 99, n),
            "zip": rng.choice(["02139", "02140", "03601", "94110"], n).tolist(),
            "admitted": pl.Series(rng.integers(18000, 18900, n)).cast(pl.Int32).cast(pl.Date),
            "sex": rng.choice(["f", "m"], n).tolist(),
            "ill": rng.choice(["flu", "none", "cancer"], n).tolist(),
            "city": rng.choice(["Boston", "Reno"], n).tolist(),
            "cost": rng.integers(0, 900, n) * 1.5,
            "birth_year": rng.integers(1920, 1960, n),
        }
    )


def harboured(engine, table, recipe, out, **given):
    folder = out.parent / "in"
    inputs = Inputs.of(folder if folder.exists() else cut(table, folder, 3))
    return release_files(engine, inputs, CLINIC, recipe, out, plan=Plan(rows=700, sample=1500), **given)


def released(folder):
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("part-*.parquet"))])


@pytest.mark.parametrize("more", [(), (shoal.Generalize(k=5, suppression=0.2),)])
def test_safe_harbor_writes_what_memory_writes(engine, clinic, tmp_path, more):
    methods = (shoal.SafeHarbor(year=2021), *more)
    done = harboured(engine, clinic, Coarsening.of(methods), tmp_path / "out", preset="safe-harbor")
    whole = shoal.coarsen(clinic, CLINIC, methods, preset="safe-harbor")
    out, expected = released(tmp_path / "out"), whole.in_file_types()
    assert out.sort(out.columns).equals(expected.sort(expected.columns))
    said, expected = (of_preset(one.facts, "safe-harbor") for one in (done, whole))
    told = [
        words.replace("'zip', ", "") if more else words for words in expected
    ]  # who is left out may have had another
    assert said == told
    assert set(out["zip"]) <= {"021", "000", "941"} or more
    assert [(c.kind, c.value) for c in done.claims] == [
        (c.kind, c.value) for c in whole.claims if c.basis != "measured"
    ]
    found = shoal.verify(tmp_path / "out", engine=engine, original=tmp_path / "in")
    assert found.holds
    assert sum(check.name.startswith("safe-harbor") for check in found.checks) == 20


def test_safe_harbor_before_groups_and_masks(engine, clinic, tmp_path):
    preset = shoal.compliance.PRESETS["safe-harbor"].asked(year=2021, allow=["cost"])
    harboured(engine, clinic, DITHER, tmp_path / "out", preset=preset, seed=3)
    out = released(tmp_path / "out")
    assert set(out["zip"]) <= {"021", "000", "941"}
    assert set(out["city"]) == {"*"}
    assert out["admitted"].is_between(2019, 2022).all()
    assert out["birth_year"].min() >= 2021 - 90
    assert shoal.verify(tmp_path / "out", engine=engine, original=tmp_path / "in").holds


@pytest.mark.parametrize("form", ["{}xx", "{} 01", "{}"])
def test_areas_of_few_people_are_not_released(engine, clinic, form, tmp_path):
    areas = [form.format(area) for area in ("036", "059", "021", "941", "606")] * 300
    steps = Coarsening.of(shoal.SafeHarbor(year=2021))
    table = clinic.with_columns(zip=pl.Series(areas))
    harboured(engine, table, steps, tmp_path / "out", preset="safe-harbor")
    assert set(released(tmp_path / "out")["zip"]) == {"000", "021", "941", "606"}


def test_what_names_a_person_outright_is_refused(engine, clinic, tmp_path):
    table = clinic.with_columns(city=pl.Series([f"p{i}@b.org" for i in range(len(clinic))]))
    for step in (shoal.SafeHarbor(year=2021), shoal.LimitedDataSet()):
        with pytest.raises(GuaranteeError, match=r"column 'city' \(contact"):
            harboured(engine, table, Coarsening.of([step, shoal.Mondrian(k=5)]), tmp_path / "out")
    with pytest.raises(GuaranteeError, match="could not be judged"):
        harboured(engine, clinic, Coarsening.of(shoal.SafeHarbor()), tmp_path / "b" / "out")
    assert not (tmp_path / "out").exists()


def test_a_column_of_too_many_values_needs_a_persons_look(engine, clinic, tmp_path, monkeypatch):
    monkeypatch.setattr(first_steps, "_MOST_VALUES", 100)
    recipe = Coarsening.of([shoal.LimitedDataSet(), shoal.Generalize(k=5)])
    with pytest.raises(ColumnError, match="'admitted': must have at most 100 different values.*--allow"):
        harboured(engine, clinic, recipe, tmp_path / "out")
    allowed = shoal.LimitedDataSet(allow=("admitted", "cost"))
    harboured(engine, clinic, Coarsening.of([allowed, shoal.Generalize(k=5)]), tmp_path / "out")


def test_a_side_door_is_refused_as_in_memory(engine, table, tmp_path):
    house = [f"house {i % 12}" for i in range(len(table))]
    given = table.with_columns(cost=pl.Series(house), ill=pl.Series([f"c{i % 4}" for i in range(len(table))]))
    given = given.rename({"ill": "county"}).with_columns(age=pl.col("age").clip(0, 80))
    schema = shoal.Schema.of(identifier=["who", "zip"], quasi=["age"], other=["rate", "cost", "county"])
    recipe = Coarsening.of([shoal.SafeHarbor(), shoal.Generalize(k=5, suppression=0.1)])
    with pytest.raises(GuaranteeError) as memory:
        shoal.coarsen(given, schema, recipe.methods)
    with pytest.raises(GuaranteeError) as counted:
        release_files(engine, Inputs.of(cut(given, tmp_path / "in", 3)), schema, recipe, tmp_path / "out")
    assert "'cost' (could not be judged: 'county' follows from it)" in str(memory.value)
    assert str(counted.value) == str(memory.value)
