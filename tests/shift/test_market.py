"""Market risk against hand-computed cases, known densities, and bad input."""

import json

import numpy as np
import polars as pl
import pytest

from shoal import Schema
from shoal.errors import ColumnError, InputError, ParameterError, SchemaError
from shoal.shift import MarketRisk, group_error, rank_markets

SCHEMA = Schema.of(
    quasi=["age", "sex"],
    sensitive=["cost"],
    weight="w",
    kinds={"age": "ordinal", "sex": "nominal"},
    levels={"age": [0, 1, 2, 3], "sex": ["f", "m"]},
)
EXISTING = np.array([0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05])
NEW = np.array([0.05, 0.1, 0.1, 0.1, 0.15, 0.2, 0.15, 0.15])
CHANCE = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.3, 0.2, 0.1])
COST = np.array([1.0, 1.2, 1.5, 2.5, 2.2, 3.0, 5.0, 4.0]) * 1000


def table(cells, cost=None, w=None):
    frame = pl.DataFrame({"age": cells // 2, "sex": np.where(cells % 2 == 0, "f", "m")})
    frame = frame.with_columns(w=pl.Series(np.ones(len(cells)) if w is None else w))
    return frame if cost is None else frame.with_columns(cost=pl.Series(cost))


def draw(rng, shares, n):
    return rng.choice(8, n, p=shares / shares.sum())


def scene(seed=0, n=600):
    rng = np.random.default_rng(seed)
    members = draw(rng, EXISTING * CHANCE, n)
    cost = rng.gamma(0.5, COST[members] / 0.5)
    new = draw(rng, NEW, 1500)
    return table(members, cost), table(draw(rng, EXISTING, 2000)), table(new), CHANCE[new], rng


def test_a_saturated_ratio_prediction_by_hand():
    members = table(np.repeat([0, 1], [20, 20]), np.repeat([100.0, 300.0], 20))
    existing, new = table(np.repeat([0, 1], [50, 50])), table(np.repeat([0, 1], [10, 30]))
    result = MarketRisk().fit(members, existing, SCHEMA).assess(new, bootstrap=20)
    assert result.mean == pytest.approx(0.25 * 100 + 0.75 * 300)
    assert result.total == pytest.approx(250 * 40)
    assert result.weighted_member_mean == pytest.approx(250)
    assert result.weights.values[[0, -1]] == pytest.approx([0.5, 1.5])
    assert result.r_squared == pytest.approx(1)
    by_level = {segment.level: segment for segment in result.segments if segment.column == "sex"}
    assert by_level["f"].mean == pytest.approx(100)
    assert by_level["m"].share == pytest.approx(0.75)


def test_survey_weights_count_in_all_three_tables():
    rng = np.random.default_rng(1)
    cells = [draw(rng, share, n) for share, n in ((EXISTING, 80), (EXISTING, 150), (NEW, 120))]
    copies = [rng.integers(1, 4, len(c)) for c in cells]
    cost = rng.gamma(1, 1000, 80)
    weighted = [table(c, w=k.astype(float)) for c, k in zip(cells, copies, strict=True)]
    repeated = [table(np.repeat(c, k)) for c, k in zip(cells, copies, strict=True)]
    weighted[0] = weighted[0].with_columns(cost=pl.Series(cost))
    repeated[0] = repeated[0].with_columns(cost=pl.Series(np.repeat(cost, copies[0])))
    for shift in ("none", "ratio", "logistic"):
        risk = MarketRisk(shift=shift, coding="numeric", limit=0.5)
        one = risk.fit(weighted[0], weighted[1], SCHEMA).assess(weighted[2], bootstrap=2)
        two = risk.fit(repeated[0], repeated[1], SCHEMA).assess(repeated[2], bootstrap=2)
        assert one.mean == pytest.approx(two.mean, rel=1e-6)
        assert one.weights.uncovered_share == pytest.approx(two.weights.uncovered_share)
        assert one.group_size == pytest.approx(two.group_size)


def test_predictions_converge_to_those_of_the_exact_densities():
    """The numeric model is wrong here, so its limit depends on what it is trained on: p without weights, q with."""
    hump = np.array([1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 1.0, 1.0]) * 1000
    rng = np.random.default_rng(5)
    members = draw(rng, EXISTING * CHANCE, 200_000)
    new = draw(rng, NEW, 200_000)
    tables = table(members, rng.gamma(2, hump[members] / 2)), table(draw(rng, EXISTING, 200_000))
    Z = np.column_stack((np.ones(8), np.arange(8) // 2, np.arange(8) % 2))
    target = NEW * CHANCE / (NEW @ CHANCE)
    for shift, mass in (("none", EXISTING * CHANCE), ("ratio", NEW * CHANCE)):
        beta = np.linalg.solve((Z * mass[:, None]).T @ Z, Z.T @ (mass * hump))
        risk = MarketRisk(shift=shift, coding="numeric").fit(*tables, SCHEMA)
        result = risk.assess(table(new), enrolment=CHANCE[new], bootstrap=2)
        assert result.mean == pytest.approx(target @ Z @ beta, rel=0.01)
        if shift == "ratio":
            assert result.mean == pytest.approx(target @ hump, rel=0.01)
        else:
            assert abs(result.mean - target @ hump) > 0.05 * (target @ hump)


def test_enrolment_like_the_members_estimates_the_known_one():
    members, existing, new, chance, _ = scene(seed=6, n=20_000)
    risk = MarketRisk().fit(members, existing, SCHEMA)
    known = risk.assess(new, enrolment=chance, bootstrap=2)
    likely = risk.assess(new, enrolment="members", group_size=100, bootstrap=2)
    everybody = risk.assess(new, bootstrap=2)
    column = risk.assess(new.with_columns(chance=pl.Series(chance)), enrolment="chance", bootstrap=2)
    assert likely.mean == pytest.approx(known.mean, rel=0.03)
    assert abs(everybody.mean - known.mean) > 0.05 * known.mean
    assert column.mean == known.mean
    assert column.group_size == pytest.approx(chance.sum())
    assert "everybody enrolling alike" in everybody.notes[-1]


@pytest.mark.parametrize("m", [50, 100_000])
def test_the_interval_holds_the_actual_mean_cost(m):
    """95 % nominal; 40 repeats fall below 32 with probability 0.0001 at 95 %, 0.004 at 92 %."""
    held = 0
    for seed in range(40):
        members, existing, new, chance, rng = scene(seed)
        risk = MarketRisk().fit(members, existing, SCHEMA)
        result = risk.assess(new, enrolment=chance, group_size=m, bootstrap=20, seed=seed)
        actual = draw(rng, NEW * CHANCE, m)
        held += result.interval[0] <= rng.gamma(0.5, COST[actual] / 0.5).mean() <= result.interval[1]
    assert held >= 32


def test_the_error_is_equation_3_6():
    members, existing, new, chance, _ = scene()
    result = MarketRisk().fit(members, existing, SCHEMA).assess(new, enrolment=chance, group_size=400, bootstrap=30)
    scaled = result.cv_squared * (result.weighted_member_mean / result.mean) ** 2
    assert result.relative_error == pytest.approx(group_error(400, result.relative_bias, result.r_squared, scaled))
    half = (result.interval[1] - result.interval[0]) / 2
    assert half == pytest.approx(1.96 * result.relative_error * result.mean)
    low, high = result.sampling_interval
    assert result.interval[0] < low < result.mean < high < result.interval[1]


def test_cost_factor_scales_everything_and_group_size_narrows():
    members, existing, new, _, _ = scene()
    risk = MarketRisk().fit(members, existing, SCHEMA)
    plain, dear = risk.assess(new, bootstrap=10), risk.assess(new, cost_factor=1.5, bootstrap=10)
    assert dear.mean == pytest.approx(1.5 * plain.mean)
    assert dear.interval == pytest.approx([1.5 * end for end in plain.interval])
    assert dear.relative_error == pytest.approx(plain.relative_error)
    small, large = (risk.assess(new, group_size=m, bootstrap=10) for m in (10, 10_000))
    assert small.interval[1] - small.interval[0] > 2 * (large.interval[1] - large.interval[0])
    assert large.total == pytest.approx(large.mean * 10_000)


def test_segments_add_up():
    members, existing, new, chance, _ = scene()
    result = MarketRisk().fit(members, existing, SCHEMA).assess(new, enrolment=chance, bootstrap=5)
    for column in SCHEMA.quasi:
        parts = [segment for segment in result.segments if segment.column == column]
        assert sum(segment.share for segment in parts) == pytest.approx(1)
        assert sum(segment.total for segment in parts) == pytest.approx(result.total)
        assert sum(segment.n_members for segment in parts) == 600


def test_two_populations_weigh_towards_the_new_table_itself():
    members, _, new, _, _ = scene(n=2000)
    result = MarketRisk(coding="numeric").fit(members, None, SCHEMA).assess(new, bootstrap=2)
    shares = {row.level: row for row in result.weights.balance if row.column == "age"}
    assert all(row.weighted_members == pytest.approx(row.new, abs=1e-9) for row in shares.values())


def test_fit_can_be_called_on_its_own_line_and_repeats_with_a_seed():
    members, existing, new, _, _ = scene()
    risk = MarketRisk()
    with pytest.raises(ParameterError, match="fit"):
        risk.assess(new)
    risk.fit(members, existing, SCHEMA)
    one, two = risk.assess(new, seed=3, bootstrap=5), risk.assess(new, seed=3, bootstrap=5)
    assert one.to_dict() == two.to_dict()
    assert risk.assess(new, seed=4, bootstrap=5).interval != one.interval


@pytest.mark.parametrize("model", ["two-part", "tweedie", "gamma", "log", "multiplicative"])
def test_named_models(model):
    members, existing, new, chance, _ = scene(n=2000)
    result = MarketRisk(model=model).fit(members, existing, SCHEMA).assess(new, enrolment=chance, bootstrap=3)
    truth = float(NEW * CHANCE @ COST / (NEW @ CHANCE))
    assert result.mean == pytest.approx(truth, rel=0.2)
    assert model in result.method


def test_a_scikit_learn_regressor():
    from sklearn.tree import DecisionTreeRegressor

    members, existing, new, _, _ = scene()
    risk = MarketRisk(model=DecisionTreeRegressor(max_depth=3)).fit(members, existing, SCHEMA)
    result = risk.assess(new, bootstrap=3)
    assert "DecisionTreeRegressor" in result.method
    assert result.r_squared < 0.5


def test_every_dataframe(make_frame):
    members, existing, new, _, _ = scene()
    plain = MarketRisk().fit(members, existing, SCHEMA).assess(new, bootstrap=2)
    other = MarketRisk().fit(make_frame(members), make_frame(existing), SCHEMA).assess(make_frame(new), bootstrap=2)
    assert other.to_dict() == plain.to_dict()


def test_a_release_stands_for_its_table():
    import shoal

    members, existing, new, _, _ = scene()
    release = shoal.anonymize(members, SCHEMA, group=shoal.KMember(k=5), mask=shoal.Resample(replace=False), seed=1)
    result = MarketRisk().fit(release, existing, SCHEMA).assess(new, bootstrap=5)
    raw = MarketRisk().fit(members, existing, SCHEMA).assess(new, bootstrap=5)
    assert result.mean == pytest.approx(raw.mean, rel=0.1)
    assert MarketRisk().fit(release.table, existing, SCHEMA).assess(new, bootstrap=5).mean == result.mean


def test_ranks_share_the_common_error():
    members, existing, new, _, _ = scene()
    risk = MarketRisk().fit(members, existing, SCHEMA)
    near = new.with_columns(w=pl.when(pl.col("age") == 3).then(1.3).otherwise(1.0))
    markets = [risk.assess(t, name=n, bootstrap=40) for n, t in (("b", near), ("a", new))]
    ranks = rank_markets(markets)
    assert [rank.assessment.name for rank in ranks] == ["a", "b"]
    assert [(rank.rank, rank.low, rank.high) for rank in ranks] == [(1, 1, 1), (2, 2, 2)]
    low, high = markets[1].sampling_interval
    assert low < markets[0].mean < high  # unpaired, the two could not be told apart


def test_a_level_no_member_has_is_told_then_refused():
    members, existing, new, _, _ = scene()
    young = members.filter(pl.col("age") < 3)
    with pytest.raises(InputError, match="column 'age', '3'"):
        MarketRisk().fit(young, existing, SCHEMA).assess(new, bootstrap=2)
    result = MarketRisk(limit=0.5).fit(young, existing, SCHEMA).assess(new, bootstrap=2)
    assert any("No member has age = '3'" in note for note in result.notes)
    assert result.weights.unreached_share > 0.2


def test_a_rare_new_level_is_a_note():
    schema = Schema.of(quasi=["town"], sensitive=["cost"], kinds={"town": "nominal"})
    rng = np.random.default_rng(0)
    here = pl.DataFrame({"town": rng.choice(["a", "b"], 200), "cost": rng.gamma(1, 100, 200)})
    new = pl.DataFrame({"town": ["a"] * 90 + ["c"] * 5})
    result = MarketRisk().fit(here, here.drop("cost"), schema).assess(new, bootstrap=2)
    assert result.weights.uncovered_share == pytest.approx(5 / 95)
    with pytest.raises(ColumnError, match="'town'.*'c'"):
        MarketRisk().fit(here, here, schema).assess(pl.DataFrame({"town": ["a"] * 5 + ["c"] * 5}), bootstrap=2)


def test_bad_tables():
    members, existing, new, _, _ = scene()
    risk = MarketRisk()
    with pytest.raises(InputError, match="members: must be at least 30; got 29"):
        risk.fit(members.head(29), existing, SCHEMA)
    with pytest.raises(SchemaError, match="existing market.*'age'"):
        risk.fit(members, existing.drop("age"), SCHEMA)
    with pytest.raises(SchemaError, match="members.*'cost'"):
        risk.fit(members.drop("cost"), existing, SCHEMA)
    with pytest.raises(ColumnError, match="existing market.*not all 0"):
        risk.fit(members, existing.with_columns(w=pl.lit(0.0)), SCHEMA)
    with pytest.raises(ColumnError, match="not all 0"):
        risk.fit(members.with_columns(w=pl.lit(0.0)), existing, SCHEMA)
    holes = members.with_columns(cost=pl.when(pl.col("age") > 2).then(None).otherwise(pl.col("cost")))
    with pytest.raises(ColumnError, match="'cost'.*missing") as caught:
        risk.fit(holes, existing, SCHEMA)
    assert "drop" in str(caught.value)
    fitted = risk.fit(members, existing, SCHEMA)
    with pytest.raises(ColumnError, match="'sex'.*new market.*'female'.*lists 'f', 'm'"):
        fitted.assess(new.with_columns(sex=pl.lit("female")))


def test_costs_the_model_cannot_take():
    members, existing, _, _, _ = scene()
    zero = members.with_columns(cost=pl.when(pl.col("age") > 2).then(0.0).otherwise(pl.col("cost")))
    with pytest.raises(ColumnError, match="'gamma'.*at 0 or below"):
        MarketRisk(model="gamma").fit(zero, existing, SCHEMA)
    MarketRisk(model="two-part").fit(zero, existing, SCHEMA)
    with pytest.raises(ColumnError, match="below 0"):
        MarketRisk(model="two-part").fit(zero.with_columns(cost=pl.col("cost") - 1), existing, SCHEMA)


def test_bad_parameters():
    members, existing, new, chance, _ = scene()
    for words in ({"shift": "other"}, {"coding": "one-hot"}, {"smoothing": -1}, {"cap": 0.2}, {"model": "ols"}):
        with pytest.raises(ParameterError, match=next(iter(words))):
            MarketRisk(**words).fit(members, existing, SCHEMA)
    fitted = MarketRisk().fit(members, existing, SCHEMA)
    for words in ({"group_size": 0}, {"cost_factor": 0}, {"cost_factor": float("nan")}, {"bootstrap": 1}):
        with pytest.raises(ParameterError, match=next(iter(words))):
            fitted.assess(new, **words)
    with pytest.raises(ParameterError, match="enrolment"):
        fitted.assess(new, enrolment="nowhere")
    with pytest.raises(InputError, match="one probability for each row"):
        fitted.assess(new, enrolment=chance[:5])
    with pytest.raises(InputError, match="from 0 to 1"):
        fitted.assess(new, enrolment=chance * 10)
    with pytest.raises(InputError, match="not all 0"):
        fitted.assess(new, enrolment=chance * 0)


def test_several_sensitive_columns_need_a_name():
    members, existing, new, _, _ = scene()
    two = Schema.of(
        quasi=["age", "sex"],
        sensitive=["cost", "other"],
        weight="w",
        kinds={"age": "ordinal", "sex": "nominal", "cost": "numeric", "other": "numeric"},
    )
    wide = members.with_columns(other=pl.col("cost") * 2)
    with pytest.raises(SchemaError, match="response"):
        MarketRisk().fit(wide, existing, two)
    one = MarketRisk(response="cost").fit(wide, existing, two).assess(new, bootstrap=2)
    double = MarketRisk(response="other").fit(wide, existing, two).assess(new, bootstrap=2)
    assert double.mean == pytest.approx(2 * one.mean)
    with pytest.raises(SchemaError, match="sensitive"):
        MarketRisk(response="age").fit(wide, existing, two)


def test_constant_costs_and_single_combination():
    members = table(np.zeros(40, dtype=int), np.full(40, 7.0))
    result = MarketRisk().fit(members, table(np.zeros(50, dtype=int)), SCHEMA).assess(table(np.zeros(9, dtype=int)))
    assert result.mean == pytest.approx(7)
    assert result.interval == pytest.approx((7, 7))
    assert json.loads(json.dumps(result.to_dict()))["r_squared"] is None


def test_input_is_untouched():
    members, existing, new, _, _ = scene()
    before = members.clone()
    MarketRisk().fit(members, existing, SCHEMA).assess(new, bootstrap=2)
    assert members.equals(before)
