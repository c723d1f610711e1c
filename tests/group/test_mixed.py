"""Groups merged until their sensitive values are mixed: conditions by counting, partitions, claims, words."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.condition.conditions import Sensitive
from shoal.errors import GuaranteeError, ParameterError
from shoal.group.mixed import Mix, merge
from shoal.params import build, to_dict
from shoal.recipe import Anonymization, read_recipe
from shoal.recipe.spell import argument
from shoal.release import make
from shoal.schema import Column

SCHEMA = shoal.Schema.of(quasi=["age", "town"], sensitive=["ill"], kinds={"age": "numeric", "ill": "nominal"})
INNER = ["k-member", "mdav", "mst", {"method": "t-close-mst", "k": 3}, shoal.Ball(radius=0.3, minimum=3)]


def people(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    ill = np.where(age > 60, rng.choice(["c", "d"], n), rng.choice(["a", "b", "c"], n, p=[0.8, 0.15, 0.05]))
    return pl.DataFrame({"age": age, "town": rng.choice(["A", "B", "C"], n), "ill": ill})


def distinct(labels, values):
    return min(len({v for v, g in zip(values, labels, strict=True) if g == group}) for group in set(labels))


def variation(labels, values):
    """The largest total variation of a group's values from the table's, by the definition."""
    n, overall, worst = len(values), Counter(values), 0.0
    for group in set(labels):
        own = Counter(v for v, g in zip(values, labels, strict=True) if g == group)
        size = sum(own.values())
        worst = max(worst, sum(abs(own[v] / size - overall[v] / n) for v in overall) / 2)
    return worst


@pytest.mark.parametrize("inner", INNER, ids=str)
@pytest.mark.parametrize("asked", [{"diversity": 3}, {"closeness": "equal:0.35"}, {"diversity": 2, "closeness": 0.5}])
def test_every_grouper_meets_what_is_asked(inner, asked):
    table = people(120, 3)
    labels = shoal.Mixed(of=inner, minimum=3, **asked).assign(table, SCHEMA, seed=1).tolist()
    assert min(Counter(labels).values()) >= 3
    assert distinct(labels, table["ill"]) >= asked.get("diversity", 1)
    assert variation(labels, table["ill"]) <= float(str(asked.get("closeness", 1)).rpartition(":")[2]) + 1e-9


def test_a_partner_that_completes_the_mix_is_preferred_to_a_slightly_nearer_one():
    """Groups of one value at 0, 1.0 and −1.1: the nearer neighbour has the same value, the other one the other."""
    points = np.array([[0.0], [0.0], [1.0], [1.0], [-1.1], [-1.1], [9.0], [9.0]])
    labels, ill = np.repeat([0, 1, 2, 3], 2), np.array([0, 0, 0, 0, 1, 1, 0, 1])

    def meets(found, n):
        return np.array([set(ill[found == group]) == {0, 1} for group in range(n)])

    by_mix = merge(labels, points, meets, Mix(bins=(ill,), weight=3.0))
    assert by_mix[0] == by_mix[4]
    assert merge(labels, points, meets)[0] == merge(labels, points, meets)[2]


def test_mixing_keeps_groups_smaller_for_the_same_closeness():
    table, schema = shoal.datasets.health_survey(1500, seed=1), shoal.datasets.health_survey_schema()
    largest = {
        weight: np.bincount(shoal.Mixed(of=shoal.MDAV(k=5), closeness=0.2, mixing=weight).assign(table, schema, seed=1))
        for weight in (0.0, 3.0)
    }
    assert largest[3.0].max() <= largest[0.0].max()
    assert len(largest[3.0]) >= len(largest[0.0])


def test_the_mix_of_two_groups_is_their_total_variation_from_the_table():
    rng = np.random.default_rng(5)
    values, labels = rng.integers(0, 40, 300), rng.integers(0, 6, 300)
    columns = [Sensitive(name="a", values=values % 3, n_values=3, ordered=False),
               Sensitive(name="b", values=values, n_values=40, ordered=True)]  # fmt: skip
    mix = Mix.of(columns, 1.0)
    assert max(int(bins.max()) for bins in mix.bins) < 16
    excess, both = mix.excess(labels, 6), np.isin(labels, [1, 4])
    expected = np.mean(
        [
            np.abs(np.bincount(bins[both], minlength=bins.max() + 1) / both.sum() - np.bincount(bins) / 300).sum() / 2
            for bins in mix.bins
        ]
    )
    assert np.abs(excess[1] + excess[4]).sum() / both.sum() == pytest.approx(expected)


def test_groups_are_only_merged_and_only_where_they_fail():
    table = people(150, 4)
    before = shoal.MDAV(k=3).assign(table, SCHEMA, seed=1)
    after = shoal.Mixed(of=shoal.MDAV(k=3), diversity=2).assign(table, SCHEMA, seed=1)
    pairs = set(zip(before.tolist(), after.tolist(), strict=True))
    assert len(pairs) == len(set(before.tolist()))  # each group went whole into one
    values = table["ill"].to_numpy()
    for group in set(after.tolist()):
        parts = {b for b, a in pairs if a == group}
        if len(parts) > 1:
            assert any(len(set(values[before == part])) < 2 for part in parts)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=2, max_size=30), st.integers(1, 3))
def test_merging_ends_with_groups_that_hold_or_with_one(rows, needed):
    labels = np.array([group for group, _ in rows])
    values = np.array([value for _, value in rows])

    def meets(now, n):
        return np.array([len(set(values[now == group])) >= needed for group in range(n)])

    found = merge(labels, values[:, None].astype(float), meets)
    assert set(found) == set(range(found.max() + 1))
    assert found.max() == 0 or meets(found, found.max() + 1).all()


def test_a_condition_that_the_table_fails_is_an_error():
    with pytest.raises(GuaranteeError):
        shoal.Mixed(diversity="entropy:3.9").assign(people(60, 1), SCHEMA, seed=1)


def test_claims_say_whether_the_table_shows_them(tmp_path):
    table, grouper = people(150, 5), shoal.Mixed(of="mdav", minimum=3, diversity=2)
    shown = shoal.anonymize(table, SCHEMA, group=grouper, mask=shoal.Centroid())
    hidden = shoal.anonymize(table, SCHEMA, group=grouper, mask=shoal.Resample())
    aware = shoal.anonymize(table, SCHEMA, group=grouper, mask=shoal.RankSwap(percent=20))
    scopes = [
        [c.scope for c in release.claims if c.kind == "distinct l-diversity"] for release in (shown, hidden, aware)
    ]
    assert scopes == [["per class"], ["per group"], []]
    shown.write(tmp_path / "shown")
    hidden.write(tmp_path / "hidden")
    for name, standing in (("shown", "recomputed"), ("hidden", "on the publisher's word")):
        found = {check.name: check.standing for check in shoal.verify(tmp_path / name).checks}
        assert found["distinct l-diversity 2"] == standing


def test_words_make_the_same_grouper():
    grouper = shoal.Mixed(of=shoal.Crest(k=4, alpha=0.25), diversity=2)
    words = to_dict(grouper)
    again = build(shoal.Mixed, words)
    assert again.other == grouper.other
    assert to_dict(again) == words
    recipe = Anonymization.of(shoal.Mixed(of="mst", minimum=6, closeness=0.3), shoal.Centroid())
    assert read_recipe(recipe.to_dict()).to_dict() == recipe.to_dict()
    assert argument(recipe.group) == "mixed:of=mst,minimum=6,closeness=0.3"
    assert recipe.k == 6
    assert shoal.Mixed(of="method=crest/k=4/alpha=0.25").other == grouper.other


@pytest.mark.parametrize("of", ["", "mondrian", "mixed", {"k": 3}])
def test_what_is_no_other_grouper(of):
    with pytest.raises(ParameterError, match="another grouper"):
        _ = shoal.Mixed(of=of).k


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 99), st.sampled_from([{"diversity": 2}, {"diversity": 3}, {"closeness": "equal:0.5"}]))
def test_rejected_groups_are_those_that_fail(seed, condition):
    table = people(60, seed)
    first = shoal.MDAV(k=4).assign(table, SCHEMA, seed=1)
    labels = shoal.Mixed(of=shoal.MDAV(k=4), failing="reject", suppression=1, **condition)
    try:
        found = labels.assign(table, SCHEMA, seed=1)
    except GuaranteeError:
        return  # no group stays
    values = table["ill"].to_list()
    kept = [i for i in range(60) if found[i] >= 0]
    groups, ill = [first[i] for i in kept], [values[i] for i in kept]
    assert len({(a, found[i]) for a, i in zip(groups, kept, strict=True)}) == len(
        set(groups)
    )  # the groups as they were
    if "diversity" in condition:
        assert distinct(groups, ill) >= condition["diversity"]
        for group in set(first) - set(groups):
            own = {v for v, g in zip(values, first, strict=True) if g == group}
            assert len(own) < condition["diversity"]
    else:
        assert variation(groups, ill) <= 0.5 + 1e-9


def test_a_release_without_the_rejected(tmp_path):
    table = people(300, 3)
    group = shoal.Mixed(of=shoal.MDAV(k=5), diversity=2, failing="reject", suppression=0.5)
    release = shoal.anonymize(table, SCHEMA, group=group, mask=shoal.Centroid(), seed=1)
    assert 150 <= len(release.table) < 300
    assert (release.labels < 0).sum() == 300 - len(release.table)
    assert release.recipe.leaves_out
    assert {"k-anonymity", "distinct l-diversity"} <= {claim.kind for claim in release.claims}
    release.write(tmp_path / "out")
    recounted = [check for check in shoal.verify(tmp_path / "out").checks if check.standing == "recomputed"]
    assert len(recounted) == 2
    assert all(check.holds for check in recounted)
    with pytest.raises(GuaranteeError, match="leave out at most 0.01"):
        shoal.anonymize(table, SCHEMA, group=group.clone().set_params(suppression=0.01), mask=shoal.Centroid())


def test_who_is_rejected_does_not_show_in_what_leaves():
    """Two tables that differ in a rejected record's own values alone write the same figures."""
    ill = ["no", "no", "no", "yes", "no", "yes", "no", "yes"]
    told = []
    for age in (21, 24):
        table = pl.DataFrame({"age": [age, 22, 41, 42, 61, 62, 81, 82], "town": ["A"] * 8, "ill": ill})
        group = shoal.Mixed(of=shoal.MDAV(k=2), diversity=2, failing="reject", suppression=0.5)
        release = make(table, SCHEMA, Anonymization.of(group, shoal.Centroid()), seed=1, key="5a" * 32)
        assert release.labels[0] == -1
        told.append([claim.value for claim in release.outside_claims])
    assert told[0] == told[1]


def _with_rejected_first(shuffle):
    """Eight people of one town, stage and illness that nobody else has; thirteen towns of four mixed people."""
    others = range(52)
    table = pl.DataFrame(
        {
            "age": [1] * 8 + [20 + i for i in others],
            "town": ["theirs"] * 8 + [f"t{i // 4:02d}" for i in others],
            "stage": ["middle"] * 8 + ["low" if i % 2 else "high" for i in others],
            "ill": ["theirs"] * 8 + ["yes" if i // 2 % 2 else "no" for i in others],
        }
    )
    columns = [Column(name="age", role="quasi"), Column(name="town", role="quasi")]
    columns += [Column(name="stage", role="quasi", kind="ordinal", levels=("low", "middle", "high"))]
    schema = shoal.Schema([*columns, Column(name="ill", role="sensitive")])
    group = shoal.Mixed(of=shoal.MDAV(k=4), diversity=2, failing="reject", suppression=0.5)
    return table.sample(fraction=1, shuffle=True, seed=shuffle), schema, group


@pytest.mark.parametrize("shuffle", [0, 1])
@pytest.mark.parametrize(
    "mask",
    [
        shoal.Resample(),
        shoal.Centroid(),
        shoal.GaussianDither(),
        shoal.Flatten(),
        shoal.Flatten(columns=["ill"]),
        shoal.Shuffle(columns=["town", "ill"]),
    ],
    ids=["resample", "centroid", "dither", "flatten", "flatten ill", "shuffle"],
)
def test_masks_write_values_of_those_who_stay(mask, shuffle):
    table, schema, group = _with_rejected_first(shuffle)
    out = shoal.anonymize(table, schema, group=group, mask=mask, seed=1).table
    stay = table.filter(pl.col("town") != "theirs")
    assert len(out) == len(stay) == 52
    for name in ("town", "stage", "ill"):
        assert set(out[name]) <= set(stay[name])
    if mask.name == "shuffle":
        assert sorted(out["town"]) == sorted(stay["town"])
    if mask.name != "flatten":
        assert sorted(out["ill"]) == sorted(stay["ill"])
