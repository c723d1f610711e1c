"""`shoal market` and `shoal study` from files to report."""

import json
from html.parser import HTMLParser

import polars as pl
import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.datasets import health_survey, health_survey_schema
from shoal.errors import FileError, InputError, ParameterError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("market")
    survey = health_survey(1800, seed=1)
    health_survey_schema().write(place / "schema.toml")
    survey.head(800).write_csv(place / "members.csv")
    survey.head(1200).drop("cost").write_csv(place / "us.csv")
    new = survey.tail(600).drop("cost")
    new.write_csv(place / "ca.csv")
    areas = pl.when(pl.col("age_group") < 4).then(pl.lit("<b>young</b>")).otherwise(pl.lit("old & wise"))
    new.with_columns(area=areas, chance=0.25).write_csv(place / "areas.csv")
    return place


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def call(folder, *words):
    given = ("--members", folder / "members.csv", "--schema", folder / "schema.toml", "--bootstrap", 5, "--limit", 0.6)
    return run("market", *given, *words)


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen, self.links, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [value for key, value in attrs if key in ("href", "src")]

    def handle_data(self, data):
        self.text += data


def test_markets_of_one_file_are_ranked_and_reported(folder, tmp_path):
    out = tmp_path / "market.html"
    result = call(folder, "--existing", folder / "us.csv", "--new", folder / "areas.csv", "--by", "area", "--out", out)
    assert result.exit_code == 0, result.output
    assert result.output.index("<b>young</b>") < result.output.index("old & wise")
    page = _Page(out.read_text())
    assert "b" not in page.seen  # the market's name is text
    assert "<b>young</b>" in page.text
    assert page.seen.count("svg") == 4
    assert page.seen.count("script") == 1
    assert all(link.startswith("#") for link in page.links)
    assert "No member" in page.text


def test_several_files_as_json(folder):
    words = ("--existing", folder / "us.csv", "--new", folder / "ca.csv", "--new", folder / "areas.csv", "--json")
    result = call(folder, *words, "--cost-factor", "ca=2", "--enrolment", "members", "--group-size", 100)
    assert result.exit_code == 0, result.output
    markets = {item["name"]: item for item in json.loads(result.output)["markets"]}
    assert markets["ca"]["mean"] == pytest.approx(2 * markets["areas"]["mean"])
    assert markets["ca"]["group_size"] == 100


def test_two_populations_and_a_column_of_chances(folder):
    result = call(folder, "--new", folder / "areas.csv", "--enrolment", "chance", "--coding", "numeric", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)["markets"][0]
    assert found["enrolment"] == "by the column chance"


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        (("--new", "ca.csv", "--new", "ca.csv"), InputError, "repeats the market"),
        (("--new", "ca.csv", "--by", "area"), InputError, "'area'"),
        (("--new", "ca.csv", "--cost-factor", "nowhere=2"), ParameterError, "one of the markets"),
        (("--new", "ca.csv", "--cost-factor", "much"), ParameterError, "number"),
        (("--new", "ca.csv", "--shift", "sideways"), ParameterError, "shift"),
        (("--new", "ca.csv", "--model", "magic"), ParameterError, "model"),
        (("--new", "missing.csv"), FileError, "missing.csv"),
    ],
)
def test_wrong_words(folder, words, error, match):
    paths = [folder / word if str(word).endswith(".csv") else word for word in words]
    result = call(folder, "--existing", folder / "us.csv", *paths)
    assert isinstance(result.exception, error)
    assert match in str(result.exception)


def test_an_older_report_is_kept(folder, tmp_path):
    out = tmp_path / "market.html"
    out.write_text("old")
    result = call(folder, "--existing", folder / "us.csv", "--new", folder / "ca.csv", "--out", out)
    assert isinstance(result.exception, FileError)
    assert out.read_text() == "old"


def test_study_market_risk(tmp_path):
    words = ("--splits", 2, "--rows", 500, "--k", 5, "--simulated-regions", 2, "--draws", 1, "--workers", 1)
    result = run("study", "market-risk", "--out", tmp_path / "study", *words)
    assert result.exit_code == 0, result.output
    assert "holds" in result.output
    assert {item.name for item in (tmp_path / "study").iterdir()} == {"report.html", "results.json", "curves.csv"}
    assert isinstance(run("study", "market-risk", "--out", tmp_path / "study", *words).exception, FileError)


def test_study_plan_must_be_numbers(tmp_path):
    result = run("study", "market-risk", "--out", tmp_path / "study", "--plan", "some,of,them")
    assert isinstance(result.exception, ParameterError)
    assert not (tmp_path / "study").exists()


def test_transfer_from_files(folder, tmp_path):
    out = tmp_path / "predicted.csv"
    words = ("--task", f"us={folder / 'members.csv'}", "--task", f"other={folder / 'members.csv'}", "--target", "us")
    given = ("transfer", *words, "--new", folder / "ca.csv", "--schema", folder / "schema.toml", "--method", "logistic")
    result = run(*given, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    table = pl.read_csv(out)
    assert told["mean"] == pytest.approx(table["predicted"].mean())
    assert told["weights"]["borrowed_share"] == pytest.approx(0.5)  # the two tasks are alike
    assert "borrowed" in run(*given).output
    assert isinstance(run(*given, "--out", out).exception, FileError)
    assert isinstance(run(*given, "--task", "us=x.csv").exception, ParameterError)


def test_predictions_by_group_are_told_and_reported(folder, tmp_path):
    out = tmp_path / "market.html"
    given = ("--existing", folder / "us.csv", "--new", folder / "ca.csv", "--compare", "gender")
    result = call(folder, *given, "--out", out)
    assert result.exit_code == 0, result.output
    assert "predictions by group of members" in result.output
    assert "gender = female" in _Page(out.read_text()).text
    told = json.loads(call(folder, *given, "--json").output)["markets"][0]["parity"]
    assert {row["level"] for row in told} == {"female", "male"}
    assert all(row["interval"][0] <= row["difference"] <= row["interval"][1] for row in told)
    wrong = call(folder, "--new", folder / "ca.csv", "--compare", "race")
    assert isinstance(wrong.exception, ParameterError)
    assert "--compare: must name a column of the members; got 'race'" in str(wrong.exception)
