# %% [markdown]
# # A release, looked at from all sides
#
# A simulated health survey is anonymised, and each result is shown as a notebook shows it.

# %%
import shoal

people = shoal.datasets.health_survey(400, seed=1)
people.head(3)

# %% [markdown]
# The schema says what each column is. Nobody but you knows which columns an intruder may know.

# %%
schema = shoal.datasets.health_survey_schema()
schema

# %% [markdown]
# Groups of five, with new values drawn from the shape of each group. The release shows what it promises and what was
# measured.

# %%
release = shoal.anonymize(people, schema, group=shoal.KMember(k=5), mask=shoal.GaussianDither(), seed=7)
release

# %% [markdown]
# Each promise has a basis and its assumptions.

# %%
release.claims[0]

# %% [markdown]
# Every attack that was tried, and every measure of utility. The parts open with a click.

# %%
release.risk

# %%
release.utility
