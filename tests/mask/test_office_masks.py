"""PRAM, swapping, individual ranking and noise: what they keep, the known numbers, and bad input."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.errors import ColumnError, ParameterError
from shoal.mask._crowd_kernels import partners
from shoal.mask.add_noise import AddNoise, noisy
from shoal.mask.aware import Masking
from shoal.mask.individual_ranking import IndividualRanking, runs_of, runs_of_persons
from shoal.mask.pram import Pram, cell_epsilon, invariant, redraw_share, response
from shoal.mask.rank_swap import RankSwap
from shoal.mask.record_swap import Households, RecordSwap, swap_pairs
from shoal.release import make
from shoal.schema import Schema


def state_of(table, schema):
    prepared = prepare(table, schema)
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    labels = np.zeros(prepared.n, dtype=np.int64)
    return Masking(prepared=prepared, encoder=encoder, codes=encoder.codes(prepared.frame), labels=labels, minimum=1)


def people(n=600, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 15, n)
    return pl.DataFrame(
        {
            "age": age.round(1),
            "income": (40 * age + rng.normal(0, 450, n)).round(1),
            "town": rng.choice(["A", "B", "C"], n, p=[0.7, 0.2, 0.1]),
            "school": rng.choice([1, 2, 3], n),
        }
    )


SCHEMA = Schema.of(quasi=["age", "income", "town", "school"], kinds={"school": "ordinal"})


# PRAM


def test_invariant_matrices_of_the_sheet():
    P, t = np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([0.9, 0.1])
    R = invariant(P, t)
    assert pytest.approx(np.array([[0.91684, 0.08316], [0.74844, 0.25156]]), abs=1e-5) == R
    assert t @ R == pytest.approx(t)
    assert [cell_epsilon(P), cell_epsilon(R), cell_epsilon(invariant(P, t, 0.5))] == pytest.approx(
        [1.38629, 1.10691, 2.71138], abs=1e-5
    )
    assert cell_epsilon(np.eye(2)) == math.inf
    counts = 90 * R[0, 1] * R[0, 0] + 10 * R[1, 1] * R[1, 0]
    assert math.sqrt(counts) == pytest.approx(2.957, abs=1e-3)  # of the 10 of 100: kept on average only
    assert (0.1 * P[1, 1] / (t @ P)[1], R[1, 1]) == pytest.approx((0.307692, 0.251559), abs=1e-6)
    three, shares = np.full((3, 3), 0.1) + 0.7 * np.eye(3), np.array([0.7, 0.2, 0.1])
    assert np.diag(invariant(three, shares)) == pytest.approx([0.82967, 0.54849, 0.38233], abs=1e-5)


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.floats(0, 1), st.floats(0.05, 0.95))
def test_any_matrix_becomes_invariant(weights, alpha, stay):
    t = np.array(weights) / sum(weights)
    m = len(t)
    P = np.full((m, m), (1 - stay) / (m - 1)) + (stay - (1 - stay) / (m - 1)) * np.eye(m)
    R = invariant(P, t, alpha)
    assert t @ R == pytest.approx(t)
    assert R.sum(axis=1) == pytest.approx(np.ones(m))


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.floats(0, 1))
def test_keep_is_the_smallest_diagonal_of_what_is_released(weights, keep):
    t = np.array(weights) / sum(weights)
    alpha = redraw_share(t, keep)
    diagonal = 1 - alpha * (1 - t)
    assert diagonal.min() == pytest.approx(max(keep, t.min()))


def test_pram_keeps_shares_on_average():
    before = state_of(people(4000), SCHEMA)
    done = Pram(columns=["town"], keep=0.3).apply(before, np.random.default_rng(2))
    changed = done.codes[:, 2] != before.codes[:, 2]
    assert 0.1 < changed.mean() < 0.4
    assert (done.codes[:, [0, 1, 3]] == before.codes[:, [0, 1, 3]]).all()
    shares = np.bincount(done.codes[:, 2].astype(int)) / 4000
    assert shares == pytest.approx(np.bincount(before.codes[:, 2].astype(int)) / 4000, abs=0.03)
    rare = before.codes[:, 2] == 2
    assert (~changed)[rare].mean() == pytest.approx(0.3, abs=0.08)  # the rarest stays with probability keep


def test_randomised_response():
    assert 1 / (1 + 2 * math.exp(-1)) == pytest.approx(0.576117, abs=1e-6)
    rng = np.random.default_rng(3)
    place = np.repeat([0, 1, 2], 20_000)
    out = response(place, 3, 1.0, rng.random(60_000), rng.random(60_000))
    P = np.array([np.bincount(out[place == i], minlength=3) for i in range(3)]) / 20_000
    assert np.diag(P) == pytest.approx(np.full(3, 0.576117), abs=0.01)
    assert cell_epsilon(P) == pytest.approx(1, abs=0.06)
    assert (response(np.zeros(5, dtype=int), 1, 1.0, rng.random(5), rng.random(5)) == 0).all()
    done = Pram(epsilon=1.0, columns=["town", "school"]).apply(state_of(people(), SCHEMA), rng)
    assert done.records[-1]["epsilon_of_a_row"] == 2.0
    assert "No claim" in " ".join(Pram(epsilon=1.0).caveats(done))


PUBLIC = Schema.of(
    quasi=["town", "school", "age"],
    sensitive=["income"],
    levels={"town": ["A", "B", "C", "D"], "school": [1, 2, 3]},
    kinds={"town": "nominal", "school": "ordinal"},
)


def claims_of(schema, mask, table=None):
    made = shoal.anonymize(people(60) if table is None else table, schema, group=shoal.MDAV(k=5), mask=mask)
    return made, [claim for claim in made.claims if claim.kind == "epsilon-LDP"]


def test_epsilon_is_claimed_where_the_matrix_is_fixed_before_the_data(tmp_path):
    made, (claim,) = claims_of(PUBLIC, Pram(columns=["town", "school"], epsilon=0.7), people(400))
    assert claim.value == pytest.approx(1.4, abs=1e-9)
    assert claim.value >= 1.4
    assert (claim.basis, claim.unit) == ("proved", "persons")
    shares = made.table["town"].value_counts(normalize=True)
    level = dict(zip(shares["town"], shares["proportion"], strict=True))
    assert level["D"] == pytest.approx(1 / (math.exp(0.7) + 3), abs=0.08)  # which nobody has: the table decides nothing
    made.write(tmp_path / "out")
    manifest = (tmp_path / "out" / "manifest.json").read_text()
    assert "epsilon-LDP" in manifest
    assert "re-identification frequency" not in manifest  # no figure that compares with the original leaves
    again = make(people(400), PUBLIC, made.recipe, seed=made.seed, key=made.key)
    assert not again.table.equals(made.table)  # no seed brings the coins back
    assert not made.recipe.repeats


def test_where_epsilon_does_not_hold_none_is_claimed():
    response = Pram(columns=["town"], epsilon=0.7)
    undeclared = Schema.of(quasi=["town", "school", "age"], sensitive=["income"], kinds={"town": "nominal"})
    assert claims_of(undeclared, response)[1] == []
    assert claims_of(PUBLIC, Pram(columns=["town", "age"], epsilon=0.7))[1] == []  # any number is possible
    assert claims_of(PUBLIC, Pram(columns=["town"], keep=0.5))[1] == []  # a matrix from the data
    assert claims_of(PUBLIC, [response, RankSwap(columns=["age"])])[1] == []
    gaps = people(60).with_columns(town=pl.when(pl.col("age") > 60).then(None).otherwise("town"))
    assert claims_of(PUBLIC, response, gaps)[1] == []
    several = people(60).with_columns(who=pl.Series(np.arange(60) // 2))
    persons = dataclasses.replace(PUBLIC, columns=(*PUBLIC.columns, Schema.of(unit="who")["who"]))
    assert claims_of(persons, response, several)[1] == []


def test_masks_that_change_single_records_claim_neither_k_nor_groups():
    flat = people(60).with_columns(age=pl.lit(40.0), income=pl.lit(1.0))
    for mask in (Pram(columns=["town"]), RankSwap(), AddNoise(), IndividualRanking()):
        made = shoal.anonymize(flat, SCHEMA, group=shoal.MDAV(k=2), mask=mask, seed=1)
        assert {claim.basis for claim in made.claims} == {"measured"}


def test_rows_of_a_person_share_their_draws():
    table = people(200).with_columns(
        who=pl.Series(np.arange(200) // 4), age=pl.lit(40.0) + pl.Series(np.arange(200) // 4)
    )
    schema = Schema.of(quasi=["age", "income"], other=["town", "school"], unit="who")
    before = state_of(table, schema)
    redrawn = Pram(columns=["age"], keep=0.5).apply(before, np.random.default_rng(4)).codes[:, 0].reshape(50, 4)
    assert (redrawn == redrawn[:, :1]).all()
    moved = AddNoise(columns=["age"]).apply(before, np.random.default_rng(4)).codes[:, 0].reshape(50, 4)
    assert (moved == moved[:, :1]).all()


# Rank swapping


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(0, 20), st.integers(0, 99))
def test_partners_are_pairs_within_the_window(n, window, seed):
    found = partners(n, window, np.random.default_rng(seed).random((n, 4)))
    assert (found[found] == np.arange(n)).all()
    assert np.abs(found - np.arange(n)).max() <= window
    alone = np.flatnonzero(found == np.arange(n))
    if window:
        assert all(abs(a - b) > window for a, b in itertools.pairwise(alone))  # nobody free was left out


def test_rank_swap_keeps_columns_and_ranks():
    before = state_of(people(), SCHEMA)
    done = RankSwap(percent=5).apply(before, np.random.default_rng(5))
    for j in range(4):
        assert sorted(done.codes[:, j]) == sorted(before.codes[:, j])
    assert (done.codes[:, 2] == before.codes[:, 2]).all()  # nominal: no order
    moves = [abs(np.searchsorted(np.sort(before.codes[:, 0]), a) - np.searchsorted(np.sort(before.codes[:, 0]), b))
             for a, b in zip(before.codes[:, 0], done.codes[:, 0], strict=True)]  # fmt: skip
    assert max(moves) <= 30 + 5  # ties of one decimal
    assert done.records[-1]["changed_share"] > 0.5
    assert "nothing was swapped" in " ".join(RankSwap().caveats(state_of(people(10), SCHEMA)))


def test_whoever_knows_the_window_of_rank_swapping_intersects_it():
    """n = 100, two columns, p = 5: some 1.84 candidates a record, the true one always among them."""
    rng = np.random.default_rng(0)
    candidates, alone = [], []
    for _ in range(20):
        before = np.column_stack([rng.permutation(100), rng.permutation(100)])  # ranks
        after = np.empty_like(before)
        for j in range(2):
            other = partners(100, 5, rng.random((100, 4)))
            after[:, j] = other[before[:, j]]
        near = (np.abs(before[:, None, :] - after[None, :, :]) <= 5).all(axis=2)
        assert near.diagonal().all()
        candidates.append(near.sum(axis=1).mean())
        alone.append((near.sum(axis=1) == 1).sum())
    assert np.mean(candidates) == pytest.approx(1 + 99 * (970 / 9900) ** 2, abs=0.1)
    assert min(candidates) < 1.84 < max(candidates)
    assert min(alone) < 39 < max(alone)


# Noise


@pytest.mark.parametrize(
    ("kind", "scale", "rho"), [("additive", 1.25, 0.64), ("correlated", 1.25, 0.8), ("kept", 1.0, 0.8)]
)
def test_moments(kind, scale, rho):
    rng = np.random.default_rng(6)
    S = np.array([[1.0, 0.8], [0.8, 1.0]])
    values = rng.multivariate_normal([10, 20], S, 60_000)
    out = noisy(values, 0.5, kind, rng.standard_normal(values.shape))
    assert out.mean(axis=0) == pytest.approx([10, 20], abs=0.02)
    assert out.var(axis=0) == pytest.approx(np.full(2, scale), rel=0.03)
    assert np.corrcoef(out.T)[0, 1] == pytest.approx(rho, abs=0.01)


def test_noise_fits_the_column():
    table = pl.DataFrame({"age": [0, 0, 50, 99, 99, 20], "x": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]})
    schema = Schema.of(quasi=["age", "x"], bounds={"age": (0, 99)})
    before = state_of(table, schema)
    done = AddNoise(ratio=1.0).apply(before, np.random.default_rng(7))
    assert (done.codes[:, 0] == np.round(done.codes[:, 0])).all()
    assert done.codes[:, 0].min() >= 0
    assert done.codes[:, 0].max() <= 99
    assert (done.codes[:, 1] != before.codes[:, 1]).all()
    constant = state_of(pl.DataFrame({"x": [3.0] * 4}), Schema.of(quasi=["x"]))
    assert (AddNoise().apply(constant, np.random.default_rng(1)).codes == 3.0).all()


# Record swapping


def villages(n=400, seed=8):
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 3, n)
    district = region * 4 + rng.integers(0, 4, n)
    size = rng.integers(1, 4, n)
    home = np.repeat(np.arange(n), size)
    members = len(home)
    return pl.DataFrame(
        {
            "region": [f"r{r}" for r in region[home]],
            "district": [f"d{d:02}" for d in district[home]],
            "age": rng.choice([20, 40, 60, 80], members, p=[0.4, 0.3, 0.25, 0.05]),
            "sex": rng.choice(["f", "m"], members),
            "home": home,
        }
    )


PLACES = Schema.of(quasi=["region", "district", "age", "sex"], other=["home"], kinds={"age": "ordinal"})


def swapped(table, **words):
    before = state_of(table, PLACES)
    mask = RecordSwap(hierarchy=["region", "district"], household="home", **words)
    done = mask.apply(before, np.random.default_rng(9))
    written = done.encoder.decode(done.codes, done.prepared.frame, done.prepared.frame).to_native()
    return written, done.records[-1]


def test_households_move_together_and_counts_by_area_stay():
    table = villages()
    written, said = swapped(table, k=3, rate=0.1)
    sizes = pl.len().over("home").alias("size")
    for frame in (table, written):
        assert frame.group_by("home").agg(pl.col("district").n_unique())["district"].max() == 1
    keys = ["region", "district", "size"]
    before, after = (f.with_columns(sizes).group_by(keys).len().sort(keys) for f in (table, written))
    assert before.equals(after)
    assert written.select("age", "sex").equals(table.select("age", "sex"))
    moved = (written["district"] != table["district"]).to_numpy()
    assert moved.any()
    assert said["moved_share"] >= 0.1


def test_similar_columns_agree():
    table = villages()
    written, _ = swapped(table, rate=0.3, similar=["sex"])
    firsts = table.with_columns(new=written["district"]).group_by("home", maintain_order=True).first()
    keys = ["district", "sex"]
    # Profiles go by the first member in the mask's own order, so counts are compared where households have one member.
    single = firsts.filter(table.group_by("home", maintain_order=True).len()["len"] == 1)
    old = single.group_by(keys).len().sort(keys)
    new = single.group_by(["new", "sex"]).len().rename({"new": "district"}).sort(keys)
    assert old.equals(new)


def test_the_rate_without_risk():
    areas = np.arange(400)[:, None] % 20
    houses = Households(areas=areas, profiles=np.zeros((400, 1), dtype=int), risk=np.ones(400), level=np.full(400, 1))
    pairs, stranded = swap_pairs(houses, 0.05, np.random.default_rng(1))
    assert (2 * len(pairs), stranded) == (20, 0)
    assert all(areas[a] != areas[b] for a, b in pairs)
    assert len({x for pair in pairs for x in pair}) == 20


def test_those_at_risk_move_first_and_the_stranded_are_counted():
    level = np.array([0, 0, 2, 2, 2, 2, 1, 2])
    areas = np.array([[0, 0], [0, 1], [0, 0], [1, 2], [1, 2], [1, 3], [1, 3], [0, 1]])
    profile = np.array([0, 1, 0, 0, 0, 0, 0, 0])
    houses = Households(areas=areas, profiles=profile[:, None], risk=np.ones(8), level=level)
    pairs, stranded = swap_pairs(houses, 0.0, np.random.default_rng(2))
    moved = {x for pair in pairs for x in pair}
    assert stranded == 1  # the second has a profile of its own
    assert {0, 6} <= moved
    partner = dict(pairs) | {b: a for a, b in pairs}
    assert areas[partner[0], 0] != areas[0, 0]
    assert areas[partner[6], 1] != areas[6, 1]


def test_profiles_are_tried_in_turn():
    """The first has a donor of its own profile; the second finds one by the looser profile; the third by none."""
    areas = np.array([[0], [0], [0], [1], [1]])
    profiles = np.array([[0, 7], [1, 8], [2, 9], [0, 7], [3, 8]])
    level = np.array([0, 0, 0, 1, 1])
    houses = Households(areas=areas, profiles=profiles, risk=np.ones(5), level=level)
    pairs, stranded = swap_pairs(houses, 0.0, np.random.default_rng(3))
    assert {frozenset(pair) for pair in pairs} == {frozenset((0, 3)), frozenset((1, 4))}
    assert stranded == 1
    strict = Households(areas=areas, profiles=profiles[:, :1], risk=np.ones(5), level=level)
    assert swap_pairs(strict, 0.0, np.random.default_rng(3)) == ([(0, 3)], 2)


def test_looser_profiles_leave_fewer_without_a_donor_and_sizes_stay():
    table = villages()
    _, strict = swapped(table, k=4, similar=["sex", "age"])
    written, loose = swapped(table, k=4, similar=["sex", "age"], otherwise=["sex", "size"])
    assert loose["without_donor"] < strict["without_donor"]
    keys = ["region", "district", "size"]
    sizes = pl.len().over("home").alias("size")
    before, after = (f.with_columns(sizes).group_by(keys).len().sort(keys) for f in (table, written))
    assert before.equals(after)
    mask = shoal.recipe.read_method("record-swap:similar=sex/age,otherwise=sex+age/sex/size", "mask")
    assert list(mask.otherwise) == ["sex+age", "sex", "size"]
    with pytest.raises(ParameterError, match="wrong"):
        swapped(table, otherwise=["sex+wrong"])


def test_one_area_swaps_nothing():
    houses = Households(
        areas=np.zeros((5000, 1), dtype=int),
        profiles=np.zeros((5000, 1), dtype=int),
        risk=np.ones(5000),
        level=np.zeros(5000),
    )
    assert swap_pairs(houses, 0.5, np.random.default_rng(0)) == ([], 5000)


def test_a_household_in_two_places_is_refused():
    table = villages(40).with_columns(district=pl.Series([f"d{i % 5}" for i in range(len(villages(40)))]))
    with pytest.raises(ColumnError, match="same for all rows of a household"):
        swapped(table)


# Individual ranking


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=2, max_size=25), st.integers(2, 5))
def test_individual_ranking_by_hand(values, size):
    """Sort, cut, average; the rest joins the last run."""
    ranked = sorted(values)
    runs = [ranked[start : start + size] for start in range(0, len(values), size)]
    if len(runs) > 1 and len(runs[-1]) < size:
        runs[-2:] = [runs[-2] + runs[-1]]
    expected = [sum(run) / len(run) for run in runs for _ in run]
    state = state_of(pl.DataFrame({"x": [float(v) for v in values]}), Schema.of(quasi=["x"], kinds={"x": "numeric"}))
    written = IndividualRanking(size=size).apply(state, np.random.default_rng(0)).codes[:, 0]
    assert sorted(written) == pytest.approx(expected)
    assert written.sum() == pytest.approx(sum(values))


@given(st.integers(1, 40), st.integers(2, 7))
def test_runs_have_the_size_and_the_rest_goes_into_the_last(n, size):
    counts = np.bincount(runs_of(n, size))
    assert (counts[:-1] == size).all()
    assert counts[-1] == n if n < size else size <= counts[-1] < 2 * size


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(2, 4))
def test_runs_of_persons_hold_as_many_persons(persons, size):
    runs = runs_of_persons(np.array(persons), size)
    assert (np.diff(runs) >= 0).all()
    held = [len({p for p, run in zip(persons, runs, strict=True) if run == r}) for r in range(runs.max() + 1)]
    assert len(held) == 1 or min(held) >= size
    for r in range(runs.max()):  # no run could have been closed earlier
        own = [p for p, run in zip(persons, runs, strict=True) if run == r]
        assert len(set(own[:-1])) < size


def test_individual_ranking_of_the_sheet():
    table = pl.DataFrame({"x": [1.0, 2, 3, 4], "y": [1.0, 3, 2, 4]})
    schema = Schema.of(quasi=["x", "y"])
    mask = IndividualRanking(size=2)
    released = shoal.anonymize(table, schema, group=shoal.MDAV(k=2), mask=mask, seed=1).table
    assert sorted(released["x"]) == [1.5, 1.5, 3.5, 3.5]
    assert released.n_unique() == 4  # shared in each column, unique as records
    assert released["x"].sum() == 10
    seven = pl.DataFrame({"x": [1.0, 2, 3, 4, 5, 7, 9]})
    mask = IndividualRanking(size=3)
    released = shoal.anonymize(seven, Schema.of(quasi=["x"]), group=shoal.MDAV(k=2), mask=mask, seed=1).table
    assert sorted(released["x"]) == [2, 2, 2, 6.25, 6.25, 6.25, 6.25]


# All


@pytest.mark.parametrize("mask", [Pram(), RankSwap(), AddNoise(), RecordSwap(rate=0.4), IndividualRanking(size=4)])
def test_what_is_written_follows_from_the_rows_not_from_their_order(mask):
    table = people(120)
    order = np.random.default_rng(1).permutation(120)
    first = mask.apply(state_of(table, SCHEMA), np.random.default_rng(2))
    second = mask.apply(state_of(table[order], SCHEMA), np.random.default_rng(2))
    assert first.codes[order].tolist() == second.codes.tolist()
    assert "measured" in " ".join(mask.caveats(first))


@pytest.mark.parametrize(
    "mask",
    [
        *(Pram(keep=1.5), Pram(epsilon=0.0), Pram(columns=["zzz"]), RankSwap(percent=0), RankSwap(columns=["zzz"])),
        *(AddNoise(ratio=0), AddNoise(columns=["town"]), AddNoise(kind="kept", ratio=1.1), AddNoise(kind="other")),
        *(RecordSwap(rate=2), RecordSwap(household="zzz"), RecordSwap(hierarchy=["zzz"]), RecordSwap(k=-1)),
        *(IndividualRanking(size=1), IndividualRanking(columns=["zzz"])),
    ],
)
def test_wrong_parameters(mask):
    with pytest.raises(ParameterError):
        shoal.anonymize(people(40), SCHEMA, group=shoal.MDAV(k=3), mask=mask)


def test_columns_without_an_order():
    state = state_of(people(20).select("town"), Schema.of(quasi=["town"]))
    for mask in (RankSwap(), AddNoise()):
        with pytest.raises(ParameterError, match="Pram works on any column"):
            mask.apply(state, np.random.default_rng(0))


def test_words_make_the_same_mask():
    from shoal.method import find
    from shoal.params import build, to_dict

    for mask in (Pram(keep=0.5, columns=["town"]), RankSwap(percent=7.0), AddNoise(kind="kept"), RecordSwap(rate=0.2)):
        assert build(find("mask", mask.name), to_dict(mask)) == mask


def test_pages_say_nothing_of_groups_that_play_no_part(tmp_path):
    made = shoal.anonymize(people(80), PUBLIC, group=shoal.MDAV(k=5), mask=Pram(columns=["town"]), seed=1)
    made.write(tmp_path / "out")
    for page in ((tmp_path / folder / "report.html").read_text() for folder in ("out", "out.internal")):
        assert "hides in a group" not in page
        assert "Each person was put into a group" not in page
        assert "any member of the group" not in page
    assert made.risk.class_mix == ()
