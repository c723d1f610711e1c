"""Presets: what they ask for and what they find in a finished table."""

import json

import polars as pl
import pytest

import shoal
from shoal.compliance.presets import PRESETS, preset, removed_by_name
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
        "internal-3": 3,
        "internal-5": 5,
        "public-10": 10,
        "public-11": 11,
        "ema-0070": 11,
        "health-canada": 11,
        "public-20": 20,
    }
    assert [type(c) for c in preset("safe-harbor").prepare(SCHEMA)] == [SafeHarbor]
    assert [type(c) for c in preset("limited-data-set").prepare(SCHEMA)] == [LimitedDataSet]
    assert preset("public-20").prepare(SCHEMA) == []
    assert preset("internal-5").largest_risk == pytest.approx(0.2)
    assert preset("public-11").largest_risk == pytest.approx(0.09, abs=0.001)
    assert preset("public-20").largest_risk == pytest.approx(0.05)


@pytest.mark.parametrize(("name", "k"), [(name, p.k) for name, p in PRESETS.items() if p.k > 1])
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


def test_whole_numbers_that_came_as_floats_have_levels_and_may_be_codes():
    """As floats they had none, and verify, which reads whole numbers, contradicted what the release said."""
    rare = pl.DataFrame({"visits": [77.0] * 3 + [1.0] * 30, "code": pl.Series(range(33), dtype=pl.Float64)})
    schema = shoal.Schema.of(other=["visits", "code"])
    levels = PRESETS["cms"].findings(rare, schema)[1]
    assert (levels.holds, "1 in 'visits'" in levels.words) == (False, True)
    codes = [check for check in PRESETS["safe-harbor"].findings(rare, schema) if check.columns == ("code",)]
    assert [check.outcome for check in codes] == ["found"]


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
        "F e-mail addresses": "found in 'mail'",
        "B geographic subdivisions": "found in 'zip'",
        "C dates": "found in 'when'",
        "C ages over 89": "found in 'age'",
    }
    limited = preset("limited-data-set").findings(bad.drop("mail"), schema)
    assert all(check.holds for check in limited)


def outcomes(table, schema, **known):
    return {check.rule: check.outcome for check in preset("safe-harbor").findings(table, schema, **known)}


def test_every_rule_of_safe_harbor_has_an_outcome():
    table = pl.DataFrame({"sex": ["f", "m"] * 3, "region": ["Cape", "North Shore"] * 3, "born_on": [20200213] * 6})
    schema = shoal.Schema.of(quasi=list(table.columns), identifier=["phone"])
    came = outcomes(table, schema, removed=removed_by_name(["phone", "x7"]))
    assert {rule[0] for rule in came if rule != "free text, which may hold any of them"} == set("ABCDEFGHIJKLMNOPQR")
    assert {rule for rule, one in came.items() if one == "removed"} == {"D telephone numbers", "R other unique codes"}
    assert came["B geographic subdivisions"] == "not judged"
    assert came["C dates"] == "found"
    assert came["A names"] == "not found"


def test_years_of_birth_are_judged_by_the_year_of_the_data():
    schema = shoal.Schema.of(quasi=["birth_year"])
    old = pl.DataFrame({"birth_year": [1929, 1930, 1990]})
    assert outcomes(old, schema)["C ages over 89"] == "not judged"
    assert outcomes(old, schema, year=2020)["C ages over 89"] == "found"
    assert outcomes(old, schema, year=2019)["C ages over 89"] == "not found"
    assert outcomes(pl.DataFrame({"birth_year": [1980, 1990]}), schema)["C ages over 89"] == "not found"


def test_a_proved_bound_meets_a_preset_where_classes_do_not():
    alone = pl.DataFrame({"age": list(range(30)), "sex": ["f"] * 30, "ill": ["no"] * 30})
    (check,) = preset("ema-0070").findings(alone, SCHEMA, bound=1 / 11)
    assert (check.holds, check.by_claim) == (True, True)
    (check,) = preset("ema-0070").findings(alone, SCHEMA, bound=0.1)
    assert not check.holds
    assert all(p.source for p in PRESETS.values())


def test_never_compliant_never_a_value():
    said = json.dumps([check.to_dict() for p in PRESETS.values() for check in p.findings(table(3), SCHEMA)])
    texts = said + " ".join(p.about + " ".join(p.limits) for p in PRESETS.values())
    assert "complian" not in texts.lower()
    assert "certified" not in texts.lower()
    assert all(p.limits for p in PRESETS.values())


def test_unknown_preset():
    with pytest.raises(ParameterError, match="safe-harbor"):
        preset("gdpr")
