"""One ruler: what the headlines are, against slow oracles and known cases."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import risk
from shoal.comparison.measure import (
    even_draws,
    found_beyond_chance,
    measure,
    reference,
    release_of,
    spread,
)
from shoal.conform import prepare
from shoal.pair import NOBODY, Pair
from shoal.recipe import as_recipe
from shoal.risk import verbatim_rows
from shoal.schema import Schema

LEVELS = Schema.of(quasi=["a", "b"], sensitive=["y"], levels={"a": [0, 1, 2], "b": [0, 1], "y": [0, 1]})
cells = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=25)


def frame(rows):
    return pl.DataFrame(rows, schema=["a", "b", "y"], orient="row")


def came_out(pair):
    alone, times = verbatim_rows.returned(pair)
    return (alone & (times > 0)).mean()


def slow_kept(first, second):
    """1 − the mean of the mean total variation over quasi pairs and over pairs with y."""

    def apart(x, y):
        p, q = (table.group_by(x, y).len() for table in (first, second))
        both = {tuple(row[:2]): [row[2] / len(first), 0.0] for row in p.iter_rows()}
        for row in q.iter_rows():
            both.setdefault(tuple(row[:2]), [0.0, 0.0])[1] = row[2] / len(second)
        return sum(abs(a - b) for a, b in both.values()) / 2

    quasi = [apart(x, y) for x, y in combinations("ab", 2)]
    response = [apart(x, y) for x, y in product("ab", "y")]
    return 1 - (np.mean(quasi) + np.mean(response)) / 2


@given(cells, cells)
def test_who_is_alone_and_how_often_they_came_out_again(before, after):
    first, second = frame(before), frame(after)
    pair = Pair.of(first, second, LEVELS, np.full(len(second), NOBODY))
    keys, shown = [row[:2] for row in before], [row[:2] for row in after]
    alone, times = verbatim_rows.returned(pair)
    assert alone.tolist() == [keys.count(key) == 1 for key in keys]
    assert times.tolist() == [shown.count(key) for key in keys]
    table = risk.replicated_uniques(first, second, LEVELS)
    assert (table.n_unique, table.n_replicated) == (alone.sum(), (alone & (times == 1)).sum())
    assert table.record_share == pytest.approx((alone & (times == 1)).mean())
    assert 0 <= found_beyond_chance(pair, 1) <= (alone & (times > 0)).mean()


def test_chance_is_not_counted_and_memory_is(survey, survey_schema):
    def pair_with(rows):
        return Pair.of(survey, rows, survey_schema, np.full(len(rows), NOBODY))

    rng = np.random.default_rng(5)
    plain = survey.select("age", "sex", "town", "cost", "ill")
    memory = pair_with(plain[rng.integers(240, size=240)])
    assert found_beyond_chance(memory, 1) > 0.8 * came_out(memory) > 0.2
    chance = pair_with(plain.select(column.gather(rng.integers(240, size=2400)) for column in plain))
    assert came_out(chance) > 0.3
    assert found_beyond_chance(chance, 1) < 0.1


def test_where_no_phantom_can_be_made_all_is_counted():
    table = pl.DataFrame({"a": [0, 1, 2]})
    pair = Pair.of(table, table, Schema.of(quasi=["a"]), np.full(3, NOBODY))
    assert found_beyond_chance(pair, 1) == 1


def test_with_persons_of_several_rows_uniqueness_counts_persons():
    table = pl.DataFrame({"id": [1, 1, 2, 3], "a": [5, 5, 6, 6]})
    schema = Schema.of(unit="id", quasi=["a"])
    pair = Pair.of(table, pl.DataFrame({"a": [5, 6]}), schema, np.full(2, NOBODY))
    assert came_out(pair) == 0.5
    twice = risk.replicated_uniques(table, pl.DataFrame({"a": [5, 6]}), schema)
    assert (twice.n_unique, twice.n_replicated, twice.record_share) == (1, 1, pytest.approx(1 / 3))


def test_measures_of_a_mask(survey, survey_schema):
    release = release_of(survey, survey_schema, as_recipe((shoal.MDAV(k=5), shoal.Resample())), 7)
    words = measure(release, seed=3)
    risks, utilities = words["risks"], words["utilities"]
    assert risks["found"] == max(risks["nearest_match"], risks["linkage"], risks["unchanged"]) > 0
    assert 0 <= risks["guessed"] <= 1
    assert 0 < utilities["kept"] < 1
    assert utilities["kept"] == pytest.approx((utilities["kept_pairs"] + utilities["kept_with_sensitive"]) / 2)
    assert utilities["rows_share"] == 1
    assert words["claims"][0]["kind"] == "re-identification bound"
    again = measure(release_of(survey, survey_schema, release.recipe, 7), seed=3)
    assert again == words


@given(cells, cells)
def test_kept_is_total_variation_of_pairs(before, after):
    from shoal.comparison.measure import _kept
    from shoal.utility.intersection import total_variation_of

    first, second = frame(before), frame(after)
    pair = Pair.of(first, second, LEVELS, np.full(len(second), NOBODY))
    assert _kept(total_variation_of(pair)) == pytest.approx(slow_kept(first, second), abs=1e-12)


def test_synthetic_rows_have_no_match_and_no_linkage(survey, survey_schema):
    words = measure(release_of(survey, survey_schema, as_recipe(shoal.MarginalBootstrap(epsilon=1.0)), 7), seed=3)
    assert words["risks"]["nearest_match"] is None
    assert words["risks"]["linkage"] is None
    assert 0 <= words["risks"]["found"] < 0.15
    assert words["claims"][0]["kind"] == "epsilon-DP"


def test_no_account_is_touched(survey, survey_schema, tmp_path):
    path = tmp_path / "people.csv"
    survey.write_csv(path)
    measure(release_of(survey, survey_schema, as_recipe(shoal.PeGS(epsilon=1.0)), 7), seed=3)
    assert [item.name for item in tmp_path.iterdir()] == ["people.csv"]


def test_rows_that_cost_are_drawn_without_a_seed(survey, survey_schema):
    recipe = as_recipe({"synthesize": "pegs:epsilon=1,scope=sample,missing=refuse", "rows": 5})
    release = release_of(survey, survey_schema, recipe, 7)
    assert {claim.basis for claim in release.claims} == {"proved"}


def test_the_table_itself_is_the_reference(survey, survey_schema):
    found = reference(survey, prepare(survey, survey_schema), 1)
    keys = survey.select("age", "sex", "town").rows()
    assert found["found"] == pytest.approx(np.mean([1 / keys.count(key) for key in keys]))
    assert found["guessed"] > 0.5
    assert 0.5 < found["second_sample"] < 1


def test_even_draws_are_values_of_the_cell_and_even():
    cells = np.repeat([0, 1, 2], [6000, 10, 1])
    values = np.concatenate([np.repeat([1.0, 2.0, 9.0], [5998, 1, 1]), np.full(10, 4.0), [np.nan]])
    drawn = even_draws(cells, values, np.random.default_rng(1))
    assert set(drawn[:6000]) == {1.0, 2.0, 9.0}
    assert abs(np.bincount(drawn[:6000].astype(int))[[1, 2, 9]] / 6000 - 1 / 3).max() < 0.03
    assert (drawn[6000:6010] == 4).all()
    assert np.isnan(drawn[-1])


def test_coarse_cells_are_spread_and_suppressed_ones_are_lost(survey, survey_schema):
    release = release_of(survey, survey_schema, as_recipe(shoal.Mondrian(k=5)), 1)
    pair = spread(release.pair, 1)
    assert pair is not release.pair
    low, high = (release.table["age"].str.extract(rf"{part}", 1).cast(float) for part in (r"^(\d+)", r"(\d+)$"))
    ages = pair.released_codes[:, 0]
    assert ((low.to_numpy() <= ages) & (ages <= high.to_numpy())).all()
    masked = release_of(survey, survey_schema, as_recipe((shoal.MDAV(k=5), shoal.Centroid())), 1).pair
    assert spread(masked, 1) is masked
    blank = release_of(survey, survey_schema, as_recipe(shoal.Suppress(k=5, importance={"age": 20})), 1)
    codes = spread(blank.pair, 1).released_codes
    stars = (blank.table["town"] == "*").to_numpy()
    assert stars.any()
    assert (codes[stars, 2] == 3).all()
    assert np.isnan(codes[blank.table["age"].is_null().to_numpy(), 0]).all()


def test_an_untouched_table_keeps_all_and_a_coarse_one_less(survey, survey_schema):
    kept = [
        measure(release_of(survey, survey_schema, as_recipe(shoal.Mondrian(k=k)), 1), seed=1)["utilities"]["kept"]
        for k in (2, 10, 100)
    ]
    assert kept == sorted(kept, reverse=True)
    whole = measure(release_of(survey, survey_schema, as_recipe(shoal.SafeHarbor(allow=("town",))), 1), seed=1)
    assert whole["utilities"]["kept"] == 1
    assert whole["risks"]["found"] > 0.5
    no_town = measure(release_of(survey, survey_schema, as_recipe(shoal.SafeHarbor()), 1), seed=1)
    assert no_town["utilities"]["kept_pairs"] == pytest.approx(1 / 3), "of age, sex and town one pair is left"
    assert no_town["utilities"]["kept_with_sensitive"] == pytest.approx(2 / 3)
