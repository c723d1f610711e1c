"""The study of private trees on a small table: its parts agree with the models, and its page is whole."""

import json
import math

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st
from typer.testing import CliRunner

from shoal.cli.study import command
from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.errors import FileError, InputError
from shoal.report.numbers import number
from shoal.score import StableTree
from shoal.score.stable import ORDERS
from shoal.study.dpat import EPSILONS, Settings, laplace_loss, run
from shoal.study.dpat_attacks import nearest_cells, threshold_success
from shoal.study.dpat_page import STUDY, findings
from shoal.study.page import render


@pytest.fixture(scope="module")
def study():
    return run(settings=Settings(n=160, halves=2, deletions=20, daves=3, seed=1))


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


def test_contrasts_are_paired_by_half(study):
    ours, theirs = study.curve("EDPaT"), study.curve("C4.5, no privacy")
    at = EPSILONS.index(1.0)
    assert ours.mean[at] == pytest.approx(np.mean(ours.at(1.0)))
    d = np.subtract(ours.at(1.0), theirs.at(1.0))
    here, half = (12.7062 * d.std(ddof=1) * np.sqrt(1 / 2 + shared) for shared in (0, 1))  # t of one degree
    line = next(text for text in findings(study) if text.startswith("At ε = 1 EDPaT has"))
    assert f"{number(d.mean())} ± {number(here)} over halves of this file, ± {half:.3f} for other" in line
    assert ("no clear difference" in line) == (abs(d.mean()) <= here)
    assert ("not clearly beyond it" in line) == (here < abs(d.mean()) <= half)


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


def test_bob_finds_what_a_score_gives_away(study):
    """A plain tree of one question gives the hidden cell away; of several equals the more frequent one is taken."""
    tried = np.array([[[0.1, 0.1]], [[0.4, 0.1]], [[0.9, 0.1]]])
    assert nearest_cells(np.array([0.4, 0.1]), tried, np.array([1.0, 2.0, 9.0])).tolist() == [1, 2]
    assert all(0 <= a.success <= 1 and a.chance <= 1 for a in study.on_value)
    full, percent, tenths = study.on_value[1:4]
    assert full.success >= percent.success - 0.1
    assert percent.success >= tenths.success - 0.1


def test_bob_never_passes_the_bound(study):
    """40 fresh answers for each Dave: three standard errors of room."""
    exact, _, *certified = study.on_outcome
    assert exact.success > 0.8
    for attack in certified:
        assert attack.success <= attack.bound + 3 * np.sqrt(0.25 / (attack.n * 40))


@given(st.integers(0, 10**6))
@trials(max_examples=25, deadline=None)
def test_a_threshold_learns_nothing_from_noise_and_all_from_distance(seed):
    rng = np.random.default_rng(seed)
    assert threshold_success(rng.random(40), 2 + rng.random(40)) == 1
    assert threshold_success(2 + rng.random(40), rng.random(40)) == 1
    assert threshold_success(np.ones(40), np.ones(40)) == 0.5


def test_distinct_alphas_by_the_trees_themselves(study):
    table = pima_like(160, seed=1)
    X, y = table.drop("diabetes"), table["diabetes"]
    structures = {a: StableTree(a, schema=pima_like_schema()).fit(X, y).model_[0].structure() for a in ORDERS}
    found = {float(kept): equal for kept, equal in study.alphas.items()}
    assert sorted(a for equal in found.values() for a in equal) == sorted(ORDERS)
    assert all(structures[a] == structures[kept] for kept, equal in found.items() for a in equal)
    assert len({structures[kept] for kept in found}) == len(found) > 1


def test_another_table():
    table = pima_like(150, seed=4)
    with pytest.raises(InputError, match="target column"):
        run(table, pima_like_schema(), "outcome", settings=Settings(halves=2, deletions=2))


def test_command(tmp_path):
    app = typer.Typer()
    app.command()(command(STUDY))
    file = tmp_path / "pima.csv"
    pima_like(160, seed=2).write_csv(file)
    words = ["--data", file, "--halves", 2, "--deletions", 3, "--daves", 2, "--out", tmp_path / "study"]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "study" / "study.json").read_text())["n_records"] == 160
    again = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(again.exception, FileError)
