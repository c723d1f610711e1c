"""PushBack (eqs 4-8): who stands out joins the nearest crowd, and only what is too far out changes."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.conform import prepare
from shoal.distance import Spaces
from shoal.distance.medoid import medoids
from shoal.encode import Encoder
from shoal.errors import GuaranteeError, ParameterError
from shoal.group.ball import Ball
from shoal.mask._crowd_kernels import noisy
from shoal.mask.aware import Masking
from shoal.mask.push_back import PushBack
from shoal.mask.shape_divergence import bins_of, divergence
from shoal.schema import Schema

TOY = pl.DataFrame(
    {
        "zip": [13053, 13068, 13068, 13053, 14853],
        "age": [28, 29, 21, 23, 50],
        "nationality": ["Russian", "American", "Japanese", "American", "Indian"],
    }
)
RING = np.array([[min(abs(a - b), 5 - abs(a - b)) for b in range(5)] for a in range(5)], dtype=float)


def state_of(table, schema, labels, minimum):
    prepared = prepare(table, schema)
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    codes = encoder.codes(prepared.frame)
    return Masking(
        prepared=prepared, encoder=encoder, codes=codes, labels=np.asarray(labels, dtype=np.int64), minimum=minimum
    )


def positions_of(state):
    original = state.encoder.codes(state.prepared.frame)
    spaces = Spaces.fit(state.prepared.schema, state.encoder, original)
    return spaces, spaces.positions(state.codes)


def mixed(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "a": rng.normal(size=n).round(2),
            "b": rng.integers(0, 9, n),
            "sex": rng.choice(["f", "m", "x"], n),
            "place": rng.choice(list("pqrst"), n),
        }
    )
    rows = [["", *"pqrst"], *([p, *map(str, row)] for p, row in zip("pqrst", RING, strict=True))]
    return table, Schema.of(quasi=table.columns, metrics={"place": {"kind": "matrix", "rows": rows}})


def pushed(n, seed, minimum=6, **how):
    table, schema = mixed(n, seed)
    labels = np.unique(np.random.default_rng(seed).geometric(0.2, n), return_inverse=True)[1]
    state = state_of(table, schema, labels, minimum)
    return state, PushBack(**how).apply(state, np.random.default_rng(seed))


@pytest.mark.parametrize("to", ["element", "centroid", "noise"])
@pytest.mark.parametrize("strict", [False, True])
def test_toy_record_is_blended_in(to, strict):
    schema = Schema.of(quasi=TOY.columns)
    labels = Ball(radius={"zip": 20, "age": 10, "nationality": 1}, minimum=4).assign(TOY, schema, seed=1)
    state = state_of(TOY, schema, labels, 4)
    new = PushBack(to=to, strict=strict).apply(state, np.random.default_rng(1))
    assert new.labels.tolist() == [0] * 5
    assert (new.codes[:4] == state.codes[:4]).all()
    zip_, age, nationality = new.codes[4]
    assert abs(zip_ - 13053) <= 15  # the centre, and the farthest member from it
    assert abs(age - 23) <= 6
    if strict or to != "noise":
        assert 13053 <= zip_ <= 13068
        assert 21 <= age <= 29
    assert nationality == state.codes[4, 2]  # a mismatch is no farther out than those inside
    record = new.records[0]
    assert (record["moved"], record["records_by_columns_changed"]["2"]) == (1, 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(20, 80), st.integers(0, 10_000), st.sampled_from(["element", "centroid"]))
def test_equations_4_and_5(n, seed, to):
    state, new = pushed(n, seed, to=to)
    spaces, old = positions_of(state)
    _, now = positions_of(new)
    sizes = np.bincount(state.labels)
    large = np.flatnonzero(sizes >= state.minimum)
    if len(large) == 0:
        return
    centers = medoids(old, state.labels, spaces)
    for i in range(n):
        if sizes[state.labels[i]] >= state.minimum:
            assert (now[i] == old[i]).all()
            continue
        sums = [sum(float(s.mapped(old[i, j], centers[g, j])) for j, s in enumerate(spaces)) for g in large]
        host = large[int(np.argmin(sums))]
        assert new.labels[i] == new.labels[np.flatnonzero(state.labels == host)[0]]
        members = old[state.labels == host]
        for j, space in enumerate(spaces):
            reach = space.distance(members[:, j], np.full(len(members), centers[host, j])).max()
            if space.distance(old[i, j], centers[host, j]) > reach:
                allowed = members[:, j] if to == "element" else centers[host, j]
                assert now[i, j] in np.atleast_1d(allowed)
            else:
                assert new.codes[i, j] == state.codes[i, j]
    assert np.bincount(new.labels).min() >= state.minimum


@settings(max_examples=25, deadline=None)
@given(st.integers(30, 80), st.integers(0, 10_000), st.sampled_from(["element", "centroid", "noise"]))
def test_strict_makes_no_group_wider(n, seed, to):
    state, new = pushed(n, seed, to=to, strict=True, divergence=10.0)
    spaces, old = positions_of(state)
    _, now = positions_of(new)
    stayed = np.bincount(state.labels)[state.labels] >= state.minimum
    if not stayed.any():
        return
    for group in range(new.labels.max() + 1):
        own = new.labels == group
        for j, space in enumerate(spaces):
            x, before = now[own, j], old[own & stayed, j]
            assert (
                space.distance(x[:, None], x[None, :]).max() <= space.distance(before[:, None], before[None, :]).max()
            )
    assert new.records[0]["outside_range_share"] == 0


def test_noise_keeps_the_distances_and_types():
    rng = np.random.default_rng(3)
    table = pl.DataFrame(
        {"a": np.append(rng.normal(size=200), [40.0, -50.0]), "b": np.append(rng.integers(0, 50, 200), [900, 800])}
    )
    schema = Schema.of(quasi=["a", "b"], bounds={"b": (0, 1000)})
    state = state_of(table, schema, [0] * 200 + [1, 2], 5)
    new = PushBack(to="noise", divergence=0.01).apply(state, rng)
    assert new.records[0]["divergence"]["largest"] <= 0.01
    assert (np.abs(new.codes[200:, 0]) < 5).all()
    assert (new.codes[:, 1] == np.round(new.codes[:, 1])).all()
    with pytest.raises(GuaranteeError, match="nats"):
        PushBack(to="noise", divergence=1e-9).apply(state, rng)


def test_noise_kernel_reports_its_divergence():
    rng = np.random.default_rng(4)
    members = rng.normal(size=30)
    center = float(np.median(members))
    values, kl = noisy(members, center, 10, -np.inf, np.inf, False, 0.05, False, rng.random((10, 50, 3)))
    top = np.abs(members - center).max()
    before, after = (
        np.bincount(bins_of(np.abs(x - center), np.full(len(x), top)), minlength=10)
        for x in (members, np.append(members, values))
    )
    assert kl == pytest.approx(float(divergence(before, after)))
    assert kl <= 0.05
    assert np.abs(values - center).max() <= top


def test_noise_kernel_by_the_earth_movers_distance():
    rng = np.random.default_rng(4)
    members = rng.normal(size=30)
    values, gap = noisy(members, 0.0, 10, -np.inf, np.inf, False, 0.02, True, rng.random((10, 50, 3)))
    far = [np.abs(x) for x in (members, np.append(members, values))]
    bins = [np.bincount(bins_of(d, np.full(len(d), far[0].max())), minlength=10) for d in far]
    assert gap == pytest.approx(float(divergence(*bins, "emd")))
    assert gap <= 0.02


def test_importance_decides_which_crowd_is_nearest():
    table = pl.DataFrame({"a": [0, 0, 0, 9, 9, 9, 1], "b": [0, 0, 0, 9, 9, 9, 8]})
    state = state_of(table, Schema.of(quasi=["a", "b"]), [0, 0, 0, 1, 1, 1, 2], 3)
    to = {
        name: PushBack(importance={name: 20.0}).apply(state, np.random.default_rng(0)).labels[-1] for name in ("a", "b")
    }
    assert to == {"a": 0, "b": 1}
    with pytest.raises(ParameterError, match="importance must name quasi-identifiers; got zip"):
        PushBack(importance={"zip": 2.0}).apply(state, np.random.default_rng(0))


def test_small_groups_merge_where_none_is_large():
    table = pl.DataFrame({"a": [0.0, 1, 2, 10, 11, 12, 50, 100]})
    state = state_of(table, Schema.of(quasi=["a"]), [0, 0, 0, 1, 1, 1, 2, 3], 5)
    new = PushBack().apply(state, np.random.default_rng(0))
    assert new.labels.tolist() == [0] * 8
    assert new.records[0]["merged_pairs"] == 1
    alone = state_of(table, Schema.of(quasi=["a"]), np.arange(8), 5)
    with pytest.raises(GuaranteeError, match="Widen the radius"):
        PushBack().apply(alone, np.random.default_rng(0))


def test_persons_move_whole():
    table, _ = mixed(60, seed=5)
    table = table.with_columns(who=pl.Series(np.arange(60) // 2))
    schema = Schema.of(quasi=["a", "b", "sex", "place"], unit="who")
    labels = np.repeat([0] * 12 + [1] * 12 + [2, 2, 3, 4, 4, 5], 2)
    new = PushBack().apply(state_of(table, schema, labels, 6), np.random.default_rng(0))
    assert (new.labels.reshape(30, 2) == new.labels.reshape(30, 2)[:, :1]).all()
    assert new.persons().min() >= 6


def test_nothing_to_do_changes_nothing():
    table, schema = mixed(40)
    state = state_of(table, schema, np.arange(40) % 4, 10)
    new = PushBack().apply(state, np.random.default_rng(0))
    assert (new.codes == state.codes).all()
    assert new.records[0]["moved"] == 0


def test_bad_parameters():
    table, schema = mixed(40)
    state = state_of(table, schema, np.zeros(40), 5)
    with pytest.raises(ParameterError, match="to must be"):
        PushBack(to="crowd").apply(state, np.random.default_rng(0))
    assert "stood out" in PushBack().caveats(state)[0]
