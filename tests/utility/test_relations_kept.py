"""Relations kept: slopes and coefficients before and after, against loops and formulas written down again."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.utility.design import designs
from shoal.utility.relations_kept import coefficients, slopes
from shoal.utility.tables import both_columns, side_by_side


def planted(n=5000, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 8))
    noise = np.random.default_rng(seed + 1).normal(size=n)
    return pl.DataFrame(x, schema=[f"x{i}" for i in range(1, 9)]).with_columns(s=2 * x[:, 0] + noise)


PLANTED = shoal.Schema.of(quasi=[f"x{i}" for i in range(1, 9)], sensitive=["s"])


def survey(n=2000, seed=3):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    town = rng.choice(["Alba", "Boro", "Cove"], n)
    cost = 10 * age + 200 * (town == "Boro") + rng.exponential(100, n)
    ill = np.where(rng.random(n) < 0.1 + 0.005 * (age - 20), "yes", "no")
    return pl.DataFrame({"age": age, "town": town, "cost": cost, "ill": ill})


SURVEY = shoal.Schema.of(quasi=["age", "town"], sensitive=["cost", "ill"])


# --- The kernels against independent code


@pytest.mark.parametrize("seed", range(4))
def test_a_slope_and_its_error_are_those_of_a_weighted_regression(seed):
    rng = np.random.default_rng(seed)
    x, y, w = rng.normal(size=40), rng.normal(size=(40, 3)), rng.uniform(0.5, 2, 40)
    x[3], y[5, 1] = np.nan, np.nan
    found, errors = slopes(x, y, w)
    for j in range(3):
        known = ~np.isnan(x) & ~np.isnan(y[:, j])
        X = np.column_stack([np.ones(known.sum()), x[known]])
        bread = np.linalg.inv(X.T @ (w[known, None] * X))
        b = bread @ X.T @ (w[known] * y[known, j])
        u = w[known] * (y[known, j] - X @ b)
        meat = X.T @ (u[:, None] ** 2 * X)
        assert found[j] == pytest.approx(b[1])
        assert errors[j] == pytest.approx(np.sqrt((bread @ meat @ bread)[1, 1]))


def test_a_constant_has_no_slope():
    found, _ = slopes(np.full(10, 3.7), np.arange(10.0).reshape(-1, 1), np.ones(10))
    assert np.isnan(found).all()


def test_coefficients_are_those_of_weighted_least_squares():
    columns = [one for one in both_columns(side_by_side(survey(), survey(), SURVEY)) if one.role == "quasi"]
    design, _, _ = designs(columns, "numeric")
    rng = np.random.default_rng(4)
    y, w = rng.normal(size=(design.n, 2)), rng.uniform(0.5, 2, design.n)
    y[:300, 1] = np.nan
    found, errors = coefficients(design, y, w)
    X = design.rows(0, design.n)
    for j in range(2):
        known = ~np.isnan(y[:, j])
        bread = np.linalg.inv(X[known].T @ (w[known, None] * X[known]))
        b = bread @ X[known].T @ (w[known] * y[known, j])
        A = X[known] @ bread
        se = np.sqrt((((w[known] * (y[known, j] - X[known] @ b))[:, None] * A) ** 2).sum(axis=0))
        np.testing.assert_allclose(found[j][1:], b[1:])  # of a centred outcome only the intercept differs
        np.testing.assert_allclose(errors[j], se)


def test_collinear_columns_have_no_coefficient():
    table = survey().drop("ill").with_columns(days=pl.col("age") * 365)
    schema = shoal.Schema.of(quasi=["age", "days", "town"], sensitive=["cost"])
    found = shoal.utility.relations(table, table, schema)
    assert found.n_multiple == 2, "only the two contrasts of towns are determined"


def test_the_worst_slope_is_the_one_that_a_loop_finds():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, 4))
    table = pl.DataFrame(x, schema=["a", "b", "c", "d"]).with_columns(
        s=pl.Series(x @ [1, 2, 3, 4] + rng.normal(size=3000)), t=pl.Series(x @ [4, -3, 2, 1] + rng.normal(size=3000))
    )
    schema = shoal.Schema.of(quasi=["a", "b", "c", "d"], sensitive=["s", "t"])
    released = table.with_columns(b=pl.col("b").shuffle(seed=1), c=pl.col("c") * 1.2)
    found = shoal.utility.relations(table, released, schema)
    changes = {}
    for i in "abcd":
        for j in "st":
            b, c = (np.polyfit(frame[i].to_numpy(), frame[j].to_numpy(), 1)[0] for frame in (table, released))
            changes[j, i] = abs(1 - c / b)
    ranked = sorted(changes, key=changes.get, reverse=True)
    assert [(one.of, one.by) for one in found.worst[:2]] == ranked[:2]
    assert {one.by for one in found.worst[:2]} == {"b"}


# --- What the method sheet says


def test_a_copy_keeps_all():
    found = shoal.utility.relations(planted(), planted(), PLANTED)
    assert (found.within, found.kept, found.multiple_within, found.multiple_kept) == (1, 1, 1, 1)


def test_a_bootstrap_keeps_nearly_all():
    table = survey(4000)
    found = shoal.utility.relations(table, table.sample(4000, with_replacement=True, seed=5), SURVEY)
    assert 0.9 < found.kept < 1.1
    assert found.within >= 0.6
    assert found.chance_within > 0.85


def test_columns_shuffled_apart_keep_nothing():
    table = planted()
    apart = table.select(column.shuffle(seed=i) for i, column in enumerate(table))
    assert abs(shoal.utility.relations(table, apart, PLANTED).kept) < 0.05


@pytest.mark.parametrize(("group", "kept"), [(shoal.KMember(k=5), 0.82)])
def test_the_dither_loses_what_the_sheet_says(group, kept):
    release = shoal.anonymize(planted(), PLANTED, group=group, mask=shoal.GaussianDither(), seed=1)
    found = shoal.utility.relations(release.original, release.table, PLANTED, release.source_rows)
    assert found.kept == pytest.approx(kept, abs=0.02)
    assert (found.worst[0].of, found.worst[0].by) == ("s", "x1")


# --- Just inside, just outside


@pytest.mark.parametrize(("shift", "within"), [(1.99, 1.0), (2.01, 0.0)])
def test_within_is_two_standard_errors(shift, within):
    table = planted().select("x1", "s")
    schema = shoal.Schema.of(quasi=["x1"], sensitive=["s"])
    error = shoal.utility.relations(table, table, schema).worst[0].error
    moved = table.with_columns(s=pl.col("s") + shift * error * pl.col("x1"))
    assert shoal.utility.relations(table, moved, schema).within == within


@pytest.mark.parametrize(("n", "slopes_found"), [(49, 0), (50, 1)])
def test_a_level_of_fewer_than_fifty_has_no_slope(n, slopes_found):
    table = pl.DataFrame({"town": ["Alba"] * n + ["Boro"] * 300, "cost": np.arange(n + 300.0)})
    found = shoal.utility.relations(table, table, shoal.Schema.of(quasi=["town"], sensitive=["cost"]))
    assert found.n_slopes == slopes_found
    assert (found.why is None) == bool(slopes_found)


def test_what_the_release_loses_counts_as_lost():
    table = planted().select("x1", "s")
    schema = shoal.Schema.of(quasi=["x1"], sensitive=["s"])
    found = shoal.utility.relations(table, table.with_columns(x1=pl.lit(0.0)), schema)
    assert (found.within, found.kept) == (0.0, 0.0)


def test_no_sensitive_column_is_not_measured():
    table = planted().drop("s")
    schema = shoal.Schema.of(quasi=table.columns)
    found = shoal.utility.relations(table, table, schema)
    assert found.kept is None
    assert "no sensitive column" in found.why


def test_missing_values_are_left_out_of_their_slope():
    table = survey()
    holes = table.with_columns(
        cost=pl.when(pl.Series(np.random.default_rng(1).random(2000) < 0.2)).then(None).otherwise("cost")
    )
    schema = SURVEY.with_columns([shoal.schema.Column(name="cost", role="sensitive", kind="numeric", missing="level")])
    found = shoal.utility.relations(holes, holes, schema)
    assert found.kept == 1.0
    assert found.multiple_within == 1.0


def test_weights_count():
    table = survey().with_columns(w=pl.when(pl.col("age") > 50).then(3.0).otherwise(1.0))
    schema = shoal.Schema.of(quasi=["age", "town"], sensitive=["cost", "ill"], weight="w")
    repeated = pl.concat([table, *[table.filter(pl.col("age") > 50)] * 2]).with_columns(w=pl.lit(1.0))
    found = shoal.utility.relations(table, repeated, schema)
    assert found.kept == pytest.approx(1.0)
    assert found.within == 1.0
