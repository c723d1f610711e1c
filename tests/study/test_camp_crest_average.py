"""One grouping for several class columns, or one run each and the average (section 8)."""

import numpy as np
import polars as pl
import pytest

from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.schema import Schema
from shoal.study.camp_crest_average import WAYS, averaged, compare_ways, groupings


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(160, 3))
    classes = {name: np.where(x[:, j] + rng.normal(size=160) > 0, "y", "n") for j, name in enumerate(("ill", "poor"))}
    table = pl.DataFrame({f"x{j}": x[:, j] for j in range(3)} | classes)
    return table, Schema.of(quasi=["x0", "x1", "x2"], sensitive=["ill", "poor"])


def test_one_grouping_and_one_for_each_class(several):
    one, each = groupings(prepare(*several), k=5)
    assert (len(one), len(each)) == (1, 2)
    assert all(np.bincount(labels).min() >= 5 for labels in (*one, *each))
    assert any((each[0] != labels).any() for labels in (each[1], one[0]))


def test_the_average_halves_the_variance_within_groups(several):
    """Two versions around the same group means: their average keeps the means, and half of the noise's variance."""
    prepared = prepare(*several)
    encoder = Encoder.of(prepared, prepared.schema.quasi)
    codes, labels = encoder.codes(prepared.frame), np.arange(160) // 40
    spread = {}
    for m in (1, 2):
        drawn = np.array([averaged(codes, encoder, [labels] * m, np.random.default_rng(s)) for s in range(30)])
        inside = drawn.reshape(30, 4, 40, 3) - drawn.reshape(30, 4, 40, 3).mean(axis=2, keepdims=True)
        assert drawn.reshape(30, 4, 40, 3).mean(axis=2) == pytest.approx(
            np.broadcast_to(codes.reshape(4, 40, 3).mean(axis=1), (30, 4, 3))
        )
        spread[m] = float(inside.var())
    assert spread[2] / spread[1] == pytest.approx(0.5, abs=0.05)


def test_both_ways_are_measured_on_the_same_parts(several):
    found = compare_ways(*several, parts=2, ks=[5])
    assert [way.way for way in found] == list(WAYS)
    one, each = found
    assert one.alone == (0.0, 0.0)
    assert min(each.alone) > 0
    assert all(len(values) == 2 for way in found for values in (way.linked, way.abisd, way.correlation_difference))
