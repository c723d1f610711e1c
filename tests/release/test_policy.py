"""Fit once, apply to new rows: the same meaning, k counted again, nothing private in the file."""

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ColumnError, FileError, GuaranteeError, ParameterError, SchemaError
from shoal.frame import enter
from shoal.release.policy import ENTRIES, Policy

TREE = [["A1", "A"], ["A2", "A"], ["B1", "B"], ["B2", "B"]]
SCHEMA = shoal.Schema.of(
    identifier=["name"],
    quasi=["age", "code", "born"],
    sensitive=["cost"],
    bounds={"age": (0, 120)},
    hierarchies={
        "age": {"kind": "intervals", "widths": [10, 20, 40]},
        "code": {"kind": "table", "rows": TREE},
        "born": {"kind": "dates", "parts": ["year", "decade"]},
    },
)


def people(n, seed):
    rng = np.random.default_rng(seed)
    days = [dt.date(1960, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(9000, size=n)]
    return pl.DataFrame(
        {
            "name": [f"sentinel{i}" for i in range(n)],
            "age": rng.integers(20, 80, n),
            "code": rng.choice(["A1", "A2", "B1", "B2"], n),
            "born": days,
            "cost": 1000 * rng.normal(size=n) + 12345.678,
        }
    )


@pytest.fixture(scope="module")
def policy():
    return shoal.fit(people(300, seed=1), SCHEMA, shoal.Generalize(k=5, suppression=0.1))


def written_by_hand(policy, table):
    """Each value at its level, one at a time, then whole classes of fewer than k left out."""
    rows = []
    for row in table.iter_rows(named=True):
        new = {name: value for name, value in row.items() if name != "name"}
        for name, step in policy.steps.items():
            new[name] = step.apply(table.select(name).filter(pl.col(name) == row[name])[name][:1])[0]
        rows.append(new)
    shared = [tuple(row[name] for name in ("age", "code", "born")) for row in rows]
    return sorted(
        (str(row) for row, key in zip(rows, shared, strict=True) if shared.count(key) >= policy.conditions["k"])
    )


def test_new_rows_are_written_one_value_at_a_time(policy):
    new = people(250, seed=2)
    release = policy.apply(new)
    shown = sorted(str(row) for row in release.table.select("age", "code", "born", "cost").iter_rows(named=True))
    assert shown == written_by_hand(policy, new)
    assert 0 < len(shown) <= 250


def test_the_rows_it_was_fitted_on_come_out_as_they_did():
    table = people(300, seed=1)
    first = shoal.coarsen(table, SCHEMA, shoal.Generalize(k=5, suppression=0.1))
    again = Policy.of(first).apply(table)
    order = ["age", "code", "born", "cost"]
    assert again.table.select(order).sort(order).equals(first.table.select(order).sort(order))


def test_an_applied_policy_is_a_release_with_its_claims(policy, tmp_path):
    release = policy.apply(people(250, seed=2))
    assert release.claims[0].kind == "k-anonymity"
    assert shoal.risk.classes(release.table, release.schema.released).k >= 5
    assert shoal.verify(release.write(tmp_path / "out")).holds


def test_newcomers_of_a_class_are_none_or_at_least_k(policy):
    """Who subtracts last month's classes from both months' finds k newcomers in a class, or none: never one."""
    names = ["age", "code", "born"]
    old, new = policy.apply(people(300, seed=1)).table, policy.apply(people(250, seed=2)).table
    count = pl.concat([old, new]).group_by(names).len().join(old.group_by(names).len(), on=names, how="left")
    grown = (count["len"] - count["len_right"].fill_null(0)).to_list()
    assert all(n == 0 or n >= 5 for n in grown)
    assert max(grown) >= 5


def test_a_class_that_would_grow_from_five_to_six_refuses():
    schema = shoal.Schema.of(quasi=["age"], hierarchies={"age": {"kind": "intervals", "widths": [10]}})
    policy = shoal.fit(pl.DataFrame({"age": [20, 21, 22, 23, 24]}), schema, shoal.Generalize(k=5, suppression=0))
    with pytest.raises(GuaranteeError, match="no longer holds") as raised:
        policy.apply(pl.DataFrame({"age": [25]}))
    assert raised.value.exit_code == 3
    assert policy.apply(pl.DataFrame({"age": [25] * 5})).table["age"].to_list() == ["20-29"] * 5


@given(st.lists(st.integers(0, 59), min_size=1, max_size=40), st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_k_holds_or_nothing_comes_out(ages, k):
    schema = shoal.Schema.of(quasi=["age"], hierarchies={"age": {"kind": "intervals", "widths": [20]}})
    old = pl.DataFrame({"age": [i % 60 for i in range(300)]})
    fitted = shoal.fit(old, schema, shoal.Generalize(k=6, suppression=0))
    policy = Policy(schema=fitted.schema, steps=fitted.steps, conditions={"k": k, "suppression": 0})
    table = pl.DataFrame({"age": ages})
    smallest = min(sum(a // 20 == b // 20 for b in ages) for a in ages)
    if smallest >= k:
        assert policy.apply(table).table.height == len(ages)
    else:
        with pytest.raises(GuaranteeError):
            policy.apply(table)


def test_persons_count_where_the_schema_has_a_unit():
    hierarchies = {"age": {"kind": "intervals", "widths": [10]}}
    schema = shoal.Schema.of(unit="patient", quasi=["age"], hierarchies=hierarchies)
    old = pl.DataFrame({"patient": range(5), "age": [20, 21, 22, 23, 24]})
    policy = shoal.fit(old, schema, shoal.Generalize(k=5, suppression=0))
    with pytest.raises(GuaranteeError):
        policy.apply(pl.DataFrame({"patient": [1, 1, 1, 1, 1], "age": [20, 21, 22, 23, 24]}))


def test_what_is_outside_the_domain_is_refused_and_not_coded(policy):
    new = people(250, seed=2)
    for name, value in (("age", 121), ("code", "C9")):
        with pytest.raises(ColumnError) as raised:
            policy.apply(new.with_columns(pl.lit(value).cast(new.schema[name]).alias(name)))
        assert "C9" not in str(raised.value)
    with pytest.raises(SchemaError):
        policy.apply(new.drop("code"))


def test_any_dataframe_comes_back_as_it_came(policy, make_frame):
    table = make_frame(people(250, seed=2))
    made = policy.apply(table).table
    assert type(made) is type(table)
    assert set(enter(made).columns) == {"age", "code", "born", "cost"}


# The file


def test_a_file_gives_the_policy_back(policy, tmp_path):
    policy.write(tmp_path / "policy.json")
    again = Policy.read(tmp_path / "policy.json")
    assert again == policy
    one, two = (p.apply(people(250, seed=2), seed=3).table.sort("cost") for p in (policy, again))
    assert one.equals(two)


def test_the_file_holds_what_is_listed_and_no_value_of_the_table(policy):
    words = json.dumps(policy.to_dict())
    assert tuple(policy.to_dict()) == ENTRIES
    assert not [bad for bad in ("sentinel", "12345", "loss", "suppressed", "n_", "1960", "1975") if bad in words]


def test_two_tables_that_choose_the_same_levels_give_the_same_file():
    """Nothing but the levels depends on the rows: whoever is in the table leaves no other trace."""
    hierarchies = {"age": {"kind": "intervals", "widths": [10]}}
    schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"], hierarchies=hierarchies)
    tables = [pl.DataFrame({"age": [20 + i % 30 for i in range(90)], "ill": ill}) for ill in ([0] * 90, [1] * 90)]
    tables.append(pl.DataFrame({"age": [40 + i % 30 for i in range(120)], "ill": [7] * 120}))
    files = {json.dumps(shoal.fit(table, schema, shoal.Generalize(k=5)).to_dict()) for table in tables}
    assert len(files) == 1


def test_levels_that_list_values_of_the_table_are_refused():
    table = pl.DataFrame({"grade": pl.Series([f"g{i % 8}" for i in range(80)])})
    schema = shoal.Schema.of(quasi=["grade"], kinds={"grade": "ordinal"})
    with pytest.raises(SchemaError, match="must not hold") as raised:
        shoal.fit(table, schema, shoal.Generalize(k=15))
    assert "g3" not in str(raised.value)
    levels = {"grade": [f"g{i}" for i in range(8)]}
    declared = shoal.Schema.of(quasi=["grade"], levels=levels, kinds={"grade": "ordinal"})
    assert shoal.fit(table, declared, shoal.Generalize(k=15)).steps["grade"].kind == "tree"


@pytest.mark.parametrize("method", [shoal.Mondrian(k=5), shoal.Suppress(k=5), [shoal.Generalize(k=5)], None])
def test_only_generalize_is_fitted(method):
    with pytest.raises(ParameterError, match="Generalize alone"):
        shoal.fit(people(50, seed=1), SCHEMA, method)


def test_a_release_by_other_methods_has_no_policy():
    release = shoal.coarsen(people(100, seed=1), SCHEMA, shoal.Mondrian(k=5))
    with pytest.raises(ParameterError, match="Generalize alone"):
        Policy.of(release)


def changed(policy, **entries):
    return json.dumps(policy.to_dict() | entries)


def test_what_is_no_policy_is_refused(policy, tmp_path):
    path = tmp_path / "policy.json"
    wrong = [
        "",
        "[]",
        "{",
        "[" * 5000,
        changed(policy, format=2),
        changed(policy, rows=[1]),
        changed(policy, steps={"cost": {"kind": "star"}}),
        changed(policy, steps={"age": {"kind": "magic"}}),
        changed(policy, steps={"age": {"kind": "bins"}}),
        changed(policy, steps=[]),
        changed(policy, conditions={}),
        changed(policy, conditions={"k": 1}),
        changed(policy, conditions={"k": 5, "seconds": 1}),
        changed(policy, schema={}),
    ]
    for text in wrong:
        path.write_text(text)
        with pytest.raises(FileError):
            Policy.read(path)
    with pytest.raises(FileError):
        Policy.read(tmp_path / "nowhere.json")
