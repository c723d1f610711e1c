"""Linked releases, from mapping to mapping and from folder to folder: integrity, claims, replay, refusals."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.summary import registered
from shoal.errors import GuaranteeError, ParameterError, ShoalError
from shoal.files.linked import read_linked
from shoal.ledger import Ledger
from shoal.linked import Collection, bags_of, candidates
from shoal.pseudonym import ProjectKey, Pseudonyms
from shoal.recipe import Synthesis
from shoal.release.make import make
from shoal.release.manifest import replay

SCHEMA = shoal.datasets.clinic_schema()


@pytest.fixture(scope="module")
def tables():
    return shoal.datasets.clinic(150, visits=2.0, seed=3)


def joined(release):
    """The released tables, held to their schema as a stranger would."""
    return Collection.of(dict(release.table), SCHEMA.released)


@pytest.mark.parametrize(
    "events",
    [None, shoal.ExchangeBags(), [shoal.DealEvents(), shoal.DealContents()], shoal.CoarsenEvents(within="everybody")],
    ids=["none", "bags", "dealt", "coarsened"],
)
def test_tables_hang_together(tables, events):
    release = shoal.anonymize(tables, SCHEMA, group=shoal.MDAV(k=5), events=events, seed=7)
    made = joined(release)
    assert made.n_persons == 150
    assert "household" not in release.table["patients"].columns
    old = set(tables["patients"]["patient"]) | {0}
    assert not set(release.table["patients"]["patient"]) & old, "keys are new"
    if events is None:
        assert made.n_events == sum(len(tables[name]) for name in ("visits", "prescriptions"))


def test_events_stay_with_their_person_where_nothing_is_exchanged(tables):
    release = shoal.anonymize(tables, SCHEMA, group=shoal.MDAV(k=5), mask=shoal.Resample(), seed=7)
    original = Collection.of(tables, SCHEMA)
    there = sorted(tables["patients"]["income"].to_list())
    assert sorted(release.table["patients"]["income"].to_list()) == there
    spent = _cost_by_income(release.table)
    assert spent == _cost_by_income(original.tables)


def _cost_by_income(tables):
    both = tables["visits"].join(tables["patients"].select("patient", "income"), on="patient")
    return sorted(both.group_by("income").agg(pl.col("cost").sum(), pl.len()).rows())


def test_keys_carry_no_order(tables):
    release = shoal.anonymize(tables, SCHEMA, group=shoal.MDAV(k=5), seed=7)
    visits = release.table["visits"].sort("visit")
    days = visits["day"].cast(pl.Int32).to_numpy()
    rank = abs(np.corrcoef(np.arange(len(days)), days)[0, 1])
    assert rank < 5 / np.sqrt(len(days))
    again = shoal.anonymize(tables, SCHEMA, group=shoal.MDAV(k=5), seed=7)
    assert not release.table["visits"].equals(again.table["visits"]), "keys and order come from a secret"


@pytest.mark.parametrize("m", [1, 2])
def test_coarsened_events_are_shared_on_the_joined_view(tables, m, tmp_path):
    method = shoal.CoarsenEvents(k=4, m=m, suppression=0.5)
    release = shoal.coarsen(tables, SCHEMA, shoal.Mondrian(k=20), events=method, seed=7)
    (claim,) = [one for one in release.claims if one.kind == "(k, k^m)-anonymity"]
    assert (claim.value, claim.known, claim.basis) == (4, m, "verified")
    made = joined(release)
    quasi = release.table["patients"].select("sex", "born", "region")
    classes = quasi.select(pl.concat_str(pl.all(), separator="|").rank("dense")).to_series().to_numpy().astype(int)
    bags = bags_of(made.schema, made.tables, made.parents, made.persons, classes)
    assert candidates(bags, m).min() >= 4
    found = shoal.verify(release.write(tmp_path / "out"))
    (check,) = [one for one in found.checks if one.name == "(k, k^m)-anonymity 4"]
    assert (check.holds, check.standing) == (True, "recomputed")
    assert found.holds


def test_what_cannot_be_reached_is_refused(tables):
    with pytest.raises(GuaranteeError, match="can't reach"):
        shoal.coarsen(
            tables, SCHEMA, shoal.Mondrian(k=5), events=shoal.CoarsenEvents(k=100, m=2, suppression=0.01), seed=1
        )


@pytest.fixture(scope="module")
def written(tables, tmp_path_factory):
    home = tmp_path_factory.mktemp("linked")
    (home / "clinic").mkdir()
    for name, frame in tables.items():
        frame.write_csv(home / "clinic" / f"{name}.csv")
    source = read_linked(home / "clinic", list(tables))
    release = shoal.anonymize(source, SCHEMA, group=shoal.MDAV(k=5), events=shoal.ExchangeBags(), seed=7)
    release.write(home / "out")
    return home


def test_a_folder_becomes_a_folder(written):
    assert {path.name for path in (written / "out").iterdir()} == {
        *("patients.csv", "visits.csv", "prescriptions.csv"),
        *("manifest.json", "report.html"),
    }
    assert shoal.verify(written / "out").holds


def test_the_run_is_repeated_from_the_folder(written):
    found = shoal.verify(written / "out", original=written / "clinic")
    assert found.holds, [check for check in found.checks if check.holds is False]
    assert found.exit_code == 0


@pytest.mark.parametrize("table", ["visits", "patients"])
def test_a_changed_table_is_found(written, tmp_path, table):
    import shutil

    copy = shutil.copytree(written / "out", tmp_path / "out")
    path = copy / f"{table}.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    assert shoal.verify(copy).exit_code == 3


def test_a_dangling_link_is_found_though_the_hashes_fit(written, tmp_path):
    import shutil

    from shoal.files import sha256

    copy = shutil.copytree(written / "out", tmp_path / "out")
    visits = pl.read_csv(copy / "visits.csv").with_columns(patient=pl.lit(999_999))
    visits.write_csv(copy / "visits.csv")
    words = json.loads((copy / "manifest.json").read_text())
    words["files"]["visits.csv"] = words["tables"]["visits"]["sha256"] = sha256(copy / "visits.csv")
    (copy / "manifest.json").write_text(json.dumps(words))
    (check,) = [one for one in shoal.verify(copy).checks if one.name == "linked tables"]
    assert check.holds is False


def test_an_overwritten_release_takes_its_own_files_only(written, tables, tmp_path):
    release = shoal.anonymize(tables, SCHEMA, group=shoal.MDAV(k=5), seed=7)
    release.write(tmp_path / "out")
    release.write(tmp_path / "out", overwrite=True)
    (tmp_path / "out" / "notes.csv").write_text("mine\n")
    with pytest.raises(ShoalError):
        release.write(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "notes.csv").exists()


def without(tables, gone):
    """The tables without some patients, and without what hangs on them."""
    patients = tables["patients"].filter(~pl.col("patient").is_in(gone))
    visits = tables["visits"].join(patients.select("patient"), on="patient", how="semi")
    drugs = tables["prescriptions"].join(visits.select("visit"), on="visit", how="semi")
    return {"patients": patients, "visits": visits, "prescriptions": drugs}


def test_groups_of_linked_tables_are_kept_and_the_intruder_stays_where_one_release_leaves_them(tables, tmp_path):
    """A year later some have left: who joins two releases by histories and incomes still has k candidates."""
    Ledger.open(f"sqlite:///{tmp_path}/ledger.db").close()
    register = shoal.Register.open("clinic", ledger=f"sqlite:///{tmp_path}/ledger.db")
    words = {"mask": shoal.Centroid(), "register": register, "events": shoal.ExchangeBags()}
    tables = {**tables, "patients": tables["patients"].with_columns(income=pl.int_range(150) * 7.0)}  # a token
    first = shoal.anonymize(tables, SCHEMA, group=shoal.MDAV(k=5), **words)
    first.write(tmp_path / "one")
    with pytest.raises(GuaranteeError, match="the events of a person"):
        shoal.anonymize(tables, SCHEMA, group=shoal.KMember(k=5), **words)
    later = without(tables, tables["patients"]["patient"][:3].to_list())
    second = shoal.anonymize(later, SCHEMA, same_groups_as="last", **words)
    assert second.beside.holds
    assert "not measured" in registered(second)[0]
    assert "not measured" not in registered(first)[0]
    assert second.beside.held_back + len(second.table["patients"]) == 147
    joined(second)
    seen = [one.table["patients"].select("sex", "born", "region", "income") for one in (first, second)]
    both = seen[0].join(seen[1], on="income", suffix="_then")
    cells = [name for name in both.columns if name != "income"]
    assert both.group_by(cells).len()["len"].min() >= 5
    gone = seen[0].join(seen[1], on="income", how="anti")
    assert gone.group_by("sex", "born", "region").len()["len"].min() >= 5
    assert "no rows made up" in registered(second)[0]
    assert shoal.verify(second.write(tmp_path / "two")).exit_code == 5
    assert "no rows were made up in their place" in (tmp_path / "two" / "manifest.json").read_text()
    again = replay(tmp_path / "two.internal" / "replay.toml", later)
    assert all(again.table[name].equals(frame) for name, frame in second.table.items())
    register.close()


def test_pseudonyms_join_releases_of_one_scope(tables):
    names = Pseudonyms(key=ProjectKey(bytes(range(32))), scope="registry")
    runs = [shoal.anonymize(tables, SCHEMA, group=shoal.MDAV(k=5), pseudonyms=names, seed=s) for s in (1, 2)]
    first, second = (set(run.table["visits"]["visit"]) for run in runs)
    assert first == second
    assert not set(runs[0].table["patients"]["patient"]) & set(runs[0].table["visits"]["visit"])


def test_any_frame_in_the_same_out(tables):
    given = {name: frame.to_pandas() for name, frame in tables.items()}
    release = shoal.anonymize(given, SCHEMA, group=shoal.MDAV(k=5), seed=7)
    assert {type(frame).__module__.split(".")[0] for frame in release.table.values()} == {"pandas"}


def test_events_belong_to_linked_tables(tables):
    with pytest.raises(ParameterError, match="linked tables"):
        shoal.anonymize(tables["patients"], SCHEMA.persons.whole, events=shoal.ExchangeBags())
    with pytest.raises(ParameterError, match="anonymised and coarsened, and nothing else"):
        make(tables, SCHEMA, Synthesis.of(shoal.PeGS()))


def test_summaries_decide_who_is_grouped(tables):
    words = SCHEMA.to_dict()
    del words["tables"]["visits"]["summaries"]
    plain = shoal.LinkedSchema.from_dict(words)
    one, other = (shoal.anonymize(tables, schema, group=shoal.MDAV(k=5), seed=7) for schema in (SCHEMA, plain))
    counts = np.bincount(Collection.of(tables, SCHEMA).persons["visits"], minlength=150)
    spread = [_within(counts, release.labels) for release in (one, other)]
    assert spread[0] < spread[1], "members of a group have more alike numbers of visits"
    assert one.frame.columns == other.frame.columns, "and no summary is released"


def _within(values, labels):
    return sum(values[labels == g].var() * (labels == g).sum() for g in np.unique(labels))


def test_the_command_is_that_of_the_persons_recipe(tables):
    from shoal.recipe import read_recipe

    coarser = read_recipe({"coarsen": "mondrian:k=20", "events": ["coarsen-events:k=5"]})
    masked = read_recipe({"group": "mdav", "mask": "centroid", "events": ["exchange-bags"]})
    assert (coarser.command, masked.command) == ("coarsen", "anonymize")


def noted(tables, name="visits"):
    said = "came late and talked at length about the weather of day"
    note = [f"patient {i} {said} {i}" for i in range(len(tables[name]))]
    words = SCHEMA.to_dict()
    words["tables"][name]["columns"]["note"] = {"role": "other"}
    return {**tables, name: tables[name].with_columns(note=pl.Series(note))}, shoal.LinkedSchema.from_dict(words)


@pytest.mark.parametrize("name", ["patients", "visits"])
def test_free_text_of_linked_tables_is_refused_until_a_person_allows_it(tables, name, tmp_path):
    given, schema = noted(tables, name)
    with pytest.raises(GuaranteeError, match=r"must not hold what names people.*note' \(free text"):
        shoal.anonymize(given, schema, group=shoal.MDAV(k=5))
    release = shoal.anonymize(given, schema, group=shoal.MDAV(k=5), allow=[f"{name}.note"])
    assert "note" in release.table[name].columns
    assert any("allowed it to leave" in note for note in release.notes)


def ruled(**entries):
    words = SCHEMA.to_dict()
    visits = words["tables"]["visits"]
    visits.update({name: value for name, value in entries.items() if name == "rules"})
    for name, more in entries.get("columns", {}).items():
        visits["columns"][name] |= more
    return shoal.LinkedSchema.from_dict(words)


def test_rules_of_events_are_counted_before_and_after(tables):
    least = tables["visits"]["cost"].min()
    ok, broken = (ruled(rules=[{"sum": {"cost": 1}, "min": least + by}]) for by in (0, 0.01))
    release = shoal.anonymize(tables, ok, group=shoal.MDAV(k=5), events=shoal.ExchangeBags())
    assert release.table["visits"]["cost"].min() == least
    with pytest.raises(ShoalError, match=r"table 'visits': rule \(cost\) must hold in every row; got 1 rows"):
        shoal.anonymize(tables, broken, group=shoal.MDAV(k=5))


def test_what_events_cannot_have_is_named_at_once(tables):
    columns = {"cost": {"derived": ["day"]}, "diagnosis": {"missing_codes": {"-9": "unknown"}}}
    with pytest.raises(ShoalError) as caught:
        shoal.anonymize(tables, ruled(columns=columns), group=shoal.MDAV(k=5), events=shoal.CoarsenEvents())
    assert "follows from others, which is kept for the table of persons only" in str(caught.value)
    assert "numbers or reasons, which can be neither summarised nor coarsened" in str(caught.value)
