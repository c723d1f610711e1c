"""Rules between columns through every mask: held against the input, kept by the rows, counted on the file."""

import json

import numpy as np
import polars as pl
import pytest

from shoal import (
    MST,
    AddNoise,
    Centroid,
    Crest,
    GaussianDither,
    Generalize,
    GuaranteeError,
    KMember,
    MicroPerturb,
    Mondrian,
    Pram,
    Resample,
    Schema,
    SchemaError,
    Shuffle,
    TCloseMST,
    anonymize,
    coarsen,
    verify,
)
from shoal.conform import prepare
from shoal.errors import ProblemsError
from shoal.recipe.rules import blocks_of
from shoal.rng import repeatable

N = 120
RNG = np.random.default_rng(8)
AGE = RNG.integers(5, 80, N)
SEX = ["f" if i % 2 else "m" for i in range(N)]
TABLE = pl.DataFrame(
    {
        "age": AGE,
        "sex": SEX,
        "job": ["none" if age < 16 else RNG.choice(["none", "clerk", "cook"]) for age in AGE],
        "wages": 10 * AGE,
        "rent": 3 * AGE,
        "income": 13 * AGE,
        "pregnant": [
            "yes" if s == "f" and age >= 16 and i % 3 == 0 else "no"
            for i, (s, age) in enumerate(zip(SEX, AGE, strict=True))
        ],
        "child_care": ["yes" if age < 16 else "no" for age in AGE],
    }
)
RULES = [
    {"never": {"sex": ["m"], "pregnant": ["yes"]}},
    {"when": {"age": {"max": 15}}, "then": {"job": ["none"]}},
    {"when": {"child_care": ["yes"]}, "then": {"age": {"max": 15}}},
    {"sum": {"wages": 1, "rent": 1, "income": -1}, "equals": 0},
    {"order": ["rent", "wages", "income"]},
]
QUASI = ["age", "sex", "job", "wages", "rent", "income"]


def schema(rules=RULES, quasi=QUASI, **more):
    others = [name for name in TABLE.columns if name not in quasi]
    return Schema.of(quasi=quasi, sensitive=others, kinds={"sex": "nominal", "job": "nominal"}, rules=rules, **more)


def n_broken(table, rules=RULES):
    """The oracle: row by row, in plain Python."""
    found = 0
    for row in table.iter_rows(named=True):
        found += row["sex"] == "m" and row["pregnant"] == "yes"
        found += row["age"] <= 15 and row["job"] != "none"
        found += row["child_care"] == "yes" and row["age"] > 15
        found += abs(row["wages"] + row["rent"] - row["income"]) > 1e-6
        found += not row["rent"] <= row["wages"] <= row["income"]
    return found


def test_the_oracle_finds_what_masks_without_rules_break():
    assert n_broken(TABLE) == 0
    assert n_broken(anonymize(TABLE, schema(rules=[]), group=KMember(k=40), mask=Resample(), seed=1).table) > 0


@pytest.mark.parametrize("mask", [Resample(), GaussianDither(), GaussianDither(exact=True)])
def test_masks_that_hand_out_whole_rows_keep_all_rules(mask):
    release = anonymize(TABLE, schema(), group=KMember(k=5), mask=mask, seed=1)
    assert n_broken(release.table) == 0
    kinds = {claim.kind: claim for claim in release.claims}
    assert kinds["rules kept"].value == len(RULES)
    assert kinds["re-identification bound"].value == 0.2
    assert np.bincount(release.labels).min() >= 5


def test_a_centre_keeps_conditions_in_finer_blocks():
    release = anonymize(TABLE, schema(RULES[:3]), group=KMember(k=4), mask=Centroid(), seed=1)
    for row in release.table.iter_rows(named=True):
        assert not (row["sex"] == "m" and row["pregnant"] == "yes")
        assert not (row["age"] <= 15 and row["job"] != "none")
        assert not (row["child_care"] == "yes" and row["age"] > 15)


@pytest.mark.parametrize("mask", [Shuffle(), Pram(), AddNoise(columns=["age"])])
def test_a_mask_that_proves_nothing_gives_values_back_and_says_so(mask):
    release = anonymize(TABLE, schema(), group=KMember(k=5), mask=mask, seed=1)
    assert n_broken(release.table) == 0
    assert any("got its own values back" in caveat for caveat in release.caveats)
    assert not any(claim.kind == "re-identification bound" for claim in release.claims)


def test_noise_that_breaks_rules_is_refused_where_a_bound_is_proved():
    with pytest.raises(GuaranteeError, match="break the rules"):
        anonymize(TABLE, schema(), group=KMember(k=5), mask=MicroPerturb(), seed=1)


@pytest.mark.parametrize("method", [Mondrian(k=5), Generalize(k=5, suppression=0.2)])
def test_coarsened_values_hold_the_true_one_and_break_no_rule(method):
    release = coarsen(TABLE, schema(), method, seed=1)
    kept = [claim.value for claim in release.claims if claim.kind == "rules kept"]
    assert all(value < len(RULES) for value in kept)


def test_input_that_breaks_rules_is_refused_with_counts_and_all_at_once():
    odd = TABLE.with_columns(pregnant=pl.lit("yes"), income=pl.col("income") + 1)
    with pytest.raises(ProblemsError) as error:
        anonymize(odd, schema(), mask=Resample())
    assert "rule 1 (sex, pregnant)" in str(error.value)
    assert "60 rows that break it" in str(error.value)
    assert "rule 4 (wages, rent, income)" in str(error.value)


def test_numbers_compared_across_masked_and_unchanged_columns_are_refused():
    with pytest.raises(SchemaError, match="no mask can keep"):
        anonymize(TABLE, schema(RULES[3:4], quasi=QUASI[:-1]), mask=Resample())


def test_a_case_of_fewer_than_k_persons_is_named():
    few = TABLE.with_columns(
        pregnant=pl.when((pl.col("sex") == "f") & (pl.int_range(pl.len()) < 4))
        .then(pl.lit("yes"))
        .otherwise(pl.lit("no"))
    )
    with pytest.raises(GuaranteeError, match="every case that the rules tell apart"):
        anonymize(few, schema(RULES[:1]), group=KMember(k=5), mask=Resample())


def test_blocks_are_what_unchanged_columns_say():
    prepared = prepare(TABLE, schema(RULES[:3]))
    blocks = blocks_of(prepared)
    told = TABLE.select("pregnant", "child_care").rows()
    pairs = set(zip(told, blocks.tolist(), strict=True))
    assert len(pairs) == len(set(told)) == len(set(blocks.tolist()))


def test_whether_a_rule_is_broken_does_not_depend_on_who_gets_which_row():
    """The rows that a block hands out fit all of its records, so nothing was chosen by a look at who got what."""
    prepared = prepare(TABLE, schema())
    blocks = blocks_of(prepared)
    for block in range(blocks.max() + 1):
        own = TABLE.filter(pl.Series(blocks == block))
        for shift in range(1, 6):
            turned = own.select(pl.col(QUASI).shift(shift).fill_null(pl.col(QUASI).first()))
            assert n_broken(own.with_columns(turned)) == 0


def test_rows_of_a_block_are_handed_out_evenly():
    """Attack: over many keys each row of a group reaches each of its records equally often."""
    small = TABLE.filter(pl.col("pregnant") == "yes").head(5)
    table = pl.concat([small, TABLE.filter(pl.col("pregnant") == "no").head(20)])
    hits = np.zeros(120)
    for key in range(len(hits)):
        with repeatable(key):
            release = anonymize(table, schema(RULES[:1]), group=KMember(k=5), mask=Resample(replace=False), seed=1)
        place = release.source_rows.tolist().index(0)
        hits[key] = release.table["age"][place] == table["age"][0]
    alike = (small["age"] == small["age"][0]).mean()
    assert abs(hits.mean() - alike) < 4 * np.sqrt(alike * (1 - alike) / len(hits))


def test_the_written_file_is_counted_again(tmp_path):
    release = anonymize(TABLE, schema(), group=KMember(k=5), mask=Resample(), seed=1)
    release.write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["rules"] == schema().to_dict()["rules"]
    found = {check.name: check for check in verify(tmp_path / "out").checks}
    assert found["rules kept 5"].holds
    assert found["rules kept 5"].standing == "recomputed"


def test_absence_is_a_condition_and_codes_meet_no_range():
    table = pl.DataFrame({"single": ["yes", "yes", "no", "no"] * 5, "married": [None, -8, 1980, 1990] * 5})
    rules = [
        {"when": {"single": ["yes"]}, "then": {"married": {"absent": True}}},
        {"when": {"single": ["no"]}, "then": {"married": {"min": 1900}}},
    ]
    own = Schema.of(
        quasi=["single", "married"], missing={"married": "level"}, missing_codes={"married": {-8: "no"}}, rules=rules
    )
    release = anonymize(table, own, group=KMember(k=5), mask=Centroid(), seed=1)
    for row in release.table.iter_rows(named=True):
        assert (row["single"] == "yes") == (row["married"] in (None, -8))


def _with_pregnancies(n_pregnant):
    rng = np.random.default_rng(8)
    sex = ["f"] * n_pregnant + ["m", "f"] * 150
    ill = ["pregnancy"] * n_pregnant + [str(word) for word in rng.choice(["flu", "asthma", "none"], 300)]
    age = [*rng.integers(20, 40, n_pregnant).tolist(), *rng.integers(0, 90, 300).tolist()]
    table = pl.DataFrame({"sex": sex, "age": age, "ill": ill})
    rule = {"never": {"sex": ["m"], "ill": ["pregnancy"]}}
    schema = Schema.of(quasi=["sex", "age"], sensitive=["ill"], kinds={"sex": "nominal"}, rules=[rule])
    return table, schema


@pytest.mark.parametrize("n_pregnant", [7, 40])  # too few for two groups, and enough
@pytest.mark.parametrize("grouper", [Crest(k=5), TCloseMST(k=5, t=0.99), MST(k=5)])
def test_groupers_by_classes_group_what_a_rule_keeps_together_though_it_be_of_one_class(grouper, n_pregnant):
    table, schema = _with_pregnancies(n_pregnant)
    release = anonymize(table, schema, group=grouper, mask=Resample(), seed=2)
    assert np.bincount(release.labels).min() >= 5
    men = release.table.filter(pl.col("sex") == "m")
    assert "pregnancy" not in men["ill"]
    whole = [
        table.filter(pl.Series(release.labels == label))["ill"].unique().to_list() for label in set(release.labels)
    ]
    assert all(ills == ["pregnancy"] or "pregnancy" not in ills for ills in whole)


def test_what_rules_keep_apart_is_not_said_to_be_as_mixed_as_the_table():
    table, schema = _with_pregnancies(40)
    with pytest.raises(GuaranteeError, match="at most t = 0.3, and the rules keep apart"):
        anonymize(table, schema, group=TCloseMST(k=5, t=0.3), mask=Resample(), seed=2)
