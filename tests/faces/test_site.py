"""The site of the documentation, without building it: every page is in it, every public name is on exactly one page."""

import re
import runpy
from importlib import import_module
from pathlib import Path

import yaml

import shoal

ROOT = Path(__file__).parents[2]
SITE = runpy.run_path(str(ROOT / "docs/site_pages.py"))


def entries():
    """Each public name with the object that its entry shows."""
    text = "\n".join(SITE["api_pages"]().values())
    return {
        heading: where for where, heading in re.findall(r"^::: (\S+)\n.*\n      heading: (\S+)$", text, re.MULTILINE)
    }


def test_every_public_name_has_an_entry():
    text = "\n".join(SITE["api_pages"]().values())
    pages = {Path(path).stem for path in SITE["api_pages"]()}
    for module in sorted(pages):
        for name in import_module(module).__all__:
            on_its_own = f"{module}.{name}" in entries() or f"## {module}.{name}\n" in text
            assert on_its_own or f"[`{name}`]" in text, f"{module}.{name} has no page"


def test_an_entry_shows_the_name_itself():
    for heading, where in entries().items():
        module, _, name = heading.rpartition(".")
        public = getattr(import_module(module), name)
        home, _, own = where.rpartition(".")
        assert getattr(import_module(home), own) is public, heading
        assert public.__doc__, f"{heading} says nothing"


def test_every_page_is_in_the_navigation():
    config = SITE["on_config"]({})
    listed = set(re.findall(r"'([\w/.-]+\.md)'", str(config["nav"])))
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert written <= listed
    assert listed - written == set(SITE["api_pages"]()) | set(SITE["notebook_pages"]())


def test_nothing_is_loaded_from_elsewhere():
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert config["theme"]["font"] is False
    assert not re.search(r"https?://", str(config)), "an address in the configuration"
    assert "offline" in config["plugins"]
    for script in config["extra"]["polyfills"]:
        assert (ROOT / "docs" / script).exists()


def test_there_are_public_names():
    assert len(entries()) > 150
    assert f"{shoal.__name__}.anonymize" in entries()
