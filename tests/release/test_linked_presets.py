"""Presets over linked tables: steps rewrite every table, rules look at every table, and k counts who knows an event."""

import json

import polars as pl
import pytest

import shoal
from shoal.compliance import preset
from shoal.errors import GuaranteeError, ParameterError
from shoal.files import sha256
from shoal.release.manifest import replay

SCHEMA = shoal.datasets.clinic_schema()
SAFE = preset("safe-harbor").asked(allow=("patients.region",), year=2023)
EVENTS = shoal.CoarsenEvents(k=10, within="everybody", suppression=0.5)


@pytest.fixture(scope="module")
def tables():
    return shoal.datasets.clinic(150, visits=2.0, seed=3)


@pytest.mark.parametrize("verb", ["anonymize", "coarsen"])
def test_dates_of_all_tables_become_years(tables, tmp_path, verb):
    method = (shoal.Mondrian(k=5),) if verb == "coarsen" else ()
    release = getattr(shoal, verb)(tables, SCHEMA, *method, preset=SAFE, seed=7)
    visits = release.table["visits"]
    assert set(visits["day"]) == set(tables["visits"]["day"].dt.year())
    assert visits.group_by("day").len().sort("day").rows() == (
        tables["visits"].group_by(day=pl.col("day").dt.year()).len().sort("day").cast({"day": pl.Int64}).rows()
    )
    assert set(visits["ward"]) == {"*"}, "a ward is smaller than a state"
    assert not release.table["patients"]["born"].dtype.is_temporal()
    out = release.write(tmp_path / "out")
    words = json.loads((out / "manifest.json").read_text())
    assert all(words["preset"]["holds"].values())
    assert {"visits", "prescriptions"} == {rule.split(": ")[0] for rule in words["preset"]["holds"] if ": " in rule}
    assert shoal.verify(out).exit_code == 5
    again = replay(tmp_path / "out.internal" / "replay.toml", tables)
    assert all(again.table[name].equals(frame) for name, frame in release.table.items())


def test_an_identifier_in_a_table_of_events_is_refused_by_its_table(tables):
    words = SCHEMA.to_dict()
    words["tables"]["visits"]["columns"]["email"] = {"role": "other"}
    schema = shoal.LinkedSchema.from_dict(words)
    mail = pl.Series("email", [f"p{i}@example.org" for i in range(len(tables["visits"]))])
    given = {**tables, "visits": tables["visits"].with_columns(mail)}
    with pytest.raises(GuaranteeError, match=r"column 'visits\.email' \(contact") as error:
        shoal.anonymize(given, schema, preset=SAFE)
    assert "example.org" not in str(error.value)
    with pytest.raises(GuaranteeError, match="email"):
        shoal.coarsen(given, schema, shoal.Mondrian(k=5), preset=preset("limited-data-set"))


def test_days_that_are_gone_do_not_move(tables):
    for method in (shoal.ShiftDates(), shoal.ExchangeTrajectories()):
        with pytest.raises(ParameterError, match="no days to move"):
            shoal.anonymize(tables, SCHEMA, preset=SAFE, events=method)
    assert shoal.anonymize(tables, SCHEMA, preset=SAFE, events=shoal.ExchangeTrajectories(days=0)).table


def test_safe_harbor_lets_no_pseudonym_stand(tables):
    pseudonyms = shoal.Pseudonyms(key=shoal.ProjectKey.draw(), scope="a")
    with pytest.raises(GuaranteeError, match="derived from an identifier"):
        shoal.anonymize(tables, SCHEMA, preset=SAFE, pseudonyms=pseudonyms)


def test_k_is_asked_of_who_knows_an_event_too(tables, tmp_path):
    words = {"group": shoal.MDAV(k=10), "mask": shoal.Resample(), "preset": "public-10"}
    for events in (None, shoal.ExchangeBags(), shoal.CoarsenEvents(k=5, within="everybody", suppression=0.5)):
        with pytest.raises(GuaranteeError, match="whoever knows one event"):
            shoal.anonymize(tables, SCHEMA, events=events, **words)
    accepted = shoal.anonymize(tables, SCHEMA, accept=True, **words)
    assert any("nothing is claimed of known events" in note for note in accepted.notes)
    release = shoal.anonymize(tables, SCHEMA, events=EVENTS, **words)
    visits = release.table["visits"]
    known = visits.group_by("day", "ward").agg(pl.col("patient").n_unique())
    assert known["patient"].min() >= 10
    assert shoal.verify(release.write(tmp_path / "out")).exit_code == 5


def test_a_manifest_that_says_more_than_holds_is_found(tables, tmp_path):
    release = shoal.anonymize(
        tables, SCHEMA, group=shoal.MDAV(k=10), mask=shoal.Resample(), preset="public-10", accept=True
    )
    out = release.write(tmp_path / "out")
    words = json.loads((out / "manifest.json").read_text())
    words["preset"]["holds"] = dict.fromkeys(words["preset"]["holds"], True)
    (out / "manifest.json").write_text(json.dumps(words))
    assert sha256(out / "manifest.json")
    found = shoal.verify(out)
    assert found.exit_code == 3
    assert any("whoever knows one event" in check.name for check in found.checks if check.holds is False)


def test_small_cells_of_events_count_persons_and_not_rows():
    """Twelve rows of one rare drug that one person has are a cell of one."""
    table = pl.DataFrame({"drug": ["common"] * 30 + ["rare"] * 12})
    persons = pl.Series([*range(30), *[30] * 12]).to_numpy()
    schema = shoal.Schema.of(quasi=["drug"])
    cms = preset("cms")
    [levels] = cms.event_findings(table, schema, persons)
    assert not levels.holds
    [levels] = cms.event_findings(table, schema, pl.Series(range(42)).to_numpy())
    assert levels.holds
