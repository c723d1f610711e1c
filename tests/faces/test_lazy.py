"""Commands are loaded when they are called, and their group's help says what they say."""

import subprocess
import sys

import pytest
import typer.main
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.cli.study import app as studies

ROOT = typer.main.get_command(app)
STUDIES = typer.main.get_command(studies)


def first_paragraph(command):
    return " ".join((command.help or "").split("\n\n")[0].split())


@pytest.mark.parametrize(("group", "name"), [(group, name) for group in (ROOT, STUDIES) for name in group.summaries])
def test_the_summary_is_the_commands_own(group, name):
    assert group.summaries[name] == first_paragraph(group.load(name))
    assert group.load(name).name == name


def test_help_loads_no_command():
    code = "from shoal.cli.main import app; app(['--help'], standalone_mode=False); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {name for name in loaded if name.startswith("shoal.cli.")} - {
        "shoal.cli.main",
        "shoal.cli.console",
        "shoal.cli.lazy",
        "shoal.cli.output",
    }
    assert not loaded & {"numpy", "polars", "numba", "sklearn", "opendp"}


def test_what_takes_long_to_load_is_loaded_where_it_is_used():
    code = (
        "import sys, shoal.cli.anonymize, shoal.cli.coarsen, shoal.cli.synthesize, shoal.cli.risk; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    slow = {"numba", "scipy", "sqlalchemy", "altair", "sklearn", "pandas", "pyarrow", "opendp", "duckdb", "fastapi"}
    assert not slow & set(done.stdout.split())


def test_a_typo_is_answered_with_a_guess():
    result = CliRunner().invoke(app, ["anonymise"])
    assert result.exit_code == 2
    assert "anonymize" in result.output


def test_help_of_a_command_is_its_own():
    result = CliRunner().invoke(app, ["study", "quantize", "-h"])
    assert result.exit_code == 0
    assert "--minimum" in result.output


def test_brackets_in_help_are_text_not_markup():
    output = " ".join(CliRunner().invoke(app, ["compare", "--help"], env={"COLUMNS": "200"}).output.split())
    assert "[default: number of cores]" in output
    assert "[[recipe]] tables" in output
