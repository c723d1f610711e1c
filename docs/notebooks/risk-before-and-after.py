# %% [markdown]
# # Who stands out, before and after
#
# Risk is measured on any table, and on any pair of an original and a release, whoever made it.

# %%
import shoal

people = shoal.datasets.health_survey(400, seed=2)
schema = shoal.datasets.health_survey_schema()
shoal.risk.classes(people, schema)

# %% [markdown]
# Which single change would help most?

# %%
shoal.risk.what_if(people, schema, k=5)

# %% [markdown]
# The same table with coarser values, until every combination is shared by five people.

# %%
release = shoal.coarsen(people, schema, shoal.Mondrian(k=5), seed=7)
shoal.risk.classes(release.table, release.schema)
