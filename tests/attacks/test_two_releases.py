"""Two releases of the same people, each 5-anonymous, read together by an intruder with Polars and nothing of ours."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import GuaranteeError
from shoal.ledger import Ledger

N, K = 1000, 5
SCHEMA = shoal.Schema.of(
    identifier=["id"],
    quasi=["age", "zip"],
    sensitive=["cost"],
    kinds={"age": "numeric", "zip": "nominal", "cost": "numeric"},
    bounds={"age": (0, 100)},
)
BY_AGE = {"age": {"kind": "bins", "edges": list(range(0, 101, 10))}, "zip": {"kind": "star"}}
BY_ZIP = {"age": {"kind": "star"}, "zip": {"kind": "prefix", "keep": 2}}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(20)
    return pl.DataFrame(
        {
            "id": [f"p{i:04d}" for i in range(N)],
            "age": rng.integers(0, 100, N),
            "zip": [f"{a}{b}" for a, b in zip(rng.integers(10, 60, N), rng.integers(0, 10, N), strict=True)],
            "cost": rng.permutation(N) * 10 + 7,
        }
    )


@pytest.fixture
def register(tmp_path):
    Ledger.open(f"sqlite:///{tmp_path}/ledger.db").close()
    register = shoal.Register.open("people", ledger=f"sqlite:///{tmp_path}/ledger.db")
    yield register
    register.close()


def recoded(steps):
    return [shoal.Recode(steps=steps), shoal.Generalize(k=K, limits={"age": 0, "zip": 0})]


def candidates(people, first, second):
    """How many rows each person may be, who knows age and postcode and joins the tables on the cost."""
    decade = {row["age"]: row["age"] // 10 * 10 for row in people.select("age").unique().iter_rows(named=True)}
    shown = {text: int(str(text).split("-")[0].strip("[(").split(",")[0]) for text in first["age"].unique().to_list()}
    one = first.select(pl.col("age").replace_strict(shown, return_dtype=pl.Int64).alias("decade"), "cost")
    other = second.select(pl.col("zip").str.slice(0, 2).alias("area"), "cost")
    joined = one.join(other, on="cost")
    known = people.select(
        pl.col("age").replace_strict(decade, return_dtype=pl.Int64).alias("decade"),
        pl.col("zip").str.slice(0, 2).alias("area"),
    )
    counts = joined.group_by("decade", "area").len()
    return known.join(counts, on=["decade", "area"], how="left")["len"].fill_null(0).to_numpy()


def test_without_a_register_hundreds_are_singled_out(people, tmp_path):
    first = pl.read_csv(shoal.coarsen(people, SCHEMA, recoded(BY_AGE)).write(tmp_path / "a") / "release.csv")
    second = pl.read_csv(
        shoal.coarsen(people, SCHEMA, recoded(BY_ZIP)).write(tmp_path / "b") / "release.csv",
        schema_overrides={"zip": pl.String},
    )
    assert shoal.risk.classes(first, SCHEMA.released).k >= K
    assert shoal.risk.classes(second, SCHEMA.released).k >= K
    left = candidates(people, first, second)
    assert (left == 1).sum() > 100
    assert (left < K).sum() > 800


def test_the_second_release_is_refused_and_the_register_counts_what_the_intruder_finds(people, register, tmp_path):
    first = shoal.coarsen(people, SCHEMA, recoded(BY_AGE), register=register)
    first.write(tmp_path / "a")
    with pytest.raises(GuaranteeError, match="must hold beside release 1 of the same people") as refused:
        shoal.coarsen(people, SCHEMA, recoded(BY_ZIP), register=register)
    assert refused.value.exit_code == 3
    given = shoal.coarsen(people, SCHEMA, recoded(BY_ZIP), register=register.to(None, despite="a test"))
    left = candidates(people, first.table, given.table)
    assert given.beside.below == (left < K).sum()
    assert given.beside.smallest == left.min() == 1
    assert not given.beside.holds


def by_hand(original, unchanged, first, second):
    """The candidates of everybody, one person and one row at a time, for who knows both groups and joins rows."""
    shown = original.select(unchanged).rows()
    groups = [(int(a), int(b)) for a, b in zip(first.labels, second.labels, strict=True)]
    members = [{}, {}]
    for i, both in enumerate(groups):
        for side in (0, 1):
            members[side].setdefault(both[side], []).append(i)
    found = []
    for both in groups:
        cell = sum(both == other for other in groups)
        fits = []
        for here, there in ((0, 1), (1, 0)):
            partners = {shown[j] for j in members[there][both[there]]}
            fits.append(sum(shown[row] in partners for row in members[here][both[here]]))
        found.append(max(cell, min(fits)))
    return np.array(found)


@pytest.mark.parametrize("pair", ["mondrian, k-member", "mdav, k-member", "mondrian, generalize"])
def test_two_ordinary_releases_of_one_file_and_who_they_single_out(pair, tmp_path):
    """The register counts what a search by hand over all 1,000 people finds: hundreds lose their cover."""
    table, schema = shoal.datasets.health_survey(N, seed=1), shoal.datasets.health_survey_schema()
    url = f"sqlite:///{tmp_path}/ledger.db"
    Ledger.open(url).close()
    register = shoal.Register.open("survey", ledger=url)
    recipes = {
        "mondrian": lambda **words: shoal.coarsen(table, schema, shoal.Mondrian(k=K), seed=7, **words),
        "generalize": lambda **words: shoal.coarsen(
            table, schema, shoal.Generalize(k=K, suppression=0), seed=7, **words
        ),
        "k-member": lambda **words: shoal.anonymize(table, schema, group=shoal.KMember(k=K), seed=7, **words),
        "mdav": lambda **words: shoal.anonymize(table, schema, group=shoal.MDAV(k=K), seed=7, **words),
    }
    one, other = (recipes[name] for name in pair.split(", "))
    first = one(register=register)
    first.write(tmp_path / "one")
    with pytest.raises(GuaranteeError) as refused:
        other(register=register)
    second = other(register=register.to(None, despite="a test"))
    left = by_hand(table, list(second.beside.joined), first, second)
    found = second.beside
    assert (found.below, found.single, found.smallest) == ((left < K).sum(), (left == 1).sum(), left.min())
    assert f"{found.below:,} people with fewer than {K} candidates" in str(refused.value)
    assert found.below > 100
    assert found.single >= 5
    again = [shoal.anonymize(table, schema, group=shoal.MDAV(k=K), register=register, same_groups_as="1")]
    assert by_hand(table, list(found.joined), first, again[0]).min() >= K
    register.close()


@pytest.mark.parametrize("change", ["copy", "shuffled", "appended", "one left"])
def test_groups_of_another_seed_are_refused_for_a_file_that_is_nearly_the_same(people, register, tmp_path, change):
    table = {
        "copy": people.clone(),
        "shuffled": people.sample(fraction=1, shuffle=True, seed=1),
        "appended": pl.concat([people, people[:1].with_columns(id=pl.lit("p9999"), cost=pl.lit(3, dtype=pl.Int64))]),
        "one left": people[1:],
    }[change]
    mask = shoal.Resample()
    shoal.anonymize(people, SCHEMA, group=shoal.MDAV(k=K), mask=mask, register=register).write(tmp_path / "a")
    book = shoal.Register.open(ledger=register.place)  # nobody says whose data they are
    with pytest.raises(GuaranteeError, match="same people"):
        shoal.anonymize(table, SCHEMA, group=shoal.KMember(k=K), mask=mask, register=book)
    book.close()


def test_the_same_groups_leave_the_intruder_where_one_release_does(people, register, tmp_path):
    """Centroids tell the group; who joins both tables on the cost still has k candidates for everybody."""
    words = {"group": shoal.MDAV(k=K), "mask": shoal.Centroid(), "register": register}
    tables = [shoal.anonymize(people, SCHEMA, **words)]
    tables[0].write(tmp_path / "a")
    rng = np.random.default_rng(3)
    next_year = pl.concat(
        [
            people.filter(pl.Series(rng.random(N) > 0.03)),
            people[:40].with_columns(
                id=pl.Series([f"n{i}" for i in range(40)]), cost=pl.Series(range(20_000, 20_040), dtype=pl.Int64)
            ),
        ]
    )
    tables.append(shoal.anonymize(next_year, SCHEMA, same_groups_as="last", **words))
    beside = tables[1].beside
    assert beside.holds
    assert beside.held_back > 0
    both = [one.table.select("age", "zip", "cost") for one in tables]
    seen = both[0].join(both[1], on="cost", suffix="_then")
    assert seen.group_by("age", "zip", "age_then", "zip_then").len()["len"].min() >= K
    gone = both[0].join(both[1], on="cost", how="anti")
    assert gone.group_by("age", "zip").len()["len"].min() >= K
    new = both[1].join(both[0], on="cost", how="anti")
    assert new.group_by("age", "zip").len()["len"].min() >= K
