"""Columns apart: what is handed round, what is refused, and what the release says of it."""

import datetime
import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import MDAV, Balanced, GuaranteeError, ParameterError, Permute, Schema, SchemaError, anonymize
from shoal.errors import ShoalError
from shoal.ledger import Ledger
from shoal.rng import repeatable, stream

N = 240


def table(n=N, seed=1):
    rng = stream(seed, "table")
    age, month = rng.integers(20, 90, n), rng.integers(0, 12, n)
    cost = np.round(np.exp(2 * rng.normal(size=n) + age / 30), 2)
    return pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "arm": rng.integers(0, 2, n),
            "born": [datetime.date(2020 - int(a), 1 + int(m), 1) for a, m in zip(age, month, strict=True)],
            "smokes": rng.random(n) < 0.4,
            "time": np.round(rng.exponential(10, n), 2),
            "event": rng.integers(0, 2, n),
            "cost": pl.Series(np.where(rng.random(n) < 0.2, np.nan, cost)).fill_nan(None),
            "code": [f"c{i % 190}" for i in range(n)],
            "w": rng.uniform(1, 5, n),
            "note": rng.integers(0, 5, n),
        }
    )  # fmt: skip


SCHEMA = Schema.of(
    quasi=["age", "sex", "arm", "born"],
    sensitive=["smokes", "time", "event", "cost", "code"],
    weight="w",
    other=["note"],
)


def run(frame=None, schema=SCHEMA, key=1, mask=None, group=None, **options):
    with repeatable(key):
        return anonymize(
            table() if frame is None else frame, schema, group=group or Balanced(k=8), mask=mask or Permute(), **options
        )


def pairs(frame, *names):
    return sorted(map(repr, frame.select(names).rows()))


def test_every_column_keeps_its_values_and_its_type():
    release = run()
    assert release.table.schema == table().schema
    for name in table().columns:
        assert release.table[name].sort().equals(table()[name].sort(), null_equal=True), name


def test_roles_do_not_decide_what_is_published_unchanged():
    release, original = run(), table()
    for name in ("smokes", "time", "cost", "w", "note"):
        assert release.table[name].to_list() != original[name].gather(release.source_rows).to_list(), name


def test_a_block_is_handed_round_whole():
    release = run(mask=Permute(blocks=[["time", "event"], ["age", "born"]]))
    for block in (("time", "event"), ("age", "born")):
        assert pairs(release.table, *block) == pairs(table(), *block)
    assert pairs(release.table, "time", "age") != pairs(table(), "time", "age")


def test_rows_are_what_resampling_without_replacement_does():
    release, original = run(mask=Permute(blocks="rows"), group=MDAV(k=8)), table()
    assert pairs(release.table, *SCHEMA.quasi) == pairs(original, *SCHEMA.quasi)
    for name in ("smokes", "time", "cost", "w", "note"):
        assert release.table[name].to_list() == original[name].gather(release.source_rows).to_list()
    (bound,) = [claim for claim in release.claims if claim.kind == "re-identification bound"]
    assert "released quasi-identifiers alone" in bound.statement
    assert "cost" in " ".join(bound.assumptions)


def test_without_neighbours_a_cell_stays_in_its_group():
    release = run(mask=Permute(neighbours=False))
    place = dict(enumerate(release.labels))
    times = dict(zip(table()["time"], range(N), strict=True))
    assert len(times) > 0.8 * N
    own = [place[times[t]] for t in release.table["time"]]
    here = [place[source] for source in release.source_rows]
    assert np.mean(np.array(own) == np.array(here)) > 0.8
    stepped = run(mask=Permute())
    own = [stepped.labels[times[t]] for t in stepped.table["time"]]
    assert np.mean(np.array(own) == stepped.labels[stepped.source_rows]) < 0.5


def test_the_bound_is_about_own_cells():
    (bound,) = [claim for claim in run().claims if claim.kind == "re-identification bound"]
    assert (bound.basis, bound.value, bound.unit) == ("proved", 1 / 8, "persons")
    assert "own cell" in bound.statement
    assert "at most 0.125" in bound.statement
    assert "unchanged" not in " ".join(bound.assumptions)


def test_the_claim_names_blocks_and_strata():
    release = run(mask=Permute(blocks="time+event"), group=Balanced(k=8, strata=["arm"]))
    (bound,) = [claim for claim in release.claims if claim.kind == "re-identification bound"]
    said = " ".join(bound.assumptions)
    assert "time and event" in said
    assert "don't cross arm" in said
    arms = table()["arm"].to_numpy()
    assert all(len(set(arms[release.labels == g])) == 1 for g in set(release.labels))


def test_coins_come_from_the_key_alone():
    first, same, other = run(key=1, seed=1), run(key=1, seed=2), run(key=2, seed=1)
    assert first.table.equals(same.table)
    assert first.labels.tolist() == same.labels.tolist()
    assert first.labels.tolist() != other.labels.tolist()
    assert not first.table.equals(other.table)


def test_no_two_blocks_share_coins_whatever_columns_are_called():
    names = ["a", "b", "a\x1fstr:b", "c"]
    frame = pl.DataFrame({name: stream(j, "names").normal(size=N) for j, name in enumerate(names)})
    schema = Schema.of(quasi=["a", "b"], sensitive=names[2:])
    release = run(frame, schema, mask=Permute(blocks=[["a", "b"]], neighbours=False), group=MDAV(k=8))
    rows = set(zip(frame["a"], frame[names[2]], strict=True))
    assert len([row for row in zip(release.table["a"], release.table[names[2]], strict=True) if row in rows]) < N / 3


def test_the_order_of_the_file_tells_nothing():
    order = stream(4, "order").permutation(N)
    assert run().table.equals(run(table()[order]).table)


def test_columns_of_a_rule_go_together_and_keep_it():
    frame = table().with_columns(pregnant=pl.when(pl.col("sex") == "f").then(pl.col("event")).otherwise(0))
    schema = Schema.from_dict(
        Schema.of(
            quasi=["age", "sex"], sensitive=["pregnant", "smokes", "time", "cost"],
            other=["arm", "born", "event", "code", "w", "note"],
        ).to_dict()
        | {"rules": [{"when": {"sex": "m"}, "then": {"pregnant": 0}}]}
    )  # fmt: skip
    release = run(frame, schema)
    assert release.table.filter(pl.col("sex") == "m")["pregnant"].sum() == 0
    assert pairs(release.table, "sex", "pregnant") == pairs(frame, "sex", "pregnant")
    assert "rules kept" in [claim.kind for claim in release.claims]


def test_what_follows_from_others_is_computed_again():
    frame = table().with_columns(decade=pl.col("age") // 10)
    words = Schema.of(
        quasi=["age", "sex"], sensitive=["cost", "time"],
        other=["arm", "born", "smokes", "event", "code", "w", "note", "decade"],
    ).to_dict()  # fmt: skip
    words["columns"]["decade"]["derived"] = ["age"]
    release = run(frame, Schema.from_dict(words))
    assert (release.table["decade"] == release.table["age"] // 10).all()
    words["columns"]["decade"] = {"role": "other", "derived": ["cost"]}
    with pytest.raises(SchemaError, match="must follow from cost"):
        run(frame, Schema.from_dict(words))


def test_no_sensitive_column_and_no_quasi_identifier():
    frame = table().select("age", "sex", "w")
    for schema in (Schema.of(quasi=["age", "sex", "w"]), Schema.of(sensitive=["age", "sex"], other=["w"])):
        release = run(frame, schema)
        assert pairs(release.table, "age", "sex") != pairs(frame, "age", "sex")


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (Permute(blocks=[["time", "SENTINEL"]]), "must name columns that leave"),
        (Permute(blocks=[["time", "event"], ["event", "age"]]), "must not name a column twice"),
        (Permute(blocks="time+event/event+age"), "must not name a column twice"),
        (Permute(blocks="column"), "must name columns that leave"),
        (Permute(blocks=[SCHEMA.released.columns and [c.name for c in SCHEMA.columns]]), "at least two columns"),
    ],
)
def test_wrong_blocks(mask, message):
    with pytest.raises(ShoalError, match=message):
        run(mask=mask)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (Balanced(k=8, strata=["SENTINEL"]), "strata must be columns that leave"),
        (Balanced(k=8, strata=["code"]), "every stratum must hold at least k = 8"),
        (Balanced(k=25), "at least 10 groups of k = 25 persons; got 240 persons. Set k to at most 24"),
        (Balanced(k=241), "at least k = 241 persons"),
    ],
)
def test_wrong_groups(group, message):
    with pytest.raises(ShoalError, match=message.replace(" persons; got", ".*; got")):
        run(group=group)


def test_a_stratum_of_one_and_of_fewer_than_k_is_refused():
    for n in (1, 7):
        frame = table().with_columns(arm=pl.Series([1] * n + [0] * (N - n)))
        with pytest.raises(GuaranteeError, match=f"got {n} in the smallest"):
            run(frame, group=Balanced(k=8, strata=["arm"]))
    frame = table().with_columns(arm=pl.Series([1] * 8 + [0] * (N - 8)))
    assert len(run(frame, group=Balanced(k=8, strata=["arm"])).table) == N


def test_one_column_and_constant_columns_are_refused():
    with pytest.raises(SchemaError, match="at least two columns"):
        run(table().select("age"), Schema.of(quasi=["age"]))
    with pytest.raises(SchemaError, match="at least two columns"):
        run(table().select("age"), Schema.of(quasi=["age"]), group=MDAV(k=8))
    constant = pl.DataFrame({"a": [1.0] * 100, "b": ["x"] * 100})
    with pytest.raises(GuaranteeError, match="at least 20 people differ"):
        run(constant, Schema.of(quasi=["a", "b"]))


def test_few_people_are_refused_or_warned_of():
    schema = Schema.of(quasi=["age", "sex"])
    frame = table().select("age", "sex")
    with pytest.raises(GuaranteeError, match="Set k to at most 5"):
        run(frame.head(50), schema, group=Balanced(k=11))
    assert any("fewer than 50 groups" in note for note in run(frame, schema).notes)
    assert not any("fewer than 50 groups" in note for note in run(frame, schema, group=Balanced(k=4)).notes)
    for n in (15, 39):  # levels only, and nobody differs from twenty others
        levels = pl.DataFrame({"a": [str(i % 3) for i in range(n)], "b": [str(i % 5) for i in range(n)]})
        with pytest.raises(GuaranteeError):
            run(levels, Schema.of(quasi=["a", "b"]), group=Balanced(k=2 if n > 20 else 3))


def test_several_rows_a_person_are_refused():
    frame = table().with_columns(who=pl.Series(np.arange(N) // 2))
    schema = Schema.of(
        unit="who", quasi=["age", "sex"], other=[c for c in frame.columns if c not in ("who", "age", "sex")]
    )
    with pytest.raises(GuaranteeError, match="one row a person; got 240 rows of 120 persons"):
        run(frame, schema)
    single = frame.with_columns(who=pl.Series(np.arange(N)))
    assert "who" not in run(single, schema).table.columns


def test_a_mask_after_it_is_refused_and_one_before_it_works():
    with pytest.raises(ParameterError, match="last mask of a chain"):
        run(mask=[Permute(), shoal.Resample()])
    release = run(mask=[shoal.GaussianDither(), Permute()])
    assert pairs(release.table, "time") == pairs(table(), "time")
    assert pairs(release.table, "age") != pairs(table(), "age")


def test_groups_that_are_rejected_leave_no_number():
    group = shoal.Mixed(of=MDAV(k=8), diversity=2, failing="reject", suppression=0.9)
    schema = Schema.of(quasi=["age", "sex"], sensitive=["smokes"])
    frame = table().select("age", "sex", "smokes")
    with pytest.raises(ParameterError, match="neighbours=false"):
        run(frame, schema, group=group)
    assert len(run(frame, schema, group=group, mask=Permute(neighbours=False)).table) <= N


def test_engines_refuse_what_needs_all_columns():
    for group, mask in ((Balanced(k=8), shoal.Resample()), (MDAV(k=8), Permute())):
        with pytest.raises(ParameterError, match="needs? |looks at all columns"):
            anonymize(table().to_arrow(), SCHEMA, group=group, mask=mask, engine="duckdb")


def test_words_come_back():
    from shoal.recipe import Anonymization, read_recipe

    for blocks in ("columns", "rows", "time+event/age+sex", [["time", "event"]]):
        recipe = Anonymization.of(Balanced(k=8, strata=["arm"], aim=0.5), Permute(blocks=blocks, neighbours=False))
        words = json.loads(json.dumps(recipe.to_dict()))
        assert read_recipe(words).to_dict() == recipe.to_dict()


def test_a_release_on_disk_is_verified_and_repeated(tmp_path, monkeypatch):
    file = tmp_path / "people.csv"
    table().write_csv(file)
    source = shoal.files.read_source(file)
    release = anonymize(source, SCHEMA, group=Balanced(k=8), mask=Permute(blocks="time+event"))
    release.write(tmp_path / "out")
    groups = pl.read_parquet(tmp_path / "out.internal" / "groups.parquet")["group"]
    assert groups.to_list() == release.labels.tolist()
    assert all(check.holds is not False for check in shoal.verify(tmp_path / "out").checks)
    assert shoal.verify(tmp_path / "out", original=file).exit_code == 0
    monkeypatch.setattr(Balanced, "group", None)  # another machine may find other groups: the recorded ones are taken
    assert shoal.verify(tmp_path / "out", original=file).exit_code == 0


def test_the_events_of_linked_tables_go_along_with_the_key():
    schema, tables = shoal.datasets.clinic_schema(), shoal.datasets.clinic(300, visits=2.0, seed=3)
    with pytest.raises(SchemaError, match="Name it in blocks"):
        anonymize(tables, schema, group=Balanced(k=5), mask=Permute())
    release = anonymize(tables, schema, group=Balanced(k=5), mask=Permute(blocks=[["patient"]]))
    made, own = release.table["patients"], tables["patients"]
    assert sorted(made["income"]) == sorted(own["income"])
    assert set(release.table["visits"]["patient"]) <= set(made["patient"])
    bags = [
        sorted(visits.group_by("patient").agg(pl.col("cost").cast(float).sort())["cost"].to_list())
        for visits in (release.table["visits"], tables["visits"])
    ]
    assert bags[0] == bags[1]


def test_the_report_says_that_no_row_is_a_persons(tmp_path):
    anonymize(table(), SCHEMA, group=Balanced(k=8), mask=Permute()).write(tmp_path / "apart")
    page = (tmp_path / "apart" / "report.html").read_text()
    assert "look at columns, pairs and regressions, not at rows" in page
    assert "A row is one person" not in page
    assert "published unchanged" not in page.lower()
    anonymize(table(), SCHEMA, group=MDAV(k=8), mask=Permute(blocks="rows")).write(tmp_path / "rows")
    assert "A row is one person" in (tmp_path / "rows" / "report.html").read_text()


def test_a_second_release_with_fresh_coins_is_refused_beside_the_first(tmp_path):
    """Whoever shares both groups of a person is few: the value that comes back is theirs."""
    place = f"sqlite:///{tmp_path / 'ledger.db'}"
    Ledger.open(place).close()
    register = shoal.Register.open("people", ledger=place)
    first = anonymize(table(), SCHEMA, group=Balanced(k=8), mask=Permute(), register=register)
    first.write(tmp_path / "first")
    with pytest.raises(GuaranteeError, match="must hold beside release 1 of the same people"):
        anonymize(table(), SCHEMA, group=Balanced(k=8), mask=Permute(), register=register)
    again = anonymize(table(), SCHEMA, group=Balanced(k=8), mask=Permute(), register=register, same_groups_as="last")
    assert len(set(zip(first.labels.tolist(), again.labels.tolist(), strict=True))) == len(set(first.labels.tolist()))
    with pytest.raises(GuaranteeError, match="must hold beside release 1 of the same people"):
        anonymize(table(), SCHEMA, group=MDAV(k=8), mask=shoal.Resample(), register=register)
    register.close()
