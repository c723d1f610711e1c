"""Bad input is refused, all of it at once, without a cell; and bad schemas."""

import datetime as dt

import polars as pl
import pytest

import shoal
from shoal.errors import InputError, ProblemsError, SchemaError
from shoal.linked import Collection


def tables(**change):
    made = {
        "patients": pl.DataFrame({"patient": [77001, 77002], "sex": ["f", "m"], "born": [dt.date(1980, 1, 1)] * 2}),
        "visits": pl.DataFrame(
            {"visit": [88001, 88002], "patient": [77001, 77002], "day": [dt.date(2020, 1, 1), dt.date(2020, 2, 1)]}
        ),
    }
    return made | change


def schema(**more):
    return shoal.LinkedSchema.of(
        patients={
            "key": "patient",
            "birth": "born",
            "columns": {"sex": {"role": "quasi"}, "born": {"role": "quasi"}},
        },
        visits={"key": "visit", "parent": "patients", "link": "patient", "columns": {"day": {"role": "time"}}},
        **more,
    )


def refused(given, *texts):
    with pytest.raises(InputError) as caught:
        Collection.of(given, schema())
    said = str(caught.value)
    assert all(text in said for text in texts), said
    assert not any(number in said for number in ("77001", "77002", "77003", "88001"))
    return caught.value


def test_what_fits_is_taken():
    made = Collection.of(tables(), schema())
    assert (made.n_persons, made.n_events, made.persons["visits"].tolist()) == (2, 2, [0, 1])


def test_orphans():
    visits = tables()["visits"].with_columns(patient=pl.Series([77001, 77003]))
    refused(tables(visits=visits), "visits", "'patient'", "1 orphans", "Add the missing rows")


def test_repeated_and_missing_keys_are_all_named():
    patients = tables()["patients"].with_columns(patient=pl.Series([77001, 77001]))
    visits = tables()["visits"].with_columns(patient=pl.Series([77001, None]))
    error = refused(tables(patients=patients, visits=visits), "must be unique", "must not be missing")
    assert isinstance(error, ProblemsError)
    assert len(error.problems) == 2


def test_events_before_birth():
    visits = tables()["visits"].with_columns(day=pl.Series([dt.date(1970, 1, 1), dt.date(2020, 1, 1)]))
    refused(tables(visits=visits), "'day'", "before the person's birth", "1 rows")


def test_what_is_wrong_with_one_table_hides_nothing_of_the_others():
    """A column without a role, a repeated key, an orphan and an early date: one message."""
    linked = schema(
        drugs={"parent": "visits", "link": "visit", "columns": {"drug": {"role": "sensitive"}}},
        notes={"parent": "patients", "link": "patient", "columns": {"on": {"role": "time"}}},
        tests={"key": "test", "parent": "patients", "link": "patient"},
    )
    given = tables(
        drugs=pl.DataFrame({"visit": [88001, 88009], "drug": ["a", "b"]}),
        notes=pl.DataFrame({"patient": [77001], "on": [dt.date(1970, 1, 1)]}),
        tests=pl.DataFrame({"test": [1, 1], "patient": [77001, 77002]}),
        visits=tables()["visits"].with_columns(left=pl.lit(1)),
    )
    with pytest.raises(ProblemsError) as caught:
        Collection.of(given, linked)
    said = [problem.rule for problem in caught.value.problems]
    assert [any(word in rule for rule in said) for word in ("'left'", "unique", "before the person's birth")] == [
        True
    ] * 3
    given["visits"] = tables()["visits"]
    with pytest.raises(ProblemsError) as caught:
        Collection.of(given, linked)
    assert any("keys of table 'visits'" in problem.rule for problem in caught.value.problems)


def test_keys_of_two_types():
    visits = tables()["visits"].with_columns(pl.col("patient").cast(pl.String))
    refused(tables(visits=visits), "type of the key")


def test_unknown_columns_are_refused_until_somebody_decides():
    refused(tables(visits=tables()["visits"].with_columns(note=pl.lit("x"))), "'note'", "has no role")


def test_missing_and_unknown_tables():
    refused({"patients": tables()["patients"], "extra": tables()["visits"]}, "'visits' is not given", "'extra'")
    with pytest.raises(InputError, match="by name"):
        Collection.of([1], schema())


def test_dropping_a_parent_drops_its_children():
    linked = schema(drugs={"parent": "visits", "link": "visit", "columns": {"drug": {"role": "sensitive"}}})
    drugs = pl.DataFrame({"visit": [88001, 88002, 88002], "drug": ["a", "b", "c"]})
    made = Collection.of(tables(drugs=drugs), linked)
    import numpy as np

    left = made.filtered("visits", np.array([False, True]))
    assert left.tables["drugs"]["drug"].to_list() == ["b", "c"]
    assert left.parents["drugs"].tolist() == [0, 0]
    none = made.of_persons(np.array([False, False]))
    assert none.n_events == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"a": {"key": "x", "columns": {}}}, "one of persons"),
        ({"a": {"columns": {}}, "b": {"parent": "a", "link": "x"}}, "must name its key"),
        ({"a": {"key": "x"}, "b": {"parent": "a"}}, "both parent and link"),
        ({"a": {"key": "x"}, "b": {"parent": "c", "link": "x"}}, "must descend"),
        ({"a": {"key": "x"}, "b": {"parent": "a", "link": "x", "what": 1}}, "and no others"),
        ({"a": {"key": "x"}, "b": {"parent": "a", "link": "x", "summaries": ["most"]}}, "must be count"),
        ({"a": {"key": "x"}, "b": {"parent": "a", "link": "x", "columns": {"x": {"role": "other"}}}}, "no other role"),
        ({"a": {"key": "x"}, "b": {"parent": "a", "link": "x", "columns": {"h": {"role": "household"}}}}, "of events"),
        ({"manifest": {"key": "x"}, "b": {"parent": "manifest", "link": "x"}}, "release's own files"),
    ],
)
def test_bad_schemas(words, said):
    with pytest.raises(SchemaError, match=said):
        shoal.LinkedSchema.from_dict({"tables": words})


def test_a_schema_comes_back_from_its_file(tmp_path):
    made = shoal.datasets.clinic_schema()
    made.write(tmp_path / "linked.toml")
    again = shoal.LinkedSchema.read(tmp_path / "linked.toml")
    assert again == made
    assert again.fingerprint() == made.fingerprint()
    with pytest.raises(SchemaError, match="linked tables"):
        shoal.Schema.read(tmp_path / "linked.toml")
