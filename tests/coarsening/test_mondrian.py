"""Mondrian's boxes: counted by hand, compared with all possible cuts, and read as texts."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.coarsening.mondrian import Mondrian
from shoal.coarsening.partition import Points, partition
from shoal.coarsening.written_cells import Boxes, axes_of
from shoal.condition.conditions import Conditions
from shoal.conform import prepare
from shoal.errors import GuaranteeError, ParameterError, SchemaError

NAMES = ["age", "bmi", "sex", "town", "school"]
LEVELS = ["none", "school", "college"]
SCHEMA = {
    "quasi": NAMES,
    "kinds": {"school": "ordinal", "town": "nominal", "sex": "nominal"},
    "levels": {"school": LEVELS},
}


@st.composite
def tables(draw, fewest=6):
    n = draw(st.integers(fewest, 70))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pick = lambda values: pl.Series([values[i] for i in rng.integers(0, len(values), n)])  # noqa: E731
    return pl.DataFrame(
        {
            "age": rng.integers(20, 30, n),
            "bmi": np.round(rng.normal(0, 2, n), 1),
            "sex": pick(["f", "m"]),
            "town": pick(["A", "B, C", "D", "E", None]).cast(pl.String),
            "school": pick([*LEVELS, None]).cast(pl.String),
            "ill": pick(["no", "yes", "maybe"]),
            "who": rng.integers(0, max(4, n // 2), n),
        }
    )


def schema(**more):
    roles = {"other": ["ill", "who"], **more}
    return shoal.Schema.of(**SCHEMA, **roles)


def written(table, done):
    return table.with_columns(*done.columns.values())


def boxes_of(table, done):
    """The rows of the original behind each written combination."""
    key = written(table, done).with_row_index("row").group_by(NAMES).agg("row")
    return [table[rows.to_list()] for rows in key["row"]]


def spread(box, name):
    """Which part of a column's domain a box takes: ends of numbers and ranks, sets of levels."""
    if name in ("age", "bmi"):
        return "ends", box[name].min(), box[name].max()
    if name == "school":
        ranks = [len(LEVELS) if level is None else LEVELS.index(level) for level in box[name]]
        return "ends", min(ranks), max(ranks)
    return "set", frozenset(box[name].to_list())


def apart(one, two):
    if one[0] == "ends":
        return one[2] < two[1] or two[2] < one[1]
    return not one[1] & two[1]


def covered(box, table, name):
    """The loss of a cell, from its definition."""
    part = spread(box, name)
    if part[0] == "set":
        return (len(part[1]) - 1) / max(1, table[name].n_unique() - 1)
    width = part[2] - part[1]
    if name == "school":
        return width / (len(LEVELS) - 1 + (table[name].null_count() > 0))
    return width / (table[name].max() - table[name].min()) if width else 0.0


@given(table=tables(), k=st.integers(2, 6))
@settings(max_examples=25)
def test_strict_boxes_are_large_apart_and_as_wide_as_said(table, k):
    done = Mondrian(k=k).apply(prepare(table, schema()), 1)
    boxes = boxes_of(table, done)
    assert done.kept.all()
    assert min(map(len, boxes)) >= k
    assert len(boxes) == done.details["n_classes"]
    for one, two in combinations(boxes, 2):
        assert any(apart(spread(one, name), spread(two, name)) for name in NAMES)
    loss = np.mean([sum(len(b) * covered(b, table, name) for b in boxes) / len(table) for name in NAMES])
    assert done.details["loss"] == pytest.approx(loss)
    whole = np.mean([covered(table, table, name) for name in NAMES])
    assert loss <= whole + 1e-12


@given(table=tables(), k=st.integers(2, 5))
def test_relaxed_boxes_are_large(table, k):
    done = Mondrian(k=k, relaxed=True).apply(prepare(table, schema()), 1)
    assert min(map(len, boxes_of(table, done))) >= k


def test_relaxed_divides_records_of_equal_value():
    """Seven of age 30 can't be cut strictly from one younger and one older; divided, they make two boxes."""
    table = pl.DataFrame({"age": [20, *[30] * 7, 40]})
    prepared = prepare(table, shoal.Schema.of(quasi=["age"]))
    assert Mondrian(k=3).apply(prepared, 1).details["n_classes"] == 1
    relaxed = Mondrian(k=3, relaxed=True).apply(prepared, 1)
    assert sorted(relaxed.columns["age"].value_counts().rows()) == [("20-30", 3), ("30", 3), ("30-40", 3)]


@given(table=tables(), k=st.integers(2, 4), relaxed=st.booleans())
def test_persons_are_counted_not_rows(table, k, relaxed):
    assume(table["who"].n_unique() >= k)
    done = Mondrian(k=k, relaxed=relaxed).apply(prepare(table, schema(other=["ill"], unit="who")), 1)
    assert min(box["who"].n_unique() for box in boxes_of(table, done)) >= k


@given(
    table=tables(12),
    conditions=st.sampled_from(
        [{"diversity": 2}, {"diversity": "entropy:1.8"}, {"closeness": 0.35}, {"closeness": 0.4, "diversity": 2}]
    ),
    relaxed=st.booleans(),
)
def test_conditions_hold_on_what_is_written(table, conditions, relaxed):
    assume(table["ill"].value_counts()["count"].min() >= 3 and table["ill"].n_unique() == 3)
    made = schema(other=["who"], sensitive=["ill"])
    done = Mondrian(k=2, relaxed=relaxed, **conditions).apply(prepare(table, made), 1)
    text = shoal.Schema.of(quasi=NAMES, sensitive=["ill"], other=["who"], kinds=dict.fromkeys(NAMES, "nominal"))
    measured = shoal.risk.classes(written(table, done).with_columns(pl.col(NAMES).cast(pl.String)), text)
    found = measured.sensitive["ill"]
    assert measured.k >= 2
    assert found.distinct_l >= (2 if "diversity" in conditions else 1)
    assert found.entropy_l >= (1.8 - 1e-9 if conditions.get("diversity") == "entropy:1.8" else 1)
    assert found.t <= conditions.get("closeness", 1) + 1e-9


@given(table=tables(20), relaxed=st.booleans())
@settings(max_examples=20)
def test_closeness_of_persons_holds_on_what_is_written(table, relaxed):
    """The mix that closeness compares with counts a person once in each class, so it changes with the classes."""
    assume(table["ill"].n_unique() == 3 and table["who"].n_unique() >= 4)
    made = schema(other=[], sensitive=["ill"], unit="who")
    done = Mondrian(k=3, closeness=0.3, relaxed=relaxed).apply(prepare(table, made), 1)
    texts = written(table, done).with_columns(pl.col(NAMES).cast(pl.String))
    labels = texts.select(pl.struct(NAMES).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    assert Conditions.of(prepare(table, made), k=3, closeness=0.3).meets(labels, labels.max() + 1).all()


@given(table=tables(), relaxed=st.booleans(), seed=st.integers(0, 99))
def test_order_of_rows_is_forgotten(table, relaxed, seed):
    made = schema(other=["who"], sensitive=["ill"])
    turned = table.sample(fraction=1, shuffle=True, seed=seed)
    one, two = (
        written(t, Mondrian(k=3, relaxed=relaxed).apply(prepare(t, made), 7)).select(NAMES).cast(pl.String)
        for t in (table, turned)
    )
    assert one.sort(NAMES).equals(two.sort(NAMES))


@given(table=tables())
def test_means_keep_numbers_and_totals(table):
    done = Mondrian(k=4, write="means").apply(prepare(table, schema()), 1)
    out = written(table, done)
    for name in ("age", "bmi"):
        assert out[name].dtype.is_numeric()
        assert out[name].mean() == pytest.approx(table[name].mean())
    assert out.group_by(NAMES).len()["len"].min() >= 4


def points(columns, nominal, rows=None):
    codes = np.array(columns, dtype=np.int32)
    n_levels = codes.max(axis=1) + 1
    place = codes / np.maximum(1, n_levels - 1)[:, None]
    step = np.where(nominal, 1 / np.maximum(1, n_levels - 1), -1.0)
    m = codes.shape[1]
    return Points(
        codes=codes,
        place=np.where(np.array(nominal)[:, None], 0.0, place),
        step=step,
        n_levels=n_levels,
        rows=np.ones(m, dtype=np.int64) if rows is None else rows,
        persons=np.empty(0, dtype=np.int32),
    )


def loss_of(codes, nominal, sides):
    total = 0.0
    for side in sides:
        for column, unordered in zip(codes, nominal, strict=True):
            inside = [column[i] for i in side]
            width = len(set(inside)) - 1 if unordered else max(inside) - min(inside)
            total += len(side) * width / max(1, max(column))
    return total


@given(seed=st.integers(0, 2**32), k=st.integers(1, 3))
@settings(max_examples=30)
def test_first_cut_is_the_best_of_all(seed, k):
    """With 2k ≤ n < 3k there is one cut at most, and it is the best over all columns and places."""
    rng = np.random.default_rng(seed)
    n = 3 * k - 1 if k > 1 else 2
    nominal = [False, True, False]
    codes = rng.integers(0, 4, (3, n))
    labels = partition(points(codes, nominal), k)
    best = loss_of(codes.tolist(), nominal, [range(n)])
    for j in range(3):
        order = sorted(range(n), key=lambda i: _place_in_order(codes[j], i, nominal[j]))
        for cut in range(k, n - k + 1):
            if codes[j][order[cut - 1]] != codes[j][order[cut]]:
                best = min(best, loss_of(codes.tolist(), nominal, [order[:cut], order[cut:]]))
    sides = [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)]
    assert loss_of(codes.tolist(), nominal, sides) == pytest.approx(best)


def _place_in_order(column, i, unordered):
    return (-int((column == column[i]).sum()), int(column[i])) if unordered else (int(column[i]),)


@given(counts=st.lists(st.integers(1, 6), min_size=2, max_size=6))
def test_frequency_order_gives_the_best_two_sets(counts):
    """Of all ways to make two sets of levels, none loses less than the best cut of the frequency order."""
    levels = range(len(counts))
    split = {
        size: min(
            sum(counts[i] for i in some) * (size - 1)
            + sum(counts[i] for i in levels if i not in some) * (len(counts) - size - 1)
            for some in combinations(levels, size)
        )
        for size in range(1, len(counts))
    }
    order = sorted(levels, key=lambda i: -counts[i])
    cut = min(
        sum(counts[i] for i in order[:a]) * (a - 1) + sum(counts[i] for i in order[a:]) * (len(counts) - a - 1)
        for a in range(1, len(counts))
    )
    assert cut == min(split.values())


def test_texts():
    table = pl.DataFrame(
        {
            "age": [20, 29, 40, 40],
            "bmi": [-1.5, 2.25, 3.0, 3.0],
            "town": ["A", "B, C", "D", "D"],
            "school": ["none", None, "school", "college"],
            "born": pl.Series(["2020-01-01", "2020-03-05", "2021-01-01", "2021-01-01"]).str.to_date(),
        }
    )
    made = shoal.Schema.of(
        quasi=table.columns, kinds={"school": "ordinal", "town": "nominal"}, levels={"school": LEVELS}
    )
    boxes = Boxes.of(np.array([0, 0, 1, 1]))
    shown = {axis.name: axis.write(boxes).to_list()[1:3] for axis in axes_of(prepare(table, made), table.columns)}
    assert shown == {
        "age": ["20-29", "40"],
        "bmi": ["-1.5 to 2.25", "3.0"],
        "town": ['{A, "B, C"}', "D"],
        "school": ["none or missing", "school to college"],
        "born": ["2020-01-01 to 2020-03-05", "2021-01-01"],
    }


def test_missing_is_a_level_and_a_whole_domain_is_a_star():
    table = pl.DataFrame({"town": ["A", "B", None, None, "A", None]})
    prepared = prepare(table, shoal.Schema.of(quasi=["town"]))
    axis = axes_of(prepared, ["town"])[0]
    assert axis.write(Boxes.of(np.array([0, 0, 1, 1, 2, 2]))).to_list() == [
        *["{A, B}"] * 2,
        *[None] * 2,
        *["A or missing"] * 2,
    ]
    assert axis.write(Boxes.of(np.zeros(6, dtype=np.int64))).to_list() == ["*"] * 6
    assert Mondrian(k=6).apply(prepared, 1).columns["town"].to_list() == ["*"] * 6


PLACES = {"Europe": {"Nordic": ["Oslo", "Turku"], "Alpine": ["Bern", "Graz"]}, "Asia": {"East": ["Kyoto", "Busan"]}}


def _within(name, tree=None):
    """The places behind a name of the tree."""
    found = []
    for key, below in (PLACES if tree is None else tree).items():
        leaves = _leaves(below)
        found += leaves if key == name else _within(name, below) if isinstance(below, dict) else []
    return found or [name]


def _leaves(tree):
    return tree if isinstance(tree, list) else [leaf for below in tree.values() for leaf in _leaves(below)]


@given(seed=st.integers(0, 2**32), k=st.integers(2, 6))
@settings(max_examples=20)
def test_hierarchies_name_the_boxes(seed, k):
    rng = np.random.default_rng(seed)
    towns = _leaves(PLACES)
    rows = [[leaf, middle, top] for top, mid in PLACES.items() for middle, ls in mid.items() for leaf in ls]
    table = pl.DataFrame({"town": [towns[i] for i in rng.integers(0, 6, 40)], "age": rng.integers(20, 60, 40)})
    made = shoal.Schema.of(quasi=["town", "age"], hierarchies={"town": {"kind": "table", "rows": rows}})
    done = Mondrian(k=k).apply(prepare(table, made), 1)
    out = table.with_columns(*done.columns.values())
    assert out.group_by("town", "age").len()["len"].min() >= k
    for name, town in zip(out["town"], table["town"], strict=True):
        assert name == "*" or town in _within(name)
    present = set(table["town"])
    shares = [(len(present if name == "*" else present & set(_within(name))) - 1) for name in out["town"]]
    expected = sum(shares) / len(shares) / max(1, len(present) - 1)
    assert done.details["loss_by_column"]["town"] == pytest.approx(expected)


def test_exact_columns_stay_as_they_are():
    table = pl.DataFrame({"age": [20, 20, 40, 40], "sex": ["f", "f", "m", "m"]})
    done = Mondrian(k=2).apply(prepare(table, shoal.Schema.of(quasi=["age", "sex"])), 1)
    assert not done.columns
    assert done.details["loss"] == 0


def test_importance_makes_a_column_more_exact():
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"a": rng.uniform(0, 1, 400), "b": rng.uniform(0, 1, 400)})
    prepared = prepare(table, shoal.Schema.of(quasi=["a", "b"]))
    plain = Mondrian(k=5).apply(prepared, 1).details["loss_by_column"]
    heavy = Mondrian(k=5, importance={"a": 9.0}).apply(prepared, 1).details["loss_by_column"]
    assert heavy["a"] < plain["a"]
    assert heavy["b"] > plain["b"]


def test_loss_is_far_below_halving_the_widest_column():
    """The published rule (widest column, median) as a baseline."""
    table = shoal.datasets.health_survey(1500, seed=2)
    made = shoal.datasets.health_survey_schema()
    prepared = prepare(table, made)
    done = Mondrian(k=5).apply(prepared, 1)
    axes = axes_of(prepared, made.quasi)
    labels = _by_median(np.stack([axis.codes for axis in axes]), 5)
    boxes = Boxes.of(labels)
    published = np.mean([axis.cover(boxes) @ boxes.sizes / len(labels) for axis in axes])
    assert done.details["loss"] < 0.8 * published


def _by_median(codes, k):
    labels = np.zeros(codes.shape[1], dtype=np.int64)
    waiting, n = [np.arange(codes.shape[1])], 0
    while waiting:
        rows = waiting.pop()
        for j in np.argsort([-np.ptp(column[rows]) / max(1, np.ptp(column)) for column in codes], kind="stable"):
            left = codes[j, rows] <= np.median(codes[j, rows])
            if min(left.sum(), (~left).sum()) >= k:
                waiting += [rows[left], rows[~left]]
                break
        else:
            labels[rows] = n
            n += 1
    return labels


def test_bad_input():
    table = pl.DataFrame({"p": ["a", "b"], "q": ["x", "y"]})
    prepared = prepare(table, shoal.Schema.of(quasi=["p"], sensitive=["q"]))
    with pytest.raises(GuaranteeError, match="at least k"):
        Mondrian(k=3).apply(prepared, 1)
    with pytest.raises(GuaranteeError, match="as one class"):
        Mondrian(k=2, diversity="recursive:0.5,2").apply(prepared, 1)
    with pytest.raises(ParameterError, match="write"):
        Mondrian(k=2, write="noise").apply(prepared, 1)
    with pytest.raises(ParameterError, match="importance"):
        Mondrian(k=2, importance={"q": 1}).apply(prepared, 1)
    with pytest.raises(SchemaError, match="quasi"):
        Mondrian(k=2).apply(prepare(table, shoal.Schema.of(other=["p", "q"])), 1)
