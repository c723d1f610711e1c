"""Schemas: every way in and out says the same, and every wrong entry is an error that names it."""

import json
import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import FileError, SchemaError
from shoal.schema import Column, Schema

LETTERS = st.characters(exclude_categories=["Cs"])
NAMES = st.text(LETTERS, min_size=1, max_size=12) | st.sampled_from(
    [
        "a.b",
        'say "hi"',
        "line\nbreak",
        "tab\t",
        "#",
        "[x]",
        "=",
        "'",
        "\\",
        "naïve",
        "年齢",
        "\x7f",
        "\u2028",
        "🐟",
        " ",
    ]
)
WHOLE = st.integers(-(2**53), 2**53)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def columns(draw, name, role):
    kind = draw(st.sampled_from([None, "numeric", "ordinal", "nominal"]))
    levels = bounds = None
    if kind in ("ordinal", "nominal"):
        levels = draw(st.none() | st.lists(st.text(LETTERS, max_size=5) | WHOLE | FLOATS, min_size=1, unique=True))
    if kind == "numeric":
        bounds = draw(st.none() | st.tuples(WHOLE | FLOATS, WHOLE | FLOATS).filter(lambda ends: ends[0] < ends[1]))
    return Column(
        name=name,
        role=role,
        kind=kind,
        levels=None if levels is None else tuple(levels),
        bounds=bounds,
        missing=draw(st.sampled_from(["error", "drop", "median"]) | WHOLE | FLOATS),
    )


@st.composite
def schemas(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    roles = draw(st.permutations(["weight", "unit", *["identifier", "quasi", "sensitive", "other"] * 2]))
    return Schema(tuple(draw(columns(name, role)) for name, role in zip(names, roles, strict=False)))


@given(schemas())
def test_words_and_toml_say_the_same(schema):
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_dict(tomllib.loads(schema.to_toml())) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@given(schema=schemas())
def test_file_gives_the_schema_back(schema, tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    schema.write(path)
    assert Schema.read(path) == schema
    assert Schema.read(path).fingerprint() == schema.fingerprint()


@given(schemas(), st.randoms(use_true_random=False))
def test_fingerprint_ignores_the_order_of_columns_and_of_their_entries(schema, random):
    mixed = list(schema.columns)
    random.shuffle(mixed)
    words = {
        column.name: dict(random.sample(list(column.to_dict().items()), len(column.to_dict()))) for column in mixed
    }
    assert Schema(tuple(mixed)).fingerprint() == schema.fingerprint()
    assert Schema.from_dict({"columns": words}).fingerprint() == schema.fingerprint()


def test_fingerprint_sees_every_entry():
    base = {"role": "quasi", "kind": "ordinal", "levels": ["a", "b"], "missing": "drop"}
    variants = [
        base,
        base | {"role": "sensitive"},
        base | {"kind": "nominal"},
        base | {"levels": ["b", "a"]},
        base | {"levels": ["a", "b", "c"]},
        base | {"missing": "median"},
        {"role": "quasi", "kind": "numeric", "bounds": [0, 1]},
        {"role": "quasi", "kind": "numeric", "bounds": [0, 2]},
    ]
    prints = {Schema.from_dict({"columns": {"a": words}}).fingerprint() for words in variants}
    prints.add(Schema.from_dict({"columns": {"b": base}}).fingerprint())
    assert len(prints) == len(variants) + 1


def test_of_puts_every_detail_in_its_column():
    schema = Schema.of(
        identifier=["name"],
        quasi=["age", "sex"],
        sensitive=["cost"],
        weight="perwt",
        unit="person",
        other=["note"],
        kinds={"age": "numeric", "sex": "nominal"},
        levels={"sex": ["f", "m"]},
        bounds={"age": (0, 120)},
        missing={"age": 40, "cost": "median"},
    )
    assert schema.identifier == ("name",)
    assert schema.quasi == ("age", "sex")
    assert schema.sensitive == ("cost",)
    assert (schema.weight, schema.unit, schema.other) == ("perwt", "person", ("note",))
    assert schema["age"] == Column(name="age", role="quasi", kind="numeric", bounds=(0, 120), missing=40)
    assert schema["sex"].levels == ("f", "m")
    assert schema["cost"].missing == "median"
    assert "age" in schema
    assert "rage" not in schema
    assert schema.released.columns == tuple(c for c in schema.columns if c.name not in ("name", "person"))


def test_one_name_may_be_given_as_a_text():
    assert Schema.of(quasi="age", sensitive="cost").quasi == ("age",)


def test_no_weight_and_no_unit_is_none():
    schema = Schema.of(quasi=["age"])
    assert (schema.weight, schema.unit, schema.identifier, schema.other) == (None, None, (), ())


def test_with_columns_replaces_and_keeps_the_order():
    schema = Schema.of(quasi=["a", "b"])
    changed = schema.with_columns([Column(name="a", role="quasi", kind="numeric")])
    assert [column.name for column in changed.columns] == ["a", "b"]
    assert changed["a"].kind == "numeric"
    assert schema["a"].kind is None


def test_comments_stand_above_their_column_and_change_nothing():
    schema = Schema.of(quasi=["a", "b"])
    text = schema.to_toml({"b": "why b\nis quasi"})
    assert Schema.from_dict(tomllib.loads(text)) == schema
    assert "# why b\n# is quasi\n[columns.b]" in text


BAD_WORDS = {
    "no role": ({}, "role must be given"),
    "unknown role": ({"role": "secret"}, "role must be one of"),
    "role as a list": ({"role": ["quasi"]}, "role must be one of"),
    "unknown kind": ({"role": "quasi", "kind": "integer"}, "kind must be one of"),
    "empty kind": ({"role": "quasi", "kind": ""}, "kind must be one of"),
    "unknown entry": ({"role": "quasi", "level": ["a"]}, "unknown entry level"),
    "levels as a text": ({"role": "quasi", "levels": "abc"}, "levels must be a list"),
    "levels as a number": ({"role": "quasi", "levels": 3}, "levels must be a list"),
    "no level": ({"role": "quasi", "levels": []}, "levels must be distinct"),
    "a level twice": ({"role": "quasi", "levels": ["a", "b", "a"]}, "levels must be distinct"),
    "one as true and 1": ({"role": "quasi", "levels": [True, 1]}, "levels must be distinct"),
    "levels of a number": ({"role": "quasi", "kind": "numeric", "levels": [1]}, "levels belong to"),
    "bounds of a level": ({"role": "quasi", "kind": "ordinal", "bounds": [0, 1]}, "bounds belong to"),
    "bounds of a name": ({"role": "quasi", "kind": "nominal", "bounds": [0, 1]}, "bounds belong to"),
    "bounds turned round": ({"role": "quasi", "bounds": [1, 0]}, "bounds must be a lower and a higher number"),
    "bounds alike": ({"role": "quasi", "bounds": [1, 1]}, "bounds must be a lower and a higher number"),
    "one bound": ({"role": "quasi", "bounds": [1]}, "bounds must be a lower and a higher number"),
    "three bounds": ({"role": "quasi", "bounds": [1, 2, 3]}, "bounds must be a lower and a higher number"),
    "text bounds": ({"role": "quasi", "bounds": ["0", "1"]}, "bounds must be a lower and a higher number"),
    "bounds that are no numbers": ({"role": "quasi", "bounds": [math.nan, 1]}, "bounds must be"),
    "bounds as a text": ({"role": "quasi", "bounds": "01"}, "bounds must be a list"),
    "unknown missing": ({"role": "quasi", "missing": "mean"}, "missing must be"),
    "missing as a list": ({"role": "quasi", "missing": [1]}, "missing must be"),
    "missing is nan": ({"role": "quasi", "missing": math.nan}, "missing must be"),
    "missing is infinite": ({"role": "quasi", "missing": math.inf}, "missing must be"),
}


@pytest.mark.parametrize(("words", "rule"), BAD_WORDS.values(), ids=BAD_WORDS)
def test_wrong_entry_is_an_error_that_names_the_column(words, rule):
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict({"columns": {"town": words}})
    assert rule in str(caught.value)
    assert "column 'town'" in str(caught.value)


@pytest.mark.parametrize("words", [{}, {"columns": []}, {"columns": {"a": "quasi"}}, {"columns": None}])
def test_words_without_columns_are_an_error(words):
    with pytest.raises(SchemaError, match="must have a table"):
        Schema.from_dict(words)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"quasi": ["a"], "sensitive": ["a"]}, "'a' must have exactly one role"),
        ({"quasi": ["a", "a"]}, "'a' must have exactly one role"),
        ({"quasi": ["a"], "kinds": {"b": "numeric"}}, "'b' is given a kind but no role"),
        ({"quasi": ["a"], "levels": {"b": ["x"]}}, "'b' is given a levels but no role"),
        ({"quasi": ["a"], "bounds": {"b": (0, 1)}}, "'b' is given a bounds but no role"),
        ({"quasi": ["a"], "missing": {"b": "drop"}}, "'b' is given a missing but no role"),
        ({"quasi": ["a"], "weight": ["b", "c"]}, "at most one column may have the role weight"),
        ({"quasi": ["a"], "unit": ["b", "c"]}, "at most one column may have the role unit"),
    ],
)
def test_wrong_declaration_is_an_error(given, rule):
    with pytest.raises(SchemaError, match=rule):
        Schema.of(**given)


def test_unknown_column_is_an_error():
    with pytest.raises(SchemaError, match="has no column 'b'"):
        Schema.of(quasi=["a"])["b"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[columns.a\nrole = 1", b"columns = 3", b""])
def test_file_that_is_no_schema_is_an_error(content, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_bytes(content)
    with pytest.raises(SchemaError):
        Schema.read(path)


@pytest.mark.parametrize("name", ["absent.toml", "."])
def test_file_out_of_reach_is_an_error_that_names_it(name, tmp_path):
    with pytest.raises(FileError, match="must be readable"):
        Schema.read(tmp_path / name)


def test_infer_gives_the_proposed_schema(people):
    from shoal.schema.infer import propose

    assert Schema.infer(people) == propose(people).schema


def test_a_column_shows_what_was_said_of_it_and_nothing_else():
    schema = Schema.of(quasi=["age"], sensitive=["cost"], bounds={"age": (0, 120)})
    assert repr(schema["age"]) == "Column(name='age', role='quasi', bounds=(0.0, 120.0))"
    assert repr(schema["cost"]) == "Column(name='cost', role='sensitive')"
