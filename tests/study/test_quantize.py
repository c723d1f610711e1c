"""The vector-quantization study in miniature: planted outliers are found, and only stirring protects everybody."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from shoal.cli.study import command
from shoal.distance import Metric
from shoal.errors import FileError, ParameterError
from shoal.study.page import check_folder, write
from shoal.study.quantize import CHAINS, RADII, Settings, planted, run, toy
from shoal.study.quantize_page import STUDY, findings


@pytest.fixture(scope="module")
def study():
    return run(Settings(n=800))


def test_all_planted_outliers_are_found_at_every_radius(study):
    assert {(f.radius, f.shape) for f in study.found} >= {(r, s) for r in RADII for s in ("clique", "ball")}
    assert all(f.recall == 1 for f in study.found)
    others = [f.others_share for f in study.found if f.shape == "clique"][: len(RADII)]
    assert others == sorted(others, reverse=True)


def test_push_back_protects_the_moved_and_shuffle_everybody(study):
    steps = {step.name: step for step in study.steps}
    assert list(steps) == list(CHAINS)
    assert steps["nothing"].linkage == 1
    pushed, stirred = steps["push-back to an element"], steps["push-back, then shuffle 0.05"]
    assert pushed.linkage_planted < 0.4
    assert pushed.linkage > 0.8
    assert stirred.linkage < 0.2
    assert stirred.reached <= 0.05 + 1e-9
    assert steps["push-back, strict"].outside_share == 0
    assert pushed.distortion < stirred.distortion


def test_toy_record_changes_only_where_it_is_out_of_range(study):
    table, _ = toy()
    for name, records in study.toy.items():
        assert records[:4] == table.to_dicts()[:4]
        assert records[4]["nationality"] == "Indian"
        assert (records[4]["age"] <= 29) == (name != "original")


def test_mapped_numbers_follow_the_reference(study):
    reference = np.diff(1 - (1 - np.linspace(0, 1, 11)) ** 2)
    for column in study.mapped:
        assert sum(column.after) == pytest.approx(1)
        if column.name in ("glucose", "pressure", "weight"):
            assert np.abs(np.array(column.after) - reference).max() < 0.05


def test_findings_and_files(study, tmp_path):
    said = " ".join(findings(study))
    assert "nobody else" in said
    write(STUDY, study, tmp_path / "out")
    words = json.loads((tmp_path / "out" / "study.json").read_text())
    assert words["settings"]["n"] == 800
    assert len(words["steps"]) == len(CHAINS)
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<figure") == 3
    assert "differential privacy. They aren't" in page.replace("&#39;", "'")
    HTMLParser().feed(page)
    check_folder(STUDY, tmp_path / "out", overwrite=True)
    with pytest.raises(FileError, match="--overwrite"):
        check_folder(STUDY, tmp_path / "out", overwrite=False)


def test_command(tmp_path):
    app = typer.Typer()
    app.command()(command(STUDY))
    done = CliRunner().invoke(app, ["--rows", "300", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "nobody else" in done.output.replace("\n", " ")
    assert (tmp_path / "out" / "report.html").exists()
    assert isinstance(CliRunner().invoke(app, ["--out", str(tmp_path / "out")]).exception, FileError)


def test_simulated_data():
    data = planted(1000, share=0.02, seed=4)
    assert data.far.sum() == 20
    assert data.table.equals(planted(1000, share=0.02, seed=4).table)
    spread = data.table["glucose"].to_numpy()[~data.far]
    assert spread.std() < 60
    assert Metric.of(data.schema["place"].metric).kind == "matrix"
    with pytest.raises(ParameterError, match="share"):
        run(Settings(share=0.9))
