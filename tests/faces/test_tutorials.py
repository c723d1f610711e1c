"""Every tutorial runs as it is printed: commands and blocks of Python, in order, with the exit codes that it names.

A fence without a language holds commands of Shoal; ``sh`` marks what needs a terminal of its own and is only read.
"""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import ShoalError

PAGES = sorted((Path(__file__).parents[2] / "docs/tutorials").glob("*.md"))

AFTERWARDS = {
    "linked-release": lambda: (
        Path("shared.xlsx").exists()
        and "Known events" in Path("release.internal/report.html").read_text(encoding="utf-8")
    ),
    "yearly-release": lambda: Path("release-2026/release.csv").exists(),
    "synthesis": lambda: Path("second").exists() and not Path("third").exists(),
}
"""What a page says is there when it ends."""


def blocks(page):
    """Each block of code with its language, '' for commands."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(line):
    """Run one command and hold its exit code to the one the page names, or 0."""
    words = shlex.split(line, comments=True)
    assert words[0] == "shoal", line
    named = re.search(r"# exit code (\d)", line)
    done = CliRunner().invoke(app, words[1:])
    code = done.exception.exit_code if isinstance(done.exception, ShoalError) else done.exit_code
    assert code == (int(named[1]) if named else 0), (line, done.output, done.exception)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_it_is_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "SHOAL_LEDGER" in page.read_text(encoding="utf-8"):
        monkeypatch.setenv("SHOAL_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    known = blocks(page)
    assert known
    for language, code in known:
        if language == "python":
            exec(compile(code, str(page), "exec"), {})
        elif not language:
            for line in code.strip().splitlines():
                run(line)
    assert AFTERWARDS.get(page.stem, lambda: True)()
