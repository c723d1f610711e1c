"""Pseudonyms of third parties: a doctor with one patient is that patient's second name."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.linked import Collection
from shoal.linked.third_parties import third_parties

SCHEMA = shoal.LinkedSchema.of(
    patients={"key": "patient", "columns": {"sex": {"role": "quasi"}, "own": {"role": "pseudonym"}}},
    visits={"parent": "patients", "link": "patient", "columns": {"doctor": {"role": "pseudonym"}}},
)


def collection(owners, visits):
    who = list(range(1, len(owners) + 1))
    return Collection.of(
        {
            "patients": pl.DataFrame({"patient": who, "sex": "F", "own": [f"d{one}" for one in owners]}),
            "visits": pl.DataFrame(
                {"patient": [1 + i for i, _ in visits], "doctor": [None if d is None else f"d{d}" for _, d in visits]},
                schema={"patient": pl.Int64, "doctor": pl.String},
            ),
        },
        SCHEMA,
    )


def test_a_doctor_with_one_patient():
    own, seen = third_parties(collection([1, 1, 1, 2], [(0, 1), (1, 1), (1, 1), (3, 2)]), np.zeros(4, dtype=int), 2)
    assert (own.column, own.n_tokens, own.n_single, own.k, own.below_share) == ("own", 2, 1, 1, 0.25)
    assert (seen.table, seen.column, seen.n_single, seen.k, seen.below_share) == ("visits", "doctor", 1, 1, 0.25)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.one_of(st.none(), st.integers(0, 3))), max_size=20),
    st.lists(st.integers(-1, 1), min_size=6, max_size=6),
    st.integers(1, 4),
)
def test_counts_are_those_of_the_definition(visits, classes, wanted):
    found = third_parties(collection([0] * 6, visits), np.array(classes), wanted)[1]
    held = {i: {d for j, d in visits if j == i and d is not None} for i in range(6) if classes[i] >= 0}
    fit = {
        i: min(sum(classes[j] == classes[i] and d in held[j] for j in held) for d in mine)
        for i, mine in held.items()
        if mine
    }
    doctors = [d for mine in held.values() for d in mine]
    assert found.k == min(fit.values(), default=0)
    assert found.below_share == sum(n < wanted for n in fit.values()) / max(1, len(held))
    assert found.n_tokens == len(set(doctors))
    assert found.n_single == sum(doctors.count(d) == 1 for d in set(doctors))


def test_a_release_measures_them_and_its_claim_says_what_it_assumes(tmp_path):
    tables = shoal.datasets.clinic(300, seed=2)
    tables["visits"] = tables["visits"].with_columns(doctor="d" + (pl.col("patient") // 3).cast(pl.String))
    words = shoal.datasets.clinic_schema().to_dict()
    words["tables"]["visits"]["columns"]["doctor"] = {"role": "pseudonym"}
    release = shoal.coarsen(
        tables, shoal.LinkedSchema.from_dict(words), shoal.Mondrian(k=20), events=shoal.CoarsenEvents(k=5), seed=1
    )
    (found,) = release.linked.joint.third_parties
    assert (found.column, found.n_tokens) == ("doctor", 101)
    assert found.below_share > 0.9, "three patients each, spread over classes"
    claim = next(one for one in release.claims if one.kind == "(k, k^m)-anonymity")
    assert any("visits.doctor" in words for words in claim.assumptions)
    release.write(tmp_path / "out")
    page = (tmp_path / "out.internal" / "report.html").read_text()
    assert "doctor of visits" in page
    assert "doctor of visits" not in (tmp_path / "out" / "report.html").read_text()
