"""The front against a slow oracle, and the choice within a limit."""

from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.comparison.advice import TIE, best, front, ties

grid = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0])
points = st.lists(st.tuples(grid | st.floats(0, 1), grid | st.floats(0, 1)), max_size=14)


def dominated(one, others):
    """As defined: another has no more risk and keeps no less, and is better in one of the two."""
    return any(
        other.risk <= one.risk
        and other.utility >= one.utility
        and (other.risk < one.risk or other.utility > one.utility)
        for other in others
    )


@given(points, st.integers(0, 3))
def test_the_front_is_what_nothing_dominates(make, given_points, n_refused):
    outcomes = [make(shoal.Mondrian(k=2 + i), risk, utility) for i, (risk, utility) in enumerate(given_points)]
    outcomes += [make(shoal.Suppress(k=2 + i), state="refused", reason="no") for i in range(n_refused)]
    done = [one for one in outcomes if one.is_done]
    found = front(outcomes)
    assert {one.name for one in found} == {one.name for one in done if not dominated(one, done)}
    assert [one.risk for one in found] == sorted(one.risk for one in found)
    assert [one.utility for one in found] == sorted(one.utility for one in found)
    assert bool(found) == bool(done)


@given(points, st.permutations(range(4)))
def test_what_lacks_a_number_neither_beats_nor_is_chosen(make, given_points, order):
    nan = float("nan")
    whole = [make(shoal.Mondrian(k=2 + i), risk, utility) for i, (risk, utility) in enumerate(given_points)]
    lacking = [make(shoal.Suppress(k=2 + i), *pair) for i, pair in enumerate([(nan, 1.0), (0.0, nan), (nan, nan)])]
    mixed = [part for i in order for part in ([*lacking[i : i + 1]] if i < 3 else whole)]
    assert front(mixed) == front(whole)
    assert best(mixed, 0.5) == best(whole, 0.5)


@given(points, st.floats(0, 1))
def test_the_best_is_within_the_limit_and_nothing_there_keeps_much_more(make, given_points, limit):
    outcomes = [make(shoal.Mondrian(k=2 + i), risk, utility) for i, (risk, utility) in enumerate(given_points)]
    within = [one for one in outcomes if one.risk <= limit]
    chosen = best(outcomes, limit)
    assert (chosen is None) == (not within)
    if chosen is not None:
        assert chosen in within
        assert max(one.utility for one in within) <= chosen.utility + TIE
        assert best(outcomes[::-1], limit) == chosen


def test_among_near_ties_a_proof_counts_then_the_risk(comparison, make):
    proved = comparison.outcomes[1]
    rivals = [
        make((shoal.MDAV(k=7), shoal.Shuffle()), 0.001, proved.utility + TIE / 2),
        make((shoal.MDAV(k=9), shoal.Shuffle()), 0.001, proved.utility - TIE / 2),
        make((shoal.MDAV(k=8), shoal.Shuffle()), 0.06, 0.99),
    ]
    assert best([*rivals, proved], 0.05) is proved
    assert ties([*rivals, proved], proved, 0.05) == tuple(rivals[:2])
    assert best(rivals[:2], 0.05) is rivals[0]
