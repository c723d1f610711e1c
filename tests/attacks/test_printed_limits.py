"""A limit that is printed must be one: 1/3 is not "at most 0.3333"."""

import re

import polars as pl
import pytest

import shoal
from shoal.claim import rounded_up
from shoal.compliance.presets import PRESETS


@pytest.mark.parametrize("k", [2, 3, 5, 6, 7, 9, 11, 12])
def test_the_printed_bound_is_not_below_the_proved_one(k, tmp_path):
    """Everybody alike but for one column: the intruder reaches exactly 1/k."""
    table = pl.DataFrame({"age": [30] * k, "cost": range(k)})
    release = shoal.coarsen(table, shoal.Schema.of(quasi=["age"], sensitive=["cost"]), shoal.Mondrian(k=k))
    claim = next(claim for claim in release.claims if claim.kind == "re-identification bound")
    printed = float(re.search(r"at most ([\d.]+)\.$", claim.statement).group(1))
    assert claim.value <= printed < claim.value + 1e-4
    release.write(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    tile = re.search(r"at most ([\d.]+)% for any person, by proof", page)
    assert float(tile.group(1)) / 100 >= 1 / k - 1e-12


@pytest.mark.parametrize(
    ("limit", "digits", "printed"), [(1 / 3, 4, 0.3334), (0.2, 4, 0.2), (1, 3, 1.0), (1e-7, 3, 1e-7)]
)
def test_rounding_up(limit, digits, printed):
    assert rounded_up(limit, digits) == printed


def test_presets_promise_what_their_k_gives():
    assert [p.about for p in PRESETS.values() if "0.09 at most" in p.about] == []
