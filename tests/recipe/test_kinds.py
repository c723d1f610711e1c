import pytest

import shoal
from shoal import MDAV, CellDither, Centroid, GaussianDither, KMember, ParameterError, Resample
from shoal.recipe import Anonymization, read_method, read_recipe, spell


def test_names():
    assert [cls.name for cls in (KMember, MDAV, GaussianDither)] == ["k-member", "mdav", "gaussian-dither"]


@pytest.mark.parametrize("text", ["gaussian-dither:alpha=0.25,exact=yes", "GaussianDither:alpha=1/4,exact=true"])
def test_methods_are_read_from_words(text):
    assert read_method(text, "mask") == GaussianDither(alpha=0.25, exact=True)


def test_defaults_give_way_to_words():
    assert read_method("kmember", "group", {"k": 9}) == KMember(k=9)
    assert read_method("k-member:k=3", "group", {"k": 9}) == KMember(k=3)


@pytest.mark.parametrize("text", ["nope", "mdav:k", "mdav:q=1", "mdav:k=one", "mdav:k=1"])
def test_unreadable_methods(text):
    with pytest.raises(ParameterError):
        read_method(text, "group")


@pytest.mark.parametrize("mask", [Centroid(), Resample(replace=False), CellDither(), GaussianDither(alpha=1 / 3)])
def test_recipes_round_trip(mask):
    recipe = Anonymization.of(KMember(k=7, response_weight=0.5), [mask, Resample()])
    assert read_recipe(recipe.to_dict()) == recipe


def test_recipe_in_words():
    assert str(Anonymization.of(MDAV(k=3), Centroid())) == "mdav:k=3, then centroid:center=mean"


def test_spelled_names_and_columns_keep_their_capitals():
    flatten = shoal.Flatten(columns=["Age"])
    assert spell(flatten) == "flatten:columns=Age,centers=values"
    several = shoal.MultipleImputation(K=3)
    assert read_method(spell(several), "synthesize") == several
