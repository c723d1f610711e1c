"""What a schema refuses, entry by entry: each wrong entry is named with its column or table and the rule."""

import pytest

import shoal
from shoal.errors import ProblemsError, SchemaError
from shoal.schema.column import Column
from shoal.schema.tables import LinkedSchema, LinkedTable, Summary

WRONG_COLUMNS = {
    "absence must be one of": {"absence": "perhaps"},
    "missing must be 'error'": {"missing": "guess"},
    "each value a meaning": {"missing_codes": {"-8": ""}},
    "none of the levels": {"kind": "nominal", "levels": ["a", "-8"], "missing_codes": {"-8": "refused"}},
    "not to a numeric one": {"kind": "numeric", "levels": ["a"]},
    "texts, numbers or true/false": {"levels": [["a"]]},
    "levels or bounds, not both": {"levels": [1, 2], "bounds": [0, 3]},
    "not to a nominal one": {"kind": "nominal", "bounds": [0, 3]},
    "a lower and a higher number": {"bounds": [3, 0]},
    "at least two increasing numbers": {"edges": [0, 5, 5]},
    "must be true or false": {"whole": "yes"},
    "a number above 0": {"step": 0},
    "follows from": {"derived": ["x"]},
    "a text that says what the column names": {"role": "unit", "pseudonym": ""},
    "role identifier or unit": {"pseudonym": True},
    "hierarchy must be a table that names its kind": {"hierarchy": {"keep": [3]}},
    "metric must be a table that names its kind": {"metric": {"lengths": [1]}},
    "format must be one of": {"format": "whenever"},
    "ordinal, not numeric": {"kind": "numeric", "format": "DD.MM.YYYY"},
    "unknown entry colour": {"colour": "blue"},
}


@pytest.mark.parametrize(("rule", "entries"), WRONG_COLUMNS.items(), ids=str)
def test_a_wrong_entry_of_a_column_is_named_with_its_rule(rule, entries):
    with pytest.raises(SchemaError, match=rule) as refused:
        Column.from_dict("x", {"role": "quasi", **entries})
    assert "'x'" in str(refused.value)


def test_codes_that_read_alike_are_refused():
    with pytest.raises(SchemaError, match="missing_codes must be distinct"):
        Column(name="x", role="quasi", missing_codes={"8": "refused", 8: "unknown"})


def test_a_column_without_a_role_is_refused():
    with pytest.raises(SchemaError, match="role must be given"):
        Column.from_dict("x", {"kind": "numeric"})


@pytest.mark.parametrize("name", ["", 7, "\ud800"], ids=repr)
def test_a_name_that_no_file_can_hold_is_refused(name):
    with pytest.raises(SchemaError, match="column names must be"):
        Column(name=name, role="quasi")


PERSONS = {"key": "patient", "columns": {"sex": {"role": "quasi"}, "born": {"role": "quasi"}}}
VISITS = {"key": "visit", "parent": "patients", "link": "patient", "columns": {"day": {"role": "time"}}}

WRONG_TABLES = {
    "none of a release's own files": ("report", VISITS),
    "both parent and link": ("visits", VISITS | {"link": None}),
    "must name its key": ("visits", {"columns": {}}),
    "is a key, and must have no other role": ("visits", VISITS | {"columns": {"visit": {"role": "quasi"}}}),
    "summaries belong to tables of events": ("patients", PERSONS | {"summaries": ["count"]}),
    "birth must be a column of the persons' table": ("patients", PERSONS | {"birth": "birthday"}),
    "of events must be one of": ("visits", VISITS | {"columns": {"home": {"role": "household"}}}),
    "must be about one of its columns": ("visits", VISITS | {"summaries": ["codes:diagnosis"]}),
    "needs a column of the role time": (
        "visits",
        VISITS | {"columns": {"code": {"role": "quasi"}}, "summaries": ["sequence:code"]},
    ),
    "summaries must be a list": ("visits", VISITS | {"summaries": "count"}),
    "and no others": ("visits", VISITS | {"colour": "blue"}),
}


@pytest.mark.parametrize(("rule", "given"), WRONG_TABLES.items(), ids=str)
def test_a_wrong_entry_of_a_linked_table_is_named_with_its_rule(rule, given):
    name, words = given
    with pytest.raises(SchemaError, match=rule):
        LinkedTable.from_dict(name, words)


@pytest.mark.parametrize("text", ["total", "count:day", "first", 7], ids=repr)
def test_a_summary_that_is_none_is_refused(text):
    with pytest.raises(SchemaError, match="must be count, or one of"):
        Summary.of(text)


@pytest.mark.parametrize(
    ("rule", "tables"),
    {
        "at least one of events": {"patients": PERSONS},
        "must be one of persons": {"patients": PERSONS, "others": PERSONS},
        "must descend from the table of persons": {"patients": PERSONS, "visits": VISITS | {"parent": "stays"}},
        "is a parent and must name its key": {
            "patients": PERSONS,
            "visits": {name: value for name, value in VISITS.items() if name != "key"},
            "drugs": {"parent": "visits", "link": "visit", "columns": {}},
        },
    }.items(),
    ids=str,
)
def test_tables_that_hang_together_wrongly_are_refused(rule, tables):
    with pytest.raises(SchemaError, match=rule):
        LinkedSchema.of(**tables)


def test_tables_that_are_each_others_parents_are_refused():
    stays = VISITS | {"key": "stay", "parent": "visits", "link": "visit"}
    with pytest.raises(ProblemsError, match="'visits': must descend from the table of persons"):
        LinkedSchema.of(patients=PERSONS, visits=VISITS | {"parent": "stays", "link": "stay"}, stays=stays)


def test_the_schema_of_one_table_is_not_read_as_that_of_several(tmp_path):
    shoal.Schema.of(quasi=["age"]).write(tmp_path / "schema.toml")
    with pytest.raises(SchemaError, match=r"\[tables\.NAME\]"):
        LinkedSchema.read(tmp_path / "schema.toml")
    with pytest.raises(SchemaError, match="for every table, and nothing else"):
        LinkedSchema.from_dict({"columns": {}})


def test_a_table_that_is_not_there_is_named():
    with pytest.raises(SchemaError, match="has no table 'drugs'"):
        LinkedSchema.of(patients=PERSONS, visits=VISITS)["drugs"]
