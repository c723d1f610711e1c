"""The list of ZIP codes with few people is that of the census of 2020, and columns of three digits are held to it."""

import json

import polars as pl
import pytest

import shoal
from shoal.schema.judgement.us_places import STATE_OF_ZIP3
from shoal.schema.judgement.zip_codes import SMALL_ZIPS, three_digits

OF_2000 = {
    *("036", "059", "063", "102", "203", "556", "692", "790", "821"),
    *("823", "830", "831", "878", "879", "884", "890", "893"),
}


def test_the_list_of_2020_against_that_of_2000():
    counted = [zip3 for zip3 in SMALL_ZIPS if zip3 in STATE_OF_ZIP3]
    assert OF_2000 - set(SMALL_ZIPS) == {"063", "790", "830", "831", "890"}  # they have grown
    assert {"202", "204", "205", "369", "753", "772"} <= set(counted)
    assert len(SMALL_ZIPS) == 18 + 105


def test_where_nobody_was_counted_nothing_is_shown():
    shown = three_digits(pl.Series("zip", ["09012", "96201", "85004", "05901"]), SMALL_ZIPS)
    assert shown.to_list() == ["000", "000", "850", "000"]
    assert not {zip3 for zip3 in map("{:03d}".format, range(1, 1000)) if zip3 not in SMALL_ZIPS} - set(STATE_OF_ZIP3)


FORMS = {"text": str, "int": int, "float": float, "mask": "{}xx".format, "blank": "{} 01".format}
ROLES = {
    "quasi": {"role": "quasi", "kind": "nominal"},
    "ordinal": {"role": "quasi", "kind": "ordinal"},
    "sensitive": {"role": "sensitive"},
    "other": {"role": "other"},
}


def people(values):
    n = len(values)
    return pl.DataFrame({"sex": (["f", "m"] * n)[:n], "cost": [10 * (i % 7) for i in range(n)], "place": values})


def released(name, values, role, folder):
    """What a release under the preset shows of a column; None where it stops until somebody has looked."""
    table = people(values).rename({"place": name})
    schema = shoal.Schema.from_dict(
        {"columns": {"sex": {"role": "quasi", "kind": "nominal"}, "cost": {"role": "sensitive"}, name: ROLES[role]}}
    )
    try:
        release = shoal.coarsen(table, schema, shoal.SafeHarbor(), preset="safe-harbor")
    except shoal.GuaranteeError:
        return None
    release.write(folder)
    assert shoal.verify(folder).holds
    (file,) = (path for path in folder.glob("release.*"))
    read = pl.read_parquet(file) if file.suffix == ".parquet" else pl.read_csv(file, infer_schema=False)
    return set(read[name])


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("form", FORMS)
def test_no_area_of_few_people_leaves_under_the_preset(form, role, tmp_path):
    values = [FORMS[form](area) for area in ["036", "059", "102", "021", "100", "606"] * 20]
    assert released("zip3", values, role, tmp_path / "named") == {"000", "021", "100", "606"}
    assert released("x7", values, role, tmp_path / "neutral") in (None, {"000", "021", "100", "606"})


def test_a_release_that_shows_an_area_of_few_people_is_found(tmp_path):
    """Somebody claims the preset of a table with 036."""
    table = people(["036", "021"] * 30).rename({"place": "zip3"})
    schema = shoal.Schema.of(quasi=["sex"], sensitive=["cost"], other=["zip3"])
    shoal.coarsen(table, schema, shoal.Generalize(k=5), preset="safe-harbor", accept=True).write(tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    words = json.loads(manifest.read_text())
    assert not words["preset"]["holds"]["B geographic subdivisions"]
    words["preset"]["holds"]["B geographic subdivisions"] = True
    manifest.write_text(json.dumps(words))
    (check,) = [one for one in shoal.verify(tmp_path / "out").checks if "B geographic" in one.name]
    assert not check.holds


def test_three_digits_where_many_people_live_stay(tmp_path):
    assert released("zip3", ["021", "100"] * 20, "other", tmp_path / "out") == {"021", "100"}
