"""A figure is read by the first yardstick that there is, and never without one."""

from hypothesis import given
from hypothesis import strategies as st

from shoal.reading import Reading
from shoal.report.readings import reading_lines, reading_table, reading_words, shown

share = st.floats(0, 1)
maybe = st.none() | share


def test_the_limit_decides_then_chance_then_what_was():
    def verdict(**words):
        return Reading(name="found", **words).verdict

    assert verdict(value=0.2, limit=0.2, chance=0.0, before=0.1) == "good"
    assert verdict(value=0.21, limit=0.2, chance=0.5, before=1.0) == "bad"
    assert verdict(value=0.5, chance=0.5) == "good"
    assert verdict(value=0.4, chance=0.0, before=0.9) == "better"
    assert verdict(value=0.6, chance=0.0, before=0.9) == "watch"
    assert verdict(value=0.4, before=0.9) == "better"
    assert verdict(value=0.9, before=0.9) == "watch"
    assert verdict(value=0.9) == "no yardstick"
    assert verdict(value=None, limit=0.1) == "not measured"


def test_an_interval_that_reaches_past_the_limit_is_not_called_good():
    def verdict(**words):
        return Reading(name="found", limit=0.05, **words).verdict

    assert verdict(value=0.04, interval=(0.03, 0.05)) == "good"
    assert verdict(value=0.04, interval=(0.02, 0.07)) == "watch"
    assert verdict(value=0.06, interval=(0.04, 0.08)) == "bad"
    assert verdict(value=0.04, interval=(0.02, 0.07), basis="proved") == "good"  # needs no measuring
    assert verdict(value=0.08, interval=(0.04, 0.1), better="higher") == "watch"
    assert verdict(value=0.08, interval=(0.06, 0.1), better="higher") == "good"


def test_where_more_is_better():
    def verdict(**words):
        return Reading(name="kept", better="higher", slack=0.02, **words).verdict

    assert verdict(value=0.96, chance=0.97) == "good"
    assert verdict(value=0.9, chance=0.97) == "watch"  # a tenth of what is lost, not of what is kept
    assert verdict(value=4, limit=5, shows="count") == "bad"
    assert verdict(value=0.31, chance=0.33, shows="number") == "good"


@given(share, maybe, maybe, maybe, st.sampled_from(["lower", "higher"]))
def test_a_better_figure_is_never_read_as_worse(value, before, chance, limit, better):
    order = ("bad", "watch", "better", "good")
    words = {"before": before, "chance": chance, "limit": limit, "better": better}
    first = Reading(name="x", value=value, **words).verdict
    step = 0.1 if better == "higher" else -0.1
    second = Reading(name="x", value=value + step, **words).verdict
    if first in order and second in order and limit is not None:
        assert order.index(second) >= order.index(first)
    assert (first == "no yardstick") == (before is chance is limit is None)


def test_lines_fit_a_terminal_and_say_all():
    readings = [
        Reading(name="found by nearest match", value=0.1757, before=0.9998, chance=1 / 4580, limit=0.2, n=4580),
        Reading(name="a name that is much too long for the place that it has", value=1.2345, shows="number"),
        Reading(name="smallest class", value=5, before=1, limit=5, shows="count", better="higher"),
        Reading(name="not measured here", value=None),
    ]
    lines = list(reading_lines("Against whom", readings))
    assert max(map(len, lines)) <= 80
    assert len(lines) == 5
    assert lines[1].split()[-7:] == [">99.9%", "→", "17.6%", "805", "0.0218%", "20%", "good"]
    assert "1 → 5" in lines[3]
    assert "not measured" in lines[4]
    assert reading_words(readings[0]) == "before >99.9%, chance 0.0218%, limit 20%, 805 people: good."
    assert shown(readings[1], None) == "–"


def test_a_page_tells_how_many_are_counted_not_how_many_were_found():
    found = Reading(
        name="<found>", value=0.5, n=40, chance=0.1, against="a guess", limit=0.6, basis="proved", meaning="x"
    )
    page = str(reading_table("Attacks", [found]))
    assert "&lt;found&gt;" in page
    assert ">40 people<" in page
    assert ">20<" not in page
    assert "verdict good" in page
    assert "a guess" in page
    assert "proved" in page
