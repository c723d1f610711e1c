"""Synthetic releases: rows of nobody, claims of the model, measures kept inside."""

import json

import polars as pl
import pytest

import shoal
from shoal import GuaranteeError, ParameterError, Schema
from shoal.dp import Account, Budget
from shoal.frame import enter

LEVELS = {"gender": ["female", "male"], "age_group": list(range(8)), "income": list(range(5))}
SCHEMA = Schema.of(quasi=["gender", "age_group"], sensitive=["income"], levels=LEVELS)


@pytest.fixture(scope="module")
def table():
    return shoal.datasets.health_survey(600, seed=1).select("gender", "age_group", "income")


@pytest.fixture(scope="module")
def release(table):
    return shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=2.0), rows=200)


def test_rows_are_nobodys(release):
    assert release.table.shape == (200, 3)
    assert (release.source_rows == -1).all()
    assert release.model is not None
    assert [claim.kind for claim in release.claims] == ["epsilon-DP"]
    assert release.risk.reidentification.expected == 0
    assert 0 <= release.utility.total_variation.two_way.mean <= 1


def test_same_frame_type(make_frame, table):
    given = make_frame(table)
    out = shoal.synthesize(given, SCHEMA, shoal.MarginalBootstrap(epsilon=1.0), rows=20).table
    assert type(out) is type(given)
    assert enter(out).shape == (20, 3)


def test_what_goes_out_says_nothing_of_the_private_table(release, tmp_path):
    release.write(tmp_path / "out")
    words = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "risk" not in words
    assert "utility" not in words
    outside = (tmp_path / "out" / "report.html").read_text()
    inside = (tmp_path / "out.internal" / "report.html").read_text()
    assert "total variation" not in outside
    assert "Distributions before and after" not in outside
    assert "Distributions before and after" in inside
    assert shoal.verify(tmp_path / "out").holds
    model = shoal.synth.load(tmp_path / "out.internal" / "model.json")
    assert model.sample(5).shape == (5, 3)
    with pytest.raises(shoal.InputError, match="noise"):
        shoal.replay(tmp_path / "out.internal" / "replay.toml", pl.DataFrame())


def test_quality_is_for_inside_and_independence_is_said_first(table, tmp_path):
    others = shoal.datasets.health_survey(300, seed=2).select("gender", "age_group", "income")
    release = shoal.synthesize(table, SCHEMA, shoal.MarginalBootstrap(epsilon=2.0), rows=300, control=others)
    assert release.risk.closest.with_control
    assert release.usefulness.with_control
    assert release.utility_lines[0].name.startswith("quality score")
    release.write(tmp_path / "out")
    outside, inside = ((tmp_path / f / "report.html").read_text() for f in ("out", "out.internal"))
    for page in (outside, inside):
        summary = page[page.index("At a glance</h2>") :]
        assert summary.index("Columns are independent of each other") < summary.index("Rows drawn")
    for words in ("Quality of columns and pairs", "Models trained on the release", "contingency similarity"):
        assert words in inside
        assert words not in outside


def test_rows_with_ties_carry_no_warning(table):
    release = shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=500.0), rows=100)
    assert release.warnings == ()
    assert shoal.anonymize(table, SCHEMA, seed=1).warnings == ()


def test_an_empty_account_stops_it_before_anything(table, tmp_path):
    table.write_csv(tmp_path / "data.csv")
    account = Account.open(tmp_path / "data.csv", limit=Budget(epsilon=1.0))
    with pytest.raises(GuaranteeError):
        shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=2.0), rows=10, account=account)
    assert account.spent.empty
    made = shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=1.0), rows=10, account=account)
    assert made.spending.to_dict()["head"] == str(account.head)  # and so the manifest's
    with pytest.raises(GuaranteeError):
        shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=0.1), rows=10, account=account)


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_wrong_rows(table, rows):
    with pytest.raises(ParameterError, match="rows"):
        shoal.synthesize(table, SCHEMA, rows=rows)


def test_only_synthesizers_are_taken(table):
    with pytest.raises(ParameterError, match="synthesizer"):
        shoal.synthesize(table, SCHEMA, shoal.KMember(k=5))


def test_weights_and_identifiers_are_left_out(tmp_path):
    table = shoal.datasets.health_survey(300, seed=1).select("gender", "age_group", "weight")
    levels = {name: LEVELS[name] for name in ("gender", "age_group")}
    schema = Schema.of(quasi=["gender", "age_group"], weight="weight", levels=levels)
    release = shoal.synthesize(table, schema, shoal.PeGS(epsilon=1.0), rows=50)
    release.write(tmp_path / "out")
    assert release.table.columns == ["gender", "age_group"]
    assert shoal.verify(tmp_path / "out").holds


def test_missing_numbers_are_a_cell_of_their_own(tmp_path):
    table = pl.DataFrame({"x": [1, 2, None, 4] * 50, "g": ["a", "b"] * 100})
    schema = Schema.of(quasi=["x", "g"], bounds={"x": (0, 9)}, levels={"g": ["a", "b"]})
    release = shoal.synthesize(table, schema, shoal.PeGS(epsilon=50.0), rows=100)
    assert release.table["x"].null_count() > 0
    release.write(tmp_path / "out")


def test_rows_that_cost_more_than_is_left_cost_nothing(table, tmp_path):
    table.write_csv(tmp_path / "data.csv")
    account = Account.open(tmp_path / "data.csv", limit=Budget(epsilon=5.0))
    with pytest.raises(GuaranteeError):
        shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=0.5, scope="sample"), rows=20, account=account)
    assert account.spent.empty
    with pytest.raises(ParameterError, match="rows"):
        shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=0.5, scope="sample"), account=account)


def test_a_saved_model_does_not_escape_its_account(table, tmp_path):
    table.write_csv(tmp_path / "data.csv")
    account = Account.open(tmp_path / "data.csv", limit=Budget(epsilon=5.0))
    model = shoal.PeGS(epsilon=0.5, scope="sample").fit(table, SCHEMA, account=account)
    model.save(tmp_path / "model.json", internal=True)
    with pytest.raises(GuaranteeError, match="account"):
        shoal.synth.load(tmp_path / "model.json").sample(2)
    before = account.spent.epsilon
    shoal.synth.load(tmp_path / "model.json", account=account).sample(2)
    assert account.spent.epsilon == before + 1


def test_a_release_names_its_account_and_what_is_spent(table, tmp_path):
    data = tmp_path / "people.csv"
    data.write_text("x\n1\n")
    account = Account.open(data, limit=Budget(epsilon=3.0))
    first = shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=1.0), rows=10, account=account)
    second = shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=0.5), rows=10, account=account)
    assert (first.spending.spent, second.spending.spent) == (Budget(epsilon=1.0), Budget(epsilon=1.5))
    assert second.spending.limit == Budget(epsilon=3.0)
    assert shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=1.0), rows=10).spending is None
