"""The LUDIA study in miniature: its numbers against the public methods, its findings, its page."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from shoal.aggregate import Aggregate, Cudia, RidgeEcological
from shoal.conform import prepare
from shoal.datasets.inpatients import inpatient, inpatient_schema
from shoal.errors import ColumnError, FileError, ParameterError
from shoal.rng import stream
from shoal.study import ludia
from shoal.study.ludia import KINDS, METHODS, Settings, run, simulate
from shoal.study.ludia_findings import averages, findings
from shoal.study.ludia_inpatient import _intercepts, inpatient_part
from shoal.study.ludia_page import STUDY
from shoal.study.page import check_folder, render, write
from shoal.study.paired import paired


def make_small(patch):
    patch.setattr(ludia, "_MANY", ((12, 10), (20, 10)))
    patch.setattr(ludia, "KNOB", (1, 5, 20))
    patch.setitem(METHODS, "CUDIA", Cudia(restarts=1, iterations=2, sweeps=3))
    for name in ("LUDIA", "LUDIA, standardised"):
        patch.setitem(METHODS, name, replace(METHODS[name], iterations=5))


@pytest.fixture(scope="module")
def study():
    patch = pytest.MonkeyPatch()
    make_small(patch)
    steps = []
    found = run(
        settings=Settings(runs=1, sizes=(10, 20), rows=400, seeds=2),
        progress=lambda done, total: steps.append((done, total)),
    )
    patch.undo()
    assert steps[-1][0] <= steps[-1][1]
    return found


def test_errors_are_those_of_the_methods(study):
    error = next(e for e in study.few if (e.kind, e.size, e.method) == ("RE1", 20, "Ridge"))
    X, y, labels = simulate("RE1", 5, 20, stream(0, "ludia study", "RE1", 5, 20, 0))
    values = RidgeEcological().reconstruct(X, [Aggregate(by=labels, mean=np.bincount(labels, y) / 20)]).values
    assert error.mae == pytest.approx(np.abs(values - y).mean())
    assert len(study.few) == len(KINDS) * 2 * len(METHODS)
    assert averages(study.few, "RE1")["Ridge"] == pytest.approx(
        np.mean([e.mae for e in study.few if e.kind == "RE1" and e.method == "Ridge"])
    )


@pytest.mark.parametrize("kind", KINDS)
def test_simulated_tables(kind):
    X, y, labels = simulate(kind, 6, 15, np.random.default_rng(0), mix=2.0)
    assert X.shape == (90, 4 if kind == "LR" else 2)
    assert np.bincount(labels).tolist() == [15] * 6
    assert np.isfinite(y).all()


def test_inpatient_results(study):
    plain, confounded = study.inpatient
    assert plain.n == confounded.n == 400
    assert {e.level for e in plain.levels} == {"county", "hospital", "zip"}
    assert plain.stacked[0].n_groups == sum({e.level: e.n_groups for e in plain.levels}.values())
    assert all(sum(d.shares) == pytest.approx(1) for d in plain.daily)
    assert plain.daily[0].distance == 0
    assert plain.effects[0].effects_mse == 0
    assert next(e for e in plain.effects if e.method == "MP").slope == pytest.approx(0, abs=1e-9)
    assert plain.lasso[0].method == "original"
    assert plain.lasso[0].mae == min(e.mae for e in plain.lasso)


def test_intercepts_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    labels, x = np.arange(60) % 5, rng.standard_normal(60)
    y = 2 * x + labels + 0.1 * rng.standard_normal(60)
    design = np.column_stack((x, labels[:, None] == np.arange(5)))
    slow = np.linalg.lstsq(design, y, rcond=None)[0]
    slope, effects = _intercepts(x, y, labels)
    assert slope == pytest.approx(slow[0])
    np.testing.assert_allclose(effects, slow[1:] - slow[1:].mean())


def test_findings_follow_the_numbers(study):
    text = " ".join(findings(study))
    for word in ("lowest", "within 2%", "iterations", "Three starts", "Table 4.3", "Figure 4.8", "Paper"):
        assert word in text
    forged = replace(study, few=tuple(replace(e, mae=0.0 if e.method == "LUDIA" else 1.0) for e in study.few))
    told = " ".join(findings(forged))
    assert "LR: LUDIA is lowest" in told
    assert "this reproduces everywhere; against all methods here it reproduces everywhere" in told
    forged = replace(study, few=tuple(replace(e, mae=0.0 if e.method == "MP" else 1.0) for e in study.few))
    assert "does not reproduce anywhere" in " ".join(findings(forged))


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [value for key, value in attrs if key in ("href", "src")]


def test_report(study, tmp_path):
    write(STUDY, study, tmp_path / "study")
    page = _Page((tmp_path / "study/report.html").read_text())
    assert page.seen.count("script") == 1
    assert all(link.startswith("#") for link in page.links)
    assert page.seen.count("svg") == 4 + 1 + 3 + 2 * (5 + 1 + 6 + 1)
    told = json.loads((tmp_path / "study/results.json").read_text())
    assert told["findings"] == findings(study)
    assert len(pl.read_csv(tmp_path / "study/errors.csv")) == len(study.few) + len(study.many) + len(study.knob)
    check_folder(STUDY, tmp_path / "study", overwrite=True)
    with pytest.raises(FileError, match="overwrite"):
        check_folder(STUDY, tmp_path / "study", overwrite=False)
    with pytest.raises(FileError, match="folder"):
        check_folder(STUDY, tmp_path / "study/report.html", overwrite=True)


def stays(table, **words):
    given = {"value": "charge", "covariates": None, "days": "days", "log": True, "name": "x", "rows": 0, "seed": 0}
    return inpatient_part(table, METHODS, **(given | words))


def test_a_given_file(study, monkeypatch):
    make_small(monkeypatch)
    table = inpatient(200, seed=4).drop("zip", "race").to_pandas()
    found = run(table, by=("county", "hospital"), name="<b>mine</b>", settings=Settings(runs=1, sizes=(5,)))
    assert [part.data for part in found.inpatient] == ["<b>mine</b>"]
    assert "<b>mine" not in render(STUDY, found)
    nameless = stays(table.drop(columns="days"), by=("county",))
    assert nameless[0].daily == ()
    assert "Charges" in render(STUDY, replace(found, inpatient=nameless))
    for words, match in (({"value": "cost"}, "cost"), ({"by": ("state",)}, "state"), ({"covariates": ("bmi",)}, "bmi")):
        with pytest.raises(ColumnError, match=match):
            stays(table, **{"by": ("county",), **words})
    with pytest.raises(ColumnError, match="greater than 0"):
        stays(table.assign(charge=0.0), by=("county",))
    with pytest.raises(ParameterError, match="runs"):
        run(settings=Settings(runs=0))


def test_the_inpatient_table_follows_its_model():
    table = inpatient(20_000, seed=5)
    assert table.equals(inpatient(20_000, seed=5))
    assert prepare(table, inpatient_schema()).n == 20_000
    assert (table["county"].n_unique(), table["hospital"].n_unique(), table["zip"].n_unique()) == (12, 36, 72)
    labels = np.unique(table["hospital"].to_numpy(), return_inverse=True)[1]
    unit = table["unit"].to_numpy()
    y = (
        np.log(table["charge"].to_numpy())
        - 0.25 * (unit == "surgical")
        - 0.5 * (unit == "intensive")
        - 0.12 * table["severity"]
    )
    slope, effects = _intercepts(np.log(table["days"].to_numpy()), y.to_numpy(), labels)
    assert slope == pytest.approx(0.8, abs=0.02)
    assert 0.15 < effects.std() < 0.45
    with pytest.raises(ParameterError, match="n must be"):
        inpatient(0)


def test_many_draws_are_compared_in_pairs(study):
    """Two draws here: the interval is that of Student's t with one degree of freedom."""
    part = study.seeds[1]
    first, second = part.errors["LUDIA, standardised"], part.errors["Ridge"]
    against = paired(first, second)
    d = np.array(first) - np.array(second)
    assert against.difference == pytest.approx(d.mean())
    assert against.half == pytest.approx(12.7062 * d.std(ddof=1) / np.sqrt(2), rel=1e-4)
    assert against.clear == (abs(d.mean()) > against.half)
    said = [text for text in findings(study) if "LUDIA, standardised minus Ridge" in text]
    assert len(said) == 2
    assert all("over 2 draws" in text for text in said)
    assert not paired([1.0], [2.0]).clear
