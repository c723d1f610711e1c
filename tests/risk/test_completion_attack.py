"""Completion: known cells lead to a row, and its other cells are read; held against the nearest other person."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.risk.completion_attack import read_cells

NUMBERS = ["a", "b", "c", "d"]
SCHEMA = shoal.Schema.of(quasi=["a", "b", "c"], sensitive=["d"])


def people(n=400, seed=1):
    return pl.DataFrame(np.random.default_rng(seed).normal(size=(n, 4)), schema=NUMBERS)


def apart(table, seed=0):
    return table.select(column.shuffle(seed=seed + i) for i, column in enumerate(table))


def strongest(original, released, schema=SCHEMA, **options):
    return shoal.risk.completion(original, released, schema, **options).strongest


# --- The kernel against a slow reading of the definition


def slow(asked, true, known, cells, is_level, tolerance, skipped, person):
    def gap(x, y, level):
        if np.isnan(x) or np.isnan(y):
            return 0.0 if np.isnan(x) and np.isnan(y) else 1.0
        return float(x != y) if level else 6 * (x - y) ** 2

    def right(row, t):
        same = [
            (np.isnan(x) and np.isnan(y)) or abs(x - y) <= w + 1e-12
            for x, y, w in zip(true[t], cells[row], tolerance, strict=True)
        ]
        return np.array(same, dtype=float)

    nearest, found = [], []
    for t in range(len(asked)):
        rows = [i for i in range(len(known)) if person[i] != skipped[t]]
        parts = {i: [gap(x, y, v) for x, y, v in zip(asked[t], known[i], is_level, strict=True)] for i in rows}
        ways = [{i: sum(parts[i]) for i in rows}] + [{i: parts[i][j] for i in rows} for j in range(asked.shape[1])]
        reads = []
        for way in ways:
            best = min(way.values())
            reads.append(np.mean([right(i, t) for i in rows if way[i] == best], axis=0))
        nearest.append(min(ways[0].values()))
        found.append((reads[0], np.mean(reads[1:], axis=0)))
    return np.array(nearest), np.array(found).transpose(1, 0, 2)


@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_reads_what_the_definition_says(seed):
    rng = np.random.default_rng(seed)
    n, m = 25, 7

    def cells(rows, columns):
        drawn = rng.integers(0, 4, (rows, columns)).astype(float) / 4
        drawn[rng.random((rows, columns)) < 0.1] = np.nan
        return drawn

    asked, true, known, others = cells(m, 3), cells(m, 2), cells(n, 3), cells(n, 2)
    is_level, tolerance = np.array([True, False, False]), np.array([0.0, 0.25])
    skipped, person = rng.integers(-1, 5, m), rng.integers(0, 5, n)
    given = (asked, true, known, others, is_level, tolerance, skipped, person)
    for one, other in zip(read_cells(*given), slow(*given), strict=True):
        np.testing.assert_allclose(one, other)


# --- What a release costs


def test_a_copy_is_read_in_full():
    found = strongest(people(), people())
    assert found.gain == 1.0
    assert found.right == 1.0
    assert found.alone_share == 1.0
    assert found.column_right == 1.0


def test_columns_shuffled_over_the_whole_table_gain_nothing():
    found = shoal.risk.completion(people(), apart(people()), SCHEMA)
    assert all(one.interval[0] < 0.05 for one in found.attacks)
    assert float(found) < 0.1


def test_other_people_of_the_same_kind_gain_nothing():
    rng = np.random.default_rng(5)

    def drawn():
        x = rng.normal(size=2000)
        return pl.DataFrame({name: x + 0.5 * rng.normal(size=2000) for name in NUMBERS})

    assert abs(float(shoal.risk.completion(drawn(), drawn(), SCHEMA, known=2))) < 0.05


def test_half_of_the_rows_copied_gain_about_half():
    table = people(2000)
    rest = apart(table)
    mixed = pl.concat([table.head(1000), rest.tail(1000)])
    assert 0.35 < strongest(table, mixed).gain < 0.65


def test_whoever_knows_an_exact_cost_reads_the_row():
    table = people(500)
    quasi_apart = apart(table).with_columns(table["d"])
    joined = quasi_apart.with_columns(table["c"])  # c and d stay together
    found = shoal.risk.completion(table, joined, SCHEMA)
    by_cost = next(one for one in found.attacks if one.given == "one sensitive column")
    assert by_cost.column == "c"
    assert by_cost.column_right == 1.0


def test_the_worst_column_is_named():
    table = people(500)
    kept = apart(table).with_columns(table["a"], table["d"])  # d stays beside a; b and c go elsewhere
    some = [one for one in shoal.risk.completion(table, kept, SCHEMA, known=1).attacks if one.given[:4] == "some"]
    assert some[0].column == "d"
    assert some[0].column_right > some[0].column_others + 0.2


def test_rows_come_in_any_order():
    table = people()
    assert strongest(table, table.sample(fraction=1, shuffle=True, seed=2)).gain == 1.0


def test_who_was_not_released_is_not_tried_where_sources_are_known():
    table = people(400)
    released = table.head(200)
    assert strongest(table, released, source_rows=np.arange(200)).gain == 1.0
    assert strongest(table, released).gain < 0.7


def test_a_person_is_no_other_person_to_herself():
    table = people(300)
    twice = pl.concat([table, table]).with_columns(id=pl.Series([*range(300)] * 2))
    schema = shoal.Schema.of(quasi=["a", "b", "c"], sensitive=["d"], unit="id")
    found = strongest(twice, twice.drop("id"), schema)
    assert found.gain == 1.0
    unsettled = shoal.risk.completion(twice.drop("id"), twice.drop("id"), SCHEMA)
    assert unsettled.why is not None, "without a unit everybody has a double, and nobody is alone"


def test_levels_and_missing_values_are_read():
    rng = np.random.default_rng(3)
    table = people(400).with_columns(
        town=pl.Series(rng.integers(0, 40, 400)).cast(pl.String),
        income=pl.when(pl.Series(rng.random(400) < 0.3)).then(None).otherwise(pl.Series(rng.normal(size=400))),
    )
    schema = shoal.Schema(
        (
            *SCHEMA.columns,
            shoal.schema.Column(name="town", role="quasi", kind="nominal"),
            shoal.schema.Column(name="income", role="sensitive", kind="numeric", missing="level"),
        )
    )
    assert strongest(table, table, schema).gain == 1.0
    assert strongest(table, apart(table), schema).gain < 0.1


# --- Just inside and just outside


@pytest.mark.parametrize(("shift", "right"), [(10, 1.0), (11, 0.0)])
def test_a_number_is_right_within_a_fortieth_of_the_people(shift, right):
    ranks = np.arange(400.0)
    known, cells = np.zeros((400, 1)), (ranks / 400).reshape(-1, 1)
    args = (known[:1], cells[:1], known[:1], cells[shift : shift + 1])
    found = read_cells(*args, np.array([False]), np.array([0.025]), np.array([-1]), np.array([0]))[1]
    assert found[0, 0, 0] == right


def test_nobody_alone_is_not_measured():
    table = pl.DataFrame({"sex": ["f", "m"] * 100, "ill": ["y", "n", "n", "n"] * 50})
    found = shoal.risk.completion(table, table, shoal.Schema.of(quasi=["sex"], sensitive=["ill"]))
    assert found.attacks == ()
    assert found.strongest is None
    assert "alone" in found.why
    assert np.isnan(float(found))


@pytest.mark.parametrize("alone", [19, 20])
def test_few_people_alone_are_not_measured(alone):
    table = pl.DataFrame({"a": [*range(alone), *[1000] * 100], "b": [*range(alone), *[3] * 100]})
    found = shoal.risk.completion(table, table, shoal.Schema.of(quasi=["a"], sensitive=["b"]))
    assert (found.strongest is None) == (alone < 20)


def test_one_column_leaves_nothing_to_read():
    table = people().select("a")
    found = shoal.risk.completion(table, table, shoal.Schema.of(quasi=["a"]))
    assert "no column is left" in found.why


@pytest.mark.parametrize("known", [0, -1, 1.5, True, "3"])
def test_known_must_be_a_count(known):
    with pytest.raises(ParameterError, match="known must be a whole number from 1"):
        shoal.risk.completion(people(), people(), SCHEMA, known=known)


def test_the_same_seed_gives_the_same_figure():
    table, other = people(1000), apart(people(1000))
    first = shoal.risk.completion(table, other, SCHEMA, seed=4).to_dict()
    assert first == shoal.risk.completion(table, other, SCHEMA, seed=4).to_dict()


def test_weights_are_neither_known_nor_read():
    table = people().with_columns(w=pl.Series(np.random.default_rng(2).random(400)))
    schema = shoal.Schema.of(quasi=["a", "b", "c"], sensitive=["d"], weight="w")
    with_weights = shoal.risk.completion(table, apart(people()).with_columns(table["w"]), schema)
    assert all(one.column != "w" for one in with_weights.attacks)
