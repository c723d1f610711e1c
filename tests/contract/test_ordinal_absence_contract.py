"""A level or a reason through every method: an absence among ordered levels is never averaged with them.

0 to 4 children, and 97 for those who gave no answer: nobody has "4 children" because neighbours refused to say.
"""

import numpy as np
import polars as pl
import pytest

from shoal import (
    MDAV,
    Centroid,
    Flatten,
    Generalize,
    IndividualRanking,
    KMember,
    MarginalBootstrap,
    MicroPerturb,
    Mondrian,
    MultipleImputation,
    PeGS,
    RankSwap,
    Resample,
    Schema,
    anonymize,
    coarsen,
    synthesize,
    utility,
)
from shoal.coarsening.default_hierarchies import ladder_for
from shoal.conform import prepare
from shoal.design import Design
from shoal.distance.space import Spaces
from shoal.encode import Encoder
from shoal.frame import enter, series
from shoal.method import methods

N = 600
RNG = np.random.default_rng(11)
LEVELS = [0, 1, 2, 3, 4]
CHILDREN = RNG.choice([*LEVELS, 97], N, p=[0.3, 0.25, 0.2, 0.1, 0.02, 0.13])
TABLE = pl.DataFrame(
    {
        "children": CHILDREN,
        "age": RNG.integers(18, 80, N),
        "sex": RNG.choice(["f", "m"], N),
        "ill": RNG.choice(["no", "yes"], N),
    }
)
SHARES = {level: float((level == CHILDREN).mean()) for level in [*LEVELS, 97]}


def schema_of(**words):
    return Schema.of(
        quasi=["children", "age", "sex"],
        sensitive=["ill"],
        kinds={"children": "ordinal", "sex": "nominal", "ill": "nominal"},
        levels={"children": LEVELS, "sex": ["f", "m"], "ill": ["no", "yes"]},
        bounds={"age": (0, 120)},
        **words,
    )


SCHEMA = schema_of(missing_codes={"children": {97: "no answer"}})
KEEPS_ITS_VALUES = {"permute", "rank-swap", "shuffle", "micro-perturb", "individual-ranking", "record-swap"}
"""Masks that promise each column's values, or its absences, exactly."""


def shares(column):
    return {level: float((column == level).mean()) for level in [*LEVELS, 97]}


@pytest.mark.parametrize("mask", methods("mask"))
def test_every_mask_sets_absences_apart(mask):
    release = anonymize(TABLE, SCHEMA, group=KMember(k=15), mask=mask(), seed=3)
    written = release.table["children"]
    assert set(written.unique()) <= {*LEVELS, 97}
    assert written.null_count() == 0
    found = shares(written)
    spread = 0.05 if not mask.__name__.startswith(("Centroid", "Flatten", "PushBack")) else 0.09
    assert abs(found[97] - SHARES[97]) < spread, "absences come out as often as they went in"
    assert found[4] <= SHARES[4] + 0.03, "nobody is pulled to the highest level by those who said nothing"
    if mask.name in KEEPS_ITS_VALUES:
        assert (written == 97).sum() == (CHILDREN == 97).sum()


@pytest.mark.parametrize("center", ["mean", "medoid"])
def test_the_centre_of_a_group_is_that_of_its_levels_or_its_commonest_absence(center):
    release = anonymize(TABLE, SCHEMA, group=KMember(k=15), mask=Centroid(center=center), seed=3)
    for label in range(release.labels.max() + 1):
        own = TABLE.filter(pl.Series(release.labels == label))["children"]
        said = own.filter(own != 97)
        (written,) = release.table.filter(pl.Series(release.labels[release.source_rows] == label))["children"].unique()
        if 2 * len(said) < len(own):
            assert written == 97
        elif center == "mean":
            assert abs(written - said.mean()) <= 0.5
        else:
            assert written == said.sort()[(len(said) - 1) // 2]


def test_marginals_are_those_of_a_table_without_codes():
    """Those who answered, alone: the group's centre moves the levels no further with codes than without them."""
    answered = TABLE.filter(pl.col("children") != 97)
    alone = anonymize(answered, schema_of(), group=KMember(k=15), mask=Centroid(), seed=3).table["children"]
    mixed = anonymize(TABLE, SCHEMA, group=KMember(k=15), mask=Centroid(), seed=3).table["children"]
    said = mixed.filter(mixed != 97)
    for level in LEVELS:
        before = float((alone == level).mean())
        assert abs(float((said == level).mean()) - before) < 0.08


def test_absence_without_a_code_is_set_apart_too():
    table = TABLE.with_columns(pl.col("children").replace(97, None))
    release = anonymize(table, schema_of(missing={"children": "level"}), group=KMember(k=15), mask=Centroid(), seed=3)
    coded = anonymize(TABLE, SCHEMA, group=KMember(k=15), mask=Centroid(), seed=3)
    assert (
        release.table["children"]
        .fill_null(97)
        .value_counts()
        .sort("children")
        .equals(coded.table["children"].value_counts().sort("children"))
    )


def test_levels_that_were_not_listed_are_in_order_before_the_codes():
    schema = Schema.of(
        quasi=["children", "age"],
        sensitive=["ill"],
        kinds={"children": "ordinal"},
        missing_codes={"children": {-8: "no answer"}},
    )
    table = TABLE.drop("sex").with_columns(pl.col("children").replace(97, -8))
    (coding, _) = Encoder.of(prepare(table, schema), ["children", "age"]).codings
    assert coding.levels.to_list() == [*LEVELS, -8]
    assert coding.is_absent(np.array([4.0, 5.0])).tolist() == [False, True]


@pytest.mark.parametrize("mask", [RankSwap(percent=20), IndividualRanking(), MicroPerturb()])
def test_who_gave_no_answer_exchanges_with_nobody_who_did(mask):
    one = Schema.of(
        quasi=["children"], kinds={"children": "ordinal"}, levels={"children": LEVELS},
        missing_codes={"children": {97: "no answer"}},
    )  # fmt: skip
    release = anonymize(TABLE.select("children"), one, group=KMember(k=15), mask=mask, seed=3)
    own = TABLE["children"].to_numpy()[release.source_rows]
    if type(mask) is not MicroPerturb:
        assert ((own == 97) == (release.table["children"].to_numpy() == 97)).all()
    assert (release.table["children"] == 97).sum() == (CHILDREN == 97).sum()


def test_points_lie_as_far_apart_for_an_absence_as_for_a_reason_of_a_number():
    prepared = prepare(TABLE, SCHEMA)
    encoder = Encoder.of(prepared, ["children"])
    points = encoder.points(encoder.own_codes(prepared))
    refused, most, none = (points[value == CHILDREN][0] for value in (97, 4, 0))
    assert np.linalg.norm(refused - most) > 1, "no answer is not next to four"
    (coding,) = encoder.codings
    said = CHILDREN[CHILDREN != 97]
    assert coding.center == pytest.approx(said.mean())
    assert coding.scale == pytest.approx(said.std())
    assert none[0] == pytest.approx((0 - said.mean()) / said.std())


def test_an_absence_has_no_rank():
    """What takes neighbours in rank, or balances means, is given the levels of those who answered."""
    (coding,) = Encoder.of(prepare(TABLE, SCHEMA), ["children"]).codings
    numbers, levels = coding.numbers_and_levels(TABLE["children"])
    assert (np.isnan(numbers) == (CHILDREN == 97)).all()
    assert (levels == (CHILDREN == 97)).all()


def test_distances_of_an_absence_are_the_widest():
    prepared = prepare(TABLE, SCHEMA)
    encoder = Encoder.of(prepared, ["children"])
    (space,) = Spaces.fit(SCHEMA, encoder, encoder.own_codes(prepared))
    levels = np.arange(5.0)
    assert (space.distance(np.full(5, 5.0), levels) == 4).all()
    assert space.distance(np.array([0.0]), np.array([3.0])).tolist() == [3.0]


@pytest.mark.parametrize("mask", [Centroid(), Flatten(), Resample()])
@pytest.mark.parametrize("group", [KMember(k=15), MDAV(k=15)])
def test_groups_of_every_shape(group, mask):
    written = anonymize(TABLE, SCHEMA, group=group, mask=mask, seed=3).table["children"]
    assert shares(written)[4] <= SHARES[4] + 0.03


@pytest.mark.parametrize("method", [Mondrian(k=5), Generalize(k=5)])
def test_no_interval_reaches_from_a_level_to_an_absence(method):
    table = coarsen(TABLE, SCHEMA, method, seed=3).table
    assert not [cell for cell in table["children"].cast(pl.String).unique() if " to 97" in cell or "-97" in cell]


def test_merged_neighbours_are_levels_only():
    prepared = prepare(TABLE, SCHEMA)
    ladder = ladder_for(series(prepared.frame, "children"), prepared.schema["children"])
    cells = [set(ladder.written(level).cast(pl.String)) for level in range(ladder.height)]
    assert len(cells) > 2, "levels are merged by twos and by fours"
    assert all("97" in written for written in cells)
    assert not [cell for written in cells for cell in written if "97" in cell and cell != "97"]


@pytest.mark.parametrize("method", [PeGS(epsilon=50.0), MarginalBootstrap(epsilon=50.0), MultipleImputation()])
def test_every_synthesizer_draws_levels_or_absences(method):
    written = synthesize(TABLE, SCHEMA, method, rows=N).table["children"].cast(pl.String)
    assert set(written.unique()) <= {*map(str, LEVELS), "97"}
    assert abs(float((written == "97").mean()) - SHARES[97]) < 0.08
    assert abs(float((written == "4").mean()) - SHARES[4]) < 0.05


def test_moments_and_regressions_are_of_those_who_answered():
    release = TABLE.with_columns(pl.col("children").replace(4, 97))
    (moments,) = utility.moments(TABLE, release, SCHEMA, columns=["children"]).columns
    said = CHILDREN[CHILDREN != 97]
    assert moments.mean_shift == pytest.approx((said[said != 4].mean() - said.mean()) / said.std(), abs=1e-9) or (
        moments.mean_shift == pytest.approx(abs(said[said != 4].mean() - said.mean()) / said.std(), abs=1e-9)
    )


def test_a_design_has_an_indicator_for_an_absence():
    prepared = prepare(TABLE, SCHEMA)
    design = Design.learn([enter(TABLE)], np.ones(N), [prepared.schema["children"]])
    matrix = design.matrix(design.codes(enter(TABLE)), "numeric")
    assert matrix.shape == (N, 2)
    assert (matrix[:, 1] == (CHILDREN == 97)).all()
    assert (matrix[CHILDREN == 97, 0] == 0).all()
