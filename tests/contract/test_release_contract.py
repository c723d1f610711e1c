"""One suite over every grouper, every mask and every dataframe type."""

import itertools
from functools import partial

import numpy as np
import polars as pl
import pytest

from shoal import anonymize, risk
from shoal.frame import enter, series
from shoal.group import Balanced, Ball, KMember
from shoal.mask import AwareMask, BlindMask, Flatten, Permute, PushBack, Resample, Shuffle
from shoal.method import methods
from shoal.rng import repeatable

SEED = 11
GROUPERS, MASKS = methods("group"), methods("mask")
BLIND = [mask for mask in MASKS if issubclass(mask, BlindMask)]
EVERY_PAIR = list(itertools.product(GROUPERS, MASKS))
# Each grouper with two masks of different sorts, each mask with two groupers of different sorts.
PAIRS = [(g, m) for g, m in EVERY_PAIR if g in (KMember, Ball, Balanced) or m in (Resample, Shuffle, Permute)]
ROW_PAIRS = [(g, m) for g, m in PAIRS if m is not Permute]
AWARE = [mask for mask in MASKS if issubclass(mask, AwareMask)]
BOUND_PAIRS = [(g, m) for g, m in EVERY_PAIR if m not in AWARE]
BLIND_PAIRS = [(g, m) for g, m in EVERY_PAIR if m in BLIND]


@pytest.fixture
def people():
    """The small mixed table with 48 people: balanced groups need enough for ten."""
    return pl.DataFrame(
        {
            "name": [f"SENTINEL-{i}" for i in range(48)],
            "age": [20 + i for i in range(48)],
            "sex": ["f", "m"] * 24,
            "town": ["Alba", "Boro", None, "Cove"] * 12,
            "education": ["none", "school", "college"] * 16,
            "cost": [float((7 * i) % 48) * 100 for i in range(48)],
            "ill": ["no", "no", "yes"] * 16,
        }
    )


def run(table, schema, grouper, mask, seed=SEED, k=4, key=0):
    """Group and mask; where a grouper leaves small groups, they are pushed back first."""
    group = grouper(**{grouper.size_parameter: k})
    masks = [PushBack(), mask()] if grouper.leaves_small and mask is not PushBack else [mask()]
    with repeatable(key):
        return anonymize(table, schema, group=group, mask=masks, seed=seed)


def plain(table):
    return enter(table).to_polars()


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("grouper", "mask"), PAIRS)
def test_release_on_every_frame(make_frame, people, people_schema, grouper, mask):
    table = make_frame(people)
    release = run(table, people_schema, grouper, mask)
    assert type(release.table) is type(table)
    out = plain(release.table)
    assert out.columns == ["age", "sex", "town", "education", "cost", "ill"]
    assert plain(table).equals(people), "the input was touched"
    assert np.bincount(release.labels).min() >= 4
    assert sorted(release.source_rows) == list(range(48))


@pytest.mark.parametrize(("grouper", "mask"), EVERY_PAIR)
def test_every_grouper_works_with_every_mask(people, people_schema, grouper, mask):
    release = run(people, people_schema, grouper, mask)
    assert np.bincount(release.labels).min() >= 4
    assert len(release.table) == 48


@pytest.mark.parametrize(("grouper", "mask"), PAIRS)
def test_every_frame_gives_the_same_release(people, people_schema, grouper, mask):
    first = plain(run(people, people_schema, grouper, mask).table)
    for other in (people.to_pandas(), people.to_arrow(), people.lazy()):
        assert plain(run(other, people_schema, grouper, mask).table).equals(first, null_equal=True)


@pytest.mark.parametrize(("grouper", "mask"), PAIRS)
def test_seeds_repeat_and_differ(people, people_schema, grouper, mask):
    first, again, other = (run(people, people_schema, grouper, mask, 1, key=key) for key in (1, 1, 2))
    assert first.table.equals(again.table)
    assert first.source_rows.tolist() == again.source_rows.tolist()
    assert first.source_rows.tolist() != other.source_rows.tolist()


def test_a_chosen_seed_does_not_tell_who_is_where(people, people_schema):
    first, again = (anonymize(people, people_schema, mask=Resample(), seed=1) for _ in range(2))
    assert first.labels.tolist() == again.labels.tolist()
    assert sorted(first.table["age"]) == sorted(again.table["age"])
    assert first.source_rows.tolist() != again.source_rows.tolist()
    assert first.key != again.key


@pytest.mark.parametrize(("grouper", "mask"), ROW_PAIRS)
def test_columns_that_are_not_masked_follow_their_person(people, people_schema, grouper, mask):
    release = run(people, people_schema, grouper, mask)
    assert release.table["cost"].to_list() == people["cost"].gather(release.source_rows).to_list()


@pytest.mark.parametrize("grouper", [grouper for grouper in GROUPERS if not grouper.leaves_small])
@pytest.mark.parametrize("blocks", ["columns", [["sex", "cost"], ["age", "town"]]])
def test_columns_shuffled_apart_keep_their_margins_and_their_blocks(people, people_schema, grouper, blocks):
    release = run(people, people_schema, grouper, partial(Permute, blocks=blocks))
    shown = [name for name in people.columns if name != "name"]
    for name in shown:
        assert release.table[name].sort().equals(people[name].sort(), null_equal=True), name
    for block in blocks if blocks != "columns" else []:
        assert release.table.select(block).sort(block).equals(people.select(block).sort(block), null_equal=True)
    rows = set(people.select(shown).rows())
    assert len([row for row in release.table.select(shown).rows() if row in rows]) < 24


@pytest.mark.parametrize(("grouper", "mask"), BOUND_PAIRS)
def test_bound_holds_for_every_record_without_tolerance(people, people_schema, grouper, mask):
    release = run(people, people_schema, grouper, mask)
    by_group = release.risk.reidentification.by_group
    assert by_group.holds
    assert by_group.largest <= by_group.bound <= 1 / 4


@pytest.mark.parametrize(("grouper", "mask"), PAIRS)
def test_released_categories_occur_in_the_original(people, people_schema, grouper, mask):
    out = run(people, people_schema, grouper, mask).table
    for name in ("sex", "town", "education"):
        assert set(out[name]) <= set(people[name])


@pytest.mark.parametrize(("grouper", "mask"), PAIRS)
def test_a_permuted_file_gives_the_same_groups(grouper, mask):
    rng = np.random.default_rng(5)
    table = pl.DataFrame({name: rng.normal(size=40) for name in "aby"}).with_columns(c=pl.Series(["u", "v"] * 20))
    from shoal import Schema

    schema = Schema.of(quasi=["a", "b"], sensitive=["y", "c"])
    order = rng.permutation(40)
    first = run(table, schema, grouper, mask)
    second = run(table[order], schema, grouper, mask)
    groups = {frozenset(np.flatnonzero(first.labels == g)) for g in set(first.labels)}
    moved = {frozenset(order[second.labels == g]) for g in set(second.labels)}
    assert groups == moved
    assert sorted(first.table["a"]) == sorted(second.table["a"])


@pytest.mark.parametrize("grouper", GROUPERS)
def test_collapsing_mask_is_k_anonymous(people, people_schema, grouper):
    from shoal import Centroid

    release = run(people, people_schema, grouper, Centroid)
    assert risk.classes(release.table, people_schema).k >= 4
    assert release.claims[0].kind == "k-anonymity"
    assert release.claims[0].basis == "verified"


@pytest.mark.parametrize(("grouper", "mask"), BOUND_PAIRS)
def test_claims_are_based(people, people_schema, grouper, mask):
    release = run(people, people_schema, grouper, mask)
    kinds = {claim.kind: claim for claim in release.claims}
    assert kinds["re-identification bound"].basis == "proved"
    assert kinds["re-identification bound"].value == 1 / 4
    assert kinds["re-identification frequency"].basis == "measured"
    said = " ".join(kinds["re-identification bound"].assumptions)
    assert ("cost" in said) == (mask is not Permute)  # what is published unchanged


@pytest.mark.parametrize(("grouper", "mask"), PAIRS)
def test_nothing_of_a_person_in_the_repr(people, people_schema, grouper, mask):
    release = run(people, people_schema, grouper, mask)
    words = repr(release) + repr(release.risk) + repr(release.utility) + repr(release.claims)
    assert "SENTINEL" not in words
    assert "Alba" not in words


@pytest.mark.parametrize("mask", BLIND)
def test_units_stay_together_and_the_bound_counts_persons(mask):
    from shoal import KMember, Schema

    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(20), rng.integers(1, 4, 20))
    table = pl.DataFrame({"who": who, "a": rng.normal(size=len(who)), "b": rng.integers(0, 3, len(who))})
    schema = Schema.of(unit="who", quasi=["a", "b"])
    release = anonymize(table, schema, group=KMember(k=3), mask=mask(), seed=1)
    assert "who" not in release.table.columns
    for person in range(20):
        assert len(set(release.labels[who == person])) == 1
    for group in set(release.labels):
        assert len(set(who[release.labels == group])) >= 3
    bound = next(c for c in release.claims if c.kind == "re-identification bound").value
    sizes = np.bincount(release.labels)
    worst = max((who == p).sum() / sizes[release.labels[who == p][0]] for p in range(20))
    assert bound == max(worst, 1 / 3)


@pytest.mark.parametrize("grouper", GROUPERS)
@pytest.mark.parametrize("mask", AWARE)
def test_a_chain_that_ends_aware_claims_no_bound(people, people_schema, grouper, mask):
    release = run(people, people_schema, grouper, mask)
    kinds = [claim.kind for claim in release.claims]
    assert "re-identification bound" not in kinds
    assert "re-identification frequency" in kinds
    counted = not release.recipe.perturbs  # groups play no part in what noise, swaps and coins write
    assert ("group size" in kinds) == counted
    assert ("k-anonymity" in kinds) == (counted and risk.classes(release.table, people_schema).k >= 4)
    assert release.risk.reidentification.by_group is None
    assert release.steps[0].name == "before any mask"
    assert release.steps[0].reidentification == 1


def test_a_blind_mask_after_an_aware_one_keeps_the_bound(people, people_schema):
    release = anonymize(people, people_schema, group=Ball(minimum=4), mask=[PushBack(), Resample()], seed=1)
    bound = next(claim for claim in release.claims if claim.kind == "re-identification bound")
    assert bound.basis == "proved"
    assert bound.value == 1 / 4
    assert release.risk.reidentification.by_group.holds


def test_small_groups_that_no_mask_saw_to_are_refused(people, people_schema):
    from shoal import GuaranteeError, Resample

    tight = Ball(radius={"age": 8, "sex": 1, "town": 1, "education": 1}, minimum=4)
    with pytest.raises(GuaranteeError, match="PushBack"):
        anonymize(people, people_schema, group=tight, mask=Resample(), seed=1)


def test_flattening_everything_is_k_anonymous(people, people_schema):
    release = run(people, people_schema, GROUPERS[0], Flatten)
    assert release.claims[0].kind == "k-anonymity"


def test_masks_chain(people, people_schema):
    from shoal import MDAV, Centroid, GaussianDither, Resample

    chain = [GaussianDither(), Resample(replace=False), Centroid()]
    release = anonymize(people, people_schema, group=MDAV(k=4), mask=chain, seed=1)
    assert risk.classes(release.table, people_schema).k >= 4
    assert len(release.recipe.masks) == 3


def test_weighted_masks_keep_the_weighted_distribution():
    from shoal import CellDither, GaussianDither, KMember, Resample, Schema, utility

    rng = np.random.default_rng(8)
    a = rng.integers(0, 6, 6000)
    table = pl.DataFrame({"a": a, "b": rng.integers(0, 2, 6000), "w": np.where(a > 3, 9.0, 1.0)})
    schema = Schema.of(quasi=["a", "b"], weight="w", kinds={"a": "ordinal", "b": "nominal"})
    for mask in (Resample(weighted=True), CellDither(weighted=True), GaussianDither(weighted=True)):
        release = anonymize(table, schema, group=KMember(k=200), mask=mask, seed=2)
        kept = utility.histogram_intersection(table, release.table, schema, weighted=True)
        assert kept > 0.93, type(mask).__name__


def test_missing_rule_drops_rows_and_labels_say_so():
    from shoal import MDAV, Resample, Schema

    table = pl.DataFrame({"a": [1.0, None, 3.0, 4.0, 5.0], "y": [1, 2, 3, 4, 5]})
    schema = Schema.of(quasi=["a"], sensitive=["y"], missing={"a": "drop"})
    release = anonymize(table, schema, group=MDAV(k=2), mask=Resample(), seed=0)
    assert release.labels[1] == -1
    assert 1 not in release.source_rows
    assert len(release.table) == 4
    assert any("left out" in note for note in release.notes)


def test_series_of_a_release_has_no_trace_of_the_row(people, people_schema):
    out = run(people.to_pandas(), people_schema, KMember, Resample).table
    assert list(out.index) == list(range(48))
    assert series(enter(out), "age").len() == 48
