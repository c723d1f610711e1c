"""The set-up that developers and CI share: pinned versions, and whose warnings are errors."""

import tomllib
import warnings
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = dict(
    line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line
)
LATER = [DeprecationWarning, PendingDeprecationWarning, FutureWarning]


def required():
    """Each package that developers and CI install, with the versions that Shoal asks for."""
    extras = PROJECT["project"]["optional-dependencies"]
    names, asked = ["all"], [*PROJECT["project"]["dependencies"]]
    for name in names:  # grows
        for line in extras[name]:
            one = Requirement(line)
            if one.name == "shoal":
                names += sorted(one.extras)
            else:
                asked.append(line)
    return [
        Requirement(line)
        for line in (*asked, *PROJECT["dependency-groups"]["dev"], *PROJECT["dependency-groups"]["docs"])
    ]


def test_every_requirement_is_pinned_at_a_version_that_suits():
    asked = required()
    assert len(asked) > 50
    assert [str(one) for one in asked if one.name.lower() not in PINS] == []
    assert [str(one) for one in asked if Version(PINS[one.name.lower()]) not in one.specifier] == []


def test_the_makefile_installs_the_pinned_versions():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert text.count("--constraint constraints.txt") == 1
    assert '$(call INSTALL,-e "$(EXTRAS)" --group dev)' in text
    assert "$(STAMP): pyproject.toml constraints.txt" in text


@pytest.mark.parametrize("category", LATER)
@pytest.mark.parametrize("module", ["shoal.frame", "tests.faces.test_setup"])
def test_what_we_use_must_not_be_deprecated(category, module):
    with pytest.raises(category):
        warnings.warn_explicit("an old name", category, "file.py", 1, module=module)


@pytest.mark.parametrize("category", LATER)
@pytest.mark.parametrize("module", ["anyio.abc", "click.core", "_pytest.fixtures", "shoals", "typer.main"])
def test_others_may_deprecate_each_others_names(category, module):
    with warnings.catch_warnings(record=True) as said:
        warnings.warn_explicit("an old name", category, "file.py", 1, module=module)
    assert len(said) == 1


@pytest.mark.parametrize("category", [RuntimeWarning, ResourceWarning, UserWarning])
def test_every_other_warning_is_an_error(category):
    with pytest.raises(category):
        warnings.warn_explicit("trouble", category, "file.py", 1, module="numpy")


def test_a_test_has_the_name_that_the_filter_looks_for():
    assert __name__.startswith("tests.")
