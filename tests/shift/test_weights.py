"""Importance weights against counting by hand, known densities and an independent logistic regression."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Schema
from shoal.errors import ColumnError, InputError, ParameterError, SchemaError
from shoal.shift import effective_sample_size, imbalance, logistic_weights, ratio_weights

SCHEMA = Schema.of(quasi=["age", "sex"], weight="w", kinds={"age": "ordinal", "sex": "nominal"})


def people(seed, n, shares, weighted=False):
    """Rows drawn from shares over age 0..3 and sex f, m."""
    rng = np.random.default_rng(seed)
    cell = rng.choice(8, n, p=np.array(shares) / np.sum(shares))
    frame = pl.DataFrame({"age": cell // 2, "sex": np.where(cell % 2 == 0, "f", "m")})
    return frame.with_columns(w=pl.Series(rng.uniform(0.5, 2, n) if weighted else np.ones(n)))


P = [4, 4, 3, 3, 2, 2, 1, 1]
Q = [1, 2, 2, 2, 3, 3, 4, 3]


def by_hand(existing, new, members, smoothing=0.0):
    """q̂/p̂ by counting in dictionaries, mean 1 over the members by survey weight."""

    def shares(frame):
        mass = {}
        for age, sex, w in frame.select("age", "sex", "w").rows():
            mass[age, sex] = mass.get((age, sex), 0) + w
        total = sum(mass.values())
        return {cell: value / total * len(frame) for cell, value in mass.items()}

    p, q = shares(existing), shares(new)
    cells = {*p, *q, *[row[:2] for row in members.select("age", "sex").rows()]}
    n_p, n_q, c = len(existing), len(new), len(cells)
    raw = []
    for row in members.select("age", "sex").rows():
        top = (q.get(row, 0) + smoothing) / (n_q + smoothing * c)
        bottom = (p.get(row, 0) + smoothing) / (n_p + smoothing * c)
        raw.append(top / bottom if bottom > 0 else 0)
    raw, v = np.array(raw), members["w"].to_numpy()
    return raw * v.sum() / (raw @ v)


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
@given(seed=st.integers(0, 10_000), weighted=st.booleans())
def test_ratio_is_counting(seed, weighted, smoothing):
    existing, new = people(seed, 60, P, weighted), people(seed + 1, 50, Q, weighted)
    members = people(seed + 2, 40, P, weighted)
    w = ratio_weights(existing, new, SCHEMA, members, smoothing=smoothing, limit=1.0)
    assert np.allclose(w.values, by_hand(existing, new, members, smoothing), atol=1e-12)
    assert np.average(w.values, weights=members["w"].to_numpy()) == pytest.approx(1)


def test_ratio_weights_converge_to_the_true_ratio():
    truth = np.array(Q) / np.sum(Q) / (np.array(P) / np.sum(P))
    errors = []
    for n in (500, 50_000):
        existing, new = people(1, n, P), people(2, n, Q)
        w = ratio_weights(existing, new, SCHEMA)
        cell = existing["age"].to_numpy() * 2 + (existing["sex"].to_numpy() == "m")
        errors.append(np.abs(w.values - truth[cell]).mean())
    assert errors[1] < 0.03
    assert errors[1] < errors[0] / 5


def test_balance_is_exact_where_everything_is_covered():
    w = ratio_weights(people(1, 500, P, True), people(2, 400, Q, True), SCHEMA)
    assert max(imbalance(w.balance).values()) < 1e-12
    assert min(imbalance(w.balance, "existing").values()) >= 0
    assert imbalance(w.balance, "existing")["age"] > 0.1
    assert w.uncovered_share == 0
    assert w.notes == ()


def test_effective_sample_size():
    assert effective_sample_size(np.ones(50)) == pytest.approx(50)
    assert effective_sample_size(np.array([3.0, 0.0, 0.0])) == pytest.approx(1)
    existing, new = people(1, 300, P, True), people(2, 300, Q, True)
    w = ratio_weights(existing, new, SCHEMA)
    v = existing["w"].to_numpy() * w.values
    assert w.effective_sample_size == pytest.approx(v.sum() ** 2 / (v**2).sum())
    assert w.largest[0] == w.values.max()
    assert w.n == 300


def test_a_cap_is_applied_only_when_asked_and_told():
    existing, new = people(1, 300, P), people(2, 300, Q)
    free = ratio_weights(existing, new, SCHEMA)
    capped = ratio_weights(existing, new, SCHEMA, cap=1.5)
    assert free.n_capped == 0
    assert free.values.max() > 1.5
    assert capped.n_capped == (free.values > 1.5).sum() > 0
    assert capped.values.max() / capped.values[free.values <= 1].max() == pytest.approx(
        1.5 / free.values[free.values <= 1].max()
    )
    assert "cut to 1.5 times" in capped.notes[0]
    assert capped.effective_sample_size > free.effective_sample_size


@pytest.mark.parametrize("weigh", [ratio_weights, logistic_weights])
@pytest.mark.parametrize("weighted", [False, True])
def test_capped_weights_have_mean_one_again(weigh, weighted):
    """Cut at 1.5 of the mean, then divided by what the mean has become."""
    existing, new = people(1, 300, P, weighted), people(2, 300, Q, weighted)
    v = existing["w"].to_numpy()
    free, capped = weigh(existing, new, SCHEMA), weigh(existing, new, SCHEMA, cap=1.5)
    cut = np.minimum(free.values, 1.5)
    assert np.average(capped.values, weights=v) == pytest.approx(1, abs=1e-12)
    assert np.allclose(capped.values, cut / np.average(cut, weights=v), atol=1e-12)


def test_uncovered_mass_is_reported_then_refused():
    existing = people(1, 400, [4, 4, 3, 3, 2, 2, 0, 0])
    new = people(2, 400, [4, 4, 3, 3, 2, 2, 0.3, 0.2])
    share = float((new["age"] == 3).mean())
    some = ratio_weights(existing, new, SCHEMA)
    assert some.uncovered_share == pytest.approx(share)
    assert f"{share:.1%} of the new market" in some.notes[0]
    sparse = people(1, 400, [4, 4, 3, 0, 2, 0, 1, 0])
    with pytest.raises(InputError, match="smoothing.*logistic"):
        ratio_weights(sparse, people(2, 400, Q), SCHEMA)
    smoothed = ratio_weights(sparse, people(2, 400, Q), SCHEMA, smoothing=0.5)
    assert smoothed.uncovered_share > 0.2


def test_disjoint_supports():
    existing, new = people(1, 200, [1, 1, 1, 1, 0, 0, 0, 0]), people(2, 200, [0, 0, 0, 0, 1, 1, 1, 1])
    with pytest.raises(ColumnError, match="'age'.*coded in the new market"):
        ratio_weights(existing, new, SCHEMA)
    declared = Schema.of(
        quasi=["age", "sex"],
        weight="w",
        kinds={"age": "ordinal", "sex": "nominal"},
        levels={"age": [0, 1, 2, 3]},
    )
    with pytest.raises(InputError, match="100% of the new market without weight"):
        ratio_weights(existing, new, declared)
    with pytest.raises(InputError, match="overlap"):
        logistic_weights(existing, new, declared)


def test_different_codings_name_column_and_levels():
    existing = people(1, 100, P)
    new = people(2, 100, P).with_columns(sex=pl.col("sex").replace({"f": "woman", "m": "man"}))
    with pytest.raises(ColumnError, match="'sex'.*new market.*'man', 'woman'.*'f', 'm'"):
        ratio_weights(existing, new, SCHEMA)
    declared = Schema.of(quasi=["sex"], kinds={"sex": "nominal"}, levels={"sex": ["f", "m"]})
    with pytest.raises(ColumnError, match="'man', 'woman'.*schema lists 'f', 'm'"):
        ratio_weights(existing.select("sex"), new.select("sex"), declared)


def test_no_error_names_a_level_of_the_members():
    existing, members = people(1, 100, P), people(2, 100, P).with_columns(sex=pl.lit("SENTINEL"))
    declared = Schema.of(quasi=["sex"], kinds={"sex": "nominal"}, levels={"sex": ["f", "m"]})
    with pytest.raises(ColumnError, match="1 others") as caught:
        ratio_weights(existing.select("sex"), existing.select("sex"), declared, members.select("sex"))
    assert "SENTINEL" not in str(caught.value)
    new = existing.with_columns(sex=pl.lit("other"))
    with pytest.raises(ColumnError, match="'other'.*against 'f', 'm'") as caught:
        ratio_weights(existing, new, SCHEMA, members)
    assert "SENTINEL" not in str(caught.value)


def test_numbers_and_texts_of_the_same_level_agree():
    existing, new = people(1, 200, P), people(2, 200, Q)
    plain = ratio_weights(existing, new, SCHEMA)
    as_float = ratio_weights(existing, new.with_columns(pl.col("age").cast(pl.Float64)), SCHEMA)
    as_text = ratio_weights(existing, new.with_columns(pl.col("age").cast(pl.String)), SCHEMA)
    assert np.array_equal(plain.values, as_float.values)
    assert np.array_equal(plain.values, as_text.values)


def test_a_missing_category_is_a_level_of_its_own():
    schema = Schema.of(quasi=["town"])
    existing = pl.DataFrame({"town": ["a"] * 60 + [None] * 40})
    new = pl.DataFrame({"town": ["a"] * 20 + [None] * 80})
    w = ratio_weights(existing, new, schema)
    assert w.values[0] == pytest.approx(1 / 3)
    assert w.values[-1] == pytest.approx(2)
    assert {row.level for row in w.balance} == {"a", "missing"}


def test_missing_numbers_follow_the_schema():
    rows = {"age": [1.0, None, 2.0, 1.0]}
    with pytest.raises(ColumnError, match="new market.*missing numbers"):
        ratio_weights(pl.DataFrame({"age": [1.0, 2.0]}), pl.DataFrame(rows), Schema.of(quasi=["age"]))
    columns = Schema.of(quasi=["age"], missing={"age": "drop"})
    w = ratio_weights(pl.DataFrame(rows), pl.DataFrame({"age": [1.0, 2.0]}), columns)
    assert w.values[1] == 0
    assert len(w.values) == 4
    assert w.n == 3


def test_many_numbers_are_cut_into_bins():
    rng = np.random.default_rng(0)
    existing, new = pl.DataFrame({"x": rng.normal(0, 1, 4000)}), pl.DataFrame({"x": rng.normal(0.5, 1, 4000)})
    w = ratio_weights(existing, new, Schema.of(quasi=["x"]), bins=15)
    assert len(np.unique(w.values)) == 15
    truth = np.exp(0.5 * existing["x"].to_numpy() - 0.125)
    assert np.corrcoef(w.values, truth)[0, 1] > 0.9
    assert np.average(existing["x"].to_numpy(), weights=w.values) == pytest.approx(0.5, abs=0.1)


def test_members_where_the_existing_market_has_nobody_weigh_nothing():
    members = people(3, 100, P)
    existing, new = people(1, 300, [4, 4, 3, 3, 2, 2, 0, 0]), people(2, 300, [4, 4, 3, 3, 2, 2, 0, 0])
    w = ratio_weights(existing, new, SCHEMA, members)
    outside = (members["age"] == 3).to_numpy()
    assert (w.values[outside] == 0).all()
    assert w.unmatched_share == pytest.approx(outside.mean())
    assert any("they weigh 0" in note for note in w.notes)


def test_all_weights_zero():
    members = pl.DataFrame({"age": [3] * 10, "sex": ["f"] * 10, "w": [1.0] * 10})
    with pytest.raises(InputError, match="must not all be 0"):
        ratio_weights(people(1, 200, P), people(2, 200, [1, 1, 1, 1, 1, 1, 0, 0]), SCHEMA, members)
    with pytest.raises(ColumnError, match="not all 0"):
        ratio_weights(people(1, 200, P).with_columns(w=pl.lit(0.0)), people(2, 200, P), SCHEMA)


def test_logistic_equals_ratio_for_one_binary_covariate():
    schema = Schema.of(quasi=["sex"], weight="w", kinds={"sex": "nominal"})
    existing, new = people(1, 300, P, True).drop("age"), people(2, 200, Q, True).drop("age")
    assert np.allclose(
        logistic_weights(existing, new, schema).values, ratio_weights(existing, new, schema).values, atol=1e-6
    )


@pytest.mark.parametrize("coding", ["dummy", "numeric"])
def test_logistic_against_scikit_learn(coding):
    from sklearn.linear_model import LogisticRegression

    existing, new = people(1, 900, P, True), people(2, 700, Q, True)
    both = pl.concat([existing, new])
    age, sex = both["age"].to_numpy(), (both["sex"] == "m").to_numpy().astype(float)
    X = np.column_stack((age, sex)) if coding == "numeric" else np.column_stack([*(age == i for i in (1, 2, 3)), sex])
    market = np.repeat([0, 1], [900, 700])
    v = np.concatenate([f["w"].to_numpy() / f["w"].sum() for f in (existing, new)]) * 1000
    fit = LogisticRegression(C=1e9, tol=1e-10, max_iter=2000).fit(X, market, sample_weight=v)
    odds = np.exp(X[:900] @ fit.coef_[0])
    expected = odds * existing["w"].sum() / (odds @ existing["w"].to_numpy())
    found = logistic_weights(existing, new, SCHEMA, coding=coding).values
    assert np.allclose(found, expected, rtol=1e-3)


def test_logistic_recovers_a_loglinear_ratio_exactly_in_the_limit():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 5, 100_000)
    tilt = np.exp(0.4 * x)
    new = rng.choice(x, 100_000, p=tilt / tilt.sum())
    schema = Schema.of(quasi=["x"], kinds={"x": "ordinal"})
    w = logistic_weights(pl.DataFrame({"x": x}), pl.DataFrame({"x": new}), schema)
    assert np.allclose(w.values, tilt / tilt.mean(), rtol=0.05)


def test_every_dataframe(make_frame):
    existing, new = people(1, 100, P), people(2, 100, Q)
    plain = ratio_weights(existing, new, SCHEMA, limit=0.5)
    assert np.array_equal(ratio_weights(make_frame(existing), make_frame(new), SCHEMA, limit=0.5).values, plain.values)


def test_bad_parameters():
    existing, new = people(1, 50, P), people(2, 50, P)
    for words in ({"smoothing": -1.0}, {"cap": 0.5}, {"bins": 1}, {"limit": 2.0}):
        with pytest.raises(ParameterError, match=next(iter(words))):
            ratio_weights(existing, new, SCHEMA, **words)
    with pytest.raises(ParameterError, match="coding"):
        logistic_weights(existing, new, SCHEMA, coding="other")
    with pytest.raises(SchemaError, match="new market.*'sex'"):
        ratio_weights(existing, new.drop("sex"), SCHEMA)
    with pytest.raises(InputError, match="at least one row"):
        ratio_weights(existing, new.head(0), SCHEMA)
    with pytest.raises(SchemaError, match="quasi-identifier"):
        ratio_weights(existing, new, Schema.of(weight="w"))


def test_to_dict_is_json_and_holds_no_single_weight():
    import json

    w = ratio_weights(people(1, 50, P), people(2, 50, P), SCHEMA, limit=1.0)
    words = json.loads(json.dumps(w.to_dict()))
    assert "values" not in words
    assert words["n"] == 50
