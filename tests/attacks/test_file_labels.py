"""Labels of codes are written by people who saw the whole table: what nobody in the release has must not be named.

A statistical file says what its codes mean. The label of a ward in which only a suppressed person lay came out with the
release, and told of the ward, and so of the person.
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pyreadstat
import pytest

import shoal
from shoal.files import read_source
from shoal.recipe import Coarsening
from shoal.release import make

WARDS = {1: "surgery", 2: "medicine", 3: "the ward of the one who was left out"}


def people(n=80):
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "age": [97, *(rng.integers(3, 7, n - 1) * 10)],
            "ward": [3, *rng.integers(1, 3, n - 1)],
            "cost": rng.integers(1, 900, n),
        }
    )


def released(tmp_path, ending, schema):
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[ending]
    write(people().to_pandas(), str(tmp_path / f"in.{ending}"), variable_value_labels={"ward": WARDS})
    method = shoal.Generalize(k=4, suppression=0.05, limits={"age": 0, "ward": 0})
    release = make(read_source(tmp_path / f"in.{ending}"), schema, Coarsening.of(method), seed=1)
    assert 0 not in release.source_rows
    release.write(tmp_path / "out", format=ending)
    return (tmp_path / "out" / f"release.{ending}").read_bytes()


SCHEMA = shoal.Schema.of(quasi=["age", "ward"], sensitive=["cost"], kinds={"ward": "nominal"})


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_label_that_nobody_needs_stays(tmp_path, ending):
    content = released(tmp_path, ending, SCHEMA)
    assert b"surgery" in content
    assert b"left out" not in content


def test_a_label_of_a_declared_level_is_public(tmp_path):
    column = replace(SCHEMA["ward"], levels=(1, 2, 3))
    assert b"left out" in released(tmp_path, "sav", SCHEMA.with_columns([column]))
