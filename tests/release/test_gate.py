"""No column that names people leaves as it came unless a person has allowed it, whatever role was written by hand."""

import json

import polars as pl
import pytest

import shoal
from shoal.errors import GuaranteeError
from shoal.release import make
from shoal.release.gate import handed_on
from shoal.schema import LinkedSchema

N = 400
GIVEN = ["Elif", "Maria", "John", "Anna", "Peter", "Laura", "Jonas", "Sofia"]
FAMILY = ["Okafor", "Smith", "Weber", "Nguyen", "Garcia", "Novak", "Rossi", "Kim", "Patel", "Jansen"]


def table(**columns):
    return pl.DataFrame(
        {
            "age": [20 + i * 7 % 60 for i in range(N)],
            "sex": ["f", "m"] * (N // 2),
            "cost": [100 + i * 37 % 900 for i in range(N)],
            **columns,
        }
    )


NAMING = {
    "Patientennr": [f"P{i:05d}" for i in range(1, N + 1)],
    "Fallnummer": [f"F{i:04d}" for i in range(1, N + 1)],
    "chart": [f"C{i:03d}" for i in range(1, N + 1)],
    "visit_chart": [f"C{i:03d}" for i in range(1, N // 2 + 1)] * 2,
    "who": [f"{GIVEN[i % 8]} {FAMILY[i // 8 % 10]}" for i in range(80)] * 5,
    "remark": [f"Mr {FAMILY[i % 10]} was ok" for i in range(N)],
    "mail": [f"p{i}@clinic.org" for i in range(N)],
}


def schema(role, *names, **more):
    roles = {"quasi": ["age", "sex"], "sensitive": ["cost"]}
    roles[role] = [*roles.get(role, []), *names]
    return shoal.Schema.of(**roles, **more)


VERBS = {
    "anonymize": lambda t, s, **how: shoal.anonymize(t, s, seed=1, **how),
    "resample": lambda t, s, **how: shoal.anonymize(t, s, mask=shoal.Resample(), seed=1, **how),
    "generalize": lambda t, s, **how: shoal.coarsen(t, s, shoal.Generalize(k=2), seed=1, **how),
    "mondrian": lambda t, s, **how: shoal.coarsen(t, s, shoal.Mondrian(k=5), seed=1, **how),
}


@pytest.mark.parametrize("role", ["sensitive", "other"])
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_what_names_people_in_every_role(verb, role):
    with pytest.raises(GuaranteeError) as caught:
        VERBS[verb](table(**NAMING), schema(role, *NAMING))
    assert all(f"'{name}'" in str(caught.value) for name in NAMING)
    assert caught.value.exit_code == 3
    assert "P00001" not in str(caught.value)
    assert "Okafor" not in str(caught.value)


@pytest.mark.parametrize("name", ["Patientennr", "who"])
@pytest.mark.parametrize("verb", ["anonymize", "resample", "mondrian"])
def test_quasi_identifiers_whose_cells_are_handed_on_are_refused(verb, name):
    with pytest.raises(GuaranteeError, match=name):
        VERBS[verb](table(**{name: NAMING[name]}), schema("quasi", name))


def test_numbers_that_masks_hand_on_are_refused():
    numbers = [100_000 + i for i in range(N)]
    with pytest.raises(GuaranteeError, match="case_no"):
        shoal.anonymize(table(case_no=numbers), schema("quasi", "case_no"), mask=shoal.Resample(), seed=1)


def test_intervals_of_numbers_are_no_numbers_of_people():
    numbers = [100_000 + i for i in range(N)]
    roles = schema("quasi", "case_no", hierarchies={"case_no": {"kind": "intervals", "widths": [200, 400]}})
    release = shoal.coarsen(table(case_no=numbers), roles, shoal.Generalize(k=2, suppression=0.2), seed=1)
    assert "case_no" in release.table.columns


def test_handed_on_cells_are_known_by_value():
    before = pl.Series(["C001", "C002", "C003", "C004"])
    assert handed_on(before, pl.Series(["C002", "C003"]))
    assert handed_on(before, pl.Series(["{C001, C002}", "{C003, C004}"]))
    assert handed_on(pl.Series([1.0, 2.0]), pl.Series([1, 2]))
    assert not handed_on(before, pl.Series(["*"]))
    assert not handed_on(pl.Series([10, 20]), pl.Series(["10-19", "20-29"]))


def test_what_a_person_allowed_leaves_and_is_told(tmp_path):
    release = shoal.anonymize(table(**NAMING), schema("sensitive", *NAMING), allow=list(NAMING), seed=1)
    out = release.write(tmp_path / "out")
    words = json.loads((out / "manifest.json").read_text())
    assert words["allowed"] == sorted(NAMING)
    assert any("chart: a person looked at it and allowed it" in note for note in words["notes"])
    assert shoal.verify(out).holds


def test_what_is_told_follows_from_the_schema_alone():
    plain = shoal.anonymize(table(x=[1, 2] * (N // 2)), schema("sensitive", "x"), allow=["x"], seed=1)
    naming = shoal.anonymize(table(x=NAMING["chart"]), schema("sensitive", "x"), allow=["x"], seed=1)
    told = [[str(f) for f in one.facts if f.outside and "allowed" in f.values] for one in (plain, naming)]
    assert told[0] == told[1] == ["x: a person looked at it and allowed it to leave as it is"]


def test_an_allowed_release_is_repeated_byte_for_byte(tmp_path):
    table(chart=NAMING["chart"]).write_csv(tmp_path / "people.csv")
    source = shoal.files.read_source(tmp_path / "people.csv")
    release = shoal.anonymize(source, schema("other", "chart"), allow=["chart"])
    out = release.write(tmp_path / "out")
    assert shoal.verify(out, original=tmp_path / "people.csv").exit_code == 0


def test_a_release_written_without_the_gate_fails_verification(tmp_path):
    release = shoal.anonymize(table(chart=NAMING["chart"]), schema("other", "chart"), allow=["chart"], seed=1)
    out = release.write(tmp_path / "out")
    words = json.loads((out / "manifest.json").read_text())
    del words["allowed"]
    (out / "manifest.json").write_text(json.dumps(words))
    checks = {check.name: check for check in shoal.verify(out).checks}
    assert not checks["roles"].holds
    assert "'chart'" in checks["roles"].detail


def test_policies_refuse_and_allow():
    roles = schema("other", "chart")
    policy = shoal.fit(table(chart=["a", "b"] * (N // 2)), roles, shoal.Generalize(k=2))
    with pytest.raises(GuaranteeError, match="chart"):
        policy.apply(table(chart=NAMING["chart"]))
    assert "chart" in policy.apply(table(chart=NAMING["chart"]), allow=["chart"]).table.columns


def test_synthetic_names_are_refused_unless_allowed():
    names = [f"{one} {other}" for one in GIVEN for other in FAMILY[:4]]
    frame = pl.DataFrame({"who": [names[i % len(names)] for i in range(N)], "sex": ["f", "m"] * (N // 2)})
    roles = shoal.Schema.of(quasi=["who", "sex"], levels={"who": names, "sex": ["f", "m"]})
    with pytest.raises(GuaranteeError, match="who"):
        shoal.synthesize(frame, roles, shoal.PeGS(epsilon=2.0), rows=300)
    made = shoal.synthesize(frame, roles, shoal.PeGS(epsilon=2.0), rows=300, allow=["who"])
    assert "who" in made.table.columns


@pytest.mark.parametrize("role", ["sensitive", "other"])
def test_linked_tables_refuse_both_in_persons_and_events(role):
    persons = pl.DataFrame({"pid": range(N), "age": [20 + i % 60 for i in range(N)], "chart": NAMING["chart"]})
    events = pl.DataFrame({"pid": range(N), "code": ["a", "b"] * (N // 2), "accession": NAMING["Fallnummer"]})
    linked = LinkedSchema.from_dict(
        {
            "tables": {
                "persons": {"key": "pid", "columns": {"age": {"role": "quasi"}, "chart": {"role": role}}},
                "events": {
                    "parent": "persons",
                    "link": "pid",
                    "columns": {"code": {"role": "sensitive"}, "accession": {"role": role}},
                },
            }
        }
    )
    with pytest.raises(GuaranteeError) as caught:
        shoal.anonymize({"persons": persons, "events": events}, linked, seed=1)
    assert "'persons.chart'" in str(caught.value)
    assert "'events.accession'" in str(caught.value)


@pytest.mark.parametrize("role", ["sensitive", "quasi"])
def test_engines_refuse_the_same(tmp_path, role):
    pytest.importorskip("duckdb")
    table(**NAMING).write_parquet(tmp_path / "people.parquet")
    with pytest.raises(GuaranteeError) as caught:
        shoal.anonymize(tmp_path / "people.parquet", schema(role, *NAMING), engine="duckdb", seed=1)
    assert all(f"'{name}'" in str(caught.value) for name in NAMING)
    if role == "sensitive":
        with shoal.anonymize(
            tmp_path / "people.parquet", schema(role, *NAMING), engine="duckdb", seed=1, allow=list(NAMING)
        ) as release:
            out = release.write(tmp_path / "out")
            assert json.loads((tmp_path / "out" / "manifest.json").read_text())["allowed"] == sorted(NAMING)
        assert out.n_rows == N


def test_release_made_by_make_is_held_to_the_gate():
    recipe = shoal.recipe.Anonymization.of(shoal.KMember(k=5), shoal.Resample())
    with pytest.raises(GuaranteeError, match="chart"):
        make(table(chart=NAMING["chart"]), schema("other", "chart"), recipe)
