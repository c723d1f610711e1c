import json
import math

import numpy as np
import polars as pl
import pytest

from shoal import ColumnError, GuaranteeError, ParameterError, Schema
from shoal.datasets.discharges import discharge, discharge_schema
from shoal.dp import Account, Budget, noise
from shoal.frame import enter
from shoal.synth import PeGS, load
from shoal.synth.domain import encode_table
from shoal.synth.graph_measure import measure_graph
from shoal.synth.parents import Parents
from shoal.synth.pegs_by_table import measure
from shoal.synth.spend import Purse, total_budget

LEVELS = {"a": ["x", "y", "z"], "b": [0, 1, 2, 3], "c": [True, False]}
SCHEMA = Schema.of(identifier=["id"], quasi=["a", "b"], sensitive=["c"], levels=LEVELS)
DESIGNS = ("graph", "pairs", "tree", "conditionals")


def table(n=600, seed=1):
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 4, n)
    a = np.where(rng.random(n) < 0.9, np.minimum(b, 2), rng.integers(0, 3, n))
    return pl.DataFrame(
        {"id": np.arange(n), "a": np.array(LEVELS["a"])[a], "b": b, "c": rng.random(n) < 0.2 + 0.6 * (b > 1)}
    )


def share(rows, **cells):
    held = pl.lit(True)
    for name, value in cells.items():
        held &= pl.col(name) == value
    return rows.select(held.mean()).item()


@pytest.mark.parametrize("design", DESIGNS)
def test_large_epsilon_keeps_the_ties(design):
    rows = PeGS(epsilon=200.0, design=design).fit(table(3000), SCHEMA, seed=1).sample(6000, seed=1)
    for cells in ({"a": "x", "b": 0}, {"b": 3, "c": True}, {"a": "z", "c": False}):
        assert share(rows, **cells) == pytest.approx(share(table(3000), **cells), abs=0.03)


@pytest.mark.parametrize("design", DESIGNS)
def test_same_frame_in_and_out(design, make_frame):
    given = make_frame(table())
    out = PeGS(design=design).fit(given, SCHEMA, seed=1).sample(20, seed=1)
    assert type(out) is type(given)
    assert enter(out).columns == ["a", "b", "c"]


@pytest.mark.parametrize(
    "options",
    [{}, {"delta": 1e-9}, {"design": "pairs"}, {"design": "tree"}, {"design": "conditionals"}, {"scope": "sample"},
     {"scope": "sample", "block": 3}, {"scope": "sample", "diversity": 1.5}],
)  # fmt: skip
def test_saved_and_read_back(options, tmp_path):
    model = PeGS(epsilon=2.0, **options).fit(table(), SCHEMA, seed=1)
    model.sample(7)
    internal = options.get("scope") == "sample"
    if internal:
        with pytest.raises(GuaranteeError, match="must not leave the secure environment"):
            model.save(tmp_path / "model.json")
        assert not (tmp_path / "model.json").exists()
    model.save(tmp_path / "model.json", internal=internal)
    back = load(tmp_path / "model.json")
    assert (back.claims, back.spent, back.releasable) == (model.claims, model.spent, model.releasable)
    assert back.sample(9, seed=2).schema == model.sample(9, seed=2).schema
    if not internal:
        words = (tmp_path / "model.json").read_text()
        assert json.loads(words)["releasable"] is True


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_the_bill_is_the_stated_price(design, delta):
    """What OpenDP's maps say for every purchase is its price, and prices add up to no more than was promised."""
    pegs = PeGS(epsilon=1.5, delta=delta, design=design)
    encoded = encode_table(table(3000), SCHEMA, bins=4, missing="level", public=True, owner="test")
    total = total_budget(1.5, delta)
    purse = Purse(left=total)
    if design == "conditionals":
        from shoal.synth.pegs_by_table import fit_conditionals

        fit_conditionals(
            pegs, encoded, Parents.of(pegs, encoded.domain), purse, np.random.default_rng(1), pegs.unit(SCHEMA)
        )
    elif design == "graph":
        measure_graph(pegs, encoded, Parents.of(pegs, encoded.domain), purse)
        assert purse.spent == total
        assert purse.left.empty
    else:
        measure(pegs, encoded, Parents.of(pegs, encoded.domain), purse, np.random.default_rng(1))
        assert purse.spent == total
        assert purse.left.empty
    assert total.covers(purse.spent)
    for bought in purse.bought:
        if bought.scale and bought.what != "distance of the other pairs":
            tables = 1 if bought.what == "pair table" or design == "graph" else 3
            map_ = (
                noise.gaussian_rho(bought.scale, math.sqrt(tables))
                if delta
                else noise.laplace_epsilon(bought.scale, tables)
            )
            price = bought.price.rho if delta else bought.price.epsilon
            assert 0.999 * price <= map_ <= price
    if delta:
        assert purse.spent.to_approximate(delta).epsilon <= 1.5
        assert purse.spent.rho >= 0.79 * total.rho
    else:
        assert purse.spent.epsilon >= 0.79 * 1.5


def test_few_records_get_margins_only():
    model = PeGS(epsilon=0.1, design="pairs").fit(table(), SCHEMA)
    assert "0 of 3 pairs" in model.notes[-1]
    assert model.independent
    assert model.notes[0].startswith("Columns are independent")
    assert 0.1 < model.epsilon_needed < 3
    again = PeGS(epsilon=20 * model.epsilon_needed, design="pairs").fit(table(), SCHEMA)
    assert (again.independent, again.epsilon_needed) == (False, None)
    assert model.sample(10).height == 10


def test_claims_of_the_data_set():
    claim = PeGS(epsilon=0.7).fit(table(), SCHEMA).claims[0]
    assert (claim.kind, claim.value, claim.scope, claim.basis) == ("epsilon-DP", 0.7, "per data set", "proved")
    claim = PeGS(epsilon=0.7, delta=1e-6).fit(table(), SCHEMA).claims[0]
    assert claim.kind == "(epsilon, delta)-DP"
    assert any("public knowledge" in text for text in claim.assumptions)
    published = PeGS(choose="mutual-information").fit(table(), SCHEMA)
    assert published.claims[0].basis == "published"
    assert not published.releasable


def test_columns_stand_in_the_order_of_the_schema():
    data = table().select("c", "id", "b", "a")
    assert PeGS().fit(data, SCHEMA).sample(3).columns == ["a", "b", "c"]


def test_a_unit_is_named_in_the_assumptions():
    schema = Schema.of(unit="id", quasi=["a", "b"], sensitive=["c"], levels=LEVELS)
    claim = PeGS().fit(table(), schema).claims[0]
    assert any("held to that" in text for text in claim.assumptions)
    assert any("was not checked" in text for text in PeGS().fit(table(), SCHEMA).claims[0].assumptions)


def test_claims_by_row_state_row_and_data_set():
    model = PeGS(epsilon=0.5, scope="sample", choose="given", parents={"a": ["b"]}).fit(table(), SCHEMA)
    assert [claim.scope for claim in model.claims] == ["per row"]
    assert model.sample(30).height == 30
    assert [(claim.scope, claim.value) for claim in model.claims] == [("per row", 0.5), ("per data set", 15.0)]
    model.sample(10)
    assert model.spent == Budget(epsilon=20)
    assert model.alpha == pytest.approx(1 / math.expm1(0.5 / 3), rel=1e-4)


def test_claims_by_block():
    model = PeGS(epsilon=0.5, scope="sample", block=10, choose="given", parents={"a": ["b"]}).fit(table(), SCHEMA)
    model.sample(35)
    assert [(claim.scope, claim.value) for claim in model.claims] == [("per block", 0.5), ("per data set", 2.0)]


def test_a_seed_costs_the_claim_by_row():
    model = PeGS(scope="sample").fit(table(), SCHEMA)
    one, two = model.sample(50, seed=4), model.sample(50, seed=4)
    assert one.equals(two)
    assert model.claims == ()
    assert not model.sample(50).equals(model.sample(50))


def test_seeds_repeat_the_draw_from_noisy_tables():
    model = PeGS().fit(table(), SCHEMA)
    assert model.sample(50, seed=4).equals(model.sample(50, seed=4))
    assert model.claims


def test_prices_before_the_fit():
    price = PeGS(epsilon=2.0).price()
    assert price.per_data_set == Budget(epsilon=2)
    assert sum(price.shares.values(), Budget(epsilon=0)) == Budget(epsilon=2)
    by_row = PeGS(epsilon=0.1, scope="sample", block=10).price(rows=1000)
    assert by_row.per_data_set == Budget(epsilon=10.1)
    assert by_row.per_row == Budget(epsilon=0.01)
    assert "ε = 10.1" in str(by_row)
    assert json.dumps(by_row.to_dict())


def test_account_is_charged_first(tmp_path):
    (tmp_path / "t.csv").write_text("x")
    account = Account.open(tmp_path / "t.csv", limit=Budget(epsilon=1.5))
    PeGS(epsilon=1.0).fit(table(), SCHEMA, account=account)
    assert account.spent == Budget(epsilon=1)
    with pytest.raises(GuaranteeError):
        PeGS(epsilon=1.0).fit("not even looked at", SCHEMA, account=account)
    assert account.spent == Budget(epsilon=1)
    model = PeGS(epsilon=0.1, scope="sample", choose="given", parents={"a": ["b"]}).fit(
        table(), SCHEMA, account=account
    )
    model.sample(4)
    assert account.spent == Budget(epsilon=1.4)
    with pytest.raises(GuaranteeError):
        model.sample(4)
    assert (account.spent, model.spent) == (Budget(epsilon=1.4), Budget(epsilon=0.4))


@pytest.mark.parametrize("options", [{}, {"design": "conditionals"}, {"scope": "sample", "epsilon": 8.0}])
def test_rules_hold_in_every_row(options):
    rows = PeGS(**options).fit(discharge(2000, seed=1), discharge_schema(), seed=1).sample(500)
    for rule in discharge_schema().rules:
        assert not rule.broken({name: rows[name] for name in rows.columns}).any()


def test_rules_reach_into_bins():
    schema = Schema.of(
        quasi=["kind", "age"],
        levels={"kind": ["newborn", "other"]},
        bounds={"age": (0, 99)},
        rules=[{"when": {"kind": ["newborn"]}, "then": {"age": {"max": 0}}}],
    )
    data = pl.DataFrame({"kind": ["newborn"] * 300 + ["other"] * 300, "age": [0] * 300 + [50] * 300})
    rows = PeGS(epsilon=100.0, bins=10).fit(data, schema, seed=1).sample(600, seed=1)
    born = rows.filter(pl.col("kind") == "newborn")
    assert born["age"].max() == 0
    assert born.height == pytest.approx(300, abs=90)


def test_missing_values_are_kept_where_there_are_many():
    data = table(3000).with_columns(pl.when(pl.col("b") == 3).then(None).otherwise(pl.col("a")).alias("a"))
    rows = PeGS(epsilon=5.0).fit(data, SCHEMA, seed=1).sample(3000, seed=1)
    assert rows["a"].null_count() == pytest.approx(data["a"].null_count(), rel=0.1)
    assert PeGS(epsilon=5.0).fit(table(3000), SCHEMA, seed=1).sample(3000)["a"].null_count() == 0


def test_start_rows_steer_gibbs_sampling():
    parents = {"a": ["b"], "b": ["a"], "c": ["b"]}
    model = PeGS(epsilon=300.0, scope="sample", choose="given", parents=parents).fit(table(), SCHEMA)
    start = pl.DataFrame({"a": ["x"], "b": [0], "c": [True]})
    assert share(model.sample(300, start=start), b=0) > 0.6


def test_a_column_with_one_level_and_one_column_alone():
    one = Schema.of(quasi=["a"], levels={"a": ["only"]})
    data = pl.DataFrame({"a": ["only"] * 5})
    for options in ({}, {"design": "tree"}, {"design": "conditionals"}, {"scope": "sample"}):
        model = PeGS(missing="refuse", **options).fit(data, one)
        assert model.sample(3)["a"].to_list() == ["only"] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be a number greater than 0"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"delta": 0.0}, "delta must be"),
        ({"passes": 0}, "passes must be"),
        ({"scope": "row"}, "scope must be"),
        ({"choose": "given"}, "needs parents"),
        ({"block": 10}, "block belongs to scope='sample'"),
        ({"diversity": 2.0}, "diversity belongs to scope='sample'"),
        ({"scope": "sample", "delta": 1e-6}, "delta belongs to scope='dataset'"),
        ({"scope": "sample", "block": 2, "diversity": 2.0}, "can't be combined"),
        ({"scope": "sample", "diversity": 2.5, "missing": "refuse"}, "levels of column 'c'"),
        ({"parents": {"a": ["a"]}}, "of 'a' must be other columns"),
        ({"parents": {"a": ["b", "b"]}}, "of 'a' must be other columns"),
        ({"parents": {"nobody": ["a"]}}, "no released column 'nobody'"),
        ({"parents": {"a": ["id"]}}, "no released column 'id'"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        PeGS(**options).fit(table(), SCHEMA)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "7"])
def test_number_of_rows(n):
    with pytest.raises(ParameterError, match="n must be a whole number, at least 1"):
        PeGS().fit(table(), SCHEMA).sample(n)


def test_number_of_rows_by_row_must_be_told():
    with pytest.raises(ParameterError, match="n must be given"):
        PeGS(scope="sample").fit(table(), SCHEMA).sample()


def test_default_number_of_rows_is_noisy():
    assert abs(PeGS(epsilon=1.0).fit(table(), SCHEMA).sample().height - 600) < 200


def test_start_rows_outside_the_domain():
    model = PeGS(scope="sample").fit(table(), SCHEMA)
    with pytest.raises(ColumnError, match="column 'a'.*1 values outside"):
        model.sample(5, start=pl.DataFrame({"a": ["quux"], "b": [0], "c": [True]}))
    assert model.spent == Budget(epsilon=1)  # the choice of parents; no row was paid for
    with pytest.raises(ParameterError, match="start rows have no effect here"):
        PeGS().fit(table(), SCHEMA).sample(5, start=table().head(1))


def test_level_outside_the_public_domain():
    with pytest.raises(ColumnError, match="column 'a'"):
        PeGS().fit(table().with_columns(a=pl.lit("quux")), SCHEMA)


def test_rows_have_no_gaps_that_no_record_has():
    """Row by row every cell is drawn now and then, so a missing cell would show in most rows at a small ε."""
    rows = PeGS(scope="sample", epsilon=1.0).fit(table(), SCHEMA).sample(500)
    assert sum(rows.null_count().row(0)) == 0
    gaps = table().with_columns(a=pl.when(pl.col("b") > 0).then("a"))
    with pytest.raises(ColumnError, match="missing='level'"):
        PeGS(scope="sample").fit(gaps, SCHEMA)
    assert PeGS(scope="sample", missing="level").fit(gaps, SCHEMA).sample(300)["a"].null_count() > 0
