"""The default recipes suit the schema, and cover every family."""

import json

import pytest

from shoal.comparison import default_recipes
from shoal.errors import SchemaError
from shoal.recipe import read_recipe
from shoal.schema import Schema


def test_the_grid_covers_every_family_and_survives_json(survey, survey_schema):
    recipes = default_recipes(survey_schema, survey)
    assert {recipe.family for recipe in recipes} == {"blind masks", "aware masks", "coarsening", "synthesis"}
    assert 12 <= len(recipes) <= 22
    assert len({recipe.title for recipe in recipes}) == len(recipes)
    for recipe in recipes:
        again = read_recipe(json.loads(json.dumps(recipe.to_dict())))
        assert again.to_dict() == recipe.to_dict()
        assert again.title == recipe.title


def test_the_grid_leaves_out_what_can_not_be(survey, survey_schema):
    def names(schema, table=None):
        return " ".join(recipe.title for recipe in default_recipes(schema, table))

    assert "crest" in names(survey_schema, survey)
    assert "pegs" in names(survey_schema)
    plain = Schema.of(identifier=["name"], quasi=["age", "sex", "town"], sensitive=["cost"], other=["ill"])
    assert "crest" not in names(plain, survey)
    assert "pegs" not in names(plain, survey)
    assert "safe-harbor" in names(plain, survey), "a town is a place smaller than a state"
    hidden = Schema.of(identifier=["name", "town"], quasi=["age", "sex"], sensitive=["cost"], other=["ill"])
    assert "safe-harbor" not in names(hidden, survey)
    assert "safe-harbor" in names(hidden, survey.with_columns(age=survey["age"] + 20)), "some are over 89"
    wide = Schema.of(quasi=[f"c{i}" for i in range(11)], kinds={f"c{i}": "numeric" for i in range(11)})
    assert "suppress" not in names(wide)
    with pytest.raises(SchemaError, match="quasi-identifier"):
        default_recipes(Schema.of(sensitive=["cost"]))


def test_many_rows_are_compared_at_one_size_and_without_what_takes_minutes(survey_schema, survey):
    import polars as pl

    many = pl.concat([survey] * (50_000 // len(survey) + 1))
    titles = [recipe.title for recipe in default_recipes(survey_schema, many)]
    few = [recipe.title for recipe in default_recipes(survey_schema, survey)]
    assert any("ball" in title for title in few)
    assert not any("ball" in title or "crest:k=10" in title for title in titles)
    assert any(title.startswith("crest:k=5,alpha=1") for title in titles)
