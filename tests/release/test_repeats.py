"""A person's copies are no crowd: k counts different rows where the schema says that equal rows are one person's."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ShoalError
from shoal.schema import Schema

SYMPTOMS = [f"symptom{i}" for i in range(8)]


def survey(n=600, copied=240, seed=0):
    """People of whom some are in the table up to six times, each row with a number of its own."""
    rng = np.random.default_rng(seed)
    people = pl.DataFrame(
        {
            "weight": rng.normal(75, 14, n).round(2),
            "age": rng.integers(18, 60, n),
            "sex": rng.choice(["f", "m"], n),
            **{name: rng.integers(0, 4, n) for name in SYMPTOMS},
        }
    )
    again = [people[:copied], people[: copied // 2], *[people[: copied // 10]] * 3]
    return pl.concat([people, *again]).sample(fraction=1.0, shuffle=True, seed=seed).with_row_index("row")


def schema(repeats=None, **roles):
    roles = {"identifier": ["row"], "quasi": ["age", "sex"], "sensitive": ["weight", *SYMPTOMS]} | roles
    return Schema.of(**roles, repeats=repeats)


def smallest_crowd(table, release):
    """The fewest different rows of a released combination, counted by hand."""
    content = table.drop("row")[release.source_rows]
    shown = release.table.select(pl.col("age", "sex").cast(pl.String).fill_null("").name.suffix(" shown"))
    both = pl.concat([content, shown], how="horizontal")
    return int(both.group_by("age shown", "sex shown").agg(n=pl.struct(content.columns).n_unique())["n"].min())


METHODS = [
    lambda t, s: shoal.coarsen(t, s, shoal.Generalize(k=5), seed=1),
    lambda t, s: shoal.coarsen(t, s, shoal.Mondrian(k=5), seed=1),
    lambda t, s: shoal.coarsen(t, s, shoal.Suppress(k=5), seed=1),
    lambda t, s: shoal.anonymize(t, s, group=shoal.KMember(k=5), mask=shoal.Centroid(), seed=1),
    lambda t, s: shoal.anonymize(t, s, group=shoal.MDAV(k=5), mask=shoal.Centroid(), seed=1),
]


@pytest.mark.parametrize("method", METHODS)
def test_k_counts_different_rows_where_equal_rows_are_the_same_person(method):
    table = survey()
    together = method(table, schema("same person"))
    assert smallest_crowd(table, together) >= 5
    (claim, *_) = together.claims
    assert (claim.kind, claim.unit, claim.value) == ("k-anonymity", "persons", 5)
    assert any("are one person's, as the schema declares" in text for text in claim.assumptions)
    apart = method(table, schema("different people"))
    assert smallest_crowd(table, apart) < 5  # copies made the crowd
    assert apart.claims[0].unit == "records"


def test_unsettled_repeats_count_rows_and_the_claim_says_so():
    claims = METHODS[0](survey(), schema()).claims
    told = [claim for claim in claims if claim.kind in ("k-anonymity", "re-identification bound")]
    assert len(told) == 2
    for claim in told:
        assert "Rows are counted, and nobody has said that each is a person of its own." in claim.assumptions


def test_the_made_unit_is_in_no_file_and_no_column(tmp_path):
    release = METHODS[0](survey(), schema("same person"))
    assert set(release.table.columns) == {"weight", "age", "sex", *SYMPTOMS}
    release.write(tmp_path / "out")
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 5
    assert not [file.name for file in files if b"rows that are equal" in file.read_bytes()]
    assert b"as the schema declares" in (tmp_path / "out" / "manifest.json").read_bytes()


def test_a_release_with_repeats_is_repeated_from_its_replay_file(tmp_path):
    survey().write_csv(tmp_path / "people.csv")
    source = shoal.files.read_source(tmp_path / "people.csv")
    shoal.coarsen(source, schema("same person"), shoal.Generalize(k=5)).write(tmp_path / "out")
    found = shoal.verify(tmp_path / "out", original=tmp_path / "people.csv")
    assert [check.name for check in found.checks if check.holds is False] == []


def test_copies_that_differ_in_weight_or_a_row_number_are_still_one_person():
    rng = np.random.default_rng(1)
    table = survey().with_columns(perwt=pl.Series(rng.integers(100, 9000, len(survey()))))
    release = METHODS[0](table, schema("same person", weight="perwt"))
    assert smallest_crowd(table.drop("perwt"), release) >= 5


@pytest.mark.parametrize("make", [lambda t: t, lambda t: t.to_pandas(), lambda t: t.to_arrow(), lambda t: t.lazy()])
def test_every_dataframe_counts_alike(make):
    table = survey()
    release = shoal.coarsen(make(table), schema("same person"), shoal.Generalize(k=5), seed=1, engine="memory")
    assert release.risk.classes.k >= 5
    assert release.schema.unit == "rows that are equal"


def test_order_of_rows_changes_nothing():
    table = survey()
    first = METHODS[3](table, schema("same person"))
    second = METHODS[3](table.sample(fraction=1.0, shuffle=True, seed=9), schema("same person"))
    order = ["age", "sex", "weight", *SYMPTOMS]
    assert first.table.select(order).sort(order).equals(second.table.select(order).sort(order))


def test_epsilon_protects_a_person_with_all_copies():
    domain = {"levels": {"sex": ["f", "m"]}, "bounds": {"age": (0, 120)}}
    small = survey().select("age", "sex")
    made = shoal.Schema.of(quasi=["age", "sex"], **domain, repeats="same person")
    plain = shoal.Schema.of(quasi=["age", "sex"], **domain)
    kept = "of a person with more rows, 1 are kept at random"
    notes = [shoal.synthesize(small, one, shoal.PeGS(epsilon=2.0), rows=50).notes for one in (made, plain)]
    assert [any(kept in note for note in said) for said in notes] == [True, False]


def test_risk_counts_different_rows():
    table = survey()
    together, apart = (shoal.risk.classes(table, schema(one)).k for one in ("same person", "different people"))
    distinct = table.drop("row").unique().group_by("age", "sex").len()["len"].min()
    assert together == distinct < apart or together == distinct == apart
    alone = shoal.risk.uniqueness(table, schema("same person"))
    assert alone.n_unique == int((table.drop("row").unique().group_by("age", "sex").len()["len"] == 1).sum())


# ---- the schema


@pytest.mark.parametrize("answer", ["same person", "different people", None])
def test_the_answer_is_kept_in_the_schema(answer, tmp_path):
    made = schema(answer)
    made.write(tmp_path / "s.toml")
    again = Schema.read(tmp_path / "s.toml")
    assert (again, again.repeats) == (made, answer)
    assert Schema.from_dict(made.to_dict()) == made
    assert ('repeats = "' in (tmp_path / "s.toml").read_text(encoding="utf-8")) == (answer is not None)
    assert len({schema(one).fingerprint() for one in (None, "same person", "different people")}) == 3


def test_wrong_answers_are_refused_with_the_rule():
    with pytest.raises(ShoalError, match="repeats must be 'same person' or 'different people'"):
        schema("twins")
    with pytest.raises(ShoalError, match="left out where a unit says"):
        Schema.of(unit="row", quasi=["age"], repeats="same person")
    with pytest.raises(ShoalError, match="give a person's copies one key"):
        shoal.LinkedSchema.of(
            people={"key": "row", "columns": Schema.of(quasi=["age"], repeats="same person")},
            visits={"parent": "people", "link": "row", "columns": {"day": {"role": "time"}}},
        )


def test_a_person_under_two_keys_of_linked_tables_is_asked_about():
    rng = np.random.default_rng(4)
    people = survey(copied=0).drop("row")[:200]
    people = pl.concat([people, people[:40]]).with_row_index("key")
    tables = {
        "people": people,
        "visits": pl.DataFrame({"key": rng.integers(0, 240, 500), "day": rng.integers(0, 300, 500)}),
    }

    def release(**said):
        columns = Schema.of(quasi=["age", "sex"], sensitive=["weight", *SYMPTOMS], **said)
        roles = shoal.LinkedSchema.of(
            people={"key": "key", "columns": columns},
            visits={"parent": "people", "link": "key", "columns": {"day": {"role": "other"}}},
        )
        assert shoal.LinkedSchema.from_dict(roles.to_dict()) == roles
        return shoal.coarsen(tables, roles, shoal.Mondrian(k=5), seed=1)

    (warning,) = release().inside_warnings
    assert "80 rows occur more than once" in warning
    assert "one key" in warning
    assert release(repeats="different people").inside_warnings == ()
