import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Schema, risk
from shoal.coarsening.generalize import Generalize
from shoal.conform import prepare
from shoal.errors import ColumnError, GuaranteeError, ParameterError, SchemaError


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "zip": rng.choice(["02139", "02140", "02141", "10001", "94110"], n),
            "sex": rng.choice(["f", "m", None], n).tolist(),
            "ill": rng.choice(["no", "yes", "perhaps"], n, p=[0.6, 0.3, 0.1]),
            "cost": rng.integers(0, 20, n),
        }
    )


SCHEMA = Schema.of(
    quasi=["age", "zip", "sex"], sensitive=["ill", "cost"], kinds={"sex": "nominal"}, bounds={"age": (0, 120)}
)


def released(table, schema, method, seed=0):
    """The table as it would be written, without the runner."""
    prepared = prepare(table, schema)
    done = method.apply(prepared, seed)
    written = table.with_columns(**done.columns).filter(pl.Series(done.kept))
    return done, written


@pytest.mark.parametrize("loss", ["granularity", "precision", "entropy", "discernibility"])
@pytest.mark.parametrize("suppression", [0, 0.05, 0.2])
def test_every_class_holds_k_within_the_suppression_limit(loss, suppression):
    table = people()
    done, written = released(table, SCHEMA, Generalize(k=5, suppression=suppression, loss=loss))
    assert risk.classes(written, Schema.of(quasi=["age", "zip", "sex"], sensitive=["ill"], other=["cost"])).k >= 5
    assert (~done.kept).mean() <= suppression
    assert done.details["suppressed_share"] == pytest.approx((~done.kept).mean())
    assert done.details["n_classes"] == written.select("age", "zip", "sex").n_unique()
    assert done.details["optimal"]
    assert done.details["bound"] == done.details["loss"]
    assert json.loads(json.dumps(done.details)) == done.details
    assert {name for name, level in done.details["levels"].items() if level} == set(done.columns)


@pytest.mark.parametrize(
    ("wanted", "measure"),
    [
        ({"diversity": 3}, lambda d: d.distinct_l >= 3),
        ({"diversity": "entropy:1.8"}, lambda d: d.entropy_l >= 1.8 - 1e-9),
        ({"diversity": "recursive:3,2"}, lambda d: d.recursive_l >= 2),
        ({"closeness": 0.2}, lambda d: d.t <= 0.2 + 1e-9),
    ],
)
@pytest.mark.parametrize("suppression", [0, 0.1])
def test_conditions_hold_in_the_measured_classes_of_the_release(wanted, measure, suppression):
    done, written = released(people(), SCHEMA, Generalize(k=3, suppression=suppression, **wanted))
    report = risk.classes(written, SCHEMA)
    assert report.k >= 3
    assert all(measure(diversity) for diversity in report.sensitive.values())
    assert (~done.kept).mean() <= suppression


def test_k_counts_persons_not_rows():
    """One person with five rows is no class of five."""
    table = pl.DataFrame(
        {"who": [1] * 5 + [2, 3, 4, 5, 6, 7], "sex": ["f"] * 5 + ["m"] * 6, "town": ["a"] * 5 + ["a", "b"] * 3}
    )
    schema = Schema.of(quasi=["sex", "town"], unit="who")
    done, _ = released(table, schema, Generalize(k=3, suppression=0))
    assert done.details["levels"]["sex"] == 1
    done, written = released(table.drop("who"), Schema.of(quasi=["sex", "town"]), Generalize(k=3, suppression=0))
    assert done.details["levels"] == {"sex": 0, "town": 0}
    assert len(written) == 11


def test_rows_with_missing_values_are_counted():
    """They are a level of their own, so that k isn't overstated by leaving them out."""
    table = pl.DataFrame({"sex": ["f"] * 5 + ["m"] * 5 + [None] * 2})
    schema = Schema.of(quasi=["sex"])
    done, written = released(table, schema, Generalize(k=3, suppression=0))
    assert written["sex"].to_list() == ["*"] * 12
    done, written = released(table, schema, Generalize(k=3, suppression=0.2))
    assert done.details["levels"] == {"sex": 0}
    assert done.kept.sum() == 10
    done, _ = released(table, schema, Generalize(k=2, suppression=0))
    assert done.kept.all()
    assert done.columns == {}


def test_suppressed_rows_are_no_class():
    table = pl.DataFrame({"town": ["a"] * 50 + ["b", "c", "d", "e", "f"]})
    done, written = released(table, Schema.of(quasi=["town"]), Generalize(k=3, suppression=0.1))
    assert done.kept.sum() == 50
    assert done.details["n_classes"] == 1
    assert written["town"].to_list() == ["a"] * 50


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_the_order_of_rows_plays_no_part_and_neither_does_the_seed(seed):
    table = people(120, seed)
    order = np.random.default_rng(seed).permutation(len(table))
    method = Generalize(k=4, suppression=0.1)
    done, _ = released(table, SCHEMA, method, seed=1)
    again, _ = released(table[order], SCHEMA, method, seed=2)
    assert again.details["levels"] == done.details["levels"]
    assert again.kept.tolist() == done.kept[order].tolist()


def test_the_input_stays_as_it_was_and_any_frame_serves():
    pd = pytest.importorskip("pandas")
    table = people()
    before = table.clone()
    done, _ = released(table, SCHEMA, Generalize(k=5))
    assert table.equals(before)
    other = Generalize(k=5).apply(prepare(pd.DataFrame(table.to_dict(as_series=False)), SCHEMA), 0)
    assert other.details["levels"] == done.details["levels"]


def test_limits_and_importance():
    done, _ = released(people(), SCHEMA, Generalize(k=5, limits={"zip": 0, "age": 2}))
    assert done.details["levels"]["zip"] == 0
    assert done.details["levels"]["age"] <= 2
    light, _ = released(people(), SCHEMA, Generalize(k=5, importance={"age": 0.01}))
    heavy, _ = released(people(), SCHEMA, Generalize(k=5, importance={"age": 100}))
    assert heavy.details["levels"]["age"] < light.details["levels"]["age"]


def test_k_out_of_reach_says_what_would_make_it_reachable():
    method = Generalize(k=30, suppression=0.01, limits={"zip": 0, "sex": 0})
    with pytest.raises(GuaranteeError) as caught:
        released(people(), SCHEMA, method)
    error = caught.value
    assert error.exit_code == 3
    assert "lower k to" in str(error)
    assert "raise the limits" in str(error)
    needed = float(str(error).split("Allow suppression=")[1].split(",")[0])
    reachable = int(str(error).split("lower k to ")[1].split(",")[0])
    limits = {"zip": 0, "sex": 0}
    released(people(), SCHEMA, Generalize(k=30, suppression=needed, limits=limits))
    released(people(), SCHEMA, Generalize(k=reachable, suppression=0.01, limits=limits))
    with pytest.raises(GuaranteeError):
        released(people(), SCHEMA, Generalize(k=reachable + 1, suppression=0.01, limits=limits))
    with pytest.raises(GuaranteeError):
        released(people(), SCHEMA, Generalize(k=30, suppression=needed - 0.005, limits=limits))


def test_conditions_out_of_reach():
    table = people().with_columns(ill=pl.Series(["no"] * 399 + ["yes"]))
    with pytest.raises(GuaranteeError, match="less diversity or closeness"):
        released(table, SCHEMA, Generalize(k=5, diversity="entropy:1.9"))
    with pytest.raises(GuaranteeError, match="persons"):
        released(people(4), SCHEMA, Generalize(k=5))
    with pytest.raises(GuaranteeError, match="too few values"):
        released(people(), SCHEMA, Generalize(k=5, diversity=4))


def test_bad_input():
    with pytest.raises(SchemaError, match="quasi-identifier"):
        released(people().select("ill"), Schema.of(sensitive=["ill"]), Generalize())
    gap = Schema.of(
        quasi=["zip"],
        sensitive=["ill", "cost"],
        other=["age", "sex"],
        hierarchies={"zip": {"kind": "table", "rows": [["02139", "021"]]}},
    )
    with pytest.raises(ColumnError, match=r"'zip'.*got 4 such values") as caught:
        released(people(), gap, Generalize())
    assert "94110" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 1},
        {"k": 2.5},
        {"suppression": 1},
        {"suppression": -0.1},
        {"suppression": float("nan")},
        {"loss": "beauty"},
        {"limits": {"weight": 1}},
        {"limits": {"age": -1}},
        {"limits": {"age": 1.5}},
        {"importance": {"age": 0}},
        {"importance": {"weight": 1}},
        {"subsets": 0},
        {"seconds": 0},
        {"diversity": "many"},
        {"closeness": 2},
    ],
    ids=str,
)
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError):
        released(people(50), SCHEMA, Generalize(**wrong))


def test_subsets_are_counted_on_request():
    done, written = released(people(), SCHEMA, Generalize(k=5, subsets=2))
    smallest = done.details["smallest_in_subsets"]
    assert smallest["1"] == min(written[name].value_counts()["count"].min() for name in ("age", "zip", "sex"))
    assert smallest["1"] >= smallest["2"] >= 5


def test_a_time_limit_still_gives_a_release_that_says_it_may_not_be_optimal():
    done, written = released(people(), SCHEMA, Generalize(k=5, seconds=1e-9))
    assert not done.details["optimal"]
    assert done.details["bound"] <= done.details["loss"]
    assert any("not exhaustive" in note for note in done.notes)
    best, _ = released(people(), SCHEMA, Generalize(k=5))
    assert done.details["bound"] <= best.details["loss"] <= done.details["loss"]
    assert risk.classes(written, SCHEMA).k >= 5


def test_samarati_like_example_by_hand():
    """Six people, two columns: the loss of every node can be worked out on paper.

    Ages 20, 21, 30, 31 and 40, 41: range 21. By tens each class spans 1/21; sexes alternate, so k = 2 needs sex at
    ``*`` (loss 1) with ages by tens (1/21), or ages at ``*`` (1) with sex as it is (0).
    """
    table = pl.DataFrame({"age": [20, 21, 30, 31, 40, 41], "sex": ["f", "m"] * 3})
    schema = Schema.of(quasi=["age", "sex"], hierarchies={"age": {"kind": "intervals", "widths": [10]}})
    done, _ = released(table, schema, Generalize(k=2, suppression=0))
    assert done.details["levels"] == {"age": 2, "sex": 0}
    assert done.details["loss"] == pytest.approx(1 / 2)
    done, written = released(table, schema, Generalize(k=2, suppression=0, importance={"age": 3}))
    assert done.details["levels"] == {"age": 1, "sex": 1}
    assert done.details["loss"] == pytest.approx(3 / 4 / 21 + 1 / 4)
    assert written.rows() == [("20-29", "*")] * 2 + [("30-39", "*")] * 2 + [("40-49", "*")] * 2
