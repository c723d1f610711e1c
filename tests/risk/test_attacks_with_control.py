"""Attacks with a control group: they fire on known-bad releases and stay within their interval on independent data."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from shoal import risk
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.risk import control_group, membership_attack, singling_out_attack
from shoal.risk.control_group import Tally, judged, residual, wilson_centre
from shoal.risk.linkability_and_inference import _right
from shoal.risk.membership_attack import likelihood_ratio as membership_ratio
from shoal.schema import Schema

SCHEMA = Schema.of(
    quasi=["age", "town", "income"],
    sensitive=["cost", "ill"],
    levels={"ill": ["no", "some", "yes"]},
    kinds={"town": "nominal"},
)


def people(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    ill = np.array(["no", "some", "yes"])[np.minimum(2, rng.poisson(age / 60))]
    return pl.DataFrame(
        {
            "age": age,
            "town": rng.choice(["A", "B", "C", "D"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "income": rng.normal(3000, 800, n).round(2),
            "cost": (rng.gamma(2, 500, n) + 20 * age).round(2),
            "ill": ill,
        }
    )


@pytest.fixture(scope="module")
def members():
    return people(400, 1)


@pytest.fixture(scope="module")
def others():
    return people(400, 2)


@pytest.fixture(scope="module")
def independent():
    return people(400, 7)


def all_attacks(original, released, control):
    single = risk.singling_out(original, released, SCHEMA, control)
    guessed = risk.guessing(original, released, SCHEMA, control)
    return {
        "univariate": single.univariate,
        "multivariate": single.multivariate,
        "linkability": risk.linkability(original, released, SCHEMA, control),
        "cost": guessed.columns["cost"],
        "ill": guessed.columns["ill"],
        "distance": risk.membership(original, released, SCHEMA, control),
        "density": risk.membership(original, released, SCHEMA, control, method="density"),
    }


def test_every_attack_fires_on_the_original_itself(members, others):
    for name, found in all_attacks(members, members, others).items():
        assert found.verdict == "leak", name
        assert found.risk > 0.05, name


def test_few_columns_single_out_too(members, others, independent):
    """An intruder keeps the predicates that fit one released row; without that, three columns found nobody."""
    copied = risk.singling_out(members, members, SCHEMA, others, n_columns=3).multivariate
    assert (copied.verdict, copied.rate) == ("leak", 1.0)
    assert copied.risk > 0.5
    assert risk.singling_out(members, independent, SCHEMA, others, n_columns=3).multivariate.verdict != "leak"


def test_where_no_released_row_is_alone_all_predicates_are_tried(members, others):
    doubled = pl.concat([members, members])
    found = risk.singling_out(members, doubled, SCHEMA, others, attacks=60).multivariate
    assert found.n_attacks == 60
    assert found.verdict == "leak"


ROUNDS, LEVEL, FALSE_ALARM = 20, 0.05, 1e-6
"""How often independent people are tried, how often an attack may cry leak by its own 95 % interval, and how often this
test may fail although every attack keeps that level."""


def test_no_attack_fires_on_independent_people_more_often_than_its_level():
    """Members, control and release are three independent draws, afresh each round; no seed was picked."""
    alarms = Counter()
    for i in range(ROUNDS):
        members, control, released = (people(200, 3 * i + part) for part in range(3))
        found = all_attacks(members, released, control)
        alarms.update({name: one.verdict == "leak" for name, one in found.items()})
    allowed = binom.isf(FALSE_ALARM / len(alarms), ROUNDS, LEVEL)
    assert max(alarms.values()) <= allowed < ROUNDS / 2, alarms


def test_a_few_copies_show_at_a_small_rate(members, others, independent):
    leaky = pl.concat([independent, members[:40]])
    found = risk.membership(members, leaky, SCHEMA, others)
    assert found.tpr["0.01"] >= 0.09
    assert found.auc < 0.65


def test_known_numbers():
    assert wilson_centre(23, 100) == pytest.approx((0.23998824, 0.08155559), abs=1e-8)
    m, c = wilson_centre(60, 500), wilson_centre(45, 500)
    assert (m[0], c[0]) == pytest.approx((0.1228972, 0.0931260), abs=1e-7)
    raw, interval = residual(Tally(hits=60, n=500), Tally(hits=45, n=500))
    assert raw == pytest.approx(0.03296703, abs=1e-8)
    assert interval == pytest.approx((0, 0.07418698), abs=1e-7)
    centre = (m[0] - c[0]) / (1 - c[0])
    assert centre == pytest.approx(0.03282845, abs=1e-8)  # the interval's middle, not the value: that is of raw shares
    error = math.hypot(m[1] / (1 - c[0]), c[1] * (1 - m[0]) / (1 - c[0]) ** 2)
    assert interval[1] == pytest.approx(centre + error)
    assert wilson_centre(20, 20)[0] == pytest.approx(0.9194, abs=1e-4)  # 20 of 20 predicates that were made
    assert wilson_centre(20, 500)[0] == pytest.approx(0.0435, abs=1e-4)  # not 20 of 500 that were asked for
    assert judged("x", Tally(hits=20, n=20), None, Tally(hits=0, n=20)).rate == 1
    nothing = judged("x", Tally(hits=0, n=20), Tally(hits=0, n=20), Tally(hits=0, n=20))
    assert (nothing.rate, nothing.risk, nothing.verdict) == (0, 0, "too weak")


def test_an_undefined_risk_says_so():
    found = judged("x", Tally(hits=20, n=20), Tally(hits=20, n=20), Tally(hits=0, n=20))
    assert (found.risk, found.interval, found.verdict) == (0, (0, 1), "undefined")
    assert judged("x", Tally(hits=0, n=0), None, Tally(hits=0, n=5)).verdict == "undefined"
    negative = judged("x", Tally(hits=2, n=50), Tally(hits=20, n=50), Tally(hits=0, n=50))
    assert negative.raw < 0 == negative.risk


def test_a_negative_guess_is_not_right():
    """Dividing by the guess, |guess − truth| / guess is −1.05 and below any tolerance."""
    assert _right(np.array([-100.0, 5.2]), np.array([5.0, 5.0]), True, 0.05) == Tally(hits=1, n=2)


def oracle_isolated(predicate, rows, persons):
    fits = []
    for row, person in zip(rows, persons, strict=True):
        good = True
        for j, comparison, value in zip(*predicate, strict=True):
            x = row[j]
            tests = [x == value, x >= value, x <= value, math.isnan(x)]
            good &= tests[comparison]
        fits += [person] if good else []
    return len(set(fits)) == 1


cells = st.sampled_from([0.0, 1.0, 2.0, math.nan])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(cells, cells, st.integers(0, 3)), min_size=1, max_size=12), st.data())
def test_predicates_one_by_one(rows, data):
    comparison = st.integers(0, 3)
    value = st.sampled_from([0.0, 1.0, 2.0])
    drawn = [
        singling_out_attack.Predicate(
            (0, 1), data.draw(st.tuples(comparison, comparison)), data.draw(st.tuples(value, value))
        )
        for _ in range(5)
    ]
    values, persons = np.array([row[:2] for row in rows]), np.array([row[2] for row in rows])
    found = singling_out_attack._isolated(drawn, values, persons)
    assert found.hits == sum(oracle_isolated(predicate, values, persons) for predicate in drawn)
    assert found.n == 5


@pytest.mark.parametrize(("n", "chance"), [(100, 0.3697296), (50, 0.3055586)])
def test_a_blind_predicate_isolates_by_chance(n, chance):
    """A predicate of weight w = 0.01 fits exactly one of n people with n w (1 − w)^(n − 1): no knowledge at all."""
    assert n * 0.01 * 0.99 ** (n - 1) == pytest.approx(chance, abs=1e-7)
    rng = np.random.default_rng(n)
    blind = [singling_out_attack.Predicate((0,), (0,), (float(v),)) for v in range(100)]
    hits = [singling_out_attack._isolated(blind, rng.integers(0, 100, (n, 1)).astype(float), np.arange(n)).hits
            for _ in range(200)]  # fmt: skip
    assert sum(hits) / 20_000 == pytest.approx(chance, abs=4 * math.sqrt(0.25 / 20_000))


def test_two_equal_persons_are_not_singled_out():
    table = pl.DataFrame({"age": [30, 30, 41, 41]})
    schema = Schema.of(quasi=["age"])
    found = risk.singling_out(table, table, schema)
    assert found.univariate.rate == 0
    assert found.risk == 0
    one = risk.singling_out(table.with_columns(u=pl.Series([1, 1, 2, 3])), table, Schema.of(quasi=["age"], unit="u"))
    assert one.univariate.rate == 0.5  # the two rows of age 30 are one person's


def test_only_predicates_that_were_made_count(members, others):
    tiny = members[:20].select("town", pl.lit(1.0).alias("income"), pl.lit(20).alias("age"), "cost", "ill")
    found = risk.singling_out(members, tiny, SCHEMA, others, attacks=300)
    assert found.univariate.n_attacks < 100


def oracle_gower(query, target, ordered, span):
    total = 0.0
    for a, b, has_order, width in zip(query, target, ordered, span, strict=True):
        if math.isnan(a) or math.isnan(b):
            total += not (math.isnan(a) and math.isnan(b))
        else:
            total += abs(a - b) / width if has_order else a != b
    return total / len(query)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=6),
    st.lists(st.tuples(cells, cells), min_size=1, max_size=9),
    st.integers(1, 4),
)
def test_nearest_rows_by_a_double_loop(queries, targets, k):
    ordered = np.array([True, False])
    q, t = np.array(queries), np.array(targets)
    span = control_group.spans(t, ordered)
    rows, far = control_group.nearest(q, t, ordered, k, np.random.default_rng(0))
    for i, query in enumerate(queries):
        slow = sorted(oracle_gower(query, target, ordered, span) for target in targets)[: len(rows[i])]
        assert far[i] == pytest.approx(slow)
        assert len(set(rows[i])) == len(rows[i]) == min(k, len(targets))


def test_linkability_needs_the_same_row(members, others):
    shuffled = members.with_columns(pl.col("age", "income", "ill").shuffle(seed=4))
    halves = (["age", "income", "ill"], ["town", "cost"])
    broken = risk.linkability(members, shuffled, SCHEMA, others, halves=halves)
    assert broken.rate < 0.05
    whole = risk.linkability(members, members, SCHEMA, others, halves=halves)
    assert whole.rate > 0.9


def test_guessing_learns_of_everybody_what_holds_for_everybody():
    rng = np.random.default_rng(5)
    age = rng.integers(0, 100, 600)
    table = pl.DataFrame({"age": age, "ill": np.where(age > 50, "yes", "no")})
    schema = Schema.of(quasi=["age"], sensitive=["ill"])
    found = risk.guessing(table[:200], table[200:400], schema, table[400:]).columns["ill"]
    assert found.rate > 0.9
    assert found.control_rate > 0.9
    assert found.verdict != "leak"


@given(st.lists(st.integers(0, 5), min_size=2, max_size=12), st.lists(st.integers(0, 5), min_size=2, max_size=12))
def test_auc_and_rates_by_pairs(inside, outside):
    a, b = np.array(inside, dtype=float), np.array(outside, dtype=float)
    pairs = [(x > y) + 0.5 * (x == y) for x in inside for y in outside]
    auc, interval = membership_attack.area_under_curve(a, b)
    assert auc == pytest.approx(sum(pairs) / len(pairs))
    assert interval[0] <= auc <= interval[1]
    for rate in (0.0, 0.25, 0.5, 1.0):
        cuts = [*sorted({*inside, *outside}), 9]
        allowed = [c for c in cuts if sum(y >= c for y in outside) <= rate * len(outside) + 1e-9]
        best = max(sum(x >= c for x in inside) / len(inside) for c in allowed)
        assert membership_attack.true_positives(a, b, rate) == pytest.approx(best)


def test_membership_numbers():
    inside, outside = np.array([0.9, 0.8, 0.6, 0.4]), np.array([0.7, 0.5, 0.4, 0.1])
    assert membership_attack.area_under_curve(inside, outside)[0] == 0.78125
    assert [membership_attack.true_positives(inside, outside, x) for x in (0, 0.25, 0.5)] == [0.5, 0.75, 0.75]
    assert membership_attack.refuted_epsilon(100, 1000, 8, 1000) == pytest.approx(1.654, abs=1e-3)
    assert membership_attack.refuted_epsilon(0, 100, 0, 100) == 0
    most = 1 - 0.025 ** (1 / 100)  # none of 100 others still allows this share of false alarms
    assert most == pytest.approx(0.0362, abs=5e-5)
    assert membership_attack.refuted_epsilon(100, 100, 0, 100) == pytest.approx(math.log(0.025 ** (1 / 100) / most))


def test_replicated_uniques(members, others, independent):
    schema = Schema.of(quasi=["age", "town"], other=["income", "cost", "ill"])
    copied = risk.replicated_uniques(members, members, schema, others)
    assert copied.n_replicated == copied.n_unique > 0
    assert copied.share == 1.0 > copied.control_share
    fresh = risk.replicated_uniques(members, independent, schema, others)
    assert fresh.share == pytest.approx(fresh.control_share, abs=0.15)
    values = members.select("age", "town").rows()
    slow = sum(values.count(v) == 1 and independent.select("age", "town").rows().count(v) == 1 for v in values)
    assert fresh.n_replicated == slow


def test_a_coarsened_release_is_read_through_its_rows(members, others):
    import shoal

    schema = Schema.of(quasi=["age", "town"], other=["income", "cost"], sensitive=["ill"])
    release = shoal.coarsen(members, schema, shoal.Mondrian(k=20), seed=1)
    found = risk.singling_out(members, release.table, schema, others, source_rows=release.source_rows)
    assert found.multivariate.verdict != "leak"


def test_words_frames_and_bad_input(make_frame, members, others):
    a, b, c = make_frame(members[:60]), make_frame(members[:60]), make_frame(others[:60])
    for found in all_attacks(a, b, c).values():
        json.dumps(found.to_dict(), allow_nan=False)
    with pytest.raises(ParameterError, match="attacks"):
        risk.singling_out(a, b, SCHEMA, attacks=0)
    with pytest.raises(ParameterError, match="halves"):
        risk.linkability(a, b, SCHEMA, halves=(["age"], ["age"]))
    with pytest.raises(SchemaError, match="'zzz'"):
        risk.linkability(a, b, SCHEMA, halves=(["age"], ["zzz"]))
    with pytest.raises(SchemaError, match="'zzz'"):
        risk.singling_out(a, b, SCHEMA, columns=["zzz"])
    with pytest.raises(ParameterError, match="tolerance"):
        risk.guessing(a, b, SCHEMA, tolerance=1)
    with pytest.raises(ParameterError, match="method"):
        risk.membership(a, b, SCHEMA, c, method="magic")
    with pytest.raises(InputError, match="four people"):
        risk.membership(a, b, SCHEMA, others[:3])
    with pytest.raises(SchemaError, match="needs a quasi"):
        risk.guessing(members.select("age"), members.select("age"), Schema.of(quasi=["age"]))


def test_shadow_releases_tell_a_method_that_copies_from_one_that_forgets():
    schema = Schema.of(quasi=["age", "income"], other=["town", "cost", "ill"])
    table = people(120, 9)
    copied = risk.shadow_membership(table, schema, lambda half: half, shadows=6)
    assert (copied.method, copied.verdict) == ("shadow", "leak")
    assert copied.auc > 0.95
    fresh = iter(range(50, 99))
    forgets = risk.shadow_membership(table, schema, lambda half: people(len(half), next(fresh)), shadows=6)
    assert forgets.interval[0] <= 0.5 <= forgets.interval[1]
    with pytest.raises(ParameterError, match="shadows"):
        risk.shadow_membership(table, schema, lambda half: half, shadows=1)
    with pytest.raises(InputError, match="eight rows"):
        risk.shadow_membership(table[:5], schema, lambda half: half)


def test_likelihood_ratio_of_one_target():
    shadows = np.array([[0.0], [-0.2], [-3.0], [-3.2]])
    inside = np.array([[True], [True], [False], [False]])
    ratio = membership_ratio(np.array([-0.1]), shadows, inside)
    spread = 0.1
    slow = -((-0.1 + 0.1) ** 2) / (2 * spread**2) + ((-0.1 + 3.1) ** 2) / (2 * spread**2)
    assert ratio[0] == pytest.approx(slow)
