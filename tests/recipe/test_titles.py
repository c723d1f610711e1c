"""Short names can be read back, and commands say the same."""

import pytest

import shoal
from shoal.comparison import default_recipes
from shoal.datasets import health_survey_schema
from shoal.errors import ParameterError
from shoal.recipe import as_recipe, command_line, read_method

CASES = {
    "k-member:k=5, then gaussian-dither:exact=true": (shoal.KMember(k=5), shoal.GaussianDither(exact=True)),
    "k-member:k=7,response_weight=0.5, then centroid": (shoal.KMember(k=7, response_weight=0.5), shoal.Centroid()),
    "ball:minimum=5, then push-back, then shuffle": (shoal.Ball(), [shoal.PushBack(), shoal.Shuffle()]),
    "mondrian:k=5": shoal.Mondrian(k=5),
    "mondrian:k=5,diversity=recursive:3,2": shoal.Mondrian(k=5, diversity="recursive:3,2"),
    "safe-harbor, then generalize:k=10": [shoal.SafeHarbor(), shoal.Generalize(k=10)],
    "pegs:epsilon=1": shoal.PeGS(),
    "multiple-imputation": shoal.MultipleImputation(),
}


@pytest.mark.parametrize("name", CASES)
def test_names_are_short(name):
    assert as_recipe(CASES[name]).title == name


def test_names_of_the_grid_are_distinct_and_read_back():
    recipes = default_recipes(health_survey_schema())
    assert len({recipe.title for recipe in recipes}) == len(recipes)
    for recipe in recipes:
        parts = zip(recipe.title.split(", then "), recipe.methods, strict=True)
        assert tuple(read_method(part, method.family) for part, method in parts) == recipe.methods


def test_a_recode_is_named_by_its_columns():
    steps = {"age": {"kind": "bins", "edges": list(range(0, 100, 5))}, "pay": {"kind": "cap", "high": 90.0}}
    assert (
        as_recipe([shoal.Recode(steps=steps), shoal.Mondrian(k=5)]).title
        == "recode:age=bins,pay=cap, then mondrian:k=5"
    )


def test_families_tell_proved_from_measured():
    assert as_recipe(CASES["ball:minimum=5, then push-back, then shuffle"]).family == "aware masks"
    assert as_recipe((shoal.MDAV(), shoal.Resample())).family == "blind masks"
    assert as_recipe(shoal.Suppress()).family == "coarsening"
    assert as_recipe(shoal.PeGS()).family == "synthesis"


def command_of(recipe):
    return command_line(recipe, "FILE", "SCHEMA", "FOLDER")


def test_commands():
    told = command_of(as_recipe((shoal.Ball(), [shoal.PushBack(), shoal.Shuffle()])))
    assert told == (
        "shoal anonymize FILE --schema SCHEMA --out FOLDER --group ball:minimum=5 --mask push-back --mask shuffle"
    )
    assert command_of(as_recipe(shoal.Mondrian(k=9))) == (
        "shoal coarsen FILE --schema SCHEMA --out FOLDER --method mondrian --k 9"
    )
    with pytest.raises(ParameterError, match="can't express"):
        command_of(as_recipe([shoal.SafeHarbor(), shoal.Mondrian()]))
    assert command_of(as_recipe(shoal.PeGS(epsilon=2.0))).endswith("--method pegs:epsilon=2.0")
