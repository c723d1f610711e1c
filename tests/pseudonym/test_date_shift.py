"""Date shifts: a person's dates move together, weekdays stay, gaps stay, and what that leaves open is counted."""

import datetime as dt
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.frame import enter, series
from shoal.pseudonym import DateShift, ProjectKey
from shoal.pseudonym.date_shift import possible_shifts

KEY = ProjectKey(bytes(range(32)))
WEEKS = DateShift(key=KEY, scope="s", weeks=26)
DAY = dt.date(2024, 3, 1)


def visits(n=60):
    days = [DAY + dt.timedelta(days=(i * 37) % 300) for i in range(n)]
    return pl.DataFrame(
        {"patient": [i % 20 for i in range(n)], "admitted": days, "left": [d + dt.timedelta(days=3) for d in days]}
    )


def test_all_dates_of_a_person_move_together_by_whole_weeks():
    table = visits()
    moved, told = WEEKS.apply(table, person="patient", columns=["admitted", "left"])
    by = (moved["admitted"] - table["admitted"]).dt.total_days()
    assert (by == (moved["left"] - table["left"]).dt.total_days()).all()
    assert (by % 7 == 0).all()
    assert by.abs().max() <= 182
    assert pl.DataFrame({"p": table["patient"], "by": by}).unique().height == 20
    assert by.n_unique() > 8
    assert (told.n_persons, told.n_dates, told.n_shifts, told.fewest_possible) == (20, 120, 53, None)


def test_the_shift_is_the_formula():
    found = WEEKS.of(pl.Series("p", [3]))[0]
    drawn = int.from_bytes(KEY.digest("s", "date shift", 3), "big")
    assert found == 7 * (drawn % 53 - 26)
    assert DateShift(key=KEY, scope="s", days=26).of(pl.Series("p", [3]))[0] == drawn % 53 - 26


def test_tables_and_years_stay_in_step_and_scopes_do_not():
    first, second = visits(40), visits(60)
    one = WEEKS.of(first["patient"].unique(maintain_order=True)).to_list()
    assert WEEKS.of(second["patient"].unique(maintain_order=True)).to_list() == one
    assert DateShift(key=KEY, scope="t", weeks=26).of(first["patient"].unique(maintain_order=True)).to_list() != one


def test_shifts_fill_their_range_evenly():
    """Chi-square of 53 cells over 10,000 persons: beyond 110 once in a million."""
    counts = np.bincount(WEEKS.of(pl.Series("p", range(10_000))).to_numpy() // 7 + 26, minlength=53)
    assert len(counts) == 53
    assert ((counts - 10_000 / 53) ** 2 / (10_000 / 53)).sum() < 110
    assert math.log2(53) == pytest.approx(5.73, abs=0.005)  # [P11]


def test_days_hide_more_than_weeks():  # [P12]
    daily = DateShift(key=KEY, scope="s", days=182)
    n = 2 * daily.most_days + 1
    assert (n, daily.most_days) == (365, WEEKS.most_days)
    assert math.log2(n) == pytest.approx(8.51, abs=0.005)


@pytest.mark.parametrize("releases", [1, 2, 3, 6])
def test_fresh_shifts_of_linkable_persons_narrow_the_window(releases):  # [P14, P15]
    """True days that fit all releases: 2 R · 2 / (T + 1) on average, 182 of 364 after three. Six standard errors."""
    fresh = [DateShift(key=KEY, scope=f"release {t}", days=182) for t in range(releases)]
    shifts = np.array([one.of(pl.Series("p", range(2_000))).to_numpy() for one in fresh])
    left = 364 - (shifts.max(axis=0) - shifts.min(axis=0))
    assert left.mean() == pytest.approx(364 * 2 / (releases + 1), abs=6 * 364 * 0.24 / 2_000**0.5)
    kept = np.array([WEEKS.of(pl.Series("p", range(50))).to_numpy()] * 3)
    assert (kept.max(axis=0) == kept.min(axis=0)).all(), "one scope keeps its shift, and the window stays"


def test_times_keep_their_hour_texts_stay_texts_and_missing_stays(make_frame):
    table = {
        "p": [1, 1, 2],
        "at": [dt.datetime(2024, 3, 1, 14, 30), None, dt.datetime(2024, 5, 1)],
        "day": ["2024-03-01", "2024-03-04", None],
    }
    moved, _ = WEEKS.apply(make_frame(pl.DataFrame(table)), person="p", columns=["at", "day"])
    at, day = (series(enter(moved), name).to_list() for name in ("at", "day"))
    assert (at[0].hour, at[0].minute, at[1]) == (14, 30, None)
    assert day[2] is None
    assert (dt.date.fromisoformat(day[1]) - dt.date.fromisoformat(day[0])).days == 3
    assert at[0].date() == dt.date.fromisoformat(day[0])


def test_gaps_single_out_whatever_the_shift():
    """Dates 1 5 20 | 102 106 130 | 203 209 218: the gap 4 has two candidates, the gaps 4, 15 one."""
    start = dt.date(2024, 1, 1)
    days = [1, 5, 20, 102, 106, 130, 203, 209, 218]
    table = pl.DataFrame({"p": np.repeat([1, 2, 3], 3), "d": [start + dt.timedelta(days=d) for d in days]})
    for reach in (1, 26, 500):
        moved, _ = DateShift(key=KEY, scope="s", weeks=reach).apply(table, person="p", columns=["d"])
        gaps = [[gap.days for gap in moved.filter(pl.col("p") == p)["d"].diff().drop_nulls()] for p in (1, 2, 3)]
        assert sum(gap[0] == 4 for gap in gaps) == 2
        assert sum(gap == [4, 15] for gap in gaps) == 1


def test_an_edge_leaves_one_shift():  # [P13]
    """Study days 0 to 100, three weeks: a released day −20 can only be day 1."""
    shift = DateShift(key=KEY, scope="s", weeks=3)
    assert possible_shifts(np.array([-20]), np.array([-20]), (0, 100), shift).tolist() == [1]


@given(st.integers(-60, 160), st.integers(0, 40), st.integers(1, 5), st.booleans())
@settings(max_examples=60, deadline=None)
def test_possible_shifts_are_those_that_can_be_tried(first, span, reach, weekly):
    shift = DateShift(key=KEY, scope="s", **({"weeks": reach} if weekly else {"days": reach}))
    tried = [s * shift.unit_days for s in range(-reach, reach + 1)]
    fits = sum(first - s >= 0 and first + span - s <= 100 for s in tried)
    assert possible_shifts(np.array([first]), np.array([first + span]), (0, 100), shift).tolist() == [fits]


def test_a_window_counts_whom_the_edges_give_away():
    table = visits()
    window = (DAY, DAY + dt.timedelta(days=400))
    _, told = WEEKS.apply(table, person="patient", columns=["admitted"], window=window)
    assert 1 <= told.fewest_possible <= 53
    assert told.n_single >= 0
    with pytest.raises(ColumnError, match="within the window"):
        WEEKS.apply(table, person="patient", columns=["admitted"], window=(DAY, DAY))


@pytest.mark.parametrize(
    "wrong",
    [{}, {"weeks": 1, "days": 1}, {"weeks": 0}, {"weeks": 2.5}, {"days": True}, {"weeks": 10_000}, {"days": -1}],
)
def test_exactly_one_bound_is_declared(wrong):
    with pytest.raises(ParameterError):
        DateShift(key=KEY, scope="s", **wrong)


def test_bad_columns_are_refused():
    table = visits()
    with pytest.raises(SchemaError, match="not in the table"):
        WEEKS.apply(table, person="patient", columns=["nowhere"])
    with pytest.raises(ParameterError, match="at least one"):
        WEEKS.apply(table, person="patient", columns=[])
    with pytest.raises(ParameterError, match="one of the dates"):
        WEEKS.apply(table, person="patient", columns=["patient"])
    with pytest.raises(ColumnError, match="must hold dates") as raised:
        WEEKS.apply(table.with_columns(left=pl.lit("31.12.secret")), person="patient", columns=["left"])
    assert "secret" not in str(raised.value)
    with pytest.raises(ColumnError, match="of nobody"):
        WEEKS.apply(table.with_columns(patient=pl.lit(None, dtype=pl.Int64)), person="patient", columns=["left"])
