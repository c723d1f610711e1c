"""What the result page says of a release in figures: each says what it is a share of, and is held to its own limit."""

from shoal.reading import Reading
from shoal.web.pages.result_summary import measures, tiles, to_watch

ACCEPTED = 0.05


def view(*, used=100, out=100):
    found = Reading(name="found by nearest match", first=True, value=0.0608, before=0.4, chance=0.01)
    blank = Reading(name="cells suppressed", first=True, value=0.128, before=0.0)
    return {
        "rows_are": "people",
        "lost": {"came": 100, "used": used, "out": out},
        "risk": [found.to_dict()],
        "use": [blank.to_dict()],
    }


RESULT = {"synthetic": False, "claims": []}


def test_blank_cells_are_not_held_to_the_accepted_risk():
    assert "above the accepted 5%" in str(tiles(RESULT, view(), ACCEPTED))  # the risk is
    assert "0% before" in str(tiles(RESULT, view(), ACCEPTED))
    assert str(measures(view(), ACCEPTED)).count("not met") == 1
    watched = str(to_watch({**view(), "watch": []}, ACCEPTED))
    assert "Found by nearest match" in watched
    assert "Cells suppressed: 12.8%, the limit" not in watched


def test_a_share_of_all_people_says_so_where_some_were_left_out():
    assert "of all people, those left out among them" in str(tiles(RESULT, view(out=90), ACCEPTED))
    assert "left out" not in str(tiles(RESULT, view(), ACCEPTED))


def test_a_sampled_figure_whose_interval_passes_the_limit_is_watched():
    sampled = Reading(name="found by nearest match", first=True, value=0.04, interval=(0.02, 0.07), chance=0.01)
    seen = {**view(), "risk": [sampled.to_dict()], "watch": []}
    assert "95% interval reaches above the accepted 5%" in str(tiles(RESULT, seen, ACCEPTED))
    assert "4%, with a 95% interval to 7%; the limit is 5%" in str(to_watch(seen, ACCEPTED))
