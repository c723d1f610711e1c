"""What isn't installed is named with its remedy, before anything is computed, charged or written."""

import sys

import pytest

import shoal
from shoal.dp import Account, Budget
from shoal.errors import FileError, ParameterError
from shoal.extras import EXTRAS, need
from shoal.release.minisign import new_key


@pytest.fixture
def without(monkeypatch):
    """Take a module away: whoever imports it finds nothing."""
    from shoal.dp import noise

    def take(*names):
        for name in names:
            for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
                monkeypatch.setitem(sys.modules, loaded, None)
            monkeypatch.setitem(sys.modules, name, None)
        for cached in (noise._opendp, noise._laplace, noise._gaussian, noise._selector):
            cached.cache_clear()

    return take


@pytest.mark.parametrize("module", EXTRAS)
def test_a_missing_module_is_named_with_its_remedy(module, without):
    without(module)
    with pytest.raises(ParameterError, match=r"^it: needs the package [\w-]+\. Install it: pip install 'shoal\[\w+\]'"):
        need(module, "it")


def test_what_is_there_is_not_asked_for():
    for module in ("opendp", "altair", "sklearn", "duckdb", "opentelemetry.sdk"):
        need(module, "it")


def test_another_way_out_and_another_error(without, tmp_path):
    without("fastexcel")
    (tmp_path / "people.xlsx").write_bytes(b"PK")
    with pytest.raises(FileError, match=r"pip install 'shoal\[formats\]'. Or save the sheet as CSV.$"):
        shoal.files.read_table(tmp_path / "people.xlsx")


def test_an_anonymisation_needs_no_extra(without, tmp_path):
    without(*EXTRAS)
    table, schema = shoal.datasets.health_survey(300, seed=1), shoal.datasets.health_survey_schema()
    shoal.anonymize(table, schema).write(tmp_path / "release")
    shoal.coarsen(table, schema, shoal.Mondrian(k=5)).write(tmp_path / "coarse")
    assert (tmp_path / "release/report.html").exists()
    assert (tmp_path / "coarse/report.html").exists()


def test_signatures_are_asked_for_before_a_key_is_made_or_a_release_touched(without, tmp_path):
    table, schema = shoal.datasets.health_survey(300, seed=1), shoal.datasets.health_survey_schema()
    secret, public = new_key(tmp_path / "publisher.key")
    out = shoal.anonymize(table, schema).write(tmp_path / "release")
    shoal.sign(out, key=secret)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    without("cryptography")
    for act in (
        lambda: new_key(tmp_path / "other.key"),
        lambda: shoal.sign(out, key=secret, decision="Other"),
        lambda: shoal.verify(out, signer=public),
    ):
        with pytest.raises(ParameterError, match=r"needs the package cryptography.*shoal\[sign\]"):
            act()
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert not (tmp_path / "other.key").exists()
    assert shoal.verify(out).exit_code == 5, "what the signature vouched for is the publisher's word again"


@pytest.mark.parametrize(
    "spend",
    [
        lambda table, account: shoal.PeGS(epsilon=1.0).fit(table, shoal.datasets.pima_like_schema(), account=account),
        lambda table, account: shoal.CertifiedForest(epsilon=1.0, schema=shoal.datasets.pima_like_schema()).fit(
            table.drop("diabetes"), table["diabetes"], account=account
        ),
    ],
    ids=["synthesis", "score"],
)
def test_nothing_is_charged_without_the_noise(spend, without, tmp_path):
    table = shoal.datasets.pima_like(200, seed=1)
    table.write_csv(tmp_path / "people.csv")
    account = Account.open(tmp_path / "people.csv", limit=Budget(epsilon=5))
    without("opendp")
    with pytest.raises(ParameterError, match=r"shoal\[dp\]"):
        spend(table, account)
    assert account.spent.epsilon == 0


def test_pictures_are_asked_for_before_a_comparison_runs(without, tmp_path):
    from typer.testing import CliRunner

    from shoal.cli.main import app

    table, schema = tmp_path / "people.csv", tmp_path / "schema.toml"
    shoal.datasets.health_survey(60, seed=1).write_csv(table)
    shoal.datasets.health_survey_schema().write(schema)
    without("altair")
    done = CliRunner().invoke(app, ["compare", str(table), "-s", str(schema), "-o", str(tmp_path / "comparison")])
    assert "shoal[plots]" in str(done.exception)
    assert not (tmp_path / "comparison").exists()
