"""One event known with its true date, where dates were shifted: counts are those of the definition."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import ProblemsError, SchemaError
from shoal.linked.counting import Bags
from shoal.linked.known_date import Moved, date_candidates

event = st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(-9, 30), st.booleans())


def by_definition(classes, events, moved, i):
    """The fewest persons who fit one event of i: tries every shift of every person."""
    sizes = [sum(classes[j] == classes[i] for j in range(len(classes)))]
    for who, item, day, dated in events:
        if who != i:
            continue
        fits = set()
        for j, other, released, known in events:
            if classes[j] != classes[i] or other != item or known != dated:
                continue
            tried = range(moved.low[j], moved.high[j] + 1)
            if not dated or any(released - moved.unit * s == day - moved.days[i] for s in tried):
                fits.add(j)
        sizes.append(len(fits))
    return min(sizes[1:], default=sizes[0])


@given(
    st.lists(event, max_size=25),
    st.lists(st.integers(-1, 1), min_size=6, max_size=6),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.data()), min_size=6, max_size=6),
    st.sampled_from([1, 7]),
)
def test_counts_are_those_of_the_definition(events, classes, ends, unit):
    low, high = (np.array([sign * end[at] for end in ends]) for sign, at in ((-1, 0), (1, 1)))
    steps = np.array([end[2].draw(st.integers(int(a), int(b))) for end, a, b in zip(ends, low, high, strict=True)])
    moved = Moved(days=unit * steps, low=low, high=high, unit=unit)
    person, item, day, dated = (np.array([one[at] for one in events], dtype=int) for at in range(4))
    bags = Bags.of(np.array(classes), person, item, day)
    found = date_candidates(bags, moved, dated.astype(bool))
    wanted = [by_definition(classes, events, moved, i) if classes[i] >= 0 else 0 for i in range(6)]
    assert found.tolist() == wanted


def tables(days, sex="F"):
    who = list(range(1, len(days) + 1))
    visits = pl.DataFrame({"visit": [100 + i for i in who], "patient": who, "day": days})
    return {"patients": pl.DataFrame({"patient": who, "sex": sex}), "visits": visits}


SCHEMA = shoal.LinkedSchema.of(
    patients={"key": "patient", "columns": {"sex": {"role": "quasi"}}},
    visits={"key": "visit", "parent": "patients", "link": "patient", "columns": {"day": {"role": "time"}}},
)
DAYS = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 12, 31), "1d", eager=True)


def k_of(shift, days, **more):
    names = shoal.Pseudonyms(key=shoal.ProjectKey(bytes(range(32))), scope="tests")  # the shifts follow from the key
    events = [shift, *more.get("then", [])]
    release = shoal.coarsen(tables(days), SCHEMA, shoal.Suppress(k=2), events=events, pseudonyms=names, seed=3)
    return release.linked.joint


@pytest.fixture(scope="module")
def spread():
    return DAYS.gather(range(0, 364, 4))  # 91 people, one visit each, four days apart


def test_the_wider_dates_move_the_more_fit(spread):
    found = [k_of(shoal.ShiftDates(weeks=None, days=days), spread).k(1, "date") for days in (1, 10, 60)]
    assert found == sorted(found)
    assert found[0] < 5 < found[2]


def test_a_window_that_everybody_knows_leaves_fewer(spread):
    free = k_of(shoal.ShiftDates(weeks=8), spread)
    edges = k_of(shoal.ShiftDates(weeks=8, window="2024-01-01/2024-12-31"), spread)
    assert edges.k(1, "date") <= free.k(1, "date")
    assert edges.share_below(1, "date") >= free.share_below(1, "date")
    assert free.k(1, "date") >= free.k(1) == 1, "who knows the shifted date knows more"


def test_whole_histories_that_change_hands_are_counted_as_before(spread):
    alone = k_of(shoal.ShiftDates(weeks=8), spread)
    handed = k_of(shoal.ShiftDates(weeks=8), spread, then=[shoal.ExchangeBags()])
    assert handed.k(1, "date") == alone.k(1, "date")


@pytest.mark.parametrize("then", [shoal.DealEvents(), shoal.CoarsenEvents(k=2), shoal.ExchangeTrajectories()])
def test_where_days_are_no_longer_ones_own_nothing_is_said(spread, then):
    made = k_of(shoal.ShiftDates(weeks=8), spread, then=[then])
    assert "date" not in {known.knows for known in made.by_events}


def test_dates_outside_the_window_are_refused_by_table_and_column(spread):
    with pytest.raises((SchemaError, ProblemsError), match=r"table 'visits', column 'day'.*45 dates outside"):
        k_of(shoal.ShiftDates(weeks=8, window="2024-01-01/2024-06-30"), spread)
