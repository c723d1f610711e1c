"""What a traceback, a notebook or a log may print of a release holds no cell and no link to a person."""

import numpy as np
import polars as pl
import pytest

import shoal

SECRET = "Zzyzx"


@pytest.mark.parametrize(
    "part", ["risk", "utility", "pair", "prepared", "claims", "recipe", "facts", "steps", "outside_measures"]
)
def test_no_repr_shows_a_cell(part):
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"town": [SECRET, *rng.choice(["Alba", "Boro"], 59)], "cost": [813_377, *range(59)]})
    schema = shoal.Schema.of(quasi=["town"], sensitive=["cost"])
    release = shoal.coarsen(table, schema, shoal.Generalize(k=4, suppression=0.05, limits={"town": 0}), seed=1)
    assert 0 not in release.source_rows
    text = repr(getattr(release, part))
    assert SECRET not in text
    assert "813377" not in text.replace(",", "").replace("_", "")


@pytest.mark.parametrize("method", [shoal.Generalize(k=4, suppression=0.05, limits={"town": 0}), shoal.Mondrian(k=4)])
def test_no_notebook_shows_a_cell(method):
    """Releases, reports, claims, schemas and single measures as a notebook draws them."""
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"town": [SECRET, *rng.choice(["Alba", "Boro"], 59)], "cost": [813_377, *range(59)]})
    schema = shoal.Schema.of(quasi=["town"], sensitive=["cost"])
    release = shoal.coarsen(table, schema, method, seed=1)
    single = [shoal.risk.individual(table, schema), shoal.risk.suda(table, schema), shoal.risk.what_if(table, schema)]
    shown = [release, release.risk, release.utility, release.schema, *release.claims, *single]
    shown.append(shoal.risk.contribution(table, schema))
    for one in shown:
        text = one._repr_html_()
        assert text.startswith("<table>")
        assert text.count("<tr>") > 1
        assert SECRET not in text
        assert "813377" not in text.replace(",", "")


def test_notebooks_escape_what_they_show():
    schema = shoal.Schema.of(quasi=["<script>"])
    assert "&lt;script&gt;" in schema._repr_html_()
    assert "<script>" not in schema._repr_html_()
