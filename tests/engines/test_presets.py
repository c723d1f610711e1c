"""Presets that only count, on an engine: the checks, facts and words of memory, counted over all rows."""

import json

import polars as pl
import pytest
from tests.engines.conftest import cut

import shoal
from shoal.engine import Inputs
from shoal.errors import GuaranteeError, ParameterError
from shoal.recipe import Anonymization, Coarsening
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


def test_presets_that_look_at_every_cell_need_memory(engine, table, tmp_path):
    with pytest.raises(ParameterError, match="safe-harbor looks at every cell and needs the table in memory"):
        made(engine, table, GENERALIZE, tmp_path / "out", "safe-harbor")
