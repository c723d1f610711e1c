"""The list of ZIP codes with few people is that of the census of 2020."""

import polars as pl

from shoal.compliance.safe_harbor import SMALL_ZIPS, three_digits
from shoal.schema.judgement.us_places import STATE_OF_ZIP3

OF_2000 = {
    *("036", "059", "063", "102", "203", "556", "692", "790", "821"),
    *("823", "830", "831", "878", "879", "884", "890", "893"),
}


def test_the_list_of_2020_against_that_of_2000():
    counted = [zip3 for zip3 in SMALL_ZIPS if zip3 in STATE_OF_ZIP3]
    assert OF_2000 - set(SMALL_ZIPS) == {"063", "790", "830", "831", "890"}  # they have grown
    assert {"202", "204", "205", "369", "753", "772"} <= set(counted)
    assert len(SMALL_ZIPS) == 18 + 105


def test_where_nobody_was_counted_nothing_is_shown():
    shown = three_digits(pl.Series("zip", ["09012", "96201", "85004", "05901"]), SMALL_ZIPS)
    assert shown.to_list() == ["000", "000", "850", "000"]
    assert not {zip3 for zip3 in map("{:03d}".format, range(1, 1000)) if zip3 not in SMALL_ZIPS} - set(STATE_OF_ZIP3)
