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


def test_command_line_reference_is_fresh():
    made = runpy.run_path(str(ROOT / "docs/generate.py"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_method_has_a_page():
    from shoal.method import FAMILIES, methods

    text = " ".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docs/methods/*.md"))
    for cls in (cls for family in FAMILIES for cls in methods(family)):
        assert f"# {cls.__name__}" in text or f"{cls.__name__} and" in text or f"and {cls.__name__}" in text, cls
        assert cls.summary, cls
        assert cls.telling.done, cls


MODULES = [name for _, name, _ in pkgutil.walk_packages(shoal.__path__, "shoal.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_exported_names_are_the_contract():
    assert set(shoal.__all__) == set(dir(shoal)) - {"__version__"}
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None
    with pytest.raises(AttributeError):
        _ = shoal.nothing
