"""The tutorial on linked tables runs as it is printed: every command and every block of Python, in order."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from shoal.cli.main import app

PAGE = Path(__file__).parents[2] / "docs/tutorials/linked-release.md"


def blocks():
    """Each block of code with its language, '' for commands."""
    return re.findall(r"```(\w*)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_three_linked_files_become_a_release(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = []
    for language, code in blocks():
        if language == "python":
            exec(compile(code, str(PAGE), "exec"), {})
            continue
        for line in code.strip().splitlines():
            words = shlex.split(line)
            assert words[0] == "shoal"
            done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
            assert done.exit_code == (5 if line == "shoal verify release" else 0), (line, done.output)
            seen.append(words[1])
    assert seen == ["schema", "schema", "risk", "coarsen", "verify", "verify", "export"]
    assert (tmp_path / "shared.xlsx").exists()
    assert "Known events" in (tmp_path / "release.internal" / "report.html").read_text()
