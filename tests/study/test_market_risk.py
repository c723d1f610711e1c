"""The market-risk study in miniature: arithmetic against the library, bookkeeping, and the report."""

import json
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from shoal import Schema
from shoal.datasets import health_survey, health_survey_schema
from shoal.errors import FileError, InputError, ParameterError
from shoal.shift import MarketRisk
from shoal.study.market_findings import checks, contrast, findings
from shoal.study.market_page import STUDY
from shoal.study.market_risk import Settings, run, summary
from shoal.study.market_scene import PLAN, set_scene
from shoal.study.market_split import CODINGS, SHIFTS, halves, run_split
from shoal.study.page import check_folder, render, write

SMALL = Settings(splits=4, ks=(5, 40), n=800, n_regions=3, draws=1, workers=1)


@pytest.fixture(scope="module")
def study():
    return run(settings=SMALL)


@pytest.fixture(scope="module")
def scene():
    return set_scene(health_survey(1500, seed=2), health_survey_schema(), n_regions=2, seed=3)


def test_areas_of_the_acs_are_read_as_published():
    people = health_survey(600, seed=5)
    steps = pl.Series([0, 110, 150, 300, 450])
    acs = pl.DataFrame(
        {
            "PUMA": [101, 102] * 300,
            "ST": [6] * 600,
            "SEX": (people["gender"] == "female").cast(pl.Int64) + 1,
            "AGEP": pl.Series([5, 20, 30, 40, 50, 60, 70, 80]).gather(people["age_group"]),
            "SCHL": pl.Series([8, 13, 16, 19, 21, 23]).gather(people["education"]),
            "POVPIP": steps.gather(people["income"]),
            "PWGTP": people["weight"],
        }
    )
    settings = Settings(splits=2, ks=(5,), n=600, draws=1, workers=1)
    assert run(regions=acs, settings=settings).regions == ("06-00101", "06-00102")


def test_halves_come_in_pairs():
    first, second = halves(101, 4, 7), halves(101, 5, 7)
    assert np.array_equal(first[0], second[1])
    assert np.array_equal(first[1], second[0])
    assert sorted([*first[0], *first[1]]) == list(range(101))
    assert not np.array_equal(first[0], halves(101, 6, 7)[0])


def test_standard_errors_count_pairs():
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=500)
    mean, error = summary(np.repeat(pairs, 2))
    assert mean == pytest.approx(pairs.mean())
    assert error == pytest.approx(pairs.std(ddof=1) / np.sqrt(500))
    opposite = np.column_stack((pairs, -pairs)).ravel()
    assert summary(opposite) == pytest.approx((0, 0), abs=1e-12)
    assert np.isnan(summary(np.array([1.0, 2.0]))[1])


def test_the_scene_enrols_by_plan(scene):
    members = scene.members(np.arange(scene.n))
    weights = members.weights()
    ages = members.frame["age_group"].to_numpy()
    shares = np.bincount(ages, weights=weights, minlength=8) / weights.sum()
    assert shares == pytest.approx(np.array(PLAN) / sum(PLAN), abs=1e-9)


@pytest.mark.parametrize("market", [0, 1])
def test_a_split_is_what_market_risk_gives(scene, market):
    """Cell sums and one batch of least squares against the public class, row by row."""
    survey = health_survey(1500, seed=2)
    result = run_split(scene, 0, (), seed=1)
    train, test = halves(scene.n, 0, 1)
    weight, chance = survey["weight"].to_numpy(), scene.enrolment[scene.cell]
    members = survey[train].with_columns(weight=pl.Series((weight * chance)[train]))
    tilted = (weight * scene.tilt[market][scene.cell])[test]
    new = survey[test].with_columns(weight=pl.Series(tilted))
    truth = np.average(new["cost"].to_numpy(), weights=tilted * chance[test])
    for s, shift in enumerate(SHIFTS):
        for c, coding in enumerate(CODINGS):
            risk = MarketRisk(shift=shift, coding=coding).fit(members, survey[train], health_survey_schema())
            mean = risk.assess(new, enrolment=chance[test] / chance.max(), bootstrap=2).mean
            assert result.bias[0, s, c, market] == pytest.approx(100 * (mean / truth - 1), abs=1e-6)


def test_r_squared_and_intersection_by_hand(scene):
    result = run_split(scene, 1, (), seed=1)
    train, test = halves(scene.n, 1, 1)
    chance, cell, w = scene.enrolment[scene.cell], scene.cell, scene.weights
    v = w * chance
    Z = np.column_stack((np.ones(scene.n_cells), scene.X["numeric"]))
    A = Z[cell[train]] * np.sqrt(v[train])[:, None]
    beta = np.linalg.lstsq(A, scene.costs[train] * np.sqrt(v[train]))[0]
    f, y, t = Z[cell[test]] @ beta, scene.costs[test], v[test] * scene.tilt[1][cell[test]]
    expected = 1 - np.sum(t * (f - y) ** 2) / np.sum(t * (y - np.average(y, weights=t)) ** 2)
    assert result.r_squared[0, 0, 1, 1] == pytest.approx(expected)
    p, q = (np.bincount(cell[i], m, scene.n_cells) for i, m in ((train, v[train]), (test, t)))
    assert result.intersection[0, 0, 1] == pytest.approx(np.minimum(p / p.sum(), q / q.sum()).sum())


def test_shapes_and_paired_differences(study):
    assert study.ks == (5, 40)
    assert study.bias.shape == (4, 7, 3, 2, 4)
    change = study.difference("bias", "resample", 5, "ratio", "numeric")
    assert np.allclose(change, study.bias[:, study.variant("resample", 5), 2, 1] - study.bias[:, 0, 2, 1])
    assert not study.difference("bias", "resample", 1, "ratio").any()
    assert len(study.curves()) == 3 * 2 * (1 + 3 * 2)


def test_ratio_weights_raise_the_intersection(study):
    none, ratio = (study.values("intersection", "", 1, shift)[:, 1:].mean(axis=0) for shift in ("none", "ratio"))
    assert (ratio > none).all()
    centroid, resample = (
        study.values("intersection", mask, 40, "none")[:, 0].mean() for mask in ("centroid", "resample")
    )
    assert centroid < resample - 0.1


def test_re_identification_never_exceeds_one_in_k(study):
    for risk in study.risks:
        assert max(risk.largest.values()) <= 1 / risk.k
        for mask, classes in risk.classes.items():
            assert sum(risk.histogram(mask)) == len(classes)
            assert np.average(classes, weights=risk.class_sizes) == pytest.approx(risk.mean[mask])
        assert risk.mean["gaussian"] < risk.mean["resample"]


def test_processes_give_what_one_gives(study):
    from dataclasses import replace

    calls = []
    settings = replace(SMALL, splits=2, workers=2)
    other = run(settings=settings, progress=lambda done, total: calls.append((done, total)))
    assert np.allclose(other.bias, study.bias[:2])
    assert calls == [(0, 2), (1, 2), (2, 2)]


def test_given_regions_and_a_survey_without_weights():
    survey = health_survey(600, seed=4).drop("weight")
    rng = np.random.default_rng(0)
    regions = health_survey(900, seed=5).with_columns(area=pl.Series(rng.choice(["south", "north"], 900)))
    schema = Schema.of(
        quasi=["gender", "age_group", "education", "income"],
        sensitive=["cost"],
        kinds={"gender": "nominal", "age_group": "ordinal", "education": "numeric", "income": "ordinal"},
    )
    study = run(survey, schema, regions, region_column="area", settings=Settings(splits=2, ks=(5,), draws=1, workers=1))
    assert study.regions == ("north", "south")
    assert np.isfinite(study.bias).all()


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [value for key, value in attrs if key in ("href", "src", "xlink:href")]
        if tag not in ("meta", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_opens_and_stands_alone(study, tmp_path):
    write(STUDY, study, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    assert all(link.startswith("#") for link in tags.links)
    assert tags.seen.count("script") == 1
    assert tags.seen.count("svg") >= 20
    words = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [item["name"] for item in words["checks"]] == [item.name for item in checks(study)]
    curves = pl.read_csv(tmp_path / "out" / "curves.csv")
    assert len(curves) == len(study.curves())
    assert page == render(STUDY, study)


def test_contrasts_by_hand(study):
    """|mean| − |mean| of two columns over four splits; every verdict carries its interval."""
    first, second = np.array([-3.0, -1.0, -2.0, -2.0]), np.array([1.0, 0.0, 1.0, 2.0])
    value, half = contrast(first, second)
    assert value == pytest.approx(abs(first.mean()) - abs(second.mean()))
    pairs = (-first - second).reshape(2, 2).mean(axis=1)
    assert half == pytest.approx(12.7062 * pairs.std(ddof=1) / np.sqrt(2), rel=1e-4)
    saved = [item for item in checks(study) if item.name.startswith("points of |bias|")]
    assert [item.holds for item in saved] == [item.value > item.half for item in saved]
    assert [coding in item.name for coding, item in zip(CODINGS, saved, strict=True)] == [True, True]
    said = " ".join(findings(study))
    assert said.count("without market shift or weights") == 3
    assert "95% interval" in said


def test_differences_of_chances_add_up(study):
    risk = study.risks[0]
    edges, counts = risk.difference_histogram("resample")
    below = sum(n for edge, n in zip(edges, counts, strict=True) if edge < -1e-9)
    assert sum(counts) == len(risk.class_sizes)
    assert below == (risk.classes["resample"] < risk.classes["centroid"] - 1e-9).sum()


def test_a_folder_with_other_things_is_left_alone(study, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="must not exist yet"):
        check_folder(STUDY, tmp_path, overwrite=True)
    empty = tmp_path / "empty"
    empty.mkdir()
    check_folder(STUDY, empty, overwrite=False)
    (empty / "report.html").write_text("old")
    check_folder(STUDY, empty, overwrite=True)
    with pytest.raises(FileError):
        check_folder(STUDY, empty, overwrite=False)


def test_bad_settings():
    survey, schema = health_survey(300, seed=1), health_survey_schema()
    with pytest.raises(ParameterError, match="splits"):
        run(settings=Settings(splits=1))
    with pytest.raises(ParameterError, match="ks"):
        run(settings=Settings(splits=2, n=400, ks=(1, 4000)))
    with pytest.raises(ParameterError, match="schema"):
        run(survey)
    with pytest.raises(ParameterError, match="8 levels of 'age_group'"):
        run(survey, schema, settings=Settings(splits=2, plan=(0.5, 0.5)))
    with pytest.raises(ParameterError, match="age"):
        run(survey, schema, settings=Settings(splits=2, age="height"))
    with pytest.raises(InputError, match="region"):
        run(survey, schema, survey, settings=Settings(splits=2))
    wide = survey.with_columns(age_group=pl.Series(np.arange(300.0)))
    free = Schema.of(quasi=["age_group"], sensitive=["cost"], weight="weight", kinds={"age_group": "numeric"})
    with pytest.raises(InputError, match="few levels"):
        run(wide.select("age_group", "cost", "weight"), free, settings=Settings(splits=2))
