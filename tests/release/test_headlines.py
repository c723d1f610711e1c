"""Readings of a release: no verdict without something to hold the figure against."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.release.headlines import keeps_lines


@pytest.mark.parametrize(("tied", "verdict"), [(True, "good"), (False, "no yardstick")])
def test_a_regression_that_is_worth_nothing_is_no_yardstick(tied, verdict):
    rng = np.random.default_rng(1)
    age = rng.integers(20, 80, 400)
    cost = age * 10.0 + rng.normal(0, 20, 400) if tied else rng.standard_cauchy(400)
    schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"])
    table = pl.DataFrame({"age": age, "cost": cost})
    release = shoal.anonymize(table, schema, group=shoal.MDAV(k=3), mask=shoal.Centroid(), seed=1)
    found = next(line for line in keeps_lines(release) if line.name.startswith("R²"))
    assert found.verdict == verdict
    assert found.first == tied
    assert ("no better than the mean" in found.meaning) != tied


def test_suppressed_cells_and_small_classes_have_readings(tmp_path):
    rng = np.random.default_rng(2)
    table = pl.DataFrame({name: rng.integers(0, 6, 300) for name in ("a", "b", "c", "d")})
    schema = shoal.Schema.of(quasi=["a", "b", "c", "d"], kinds=dict.fromkeys("abcd", "nominal"))
    release = shoal.coarsen(table, schema, shoal.Suppress(k=4), seed=1)
    found = next(line for line in keeps_lines(release) if line.name == "cells suppressed")
    blank = sum(release.table[name].null_count() for name in "abcd")
    assert found.value == pytest.approx(blank / 1200)
    assert (found.before, found.verdict) == (0, "watch")
    release.write(tmp_path / "out")
    page = (tmp_path / "out.internal" / "report.html").read_text()
    small = page[page.index("Combinations of quasi-identifiers that few rows share") :]
    assert small[: small.index("</table>")].count('class="verdict good"') == 3, "none of 1, 2 and 3 rows is left"
    outside = (tmp_path / "out" / "report.html").read_text()
    assert "cells suppressed" not in outside
