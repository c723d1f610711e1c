"""The study of transfer in miniature: its errors by hand, its verdicts, its page."""

import json

import numpy as np
import pytest

from shoal.datasets import health_survey, health_survey_schema
from shoal.shift import Transfer
from shoal.study.page import render
from shoal.study.transfer import KINDS, WAYS, Settings, _other, run
from shoal.study.transfer_page import STUDY, findings


@pytest.fixture(scope="module")
def study():
    return run(settings=Settings(draws=3, sizes=(300,), n=900, seed=2))


def test_one_error_by_hand(study):
    schema, people = health_survey_schema(), health_survey(60_000, 2)
    truth = Transfer(method="none").fit({"here": people}, "here", people, schema)
    here, there, new = (health_survey(n, 1_000_003 + i) for i, n in enumerate((300, 900, 900)))
    new = new.filter(new["age_group"] >= 3)
    model = Transfer(method="none").fit({"here": here, "there": _other(there, "dearer")}, "here", new, schema)
    expected = np.sqrt(np.mean((model.predict(new) - truth.predict(new)) ** 2))
    assert study.error("dearer", 300, "pooled").runs[0] == pytest.approx(expected)
    assert study.error("dearer", 300, "alone").runs == study.error("alike", 300, "alone").runs


def test_pooling_helps_where_tasks_are_alike_and_harms_where_not(study):
    assert study.error("alike", 300, "pooled").mean < study.error("alike", 300, "alone").mean
    assert study.error("dearer", 300, "pooled").mean > study.error("alike", 300, "pooled").mean
    assert all(0 < study.error(kind, 300, "logistic").borrowed_share < 1 for kind in KINDS)


def test_findings_and_page(study):
    said = findings(study)
    assert len(said) == len(KINDS)
    d = np.subtract(study.error("alike", 300, "pooled").runs, study.error("alike", 300, "alone").runs)
    clear = abs(d.mean()) > 4.302653 * d.std(ddof=1) / np.sqrt(3)
    assert ("(no clear difference" in said[0].split(";")[1]) == (not clear)
    page = render(STUDY, study)
    assert all(way in page for way in WAYS)
    json.dumps(study.to_dict(), allow_nan=False)
