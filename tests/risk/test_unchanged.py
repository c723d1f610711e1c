"""The attack with unchanged columns and the search for dependences."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.pair import Pair
from shoal.risk import candidates as choice
from shoal.risk.candidates import candidates
from shoal.risk.dependence import determined_by_quasi
from shoal.risk.linked_rows import LinkedRows
from shoal.risk.nearest import match_pair
from shoal.risk.unchanged import _finds_more, measure


def people(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n)
    return pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "cost": age * 10.0 + rng.normal(size=n),
            "ill": rng.choice(["a", "b"], n),
        }
    )


SCHEMA = shoal.Schema.of(quasi=["age", "sex"], sensitive=["cost"], other=["ill"])


def test_repeats_with_a_seed_and_is_json() -> None:
    table = people(120)
    masked = table.with_columns(age=pl.col("age") // 10 * 10)
    first, second = (shoal.risk.unchanged_columns(table, masked, SCHEMA, seed=5) for _ in range(2))
    assert first == second
    assert json.loads(json.dumps(first.to_dict()))["why"] is None
    assert first.columns == ("cost", "ill")
    assert not first.sampled
    assert first.n_targets == first.n_records == 120


def test_nothing_to_use_is_not_measured_rather_than_zero() -> None:
    table = people(60).select("age", "sex")
    found = shoal.risk.unchanged_columns(table, table, shoal.Schema.of(quasi=["age", "sex"]))
    assert found.expected is None
    assert found.why == "no column is published unchanged"
    few = shoal.risk.unchanged_columns(people(10), people(10), SCHEMA)
    assert few.why is not None
    assert "fewer than 20" in few.why
    strangers = measure(Pair.of(people(60), people(60), SCHEMA, np.full(60, -1)))
    assert strangers.why == "no released row belongs to a known person"


def test_a_table_released_as_it_is_gives_everybody_unique_away() -> None:
    table = people(100).with_columns(age=pl.Series(np.arange(100)))
    found = shoal.risk.unchanged_columns(table, table, SCHEMA)
    assert found.expected == pytest.approx(1.0)
    assert found.baseline == pytest.approx(1.0)


def test_long_tables_are_sampled_and_say_so() -> None:
    table = people(2600)
    found = shoal.risk.unchanged_columns(table, table, SCHEMA)
    assert found.sampled
    assert found.n_targets == 2000
    assert found.interval[0] < found.expected < found.interval[1]


def test_several_rows_of_a_person_are_hits_alike() -> None:
    table = people(40)
    twice = pl.concat([table, table]).with_columns(id=pl.Series(np.tile(np.arange(40), 2)))
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["cost"], other=["ill"], unit="id")
    shown = twice.drop("id")
    risk = measure(Pair.of(twice, shown, schema, np.arange(80)))
    assert risk.interval[1] >= risk.baseline >= 0.3
    assert risk.baseline == pytest.approx(shoal.risk.reidentification(twice, shown, schema, np.arange(80)).expected)


def test_nearest_candidates_are_those_of_the_nearest_match() -> None:
    table = people(150)
    masked = table.with_columns(age=pl.col("age") + pl.Series(np.random.default_rng(1).integers(-3, 4, 150)))
    pair = Pair.of(table, masked, SCHEMA)
    listed = candidates(pair, np.arange(150), 30)
    ties = match_pair(pair)
    counted = np.bincount(listed.question, weights=listed.nearest(), minlength=150)
    assert (counted == ties.n_ties()[ties.queries]).all()
    assert (listed.lengths >= 30).all()
    points, shown = pair.original_points(), pair.released_points()
    for i in range(0, 150, 29):
        true = np.linalg.norm(shown - points[i], axis=1)
        mine = listed.row[listed.question == i]
        assert sorted(mine) == sorted(np.flatnonzero(true <= np.sort(true)[29] * (1 + 1e-9)))


def test_candidates_are_the_nearest_rows_by_all_distances() -> None:
    pair = Pair.of(people(150), people(150, seed=2), SCHEMA)
    found = candidates(pair, np.arange(150), 25)
    apart = np.linalg.norm(pair.original_points()[:, None] - pair.released_points()[None], axis=2)
    assert found.distance == pytest.approx(apart[found.question, found.row], abs=1e-6)
    last = np.sort(apart, axis=1)[:, 24]
    assert (np.bincount(found.question, minlength=150) >= 25).all() or (
        found.distance <= last[found.question] + 1e-6
    ).all()


def test_learnt_weights_maximise_the_likelihood_within_bounds() -> None:
    rng = np.random.default_rng(2)
    starts = np.arange(0, 400, 8)
    signs = rng.normal(size=(400, 3))
    scores = signs @ [1.5, 0.0, -1.0]  # the last sign points away: it must get no weight
    right = np.zeros(400)
    for start in starts:
        p = np.exp(scores[start : start + 8])
        right[start + rng.choice(8, p=p / p.sum())] += 1
    beta = choice.learn(signs, starts, right)
    assert beta[0] > 0.8
    assert beta[2] == 0.0
    scale = signs.std(axis=0)
    best = choice._loss(beta * scale, signs / scale, starts, right)
    for step in 0.05 * rng.normal(size=(50, 3)):
        assert choice._loss(np.maximum(0, beta * scale + step), signs / scale, starts, right) >= best - 1e-3


def test_sparse_tables_determine_nothing() -> None:
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"id": np.arange(300.0), "x": rng.normal(size=300), "s": rng.integers(0, 4, 300)})
    schema = shoal.Schema.of(quasi=["id", "x"], sensitive=["s"])
    assert shoal.risk.dependences(table, table, schema) == ()


def test_a_rare_value_that_is_constant_in_most_cells_by_chance_is_not_named() -> None:
    rng = np.random.default_rng(6)
    table = pl.DataFrame({"area": rng.integers(0, 100, 400), "s": (rng.random(400) < 0.01).astype(int)})
    assert shoal.risk.dependences(table, table, shoal.Schema.of(quasi=["area"], sensitive=["s"])) == ()


def test_a_function_of_two_columns_among_many_is_found_with_its_columns() -> None:
    rng = np.random.default_rng(7)
    n = 400
    table = pl.DataFrame({"a": rng.integers(0, 5, n), "b": rng.integers(0, 4, n), "c": rng.normal(size=n)})
    table = table.with_columns(w=(pl.col("a") * 7 + pl.col("b") * pl.col("b")).cast(pl.Float64) + 0.5)
    found = shoal.risk.dependences(table, table, shoal.Schema.of(quasi=["c", "b", "a"], other=["w"]))
    assert [(one.direction, set(one.quasi), one.exact) for one in found] == [
        ("determined", {"a", "b"}, True),
        ("tells", {"a", "b"}, True),
    ]
    assert "Drop w" in found[0].remedy
    assert "follows from" in found[0].finding


def test_a_few_exceptions_make_a_dependence_near_not_exact() -> None:
    rng = np.random.default_rng(9)
    table = pl.DataFrame({"area": rng.integers(0, 6, 500)})
    wrong = rng.random(500) < 0.02
    table = table.with_columns(w=pl.Series(np.where(wrong, 99.0, table["area"].to_numpy() + 0.5)))
    pair = Pair.of(table, table, shoal.Schema.of(quasi=["area"], other=["w"]))
    assert [one.exact for one in determined_by_quasi(pair) if one.direction == "determined"] == [False]


@pytest.mark.parametrize("constant", [0.1, 0.7, 1 / 3, 123.456])
def test_a_sign_that_is_the_same_for_all_teaches_nothing(constant: float) -> None:
    """Its deviation comes out as a rounding of the mean, of some 1e-17, and is not divided by."""
    rng = np.random.default_rng(1)
    for n in range(2, 40):
        starts = np.arange(n) * 3
        right = np.zeros(3 * n)
        right[starts] = 1
        sign = rng.random(3 * n)
        found = choice.learn(np.column_stack([np.full(3 * n, constant), sign]), starts, right)
        assert found[1] == pytest.approx(choice.learn(sign[:, None], starts, right)[0], abs=0.05)


def test_what_a_few_people_show_does_not_hide_what_many_show() -> None:
    """All rows of a person at once are tried on few people: a share below that of everybody replaces nothing."""
    hits = np.r_[np.zeros(30), np.full(370, 0.03)]
    few = [
        LinkedRows(tried=np.arange(30), hits=np.full(30, share), certainty=np.full(30, share)) for share in (1e-4, 0.5)
    ]
    assert [_finds_more(linked, hits) for linked in few] == [False, True]
