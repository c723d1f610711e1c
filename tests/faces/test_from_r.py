"""R through reticulate: the script runs where R is; what it names is there in any case."""

import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest
import yaml

import shoal

ROOT = Path(__file__).parents[2]
SCRIPT = (ROOT / "deploy/shoal.R").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/how-to/r.md").read_text(encoding="utf-8")


def called(text):
    """Each name of Shoal in R, with the names of the arguments that it is called with."""
    for match in re.finditer(r"shoal((?:\$\w+)+)", text):
        inside, depth = "", 0
        for sign in text[match.end() :]:
            depth += (sign == "(") - (sign == ")")
            if depth == 0:
                break
            inside += sign if depth == 1 else ""
        yield match[1].strip("$").split("$"), set(re.findall(r"(\w+) = ", inside))


@pytest.mark.parametrize("text", [SCRIPT, PAGE], ids=["script", "page"])
def test_every_name_and_argument_is_there(text):
    calls = list(called(text))
    assert (["KMember"], {"k"}) in calls
    assert (["anonymize"], {"group", "mask", "seed"}) in calls
    for path, arguments in calls:
        found = shoal
        for name in path:
            found = getattr(found, name)
        assert arguments <= set(inspect.signature(found).parameters), path


def test_the_same_from_pandas_as_r_hands_it_over(tmp_path):
    """What reticulate passes is a pandas frame with whole numbers of 32 bits."""
    table = shoal.datasets.health_survey(200, seed=1).to_pandas()
    small = table.astype({name: "int32" for name in table if table[name].dtype == "int64"})
    words = {"group": shoal.KMember(k=5), "mask": shoal.GaussianDither(), "seed": 7}
    release = shoal.anonymize(small, shoal.datasets.health_survey_schema(), **words)
    assert sorted(release.table.columns) == sorted(table.columns)
    release.write(tmp_path / "release")
    assert (tmp_path / "release/report.html").exists()


@pytest.mark.skipif("SHOAL_R" not in os.environ, reason="starts R with reticulate: make test-r")
def test_the_script_runs_in_r(tmp_path):
    table = shoal.datasets.health_survey(200, seed=1)
    table = table.with_columns(cost=pl.when(pl.int_range(200) < 20).then(None).otherwise("cost"))
    table.write_csv(tmp_path / "people.csv")
    shoal.datasets.health_survey_schema().write(tmp_path / "schema.toml")
    words = ["people.csv", "schema.toml", "release"]
    env = os.environ | {"RETICULATE_PYTHON": sys.executable}
    done = subprocess.run(
        ["Rscript", ROOT / "deploy/shoal.R", *words], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "re-identification bound" in done.stdout
    assert pl.read_csv(tmp_path / "release/release.csv")["cost"].null_count() == 20  # R's NA is a number to Python


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = yaml.safe_load((ROOT / "deploy/conda/recipe.yaml").read_text(encoding="utf-8"))
    asked = {line.replace(" ", "") for line in recipe["requirements"]["run"]}
    assert asked == {*project["dependencies"], f"python{project['requires-python']}"}
    assert recipe["build"]["python"]["entry_points"] == [f"shoal = {project['scripts']['shoal']}"]
    assert recipe["about"]["summary"] == project["description"]
