"""ε is that of a person with all of their rows: noise is m times as large, and nobody has more rows than m."""

import json
import math

import numpy as np
import polars as pl
import pytest

from shoal import Schema
from shoal.dp import Budget, ProtectedUnit, noise
from shoal.score import CertifiedForest, CertifiedTree, load
from shoal.synth import MarginalBootstrap, PeGS, PerturbedImputation
from shoal.synth import load as load_model
from shoal.synth.domain import encode_table
from shoal.synth.spend import Purse, total_budget

LEVELS = {"a": [0, 1], "b": ["x", "y", "z"]}
PLAIN = Schema.of(quasi=["a", "b"], levels=LEVELS)
SCHEMA = Schema.of(unit="who", quasi=["a", "b"], levels=LEVELS)
VISITS = pl.DataFrame({"who": [1] * 7 + [2] * 2 + [3, None, None], "a": [0, 1] * 6, "b": ["x", "y", "z"] * 4})


@pytest.fixture
def scales(monkeypatch):
    """The scales of all noise that is drawn."""
    seen = []
    for name in ("discrete_laplace", "discrete_gaussian"):
        plain = getattr(noise, name)
        monkeypatch.setattr(noise, name, lambda c, scale, plain=plain: (seen.append(scale), plain(c, scale))[1])
    return seen


@pytest.mark.parametrize("method", [MarginalBootstrap, PeGS])
def test_noise_is_m_times_as_large(method, scales):
    for delta in (None, 1e-6):
        drawn = []
        for m in (1, 4):
            scales.clear()
            chain = {"design": "pairs"} if method is PeGS else {}  # how a graph shares its budget depends on m
            model = method(epsilon=1.0, delta=delta, rows_per_person=m, **chain).fit(VISITS.drop("who"), PLAIN)
            drawn.append(scales[0])
            assert model.claims[0].value == 1.0
            assert model.spent == Budget(epsilon=1.0, delta=delta or 0)
        assert drawn[1] == pytest.approx(4 * drawn[0])


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_the_budget_of_a_row(delta):
    unit, whole = ProtectedUnit(rows=5), total_budget(1.0, delta)
    part = total_budget(1.0, delta, unit)
    assert part * (25 if delta else 5) == whole


def test_no_person_counts_with_more_rows_than_they_may():
    for m, n in ((1, 5), (2, 7), (7, 12)):
        unit = ProtectedUnit(rows=m, held=True)
        given = {"bins": 4, "missing": "level", "public": True, "owner": "test"}
        encoded = encode_table(VISITS, SCHEMA, unit=unit, rng=np.random.default_rng(1), **given)
        assert encoded.n == n
        assert any("kept at random" in note for note in encoded.notes)
    texts = VISITS.with_columns(pl.col("who").cast(pl.Float64).cast(pl.String))
    assert encode_table(texts, SCHEMA, unit=ProtectedUnit(), rng=np.random.default_rng(1), **given).n == 5


def test_by_row_the_ratio_of_a_person_is_epsilon():
    """Exactly: the law of one draw with and without m equal rows, in every block, for all m rows and M columns."""
    m, epsilon = 3, 0.8
    method = PeGS(epsilon=epsilon, scope="sample", rows_per_person=m, choose="given", parents={"a": ["b"]})
    table = VISITS.drop("who")
    more = pl.concat([table, table[:1], table[:1], table[:1]])
    worst = 0.0
    for one, other in zip(*(method.fit(t, PLAIN)._weights for t in (table, more)), strict=True):
        laws = [np.diff(w, axis=1, prepend=0) / w[:, -1:] for w in (one, other)]
        worst += float(np.abs(np.log(laws[0] / laws[1])).max())
    assert worst <= epsilon
    assert method.fit(table, PLAIN).alpha == pytest.approx(1 / math.expm1(epsilon / 2 / m), rel=1e-4)


def test_the_choice_of_parents_is_paid_by_rows(monkeypatch):
    prices = []
    plain = Purse.choice
    monkeypatch.setattr(Purse, "choice", lambda *given: (prices.append(given[4]), plain(*given))[1])
    PeGS(epsilon=1.0, scope="sample", rows_per_person=4).fit(VISITS.drop("who"), PLAIN)
    assert sum(prices, Budget(epsilon=0)) == Budget(epsilon=0.25)


def test_claims_name_the_unit(tmp_path):
    for method in (
        MarginalBootstrap(rows_per_person=3),
        PeGS(rows_per_person=3),
        PeGS(scope="sample", rows_per_person=3),
    ):
        claim = method.fit(VISITS, SCHEMA).claims[0]
        assert "Protected unit: one person with up to 3 rows." in claim.statement
        assert any("held to that" in text for text in claim.assumptions)
        assert any("stops the fit" in text for text in claim.assumptions)
    model = PeGS(scope="sample", rows_per_person=3).fit(VISITS, SCHEMA)
    model.save(tmp_path / "model.json", internal=True)
    assert load_model(tmp_path / "model.json").alpha == model.alpha
    assert load_model(tmp_path / "model.json").claims == model.claims
    claim = PerturbedImputation().fit(VISITS, SCHEMA).claims[0]
    assert "a person with any number of rows" in claim.statement


@pytest.mark.parametrize(
    "model", [CertifiedTree(1.0, SCHEMA, max_depth=2), CertifiedForest(1.0, SCHEMA, random_state=1)]
)
def test_scores(model, scales, tmp_path):
    X, y = VISITS, [0, 1] * 6
    scales.clear()
    one = model.set_params(rows_per_person=1).fit(X, y)
    first, words = list(scales), "one person with one row"
    assert words in one.claims[0].statement
    assert one.features.names == ("a", "b")
    assert one.predict_proba(X).shape == one.predict_proba(X.drop("who")).shape == (12, 2)
    scales.clear()
    again = model.set_params(rows_per_person=4).fit(X, y)
    assert max(scales) == pytest.approx(4 * max(first))
    again.save(tmp_path / "score.json")
    assert load(tmp_path / "score.json").claims == again.claims
    assert any("held to that" in text for text in again.claims[0].assumptions)
    apart = model.fit(X.drop("who"), y)
    assert any("was not checked" in text for text in apart.claims[0].assumptions)
    assert json.loads((tmp_path / "score.json").read_text())["params"]["rows_per_person"] == 4


def test_a_table_is_cut_to_the_rows_of_a_person_before_a_score_is_fitted(monkeypatch):
    totals = []
    monkeypatch.setattr(noise, "discrete_laplace", lambda c, scale: (totals.append(int(np.sum(c))), np.asarray(c))[1])
    CertifiedTree(1.0, SCHEMA, max_depth=1, rows_per_person=2).fit(VISITS, [0, 1] * 6)
    assert totals == [7]
