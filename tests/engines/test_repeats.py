"""Rows that are equal, on every engine as in memory: counted, judged, and one person's where the schema says so."""

import json

import numpy as np
import polars as pl
import pytest
from tests.engines.conftest import cut

import shoal
from shoal.engine import Inputs
from shoal.engine.equal_rows import whose_rows_on, with_persons_on
from shoal.frame import enter
from shoal.recipe import Anonymization, Coarsening
from shoal.release.on_engine.make import release_files
from shoal.risk.class_sizes import counted_classes
from shoal.schema import Schema
from shoal.schema.whose_rows import whose_rows

SYMPTOMS = [f"symptom{i}" for i in range(6)]


def survey(n=600, copied=240, seed=0):
    """People of whom some are in the table up to six times, each row with a number of its own."""
    rng = np.random.default_rng(seed)
    people = pl.DataFrame(
        {
            "weight": rng.normal(75, 14, n).round(2),
            "age": rng.integers(18, 60, n),
            "sex": rng.choice(["f", "m"], n),
            **{name: rng.integers(0, 4, n) for name in SYMPTOMS},
        }
    )
    again = [people[:copied], people[: copied // 2], *[people[: copied // 10]] * 3]
    return pl.concat([people, *again]).sample(fraction=1.0, shuffle=True, seed=seed).with_row_index("row")


def schema(repeats=None):
    given = {"levels": {"sex": ["f", "m"]}, "bounds": {"age": (0, 120)}}
    return Schema.of(
        identifier=["row"], quasi=["age", "sex"], sensitive=["weight", *SYMPTOMS], **given, repeats=repeats
    )


@pytest.mark.parametrize("copied", [0, 240])
@pytest.mark.parametrize("answer", [None, "same person", "different people"])
def test_repeats_are_counted_as_in_memory(engine, copied, answer):
    table = survey(copied=copied)
    found = whose_rows_on(engine, engine.of(table), schema(answer))
    assert found == whose_rows(enter(table), schema(answer))
    assert found.asked == (copied > 0 and answer is None)


def test_a_sample_of_rows_judges_a_long_table(engine, monkeypatch):
    from shoal.engine import equal_rows

    monkeypatch.setattr(equal_rows, "_JUDGED", 200)
    relation = engine.of(survey())
    assert whose_rows_on(engine, relation, schema()).asked
    assert not whose_rows_on(engine, engine.of(survey(copied=0)), schema()).asked


def test_classes_count_different_rows(engine):
    table = survey()
    distinct = table.drop("row").unique().group_by("age", "sex").len()["len"]
    found = counted_classes(engine, engine.of(table), schema("same person"))
    assert found.k == distinct.min()
    assert found.k == shoal.risk.classes(table, schema("same person")).k


def test_the_unit_is_the_same_for_equal_rows_and_no_others(engine):
    relation, made = with_persons_on(engine, engine.of(survey()), schema("same person"))
    rows = engine.collect(relation)
    assert made.unit == "rows that are equal"
    pairs = rows.drop("row").unique()
    assert len(pairs) == pairs[made.unit].n_unique() == len(pairs.drop(made.unit).unique())


@pytest.mark.parametrize(
    "recipe",
    [
        Coarsening.of(shoal.Generalize(k=5)),
        Coarsening.of(shoal.Mondrian(k=5)),
        Anonymization.of(shoal.KMember(k=5), shoal.Centroid()),
    ],
)
def test_a_release_hides_a_person_among_different_rows(engine, recipe, tmp_path):
    if type(engine).__name__ == "MemoryEngine":
        pytest.skip("written by files only")
    table = survey()
    inputs = Inputs.of(cut(table, tmp_path / "in", 3))
    done = release_files(engine, inputs, schema("same person"), recipe, tmp_path / "out")
    assert done.claims[0].unit == "persons"
    written = pl.read_parquet([tmp_path / "out" / part.name for part in done.parts])
    assert "rows that are equal" not in written.columns
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert "rows that are equal" not in json.dumps(manifest)
    crowds = written.group_by("age", "sex").agg(n=pl.struct(SYMPTOMS, "weight").n_unique())
    assert crowds["n"].min() >= 5


def test_unsettled_repeats_are_said_first(engine, tmp_path):
    inputs = Inputs.of(cut(survey(), tmp_path / "in", 2))
    done = release_files(engine, inputs, schema(), Coarsening.of(shoal.Generalize(k=5)), tmp_path / "out")
    assert "rows occur more than once, up to 6 times: the same person twice?" in done.warnings[0]
    manifest = (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")
    assert "occur more than once" not in manifest
    settled = release_files(
        engine, inputs, schema("different people"), Coarsening.of(shoal.Generalize(k=5)), tmp_path / "two"
    )
    assert settled.warnings == ()
