"""The surface: public names are the documented ones, and importing loads no more than is needed."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import shoal
from shoal.exports import declared

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/python.md"
MODULES = ("aggregate", "client", "datasets", "dp", "risk", "score", "shift", "synth", "utility")
HEAVY = (
    "opendp",
    "sklearn",
    "sqlalchemy",
    "fastapi",
    "uvicorn",
    "duckdb",
    "pandas",
    "altair",
    "scipy.stats",
)
UPSTAIRS = (
    "shoal.study",
    "shoal.comparison",
    "shoal.service",
    "shoal.web",
    "shoal.cli",
    "shoal.score",
    "shoal.aggregate",
)


def documented():
    """The names of each module, as the page has them."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {
        name: set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.mark.parametrize("name", ["shoal", *(f"shoal.{module}" for module in MODULES)])
def test_public_names_are_the_documented_ones(name):
    module = import_module(name)
    assert documented()[name] == set(module.__all__), "document a new name with `make docs`; announce one that goes"
    assert all(getattr(module, public) is not None for public in module.__all__)
    assert sorted(module.__all__) == sorted(set(module.__all__))


def test_no_other_module_is_documented():
    assert set(documented()) == {"shoal", *(f"shoal.{module}" for module in MODULES)}
    assert set(MODULES) <= set(shoal.__all__)


def test_every_public_name_says_what_it_is():
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, about in rows if not about.strip()] == []


def loaded_by(statement):
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_shoal_loads_nothing_yet():
    loaded = loaded_by("import shoal")
    assert not loaded & {"numpy", "polars", "narwhals", "numba", "typer"}


def test_a_release_loads_what_an_anonymisation_needs():
    loaded = loaded_by("import shoal.release")
    assert not loaded & set(HEAVY)
    assert not {name for name in loaded if name.startswith(UPSTAIRS)}


def test_scores_load_no_ledger():
    assert not loaded_by("import shoal.score") & {"sqlalchemy", "sklearn", "shoal.ledger"}


@pytest.mark.parametrize("package", sorted(path.parent.name for path in ROOT.glob("src/shoal/*/__init__.py")))
def test_no_name_that_is_loaded_on_demand_is_also_a_modules(package):
    """The module, once something else has loaded it, would take the name's place."""
    import_module(f"shoal.{package}")
    for name, home in declared(f"shoal.{package}").items():
        is_module = (ROOT / f"src/shoal/{package}/{name}.py").exists()
        assert not is_module or home == f"shoal.{package}", f"{package}.{name} is a name and a module"
