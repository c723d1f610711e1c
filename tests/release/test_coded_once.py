"""A table is prepared and coded once: method, risk, utility, report and the check of the written file share it."""

import sys
from collections import Counter
from importlib import import_module

import pytest

import shoal
from shoal import conform, encode, equivalence
from shoal.comparison.measure import measure, release_of
from shoal.files import table as reading
from shoal.recipe import Anonymization


@pytest.fixture
def calls(monkeypatch):
    """How often each of the costly functions is called, wherever it was imported to."""
    counted = Counter()
    import_module("shoal.synth.domain")  # what is loaded later would not be watched

    def watch(module, name):
        real = getattr(module, name)

        def watched(*args, **options):
            counted[name] += 1
            return real(*args, **options)

        for other in [m for n, m in sys.modules.items() if n.startswith("shoal")]:
            if getattr(other, name, None) is real:
                monkeypatch.setattr(other, name, watched)

    for module, name in (
        (conform, "prepare"),
        (encode, "_learn"),
        (equivalence, "classes_of"),
        (reading, "read_source"),
    ):
        watch(module, name)
    fit = encode.Encoder.fit.__func__

    def watched_fit(cls, *args):
        counted["fit"] += 1
        return fit(cls, *args)

    monkeypatch.setattr(encode.Encoder, "fit", classmethod(watched_fit))
    return counted


@pytest.fixture
def survey():
    return shoal.datasets.health_survey(200, seed=1), shoal.datasets.health_survey_schema()


def test_anonymize_codes_each_column_once_and_counts_classes_before_and_after(survey, calls, tmp_path):
    table, schema = survey
    shoal.anonymize(table, schema, seed=1).write(tmp_path / "out")
    used = len(schema.quasi) + len(schema.sensitive)
    assert calls["prepare"] == 1
    assert 0 < calls["fit"] <= 2
    assert 0 < calls["_learn"] <= used
    assert calls["classes_of"] == 2
    assert calls["read_source"] == 1


def test_coarsen_codes_at_most_twice_once_without_the_records_left_out(survey, calls, tmp_path):
    """Classes are counted to make the labels, before (all records; kept records), after, and again on the file."""
    table, schema = survey
    shoal.coarsen(table, schema, shoal.Generalize(k=5), seed=1).write(tmp_path / "out")
    used = len(schema.quasi) + len(schema.sensitive)
    assert calls["prepare"] == 1
    assert 0 < calls["_learn"] <= 2 * used
    assert calls["classes_of"] <= 5
    calls.clear()
    shoal.coarsen(table, schema, shoal.Mondrian(k=5), seed=1).write(tmp_path / "all")  # leaves nobody out
    assert 0 < calls["fit"] <= 2
    assert 0 < calls["_learn"] <= used


def test_synthesize_and_a_trial_of_a_comparison_code_each_column_once(survey, calls, tmp_path):
    """A model is fitted under other rules (every column by its public domain): a synthesis prepares the table twice."""
    table, schema = survey
    shoal.synthesize(table, schema, shoal.MultipleImputation(), seed=1).write(tmp_path / "out")
    assert calls["prepare"] == 2
    assert calls["fit"] <= 2
    assert calls["classes_of"] <= 2
    calls.clear()
    trial = Anonymization(group=shoal.KMember(k=5), masks=(shoal.Resample(),))
    assert measure(release_of(table, schema, trial, seed=1), seed=1)["risks"]
    assert calls["prepare"] == 1
    assert calls["fit"] <= 2
    assert calls["classes_of"] <= 2


def test_codes_are_shared_and_nobody_changes_them(survey):
    table, schema = survey
    release = shoal.anonymize(table, schema, group=shoal.KMember(k=4), mask=[shoal.Resample(), shoal.CellDither()])
    before = release.pair.original_codes.copy()
    assert release.pair.original_codes is release.pair.encoder.own_codes(release.prepared)
    _ = release.risk, release.utility
    assert (release.pair.original_codes == before).all()
    assert (release.pair.encoder.codes(release.prepared.frame) == before).all()
