"""The mosaic names no level that fewer than k people have, before or after, and tells no count."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from shoal.pair import NOBODY, Pair
from shoal.report.bands import people_of
from shoal.report.markup import join
from shoal.report.mosaic import mosaic_figure, mosaic_of, whole_percent
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["sex", "region"])


def spread() -> Pair:
    """One person of a region of their own, which a mask gave to ten others."""
    sex = ["f", "m"] * 30
    before = pl.DataFrame({"sex": sex, "region": ["hamlet", *["north"] * 29, *["south"] * 30]})
    after = pl.DataFrame({"sex": sex, "region": ["hamlet"] * 10 + ["north"] * 20 + ["south"] * 30})
    return Pair.of(before, after, SCHEMA)


def test_a_rare_level_that_a_mask_spread_is_not_named() -> None:
    mosaic = mosaic_of(spread(), 5)
    assert mosaic is not None
    for side in (mosaic.before, mosaic.after):
        assert "hamlet" not in (*side.across, *side.down)
        assert "others" in (*side.across, *side.down)
        assert (side.counts % 5 == 0).all()


def test_tiles_and_table_tell_whole_percents(read_page: Callable[[str], Any]) -> None:
    page = read_page(join(mosaic_figure(mosaic_of(spread(), 5))))
    assert page.tips
    assert "hamlet" not in page.text
    cells = {cell for table in page.tables for row in table[1:] for cell in row[1:]}
    for tip in page.tips:
        share = re.fullmatch(r"sex [fm], region (?:north|south|others): (\d+%) of the records", tip)
        assert share
        assert share[1] in cells
    assert [whole_percent(share) for share in (0, 0.004, 0.014, 1)] == ["0%", "under 1%", "1%", "100%"]


def test_rows_of_nobody_stand_each_for_itself() -> None:
    table = pl.DataFrame({"sex": ["f", "m"] * 10, "region": ["north", "south"] * 10})
    drawn = Pair.of(table, table[:12], SCHEMA, np.full(12, NOBODY))
    assert people_of(drawn) == (None, None)
    mosaic = mosaic_of(drawn, 5)
    assert mosaic is not None
    assert set(mosaic.after.across) | set(mosaic.after.down) == {"f", "m", "north", "south"}
