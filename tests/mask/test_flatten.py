"""Flatten (eq 9): chosen columns become the group's medoid."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.errors import ColumnError, GuaranteeError, ParameterError
from shoal.mask.aware import Masking
from shoal.mask.flatten import Flatten
from shoal.schema import Schema

TABLE = pl.DataFrame(
    {"age": [20, 21, 29, 50, 52, 60], "place": ["p", "q", "r", "p", "p", "r"], "ill": ["n", "n", "y", "y", "n", "y"]}
)
LINE = [["", "p", "q", "r"], ["p", "0", "1", "2"], ["q", "1", "0", "1"], ["r", "2", "1", "0"]]
SCHEMA = Schema.of(quasi=["age", "place"], sensitive=["ill"], metrics={"place": {"kind": "matrix", "rows": LINE}})
LABELS = np.array([0, 0, 0, 1, 1, 1])


def state(names=("age", "place")):
    prepared = prepare(TABLE, SCHEMA)
    encoder = Encoder.fit(prepared, names)
    return Masking(prepared=prepared, encoder=encoder, codes=encoder.codes(prepared.frame), labels=LABELS, minimum=3)


def read(done):
    return done.encoder.decode(done.codes, done.prepared.frame, done.prepared.frame).to_native()


def test_all_columns_become_medoids_of_their_own_metric():
    done = Flatten().apply(state(), np.random.default_rng(0))
    table = read(done)
    assert table["age"].to_list() == [21] * 3 + [52] * 3
    assert table["place"].to_list() == ["q"] * 3 + ["p"] * 3  # q lies between p and r, p is the mode
    assert done.records[0]["mask"] == "flatten"


def test_only_chosen_columns_change():
    before = state()
    for columns in (["age"], ("age",)):
        done = Flatten(columns=columns).apply(before, np.random.default_rng(0))
        assert (done.codes[:, 1] == before.codes[:, 1]).all()
        assert len(np.unique(done.codes[:, 0])) == 2
    assert "place" in Flatten(columns=["age"]).caveats(before)[0]
    assert Flatten(columns=["age", "place"]).caveats(before) == ()


@pytest.mark.parametrize("columns", [["zip"], []])
def test_unknown_columns(columns):
    with pytest.raises(ParameterError, match="columns must be quasi-identifiers or sensitive columns.*: age, place"):
        Flatten(columns=columns).apply(state(), np.random.default_rng(0))


def test_a_centre_nobody_has_over_the_whole_domain():
    table = pl.DataFrame({"place": ["p", "r", "s"] * 2})
    hub = [["", "p", "q", "r", "s"], *([a, *(_hub(a, b) for b in "pqrs")] for a in "pqrs")]
    schema = Schema.of(
        quasi=["place"], levels={"place": list("pqrs")}, metrics={"place": {"kind": "matrix", "rows": hub}}
    )
    release = {
        centers: shoal.anonymize(
            table, schema, group=shoal.MDAV(k=6), mask=Flatten(centers=centers), seed=1
        ).table["place"].unique().to_list()
        for centers in ("values", "domain")
    }  # fmt: skip
    assert release == {"values": ["p"], "domain": ["q"]}  # q is 1 from each of the others, which are 2 apart


def _hub(a, b):
    return "0" if a == b else "1" if "q" in (a, b) else "2"


SENSITIVE = pl.DataFrame({"age": range(40), "cost": [float(i % 7) for i in range(40)], "ill": ["n", "y"] * 20})


def released(mask, table=SENSITIVE, **roles):
    schema = Schema.of(**({"quasi": ["age"], "sensitive": ["cost", "ill"]} | roles))
    return shoal.anonymize(table, schema, group=shoal.MDAV(k=5), mask=mask, seed=1)


def test_a_sensitive_column_is_flattened_where_it_is_named_and_the_claims_say_so():
    release = released([Flatten(columns=["cost"]), shoal.Centroid()])
    own = SENSITIVE.select("cost", "ill")[release.source_rows.tolist()]
    for label in np.unique(release.labels):
        rows = release.labels[release.source_rows] == label
        costs = sorted(own.filter(pl.Series(rows))["cost"].to_list())
        assert set(release.table.filter(pl.Series(rows))["cost"]) == {costs[(len(costs) - 1) // 2]}  # the lower median
    assert release.table["ill"].to_list() == own["ill"].to_list()
    bound = next(claim for claim in release.claims if claim.kind == "re-identification bound")
    assert any(text.startswith("Not as collected: cost.") for text in bound.assumptions)
    assert any("published unchanged (ill)" in text for text in bound.assumptions)
    assert all("unchanged (cost" not in claim.statement for claim in release.claims)


def test_a_flattened_column_has_no_diversity_left():
    table = SENSITIVE.select("age", ill=pl.Series(["n", "y", "z", "w"] * 10))
    group = shoal.Mixed(of=shoal.MDAV(k=5), diversity=2)
    schema = Schema.of(quasi=["age"], sensitive=["ill"])
    assert shoal.anonymize(table, schema, group=group, mask=shoal.Centroid(), seed=1).claims
    with pytest.raises(GuaranteeError, match="worst class"):
        shoal.anonymize(table, schema, group=group, mask=[Flatten(columns=["ill"]), shoal.Centroid()], seed=1).claims  # noqa: B018


def test_missing_sensitive_numbers_are_refused_by_name():
    table = SENSITIVE.with_columns(cost=pl.when(pl.col("age") > 3).then("cost"))
    with pytest.raises(ColumnError, match="'cost'.*has missing numbers.*leave it out"):
        released(Flatten(columns=["cost"]), table)


def test_rules_between_sensitive_columns_hold_after_flattening():
    rule = {"when": {"ill": ["y"]}, "then": {"cost": {"min": 1}}}
    table = SENSITIVE.with_columns(cost=pl.when(pl.col("ill") == "y").then(5.0).otherwise(0.0))
    release = released(Flatten(columns=["cost"]), table, rules=[rule])
    assert release.table.filter(pl.col("ill") == "y")["cost"].min() >= 1


def test_verified_against_the_original(tmp_path):
    release = released([shoal.Shuffle(columns=["cost", "ill"], change=0.3, divergence=1.0), shoal.Centroid()])
    release.write(tmp_path / "out")
    SENSITIVE.write_csv(tmp_path / "table.csv")
    found = shoal.verify(tmp_path / "out", original=tmp_path / "table.csv")
    assert all(check.holds for check in found.checks)
    outside, inside = ((tmp_path / name / "report.html").read_text() for name in ("out", "out.internal"))
    assert "before and after the metric mapping" in inside
    assert "metric mapping" not in outside
    assert all("Not as collected: cost and ill." in page for page in (outside, inside))


def test_a_text_is_not_a_list():
    with pytest.raises(ParameterError, match="columns must be a list"):
        Flatten(columns="age").apply(state(), np.random.default_rng(0))
