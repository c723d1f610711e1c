import itertools
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, spearmanr, ttest_ind_from_stats

from shoal import FileError, InputError, ParameterError, Schema
from shoal.datasets.discharges import discharge
from shoal.report.numbers import number
from shoal.study import pegs_measures as measures
from shoal.study.page import check_folder, render, write
from shoal.study.pegs import (
    DIVERSITIES,
    EPSILONS,
    ROW_METHODS,
    TABLE_METHODS,
    TOTALS,
    VARIANT_EPSILONS,
    VARIANTS,
    Settings,
    run,
)
from shoal.study.pegs_page import STUDY, _difference, findings


@pytest.fixture(scope="module")
def study():
    steps = []
    found = run(
        settings=Settings(n=1500, rows=200, draws=1, row_draws=2, parents=1, fit_rows=100),
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps[-1][0] == steps[-1][1]
    return found


def test_every_method_at_every_epsilon(study):
    assert [(p.method, p.epsilon_per_row) for p in study.by_row] == [(m, e) for m in ROW_METHODS for e in EPSILONS]
    assert [(p.method, p.epsilon_per_data_set) for p in study.by_data_set] == [
        (m, e) for m in TABLE_METHODS for e in TOTALS
    ]


def test_both_prices_are_stated(study):
    assert all(p.epsilon_per_data_set == pytest.approx(200 * p.epsilon_per_row) for p in study.by_row)


def test_shapes_of_the_paper(study):
    """Less noise at larger ε; noise is near uniform at small ε; tables beat rows at the same bill."""
    plain = study.curve("PeGS")
    assert plain[-1].marginal_mae < 0.6 * plain[0].marginal_mae
    assert study.curve("imputation")[0].marginal_mae == pytest.approx(study.uniform.marginal_mae, rel=0.2)
    ours = study.total("pairs")[2]
    assert ours.pair_variation < 0.5 * study.total("PeGS by row")[2].pair_variation


def test_diversity_flattens_and_a_trace_has_a_line_for_each_draw(study):
    assert [p.diversity for p in study.by_diversity] == list(DIVERSITIES)
    assert study.by_diversity[-1].marginal_mae > study.by_diversity[0].marginal_mae
    assert len(study.trace) == 1 + len(study.names)
    for before, after in itertools.pairwise(study.trace):
        assert sum(a != b for a, b in zip(before[1:], after[1:], strict=True)) <= 1


def test_variants_stand_beside_the_published_blocks(study):
    assert [(p.method, p.epsilon_per_row) for p in study.variants] == [
        (m, e) for m in VARIANTS for e in VARIANT_EPSILONS
    ]
    margins = {(p.method, p.epsilon_per_row): p.marginal_mae for p in study.variants}
    pooled = study.curve("PeGS, realistic starts")[2]
    assert pooled.epsilon_per_row == 1.0
    assert margins["smoothed by margins", 1.0] < pooled.marginal_mae < margins["maximum entropy", 1.0] * 1.2


def test_page_and_numbers(study, tmp_path):
    out = tmp_path / "study"
    write(STUDY, study, out)
    page = (out / "report.html").read_text(encoding="utf-8")
    for text in findings(study):
        assert text.split(".")[0].replace("'", "&#39;") in page
    for figure in ("table 3.3", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "l-diverse"):
        assert figure in page
    words = json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert len(words["by_row"]) == len(ROW_METHODS) * len(EPSILONS)
    with pytest.raises(FileError):
        check_folder(STUDY, out, overwrite=False)
    check_folder(STUDY, out, overwrite=True)
    assert render(STUDY, study) == page


def test_bad_input():
    with pytest.raises(ParameterError, match="draws must be"):
        run(settings=Settings(draws=0))
    table = discharge(600).drop("charge")
    schema = Schema.of(quasi=table.columns, levels={name: table[name].unique().to_list() for name in table.columns})
    with pytest.raises(InputError, match="needs the column 'charge'"):
        run(table, schema)


def test_rank_correlations_are_the_right_ones():
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 6, (300, 1)) ** 2 % 6, rng.integers(0, 6, (40, 1))
    p, q = (measures.shares(Z[:, 0], 6) for Z in (X, Y))
    tau, rho = measures.rank_ties(X, Y, (6,))
    assert tau == pytest.approx(kendalltau(p, q).statistic)
    assert rho == pytest.approx(spearmanr(p, q).statistic)


def test_equal_files_have_no_gap():
    X = np.random.default_rng(2).integers(0, 3, (200, 3))
    assert measures.marginal_gaps(X, X, (3, 3, 3)) == (0, 0)
    assert measures.conditional_gaps(X, X, (3, 3, 3), 0) == (0, 0)
    assert measures.pair_variation(X, X, (3, 3, 3)) == 0


def test_regressions_find_what_was_put_in():
    rng = np.random.default_rng(3)
    n = 4000
    rows = pl.DataFrame(
        {
            "age_yrs": rng.integers(0, 17, n) * 5,
            "sev": rng.integers(0, 3, n),
            "cat": np.where(rng.random(n) < 0.5, "surgical", "medical"),
            "los": rng.integers(0, 10, n),
        }
    )
    truth = (
        5 + 0.1 * rows["age_yrs"] + 3 * rows["sev"] + 8 * (rows["cat"] == "surgical").cast(pl.Int64) + 2 * rows["los"]
    )
    rows = rows.with_columns((truth + pl.Series(rng.normal(0, 4, n))).alias("charge"))
    _, linear = measures.regressions(rows)
    assert linear.coefficients == pytest.approx((5, 0.1, 3, 8, 2), abs=0.6)
    assert measures.regression_distance(linear, linear) == (0, 0)


def test_an_intruder_with_the_original_misses_little():
    table = pl.DataFrame(
        {"age_yrs": [0, 5, 10], "sex": ["f", "m", "f"], "patzip": ["a", "b", "c"], "mdc": ["01", "02", "03"],
         "los": [1, 2, 3], "charge": [1, 2, 3]}
    )  # fmt: skip
    assert measures.intruder(table, table) == (0.0, 0.0, 1.0)


def test_imputation_is_held_against_pegs_by_a_test_at_each_epsilon(study):
    """The list of ε in the sentence is that of Welch's test, computed by scipy from the same means."""
    nearer = []
    for p, other in zip(study.curve("PeGS, realistic starts"), study.curve("imputation"), strict=True):
        runs = (p.marginal_mae, p.marginal_spread, p.n_files, other.marginal_mae, other.marginal_spread, other.n_files)
        if ttest_ind_from_stats(*runs, equal_var=False).pvalue < 0.05 and p.marginal_mae < other.marginal_mae:
            nearer.append(number(p.epsilon_per_row))
    said = next(text for text in findings(study) if text.startswith("Imputation at"))
    where = f"at ε = {', '.join(nearer)} per row" if nearer else "nowhere"
    assert f"nearer beyond its interval {where}" in said


def test_designs_are_ranked_with_the_interval_of_welch(study):
    """First minus second, as scipy has it from means and spreads; one file alone decides nothing."""
    first, second = (
        replace(study.total(m)[0], n_files=3, pair_spread=s, pair_variation=v)
        for m, s, v in (("graph", 0.01, 0.10), ("pairs", 0.02, 0.15))
    )
    gap, half = _difference(second, first, pairs=True)
    test = ttest_ind_from_stats(0.10, 0.01, 3, 0.15, 0.02, 3, equal_var=False).pvalue
    assert gap == pytest.approx(-0.05)
    assert (gap < -half) == (test < 0.05)
    said = next(text for text in findings(study) if text.startswith("Designs at equal"))
    assert said.count("not clear") == 3
