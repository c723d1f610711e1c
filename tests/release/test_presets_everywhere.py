"""Presets under groups and masks, and under a synthesis; the record of a release says which, and verify looks again."""

import json

import polars as pl
import pytest

import shoal
from shoal.compliance import preset
from shoal.errors import GuaranteeError, ParameterError
from shoal.release.manifest import replay

N = 60
TABLE = pl.DataFrame(
    {
        "zip": ["02139", "03601", "94110"] * (N // 3),
        "age": [20 + i % 78 for i in range(N)],
        "dod": [20200200 + i % 28 + 1 for i in range(N)],
        "birth_year": [1920 + i for i in range(N)],
        "cost": [100.0 * (i % 10) for i in range(N)],
        "phone": [f"(617) 555-{1000 + i}" for i in range(N)],
    }
)
SCHEMA = shoal.Schema.of(
    quasi=["zip", "age", "birth_year"],
    sensitive=["cost"],
    other=["dod"],
    identifier=["phone"],
    kinds={"zip": "nominal"},
)
SAFE = preset("safe-harbor").asked(year=2020)


def test_safe_harbor_under_groups_and_masks(tmp_path):
    release = shoal.anonymize(TABLE, SCHEMA, group=shoal.MDAV(k=5), mask=shoal.Resample(), preset=SAFE, seed=1)
    assert set(release.table["zip"]) <= {"021", "000", "941"}
    assert release.table["age"].max() <= 90
    assert release.table["birth_year"].min() >= 1930
    assert set(release.table["dod"]) == {2020}
    notes = " ".join(release.notes)
    assert "D telephone numbers: found and removed: 'phone'" in notes
    assert "C dates: found and removed: 'dod'" in notes
    folder = release.write(tmp_path / "out")
    words = json.loads((folder / "manifest.json").read_text())
    assert words["preset"]["first"][0]["year"] == 2020
    assert all(words["preset"]["holds"].values())
    assert shoal.verify(folder).holds
    again = replay(tmp_path / "out.internal" / "replay.toml", TABLE)
    assert again.table.equals(release.table)


def test_what_cannot_be_judged_stops_a_release():
    with pytest.raises(GuaranteeError, match="birth_year.*--year"):
        shoal.anonymize(TABLE, SCHEMA, preset="safe-harbor", seed=1)


def test_a_bound_is_as_good_as_classes(tmp_path):
    made = {"group": shoal.MDAV(k=11), "mask": shoal.Resample(), "seed": 1}
    folder = shoal.anonymize(TABLE, SCHEMA, preset="ema-0070", **made).write(tmp_path / "out")
    (check,) = [check for check in shoal.verify(folder).checks if check.name.startswith("ema-0070")]
    assert (check.holds, check.standing) == (True, "on the publisher's word")
    with pytest.raises(GuaranteeError, match="preset public-20"):
        shoal.anonymize(TABLE, SCHEMA, preset="public-20", **made)
    aware = {**made, "mask": shoal.Shuffle()}
    with pytest.raises(GuaranteeError, match="preset ema-0070"):
        shoal.anonymize(TABLE, SCHEMA, preset="ema-0070", **aware)


def drawn(**levels):
    table = pl.DataFrame({name: (list(values) * N)[:N] for name, values in levels.items()})
    schema = shoal.Schema.of(quasi=list(levels), levels=levels)
    return lambda preset: shoal.synthesize(table, schema, shoal.PeGS(epsilon=2.0), rows=20, preset=preset, seed=1)


def test_a_synthesis_is_held_to_identifiers_by_its_public_domain():
    release = drawn(sex=["f", "m"], year=[2019, 2020])("safe-harbor")
    assert release.preset is not None
    assert any("A names: looked for" in note for note in release.notes)
    with pytest.raises(GuaranteeError, match="public domain.*found in 'visit'"):
        drawn(sex=["f", "m"], visit=[20200213, 20200214])("safe-harbor")
    with pytest.raises(ParameterError, match="synthetic rows are nobody's"):
        drawn(sex=["f", "m"])("public-11")
