"""Methods say once what they are: whoever lists methods reads the registry, and outsiders join by an entry point."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal import method as registry
from shoal.errors import ParameterError
from shoal.group import Grouper
from shoal.method import FAMILIES, Method, find, methods
from shoal.params import parameters
from shoal.recipe import Anonymization

EVERY = [cls for family in FAMILIES for cls in methods(family)]


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.name)
def test_a_method_says_what_it_is(cls):
    assert issubclass(cls, Method)
    assert cls.title
    assert cls.summary.endswith(".")
    assert all(parameter.help for parameter in parameters(cls))
    assert find(cls.family, cls.name) is cls is find(cls.family, cls.__name__)
    assert getattr(shoal, cls.__name__) is cls
    assert cls.__name__ in shoal.__all__


def test_the_source_tells_every_method_that_is_registered():
    found = {(cls.__module__, cls.__name__) for cls in EVERY}
    assert found == {(module, name) for name, module in registry._homes().items()}


def test_what_type_checkers_see_is_there():
    text = Path(shoal.__file__).read_text()
    static = text[text.index("    __all__ = [") : text.index("def __getattr__")]
    assert set(shoal.__all__) >= {line.strip(' ",') for line in static.splitlines() if line.startswith('        "')}


def test_names_are_hyphenated_and_unknown_ones_are_none():
    assert [cls.name for cls in (shoal.KMember, shoal.TCloseMST, shoal.PeGS)] == ["k-member", "t-close-mst", "pegs"]
    assert find("group", "nope") is None
    assert find("mask", "k-member") is None, "a name belongs to its family"


def test_a_name_is_taken_once():
    with pytest.raises(ParameterError, match="is taken"):

        class Other(Grouper):
            name = "mdav"
            title = "another MDAV"

    assert find("group", "mdav") is shoal.MDAV


@pytest.mark.parametrize("cls", [cls for cls in EVERY if cls is not shoal.Recode], ids=lambda cls: cls.name)
def test_scikit_learn_conventions(cls):
    from sklearn.base import clone

    one = cls()
    assert one.get_params() == {parameter.name: getattr(one, parameter.name) for parameter in parameters(cls)}
    for again in (one.clone(), clone(one)):
        assert again == one
        assert again is not one
    with pytest.raises(ParameterError, match="has no parameter"):
        one.set_params(nothing=1)


def test_a_recipe_keeps_its_own_methods():
    grouper = shoal.MDAV(k=5)
    recipe = Anonymization.of(grouper, shoal.Centroid())
    assert grouper.set_params(k=2) is grouper
    assert (grouper.k, recipe.k) == (2, 5)
    with pytest.raises(AttributeError):
        grouper.k = 7


def test_what_can_not_be_loaded_is_left_out_with_a_warning(monkeypatch):
    from importlib import metadata

    broken = metadata.EntryPoint(name="broken", value="no_such_package:Toy", group=registry.ENTRY_POINTS)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [broken])
    with pytest.warns(UserWarning, match="'broken'.*ModuleNotFoundError"):
        registry._load_entry_points.__wrapped__()


TOY = '''
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from shoal.group.grouper import Grouper, quasi_points
from shoal.method import ReportText
from shoal.params import Help, Range


@dataclass(frozen=True, slots=True, kw_only=True)
class InTurn(Grouper):
    """Group people as they come."""

    title = "in turn"
    summary = "Groups people as they come."
    promise = "Every group holds at least k persons."
    report_text = ReportText(done="People were put into groups of at least {k} as they came.")
    trials = ({"group": "in-turn:k=4", "mask": "centroid"},)

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 5

    def _points(self, prepared):
        return quasi_points(prepared)

    def _partition(self, points):
        n = len(points)
        return np.minimum(np.arange(n) // self.k, n // self.k - 1), {}
'''

SEEN = """
import json, sys
from typer.testing import CliRunner
import shoal
from shoal.cli.main import app
from shoal.comparison import default_recipes
from shoal.web.catalogue import methods
from shoal.web.forms import read_words

table, schema = shoal.datasets.health_survey(60, seed=1), shoal.datasets.health_survey_schema()
table.write_csv("people.csv"); schema.write("schema.toml")
help = CliRunner().invoke(app, ["anonymize", "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}).output
made = CliRunner().invoke(app, "anonymize people.csv -s schema.toml -o out -k 4 -g in-turn -m centroid".split())
assert made.exit_code == 0, made.output
shown = next(one for one in methods("group") if one.name == "in-turn")
words = {"group": {"method": "in-turn", "k": "6"}, "mask": [{"method": "centroid"}]}
print(json.dumps({
    "help": "in-turn" in help,
    "workbench": [shown.title, shown.words, shown.promise, [field.name for field in shown.fields]],
    "form": read_words(words).k,
    "last": methods("group")[-1].name,
    "tried": "in-turn:k=4, then centroid" in [recipe.title for recipe in default_recipes(schema)],
}))
"""


def test_a_grouper_from_outside_is_like_one_of_our_own(tmp_path):
    (tmp_path / "in_turn.py").write_text(TOY)
    info = tmp_path / "in_turn-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: in-turn\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[shoal.methods]\nin-turn = in_turn:InTurn\n")
    home = Path(shoal.__file__).parents[1]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(home), str(tmp_path)])}
    ran = subprocess.run([sys.executable, "-c", SEEN], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen == {
        "help": True,
        "workbench": ["in turn", "Groups people as they come.", "Every group holds at least k persons.", ["k"]],
        "form": 6,
        "last": "in-turn",
        "tried": True,
    }
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["recipe"]["group"] == {"method": "in-turn", "k": 4}
    assert "People were put into groups of at least 4 as they came." in (tmp_path / "out" / "report.html").read_text()
