"""Until it is settled who is a person, screens, reports, manifests and the workbench say rows, not people."""

import html
import json
import re

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.frame import enter
from shoal.schema import Schema
from shoal.schema.whose_rows import crowds_count, rows_count_as, whose_rows
from shoal.web.result_view import view_of


def survey(n=400, copied=0, seed=0):
    rng = np.random.default_rng(seed)
    people = pl.DataFrame(
        {
            "age": rng.integers(18, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "height": rng.normal(170, 9, n).round(2),
            "cost": rng.lognormal(7, 1, n).round(2),
            "stay": rng.integers(0, 300, n),
        }
    )
    return pl.concat([people, people[:copied]]).with_row_index("row")


def schema(repeats=None, row="identifier"):
    roles = {"quasi": ["age", "sex"], "sensitive": ["cost", "stay"], "other": ["height"]}
    if row == "identifier":
        roles["identifier"] = ["row"]
    if row == "unit":
        return Schema.of(unit="row", **roles)
    return Schema.of(**roles, repeats=repeats)


CASES = {  # table, schema, what a row is, what k counts, what both are by the schema alone
    "nothing says it": (survey().drop("row"), schema(row=""), ("rows", "rows"), ("rows", "rows")),
    "numbered rows": (survey(), schema(), ("people", "people"), ("rows", "rows")),
    "numbered rows that come again": (survey(copied=150), schema(), ("rows", "rows"), ("rows", "rows")),
    "equal rows are different people": (
        survey(copied=150),
        schema("different people"),
        ("people", "people"),
        ("people", "people"),
    ),
    "equal rows are one person's": (
        survey(copied=150),
        schema("same person"),
        ("rows", "people"),
        ("rows", "people"),
    ),
    "a unit": (survey(), schema(row="unit"), ("rows", "people"), ("rows", "people")),
}


@pytest.mark.parametrize("case", list(CASES))
def test_one_place_decides_the_noun_from_schema_and_table(case):
    table, roles, inside, outside = CASES[case]
    found = whose_rows(enter(table), roles)
    assert (found.counts, found.crowd) == inside
    assert (rows_count_as(roles), crowds_count(roles)) == outside


@pytest.mark.parametrize("case", list(CASES))
def test_terminal_and_workbench_use_it(case):
    table, roles, (row, crowd), _ = CASES[case]
    release = shoal.coarsen(table, roles, shoal.Mondrian(k=5), seed=1)
    assert {line.counts for line in release.risk_lines} == {row}
    words = " ".join(line.meaning for line in release.risk_lines)
    assert f"Share of {row}" in words
    assert f"The fewest {crowd} that share" in words
    assert ("people" in words) == ("people" in (row, crowd))
    view = view_of(release)
    assert (view["rows_are"], view["crowd"]) == (row, crowd)


@pytest.mark.parametrize("case", list(CASES))
def test_report_and_manifest_go_by_the_schema_alone(case, tmp_path):
    table, roles, _, (_, crowd) = CASES[case]
    shoal.coarsen(table, roles, shoal.Mondrian(k=5)).write(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    assert f"5 {crowd}" in text
    assert f"shared by at least 5 {crowd}" in text
    claims = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["claims"]
    hidden = next(claim for claim in claims if claim["kind"] == "k-anonymity")
    assumed = "Rows are counted, and nobody has said that each is a person of its own."
    assert (assumed in hidden["assumptions"]) == (crowd == "rows")


def test_who_was_left_out_shows_in_no_word(tmp_path):
    """Two tables that differ in a copy that is suppressed: the words that leave are the same."""
    table = survey().with_columns(age=pl.when(pl.col("row") < 2).then(99).otherwise("age"))
    first = table.with_columns(pl.when(pl.col("row") == 1).then(pl.lit(0)).otherwise("row").alias("row"))
    said = []
    for one in (table, first):
        release = shoal.coarsen(one, schema(), shoal.Generalize(k=5, suppression=0.05), seed=1)
        said.append([claim.to_dict()["assumptions"] for claim in release.outside_claims])
    assert said[0] == said[1]
