import numpy as np
import polars as pl
import pytest

from shoal import ColumnError, GuaranteeError, ParameterError, Schema
from shoal.datasets import health_survey
from shoal.dp import Budget
from shoal.synth import MarginalBootstrap, MultipleImputation, PerturbedImputation, combine
from shoal.synth.multiple_imputation import linear_draw
from shoal.synth.perturbed_imputation import solve_logistic

SURVEY = health_survey(800, seed=3).drop("weight")
LEVELS = {"gender": ["female", "male"], "age_group": range(8), "education": range(6), "income": range(5)}
SCHEMA = Schema.of(quasi=list(LEVELS), sensitive=["cost"], levels=LEVELS, edges={"cost": [0, 1, 1000, 5000, 10**7]})


def margins(rows, name):
    return dict(rows[name].value_counts(normalize=True).iter_rows())


def test_perturbed_imputation_keeps_shares_at_large_epsilon_and_none_at_small():
    loud = PerturbedImputation(epsilon=200.0, missing="refuse", fit_rows=200).fit(SURVEY, SCHEMA, seed=1)
    rows = loud.sample(2000)
    assert margins(rows, "gender")["female"] == pytest.approx(margins(SURVEY, "gender")["female"], abs=0.1)
    assert rows.filter(pl.col("cost") == 0).height / 2000 == pytest.approx(0.17, abs=0.1)
    quiet = PerturbedImputation(epsilon=0.1, missing="refuse", fit_rows=50).fit(SURVEY, SCHEMA, seed=1)
    assert margins(quiet.sample(2000), "income")[0] == pytest.approx(0.2, abs=0.05)


def test_perturbed_imputation_is_priced_by_row():
    model = PerturbedImputation(epsilon=2.0, fit_rows=50).fit(SURVEY, SCHEMA, seed=1)
    model.sample(10)
    assert model.spent == Budget(epsilon=20)
    assert [claim.scope for claim in model.claims] == ["per row", "per data set"]
    model.sample(10, seed=1)
    assert model.claims == ()
    with pytest.raises(GuaranteeError):
        model.save("never.json")
    assert PerturbedImputation(epsilon=2.0).price(5).per_data_set == Budget(epsilon=10)


def test_rows_have_no_gap_that_no_record_has():
    rows = PerturbedImputation(epsilon=1.0, fit_rows=50).fit(SURVEY, SCHEMA).sample(300)
    assert sum(rows.null_count().row(0)) == 0
    gap = SURVEY.with_columns(income=pl.when(pl.col("income") == 0).then(None).otherwise("income"))
    with pytest.raises(ColumnError, match="column 'income': has missing values .* missing='level'"):
        PerturbedImputation().fit(gap, SCHEMA)
    assert PerturbedImputation(missing="level", fit_rows=50).fit(gap, SCHEMA).sample(300)["income"].null_count() > 0


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_marginal_bootstrap(delta):
    model = MarginalBootstrap(epsilon=3.0, delta=delta, missing="refuse").fit(SURVEY, SCHEMA)
    rows = model.sample(3000, seed=1)
    assert margins(rows, "gender")["female"] == pytest.approx(margins(SURVEY, "gender")["female"], abs=0.1)
    assert model.claims[0].basis == "proved"
    assert abs(np.corrcoef(rows["education"], rows["income"])[0, 1]) < 0.15


def test_exact_margins_carry_no_claim_and_stay_inside(tmp_path):
    model = MarginalBootstrap(epsilon=None).fit(SURVEY, Schema.of(quasi=SURVEY.columns))
    assert model.claims == ()
    with pytest.raises(GuaranteeError):
        model.save(tmp_path / "m.json")


def test_multiple_imputation_keeps_means_and_ties():
    schema = Schema.of(quasi=list(LEVELS), sensitive=["cost"])
    model = MultipleImputation(K=4).fit(SURVEY, schema, seed=1)
    sets = model.sets(seed=2)
    assert [rows.shape for rows in sets] == [(800, 5)] * 4
    found = combine([rows["cost"].mean() for rows in sets], [rows["cost"].var() / 800 for rows in sets])
    assert found.estimate == pytest.approx(SURVEY["cost"].mean(), rel=0.25)
    ties = [np.corrcoef(rows["education"], rows["income"])[0, 1] for rows in sets]
    assert np.mean(ties) == pytest.approx(np.corrcoef(SURVEY["education"], SURVEY["income"])[0, 1], abs=0.15)
    assert model.claims == ()
    assert not model.releasable


def test_partially_synthetic_tables_keep_the_rest():
    schema = Schema.of(quasi=list(LEVELS), sensitive=["cost"])
    model = MultipleImputation(K=2, columns=["cost"], scores="raw").fit(SURVEY, schema, seed=1)
    rows = model.sample(seed=1)
    assert model.partial
    assert rows.drop("cost").equals(SURVEY.drop("cost"))
    assert not rows["cost"].equals(SURVEY["cost"])
    assert rows["cost"].dtype == SURVEY["cost"].dtype
    with pytest.raises(ParameterError, match="n must be omitted"):
        model.sample(5)
    with pytest.raises(ParameterError, match="no released column"):
        MultipleImputation(columns=["nobody"]).fit(SURVEY, schema)


def test_linear_draws_have_the_models_mean_and_spread():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 2))
    y = 1 + X @ [2.0, -1.0] + 0.5 * rng.normal(size=4000)
    drawn = linear_draw(X, y, X, rng)
    residual = drawn - (1 + X @ [2.0, -1.0])
    assert residual.mean() == pytest.approx(0, abs=0.05)
    assert residual.std() == pytest.approx(0.5, abs=0.03)


def test_copies_of_a_column_and_missing_numbers_are_no_obstacle():
    """A code beside its description makes the regression singular; a number may be missing for some."""
    rng = np.random.default_rng(5)
    n = 1500
    code = rng.integers(0, 4, n)
    zero = rng.random(n) < 0.4
    cost = np.where(zero, 0.0, np.exp(rng.normal(3 + code, 0.5)))
    gap = rng.random(n) < 0.1 + 0.2 * (code == 3)
    table = pl.DataFrame(
        {
            "code": code,
            "said": np.array(["a", "b", "c", "d"])[code],
            "twice": 2.0 * code,
            "double": 4.0 * code,
            "cost": pl.Series(cost).set(pl.Series(gap), None),
        }
    )
    kinds = {"code": "nominal", "said": "nominal"}
    schema = Schema.of(quasi=["code", "said"], sensitive=["twice", "double", "cost"], kinds=kinds)
    for scores in ("normal", "raw"):
        (rows, _) = MultipleImputation(K=2, scores=scores).fit(table, schema, seed=1).sets(n, seed=1)
        assert rows["cost"].null_count() == pytest.approx(gap.sum(), rel=0.3)
        late = rows.filter(pl.col("code") == 3)["cost"].is_null().mean()
        assert late > rows.filter(pl.col("code") < 3)["cost"].is_null().mean()
        assert rows["cost"].min() >= 0
        assert rows["cost"].max() <= cost.max()
    normal = MultipleImputation(K=2).fit(table, schema, seed=1).sample(n, seed=1)["cost"].drop_nulls()
    assert (normal == 0).mean() == pytest.approx(zero.mean(), abs=0.05)


def test_a_column_without_any_number_stays_without():
    table = pl.DataFrame({"a": ["x", "y"] * 20, "b": pl.Series([None] * 40, dtype=pl.Float64)})
    schema = Schema.of(quasi=["a"], sensitive=["b"], kinds={"a": "nominal", "b": "numeric"}, bounds={"b": (0, 1)})
    assert MultipleImputation(K=2).fit(table, schema, seed=1).sample(10, seed=1)["b"].null_count() == 10


def test_an_elastic_net_leaves_out_what_says_nothing():
    """x alone decides y; the other columns are noise. L1 sets their coefficients to exactly 0, ridge does not."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 8))
    y = (X[:, 0] + 0.3 * rng.standard_normal(400) > 0).astype(np.int64)
    net, ridge = (solve_logistic(X, y, 2, penalty)[0][1] for penalty in ("elastic-net", "ridge"))
    assert net[0] > 5 * np.abs(net[1:]).max()
    assert (ridge != 0).all()
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    rare = np.where(np.arange(400) == 0, 3, three)
    assert solve_logistic(X, three, 3, "elastic-net")[0].shape == (3, 8)
    assert solve_logistic(X, rare, 4, "elastic-net")[0].shape == (4, 8), "one row of a level can't be in every fold"
