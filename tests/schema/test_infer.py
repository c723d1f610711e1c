"""Proposed schemas: words in names and cells give roles, and nothing of one person is printed."""

import datetime as dt
import tomllib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ColumnError, InputError
from shoal.files import Labels
from shoal.schema import Schema
from shoal.schema.infer import propose

N = 60


def role_of(name, values=None):
    values = values if values is not None else [i % 7 + 0.5 for i in range(N)]
    return propose(pl.DataFrame({name: values})).schema.columns[0].role


def column_of(name, values):
    proposal = propose(pl.DataFrame({name: values}))
    return proposal.schema.columns[0], proposal.reasons[name]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *((name, "identifier") for name in ("name", "first_name", "lastName", "PatientName", "surname", "full_name")),
        *((name, "identifier") for name in ("email", "Phone", "home_address", "notes", "user_name", "social_security")),
        *((name, "quasi") for name in ("age", "AGE23X", "AGELAST", "ageGroup", "age_at_diagnosis", "dob", "birthYear")),
        *((name, "quasi") for name in ("sex", "Gender", "race", "RACETHX", "ethnicity", "zip", "zipcode", "ZIP_5")),
        *(
            (name, "quasi")
            for name in ("county", "state", "education", "EDUCYR", "income", "marital_status", "MARRY23X")
        ),
        *((name, "quasi") for name in ("occupation", "employment", "POVCAT23", "hospital_county", "discharge_date")),
        *((name, "sensitive") for name in ("cost", "total_costs", "TotalCharges", "TOTEXP23", "expenditure", "dx")),
        *((name, "sensitive") for name in ("diagnosis", "DIABDX_M18", "HIBPDX", "hiv", "HIVstatus", "disease")),
        *(
            (name, "sensitive")
            for name in ("lab_result", "A1Cresult", "medication", "readmitted", "diag_1", "drug_name")
        ),
        *(
            (name, "weight")
            for name in ("perwt", "PERWT23F", "PWGTP", "wgt", "fnlwgt", "sampling_weight", "personWeight")
        ),
        *((name, "quasi") for name in ("stage", "storage", "average", "usage", "agent", "statement", "unknown", "x1")),
        *((name, "quasi") for name in ("weight_kg", "birth_weight", "body_weight", "prices")),
    ],
)
def test_words_in_the_name_give_the_role(name, role):
    assert role_of(name) == role


@pytest.mark.parametrize("name", ["ssn", "MRN", "patient_id", "PatientID", "memberid", "subject_key", "DUPERSID"])
def test_number_of_a_person_is_an_identifier(name):
    assert role_of(name, list(range(N))) == "identifier"
    assert role_of(name, [f"k{i}" for i in range(N)]) == "identifier"


def test_weight_is_told_from_its_size():
    assert role_of("weight", [60.0 + i for i in range(N)]) == "quasi"
    assert role_of("weight", [9000.5 + 100 * i for i in range(N)]) == "weight"
    assert role_of("weight_kg", [9000.5 + 100 * i for i in range(N)]) == "quasi"
    assert role_of("weight", ["light", "heavy"] * 30) == "quasi"
    assert role_of("perwt", [-1.5] * N) == "quasi"


def test_only_the_first_weight_is_the_weight():
    proposal = propose(pl.DataFrame({"pwgtp": [1.5, 2] * 30, "wgtp": [1.5, 2] * 30}))
    assert (proposal.schema.weight, proposal.schema.quasi) == ("pwgtp", ("wgtp",))
    assert "second survey weight" in proposal.reasons["wgtp"]


def test_number_of_a_person_that_repeats_is_the_unit():
    table = pl.DataFrame(
        {
            "patient_nbr": [i // 2 for i in range(N)],
            "encounter_id": range(N),
            "subjectId": [i // 3 for i in range(N)],
            "admission_type_id": [i % 3 for i in range(N)],
        }
    )
    schema = propose(table).schema
    assert schema.unit == "patient_nbr"
    assert schema.identifier == ("encounter_id", "subjectId")
    assert schema["admission_type_id"].role == "quasi"
    assert propose(table.unique("patient_nbr")).schema.unit == "subjectId"


def test_everybody_differs_so_it_is_an_identifier():
    assert role_of("x", [f"k{i}" for i in range(N)]) == "identifier"
    assert role_of("x", list(range(N))) == "identifier"
    assert role_of("x", [i + 0.5 for i in range(N)]) == "quasi"
    assert role_of("age", list(range(N))) == "quasi"
    assert role_of("cost", list(range(N))) == "sensitive"


@pytest.mark.parametrize(
    ("cells", "role"),
    [
        ([f"p{i % 9}@mail.org" for i in range(N)], "identifier"),
        ([f"123-45-67{i % 9:02d}" for i in range(N)], "identifier"),
        ([f"(512) 555-{1000 + i}" for i in range(N)], "identifier"),
        ([f"10.0.0.{i % 9}" for i in range(N)], "identifier"),
        (["10000-20000", "20000-30000"] * 30, "quasi"),
        ([f"0{i % 9}.12.1999" for i in range(N)], "quasi"),
        (["a long remark about this person that goes on and on " + str(i // 2) for i in range(N)], "identifier"),
    ],
)
def test_cells_give_the_role(cells, role):
    assert role_of("x", cells) == role


@pytest.mark.parametrize(
    ("name", "values", "kind", "levels"),
    [
        ("flag", [0, 1] * 30, "nominal", (0, 1)),
        ("sex", [1, 2] * 30, "nominal", (1, 2)),
        ("sex", [1.0, 2.0, None] * 20, "nominal", (1, 2)),
        ("half", [0.5, 1.0] * 30, "nominal", (0.5, 1)),
        ("race", [1, 2, 3, 4, 5] * 12, "nominal", (1, 2, 3, 4, 5)),
        ("town", ["b", "a", "c"] * 20, "nominal", ("a", "b", "c")),
        ("ok", [True, False, None] * 20, "nominal", (False, True)),
        ("rooms", [1, 2, 3] * 20, "ordinal", (1, 2, 3)),
        ("age_group", [0, 1, 2, 3] * 15, "ordinal", (0, 1, 2, 3)),
        ("income", [0, 1, 2, 3, 4] * 40, "ordinal", (0, 1, 2, 3, 4)),
        ("age", list(range(20, 50)) * 2, "numeric", None),
        ("age", [30, 40, 50] * 20, "numeric", None),
        ("x", [i / 7 for i in range(N)], "numeric", None),
        ("cost", [0, 1, 2] * 20, "numeric", None),
        ("perwt", [1, 2] * 30, "numeric", None),
        ("seen", [dt.date(2020, 1, 1 + i % 5) for i in range(N)], "ordinal", None),
        ("seen", [dt.datetime(2020, 1, 1 + i % 5) for i in range(N)], "ordinal", None),
        ("band", ["18-25", "<18", "65+", "26-64"] * 15, "ordinal", ("<18", "18-25", "26-64", "65+")),
        ("band", ["[10-20)", "[0-10)", "[100-110)"] * 20, "ordinal", ("[0-10)", "[10-20)", "[100-110)")),
        ("puma", ["01-01301", "01-01302"] * 30, "nominal", ("01-01301", "01-01302")),
        ("patient_id", list(range(N)), None, None),
    ],
)
def test_kind_and_levels(name, values, kind, levels):
    column, _ = column_of(name, values)
    assert (column.kind, column.levels) == (kind, levels)


def test_levels_of_fewer_than_five_people_are_not_printed():
    column, reason = column_of("town", ["Alba"] * 40 + ["SENTINEL-TOWN"] * 4)
    assert column.levels is None
    assert "fewer than 5 people have 1 of the 2" in reason
    assert "SENTINEL" not in propose(pl.DataFrame({"town": ["Alba"] * 40 + ["SENTINEL-TOWN"] * 4})).to_toml()
    column, _ = column_of("town", ["Alba"] * 40 + ["Boro"] * 5)
    assert column.levels == ("Alba", "Boro")


def test_people_are_counted_not_rows():
    table = pl.DataFrame({"patient_id": [i // 3 for i in range(N)], "town": ["Alba"] * 48 + ["Boro"] * 12})
    proposal = propose(table)
    assert proposal.schema.unit == "patient_id"
    assert proposal.schema["town"].levels is None  # twelve rows, four people


def test_many_levels_are_not_printed():
    column, reason = column_of("town", [f"t{i}" for i in range(31)] * 6)
    assert column.levels is None
    assert "more than 30" in reason


def test_missing_numbers_ask_for_a_choice():
    proposal = propose(pl.DataFrame({"age": [None, float("nan"), *range(58)], "size": range(60)}))
    assert proposal.reasons["age"].endswith("2 of 60 cells are missing.")  # what is so, whatever is chosen later
    assert "What shall a missing number be?" in proposal.comments["age"]
    assert "missing number" not in proposal.comments["size"]
    _, reason = column_of("town", [None, "a"] * 30)
    assert reason.endswith("30 of 60 cells are missing.")


def test_column_without_a_cell():
    for dtype in (pl.Null, pl.String, pl.Float64, pl.Boolean, pl.Date):
        column, reason = column_of("x", pl.Series([None] * 5, dtype=dtype))
        assert column.role == "quasi"
        assert "5 of 5 cells are missing" in reason


def test_toml_tells_to_check_and_gives_the_schema_back(people):
    proposal = propose(people)
    text = proposal.to_toml()
    assert text.startswith("# A proposed schema. Check every line")
    assert Schema.from_dict(tomllib.loads(text)) == proposal.schema
    assert "SENTINEL" not in text
    unwrapped = " ".join(line.removeprefix("# ") for line in text.splitlines())
    assert all(" ".join(comment.split()) in unwrapped for comment in proposal.comments.values())
    assert max(map(len, text.splitlines())) <= 120
    assert proposal.to_dict() == {
        "schema": proposal.schema.to_dict(),
        "reasons": dict(proposal.reasons),
        "doubtful": {"education": {"none": 8}},
        "undecided": list(proposal.undecided),
        "follows": {"sex": ["town"]},
        "sums": {},
        "keys": {},
        "gaps": [],
        "repeats": "",
        "unused": [],
        "advice": [],
    }
    assert all("Undecided" in proposal.reasons[name] for name in proposal.undecided)


def test_every_frame_gives_the_same_proposal(people, make_frame):
    assert propose(make_frame(people)) == propose(people)


def test_categories_of_any_frame_are_texts():
    values = pl.Series("town", ["Alba", "Boro"] * 30)
    for dtype in (pl.String, pl.Categorical, pl.Enum(["Boro", "Alba", "Cove"])):
        column, _ = column_of("town", values.cast(dtype))
        assert (column.kind, column.levels) == ("nominal", ("Alba", "Boro"))


def test_unusable_tables_are_errors():
    with pytest.raises(InputError, match="at least one row"):
        propose(pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)}))
    with pytest.raises(ColumnError, match="column 'a' must|column 'a': must") as caught:
        propose(pl.DataFrame({"a": [["SENTINEL"]]}))
    assert "SENTINEL" not in str(caught.value)
    with pytest.raises(InputError):
        propose({"a": [1]})


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
VALUES = st.one_of(
    st.lists(st.none() | st.integers(-(2**40), 2**40), min_size=8, max_size=8),
    st.lists(st.none() | st.sampled_from([0, 1, 2]), min_size=8, max_size=8),
    st.lists(st.none() | st.floats(), min_size=8, max_size=8),
    st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=8, max_size=8),
    st.lists(st.none() | st.booleans(), min_size=8, max_size=8),
    st.lists(st.none() | st.dates(), min_size=8, max_size=8),
)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5))
def test_any_table_gets_a_readable_proposal(columns):
    table = pl.DataFrame(columns, strict=False)
    proposal = propose(table)
    assert [column.name for column in proposal.schema.columns] == table.columns
    assert set(proposal.reasons) == set(table.columns)
    assert Schema.from_dict(tomllib.loads(proposal.to_toml())) == proposal.schema
    assert not any(column.bounds for column in proposal.schema.columns)
    for column in proposal.schema.columns:
        for level in column.levels or ():
            assert (table[column.name] == level).sum() >= 5


@given(st.lists(st.text("ABCDEFGHJKLMNOPQRSTUVWXYZ", min_size=8, max_size=8), min_size=1, max_size=4))
def test_reasons_quote_no_cell(cells):
    table = pl.DataFrame({"x": cells * 3, "town": cells * 3, "diag": cells * 3})
    proposal = propose(table)
    assert not any(cell in reason for cell in cells for reason in proposal.reasons.values())


def test_codes_that_the_file_declares_are_proposed_and_taken_for_no_numbers():
    incomes = [*map(str, range(1000, 1040)), *[".a"] * 6, None]
    labels = Labels(values={"income": {".a": "not applicable"}}, missing={"income": (".a",)})
    proposal = propose(pl.DataFrame({"income": incomes}), labels)
    column = proposal.schema["income"]
    assert (column.kind, column.missing_codes) == ("numeric", {".a": "not applicable"})
    assert "1 of 47 cells is missing" in proposal.reasons["income"]
    assert "The file says that .a stands for an absence." in proposal.reasons["income"]
    assert Schema.from_dict(tomllib.loads(proposal.to_toml())) == proposal.schema


def test_durations_are_proposed_as_numbers_of_seconds():
    proposal = propose(pl.DataFrame({"stay": [f"{20 + i}:30" for i in range(30)]}))
    column = proposal.schema["stay"]
    assert (column.kind, column.format) == ("numeric", "[H]:MM")
    assert "durations ([H]:MM), read as seconds" in proposal.reasons["stay"]
    assert Schema.from_dict(tomllib.loads(proposal.to_toml())) == proposal.schema


def test_pairs_of_very_many_columns_are_not_searched():
    table = pl.DataFrame({f"c{i}": [1, 2, 3, 4] * 10 for i in range(501)})
    assert not any("Follows from" in reason for reason in propose(table).reasons.values())
    assert "Follows from" in propose(table.select("c0", "c1")).reasons["c1"]


def test_numbers_that_could_count_days_are_asked_about_whatever_was_diagnosed_then():
    proposal = propose(pl.DataFrame({"diag": [12_000 + 7 * i for i in range(300)] * 2}))
    assert proposal.schema["diag"].role == "quasi"
    assert proposal.undecided == ("diag",)
    assert role_of("diag", [401 + i % 120 for i in range(600)]) == "sensitive"  # codes of diagnoses


def test_a_few_numbered_states_may_be_conditions_and_no_column_beside_them_decides():
    answers = {f"v{i}": [1 + (i + j) % 4 for j in range(N)] for i in range(5)}
    proposal = propose(pl.DataFrame({"state": [1 + i % 4 for i in range(N)], **answers}))
    assert proposal.schema["state"].role == "quasi"
    assert "state" in proposal.undecided
    assert "state" not in propose(pl.DataFrame({"state": ["NY", "CA", "TX"] * 20})).undecided
    told = propose(pl.DataFrame({"state": [1, 2, 3] * 20}), codebook={"state": "Severity of the aneurysm"})
    assert told.schema["state"].role == "sensitive"


@pytest.mark.parametrize("name", ["SUBNUM", "ptnum", "PTNUM", "subjnr", "respno"])
def test_short_words_for_persons_before_a_number_name_persons(name):
    assert role_of(name, [i // 2 for i in range(2 * N)]) == "unit"
