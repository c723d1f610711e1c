import itertools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Schema, risk
from shoal.condition.conditions import Closeness, Conditions, Diversity, smallest_in_subsets
from shoal.conform import prepare
from shoal.equivalence import Codes
from shoal.errors import GuaranteeError, ParameterError, SchemaError


def prepared_of(classes, ill, cost=None, who=None, kinds=None):
    data = {"q": classes, "ill": ill}
    sensitive = ["ill"]
    if cost is not None:
        data, sensitive = data | {"cost": cost}, ["ill", "cost"]
    if who is not None:
        data |= {"who": who}
    schema = Schema.of(quasi=["q"], sensitive=sensitive, unit=None if who is None else "who", kinds=kinds)
    return prepare(pl.DataFrame(data), schema)


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (3, Diversity(kind="distinct", l=3)),
        ("3", Diversity(kind="distinct", l=3)),
        ("distinct:3", Diversity(kind="distinct", l=3)),
        ("entropy:2.5", Diversity(kind="entropy", l=2.5)),
        ("recursive:3,2", Diversity(kind="recursive", l=2, c=3)),
        ("recursive:0.5, 2", Diversity(kind="recursive", l=2, c=0.5)),
    ],
)
def test_words_of_diversity(words, read):
    assert str(Diversity.of(words)) == str(read)
    assert Diversity.of(str(read)).kind == read.kind


@pytest.mark.parametrize(
    "words", [0, 2.5, True, "x", "distinct:", "entropy:0.5", "recursive:3", "recursive:0,2", "l:3", ""]
)
def test_wrong_words_of_diversity(words):
    with pytest.raises(ParameterError, match="diversity must"):
        Diversity.of(words)


@pytest.mark.parametrize(
    ("words", "t", "distance"), [(0.2, 0.2, None), ("equal:0.3", 0.3, "equal"), ("ordered:1", 1, "ordered")]
)
def test_words_of_closeness(words, t, distance):
    assert Closeness.of(words) == Closeness(t=t, distance=distance)


@pytest.mark.parametrize("words", [-0.1, 1.1, True, "far:0.2", "equal", "nan", float("nan")])
def test_wrong_words_of_closeness(words):
    with pytest.raises(ParameterError, match="closeness must"):
        Closeness.of(words)


def slow_meets(labels, n, k, sensitive, diversity, closeness, who):
    """Class by class from the definitions; a person counts once for k and once for each value."""
    rows = [i for i, c in enumerate(labels) if c >= 0]
    person = who or list(range(len(labels)))
    out = []
    for c in range(n):
        mine = [i for i in rows if labels[i] == c]
        good = len({person[i] for i in mine}) >= k
        for values, ordered in sensitive:
            everywhere = [(labels[i], values[i], person[i]) for i in rows]
            everything = Counter(v for _, v, _ in set(everywhere))
            counts = Counter(v for _, v, _ in {(labels[i], values[i], person[i]) for i in mine})
            good = good and bool(mine)
            good = good and (diversity is None or slow_l(counts, diversity))
            good = good and (closeness is None or slow_t(counts, everything, ordered) <= closeness + 1e-9)
        out.append(good)
    return out


def slow_l(counts, diversity):
    kind, *numbers = diversity
    total = sum(counts.values())
    if kind == "distinct":
        return len(counts) >= numbers[0]
    if kind == "entropy":
        return -sum(c / total * math.log(c / total) for c in counts.values()) >= math.log(numbers[0]) - 1e-9
    c, level = numbers
    r = sorted(counts.values(), reverse=True)
    return r[0] < c * sum(r[int(level) - 1 :])


def slow_t(counts, everything, ordered):
    n, total = sum(counts.values()), sum(everything.values())
    gaps = [counts[v] / n - everything[v] / total for v in sorted(everything)]
    if not ordered:
        return sum(map(abs, gaps)) / 2
    return sum(map(abs, itertools.accumulate(gaps))) / max(1, len(gaps) - 1)


WANTED = [
    (None, None, None),
    (2, ("distinct", 2), None),
    ("entropy:1.5", ("entropy", 1.5), None),
    ("recursive:2,2", ("recursive", 2, 2), None),
    (None, None, 0.3),
    (2, ("distinct", 2), 0.5),
]


@pytest.mark.parametrize(("words", "diversity", "closeness"), WANTED, ids=str)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_classes_meet_the_conditions_as_defined(words, diversity, closeness, data):
    n = data.draw(st.integers(6, 25))
    draw = lambda low, high: data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n))  # noqa: E731
    labels, ill, cost = draw(-1, 3), draw(0, 2), draw(0, 3)
    who = draw(0, n) if data.draw(st.booleans()) else None
    ill[:2], cost[:2] = [0, 1], [0, 1]
    prepared = prepared_of(labels, [f"ill {v}" for v in ill], cost, who)
    if who is not None and len(set(who)) < 2:
        return
    conditions = Conditions.of(prepared, k=2, diversity=words, closeness=closeness)
    slow = slow_meets(
        labels, 4, 2, [(ill, False), (cost, True)] if conditions.sensitive else [], diversity, closeness, who
    )
    assert conditions.meets(np.array(labels), 4).tolist() == slow


@given(seed=st.integers(0, 10**6), closeness=st.sampled_from([None, 0.15, "equal:0.3"]))
@settings(max_examples=30, deadline=None)
def test_what_settles_agrees_with_the_measured_classes_of_the_release(seed, closeness):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 6, 60)
    ill = rng.choice(["a", "b", "c"], 60, p=[0.6, 0.3, 0.1])
    cost = rng.integers(0, 9, 60)
    prepared = prepared_of(labels, ill, cost)
    conditions = Conditions.of(prepared, k=4, diversity=2, closeness=closeness)
    good = conditions.releasable_classes(labels, 6)
    kept = good[labels]
    if not kept.any():
        return
    assert conditions.meets(np.where(kept, labels, -1), 6).tolist() == good.tolist()
    released = pl.DataFrame({"q": labels[kept], "ill": ill[kept], "cost": cost[kept]})
    report = risk.classes(released, prepared.schema)
    found = dict(
        zip(
            [(p.kind, p.column) for p in conditions.promises()],
            conditions.found(np.where(kept, labels, -1), 6),
            strict=True,
        )
    )
    assert found["k-anonymity", ""] == report.k >= 4
    assert found["l-diversity", "ill"] == report.sensitive["ill"].distinct_l >= 2
    if closeness == 0.15:
        assert found["t-closeness", "cost"] == pytest.approx(report.sensitive["cost"].t, abs=1e-12)
        assert found["t-closeness", "ill"] == pytest.approx(report.sensitive["ill"].t, abs=1e-12)
    assert all(promise.holds(value) for promise, value in zip(conditions.promises(), found.values(), strict=True))


def test_closeness_is_to_the_released_records():
    labels = np.array([0] * 4 + [1] * 4 + [2])
    ill = ["a", "b", "a", "b", "a", "b", "b", "a", "c"]
    conditions = Conditions.of(prepared_of(labels, ill), k=2, closeness=0.1)
    assert conditions.meets(labels, 3).tolist() == [False, False, False]  # the lone record is 1/9 of the table
    without = np.where(labels == 2, -1, labels)
    assert conditions.meets(without, 3).tolist() == [True, True, False]


def test_a_person_with_several_rows_counts_once():
    who = [1, 1, 1, 2, 3, 4]
    conditions = Conditions.of(prepared_of([0] * 6, ["a", "b"] * 3, who=who), k=2)
    assert conditions.meets(np.array([0, 0, 0, 1, 1, 1]), 2).tolist() == [False, True]
    assert conditions.promises()[0].measure == "persons"
    assert "persons" in conditions.promises()[0].statement


def test_missing_sensitive_values_are_a_value_of_their_own():
    conditions = Conditions.of(prepared_of([0] * 4, ["a", None, "a", "a"]), k=2, diversity=2)
    assert conditions.meets(np.array([0, 0, 1, 1]), 2).tolist() == [True, False]


def test_nothing_left_meets_nothing():
    conditions = Conditions.of(prepared_of([0, 0], ["a", "b"]), k=2, diversity=2, closeness=0.5)
    assert conditions.meets(np.array([-1, -1]), 2).tolist() == [False, False]
    assert conditions.releasable_classes(np.array([-1, -1]), 2).tolist() == [False, False]
    assert conditions.found(np.array([-1, -1]), 2) == (0, 0.0, 1.0)


def test_what_no_release_can_meet_is_refused_at_once():
    prepared = prepared_of([0, 0, 1], ["a", "b", "b"])
    with pytest.raises(GuaranteeError, match="k = 4.*got 3"):
        Conditions.of(prepared, k=4)
    with pytest.raises(GuaranteeError, match="'ill'.*got 2 different values"):
        Conditions.of(prepared, k=2, diversity=3)
    with pytest.raises(ParameterError, match="'ill' is nominal"):
        Conditions.of(prepared, k=2, closeness="ordered:0.2")
    with pytest.raises(ParameterError, match="k must"):
        Conditions.of(prepared, k=0)
    bare = prepare(pl.DataFrame({"q": [1, 2]}), Schema.of(quasi=["q"]))
    with pytest.raises(SchemaError, match="sensitive column"):
        Conditions.of(bare, k=2, diversity=2)
    assert Conditions.of(bare, k=2).sensitive == ()


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_subsets_have_the_smallest_class_of_brute_force_and_never_less_than_all_columns(seed):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, 30) for _ in range(3)]
    found = smallest_in_subsets([Codes(values=c, n=3) for c in columns], None, 3)
    for size in (1, 2, 3):
        sizes = [
            min(Counter(zip(*chosen, strict=True)).values())
            for chosen in itertools.combinations(map(list, columns), size)
        ]
        assert found[size] == min(sizes)
    assert found[1] >= found[2] >= found[3]


def test_promises_are_words_that_json_takes():
    import json

    conditions = Conditions.of(
        prepared_of([0] * 4, ["a", "b"] * 2, [1, 2, 3, 4]), k=2, diversity="recursive:3,2", closeness=0.2
    )
    words = [promise.to_dict() for promise in conditions.promises()]
    assert [w["kind"] for w in words] == ["k-anonymity"] + ["l-diversity", "t-closeness"] * 2
    assert [w["measure"] for w in words] == ["records", "recursive", "equal", "recursive", "ordered"]
    assert json.loads(json.dumps(words)) == words
