"""`shoal outliers`: counts on the screen and as JSON, and nothing else."""

import json

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import GuaranteeError, ParameterError, ProblemsError
from shoal.study.quantize import planted, toy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("outliers")
    for name, (table, schema) in {"toy": toy(), "planted": planted(400, share=0.02)[:2]}.items():
        table.write_csv(place / f"{name}.csv")
        schema.write(place / f"{name}.toml")
    return place


def run(folder, name, *words):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    given = ["outliers", folder / f"{name}.csv", "-s", folder / f"{name}.toml", *words]
    done = CliRunner().invoke(app, [str(word) for word in given])
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    return done


def test_toy(folder):
    done = run(folder, "toy", "--radius", "zip=20/age=10/nationality=1", "--minimum", 4, "--json")
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.output)["outliers"]
    assert (found["n_outliers"], found["n_alone"], found["n_persons"]) == (1, 1, 5)
    assert found["outlier_share"] == 0.2


def test_several_radii(folder):
    done = run(folder, "planted", "--radius", 0.3, "--radius", 0.5, "--json")
    narrow, wide = json.loads(done.output)["outliers"]
    assert narrow["n_outliers"] >= wide["n_outliers"] >= 8
    assert wide["radii"]["sex"] in (0.0, None)
    done = run(folder, "planted", "--radius", 0.3, "--shape", "ball")
    assert "Who stands out" in done.output
    assert "any" in run(folder, "planted", "--radius", 0.6).output


def test_suggested_radius(folder):
    done = run(folder, "planted")
    assert done.exit_code == 0, done.output
    assert "chosen from the data" in done.output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--radius", "near"), ParameterError),
        (("--radius", "2"), ParameterError),
        (("--radius", "zip=20"), ParameterError),
        (("--radius", "0.3", "--shape", "cube"), ParameterError),
        (("--radius", "0.3", "--minimum", "6"), GuaranteeError),
    ],
)
def test_bad_words(folder, words, error):
    assert isinstance(run(folder, "toy", *words).exception, error)


def test_schema_that_does_not_fit(folder):
    (folder / "wrong.toml").write_text('[columns.age]\nrole = "quasi"\n')
    (folder / "wrong.csv").write_text((folder / "toy.csv").read_text())
    assert isinstance(run(folder, "wrong").exception, ProblemsError)
