"""Recipes from Python, from words and from files."""

import pytest
import tomli_w

import shoal
from shoal.comparison import default_recipes
from shoal.errors import FileError, ParameterError
from shoal.recipe import Anonymization, Coarsening, Synthesis, as_recipes, read_recipes


def test_whatever_names_a_recipe_is_one():
    pair = (shoal.MDAV(k=5), shoal.Centroid())
    given = [
        Anonymization.of(*pair),
        (shoal.MDAV(k=6), [shoal.PushBack(), shoal.Shuffle()]),
        shoal.Mondrian(k=5),
        [shoal.SafeHarbor(), shoal.Mondrian(k=5)],
        Coarsening.of(shoal.Suppress(k=4)),
        shoal.PeGS(epsilon=0.5),
        Synthesis.of(shoal.PeGS(), rows=100),
        {"group": "k-member:k=9", "mask": ["resample:replace=false"]},
    ]
    recipes = as_recipes([*given, pair, shoal.Mondrian(k=5)])
    assert len(recipes) == len(given), "what is given twice is run once"
    assert recipes[-1] == Anonymization.of(shoal.KMember(k=9), shoal.Resample(replace=False))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "at least one"),
        ("mdav", "must be a list"),
        ([shoal.MDAV()], "recipe 1"),
        ([shoal.Mondrian(), (shoal.MDAV(k=1), shoal.Centroid())], "recipe 2"),
        ([(shoal.Centroid(), shoal.MDAV())], "recipe 1"),
        ([shoal.Mondrian(), None], "recipe 2"),
    ],
    ids=["none", "text", "grouper alone", "wrong k", "turned round", "nothing"],
)
def test_wrong_recipes_are_named(given, words):
    with pytest.raises(ParameterError, match=words):
        as_recipes(given)


def test_files_hold_words_or_texts(tmp_path):
    recipes = default_recipes(shoal.datasets.health_survey_schema())
    path = tmp_path / "recipes.toml"
    path.write_text(tomli_w.dumps({"recipe": [recipe.to_dict() for recipe in recipes]}))
    assert read_recipes(path) == recipes
    path.write_text(
        '[[recipe]]\ngroup = "mdav:k=7"\nmask = "centroid"\n'
        '[[recipe]]\ngroup = {method = "mdav", k = 8}\nmask = ["centroid"]\n'
        '[[recipe]]\ncoarsen = ["safe-harbor", "mondrian:k=3"]\n'
        '[[recipe]]\nsynthesize = "pegs:epsilon=2"\nrows = 50\n'
    )
    assert [recipe.title for recipe in read_recipes(path)] == [
        "mdav:k=7, then centroid",
        "mdav:k=8, then centroid",
        "safe-harbor, then mondrian:k=3",
        "pegs:epsilon=2 (50 rows)",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("recipe = 3", "[[recipe]]"),
        ("[[recipe]]\ngroup = 'mdav'\nmask = 'centroid'\n[other]\nx = 1", "[[recipe]]"),
        ("[[recipe]]\ncoarsen = 'mondrian'\n[[recipe]]\ngroup = 'mdav'", "recipe 2"),
        ("[[recipe]]\ngroup = 'mdav:k=1'\nmask = 'centroid'", "recipe 1, MDAV: k must be"),
        ("[[recipe]]\ngroup = 'centroid'\nmask = 'centroid'", "recipe 1, recipe: must name a known method"),
        ("[[recipe]]\ncoarsen = 7", "recipe 1"),
        ("[[recipe]]\ncoarsen = []", "recipe 1"),
        ("[[recipe]]\nsynthesize = 'pegs'\nrows = 'many'", "recipe 1"),
        ("[[recipe]]\nsynthesize = 7", "recipe 1"),
        ("[[recipe", "must be a TOML file"),
        ("", "[[recipe]]"),
    ],
    ids=["no table", "more", "no mask", "bad k", "no grouper", "number", "empty", "rows", "synth", "broken", "nothing"],
)
def test_a_bad_entry_is_named(tmp_path, text, words):
    path = tmp_path / "recipes.toml"
    path.write_text(text)
    with pytest.raises(ParameterError) as found:
        read_recipes(path)
    assert words in str(found.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="readable"):
        read_recipes(tmp_path / "none.toml")
