"""Entries of the changelog wait as fragments and are moved to its first section."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE = runpy.run_path(str(ROOT / "docs/changelog.py"))


def test_fragments_come_first_in_the_first_section():
    text = "# Changelog\n\n## 0.2 (unreleased)\n\n- old\n\n## 0.1\n\n- older\n"
    found = MADE["collected"](text, ["new,\nin two lines", "newer"])
    assert found == text.replace("- old\n", "- new,\n  in two lines\n- newer\n- old\n", 1)


@pytest.mark.parametrize("text", ["", "- with its dash"])
def test_a_fragment_is_text_without_its_dash(tmp_path, text):
    (tmp_path / "README.md").write_text("- is no fragment")
    assert MADE["fragments"](tmp_path) == {}
    (tmp_path / "mine.md").write_text(text)
    with pytest.raises(SystemExit, match="without its dash"):
        MADE["fragments"](tmp_path)


def test_what_waits_here_can_be_moved():
    entries = list(MADE["fragments"](ROOT / "changelog.d").values())
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert all(entry.splitlines()[0] in MADE["collected"](changelog, entries) for entry in entries)
