"""Crest, TCloseMST and MST as groupers: the paper's example, bad input, ties, units."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shoal import Schema
from shoal.conform import prepare
from shoal.errors import ColumnError, GuaranteeError, InputError, ParameterError, SchemaError
from shoal.group import mix
from shoal.group.crest import Crest
from shoal.group.mix import jensen_shannon
from shoal.group.mst import MST, TCloseMST
from shoal.params import build, to_dict

ALL = [MST, TCloseMST, Crest]
BY_CLASS = [TCloseMST, Crest]


def groups_of(labels):
    labels = np.asarray(labels)
    return {frozenset(np.flatnonzero(labels == g).tolist()) for g in set(labels.tolist())}


def survey(n=60, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, classes, n)
    return pl.DataFrame(
        {
            "age": rng.uniform(20, 80, n) + 5 * ill,  # distinct: no two records can be exchanged
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(["a", "b", "c"], n),
            "ill": np.array(["no", "mild", "bad", "worse"])[ill],
        }
    )


SCHEMA = Schema.of(quasi=["age", "sex", "town"], sensitive=["ill"])

# Figures 1 and 2 as far as the text tells: three loops of near points, one all circles (positive), two all squares
# (negative), so that a group across the loops has the overall class_mix. The paper doesn't print the coordinates.
NINE = pl.DataFrame(
    {
        "age": [33, 34, 35, 44, 43, 46, 56, 58, 58],
        "weight": [65, 72, 80, 62, 70, 76, 64, 73, 80],
        "result": ["negative"] * 3 + ["positive"] * 3 + ["negative"] * 3,
    }
)
NINE_SCHEMA = Schema.of(quasi=["age", "weight"], sensitive=["result"])


def test_worked_divergences():
    overall = np.array([3, 6])
    circles, squares, mixed = jensen_shannon(np.array([[3, 0], [0, 3], [1, 2]]), overall)
    assert (round(circles, 3), round(squares, 3), mixed) == (0.459, 0.191, 0.0)
    weighted = (3 * circles + 3 * squares + 3 * squares) / 9
    assert round(weighted, 3) == 0.280  # printed as 0.323, with KLD 0.585 in the place of JSD 0.459


def test_nine_points_by_distance_are_homogeneous():
    for seed in range(5):
        labels = MST(k=3).assign(NINE, NINE_SCHEMA, seed=seed)
        assert groups_of(labels) == {frozenset({0, 1, 2}), frozenset({3, 4, 5}), frozenset({6, 7, 8})}


def test_nine_points_by_crest_have_the_overall_mix():
    for seed in range(5):
        labels = Crest(k=3).assign(NINE, NINE_SCHEMA, seed=seed)
        found = [sorted(NINE["result"].filter(pl.Series(labels == g))) for g in set(labels)]
        assert found == [["negative", "negative", "positive"]] * 3


@pytest.mark.parametrize("grouper", ALL)
@pytest.mark.parametrize("k", [2, 5, 30])
def test_every_group_has_k(grouper, k):
    labels = grouper(k=k).assign(survey(), SCHEMA, seed=1)
    assert np.bincount(labels).min() >= k
    assert labels.min() == 0


@pytest.mark.parametrize("grouper", [*ALL, lambda k: Crest(k=k, alpha=1.0), lambda k: Crest(k=k, alpha=0.0)])
def test_the_order_of_the_file_changes_nothing(grouper):
    table = survey()
    order = np.random.default_rng(9).permutation(len(table))
    first = grouper(k=4).assign(table, SCHEMA, seed=3)
    second = grouper(k=4).assign(table[order], SCHEMA, seed=3)
    assert groups_of(first[order]) == groups_of(second)


@pytest.mark.parametrize("grouper", ALL)
def test_units_stay_together(grouper):
    table = survey(80).with_columns(who=pl.Series(np.random.default_rng(2).integers(0, 40, 80)))
    schema = Schema.of(quasi=["age", "sex", "town"], sensitive=["ill"], unit="who")
    labels = grouper(k=4).assign(table, schema, seed=1)
    by_person = table.select("who").with_columns(label=pl.Series(labels)).unique()
    assert by_person["who"].is_unique().all()
    assert by_person["label"].value_counts()["count"].min() >= 4


def test_t_holds_in_every_column():
    table = survey(150).with_columns(smoker=pl.Series(np.random.default_rng(4).choice(["y", "n"], 150)))
    schema = Schema.of(quasi=["age", "sex", "town"], sensitive=["ill", "smoker"])
    labels = TCloseMST(k=3, t=0.15).assign(table, schema, seed=1)
    assert len(set(labels)) > 3
    for name in ("ill", "smoker"):
        codes = np.unique(table[name].to_numpy(), return_inverse=True)[1]
        overall = np.bincount(codes) / len(codes)
        for g in set(labels):
            shares = np.bincount(codes[labels == g], minlength=len(overall)) / (labels == g).sum()
            assert abs(shares - overall).sum() / 2 <= 0.15 + 1e-12


def test_t_0_keeps_the_mix_and_t_1_is_the_plain_tree():
    table = survey()
    plain = MST(k=3).assign(table, SCHEMA, seed=1)
    free = TCloseMST(k=3, t=1.0).assign(table, SCHEMA, seed=1)
    assert len(groups_of(free)) == len(groups_of(plain))
    even = table.with_columns(ill=pl.Series(["no", "bad"] * 30))
    for g in groups_of(TCloseMST(k=3, t=0.0).assign(even, SCHEMA, seed=1)):
        assert len(g) % 2 == 0


def test_crest_mixes_better_than_distance_alone():
    from shoal.risk.class_disclosure import class_mix

    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, 500)
    x = rng.normal(size=(500, 3)) + ill[:, None]
    table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "ill": ill.astype(str)})
    schema = Schema.of(quasi=["a", "b", "c"], sensitive=["ill"])
    groupers = (Crest(k=5), Crest(k=5, alpha=1.0), MST(k=5))
    crest, partial, plain = (class_mix(table, schema, g.assign(table, schema, seed=1)) for g in groupers)
    assert crest.chi_square < partial.chi_square < plain.chi_square
    assert crest.mean_divergence < 0.8 * partial.mean_divergence
    assert crest.homogeneous_share < 0.5 * partial.homogeneous_share


def test_several_class_columns_together_or_each():
    table = survey(90).with_columns(smoker=pl.Series(np.random.default_rng(4).choice(["y", "n"], 90)))
    schema = Schema.of(quasi=["age"], sensitive=["ill", "smoker"], other=["sex", "town"])
    compound = Crest(k=3).group(prepare(table, schema), 1)
    each = Crest(k=3, classes="each").group(prepare(table, schema), 1)
    assert compound.notes["classes"] == 6
    assert each.notes["classes"] == 5
    assert compound.notes["class columns"] == "ill, smoker"
    assert groups_of(compound.labels) != groups_of(each.labels)
    one = Schema.of(quasi=["age"], sensitive=["ill"], other=["sex", "town", "smoker"])
    same = [Crest(k=3, classes=how).assign(table, one, seed=1) for how in ("compound", "each")]
    assert same[0].tolist() == same[1].tolist()


def test_the_scale_shifts_the_weight_of_distance():
    table, J = survey(100), 3
    unit = Crest(k=4, alpha=0.3, scale="unit").assign(table, SCHEMA, seed=1)
    alpha = 0.3 * np.sqrt(J) / (0.3 * np.sqrt(J) + 0.7)  # 0.3·L·sqrt(J) : 0.7 as alpha : 1 - alpha
    published = Crest(k=4, alpha=float(alpha)).assign(table, SCHEMA, seed=1)
    assert groups_of(unit) == groups_of(published)
    assert groups_of(unit) != groups_of(Crest(k=4, alpha=0.3).assign(table, SCHEMA, seed=1))


@pytest.mark.parametrize("grouper", BY_CLASS)
def test_a_class_with_one_record_works_and_is_said(grouper):
    table = survey().with_columns(ill=pl.Series(["rare", *["no", "bad"] * 29, "no"]))
    grouping = grouper(k=5).group(prepare(table, SCHEMA), 1)
    assert grouping.notes["classes with a single record"] == 1
    assert np.bincount(grouping.labels).min() >= 5


@pytest.mark.parametrize("grouper", ALL)
def test_duplicates_work(grouper):
    table = pl.DataFrame({"age": [1, 2] * 20, "ill": ["y", "n", "n", "y"] * 10})
    labels = grouper(k=3).assign(table, Schema.of(quasi=["age"], sensitive=["ill"]), seed=1)
    assert np.bincount(labels).min() >= 3
    same = pl.DataFrame({"age": [5] * 20, "ill": ["y", "n", "n", "y"] * 5})
    assert np.bincount(grouper(k=3).assign(same, Schema.of(quasi=["age"], sensitive=["ill"]), seed=1)).min() >= 3


@pytest.mark.parametrize("grouper", BY_CLASS)
@pytest.mark.parametrize(
    ("sensitive", "kinds", "error", "words"),
    [
        ([], {}, SchemaError, "needs a class column"),
        (["cost"], {}, SchemaError, "declare it nominal or ordinal"),
        (["cost"], {"cost": "nominal"}, ColumnError, "at least two classes"),
    ],
)
def test_unusable_classes(grouper, sensitive, kinds, error, words):
    table = survey().with_columns(cost=pl.lit(77))
    rest = [name for name in ("ill", "cost") if name not in sensitive]
    schema = Schema.of(quasi=["age", "sex", "town"], sensitive=sensitive, other=rest, kinds=kinds)
    with pytest.raises(error, match=words) as caught:
        grouper(k=3).assign(table, schema, seed=1)
    assert "77" not in str(caught.value)


@pytest.mark.parametrize("grouper", ALL)
def test_k_above_half_of_the_records(grouper):
    with pytest.raises(GuaranteeError, match="at least 2k = 62 persons"):
        grouper(k=31).assign(survey(60), SCHEMA)


def test_too_many_classes(monkeypatch):
    monkeypatch.setattr(mix, "_MOST_COUNTS", 100)
    with pytest.raises(InputError, match="too many classes"):
        Crest(k=3).assign(survey(), SCHEMA)


@pytest.mark.parametrize(
    ("grouper", "name"),
    [
        (Crest(alpha=1.5), "alpha"),
        (Crest(alpha=float("nan")), "alpha"),
        (Crest(neighbours=1), "neighbours"),
        (Crest(scale="other"), "scale"),
        (Crest(classes="all"), "classes"),
        (TCloseMST(t=-0.1), "t must"),
        (MST(k=1), "k must"),
    ],
)
def test_parameters_are_held_to_their_rules(grouper, name):
    with pytest.raises(ParameterError, match=name):
        grouper.assign(survey(), SCHEMA)


def test_parameters_are_read_from_words():
    words = {"k": "7", "alpha": "1/2", "neighbours": "none", "classes": "each"}
    assert build(Crest, words) == Crest(k=7, alpha=0.5, classes="each")
    assert build(Crest, to_dict(Crest(neighbours=4))) == Crest(neighbours=4)


def test_missing_classes_are_a_class_and_missing_numbers_follow_the_rule():
    table = survey().with_columns(
        age=pl.Series([None, *range(59)], dtype=pl.Float64), ill=pl.Series([None, "no", "yes"] * 20)
    )
    schema = Schema.of(quasi=["age", "sex", "town"], sensitive=["ill"], missing={"age": "drop"})
    grouping = Crest(k=4).group(prepare(table, schema), 1)
    assert grouping.notes["classes"] == 3
    assert Crest(k=4).assign(table, schema, seed=1)[0] == -1


def test_neighbourhood_size_matters_and_none_means_k():
    table = survey(120)
    default = Crest(k=6).assign(table, SCHEMA, seed=1)
    assert default.tolist() == Crest(k=6, neighbours=6).assign(table, SCHEMA, seed=1).tolist()
    assert groups_of(default) != groups_of(Crest(k=6, neighbours=2).assign(table, SCHEMA, seed=1))


def test_pandas_gives_the_same_groups():
    table = survey()
    assert (
        Crest(k=4).assign(table, SCHEMA, seed=1).tolist()
        == Crest(k=4).assign(pd.DataFrame(table.to_dict(as_series=False)), SCHEMA, seed=1).tolist()
    )
