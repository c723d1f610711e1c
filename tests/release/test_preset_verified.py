"""`shoal verify` holds a table to its preset's rules again."""

import json

import polars as pl
import pytest

import shoal

TABLE = pl.DataFrame({"zip": ["02139", "94110"] * 12, "age": [44, 97] * 12, "cost": list(range(24))})
SCHEMA = shoal.Schema.of(quasi=["zip", "age"], sensitive=["cost"], kinds={"zip": "nominal"})


@pytest.fixture
def folder(tmp_path):
    method = shoal.SafeHarbor(allow=("cost",))
    release = shoal.coarsen(TABLE, SCHEMA, method, preset="safe-harbor", accept=True)
    return release.write(tmp_path / "out")


def rules_of(folder):
    return {check.name: check for check in shoal.verify(folder).checks if check.name.startswith("safe-harbor")}


def test_rules_are_recomputed(folder):
    rules = rules_of(folder)
    assert rules
    assert all(check.holds and check.standing == "recomputed" for check in rules.values())


def test_a_rule_that_the_table_breaks_is_found(folder):
    path = folder / "release.csv"
    path.write_text(path.read_text().replace(",90,", ",97,"))
    assert any(check.holds is False for check in rules_of(folder).values())


def test_a_rule_left_out_of_the_manifest_is_missed(folder):
    words = json.loads((folder / "manifest.json").read_text())
    words["preset"]["holds"].popitem()
    (folder / "manifest.json").write_text(json.dumps(words))
    assert any(check.detail == "is missing in the manifest" for check in rules_of(folder).values())
