"""Resampling: members are drawn alike, or by their survey weight, and only inside their group."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2

from shoal import MDAV, ParameterError, Schema, anonymize
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.mask import Resample, ValueSets, draw_chain
from shoal.rng import stream


def sets_of(values, weights, labels):
    table = pl.DataFrame({"a": values, "w": weights})
    prepared = prepare(table, Schema.of(quasi=["a"], weight="w"))
    encoder = Encoder.fit(prepared, ["a"])
    return ValueSets.of(encoder.codes(prepared.frame), np.array(labels), encoder, prepared.weights())


def drawn(mask, sets, n):
    """Shares of each value over `n` draws of all groups, by group."""
    rng = stream(1, "resample")
    rows = np.concatenate([mask.draw(sets, rng) for _ in range(n)]).reshape(n, len(sets.values))
    return [rows[:, low:high].ravel() for low, high in zip(sets.offsets, sets.offsets[1:], strict=False)]


@pytest.mark.parametrize("weighted", [False, True])
def test_members_are_drawn_by_weight_only_when_asked(weighted):
    """Goodness of fit at a false alarm of 1e-6; and the draws are seeded."""
    values, weights = [5.0, 1.0, 3.0, 30.0, 20.0, 10.0], [9.0, 1.0, 2.0, 1.0, 1.0, 6.0]
    sets = sets_of(values, weights, [0, 0, 0, 1, 1, 1])
    for group, rows in enumerate(drawn(Resample(weighted=weighted), sets, 2000)):
        own = slice(3 * group, 3 * group + 3)
        mass = np.array(weights[own] if weighted else [1.0] * 3)
        expected = mass / mass.sum() * len(rows)
        counts = np.array([(rows == value).sum() for value in values[own]])
        assert counts.sum() == len(rows)
        assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 2)


def test_who_weighs_nothing_is_never_drawn():
    table = pl.DataFrame({"age": [1, 2, 3, 4, 101, 102, 103, 104], "w": [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0]})
    schema = Schema.of(quasi=["age"], weight="w")
    group, mask = MDAV(k=4), Resample(weighted=True)
    seen = {
        age for seed in range(20) for age in anonymize(table, schema, group=group, mask=mask, seed=seed).table["age"]
    }
    assert seen == {1, 3, 104}
    plain = anonymize(table, schema, group=group, mask=Resample(replace=False), seed=1)
    assert sorted(plain.table["age"]) == table["age"].to_list()


def test_what_weights_need():
    sets = sets_of([1.0, 2.0], [1.0, 1.0], [0, 0])
    with pytest.raises(ParameterError, match="needs replace=True"):
        Resample(replace=False, weighted=True).draw(sets, stream(1))


def test_only_the_first_of_a_chain_can_weigh():
    """What the first one wrote belongs to nobody, so it has no weight."""
    sets = sets_of([1.0, 2.0], [1.0, 3.0], [0, 0])
    chain = [Resample(), Resample(weighted=True)]
    with pytest.raises(ParameterError, match="only for the first mask of a chain"):
        draw_chain(chain, sets, [stream(1), stream(2)])
    assert len(draw_chain(chain[::-1], sets, [stream(1), stream(2)])) == 2
