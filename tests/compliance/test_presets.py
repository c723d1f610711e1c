"""Presets: what they ask for and what they find in a finished table."""

import json

import polars as pl
import pytest

import shoal
from shoal.compliance.presets import PRESETS, preset
from shoal.compliance.safe_harbor import LimitedDataSet, SafeHarbor
from shoal.errors import ParameterError

SCHEMA = shoal.Schema.of(quasi=["age", "sex"], sensitive=["ill"], kinds={"sex": "nominal"})


def table(n, ill=("no",)):
    return pl.DataFrame({"age": [30] * n, "sex": ["f"] * n, "ill": [ill[i % len(ill)] for i in range(n)]})


def test_the_table_of_presets():
    assert {name: p.k for name, p in PRESETS.items()} == {
        "safe-harbor": 1,
        "limited-data-set": 1,
        "cms": 11,
        "internal-5": 5,
        "public-11": 11,
        "public-20": 20,
    }
    assert [type(c) for c in preset("safe-harbor").prepare(SCHEMA)] == [SafeHarbor]
    assert [type(c) for c in preset("limited-data-set").prepare(SCHEMA)] == [LimitedDataSet]
    assert preset("public-20").prepare(SCHEMA) == []
    assert preset("internal-5").largest_risk == pytest.approx(0.2)
    assert preset("public-11").largest_risk == pytest.approx(0.09, abs=0.001)
    assert preset("public-20").largest_risk == pytest.approx(0.05)


@pytest.mark.parametrize(("name", "k"), [("internal-5", 5), ("public-11", 11), ("public-20", 20), ("cms", 11)])
def test_classes_are_counted(name, k):
    assert all(check.holds for check in preset(name).findings(table(k), SCHEMA))
    (found, *_) = preset(name).findings(table(k - 1), SCHEMA)
    assert not found.holds
    assert f"{k - 1} records" in found.words


def test_cms_looks_at_levels_and_at_records_left_out():
    rare = table(40, ill=("no", "no", "no", "yes"))  # ten people
    words = {check.rule: check for check in preset("cms").findings(rare, SCHEMA, n_left_out=3)}
    levels = words["no level of a column is held by 1 to 10 people"]
    left_out = words["no count of 1 to 10 people can be derived from totals"]
    assert not levels.holds
    assert "1 in 'ill'" in levels.words
    assert not left_out.holds
    assert all(check.holds for check in preset("cms").findings(table(44), SCHEMA, n_left_out=11))


def test_safe_harbor_names_what_is_left():
    schema = shoal.Schema.of(quasi=["age", "zip", "when"], other=["mail"])
    bad = pl.DataFrame(
        {
            "age": [95, 96, 97],
            "zip": ["02139", "02140", "02141"],
            "when": pl.Series([1, 2, 3]).cast(pl.Date),
            "mail": ["a@b.org", "c@d.org", "e@f.org"],
        }
    )
    failed = {check.rule: check.words for check in preset("safe-harbor").findings(bad, schema) if not check.holds}
    assert failed == {
        "no direct identifier": "look at 'mail'",
        "no place smaller than three digits of a ZIP code": "look at 'zip'",
        "no day or month of a date": "look at 'when'",
        "no age over 89 by itself": "look at 'age'",
    }
    limited = preset("limited-data-set").findings(bad.drop("mail"), schema)
    assert all(check.holds for check in limited)


def test_never_compliant_never_a_value():
    said = json.dumps([check.to_dict() for p in PRESETS.values() for check in p.findings(table(3), SCHEMA)])
    texts = said + " ".join(p.about + " ".join(p.limits) for p in PRESETS.values())
    assert "complian" not in texts.lower()
    assert "certified" not in texts.lower()
    assert all(p.limits for p in PRESETS.values())


def test_unknown_preset():
    with pytest.raises(ParameterError, match="safe-harbor"):
        preset("gdpr")
