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


def test_a_release_shows_figures_with_their_yardsticks():
    """Promises and measures are two tables; a measure has before, chance, limit and a reading in cells of their own."""
    table = shoal.datasets.health_survey(60, seed=1)
    release = shoal.anonymize(table, shoal.datasets.health_survey_schema(), group=shoal.KMember(k=5), seed=1)
    promised, measured = release._repr_html_().split("</table>")[:2]
    assert "re-identification bound 0.2<" in promised
    assert all(f">{head}</th>" in measured for head in ("before → after", "chance", "limit", "reading"))
    assert f">{release.risk_lines[0].verdict}</td>" in measured
    assert " → " in measured.partition("<tbody>")[2]


def test_a_report_shows_its_headlines_and_folds_its_parts():
    table = shoal.datasets.health_survey(60, seed=1)
    release = shoal.anonymize(table, shoal.datasets.health_survey_schema(), group=shoal.KMember(k=5), seed=1)
    first, *folded = release.risk._repr_html_().split("<details>")
    assert f'>strongest</td><td style="text-align:left">{release.risk.strongest:,.4g}</td>' in first
    assert "records_by_size" not in first
    assert any(part.startswith("<summary>linkage</summary>") for part in folded)
    assert ">histogram_intersection</td>" in release.utility._repr_html_().partition("<details>")[0]


def test_classes_are_counted_by_size_in_one_table():
    table = pl.DataFrame({"town": ["Alba"] * 3 + ["Boro"] * 3 + ["Cove"], "cost": range(7)})
    shown = shoal.risk.classes(table, shoal.Schema.of(quasi=["town"], sensitive=["cost"]))._repr_html_()
    rows = [row.replace('<td style="text-align:left">', "").split("</td>")[:3] for row in shown.split("<tr>")]
    assert ["1", "1", "1"] in rows
    assert ["3", "2", "6"] in rows


def test_notebooks_escape_what_they_show():
    schema = shoal.Schema.of(quasi=["<script>"])
    assert "&lt;script&gt;" in schema._repr_html_()
    assert "<script>" not in schema._repr_html_()
