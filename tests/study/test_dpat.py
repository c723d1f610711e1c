"""The study of private trees on a small table: its parts agree with the models, and its page is whole."""

import json
import math

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from shoal.cli.study import command
from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.errors import FileError, InputError
from shoal.score import StableTree
from shoal.study.dpat import EPSILONS, Settings, laplace_loss, run
from shoal.study.dpat_page import STUDY, findings
from shoal.study.page import render


@pytest.fixture(scope="module")
def study():
    return run(settings=Settings(n=160, halves=2, deletions=20, seed=1))


def test_the_parts(study):
    assert study.n_records == 160
    assert study.n_features == 8
    assert {c.model for c in study.curves} >= {"CertifiedForest", "EDPaT", "DPaT", "C4.5, no privacy"}
    assert all(len(c.mean) == len(EPSILONS) and all(0 <= m <= 1 for m in c.mean) for c in study.curves)
    for split in study.splits:
        assert all(low <= gain <= high + 1e-12 for _, gain, low, high in split.questions)
    for found in study.deletions:
        assert found.tried == 20
        assert 0 <= found.changed <= 20
        assert (found.changed == 0) == (found.largest_move == 0) or found.changed > 0


def test_deletions_by_the_model_itself(study):
    table = pima_like(160, seed=1)
    X, y = table.drop("diabetes"), (table["diabetes"] == "pos").to_numpy().astype(int)
    tree = StableTree(1.0, schema=pima_like_schema())
    whole = tree.fit(X, y).model_[0].structure()
    from shoal.rng import stream

    rows = stream(1, "dpat", "deletions").choice(np.arange(160), 20, replace=False)
    changed = 0
    for row in rows:
        kept = np.delete(np.arange(160), row)
        changed += tree.fit(X[kept], y[kept]).model_[0].structure() != whole
    assert changed == next(d.changed for d in study.deletions if d.alpha == 1.0)


def test_loss_of_equal_scales_is_bounded_and_of_unequal_ones_is_not():
    assert laplace_loss(100.0, (0.4, 0.1), (0.5, 0.1)) == pytest.approx(1.0)
    far = [laplace_loss(10.0**k, (0.5, 0.1), (0.5, 0.11)) for k in range(4)]
    assert far == sorted(far)
    assert far[-1] > 800
    assert all(loss.at_ten < loss.at_hundred for loss in run_losses())


def run_losses():
    from shoal.study.dpat import _loss

    return [_loss(3, 10), _loss(20, 50), _loss(7, 9)]


def test_page_and_numbers(study):
    page = render(STUDY, study)
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<script") <= 1  # the tooltips of the house style
    assert "src=" not in page
    assert all(part in page for part in ("0-DiffStructure", "Exact loss", "ROC at"))
    words = json.loads(json.dumps(study.to_dict(), allow_nan=False))
    assert words["epsilons"] == list(EPSILONS)
    assert all(isinstance(text, str) and not math.isnan(len(text)) for text in findings(study))


def test_another_table():
    table = pima_like(150, seed=4)
    with pytest.raises(InputError, match="target column"):
        run(table, pima_like_schema(), "outcome", settings=Settings(halves=2, deletions=2))


def test_command(tmp_path):
    app = typer.Typer()
    app.command()(command(STUDY))
    file = tmp_path / "pima.csv"
    pima_like(160, seed=2).write_csv(file)
    words = ["--data", file, "--halves", 2, "--deletions", 3, "--out", tmp_path / "study"]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "study" / "study.json").read_text())["n_records"] == 160
    again = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(again.exception, FileError)
