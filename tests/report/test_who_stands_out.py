"""The sections on who stands out and what would help: what they count, and that they stay inside."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.report.who_stands_out import help_most, standing_of, stands_out

SCHEMA = shoal.Schema.of(quasi=["age", "sex", "town"], sensitive=["cost"], kinds={"age": "numeric"})


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "age": rng.integers(20, 80, 200),
            "sex": rng.choice(["f", "m"], 200),
            "town": rng.choice(["Alba", "Boro", "Caro"], 200),
            "cost": rng.normal(size=200),
        }
    )
    return shoal.anonymize(table, SCHEMA, group=shoal.MDAV(k=4), mask=shoal.Resample())


def test_curves_and_pairs_by_counting(release):
    standing = standing_of(release.pair, release.risk)
    table = release.original
    sizes = table.select(pl.len().over(SCHEMA.quasi)).to_series()
    ordered = sorted((1 / size for size in sizes), reverse=True)
    assert standing.before[0] == ordered[0]
    assert standing.before[-1] == ordered[-1]
    assert (np.diff(standing.before) <= 0).all()
    assert (np.diff(standing.after) <= 0).all()
    assert standing.after[0] <= 1 / 4
    for i, first in enumerate(standing.names):
        for j, second in enumerate(standing.names):
            alone = table.filter(pl.len().over([first, second]) == 1)
            assert standing.pairs[i, j] == pytest.approx(len(alone) / 200)


def test_the_sections_say_what_was_measured(release):
    standing = standing_of(release.pair, release.risk)
    who, help_page = str(stands_out(standing)), str(help_most(standing))
    assert who.count("<svg") == 3
    assert f"In the original {standing.contribution.n_at_risk} of 200 records" in who
    best = standing.what_if.changes[0]
    assert best.column in help_page
    assert f"{standing.what_if.n_at_risk} → {best.n_at_risk}" in help_page


def test_they_stand_in_the_internal_report_only(release, tmp_path):
    release.write(tmp_path / "out")
    outside = (tmp_path / "out" / "report.html").read_text()
    inside = (tmp_path / "out.internal" / "report.html").read_text()
    for title in ("Who stands out, and why", "What would help most"):
        assert title in inside
        assert title not in outside
