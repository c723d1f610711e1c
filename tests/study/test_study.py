"""What all studies share: one protocol, one command, one page; and nothing private of other rooms."""

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

import shoal.study
from shoal.cli.study import command
from shoal.errors import FileError, ParameterError
from shoal.params import Help, Range
from shoal.report.markup import tag
from shoal.schema import Schema
from shoal.study.page import check_folder, render, write
from shoal.study.study import STUDIES, Flag, Study, find, quiet

FILES = sorted(Path(shoal.study.__file__).parent.glob("*.py"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    n: Annotated[int, Range(low=1), Flag("--rows"), Help("Rows.")] = 3
    ks: Annotated[tuple[int, ...], Flag("--k", "-k"), Help("Sizes; repeat.")] = (2, 5)
    shares: Annotated[tuple[float, ...] | None, Flag(commas=True), Help("Shares.")] = None
    age: Annotated[str | None, Help("A column; 'none' for none.")] = "age"
    workers: Annotated[int | None, Range(low=1), Help("Processes.")] = None
    scale: Annotated[Literal["range", "raw"], Help("Unit.")] = "range"


def run(
    table: Annotated[Any, Flag("--data"), Help("A file.")] = None,
    schema: Annotated[Schema | None, Flag("--schema", "-s"), Help("Its schema.")] = None,
    *,
    log: Annotated[bool, Help("Logarithms.")] = True,
    name: str = "simulated",
    settings: Settings | None = None,
    progress=quiet,
):
    progress(1, 1)
    return {"settings": settings, "table": table, "schema": schema, "log": log, "name": name}


TOY = Study(
    title="A <toy>",
    examples=("shoal study toy",),
    counted="things",
    settings=Settings,
    run=run,
    heading=lambda found: f"{found['name']} & co",
    findings=lambda found: ["It <came> out."],
    figures=lambda found: {"A figure": tag("p", "drawn")},
    measured=lambda found: ["By hand."],
    exports={"rows.csv": lambda found: [{"a": 1}, {"a": None}], "study.json": lambda found: {"x": float("nan")}},
)


@pytest.fixture
def call(tmp_path):
    app = typer.Typer()
    found = []
    study = Study(**{f: getattr(TOY, f) for f in TOY.__slots__} | {"heading": lambda r: (found.append(r), "toy")[1]})
    app.command()(command(study))

    def invoke(*words):
        result = CliRunner().invoke(app, ["--out", str(tmp_path / "out"), *map(str, words)])
        return result, found[-1] if found else None

    return invoke


def test_options_follow_from_the_settings(call, tmp_path):
    (tmp_path / "people.csv").write_text("a,b\n1,2\n")
    words = ("--rows", 7, "-k", 3, "-k", 4, "--shares", "0.2,0.8", "--age", "none", "--no-log", "--workers", 2)
    result, found = call(*words, "--scale", "raw", "--data", tmp_path / "people.csv")
    assert result.exit_code == 0, result.output
    assert found["settings"] == Settings(n=7, ks=(3, 4), shares=(0.2, 0.8), age=None, workers=2, scale="raw")
    assert found["table"].shape == (1, 2)
    assert (found["log"], found["name"], found["schema"]) == (False, "people.csv", None)
    assert "- It <came> out." in result.output


def test_what_is_left_out_is_left_to_the_settings(call):
    result, found = call()
    assert result.exit_code == 0, result.output
    assert found["settings"] == Settings()
    assert found["name"] == "simulated"


@pytest.mark.parametrize("words", [("--rows", "0"), ("--rows", "x"), ("--no-such",)])
def test_wrong_usage(call, words, tmp_path):
    assert call(*words)[0].exit_code == 2
    assert not (tmp_path / "out").exists()


def test_commas_must_be_numbers(call):
    assert isinstance(call("--shares", "some,of")[0].exception, ParameterError)


def test_the_page_and_the_files(tmp_path):
    result = run()
    write(TOY, result, tmp_path / "out")
    page = (tmp_path / "out/report.html").read_text()
    assert page == render(TOY, result)
    for text in ("A &lt;toy&gt;", "simulated &amp; co", "It &lt;came&gt; out.", "<p>drawn</p>", "By hand."):
        assert text in page
    assert page.index("What came out") < page.index("A figure") < page.index("How it was measured")
    assert (tmp_path / "out/rows.csv").read_text().split() == ["a", "1", '""']
    assert (tmp_path / "out/study.json").read_text() == '{\n "x": null\n}'
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(TOY.files)


def test_another_study_is_not_replaced(tmp_path):
    write(TOY, run(), tmp_path / "out")
    check_folder(TOY, tmp_path / "out", overwrite=True)
    with pytest.raises(FileError):
        check_folder(TOY, tmp_path / "out", overwrite=False)
    (tmp_path / "out/mine.txt").touch()
    with pytest.raises(FileError):
        check_folder(TOY, tmp_path / "out", overwrite=True)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_whole(name):
    study = find(name)
    assert all(p.help for p in study.numbers)
    assert {"settings", "progress"} <= inspect.signature(study.run).parameters.keys()
    assert all(example.startswith(f"shoal study {name} ") for example in study.examples)
    assert all(file.endswith((".html", ".csv", ".json")) for file in study.files)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_studies_use_public_names_only(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    taken = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shoal.")
        for part in (*node.module.split("."), *(name.name for name in node.names))
    }
    private = {name for name in used - own | taken if name.startswith("_") and not name.startswith("__")}
    assert private == set()
