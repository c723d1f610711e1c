"""The register in a ledger: entered with the release, refused, overridden, withdrawn, repeated, tampered with."""

import hashlib
import json
import os
import pickle
import stat

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.summary import registered
from shoal.errors import FileError, GuaranteeError, InputError, ParameterError
from shoal.ledger import Ledger
from shoal.ledger.tables import RELEASED
from shoal.register.person_marks import BYTES, People, row_hashes, written_rows
from shoal.release.manifest import read_manifest, replay
from shoal.release.minisign import new_key

SCHEMA = shoal.Schema.of(
    identifier=["id"],
    quasi=["age", "sex"],
    sensitive=["ill", "cost"],
    kinds={"age": "numeric", "sex": "nominal", "ill": "nominal", "cost": "numeric"},
    bounds={"age": (0, 120)},
    hierarchies={"age": {"kind": "intervals", "widths": [10, 20, 40]}},
)


def people(n=120, seed=1, first=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"sentinel{i}" for i in range(first, first + n)],
            "age": rng.integers(20, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["flu", "hiv", "none"], n),
            "cost": np.round(1000 * rng.random(n), 3) + first,
        }
    )


@pytest.fixture
def url(tmp_path):
    place = f"sqlite:///{tmp_path}/ledger.db"
    Ledger.open(place).close()
    return place


@pytest.fixture
def register(url):
    register = shoal.Register.open("patients", ledger=url)
    yield register
    register.close()


def masked(table, register, **words):
    given = {"group": shoal.MDAV(k=5), "mask": shoal.Resample()} | words
    return shoal.anonymize(table, SCHEMA, register=register, **given)


def test_what_is_kept_of_a_release(register, tmp_path, url):
    release = masked(people(), register.to("University"))
    assert register.releases() == []  # not before it is written
    release.write(tmp_path / "out")
    [words] = register.releases()
    manifest = read_manifest(tmp_path / "out")
    assert manifest["register"] == {"holds": True, "same_groups": False, "recipient": "University"}
    assert (words["folder"], words["commitment"]) == (str(tmp_path / "out"), manifest["input"]["commitment"])
    assert (words["recipient"], words["k"], words["people"], words["rows"]) == ("University", 5, 120, 120)
    assert words["files"]["release.csv"] == manifest["files"]["release.csv"]
    assert words["unchanged"] == ["cost", "ill"]
    assert set(words["columns"]) == {"age", "sex", "ill", "cost"}
    assert {claim["kind"] for claim in words["claims"]} >= {"re-identification bound"}
    marks = register.ledger.released_marks(words, "people")
    assert len(marks) == 120 * BYTES
    kept = (tmp_path / "ledger.db").read_bytes()
    assert b"sentinel" not in kept
    assert register.key not in kept
    key = tmp_path / "ledger.db.register.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert People.from_bytes(marks).to_bytes() == marks
    register.ledger.verify()


def test_a_crossed_release_is_refused_or_overridden_and_that_shows_everywhere(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="people with fewer than 5 candidates") as error:
        masked(people(), register, group=shoal.KMember(k=5))
    assert "sentinel" not in str(error.value)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    name = register.releases()[0]["release"]
    for said in (
        "can be joined by cost and ill",
        f"Release 1 is {name}, of ",
        f", in {tmp_path / 'one'}.",
        f'shoal ledger withdraw {name} --because "a trial that never left" --ledger {register.place}',
        "--same-groups-as 1",
        "--no-register",
        '--despite "REASON"',
    ):
        assert said in str(error.value)
    release = masked(people(), register.to("Ministry", despite="the first was destroyed"), group=shoal.KMember(k=5))
    release.write(tmp_path / "two")
    found = release.beside
    assert (found.earlier, found.returning, found.newcomers, found.leavers) == (
        (register.releases()[0]["release"],),
        120,
        0,
        0,
    )
    assert found.below > 50
    assert found.joined == ("cost", "ill")
    manifest = read_manifest(tmp_path / "two")
    assert manifest["register"]["despite"] == "the first was destroyed"
    assert manifest["register"]["holds"] is False
    report = (tmp_path / "two" / "report.html").read_text()
    assert "the first was destroyed" in report
    assert f"{found.below:,} people with fewer" not in report
    assert f"{found.below:,} people with fewer" in (tmp_path / "two.internal" / "report.html").read_text()
    assert register.releases()[1]["beside"]["below"] == found.below


def test_a_coarsened_table_is_told_of_levels_and_not_of_groups(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    with pytest.raises(GuaranteeError) as error:
        shoal.coarsen(people(), SCHEMA, shoal.Mondrian(k=5), register=register)
    assert "shoal apply POLICY" in str(error.value)
    assert "--same-groups-as" not in str(error.value)


def test_nothing_that_leaves_tells_a_second_release_from_a_first(register, tmp_path, url):
    """Neither the name of the data set, nor those of other releases, nor that there are any."""
    free = shoal.Register.open("others", ledger=url)
    masked(people(), register).write(tmp_path / "one")
    release = masked(people(), register, group=shoal.KMember(k=5), mask=shoal.Resample(), same_groups_as="last")
    assert release.beside.earlier
    again = masked(people(), register.to(None, despite="unused"), same_groups_as="last")
    for one in (release, again):
        assert one.beside.outside() == {"holds": True, "same_groups": True}
    other = people(seed=2, first=1000)
    beside, alone = masked(other, register), masked(other, free)
    assert beside.beside.earlier
    assert not alone.beside.earlier
    assert beside.beside.outside() == alone.beside.outside()
    leaves = [[fact for fact in one.beside.facts if fact.outside] for one in (beside, alone)]
    assert leaves[0] == leaves[1] != []
    words = [json.dumps(read_manifest(one.write(tmp_path / name))) for one, name in ((beside, "b"), (alone, "a"))]
    secret = {register.data, free.data, *(one["release"] for one in (*register.releases(), *free.releases()))}
    assert not any(name in text for text in words for name in secret)
    page = (tmp_path / "b" / "report.html").read_text()
    assert not any(name in page for name in secret)
    free.close()


def test_what_was_withdrawn_does_not_leave(register, tmp_path):
    out = masked(people(), register).write(tmp_path / "one")
    secret, _ = new_key(tmp_path / "publisher.key")
    shoal.sign(out, key=secret)
    register.ledger.withdraw(register.releases()[0]["release"], "a trial")
    for leave in (lambda: shoal.sign(out, key=secret), lambda: shoal.handover(out, tmp_path / "out.zip")):
        with pytest.raises(GuaranteeError, match="withdrawn from the register"):
            leave()
    assert not (tmp_path / "out.zip").exists()
    (tmp_path / "one.internal" / "replay.toml").unlink()  # the ledger is remembered
    with pytest.raises(GuaranteeError, match="withdrawn from the register"):
        shoal.handover(out, tmp_path / "out.zip")


def test_a_withdrawn_release_is_held_against_nobody(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    name = register.releases()[0]["release"]
    with pytest.raises(ParameterError, match="reason"):
        register.ledger.withdraw(name, " ")
    with pytest.raises(InputError, match="no release"):
        register.ledger.withdraw("nothing", "a trial")
    register.ledger.withdraw(name, "a trial")
    with pytest.raises(InputError, match="withdrawn already"):
        register.ledger.withdraw(name, "a trial")
    release = masked(people(), register, group=shoal.KMember(k=5))
    assert release.beside.earlier == ()
    assert register.releases()[0]["withdrawn"] == "a trial"
    with pytest.raises(InputError, match="no release"):
        register.find("last")
    register.ledger.verify()


def test_expired_marks_can_be_overridden_and_not_ignored(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    register.ledger.forget(register.releases()[0]["release"], "ten years are over")
    with pytest.raises(GuaranteeError, match="were deleted"):
        masked(people(), register)
    assert masked(people(), register.to(None, despite="ten years are over")).beside.holds


def test_other_people_of_the_data_set_are_free(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    release = masked(people(seed=2, first=1000), register)
    assert release.beside.holds
    assert (release.beside.newcomers, release.beside.leavers, release.beside.returning) == (120, 120, 0)


def test_nothing_joins_releases_without_a_common_column(register, tmp_path):
    table = people().drop("ill", "cost")
    bare = shoal.Schema.of(identifier=["id"], quasi=["age", "sex"], bounds={"age": (0, 120)})
    words = {"mask": shoal.Resample(), "register": register}
    shoal.anonymize(table, bare, group=shoal.MDAV(k=5), **words).write(tmp_path / "one")
    release = shoal.anonymize(table, bare, group=shoal.KMember(k=5), **words)
    assert release.beside.holds
    assert release.beside.earlier == ()


def test_a_pseudonym_joins_as_a_token_does_and_another_scope_does_not(register, tmp_path):
    table = people().drop("ill", "cost")
    named = shoal.Schema.of(unit="id", pseudonym=["id"], quasi=["age", "sex"], bounds={"age": (0, 120)})
    key = shoal.ProjectKey.draw()

    def release(scope, group):
        words = {"mask": shoal.Resample(), "register": register, "group": group}
        return shoal.anonymize(table, named, pseudonyms=shoal.Pseudonyms(key=key, scope=scope), **words)

    release("a", shoal.MDAV(k=5)).write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="same people"):
        release("a", shoal.KMember(k=5))
    with pytest.raises(GuaranteeError, match="same people"):  # what else there is can't be told from the signatures
        release("b", shoal.KMember(k=5))


def test_the_same_groups_hold_and_the_run_can_be_repeated(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    table = pl.concat([people()[4:], people(30, seed=5, first=1000)])
    release = masked(table, register, same_groups_as="1")
    beside = release.beside
    assert beside.holds
    assert beside.same_groups_as == register.releases()[0]["release"]
    assert beside.newcomers == 30
    assert beside.held_back + len(release.table) == len(table)
    release.write(tmp_path / "two")
    masked(table, register, same_groups_as="last").write(tmp_path / "three")
    again = replay(tmp_path / "two.internal" / "replay.toml", table)
    assert again.table.equals(release.table)
    assert again.beside == beside
    assert again.entry is None


def test_what_was_lost_once_is_not_lost_again(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    given = masked(people(), register.to(None, despite="it was destroyed"), group=shoal.KMember(k=5))
    given.write(tmp_path / "two")
    again = masked(people(), register, same_groups_as="1").beside
    assert again.holds
    assert again.held_back == 0
    assert again.lost_before == given.beside.below
    with pytest.raises(GuaranteeError, match="same people"):
        masked(people(), register, group=shoal.Crest(k=5))


def test_too_few_newcomers_wait(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    release = masked(pl.concat([people(), people(3, seed=5, first=1000)]), register, same_groups_as="last")
    assert (release.beside.held_back, release.beside.newcomers, len(release.table)) == (3, 0, 120)


def test_diversity_is_lost_where_classes_share_one_value(register, tmp_path):
    """Two tables of 2-diverse classes, with nothing in common but the diagnosis: [R1] at scale."""
    n = 40
    table = pl.DataFrame(
        {
            "age": [20 + 10 * (i // 20) for i in range(n)],
            "zip": [str(1 + i // 10 % 2) for i in range(n)],
            "ill": [["hiv", "flu", "cancer", "asthma"][i // 10] for i in range(n)],
        }
    )
    schema = shoal.Schema.of(quasi=["age", "zip"], sensitive=["ill"], kinds={"age": "nominal", "zip": "nominal"})

    def coarser(column, register):
        steps = {column: {"kind": "star"}}
        method = shoal.Generalize(k=2, diversity=2, limits={"age": 0, "zip": 0})
        return shoal.coarsen(table, schema, [shoal.Recode(steps=steps), method], register=register)

    coarser("zip", register).write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="40 people with fewer than 2 sensitive values left"):
        coarser("age", register)
    assert coarser("zip", register).beside.holds


def test_people_are_known_by_the_same_column_every_year(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["ill", "cost"], bounds={"age": (0, 120)})
    with pytest.raises(InputError, match="told apart by column 'id'"):
        shoal.anonymize(people().drop("id"), schema, register=register)


def test_next_years_figures_under_no_name_are_told_whose_they_may_be(register, url, tmp_path):
    """Nobody named the data set and all figures differ, but the identifiers are those of last year's people."""
    masked(people(), register).write(tmp_path / "one")
    unnamed = shoal.Register.open(ledger=url)
    later = people().with_columns(pl.col("cost") + 7.5, pl.col("age") + 1)
    found = masked(later, unnamed)
    assert (found.beside.resembles, found.beside.earlier) == ("patients", ())
    assert "--data patients" in registered(found)[0]
    assert "patients" not in json.dumps(found.beside.outside())
    assert not any("patients" in str(fact) for fact in found.facts if fact.outside)
    shifted = people().with_columns(pl.col("cost") * 100 + 3, id=pl.Series([f"other{i}" for i in range(120)]))
    assert masked(shifted, unnamed).beside.resembles == "patients"
    assert masked(people(seed=2, first=500), unnamed).beside.resembles is None
    with pytest.raises(GuaranteeError, match="of the same people"):
        masked(later, register, group=shoal.KMember(k=5))
    unnamed.close()


def test_without_an_identifier_people_are_their_rows(register, tmp_path):
    schema = shoal.Schema.of(quasi=["age", "sex"], sensitive=["ill", "cost"], bounds={"age": (0, 120)})
    words = {"mask": shoal.Resample(), "register": register}
    table = people().drop("id")
    shoal.anonymize(table, schema, group=shoal.MDAV(k=5), **words).write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="same people"):
        shoal.anonymize(table[::-1], schema, group=shoal.KMember(k=5), **words)


def test_numbers_and_texts_name_the_same_person(register, tmp_path):
    table = people().with_columns(id=pl.int_range(120))
    masked(table, register).write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="same people"):
        masked(table.with_columns(pl.col("id").cast(pl.String)), register, group=shoal.KMember(k=5))


def test_several_rows_of_a_person_count_once(register, tmp_path):
    schema = shoal.Schema.of(unit="id", quasi=["age", "sex"], sensitive=["ill", "cost"], bounds={"age": (0, 120)})
    table = pl.concat([people(), people().with_columns(pl.col("cost") + 0.5)])
    release = shoal.anonymize(table, schema, group=shoal.MDAV(k=5), mask=shoal.Resample(), register=register)
    assert release.beside.people == 120
    release.write(tmp_path / "one")
    assert shoal.anonymize(
        table[::-1], schema, mask=shoal.Resample(), register=register, same_groups_as="last"
    ).beside.holds


def test_synthetic_rows_are_entered_with_their_epsilon(register, tmp_path):
    schema = shoal.Schema.of(
        quasi=["sex"], sensitive=["ill"], levels={"sex": ["f", "m"], "ill": ["flu", "hiv", "none"]}
    )
    table = people().select("sex", "ill")
    shoal.synthesize(table, schema, shoal.PeGS(epsilon=1.0), rows=50, register=register).write(tmp_path / "one")
    [words] = register.releases()
    assert (words["epsilon"], words["people"], words["marks"]) == (1.0, 0, {})


def test_two_runs_at_once_do_not_pass_each_other(register, tmp_path):
    first, second = masked(people(), register), masked(people(), register, group=shoal.KMember(k=5))
    first.write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="entered meanwhile"):
        second.write(tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert not (tmp_path / "two.internal").exists()


def test_a_register_that_was_tampered_with_is_refused(register, tmp_path):
    masked(people(), register).write(tmp_path / "one")
    with register.ledger.writing() as connection:
        connection.execute(RELEASED.delete())
    with pytest.raises(GuaranteeError, match="must be those that were entered"):
        masked(people(), register)


def test_a_lost_or_wrong_key_is_an_error_and_never_a_new_beginning(register, tmp_path, url):
    masked(people(), register).write(tmp_path / "one")
    key = tmp_path / "ledger.db.register.key"
    kept = key.read_text()
    key.unlink()
    other = shoal.Register.open("patients", ledger=url)
    with pytest.raises(FileError, match="key of the register is missing"):
        masked(people(), other)
    assert not key.exists()
    key.write_text("00" * 32)
    with pytest.raises(FileError, match="owner's alone"):
        masked(people(), other)
    key.chmod(0o600)
    with pytest.raises(FileError, match="another one"):
        masked(people(), other)
    key.write_text(kept)
    assert masked(people(), other, same_groups_as="last").beside.holds
    other.close()


def test_a_mistyped_ledger_is_not_begun(tmp_path):
    with pytest.raises(InputError, match="no ledger"):
        shoal.Register.open("patients", ledger=f"sqlite:///{tmp_path}/typo.db")
    assert not os.path.exists(tmp_path / "typo.db")


def test_groups_need_a_register_and_a_release_that_is_there(register):
    with pytest.raises(ParameterError, match="needs the register"):
        shoal.anonymize(people(), SCHEMA, same_groups_as="last")
    with pytest.raises(InputError, match="no release 'last'"):
        masked(people(), register, same_groups_as="last")


def test_a_policy_lets_newcomers_of_a_class_wait_until_they_are_k(register, tmp_path):  # [R6]
    policy = shoal.fit(people(), SCHEMA, shoal.Generalize(k=5, suppression=0.1))
    policy.apply(people(), register=register).write(tmp_path / "january")
    grown = pl.concat([people(), people(2, seed=9, first=1000)])
    held = policy.apply(grown, register=register)
    assert held.beside.holds
    assert held.beside.newcomers == 0
    many = policy.apply(pl.concat([people(), people(400, seed=9, first=1000)]), register=register)
    assert many.beside.holds
    assert many.beside.newcomers > 300
    new = many.table.join(policy.apply(people()).table, on="cost", how="anti")
    assert new.group_by("age", "sex").len()["len"].min() >= 5


def test_the_inside_words_are_json(register):
    words = masked(people(), register).beside.to_dict()
    assert json.loads(json.dumps(words)) == words


def test_hashes_are_blake2b_of_the_written_row_whatever_was_hashed_before():
    """Registers of earlier versions must know their people again."""
    rows = pl.DataFrame({"a": ["x", None, "x", "x"], "b": [1, 2, 1, 3]})
    written = ["1:x|1:1", "-|1:2", "1:x|1:1", "1:x|1:3"]
    assert written_rows(rows, 4) == written

    def plain(text):
        return hashlib.blake2b(text.encode(), key=b"key", person=b"person", digest_size=16).digest()

    found = row_hashes(b"key", "person", rows, 4, numbered=True)
    again = plain(f"{plain(written[0]).hex()}#1")
    assert [one.tobytes() for one in found] == [plain(written[0]), plain(written[1]), again, plain(written[3])]
