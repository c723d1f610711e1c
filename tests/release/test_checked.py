"""What is read back is held to what is claimed: k in persons, and the bound to the value that stands in the claim."""

from dataclasses import replace

import polars as pl
import pytest

from shoal import (
    MDAV,
    Ball,
    Centroid,
    Claim,
    GuaranteeError,
    Mondrian,
    ParameterError,
    Resample,
    Schema,
    anonymize,
    coarsen,
)
from shoal.files import read_source
from shoal.release import write
from shoal.release.write import keeps_bound, smallest_class

TABLE = pl.DataFrame(
    {"who": [0, 0, 1, 2, 3, 3, 4, 5], "age": [20, 20, 21, 22, 60, 60, 61, 62], "y": [1.0, 2, 3, 4, 5, 6, 7, 8]}
)
BY_PERSON = Schema.of(unit="who", quasi=["age"], sensitive=["y"])
BY_ROW = Schema.of(identifier=["who"], quasi=["age"], sensitive=["y"])
WAYS = {
    "centroid": lambda schema, k: anonymize(TABLE, schema, group=MDAV(k=k), mask=Centroid(), seed=1),
    "mondrian": lambda schema, k: coarsen(TABLE, schema, Mondrian(k=k), seed=1),
}


@pytest.mark.parametrize("way", WAYS)
def test_k_of_the_written_table_counts_persons(way):
    """Two classes of four rows, each of three persons."""
    by_person, by_row = WAYS[way](BY_PERSON, 3), WAYS[way](BY_ROW, 4)
    assert sorted(by_row.table["age"].value_counts()["count"]) == [4, 4]
    assert smallest_class(by_row, by_row.table) == 4
    assert smallest_class(by_person, by_person.table) == 3


@pytest.mark.parametrize("way", WAYS)
def test_a_table_that_is_k_anonymous_by_rows_only_is_not_written(way, tmp_path):
    """Made as if each row were a person; then the schema says that some persons have two."""
    release = replace(WAYS[way](BY_ROW, 4), schema=BY_PERSON, declared=BY_PERSON)
    with pytest.raises(GuaranteeError, match="4-anonymous"):
        release.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def bound(value):
    words = "An intruder finds nobody more often than that."
    return Claim(kind="re-identification bound", value=value, scope="per person", basis="proved", statement=words)


@pytest.mark.parametrize(("value", "holds"), [(0.5, True), (1 / 4, True), (0.2499, False), (0.0, False)])
def test_the_bound_is_held_to_the_value_that_is_claimed(value, holds, tmp_path):
    """Groups of 4 keep 1/4 and nothing less; a second claim of the method is looked at as well."""
    release = replace(
        anonymize(TABLE, BY_ROW, group=MDAV(k=4), mask=Resample(), seed=1), earned=(bound(value),)
    )  # fmt: skip
    assert keeps_bound(release) == holds
    if holds:
        release.write(tmp_path / "out")
    else:
        with pytest.raises(GuaranteeError, match="re-identification bound"):
            release.write(tmp_path / "out")
        assert list(tmp_path.iterdir()) == []


def test_a_bound_that_nothing_was_computed_for_is_not_kept():
    """A chain that ends in an aware mask has no group formula, so no bound may be claimed for it."""
    from shoal import Shuffle

    release = anonymize(TABLE, BY_ROW, group=MDAV(k=4), mask=Shuffle(divergence=9.0, change=0.0), seed=1)
    assert keeps_bound(release)
    assert not keeps_bound(replace(release, earned=(bound(1.0),)))


SPOILT = {
    "a row more": lambda frame: pl.concat([frame, frame.head(1)]),
    "a row less": lambda frame: frame.head(len(frame) - 1),
    "a column more": lambda frame: frame.with_columns(who=pl.lit(1)),
    "a column less": lambda frame: frame.drop("y"),
}


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_file_with_other_rows_or_columns_is_not_left(spoil, tmp_path, monkeypatch):
    real = write.write_table
    monkeypatch.setattr(write, "write_table", lambda frame, path, **words: real(SPOILT[spoil](frame), path, **words))
    with pytest.raises(GuaranteeError, match="exactly the released"):
        WAYS["centroid"](BY_ROW, 4).write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_release_is_not_written_over_or_around_its_input(tmp_path):
    TABLE.write_csv(tmp_path / "in.csv")
    release = anonymize(read_source(tmp_path / "in.csv"), BY_ROW, group=MDAV(k=4), mask=Centroid(), seed=1)
    for place in (tmp_path, tmp_path.parent, tmp_path / "in.csv"):
        with pytest.raises(ParameterError, match="must be neither the input nor a folder that contains it"):
            release.write(place, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize("minimum", [3, 4])
def test_a_group_of_k_less_one_is_refused(minimum):
    """Balls of three and of four: 3 may be asked for, 4 not."""
    table = pl.DataFrame({"age": [0] * 3 + [100] * 4, "y": range(7)})
    schema, ball = Schema.of(quasi=["age"], sensitive=["y"]), Ball(radius=0.1, minimum=minimum)
    if minimum == 3:
        release = anonymize(table, schema, group=ball, mask=Resample(), seed=1)
        assert sorted(release.risk.reidentification.by_group.records)[-1] <= 1 / 3
    else:
        with pytest.raises(GuaranteeError, match="fewer than 4 persons"):
            anonymize(table, schema, group=ball, mask=Resample(), seed=1)
