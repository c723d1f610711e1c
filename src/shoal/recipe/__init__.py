"""What to do: a recipe of any kind, with one verb, one reader and one speller."""

from shoal.recipe.anonymization import Anonymization
from shoal.recipe.chain import Mask
from shoal.recipe.coarsening import Coarsening, written_column
from shoal.recipe.linked import Linked, LinkedRecipe
from shoal.recipe.read import as_recipe, as_recipes, kind_of, known_method, read_method, read_recipe, read_recipes
from shoal.recipe.recipe import FAMILIES, Made, Progress, Recipe, Run, quiet
from shoal.recipe.spell import command_line, recipe_toml, short, spell
from shoal.recipe.synthesis import Synthesis

__all__ = [
    "FAMILIES",
    "Anonymization",
    "Coarsening",
    "Linked",
    "LinkedRecipe",
    "Made",
    "Mask",
    "Progress",
    "Recipe",
    "Run",
    "Synthesis",
    "as_recipe",
    "as_recipes",
    "command_line",
    "kind_of",
    "known_method",
    "quiet",
    "read_method",
    "read_recipe",
    "read_recipes",
    "recipe_toml",
    "short",
    "spell",
    "written_column",
]
