"""What a preset removed or rewrote is one list for inside: in memory, linked and on an engine; none of it leaves."""

import json
from datetime import date

import polars as pl
import pytest

import shoal
from shoal.compliance import preset
from shoal.fact import sentences
from shoal.schema import LinkedSchema

N = 200
PEOPLE = pl.DataFrame(
    {
        "name": [f"Anna {chr(65 + i % 26)}berg" for i in range(N)],
        "age": [30 + i % 66 for i in range(N)],
        "zip": [["02139", "10001", "60601"][i % 3] for i in range(N)],
        "seen": [date(2019, 1 + i % 12, 1 + i % 28) for i in range(N)],
        "city": [["Boston", "Chicago"][i % 2] for i in range(N)],
        "chart": [f"C{i:03d}" for i in range(N)],
    }
)
ROLES = {
    "quasi": ["age", "zip"],
    "sensitive": ["seen"],
    "other": ["city", "chart"],
    "identifier": ["name"],
    "kinds": {"zip": "nominal"},
}
EXPECTED = {
    "identifiers left out": ["name"],
    "dates written as years": ["seen"],
    "ZIP codes cut to three digits": ["zip"],
    "ages over 89 pooled": ["age"],
    "places and unreadable dates suppressed": ["city"],
    "allowed by a person, and released as they are": ["chart"],
}
PRESET = preset("safe-harbor").asked(allow=["chart"], year=2019)


def test_every_column_is_listed_by_what_was_done():
    chain = [*PRESET.first, shoal.Generalize(k=2, suppression=0.5)]
    release = shoal.coarsen(PEOPLE, shoal.Schema.of(**ROLES), chain, preset=PRESET, accept=True, seed=1)
    assert release.treated == EXPECTED


def test_beside_masks_as_in_a_chain():
    release = shoal.anonymize(PEOPLE, shoal.Schema.of(**ROLES), preset=PRESET, accept=True, seed=1)
    assert release.treated == EXPECTED


def test_on_an_engine_as_in_memory(tmp_path):
    pytest.importorskip("duckdb")
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    chain, roles = [*PRESET.first, shoal.Generalize(k=2, suppression=0.5)], shoal.Schema.of(**ROLES)
    how = {"engine": "duckdb", "preset": PRESET, "accept": True, "seed": 1}
    with shoal.coarsen(tmp_path / "people.parquet", roles, chain, **how) as release:
        assert release.write(tmp_path / "out").treated == EXPECTED


def test_columns_of_linked_tables_are_named_with_their_table():
    visits = pl.DataFrame({"pid": range(N), "day": PEOPLE["seen"], "code": ["a", "b"] * (N // 2)})
    linked = LinkedSchema.from_dict(
        {
            "tables": {
                "persons": {"key": "pid", "columns": {"age": {"role": "quasi"}, "name": {"role": "identifier"}}},
                "visits": {
                    "parent": "persons",
                    "link": "pid",
                    "columns": {"day": {"role": "sensitive"}, "code": {"role": "sensitive"}},
                },
            }
        }
    )
    tables = {"persons": PEOPLE.select("age", "name").with_columns(pid=pl.Series(range(N))), "visits": visits}
    release = shoal.anonymize(tables, linked, preset=PRESET, accept=True, seed=1)
    assert release.treated == {
        "identifiers left out": ["persons.name"],
        "dates written as years": ["visits.day"],
        "ages over 89 pooled": ["persons.age"],
    }


def test_without_a_preset_nothing_is_listed_but_what_was_allowed():
    roles = shoal.Schema.of(quasi=["age"], sensitive=["zip"], identifier=["name"])
    plain = PEOPLE.select("age", "zip", "name")
    assert shoal.anonymize(plain, roles, seed=1).treated == {}
    with_chart = shoal.Schema.of(quasi=["age"], other=["chart"])
    allowed = shoal.anonymize(PEOPLE.select("age", "chart"), with_chart, allow=["chart"], seed=1)
    assert allowed.treated == {"allowed by a person, and released as they are": ["chart"]}


def test_that_only_left_out_people_were_pooled_stays_inside(tmp_path):
    """Of everybody over 89 nobody is released: inside it is listed, outside no word or byte differs."""
    ages = [30 + i % 5 for i in range(N)]
    roles = shoal.Schema.of(quasi=["age"], bounds={"age": (0, 120)})
    told, inside = [], []
    for alone in (95, 70):
        table = pl.DataFrame({"age": [*ages[:-1], alone]})
        chain = [*PRESET.first, shoal.Suppress(k=5, records=0.05)]
        release = shoal.coarsen(table, roles, chain, preset=PRESET, accept=True, seed=1)
        words = json.loads((release.write(tmp_path / str(alone)) / "manifest.json").read_text())
        told.append((sentences(release.facts, outside=True), words["notes"], words["columns"]))
        inside.append(release.treated)
    assert inside == [{"ages over 89 pooled": ["age"]}, {}]
    assert told[0] == told[1]
