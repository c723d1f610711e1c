"""The gate by itself: what it rounds, what it lists, and which records its figures are about."""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from shoal.release import disclose
from shoal.utility.moment import ColumnMoments


@dataclass(frozen=True)
class Found:
    value: float
    names: tuple
    told: str = field(default="made", init=False)


@pytest.mark.parametrize(
    ("value", "leaves"),
    [(0.0, 0.0), (0.123456, 0.123), (1234.5, 1230.0), (-0.00098765, -0.000988), (2.0, 2.0), (math.inf, math.inf)],
)
def test_three_digits_leave(value, leaves):
    assert disclose.significant(value) == leaves
    assert disclose.rounded(value) == leaves


def test_what_is_no_number_stays_what_it_is():
    assert math.isnan(disclose.significant(math.nan))
    for value in ("0.123456", 123456, True, None, Found):
        assert disclose.rounded(value) is value


def test_every_number_inside_is_rounded():
    found = disclose.rounded({"a": (0.123456, "b", 123456), "c": Found(0.123456, names=(9.87654,))})
    assert found == {"a": (0.123, "b", 123456), "c": Found(0.123, names=(9.88,))}


def test_arrays_have_three_decimals_unless_they_count():
    np.testing.assert_array_equal(disclose.rounded(np.array([0.12345, 7.0])), [0.123, 7.0])
    counts = np.array([123456, 7])
    assert disclose.rounded(counts) is counts


def test_a_bias_has_three_decimals_since_it_would_give_a_sum_away():
    words = {
        "column": "age",
        "role": "quasi",
        "mean_bias": 0.0001234,
        "deviation_bias": 12.3456,
        "mean_shift": math.inf,
    }
    found = disclose.rounded(ColumnMoments(**words))
    assert (found.mean_bias, found.deviation_bias, found.mean_shift) == (0.0, 12.3, math.inf)


def test_only_what_is_listed_leaves():
    names = {"k": None, "by": {"mean": None}, "each": {"*": {"t": None}}, "none": {"*": None}}
    words = {
        "k": {"any": 1},
        "by": {"mean": 2, "worst": "SECRET"},
        "each": [{"t": 3, "cell": "SECRET"}, 4],
        "none": {"a": {"b": 5}},
        "rows": "SECRET",
    }
    listed = {"k": {"any": 1}, "by": {"mean": 2}, "each": [{"t": 3}, 4], "none": {"a": {"b": 5}}}
    assert disclose._listed(words, names) == listed
    assert disclose._listed({"each": {"a": {"t": 1, "cell": "SECRET"}}}, names) == {"each": {"a": {"t": 1}}}


def test_the_list_has_risk_and_utility_and_no_rows():
    found = SimpleNamespace(risk=Record(k=5, rows="SECRET"), utility=Record(moments={"abim": 0.1, "means": "SECRET"}))
    words = disclose.figures(found)
    assert words == {"risk": {"classes": {"k": 5}}, "utility": {"moments": {"abim": 0.1}}}


class Record:
    """A report that has only what it was given."""

    def __init__(self, k=None, **words):
        self.words = words if k is None else {"classes": {"k": k}, **words}

    def to_dict(self):
        return self.words


def release(left_out, perturbs=False, why=None):
    """A release of 10 records, of which some were left out."""
    kept = SimpleNamespace(original=SimpleNamespace(n=10 - left_out))
    recipe = {"perturbs": perturbs, "why_inside": why, "k": 5, "is_blind": True, "population_size": 99}
    return SimpleNamespace(
        recipe=SimpleNamespace(**recipe), pair=SimpleNamespace(without_left_out=lambda: kept), seed=7,
        prepared=SimpleNamespace(n=10), risk="risk", utility="utility", outside_labels="labels", kept=kept,
    )  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    calls = []
    monkeypatch.setattr(disclose, "assess_risk", lambda pair, **given: calls.append((pair, given)) or "anew")
    monkeypatch.setattr(disclose, "assess_utility", lambda pair, **given: calls.append((pair, given)) or "anew too")
    return calls


def test_where_nothing_may_leave_nothing_is_measured(asked):
    assert disclose.measured(release(1, why="cells were blanked")) is None
    assert disclose.why_inside(release(1, why="cells were blanked")) == "cells were blanked"
    assert asked == []


def test_where_all_were_kept_the_figures_are_those_of_the_release(asked):
    found = disclose.measured(release(0))
    assert (found.risk, found.utility, asked) == ("risk", "utility", [])


@pytest.mark.parametrize(("perturbs", "labels"), [(False, "labels"), (True, None)])
def test_where_some_were_left_out_the_others_are_measured_anew(asked, perturbs, labels):
    it = release(3, perturbs=perturbs)
    found = disclose.measured(it)
    assert (found.risk, found.utility, found.pair) == ("anew", "anew too", it.kept)
    (pair, risk), (other, utility) = asked
    assert pair is other is it.kept
    assert risk == {"labels": labels, "k": 5, "seed": 7, "exchangeable": True, "population": 99}
    assert utility == {"seed": 7}
