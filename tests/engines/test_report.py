"""The report of an engine's release: aggregates of the released rows, none of few people."""

import json
import re

import polars as pl
import pytest
from tests.engines.conftest import coarsen_files, cut

import shoal
from shoal.engine import Inputs
from shoal.engine.memory import MemoryEngine
from shoal.release.on_engine.report import _labels, _round_edges
from shoal.report.engine_page import merged

SCHEMA = shoal.Schema.of(identifier=["who"], quasi=["age", "zip"], sensitive=["ill"], other=["rate", "cost"])


def test_the_page_counts_the_released_rows(engine, visits, tmp_path):
    table = visits.with_columns(pl.lit("SENTINEL<b>").alias("who"))
    coarsen_files(engine, Inputs.of(cut(table, tmp_path / "in", 2)), SCHEMA, shoal.Generalize(k=5), tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    released = pl.read_parquet(tmp_path / "out" / "part-00000.parquet")
    n = int((released["ill"] == "flu").sum())
    assert re.search(rf"flu</th><td[^>]*>{n:,}<", page.replace(" scope='row'", ""))
    assert "k-anonymity" in page
    assert "Not measured: attacks and utility" in page
    assert "SENTINEL" not in page
    assert "external" in page
    assert "Internal report" in (tmp_path / "out.internal" / "report.html").read_text()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "report.html" in manifest["files"]
    (tmp_path / "out" / "report.html").write_text(page + " ")
    assert shoal.verify(tmp_path / "out", engine=engine).exit_code == 3


def test_every_engine_draws_the_same_page(engine, visits, tmp_path):
    pages = []
    for number, own in enumerate((engine, MemoryEngine())):
        inputs = Inputs.of(cut(visits.sample(fraction=1, shuffle=True, seed=number), tmp_path / f"in{number}", 2))
        coarsen_files(own, inputs, SCHEMA, shoal.Generalize(k=5), tmp_path / f"out{number}", key="3c" * 32)
        pages.append((tmp_path / f"out{number}" / "report.html").read_text())
    without = [re.sub(r"<code>[0-9a-f]{64}</code>", "", page) for page in pages]  # the commitment has a key of its own
    assert without[0] == without[1]


@pytest.mark.parametrize("ordered", [True, False])
def test_no_cell_of_few_rows_is_shown(ordered):
    for counts in ([3, 1, 9, 9], [9, 9, 1], [1, 1, 1], [0, 2, 8], [4], [9, 3, 9], []):
        cells = [(f"c{i}", n) for i, n in enumerate(counts)]
        found = merged(cells, 5, ordered=ordered)
        assert all(n == 0 or n >= 5 for _, n in found)
        assert sum(n for _, n in found) in (sum(counts), 0)  # merged, never blanked one by one


def test_bins_are_round_and_open_at_both_ends():
    edges = _round_edges(20.0, 59.0)
    assert edges[0] > 20
    assert edges[-1] < 59
    assert all(edge % 5 == 0 for edge in edges)
    assert _labels(edges)[0] == "under 25"
    assert _labels(edges)[-1] == "55 or more"
    assert (_round_edges(3.0, 3.0), _labels([])) == ([], ["all"])
