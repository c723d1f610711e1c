"""Docs follow the code: the generated page is fresh, links lead somewhere, examples in docstrings run."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import shoal

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_generated_pages_are_fresh():
    for path, text in runpy.run_path(str(ROOT / "docs/generate.py"))["pages"]().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make docs`"


def test_the_floor_plan_is_fresh():
    made = runpy.run_path(str(ROOT / "docs/floor_plan.py"))
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert text == made["page"](text), "run: make docs"


def test_the_floor_plan_has_every_room():
    """Whatever stands in the package and is no face of it (`__init__`, `__main__`) is on some floor."""
    rooms = [room for layer in runpy.run_path(str(ROOT / "docs/floor_plan.py"))["layers"]() for room in layer]
    stand = {
        path.stem for path in (ROOT / "src/shoal").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert len(rooms) == len(set(rooms))
    assert set(rooms) == stand - {"__init__", "__main__"}


def test_the_way_of_a_row_names_rooms_that_stand():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    way = text.split("## The way of one row")[1].split("## A new")[0]
    named = re.findall(r"\*\*`([a-z_]+)`\*\*", way)
    stand = {path.stem for path in (ROOT / "src/shoal").iterdir()}
    assert len(named) > 10
    assert set(named) <= stand


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_method_has_a_page():
    from shoal.method import FAMILIES, methods

    text = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/methods/*.md"))
    for cls in (cls for family in FAMILIES for cls in methods(family)):
        assert re.search(rf"^#.*\b{cls.__name__}\b", text, re.MULTILINE), cls
        assert cls.summary, cls
        assert cls.report_text.done, cls


MODULES = [name for _, name, _ in pkgutil.walk_packages(shoal.__path__, "shoal.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)  # a docstring without an example costs as much to "run" as a short one
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE, exclude_empty=True)
    assert result.failed == 0


def test_exported_names_are_the_contract():
    assert set(shoal.__all__) == set(dir(shoal)) - {"__version__"}
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    with pytest.raises(AttributeError):
        _ = shoal.nothing
