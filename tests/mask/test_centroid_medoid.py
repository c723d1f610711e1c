"""Centroid with medoids: a value that occurs; with means it is what it was."""

import numpy as np
import polars as pl
import pytest

from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.errors import ParameterError
from shoal.mask.centroid import Centroid
from shoal.mask.mask import ValueSets
from shoal.params import check
from shoal.schema import Schema

TABLE = pl.DataFrame({"age": [20, 21, 90, 50, 51, 52, 59], "sex": ["f", "m", "m", "f", "f", "x", "m"]})


def test_medoids_are_lower_medians_and_modes():
    prepared = prepare(TABLE, Schema.of(quasi=["age", "sex"]))
    encoder = Encoder.fit(prepared, ["age", "sex"])
    codes = encoder.codes(prepared.frame)
    sets = ValueSets.of(codes, np.array([0, 0, 0, 1, 1, 1, 1]), encoder)
    drawn = Centroid(center="medoid").draw(sets, np.random.default_rng(0))
    assert drawn[:, 0].tolist() == [21] * 3 + [51] * 4
    assert drawn[:, 1].tolist() == [codes[1, 1]] * 3 + [codes[0, 1]] * 4
    mean = Centroid().draw(sets, np.random.default_rng(0))
    assert mean[0, 0] == 44  # 131 / 3: whole numbers stay whole
    with pytest.raises(ParameterError, match="center"):
        check(Centroid(center="mode"))


@pytest.mark.parametrize(
    ("entries", "centre"), [({}, 44), ({"whole": {"x": False}}, 131 / 3), ({"steps": {"x": 5}}, 45)]
)
def test_a_mean_keeps_to_the_step_of_its_column(entries, centre):
    prepared = prepare(pl.DataFrame({"x": [20, 21, 90]}), Schema.of(quasi=["x"], **entries))
    encoder = Encoder.fit(prepared, ["x"])
    sets = ValueSets.of(encoder.codes(prepared.frame), np.zeros(3, dtype=int), encoder)
    assert Centroid().draw(sets, np.random.default_rng(0))[:, 0].tolist() == pytest.approx([centre] * 3)
