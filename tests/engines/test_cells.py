"""Cells are pure functions of a row; sums, merges and joins of cells don't depend on how the rows lie."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.engine.cell_tree import CellTree, hosts
from shoal.release.on_engine.conform import _fixed, _unit, prepare_relation
from shoal.release.on_engine.sampled_attack import merged


@pytest.fixture
def coded():
    rng, n = np.random.default_rng(3), 4000
    table = pl.DataFrame(
        {"age": rng.integers(0, 90, n), "county": rng.choice(list("abcdefgh"), n), "cost": rng.lognormal(5, 2, n)}
    )
    prepared = prepare(table, shoal.Schema.of(quasi=["age", "county", "cost"]))
    encoder = Encoder.fit(prepared, ["age", "county", "cost"])
    return encoder, encoder.codes(prepared.frame)


def walk(tree, row, path=""):
    """The slow oracle: one row down the tree."""
    if tree.low is None:
        return path
    return walk(tree.low, row, f"{path}0") if row[tree.column] <= tree.threshold else walk(tree.high, row, f"{path}1")


def test_a_cell_is_the_walk_of_its_row(coded):
    encoder, codes = coded
    tree = CellTree.grow(codes[:1500], encoder, 60)
    numbers = np.column_stack((codes, np.zeros(len(codes))))
    paths, cells = tree.paths, tree.cells(numbers)
    assert len(paths) > 15
    assert [paths[cell] for cell in cells] == [walk(tree, row) for row in numbers]
    order = np.random.default_rng(1).permutation(len(codes))
    assert (tree.cells(numbers[order]) == cells[order]).all()


def test_thresholds_are_values_of_the_sample_and_cells_are_of_the_size_asked_for(coded):
    encoder, codes = coded
    tree = CellTree.grow(codes, encoder, 100)

    def cuts(node):
        if node.low is not None:
            yield node.column, node.threshold
            yield from cuts(node.low)
            yield from cuts(node.high)

    assert all(threshold in codes[:, column] for column, threshold in cuts(tree))
    sizes = np.bincount(tree.cells(np.column_stack((codes, codes[:, 0]))))
    assert sizes.max() <= 150
    assert sizes.min() >= 25


def test_the_sample_tells_the_size_of_a_cell_to_within_its_error():
    """The share of a cell errs by sqrt((c − 1) / s): 3.2 % for 1,000 cells from a million rows."""
    assert np.sqrt(999 / 1e6) == pytest.approx(0.0316, abs=5e-5)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(20_000, np.full(20, 1 / 20), size=400) / 20_000 * 20
    assert drawn.std() == pytest.approx(np.sqrt(19 / 20_000), rel=0.05)


def test_equal_rows_are_cut_by_the_hash_of_the_person_alone(coded):
    encoder, codes = coded
    same = np.repeat(codes[:1], 800, axis=0)
    tree = CellTree.grow(same, encoder, 100)
    assert tree.paths == [""]
    hashed = tree.halved({"": 3}, codes.shape[1])
    assert len(hashed.paths) == 8
    cells = hashed.cells(np.column_stack((same, (np.arange(800) + 0.5) / 800)))
    assert np.bincount(cells).tolist() == [100] * 8


@pytest.mark.parametrize(
    ("persons", "expected"),
    [
        ({"0": 3, "10": 40, "11": 50}, {"0": "10", "10": "10", "11": "11"}),
        ({"00": 60, "01": 40, "1": 2}, {"00": "00", "01": "01", "1": "01"}),
        ({"00": 1, "01": 1, "1": 9}, {"00": "1", "01": "1", "1": "1"}),
        ({"": 2}, {"": ""}),
    ],
)
def test_a_small_cell_joins_the_leaf_next_to_its_cut(persons, expected):
    assert hosts(persons, 5) == expected


@st.composite
def leaves(draw):
    paths = [""]
    for _ in range(draw(st.integers(0, 9))):
        paths.remove(path := draw(st.sampled_from(paths)))
        paths += [f"{path}0", f"{path}1"]
    return {path: draw(st.integers(0, 12)) for path in paths}


@given(leaves())
def test_joined_cells_hold_enough_or_everybody(persons):
    host = hosts(persons, 5)
    assert set(host) == set(persons)
    assert all(host[own] == own for own in host.values())
    held = {own: sum(persons[path] for path in persons if host[path] == own) for own in host.values()}
    assert min(held.values()) >= 5 or len(held) == 1


def test_float_sums_depend_on_the_order_and_fixed_point_sums_do_not():
    values = [0.1, 0.2, 0.3, 1000.0]
    assert len({sum(order) for order in itertools.permutations(values)}) == 2
    unit = _unit(1000.0, len(values))
    total = _fixed("x", 0.0, unit, 1)
    found = {total(pl.DataFrame({"x": order})) for order in itertools.permutations(values)}
    parts = sum(total(pl.DataFrame({"x": [value]})) for value in values)
    assert found == {parts}
    assert abs(parts * unit - 1000.6) <= len(values) * unit / 2


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=50), st.integers(1, 5))
def test_any_cut_of_the_rows_gives_the_same_sum(values, step):
    unit = _unit(max(map(abs, values)), len(values))
    total = _fixed("x", 0.0, unit, 1)
    parts = [values[i : i + step] for i in range(0, len(values), step)]
    assert sum(total(pl.DataFrame({"x": part})) for part in parts) == total(pl.DataFrame({"x": values}))


@given(st.floats(5e-300, 1e300), st.integers(1, 10**9))
def test_fixed_point_sums_never_overflow_and_waste_no_bits(most, n):
    """n of the largest stay below 2^62, and the unit is the least power of two that 62 − ⌈log2 n⌉ bits allow."""
    unit = _unit(most, n)
    assert n * round(most / unit) <= 2**62
    assert 2 * max(2, n) * 2 * (most / unit) >= 2**62
    assert np.frexp(unit)[0] == 0.5


def test_batches_of_an_attack_merge_in_any_order():
    """(d, ties): the smaller d, equal ones add."""
    frames = [
        pl.DataFrame({"#target": [0, 1], "#near": [2.0, 1.0], "#ties": [3, 1]}),
        pl.DataFrame({"#target": [0, 1], "#near": [2.0, 0.5], "#ties": [4, 2]}),
        pl.DataFrame({"#target": [0], "#near": [2.5], "#ties": [9]}),
    ]
    for order in itertools.permutations(frames):
        near, ties = merged(pl.concat(order), 3)
        assert near.tolist() == [2.0, 0.5, np.inf]
        assert ties.tolist() == [7, 2, 0]


def test_what_is_learnt_is_what_one_machine_learns(engine, visits):
    schema = shoal.Schema.of(identifier=["who"], quasi=["age", "zip", "ill"], sensitive=["cost"], other=["rate"])
    settled = prepare_relation(engine, engine.of(visits), schema)
    own = Encoder.fit(prepare(visits, schema), ["age", "zip", "ill", "cost"])
    for found, expected in zip(settled.codings, own.codings, strict=True):
        assert found.name == expected.name
        assert found.center == pytest.approx(expected.center, rel=1e-12)
        assert found.scale == pytest.approx(expected.scale, rel=1e-12)
        assert found.height == pytest.approx(expected.height)
        if expected.levels is not None:
            assert found.levels.to_list() == expected.levels.to_list()
            assert found.shares == pytest.approx(expected.shares)
