"""Columns are joined by what they carry: renamed, in cents, recoded, rounded; and people under other identifiers.

The intruder of these tests reads the two written files with Polars, knows everybody's true quasi-identifiers, joins the
tables on whatever carries the same, and counts how many rows each person may be. Nothing of Shoal takes part.
"""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.summary import registered
from shoal.errors import GuaranteeError
from shoal.ledger import Ledger

N, K = 300, 5
BY_AGE = {"age": {"kind": "bins", "edges": list(range(0, 101, 10))}, "zip": {"kind": "star"}}
BY_ZIP = {"age": {"kind": "star"}, "zip": {"kind": "prefix", "keep": 2}}


def schema_of(table, quasi=("age", "zip"), **more):
    beside = [name for name in table.columns if name not in ("id", *quasi, *more.get("other", ()))]
    kinds = {"age": "numeric", "zip": "nominal"} | {
        name: "numeric" if table[name].dtype.is_numeric() else "nominal" for name in beside
    }
    kinds = {name: kind for name, kind in kinds.items() if name in table.columns}
    return shoal.Schema.of(
        identifier=["id"], quasi=list(quasi), sensitive=beside, kinds=kinds, bounds={"age": (0, 100)}, **more
    )


def people(n=N, seed=20, first=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"p{i:05d}" for i in range(first, first + n)],
            "age": rng.integers(0, 100, n),
            "zip": [f"{a}{b}" for a, b in zip(rng.integers(10, 30, n), rng.integers(0, 10, n), strict=True)],
            "cost": np.round(np.exp(rng.normal(8, 1, n)), 2) + first,
        }
    )


@pytest.fixture
def register(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    Ledger.open(url).close()
    register = shoal.Register.open("people", ledger=url)
    yield register
    register.close()


def coarsened(table, steps, register, **words):
    methods = [shoal.Recode(steps=steps), shoal.Generalize(k=K, limits={"age": 0, "zip": 0}, suppression=0.2)]
    return shoal.coarsen(table, schema_of(table, **words), methods, register=register)


def crossed(people, first, second, on):
    """How many rows each person may be who joins the two files; `on` makes one number of a row of each."""
    one = first.select(decade=pl.col("age").str.extract(r"(\d+)").cast(pl.Int64), key=on[0])
    other = second.select(area=pl.col("zip").str.slice(0, 2), key=on[1])
    counts = one.join(other, on="key").group_by("decade", "area").len()
    known = people.select(decade=pl.col("age") // 10 * 10, area=pl.col("zip").str.slice(0, 2))
    left = known.join(counts, on=["decade", "area"], how="left")["len"].fill_null(0).to_numpy()
    return left[left > 0]


def read(folder):
    return pl.read_csv(folder / "release.csv", schema_overrides={"age": pl.String, "zip": pl.String})


COST = pl.col("cost")
FORMS = {
    "renamed": (COST.alias("charges"), lambda c: c.round(2)),
    "in cents": ((COST * 100).round(0).cast(pl.Int64).alias("charges"), lambda c: (c / 100).round(2)),
    "in cents, same name": ((COST * 100).round(0).cast(pl.Int64).alias("cost"), lambda c: (c / 100).round(2)),
    "shifted and turned": ((1000 - 3 * COST).round(6).alias("points"), lambda c: ((1000 - c) / 3).round(2)),
    "as text": (COST.map_elements(lambda v: f"{v:.2f}", return_dtype=pl.String).alias("fee"),
                lambda c: c.cast(pl.Float64).round(2)),
    "log": (COST.log().alias("log_cost"), lambda c: c.exp().round(2)),
    "rounded": (COST.round(0).cast(pl.Int64).alias("about"), lambda c: c.cast(pl.Float64)),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_column_is_joined_by_what_it_carries(form, register, tmp_path):
    table = people()
    again = table.with_columns(FORMS[form][0])
    again = again if "same name" in form else again.drop("cost")
    name = again.columns[-1]
    first = coarsened(table, BY_AGE, register)
    first.write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="must hold beside release 1 of the same people") as refused:
        coarsened(again, BY_ZIP, register)
    assert refused.value.exit_code == 3
    assert f"can be joined by {name}" in str(refused.value)
    given = coarsened(again, BY_ZIP, register.to(None, despite="a test"))
    given.write(tmp_path / "two")
    back = FORMS[form][1]
    to = pl.col("cost").round(0 if form == "rounded" else 2)
    left = crossed(table, read(tmp_path / "one"), read(tmp_path / "two"), (to, back(pl.col(name))))
    alone = int((left == 1).sum())
    assert alone > 20, "the intruder of this test must have something to find"
    assert given.beside.single >= alone
    assert given.beside.below >= int((left < K).sum())


def test_levels_recoded_one_to_one_are_recognised(register, tmp_path):
    """Diagnoses get other codes: the classes of both releases are joined by them all the same."""
    rng = np.random.default_rng(4)
    codes = np.array([f"{c}{i:02d}" for c in "ABCDEFGH" for i in range(5)])
    table = people().with_columns(ill=pl.Series(codes[rng.permutation(N) % 40])).drop("cost")
    other = dict(zip(codes.tolist(), rng.permutation(900)[:40].tolist(), strict=True))
    again = table.with_columns(grp=pl.col("ill").replace_strict(other, return_dtype=pl.Int64).cast(pl.String)).drop(
        "ill"
    )
    coarsened(table, BY_AGE, register).write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="can be joined by grp"):
        coarsened(again, BY_ZIP, register)
    given = coarsened(again, BY_ZIP, register.to(None, despite="a test"))
    given.write(tmp_path / "two")
    keys = (pl.col("ill"), pl.col("grp").cast(pl.String).replace_strict({str(v): k for k, v in other.items()}))
    first, second = read(tmp_path / "one"), read(tmp_path / "two")
    left = crossed_by_rows(table, first, second, keys)
    assert (left < K).sum() > 0
    assert given.beside.below >= (left < K).sum()


def crossed_by_rows(people, first, second, on):
    """How many rows of the first file fit each person: of the class, with a partner in the class of the second."""
    one = first.with_row_index("row").select(
        "row", decade=pl.col("age").str.extract(r"(\d+)").cast(pl.Int64), key=on[0]
    )
    other = second.select(area=pl.col("zip").str.slice(0, 2), key=on[1]).unique()
    counts = one.join(other, on="key").group_by("decade", "area").agg(pl.col("row").n_unique())
    known = people.select(decade=pl.col("age") // 10 * 10, area=pl.col("zip").str.slice(0, 2))
    left = known.join(counts, on=["decade", "area"], how="left")["row"].fill_null(0).to_numpy()
    return left[left > 0]


def test_a_column_of_the_same_people_that_carries_nothing_of_the_other_is_not_joined(register, tmp_path):
    """Just outside: other numbers, other levels of the same people, the same numbers shuffled."""
    rng = np.random.default_rng(5)
    table = people()
    coarsened(table, BY_AGE, register).write(tmp_path / "one")
    for other in (
        table.with_columns(steps=pl.Series(np.round(rng.normal(size=N), 3))).drop("cost"),
        table.with_columns(smokes=pl.Series(rng.choice(["yes", "no"], N))).drop("cost"),
        table.with_columns(charges=pl.Series(rng.permutation(table["cost"].to_numpy()))).drop("cost"),
    ):
        found = coarsened(other, BY_ZIP, register).beside
        assert found.holds
        assert found.joined == ()


@pytest.mark.parametrize(("share", "joined"), [(0.35, True), (0.04, True), (0.01, False)])
def test_a_renamed_column_of_which_few_values_stayed(share, joined, register, tmp_path):
    rng = np.random.default_rng(6)
    table = people(1000)
    kept = pl.Series(rng.random(1000) < share)
    fresh = pl.Series(np.round(np.exp(rng.normal(8, 1, 1000)), 2))
    again = table.with_columns(charges=pl.when(kept).then(pl.col("cost")).otherwise(fresh)).drop("cost")
    coarsened(table, BY_AGE, register).write(tmp_path / "one")
    found = coarsened(again, BY_ZIP, register.to(None, despite="a test")).beside
    assert (found.joined == ("charges",)) is joined
    assert (found.below > 0) is joined


MASKS = {
    "other": {"other": ["age"]},
    "sensitive": {},
}


@pytest.mark.parametrize("role", MASKS)
@pytest.mark.parametrize("name", ["age", "years"])
def test_an_earlier_quasi_identifier_that_is_now_unchanged_is_refused(role, name, register, tmp_path):
    table = people().with_columns(sex=pl.Series(["f", "m"] * (N // 2)))
    words = {"group": shoal.MDAV(k=K), "mask": shoal.Centroid()}
    shoal.anonymize(table, schema_of(table, ("age", "sex")), register=register, **words).write(tmp_path / "one")
    later = table.rename({"age": name})
    kinds = {"sex": "nominal", "zip": "nominal", "cost": "numeric", name: "numeric"}
    beside = {"sensitive": ["zip", "cost"], "other": [name]}
    beside = beside if role == "other" else {"sensitive": ["zip", "cost", name]}
    schema = shoal.Schema.of(identifier=["id"], quasi=["sex"], kinds=kinds, **beside)
    with pytest.raises(GuaranteeError, match=f"column '{name}'.* unchanged.* quasi-identifier of release 1") as refused:
        shoal.anonymize(later, schema, register=register, same_groups_as="last", **words)
    assert "role quasi" in str(refused.value)
    given = shoal.anonymize(later, schema, register=register.to(None, despite="a test"), same_groups_as="last", **words)
    given.write(tmp_path / "two")
    second = pl.read_csv(tmp_path / "two" / "release.csv")
    known = later.select(name, "sex").join(second.group_by(name, "sex").len(), on=[name, "sex"], how="left")
    assert (known["len"] == 1).sum() > 50, "who knows age and sex finds these people in the second file"
    assert not given.beside.holds
    assert given.beside.exposed


def test_a_quasi_identifier_that_stays_one_or_was_unchanged_before_is_not_exposed(register, tmp_path):
    """Just inside: the same roles twice; and a column that both releases carry as it is."""
    table = people().with_columns(region=pl.col("zip").str.slice(0, 1))
    words = {"group": shoal.MDAV(k=K), "mask": shoal.Centroid(), "register": register}
    schema = schema_of(table, ("age",), other=["region"])
    shoal.anonymize(table, schema, **words).write(tmp_path / "one")
    again = shoal.anonymize(table, schema, same_groups_as="last", **words)
    assert again.beside.holds
    assert again.beside.exposed == ()


def test_a_quasi_identifier_that_is_shuffled_under_another_role_is_not_exposed(register, tmp_path):
    """It has its name in both tables, and no row has its own value."""
    table = people().with_columns(sex=pl.Series(["f", "m"] * (N // 2)))
    words = {"group": shoal.MDAV(k=K), "mask": shoal.Centroid(), "register": register}
    shoal.anonymize(table, schema_of(table, ("age", "sex")), **words).write(tmp_path / "one")
    shuffled = table.with_columns(pl.Series("age", np.random.default_rng(3).permutation(table["age"].to_numpy())))
    schema = schema_of(shuffled, ("sex",))
    despite = {**words, "register": register.to(None, despite="a test")}
    assert shoal.anonymize(shuffled, schema, **despite).beside.exposed == ()


def test_a_column_released_as_it_was_that_is_a_quasi_identifier_now_is_refused_where_tables_are_joined(
    register, tmp_path
):
    table = people()
    words = {"group": shoal.MDAV(k=K), "mask": shoal.Centroid()}
    shoal.anonymize(table, schema_of(table, ("zip",), other=["age"]), register=register, **words).write(
        tmp_path / "one"
    )
    with pytest.raises(GuaranteeError, match="column 'age'"):
        shoal.anonymize(table, schema_of(table, ("age", "zip")), register=register, same_groups_as="last", **words)
    bare = table.drop("cost")
    free = schema_of(bare, ("age", "zip"))
    assert shoal.anonymize(bare, free, register=register, **words).beside.exposed == ()


@pytest.mark.parametrize("ids", ["recoded", "dealt out anew", "recoded, column renamed"])
def test_people_under_other_identifiers_are_recognised_by_their_rows(ids, register, tmp_path):
    table = people()
    rng = np.random.default_rng(7)
    fresh = pl.Series(rng.permutation(table["id"].to_list() if "dealt" in ids else [f"x{i}" for i in range(N)]))
    again = table.with_columns(id=fresh)
    again = again.rename({"cost": "charges"}) if "renamed" in ids else again
    coarsened(table, BY_AGE, register).write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="other identifiers") as refused:
        coarsened(again, BY_ZIP, register)
    assert "identifiers of release 1" in str(refused.value)
    given = coarsened(again, BY_ZIP, register.to(None, despite="a test"))
    given.write(tmp_path / "two")
    key = again.columns[-1]
    on = (pl.col("cost").round(2), pl.col(key).round(2))
    left = crossed(table, read(tmp_path / "one"), read(tmp_path / "two"), on)
    assert (left == 1).sum() > 20
    assert not given.beside.holds


@pytest.mark.parametrize(("share", "noticed"), [(0.15, True), (0.01, False)])
def test_a_part_of_the_people_under_other_identifiers(share, noticed, register, tmp_path):
    table = people(1000)
    moved = pl.Series(np.random.default_rng(7).random(1000) < share)
    again = table.with_columns(id=pl.when(moved).then("x" + pl.col("id")).otherwise("id"))
    coarsened(table, BY_AGE, register).write(tmp_path / "one")
    found = coarsened(again, BY_ZIP, register.to(None, despite="a test")).beside
    assert (found.recoded > 0) is noticed
    assert not noticed or abs(found.recoded - 1000 * share) < 60


def test_people_with_alike_rows_are_not_taken_for_the_same(register, tmp_path):
    """Other people of the same ages and diagnoses: rows that are alone in both tables are so by accident."""

    def few(seed, first):
        rng = np.random.default_rng(seed)
        table = people(seed=seed, first=first).drop("cost", "zip")
        return table.with_columns(ill=pl.Series(rng.choice(list("abc"), N)), zip=pl.Series(["100"] * N))

    coarsened(few(1, 0), BY_AGE, register).write(tmp_path / "one")
    both = pl.concat([few(1, 0)[30:], few(2, 1000)[:30]])
    assert coarsened(both, BY_AGE, register.to(None, despite="a test")).beside.recoded == 0


def test_who_cannot_be_recognised_is_not_judged(register, tmp_path):
    """Identifiers and units both changed: the rows are others, but a column has the same numbers up to a factor."""
    table = people()
    again = table.with_columns(
        id=pl.Series([f"x{i}" for i in range(N)]), charges=(pl.col("cost") * 100).round(0).cast(pl.Int64)
    ).drop("cost")
    coarsened(table, BY_AGE, register).write(tmp_path / "one")
    release = coarsened(again, BY_ZIP, register)
    assert not release.beside.holds
    assert not release.beside.is_judged
    release.write(tmp_path / "two")
    words = json.loads((tmp_path / "two" / "manifest.json").read_text())
    assert words["register"]["holds"] is False
    assert words["register"]["judged"] is False
    texts = " ".join([*map(str, release.beside.facts), *release.warnings, *registered(release)])
    assert "everybody keeps" not in texts
    assert "not judged" in texts


def test_other_people_of_the_data_set_are_judged_where_their_columns_say_so(register, tmp_path):
    coarsened(people(), BY_AGE, register).write(tmp_path / "one")
    found = coarsened(people(seed=21, first=1000), BY_ZIP, register).beside
    assert found.is_judged
    assert found.holds
    assert found.returning == 0


def test_few_levels_alone_cannot_tell_other_people_from_the_same_under_other_numbers(register, tmp_path):
    def few(seed, first):
        rng = np.random.default_rng(seed)
        return people(seed=seed, first=first).with_columns(ill=pl.Series(rng.choice(list("abc"), N))).drop("cost")

    coarsened(few(1, 0), BY_AGE, register).write(tmp_path / "one")
    found = coarsened(few(2, 1000), BY_ZIP, register).beside
    assert not found.is_judged
    assert not found.holds


def test_the_sentence_says_how_the_tables_were_joined(register, tmp_path):
    table = people().with_columns(ill=pl.Series(np.random.default_rng(8).choice(list("abcd"), N)))
    words = {"group": shoal.MDAV(k=K), "mask": shoal.Centroid(), "register": register}
    shoal.anonymize(table, schema_of(table), **words).write(tmp_path / "one")
    again = table.rename({"cost": "charges"})
    release = shoal.anonymize(again, schema_of(again), same_groups_as="last", **words)
    assert release.beside.holds
    inside = " ".join(str(fact) for fact in release.beside.facts)
    assert "charges (by values: the same as cost)" in inside
    assert "ill (by name)" in inside
    outside = " ".join(str(fact) for fact in release.beside.facts if fact.outside)
    assert "charges" not in outside
    assert "everybody whom it recognises" in outside
    assert "is not judged" in outside


def test_a_renamed_column_is_joined_row_by_row_and_not_refused_without_need(register, tmp_path):
    """Few levels leave many candidates: a renamed column with the same values is joined as one of the same name."""
    rng = np.random.default_rng(9)
    table = people(1000).with_columns(ill=pl.Series(rng.choice(["a", "b"], 1000))).drop("cost")
    coarsened(table, BY_AGE, register).write(tmp_path / "one")
    same = coarsened(table, BY_ZIP, register.to(None, despite="a test")).beside
    renamed = table.rename({"ill": "disease"})
    other = coarsened(renamed, BY_ZIP, register.to(None, despite="a test")).beside
    assert (same.below, same.single, same.smallest) == (other.below, other.single, other.smallest)
