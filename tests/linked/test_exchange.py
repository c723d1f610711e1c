"""Exchanges within groups, against enumeration of all hand-outs."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.linked import Collection
from shoal.linked.exchange import shares_of, stirred
from shoal.rng import stream

SCHEMA = shoal.LinkedSchema.of(
    patients={"key": "patient", "columns": {"sex": {"role": "quasi"}}},
    visits={
        "key": "visit",
        "parent": "patients",
        "link": "patient",
        "columns": {"day": {"role": "time"}, "cost": {"role": "sensitive"}},
    },
    drugs={"parent": "visits", "link": "visit", "columns": {"drug": {"role": "sensitive"}}},
)


def collection(counts=(2, 1, 3, 0, 2, 4)):
    owner = np.repeat(np.arange(len(counts)), counts)
    n = len(owner)
    tables = {
        "patients": pl.DataFrame({"patient": range(len(counts)), "sex": ["f"] * len(counts)}),
        "visits": pl.DataFrame({"visit": range(n), "patient": owner, "day": range(n), "cost": range(100, 100 + n)}),
        "drugs": pl.DataFrame({"visit": [0, 0, n - 1], "drug": ["a", "b", "c"]}),
    }
    return Collection.of(tables, SCHEMA)


GROUPS = np.array([0, 0, 0, 1, 1, 1])


def pools(made, column):
    """What each group has of a column, sorted."""
    group = GROUPS[made.persons["visits"]]
    return [sorted(made.tables["visits"][column].filter(pl.Series(group == g)).to_list()) for g in (0, 1)]


@pytest.mark.parametrize(
    "method", [shoal.ExchangeBags(), shoal.DealEvents(), shoal.DealContents()], ids=lambda m: m.name
)
def test_groups_keep_what_they_have(method):
    before = collection()
    after = method.apply(before, GROUPS, stream(3)).collection
    for column in ("day", "cost"):
        assert pools(after, column) == pools(before, column)
    assert after.persons["drugs"].tolist() == after.persons["visits"][after.parents["drugs"]].tolist()


def test_bags_move_whole():
    before = collection()
    after = shoal.ExchangeBags().apply(before, GROUPS, stream(5)).collection
    bags = [set(map(frozenset, by_person(made))) for made in (before, after)]
    assert bags[0] == bags[1]
    assert by_person(before) != by_person(after)


def by_person(made):
    days = made.tables["visits"]["day"].to_numpy()
    return [frozenset(days[made.persons["visits"] == i].tolist()) for i in range(made.n_persons)]


def test_dealing_keeps_the_number_of_events():
    before = collection()
    after = shoal.DealEvents().apply(before, GROUPS, stream(5)).collection
    count = [np.bincount(made.persons["visits"], minlength=6).tolist() for made in (before, after)]
    assert count[0] == count[1]


def test_contents_leave_what_is_known():
    before = collection()
    after = shoal.DealContents().apply(before, GROUPS, stream(5)).collection
    known = ["visit", "patient", "day"]
    assert after.tables["visits"].select(known).equals(before.tables["visits"].select(known))
    assert not after.tables["visits"]["cost"].equals(before.tables["visits"]["cost"])


def dealt(sizes, m):
    """P(another event in i's bag is i's | m events of i are in it), over all deals, for the first person."""
    owner = [i for i, size in enumerate(sizes) for _ in range(size)]
    hits = cases = 0
    for order in permutations(range(len(owner))):
        bag = order[: sizes[0]]
        if all(owner[event] == 0 for event in bag[:m]) and len(bag) > m:
            cases += 1
            hits += owner[bag[m]] == 0
    return Fraction(hits, cases)


@pytest.mark.parametrize(("sizes", "m", "found"), [((2, 2), 1, "1/3"), ((3, 3), 2, "1/4"), ((3, 1), 1, "2/3")])
def test_lying_together_tells_nothing(sizes, m, found):  # [B10]
    exact = dealt(sizes, m)
    assert exact == Fraction(found) == Fraction(sizes[0] - m, sum(sizes) - m)
    persons = np.repeat(np.arange(len(sizes)), sizes)
    assert exact <= shares_of(np.zeros(len(sizes), dtype=int), persons)


def test_the_bound_is_the_largest_share():
    groups, persons = np.array([0, 0, 1]), np.array([0, 0, 0, 1, 2])
    assert shares_of(groups, persons) == 1.0
    assert shares_of(groups[:2], persons[:4]) == 0.75
    assert shares_of(groups, persons[:0]) == 0.0


def test_a_bag_is_ones_own_no_more_often_than_promised():
    groups = np.zeros(4, dtype=int)
    own = np.mean([stirred(groups, stream(seed, "x")) == np.arange(4) for seed in range(4000)], axis=0)
    assert np.abs(own - 1 / 4).max() < 0.04  # six standard errors


@pytest.mark.parametrize("k", [2, 3, 4])
def test_that_nobody_keeps_their_own_would_tell(k):  # [B5]
    """Without the identity each is found with 1/(k - 1); so hand-outs are drawn from all permutations."""
    moved = [p for p in permutations(range(k)) if all(p[i] != i for i in range(k))]
    assert {Fraction(sum(p[0] == j for p in moved), len(moved)) for j in range(1, k)} == {Fraction(1, k - 1)}
    drawn = {tuple(stirred(np.zeros(k, dtype=int), stream(seed, "x")).tolist()) for seed in range(400)}
    assert drawn == set(permutations(range(k)))


def test_values_are_not_read_at_the_receivers_times():  # [B8]
    """Curves t and -t at the receiver's times 1 and 5 show whose times they are; whole rows change hands instead."""
    times, curves = (1, 5), (lambda t: t, lambda t: -t)
    for order in permutations(range(2)):
        written = [curves[order[i]](times[i]) for i in range(2)]
        assert abs(written[1]) == 5, "|value| = 5 finds the second person, whoever's curve it is"
    before = collection()
    after = shoal.ExchangeBags().apply(before, GROUPS, stream(5)).collection
    rows = [set(made.tables["visits"].select("day", "cost").iter_rows()) for made in (before, after)]
    assert rows[0] == rows[1], "times go with the values"


def test_one_known_event_gives_the_whole_bag_away():
    """Nothing is promised against it, and the claim says so: E1 = {a, b}, E2 = {c, d}."""
    done = shoal.ExchangeBags().apply(collection((2, 2)), np.zeros(2, dtype=int), stream(1))
    bags = set(by_person(done.collection))
    assert bags == {frozenset({0, 1}), frozenset({2, 3})}
    assert done.claims[0].value == 0.5
    assert any("who knows one reads the others" in text for text in done.claims[0].assumptions)
