import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Ball, Crest, GaussianDither, Mondrian, Recode, Shuffle
from shoal.errors import ParameterError
from shoal.method import FAMILIES
from shoal.method import methods as registered
from shoal.params import parameters, to_dict
from shoal.recipe import Coarsening, read_recipe
from shoal.web.catalogue import goal, goals, methods
from shoal.web.forms import FieldError, fields, read, read_words

CLASSES = {cls.name: cls for family in FAMILIES[:-1] for cls in registered(family)}


@pytest.mark.parametrize("name", list(CLASSES))
def test_no_parameter_is_missing(name):
    cls = CLASSES[name]
    made = fields(cls)
    assert [field.name for field in made] == [parameter.name for parameter in parameters(cls)]
    for field, parameter in zip(made, parameters(cls), strict=True):
        assert field.label
        assert field.help == parameter.help != ""
        assert (field.kind == "choice") == bool(field.choices)
        assert field.default == parameter.default
        json.dumps(field.to_dict())


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "recode"])
def test_an_empty_form_gives_the_defaults(name):
    cls = CLASSES[name]
    assert read(cls, {}) == cls()
    blank = {field.name: "" for field in fields(cls) if not field.optional}
    assert read(cls, blank) == cls()
    assert to_dict(read(cls, to_dict(cls()))) == to_dict(cls())
    shown = {field.name: field.default for field in fields(cls)}
    assert to_dict(read(cls, shown)) == to_dict(cls())


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "recode"])
@given(data=st.data())
def test_numbers_choices_and_flags_as_texts(name, data):
    cls = CLASSES[name]
    answers = {}
    for field in fields(cls):
        if field.kind == "choice":
            answers[field.name] = data.draw(st.sampled_from(field.choices), label=field.name)
        elif field.kind == "flag":
            answers[field.name] = data.draw(st.booleans(), label=field.name)
        elif field.kind in ("whole", "number"):
            answers[field.name] = data.draw(_numbers(field), label=field.name)
    as_texts = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in answers.items()}
    assert to_dict(read(cls, as_texts)) == to_dict(read(cls, answers)) == to_dict(cls(**answers))


def _numbers(field):
    low = field.minimum if field.minimum is not None else field.above if field.above is not None else -5
    high = field.maximum if field.maximum is not None else field.below if field.below is not None else low + 50
    if field.kind == "whole":
        return st.integers(int(low), int(high))
    inner = st.floats(low, high, allow_nan=False)
    return inner.filter(lambda value: value != field.above and value != field.below)


@pytest.mark.parametrize(
    ("cls", "answers", "field"),
    [
        (Crest, {"k": 1}, "k"),
        (Crest, {"k": "many"}, "k"),
        (Crest, {"k": 2.5}, "k"),
        (Crest, {"alpha": "2"}, "alpha"),
        (Crest, {"scale": "other"}, "scale"),
        (GaussianDither, {"alpha": "0"}, "alpha"),
        (GaussianDither, {"exact": "perhaps"}, "exact"),
        (Mondrian, {"importance": 3}, "importance"),
        (Recode, {}, "steps"),
        (Crest, {"nothing": 1}, ""),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_wrong_answer_names_its_field(cls, answers, field):
    with pytest.raises(FieldError) as caught:
        read(cls, answers)
    assert caught.value.field == field
    assert isinstance(caught.value, ParameterError)


def test_answers_of_a_browser():
    assert read(Crest, {"k": 7.0, "neighbours": None}) == Crest(k=7)
    assert read(Crest, {"neighbours": "none"}) == Crest()
    assert read(Shuffle, {"columns": ["age", "sex"]}) == Shuffle(columns=("age", "sex"))
    assert read(Shuffle, {"columns": ""}) == Shuffle()
    assert read(Mondrian, {"importance": {"age": "3", "sex": 0.5}}) == Mondrian(importance={"age": 3, "sex": 0.5})
    assert read(Mondrian, {"importance": "age=3/sex=0.5", "diversity": "3"}) == Mondrian(
        importance={"age": 3, "sex": 0.5}, diversity=3
    )
    assert read(Ball, {"radius": "0.2"}) == Ball(radius=0.2)
    assert read(Ball, {"radius": "age=5/sex=0"}) == Ball(radius={"age": 5, "sex": 0})
    steps = {"age": {"kind": "cap", "high": 90}, "zip": {"kind": "prefix", "keep": 3}}
    assert read(Recode, {"steps": {"age": "cap:high=90", "zip": "prefix:keep=3"}}) == Recode(steps=steps)
    assert read(Recode, {"steps": "age=cap:high=90/zip=prefix:keep=3"}) == Recode(steps=steps)


def test_words_of_a_form_are_read_as_a_recipe():
    words = {
        "group": {"method": "mdav", "k": "7"},
        "mask": [{"method": "gaussian-dither", "exact": "true", "alpha": ""}],
    }
    assert read_words(words) == read_recipe(
        {"group": {"method": "mdav", "k": 7}, "mask": [{"method": "gaussian-dither", "exact": True}]}
    )
    drawn = read_words({"synthesize": {"method": "pegs", "epsilon": "2", "rows": "100"}})
    assert (drawn.method.epsilon, drawn.rows) == (2.0, 100)
    assert read_words({"synthesize": {"method": "pegs", "rows": "none"}}).rows is None
    with pytest.raises(ParameterError, match="rows"):
        read_words({"synthesize": {"method": "pegs", "rows": "many"}})
    with pytest.raises(ParameterError, match="rows"):
        read_words({"synthesize": {"method": "pegs", "rows": "0"}})
    recoded = {"coarsen": [{"method": "recode", "steps": "age=cap:high=90"}, {"method": "mondrian", "k": "5"}]}
    assert isinstance(read_words(recoded), Coarsening)


def test_every_method_is_in_the_catalogue():
    names = {method.name for family in ("group", "mask", "coarsen", "synthesize") for method in methods(family)}
    assert names == set(CLASSES)
    for family in ("group", "mask", "coarsen", "synthesize"):
        for method in methods(family):
            assert method.title
            assert method.words.endswith(".")
            assert method.promise.endswith(".") or method.name == "multiple-imputation"
            assert "safe" not in f"{method.words} {method.promise}".lower().replace("safe harbor", "")
    assert methods("synthesize")[0].fields[-1].name == "rows"


def test_goals_have_recipes_that_can_be_read():
    assert len({made.name for made in goals()}) == len(goals())
    for made in goals():
        recipe = read_recipe(made.recipe)
        assert recipe.to_dict() == made.recipe
        assert made.families == tuple(recipe.to_dict())
        assert json.loads(json.dumps(made.recipe)) == made.recipe
    with pytest.raises(ParameterError, match="distribution"):
        goal("nothing")


def test_goals_say_what_a_schema_lacks(people_schema):
    from shoal import Schema

    lacks = {made.name: made.lacks(people_schema) for made in goals()}
    assert "age, sex, town, cost, ill" in lacks.pop("synthetic")
    assert set(lacks.values()) == {""}
    bare = Schema.of(quasi=["age"])
    assert "sensitive" in goal("class-mix").lacks(bare)
    assert "sensitive" in goal("regressions").lacks(bare)
    assert all("quasi" in made.lacks(Schema.of(other=["age"])) for made in goals())
