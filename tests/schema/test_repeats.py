"""Rows that occur more than once: told from people who are alike, and no evidence of anything but themselves."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.schema.arithmetic import formulas
from shoal.schema.dependency import dependencies
from shoal.schema.infer import propose
from shoal.schema.repeats import distinct_rows, repeats_of


def survey(n=1500, copied=600, seed=0):
    """A survey of people, of whom some are in it up to six times; without copies the same people once."""
    rng = np.random.default_rng(seed)
    people = pl.DataFrame(
        {
            "weight": rng.normal(75, 14, n).round(2),
            "height": rng.normal(1.7, 0.1, n).round(3),
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m"], n),
            **{f"symptom{i}": rng.integers(0, 4, n) for i in range(8)},
        }
    )
    again = [people[:copied], people[: copied // 2], *[people[: copied // 10]] * 3]
    return pl.concat([people, *again]).sample(fraction=1.0, shuffle=True, seed=seed)


def counted(table, **options):
    return repeats_of({name: table[name] for name in table.columns}, **options)


def oracle(table, names):
    """Rows that occur more than once, by plain counting."""
    seen: dict[tuple, int] = {}
    for row in table.select(names).iter_rows():
        seen[row] = seen.get(row, 0) + 1
    return sum(n for n in seen.values() if n > 1), len(seen), max(seen.values())


def test_copies_are_counted_as_by_hand_and_are_more_than_chance():
    table = survey()
    found = counted(table)
    assert (found.n_again, found.n_distinct, found.most) == oracle(table, table.columns)
    assert found.most == 6
    assert found.beyond_chance


def test_people_once_each_are_no_repeats():
    found = counted(survey(copied=0))
    assert (found.n_again, found.beyond_chance) == (0, False)


def test_repeats_of_three_coarse_columns_are_natural():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({name: rng.integers(0, m, 3000) for name, m in {"age": 8, "sex": 2, "region": 9}.items()})
    found = counted(table)
    assert found.n_again == 3000
    assert not found.beyond_chance


def test_repeats_of_coarse_columns_that_depend_on_each_other_are_natural():
    rng = np.random.default_rng(2)
    age = rng.integers(0, 80, 5000)
    child = (age < 15).astype(int)
    table = pl.DataFrame(
        {
            "age": age,
            "married": np.where(child, 0, rng.random(5000) < 0.7),
            "works": np.where(child | (age > 65), 0, rng.random(5000) < 0.9),
            "income": np.where(child, 0, rng.integers(0, 6, 5000)),
            "children": np.where(child, 0, rng.integers(0, 3, 5000)),
            "region": rng.integers(0, 4, 5000),
        }
    )
    found = counted(table)
    assert found.n_again > 1000
    assert not found.beyond_chance


def test_many_columns_that_are_nearly_always_empty_repeat_naturally():
    rng = np.random.default_rng(3)
    ill = rng.random(4000) < 0.1
    columns = {f"cost{i}": np.where(ill & (rng.random(4000) < 0.5), rng.integers(1, 900, 4000), 0) for i in range(20)}
    found = counted(pl.DataFrame(columns))
    assert found.n_again > 3000
    assert not found.beyond_chance


def test_a_code_with_its_descriptions_proves_nothing_by_itself():
    code = np.random.default_rng(4).integers(0, 60, 900)
    table = pl.DataFrame({"code": code, "word": [f"w{one}" for one in code], "long": [f"long {one}" for one in code]})
    assert not counted(table).beyond_chance


def test_a_sum_beside_its_addends_proves_nothing_by_itself():
    a, b = np.random.default_rng(8).integers(1, 900, (2, 5000))
    found = counted(pl.DataFrame({"a": a, "b": b, "total": a + b}))
    assert found.n_again > 10
    assert not found.beyond_chance


def test_one_copied_row_among_rich_rows_is_enough_and_none_is_not():
    people = survey(copied=0)
    assert counted(pl.concat([people, people[:1]])).beyond_chance
    assert not counted(people).beyond_chance


@pytest.mark.parametrize("name", ["row", "perwt"])
def test_copies_that_differ_in_a_row_number_or_a_weight_are_found(name):
    table = survey()
    rng = np.random.default_rng(5)
    unlike = np.arange(len(table)) if name == "row" else rng.integers(100, 9000, len(table)) / 7
    found = counted(table.with_columns(pl.Series(name, unlike)), weight="perwt")
    assert found.n_again == oracle(table, table.columns)[0]
    assert found.beyond_chance
    assert (found.n_again_weighted == found.n_again) == (name == "row")


def test_missing_values_and_zeros_of_two_signs_are_equal():
    table = pl.DataFrame({"a": [None, None, 0.0, -0.0, 1.0], "b": [1.5, 1.5, 2.5, 2.5, float("nan")]})
    assert counted(table).n_again == 4


def test_distinct_rows_keep_the_first_of_each_and_numbers_of_rows_do_not_make_rows_differ():
    table = survey().with_row_index("row")
    first = distinct_rows({name: table[name] for name in table.columns})
    assert first is not None
    assert int(first.sum()) == oracle(table, [name for name in table.columns if name != "row"])[1]
    assert distinct_rows(survey(copied=0).to_dict()) is None


# ---- nothing else follows from copies


def test_nothing_follows_from_weight_and_height_because_copies_agree():
    table = survey()
    assert dependencies(table.to_dict()) == dependencies(survey(copied=0).to_dict()) == ()


def test_what_truly_follows_is_still_found_among_copies():
    table = survey().with_columns(band=pl.col("age") // 10)
    found = dependencies(table.to_dict())
    assert [(one.column, one.of, one.share) for one in found] == [("band", ("age",), 1.0)]


def test_no_formula_is_found_because_copies_agree():
    rng = np.random.default_rng(6)
    names = {"a": 50, "b": 20, "c": 5, "total": 70}
    people = pl.DataFrame({name: rng.normal(mean, 9, 200).round(1) for name, mean in names.items()})
    summed = pl.when(pl.int_range(200) < 100).then((pl.col("a") + pl.col("b")).round(1)).otherwise("total")
    people = people.with_columns(total=summed)
    assert formulas(people.to_dict()) == ()
    assert formulas(pl.concat([*[people[:100]] * 100, people[100:]]).to_dict()) == ()


def test_no_key_is_proposed_because_copies_agree():
    people = survey(copied=0)
    volume = pl.Series("vol", np.random.default_rng(7).lognormal(13, 1, len(people)).astype(np.int64))
    people = people.with_columns(volume)
    schema = propose(pl.concat([people, people[:700]])).schema
    assert schema.unit is None
    assert schema.household is None


def test_no_sensitive_column_is_said_to_follow_because_copies_agree():
    table = survey()
    schema = shoal.Schema.of(
        quasi=["weight", "height"],
        sensitive=[name for name in table.columns if name.startswith("symptom")],
        other=["age", "sex"],
    )
    assert shoal.risk.dependences(table, table, schema) == ()
