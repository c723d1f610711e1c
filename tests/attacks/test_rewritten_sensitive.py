"""A claim about a sensitive column is counted on the column as it was released.

Diversity was asked of exact costs, and then the costs were written as one interval: the release still claimed three
different costs in every class, "verified", where its table had one.
"""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GuaranteeError

SCHEMA = shoal.Schema.of(quasi=["age"], sensitive=["cost"])


def people(n=100):
    rng = np.random.default_rng(1)
    return pl.DataFrame({"age": rng.integers(20, 70, n), "cost": rng.integers(1, 1000, n)})


def bins(width):
    return shoal.Recode(steps={"cost": {"kind": "bins", "width": width}})


@pytest.mark.parametrize("width", [100_000, 700])
def test_a_diversity_that_was_lost_is_not_claimed(width, tmp_path):
    release = shoal.coarsen(people(), SCHEMA, [shoal.Mondrian(k=5, diversity=3), bins(width)])
    with pytest.raises(GuaranteeError):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("diversity", [2, "entropy:1.5"])
@pytest.mark.parametrize("first", [True, False])
def test_what_is_claimed_can_be_counted_on_the_table(first, diversity, tmp_path):
    methods = [bins(250), shoal.Mondrian(k=8, diversity=diversity, closeness=0.6)]
    shoal.coarsen(people(), SCHEMA, methods if first else methods[::-1], seed=1).write(tmp_path / "out")
    found = {check.name: check for check in shoal.verify(tmp_path / "out").checks}
    mixed = [check for name, check in found.items() if "diversity" in name or "closeness" in name]
    assert len(mixed) == 2
    assert all(check.holds and check.standing == "recomputed" for check in mixed), mixed


def test_rounded_numbers_keep_their_order(tmp_path):
    methods = [shoal.Recode(steps={"cost": {"kind": "round", "base": 50}}), shoal.Mondrian(k=8, closeness=0.5)]
    release = shoal.coarsen(people(), SCHEMA, methods, seed=1)
    assert "ordered t-closeness" in [claim.kind for claim in release.claims]
