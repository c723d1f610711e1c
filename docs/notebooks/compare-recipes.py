# %% [markdown]
# # Which method, which k?
#
# Several recipes on one table, measured alike. The map is an Altair chart: change it, or save it.

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
comparison.table()

# %%
comparison.chart(limit=0.05).properties(title="Three recipes")

# %%
print(comparison.recommendation(0.05))
