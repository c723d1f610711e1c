"""Short names can be read back, and commands say the same."""

import pytest

import shoal
from shoal.comparison import default_recipes
from shoal.comparison.naming import command_of, family_of, methods_of, name_of
from shoal.comparison.recipes import as_recipe
from shoal.datasets import health_survey_schema
from shoal.recipe import COARSENERS, GROUPERS, MASKS, read_method, synthesizers

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
    assert name_of(as_recipe(CASES[name])) == name


def test_names_of_the_grid_are_distinct_and_read_back():
    recipes = default_recipes(health_survey_schema())
    assert len({name_of(recipe) for recipe in recipes}) == len(recipes)
    choices = (*GROUPERS, *MASKS, *COARSENERS, *synthesizers())
    for recipe in recipes:
        again = tuple(read_method(part, choices) for part in name_of(recipe).split(", then "))
        assert again == methods_of(recipe)


def test_a_recode_is_named_by_its_columns():
    steps = {"age": {"kind": "bins", "edges": list(range(0, 100, 5))}, "pay": {"kind": "cap", "high": 90.0}}
    assert (
        name_of(as_recipe([shoal.Recode(steps=steps), shoal.Mondrian(k=5)]))
        == "recode:age=bins,pay=cap, then mondrian:k=5"
    )


def test_families_tell_proved_from_measured():
    assert family_of(as_recipe(CASES["ball:minimum=5, then push-back, then shuffle"])) == "aware masks"
    assert family_of(as_recipe((shoal.MDAV(), shoal.Resample()))) == "blind masks"
    assert family_of(as_recipe(shoal.Suppress())) == "coarsening"
    assert family_of(as_recipe(shoal.PeGS())) == "synthesis"


def test_commands():
    told = command_of(as_recipe((shoal.Ball(), [shoal.PushBack(), shoal.Shuffle()])))
    assert told == (
        "shoal anonymize FILE --schema SCHEMA --out FOLDER --group ball:minimum=5 --mask push-back --mask shuffle"
    )
    assert command_of(as_recipe(shoal.Mondrian(k=9))) == (
        "shoal coarsen FILE --schema SCHEMA --out FOLDER --method mondrian --k 9"
    )
    assert command_of(as_recipe([shoal.SafeHarbor(), shoal.Mondrian()])) is None
    assert command_of(as_recipe(shoal.PeGS(epsilon=2.0))).endswith("--method pegs:epsilon=2.0")
