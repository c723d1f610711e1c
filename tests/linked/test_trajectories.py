"""Histories handed on whole: order kept, gaps within the tolerance, groups of similar histories."""

import datetime as dt
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import ColumnError, SchemaError
from shoal.linked import Collection
from shoal.linked.dates import jittered
from shoal.linked.summaries import grams, summaries_of
from shoal.rng import stream

SCHEMA = shoal.LinkedSchema.of(
    patients={"key": "patient", "columns": {"sex": {"role": "quasi"}}},
    visits={
        "key": "visit",
        "parent": "patients",
        "link": "patient",
        "columns": {"day": {"role": "time"}, "left": {"role": "time"}, "code": {"role": "quasi"}},
    },
    drugs={"parent": "visits", "link": "visit", "columns": {"taken": {"role": "time"}}},
)
DAY = dt.date(2024, 1, 1)


def dates(days):
    return pl.Series([DAY + dt.timedelta(days=int(day)) for day in days], dtype=pl.Date)


def collection(days, stays=None, schema=SCHEMA):
    """One list of days for each person, one visit a day."""
    n = sum(map(len, days))
    flat = np.concatenate([np.array(one, dtype=int) for one in days]) if n else np.zeros(0, dtype=int)
    left = flat + (np.zeros(n, dtype=int) if stays is None else np.array(stays[:n]))
    tables = {
        "patients": pl.DataFrame({"patient": range(len(days)), "sex": ["f"] * len(days)}),
        "visits": pl.DataFrame(
            {
                "visit": pl.Series(range(n), dtype=pl.Int64),
                "patient": np.repeat(np.arange(len(days)), [len(one) for one in days]),
                "day": dates(flat),
                "left": dates(left),
                "code": pl.Series(["a"] * n, dtype=pl.String),
            }
        ),
        "drugs": pl.DataFrame({"visit": pl.Series(range(n), dtype=pl.Int64), "taken": dates(flat)}),
    }
    return Collection.of(tables, schema)


histories = st.lists(st.lists(st.integers(0, 40), max_size=6), min_size=1, max_size=5)


@given(histories, st.integers(1, 9), st.integers(0, 1000))
def test_order_stays_and_gaps_stay_within_the_tolerance(days, reach, seed):
    before = collection(days, stays=[i % 7 for i in range(60)])
    after = jittered(before, reach, stream(seed))
    old, new = (np.concatenate([_days(one, "day"), _days(one, "left")]) for one in (before, after))
    person = np.tile(before.persons["visits"], 2)
    assert np.abs(new - old).max(initial=0) <= reach
    for i in range(len(days)):
        was, now = old[person == i], new[person == i]
        later = was[:, None] > was[None, :]
        assert (now[:, None] >= now[None, :])[later].all(), "order"
        assert (now[:, None] == now[None, :])[was[:, None] == was[None, :]].all(), "one day stays one day"
        gaps = [days[:, None] - days[None, :] for days in (was, now)]
        assert np.abs(gaps[0] - gaps[1]).max(initial=0) <= 2 * reach


def _days(made, name):
    return made.tables["visits"][name].cast(pl.Int32).to_numpy().astype(int)


def test_dates_of_all_tables_move_in_step():
    after = jittered(collection([[3, 9, 20], [5]]), 4, stream(3))
    assert after.tables["visits"]["day"].to_list() == after.tables["drugs"]["taken"].to_list()


def test_what_is_no_date_is_refused():
    words = SCHEMA.to_dict()
    words["tables"]["visits"]["columns"]["code"] = {"role": "time"}
    with pytest.raises(ColumnError, match="to be moved"):
        jittered(collection([[1, 2]], schema=shoal.LinkedSchema.from_dict(words)), 2, stream(1))


def counts(text, q):
    return Counter(text[i : i + q] for i in range(len(text) - q + 1))


def l1(one, other, q):
    a, b = counts(one, q), counts(other, q)
    return sum((a - b).values()) + sum((b - a).values())


def edit(one, other):
    """The edit distance, by the definition."""
    if not one or not other:
        return len(one) + len(other)
    return min(edit(one[1:], other) + 1, edit(one, other[1:]) + 1, edit(one[1:], other[1:]) + (one[0] != other[0]))


def by_grams(texts, q):
    """The L1 distance of two histories by `grams`."""
    person = np.repeat([0, 1], [len(text) for text in texts])
    code = np.array([ord(letter) for letter in "".join(texts)], dtype=np.int64)
    owner, gram = grams(person, code, q)
    each = [np.bincount(gram[owner == i], minlength=int(gram.max(initial=0)) + 1) for i in (0, 1)]
    return int(np.abs(each[0] - each[1]).sum())


def test_grams_of_the_sheet():  # [J8, J9]
    texts = ("ABCAB", "ABAB")
    assert edit(*texts) == 1
    assert [by_grams(texts, q) for q in (1, 2)] == [1, 3]
    assert by_grams(texts, 2) <= 2 * 2 * edit(*texts)


@given(st.text("AB", max_size=5), st.text("ABC", max_size=5), st.integers(1, 3))
def test_grams_are_near_where_histories_are(one, other, q):
    found = by_grams((one, other), q)
    assert found == l1(one, other, q)
    assert found <= 2 * q * edit(one, other)


def test_pairs_in_a_row_tell_histories_apart_that_bags_do_not():
    words = SCHEMA.to_dict()
    words["tables"]["visits"]["summaries"] = ["codes:code", "sequence:code"]
    made = collection([[1, 5, 9], [1, 5, 9]], schema=shoal.LinkedSchema.from_dict(words))
    made = made.with_columns("visits", {"code": pl.Series(["a", "a", "b", "a", "b", "a"])})
    found = summaries_of(made)
    assert all(values[0] == values[1] for name, values in found.items() if "codes" in name)
    assert any(values[0] != values[1] for name, values in found.items() if "sequence" in name)


def test_a_sequence_needs_a_time():
    with pytest.raises(SchemaError, match="role time"):
        shoal.LinkedSchema.of(
            a={"key": "x"},
            b={"parent": "a", "link": "x", "summaries": ["sequence:c"], "columns": {"c": {"role": "quasi"}}},
        )


@pytest.fixture(scope="module")
def clinic():
    return shoal.datasets.clinic(150, visits=3.0, seed=3)


def test_histories_go_to_persons_with_similar_ones(clinic):
    schema = shoal.datasets.clinic_schema()
    words = schema.to_dict()
    del words["tables"]["visits"]["summaries"]
    bare = shoal.LinkedSchema.from_dict(words)
    runs = [
        shoal.anonymize(clinic, bare, group=shoal.MDAV(k=5), events=events, seed=7)
        for events in (shoal.ExchangeBags(), shoal.ExchangeTrajectories(days=6))
    ]
    person = Collection.of(clinic, bare).persons["visits"]
    n_visits = np.bincount(person, minlength=150)
    spread = [sum(n_visits[r.labels == g].var() for g in np.unique(r.labels)) for r in runs]
    assert spread[1] < 0.8 * spread[0]
    joint = runs[1].linked.joint
    assert joint.tolerance == 6
    assert [claim.value for claim in runs[1].claims if claim.kind == "event bound"] == [0.2]
    assert joint.k(2, "gaps") <= joint.k(2, "order")


def test_the_written_tables_hang_together(clinic, tmp_path):
    release = shoal.anonymize(
        clinic, shoal.datasets.clinic_schema(), group=shoal.MDAV(k=5), events=shoal.ExchangeTrajectories()
    )
    assert shoal.verify(release.write(tmp_path / "out")).holds
