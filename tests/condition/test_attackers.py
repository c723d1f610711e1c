"""Limits on attackers: risks by sums over the distribution, the search for k, and what the written file shows."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom

import shoal
from shoal.condition.attackers import RiskLimit, class_risks, risk_limits, smallest_k, worst_risks
from shoal.equivalence import classes_of
from shoal.errors import GuaranteeError, ParameterError
from shoal.frame import enter
from shoal.recipe import read_recipe
from shoal.release import anonymize_to_risk, make

SCHEMA = shoal.Schema.of(quasi=["q"], weight="w", kinds={"q": "numeric"})
KINDS = ["prosecutor:0.1", "journalist:0.1", "marketer:0.1", "q80:0.1"]
tables = st.lists(st.tuples(st.integers(0, 4), st.floats(1.5, 30)), min_size=1, max_size=20)


def oracle(rows, share):
    """The four risks straight from the definitions: a sum over h for each record."""
    risks, sizes = [], []
    for q, _ in rows:
        own = [w for other, w in rows if other == q]
        f, p = len(own), len(own) / sum(own)
        h = np.arange(3000)
        risks.append(float((nbinom.pmf(h, f, p) / (f + h)).sum()))
        sizes.append(f)
    ordered = sorted(risks)
    at = next(r for i, r in enumerate(ordered) if (i + 1) / len(rows) >= share - 1e-12)
    return 1 / min(sizes), max(risks), sum(risks) / len(rows), at


@settings(max_examples=25, deadline=None)
@given(tables)
def test_risks_by_sums(rows):
    frame = enter(pl.DataFrame({"q": [q for q, _ in rows], "w": [w for _, w in rows]}))
    limits = [RiskLimit.of(words) for words in KINDS]
    found = worst_risks(limits, frame, SCHEMA, classes_of(frame, ["q"]))
    assert found == pytest.approx(oracle(rows, 0.8), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.floats(0, 1), st.integers(1, 40))
def test_no_risk_exceeds_one_in_f_so_that_raising_k_always_ends(f, w, extra):
    """Whatever the weights, E(1/F | f) ≤ 1/f; and a class that grows by persons of weight 1 or more has less."""
    table = pl.DataFrame({"q": [0] * f + [1] * (f + extra), "w": [1 + 9 * w] * (2 * f + extra)})
    small, large = class_risks(enter(table), SCHEMA, classes_of(enter(table), ["q"]))[[0, 1]]
    assert large <= small <= 1 / f + 1e-12


@given(st.integers(2, 9), st.integers(2, 60), st.integers(2, 200))
def test_the_smallest_k(k, enough, most):
    """Doubling and bisecting finds the first k of a monotone condition, unless it is out of reach."""

    def run(tried):
        if tried > most:
            raise GuaranteeError("test", "out of reach")
        return tried

    limits = [RiskLimit(attacker="prosecutor", value=1 / max(k + 1, enough))]
    if max(k, enough) > most:
        with pytest.raises(GuaranteeError):
            smallest_k(limits, k, run, lambda tried: tried >= enough)
    else:
        assert smallest_k(limits, k, run, lambda tried: tried >= enough) == (max(k, enough),) * 2


@pytest.fixture(scope="module")
def survey():
    return shoal.datasets.health_survey(600, seed=1).drop("weight")


def schema():
    given = shoal.datasets.health_survey_schema()
    return shoal.Schema(tuple(column for column in given.columns if column.name != "weight"))


@pytest.mark.parametrize("method", [shoal.Mondrian, shoal.Suppress, shoal.Generalize])
@pytest.mark.parametrize("words", ["journalist:0.05", "marketer:0.01", "q90:0.03", "prosecutor:0.12"])
def test_methods_meet_their_limits_at_the_smallest_k(survey, method, words):
    release = shoal.coarsen(survey, schema(), method(k=2, risk=words, population=3000), seed=1)
    k = release.steps[-1].details["k"]
    (limit,) = risk_limits(words)
    frame = enter(release.table)
    assert limit.holds(worst_risks([limit], frame, schema(), classes_of(frame, schema().quasi), 3000)[0])
    claim = next(claim for claim in release.claims if claim.kind == f"{limit.attacker} risk")
    assert (claim.value, claim.basis) == (limit.value, "verified")
    if k > 2:
        weaker = enter(shoal.coarsen(survey, schema(), method(k=k - 1), seed=1).table)
        assert not limit.holds(worst_risks([limit], weaker, schema(), classes_of(weaker, schema().quasi), 3000)[0])


def test_a_reviewer_counts_the_limits_again(survey, tmp_path):
    method = shoal.Mondrian(k=2, risk="journalist:0.05/q90:0.03/prosecutor:0.2", population=3000)
    shoal.coarsen(survey, schema(), method).write(tmp_path / "out")
    found = {check.name: check for check in shoal.verify(tmp_path / "out").checks}
    names = ["journalist risk 0.05", "individual risk 0.03", "prosecutor risk 0.2"]
    assert all(found[name].holds and found[name].standing == "recomputed" for name in names)
    manifest = tmp_path / "out" / "manifest.json"
    words = json.loads(manifest.read_text())
    words["recipe"]["coarsen"][0]["risk"] = "journalist:0.0001"
    next(claim for claim in words["claims"] if claim["kind"] == "journalist risk")["value"] = 0.0001
    manifest.chmod(0o644)
    manifest.write_text(json.dumps(words))
    forged = {check.name: check for check in shoal.verify(tmp_path / "out").checks}
    assert forged["journalist risk 0.0001"].holds is False


def test_persons_count_and_survive_the_search():
    table = pl.DataFrame({"who": np.repeat(np.arange(60), 2), "age": np.tile([30, 31, 40, 41], 30)})
    people = shoal.Schema.of(quasi=["age"], unit="who", kinds={"age": "numeric"})
    release = shoal.coarsen(table, people, shoal.Mondrian(k=2, risk="prosecutor:0.02"), seed=1)
    assert release.steps[-1].details["k"] == 31  # 30 persons are of each pair of ages; one class holds all 60
    assert next(claim for claim in release.claims if claim.kind == "prosecutor risk").unit == "persons"


def test_anonymize_to_a_risk(survey):
    centre, blind = shoal.Centroid(), shoal.Resample()
    release = anonymize_to_risk(
        survey, schema(), "marketer:0.01", group=shoal.MDAV(k=2), mask=centre, population=3000, seed=1
    )
    assert shoal.risk.attackers(release.table, schema(), population=3000).marketer <= 0.01
    assert release.recipe.group.k > 2
    (claim,) = [claim for claim in release.claims if claim.kind == "marketer risk"]
    assert (claim.value, claim.basis, claim.scope) == (0.01, "verified", "mean over records")
    found = anonymize_to_risk(survey, schema(), "prosecutor:0.125", group=shoal.MDAV(k=2), mask=blind, seed=1)
    assert found.recipe.group.k == 8
    (claim,) = [claim for claim in found.claims if claim.kind == "prosecutor risk"]
    assert (claim.value, claim.basis, claim.scope) == (0.125, "verified", "per group")
    for mask in (blind, shoal.RankSwap()):
        with pytest.raises(ParameterError, match="rows of a group equal"):
            anonymize_to_risk(survey, schema(), "journalist:0.1", group=shoal.MDAV(k=2), mask=mask)


def test_a_target_of_anonymize_is_held_and_counted_again(survey, tmp_path):
    words = {"group": shoal.MDAV(k=2), "population": 3000, "seed": 1}
    made = anonymize_to_risk(survey, schema(), "journalist:0.05/q95:0.03", mask=shoal.Centroid(), **words)
    made.write(tmp_path / "out")
    found = {check.name: check for check in shoal.verify(tmp_path / "out").checks}
    names = ["journalist risk 0.05", "individual risk 0.03"]
    assert all(found[name].holds and found[name].standing == "recomputed" for name in names)
    assert read_recipe(made.recipe.to_dict()) == made.recipe
    assert made.recipe.options(preset=None, accept=False)[-4:] == ["--risk", made.recipe.risk, "--population", "3000"]
    too_low = made.recipe.group.clone().set_params(k=2)
    broken = dataclasses.replace(made.recipe, group=too_low, risk="prosecutor:0.01")
    with pytest.raises(GuaranteeError, match="at most 0.01"):
        _ = make(survey, schema(), broken, seed=1).claims
    shown = anonymize_to_risk(survey, schema(), "prosecutor:0.2", mask=shoal.Resample(), **words)
    shown.write(tmp_path / "blind")
    found = {check.name: check for check in shoal.verify(tmp_path / "blind").checks}
    assert found["prosecutor risk 0.2"].holds is None  # the table doesn't show its groups


@pytest.mark.parametrize("words", ["", "thief:0.1", "journalist", "journalist:0", "marketer:1.5", "q100:0.1", "q5:x"])
def test_words_that_are_no_limit(words):
    with pytest.raises(ParameterError, match="prosecutor:R"):
        risk_limits(words)


def test_a_population_without_a_limit_is_refused(survey):
    with pytest.raises(ParameterError, match="population"):
        shoal.coarsen(survey, schema(), shoal.Mondrian(population=3000))


def test_figures_and_pages_use_the_population_that_the_limit_was_held_against(survey, tmp_path):
    made = shoal.coarsen(survey, schema(), shoal.Mondrian(k=2, risk="journalist:0.05", population=3000), seed=1)
    assert made.risk.attackers.population == 3000
    assert made.risk.attackers.worst("largest").largest <= 0.05
    made.write(tmp_path / "out")
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())["risk"]["attackers"]
    assert told["population"] == 3000
    assert told["journalist"]["largest"] <= 0.05
    (model,) = told["models"]
    assert set(model) == {"model", "largest", "mean", "interval", "fits"}
    page = (tmp_path / "out" / "report.html").read_text()
    journalist = page[page.index("Journalist: largest expected") :]
    assert 'class="verdict good"' in journalist[: journalist.index("</tr>")]


def test_every_model_of_the_population_leaves_with_its_range(survey, tmp_path):
    made = shoal.anonymize(
        survey.with_columns(w=pl.lit(20.0)),
        shoal.Schema((*schema().columns, shoal.Schema.of(weight="w")["w"])),
        group=shoal.MDAV(k=3),
        mask=shoal.Resample(),
        seed=1,
    )
    made.write(tmp_path / "out")
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())["risk"]["attackers"]
    means = [model["mean"] for model in told["models"]]
    assert [model["model"] for model in told["models"]] == ["negative binomial", "pitman", "log-linear"]
    assert told["spread"] == [min(means), max(means)]
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(f"{name}, after" in page for name in ("negative binomial", "pitman", "log-linear"))
    assert "pitman, before" not in page  # what models say of the original stays inside
    assert "pitman, before" in (tmp_path / "out.internal" / "report.html").read_text()
