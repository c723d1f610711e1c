# %% [markdown]
# # Which method, which k?
#
# Several recipes on one table, all measured in the same way. `comparison.table()` has every measure as a dataframe.

# %%
import shoal

people = shoal.datasets.health_survey(300, seed=3)
schema = shoal.datasets.health_survey_schema()
recipes = [
    {"group": "k-member:k=5", "mask": ["centroid"]},
    {"group": "k-member:k=5", "mask": ["gaussian-dither"]},
    {"coarsen": "mondrian:k=5"},
]
comparison = shoal.compare(people, schema, recipes=recipes, seed=7)
comparison

# %% [markdown]
# The map as an Altair chart, to change or save.

# %%
comparison.chart(limit=0.05).properties(title="Three recipes")

# %% [markdown]
# Which one to choose, in words.

# %%
print(comparison.recommendation(0.05))
