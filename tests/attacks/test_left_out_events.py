"""Events that are left out: nothing that is written may follow from them."""

import json

import numpy as np
import polars as pl
import pytest
from test_non_interference import KEY, leaving

import shoal
from shoal.compliance import preset
from shoal.linked import Collection
from shoal.recipe import Coarsening, LinkedRecipe
from shoal.release import make
from shoal.rng import stream

SCHEMA = shoal.LinkedSchema.of(
    patients={"key": "patient", "columns": {"sex": {"role": "quasi"}}},
    visits={
        "parent": "patients",
        "link": "patient",
        "columns": {
            "dose": {
                "role": "quasi",
                "kind": "numeric",
                "hierarchy": {"kind": "intervals", "widths": [10, 20]},
            },
        },
    },
)


def written(lone):
    """Two events of each of ten persons, alike in tens, and one that nobody else has, of the dose `lone`."""
    doses = [float(start + person) for person in range(10) for start in (20, 30)]
    tables = {
        "patients": pl.DataFrame({"patient": range(10), "sex": ["f"] * 10}),
        "visits": pl.DataFrame({"patient": [*np.repeat(range(10), 2).tolist(), 0], "dose": [*doses, lone]}),
    }
    method = shoal.CoarsenEvents(k=5, suppression=0.05)
    return method.apply(Collection.of(tables, SCHEMA), np.zeros(10, dtype=int), stream(1)), doses


@pytest.mark.parametrize("lone", [77.0, 77.5])
def test_the_rare_event_is_left_out(lone):
    done, doses = written(lone)
    assert len(done.collection.tables["visits"]) == len(doses)


def test_labels_do_not_follow_from_what_was_left_out():
    """``[20, 30)`` instead of ``20-29`` would say that a dose, left out, was no whole number."""
    tables = [written(lone)[0].collection.tables["visits"] for lone in (77.0, 77.5)]
    assert tables[0].equals(tables[1])


def test_levels_of_hierarchies_by_value_stay_inside():
    words = SCHEMA.to_dict()
    del words["tables"]["visits"]["columns"]["dose"]["hierarchy"]
    schema = shoal.LinkedSchema.from_dict(words)
    tables = {
        "patients": pl.DataFrame({"patient": range(10), "sex": ["f"] * 10}),
        "visits": pl.DataFrame({"patient": range(10), "dose": [float(d) for d in range(10)]}),
    }
    method = shoal.CoarsenEvents(k=5, suppression=0.0)
    facts = method.apply(Collection.of(tables, schema), np.zeros(10, dtype=int), stream(1)).facts
    outside = [str(fact) for fact in facts if fact.outside]
    assert len(outside) == 1
    assert "follow from all values" in outside[0]


def test_whether_most_dates_of_events_were_rewritten_is_not_told(tmp_path):
    """Half of the others have dates, half have years: the manifest told which of both the suppressed person has."""
    words = {
        "patients": {"key": "patient", "columns": {"sex": {"role": "quasi", "kind": "nominal"}}},
        "visits": {
            "parent": "patients",
            "link": "patient",
            "columns": {"seen_date": {"role": "other"}, "day": {"role": "other"}},
        },
    }
    schema, rules = shoal.LinkedSchema.of(**words), preset("safe-harbor").asked(year=2024)
    recipe = LinkedRecipe.of(Coarsening.of(shoal.Generalize(k=2, suppression=0.05, limits={"sex": 0})), None)
    patients = pl.DataFrame({"patient": range(41), "sex": ["x", *["f", "m"] * 20]})
    days = pl.Series(range(41)).cast(pl.Date)
    out = []
    for own in ("2020-05-01", "2019"):
        dates = [own, *["2020-05-01", "2019"] * 20]
        visits = pl.DataFrame({"patient": range(41), "seen_date": dates, "day": days})
        release = make({"patients": patients, "visits": visits}, schema, recipe, seed=3, key=KEY, preset=rules)
        assert 0 not in release.source_rows
        release.write(tmp_path / own)
        out.append(leaving(tmp_path / own))
    assert out[0] == out[1]
    told = next(text for text in json.loads(out[0]["manifest.json"])["notes"] if "C dates" in text)
    assert "'day'" in told, "dates by their type are, whoever has them"
    assert "seen_date" not in told
