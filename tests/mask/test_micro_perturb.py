"""Micro-perturbation: exactness, unbiasedness and the published bias, on value sets and through a release."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import MST, Schema, anonymize
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.errors import InputError, ParameterError
from shoal.mask import ValueSets
from shoal.mask.micro_perturb import MicroPerturb, _on_domain, inflation

MODES = ["published", "centred", "exact", "hybrid"]


def sets_of(table, labels, **schema):
    prepared = prepare(table, Schema.of(quasi=table.columns, **schema))
    encoder = Encoder.fit(prepared, table.columns)
    return ValueSets.of(encoder.codes(prepared.frame), np.asarray(labels), encoder)


def numbers(n=60, d=3, k=5, seed=0):
    """Correlated numbers in groups of neighbours, so that group means carry part of the covariance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 10 * np.arange(d)
    x = x[np.argsort(x[:, 0])]
    table = pl.DataFrame({f"x{j}": x[:, j] for j in range(d)})
    return sets_of(table, np.minimum(np.arange(n) // k, n // k - 1))


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("noise", ["centred", "exact"])
def test_group_means_are_kept(noise):
    sets = numbers()
    masked = MicroPerturb(noise=noise).draw(sets, np.random.default_rng(1))
    for g in range(len(sets.sizes)):
        rows = slice(sets.offsets[g], sets.offsets[g + 1])
        assert np.allclose(masked[rows].mean(axis=0), sets.values[rows].mean(axis=0), rtol=1e-12)
    assert not np.isclose(masked, sets.values, rtol=1e-9).any()


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(2, 7))
def test_exact_keeps_mean_and_covariance(seed, d, k):
    sets = numbers(n=70, d=d, k=k, seed=seed)
    masked = MicroPerturb(noise="exact").draw(sets, np.random.default_rng(seed))
    assert relative(masked.mean(axis=0), sets.values.mean(axis=0)) < 1e-9
    assert relative(np.atleast_2d(np.cov(masked.T)), np.atleast_2d(np.cov(sets.values.T))) < 1e-9


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(2, 7))
def test_hybrid_keeps_mean_and_covariance_of_every_group(seed, d, k):
    """R-microhybrid; of a group of two the records themselves come back, which is why it is only to compare with."""
    sets = numbers(n=70, d=d, k=k, seed=seed)
    masked = MicroPerturb(noise="hybrid").draw(sets, np.random.default_rng(seed))
    for first, last in pairwise(sets.offsets):
        was, now = sets.values[first:last], masked[first:last]
        assert relative(now.mean(axis=0), was.mean(axis=0)) < 1e-9
        assert np.abs(np.cov(now.T) - np.cov(was.T)).max() < 1e-9 * np.abs(sets.values).max() ** 2
        if last - first == 2:
            assert np.allclose(now[np.argsort(now[:, 0])], was[np.argsort(was[:, 0])])


@pytest.mark.parametrize("noise", MODES)
def test_a_library_that_turns_axes_round_changes_nothing(noise, monkeypatch):
    sets, eigh, svd = numbers(), np.linalg.eigh, np.linalg.svd

    def turned(gram):
        values, vectors = eigh(gram)
        return values, vectors * [-1, 1, -1]

    def both_turned(unit, full_matrices):
        left, sizes, axes = svd(unit, full_matrices=full_matrices)
        return -left, sizes, -axes

    before = MicroPerturb(noise=noise).draw(sets, np.random.default_rng(2))
    monkeypatch.setattr(np.linalg, "eigh", turned)  # as other processors' libraries do
    monkeypatch.setattr(np.linalg, "svd", both_turned)
    assert np.allclose(MicroPerturb(noise=noise).draw(sets, np.random.default_rng(2)), before, rtol=1e-12)


def test_exact_on_wild_scales_collinear_and_constant_columns():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    table = pl.DataFrame(
        {
            "tiny": 1e-9 * x + 1e-9 * rng.normal(size=200),
            "huge": 1e9 * (x + rng.normal(size=200)),
            "twice": 2 * x,
            "same": np.full(200, 7.0),
            "copy": 2 * x + 1,
            "skewed": np.exp(3 * rng.normal(size=200)),
        }
    )
    sets = sets_of(table, np.argsort(np.argsort(x)) // 4)
    masked = MicroPerturb(noise="exact").draw(sets, np.random.default_rng(1))
    expected, found = np.cov(sets.values.T), np.cov(masked.T)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.nanmax(np.abs(found - expected) / np.where(scale > 0, scale, np.nan)) < 1e-9
    assert np.allclose(masked.mean(axis=0), sets.values.mean(axis=0), rtol=1e-9)
    assert (masked[:, 3] == 7.0).all()


def test_bias_of_the_three_modes_over_2000_draws():
    sets = numbers(n=40, d=2, k=4)
    expected = np.cov(sets.values.T)
    rise = inflation(sets)
    for noise in MODES:
        draws = np.array(
            [np.cov(MicroPerturb(noise=noise).draw(sets, np.random.default_rng(i)).T) for i in range(2000)]
        )
        error = draws.std(axis=0) / np.sqrt(2000) + 1e-12
        bias = draws.mean(axis=0) - expected
        if noise == "published":
            assert (np.diag(bias) > 5 * np.diag(error)).any()
            assert (np.abs(np.diag(bias) - rise * np.diag(expected)) < 4.5 * np.diag(error)).all()
        else:
            assert (np.abs(bias) < 4.5 * error).all(), noise


def test_the_published_inflation_has_its_size():
    """6 to 11 % in the variances for k = 5 where grouping is by distance in a few columns."""
    rng = np.random.default_rng(2)
    table = pl.DataFrame({f"x{j}": rng.normal(size=400) for j in range(4)})
    labels = MST(k=5).assign(table, Schema.of(quasi=table.columns), seed=1)
    assert 0.02 < inflation(sets_of(table, labels)).mean() < 0.12
    claim = MicroPerturb(noise="published").claims(sets_of(table, labels))[0]
    assert claim.basis == "published"
    assert "inflation" in claim.statement


def test_exact_with_more_columns_than_freedom():
    """The within-group covariance has at most N − G dimensions, so exact noise always exists."""
    sets = numbers(n=7, d=9, k=3)
    masked = MicroPerturb(noise="exact").draw(sets, np.random.default_rng(0))
    assert relative(np.cov(masked.T), np.cov(sets.values.T)) < 1e-9
    assert not np.isclose(masked, sets.values, rtol=1e-9).any()


@pytest.mark.parametrize("noise", MODES)
def test_groups_of_one_row_are_refused(noise):
    sets = sets_of(pl.DataFrame({"x": [1.0, 2.0, 3.0]}), [0, 0, 1])
    with pytest.raises(InputError, match="two rows in every group"):
        MicroPerturb(noise=noise).draw(sets, np.random.default_rng(0))


@pytest.mark.parametrize("noise", MODES)
def test_levels_keep_their_number_of_records(noise):
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {
            "age": rng.integers(20, 80, 90).astype(float),
            "sex": rng.choice(["f", "m"], 90),
            "town": rng.choice(["a", "b", "c", None], 90, p=[0.6, 0.2, 0.1, 0.1]),
            "school": rng.choice(["low", "mid", "high"], 90),
        }
    )
    sets = sets_of(
        table, np.arange(90) // 6, levels={"school": ["none", "low", "mid", "high"]}, kinds={"school": "ordinal"}
    )
    masked = MicroPerturb(noise=noise).draw(sets, np.random.default_rng(1))
    for j in (1, 2, 3):
        assert sorted(masked[:, j]) == sorted(sets.values[:, j])
        assert (masked[:, j] != sets.values[:, j]).any()
    if noise == "exact":
        assert masked[:, 0].std() == pytest.approx(sets.values[:, 0].std(), rel=1e-9)


def test_levels_follow_their_group():
    """Groups of one level mostly keep it: the group mean decides, the noise blurs."""
    codes = np.repeat(np.arange(3), 40)
    labels = np.where(np.random.default_rng(0).random(120) < 0.9, codes, (codes + 1) % 3)
    table = pl.DataFrame({"town": np.array(["a", "b", "c"])[codes]})
    sets = sets_of(table, labels)
    masked = MicroPerturb().draw(sets, np.random.default_rng(1))
    assert (masked[:, 0] == sets.values[:, 0]).mean() > 0.6


def test_keep_types():
    rng = np.random.default_rng(6)
    table = pl.DataFrame({"visits": rng.poisson(2, 300), "flag": rng.integers(0, 2, 300), "cost": rng.normal(size=300)})
    sets = sets_of(table, np.arange(300) // 5)
    real = MicroPerturb(noise="exact").draw(sets, np.random.default_rng(1))
    kept = MicroPerturb(noise="exact", keep_types=True).draw(sets, np.random.default_rng(1))
    assert (real[:, 0] != np.round(real[:, 0])).any()
    assert (kept[:, 0] == np.round(kept[:, 0])).all()
    assert kept[:, 0].mean() == pytest.approx(sets.values[:, 0].mean(), abs=0.1)
    assert sorted(kept[:, 1]) == sorted(sets.values[:, 1])
    assert (kept[:, 2] == real[:, 2]).all()


def test_random_rounding_keeps_the_mean_and_bounds_hold():
    x = np.full(20000, 2.3)
    free = SimpleNamespace(bounds=None, step=1.0)
    rounded = _on_domain(x, free, np.arange(5.0), np.random.default_rng(1))
    assert set(rounded) == {2.0, 3.0}
    assert abs(rounded.mean() - 2.3) < 4 * np.sqrt(0.21 / 20000)
    bounded = SimpleNamespace(bounds=(0.5, 3.9), step=1.0)
    wild = np.random.default_rng(2).normal(2, 5, 500)
    assert set(_on_domain(wild, bounded, np.arange(5.0), np.random.default_rng(1))) == {1.0, 2.0, 3.0}
    real = SimpleNamespace(bounds=(0.5, 3.9), step=None)
    clipped = _on_domain(wild, real, np.arange(5.0), np.random.default_rng(1))
    assert (clipped.min(), clipped.max()) == (0.5, 3.9)
    fives = SimpleNamespace(bounds=(3.0, 22.0), step=5.0)
    stepped = _on_domain(10 + wild, fives, np.arange(5.0), np.random.default_rng(1))
    assert set(stepped) == {5.0, 10.0, 15.0, 20.0}


def test_caveats_and_claims_say_what_is_kept():
    sets = sets_of(pl.DataFrame({"n": list(range(10)), "x": np.arange(10.0) ** 2}), np.arange(10) // 5)
    published, centred, exact = (MicroPerturb(noise=noise) for noise in ("published", "centred", "exact"))
    assert "false as printed" in published.caveats(sets)[0]
    for mask in (centred, exact):
        assert "mean is kept" in mask.caveats(sets)[0]
        assert "(n)" in mask.caveats(sets)[1]
    assert [mask.claims(sets)[0].basis for mask in (published, centred, exact)] == ["published", "proved", "proved"]
    assert MicroPerturb(noise="exact", keep_types=True).claims(sets) == ()
    assert len(MicroPerturb(keep_types=True).caveats(sets)) == 1
    assert MicroPerturb().claims(sets_of(pl.DataFrame({"s": list("abcabc")}), [0, 0, 0, 1, 1, 1])) == ()


def test_parameters_are_held_to_their_rules(people, people_schema):
    with pytest.raises(ParameterError, match="noise"):
        anonymize(people, people_schema, group=MST(k=4), mask=MicroPerturb(noise="loud"), seed=1)


@pytest.mark.parametrize("noise", MODES)
def test_through_a_release(people, people_schema, noise):
    release = anonymize(people, people_schema, group=MST(k=4), mask=MicroPerturb(noise=noise), seed=1)
    assert release.risk.reidentification.by_group.holds
    for name in ("sex", "town", "education"):
        assert sorted(release.table[name], key=str) == sorted(people[name], key=str)
    if noise != "published":
        assert release.table["age"].mean() == pytest.approx(people["age"].mean(), rel=1e-12)
    if noise == "exact":
        assert release.table["age"].std() == pytest.approx(people["age"].std(), rel=1e-9)
    again = anonymize(people, people_schema, group=MST(k=4), mask=MicroPerturb(noise=noise), seed=1)
    assert sorted(again.table["age"]) == pytest.approx(sorted(release.table["age"]), rel=1e-12)


def test_a_group_of_equal_rows_and_no_noise():
    sets = sets_of(pl.DataFrame({"x": [0.1, 0.1, 0.7, 0.7], "s": ["a", "a", "b", "b"]}), [0, 0, 1, 1])
    masked = MicroPerturb(noise="exact").draw(sets, np.random.default_rng(0))
    assert masked.tolist() == sets.values.tolist()
