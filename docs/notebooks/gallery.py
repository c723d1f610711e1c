# %% [markdown]
# # Gallery
#
# Pictures as Shoal draws them, made while this page was built. The first three are in the report of every release: how
# likely each record is to be found.

# %%
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import shoal

people = shoal.datasets.health_survey(400, seed=1)
schema = shoal.datasets.health_survey_schema()
release = shoal.anonymize(people, schema, group=shoal.KMember(k=5), mask=shoal.GaussianDither(), seed=7)
with TemporaryDirectory() as folder:
    release.write(Path(folder) / "release")
    report = (Path(folder) / "release/report.html").read_text(encoding="utf-8")
pictures = re.findall(r"<svg role=.*?</svg>", report, re.DOTALL)
pictures[0]

# %% [markdown]
# How many people share a combination of quasi-identifiers, before and after.

# %%
pictures[1]

# %% [markdown]
# One column, before (grey) and after (the line).

# %%
pictures[-1]

# %% [markdown]
# A risk score that can be read.

# %%
stays = shoal.datasets.pima_like(400, seed=1)
tree = shoal.AlphaTree(schema=shoal.datasets.pima_like_schema(), max_depth=3)
tree.fit(stays.drop("diabetes"), stays["diabetes"]).to_svg()
