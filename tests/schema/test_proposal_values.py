"""The proposal looks at cells, not at names alone."""

import tomllib

import polars as pl
import pytest

from shoal.files import Labels
from shoal.schema import Schema
from shoal.schema.described import topic_of
from shoal.schema.infer import propose

N = 120


def proposed(**columns):
    proposal = propose(pl.DataFrame(columns))
    return {column.name: column for column in proposal.schema.columns}, proposal.reasons


def uuid(i):
    return f"{i:08x}-0000-4000-8000-{i:012x}"


def test_keys_of_persons_and_records():
    columns, reasons = proposed(
        Id=[uuid(i) for i in range(N)],
        PATIENT=[uuid(i % 30) for i in range(N)],
        ENCOUNTER=[uuid(i % 60) for i in range(N)],
    )
    assert [columns[name].role for name in ("Id", "PATIENT", "ENCOUNTER")] == ["identifier", "unit", "identifier"]
    assert "4.0 rows each" in reasons["PATIENT"]


def test_code_and_description_are_neither_dropped_nor_averaged():
    terms = [f"Illness {chr(65 + i)} (disorder)" for i in range(12)]
    columns, reasons = proposed(
        CODE=[44054006 + 977 * (i % 12) for i in range(N)], DESCRIPTION=[terms[i % 12] for i in range(N)]
    )
    assert [(columns[name].role, columns[name].kind) for name in ("CODE", "DESCRIPTION")] == [
        ("sensitive", "nominal"),
        ("sensitive", "nominal"),
    ]
    assert "Says the same as DESCRIPTION" in reasons["CODE"]
    assert "Follows from CODE" in reasons["DESCRIPTION"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([f"{'ABCDEFGHIJ'[i % 10]}{10 + i % 80}.{i % 9}" for i in range(N)], "ICD-10"),
        ([f"{250 + i % 40}.{i % 9}" if i % 3 else f"V{10 + i % 70}" for i in range(N)], "ICD-9"),
        ([f"{'ABCDGH'[i % 6]}{10 + i % 6}AB{10 + i % 20}" for i in range(N)], "ATC"),
    ],
)
def test_codes_of_diagnoses_and_drugs_are_known_by_their_shape(values, words):
    columns, reasons = proposed(x=[value for value in values for _ in range(4)])
    assert columns["x"].role == "sensitive"
    assert words in reasons["x"]


def test_surnames_are_known_by_name_and_cells():
    names = [f"{a}{b}{c}" for a in "BKLMN" for b in "aeiou" for c in ("rson", "lez", "nt", "berg")]
    columns, _ = proposed(LAST=(names * 2)[:N], first=[i % 9 for i in range(N)])
    assert columns["LAST"].role == "identifier"
    assert columns["first"].role == "quasi"  # first visit, first dose: no names in it


@pytest.mark.parametrize(
    ("columns", "role"),
    [
        ({"WEIGHT": [500.0 + 13 * i for i in range(N)]}, "weight"),
        ({"WEIGHT": [0.5 + (i % 11) / 10 for i in range(N)]}, "weight"),
        ({"WEIGHT": [50.12345 + i % 40 for i in range(N)]}, "weight"),
        ({"weight": [50 + i % 40 for i in range(N)]}, "quasi"),
        ({"weight": [50.12345 + i % 40 for i in range(N)], "height": [150 + i % 30 for i in range(N)]}, "quasi"),
    ],
)
def test_weight_of_a_survey_or_a_body(columns, role):
    found, _ = proposed(**columns)
    assert next(iter(found.values())).role == role


def test_amounts_that_all_differ_are_no_identifiers_but_numbers_of_people_are():
    spread = [(i * 7919) % 6007 + 10 for i in range(N)]
    columns, _ = proposed(
        a=[3 * x + 1 for x in spread],
        b=[2.0 * x for x in spread],
        c=[x**2 for x in spread],
        chart=[100_000 + 17 * i for i in range(N)],
        other=[500_000 + (i * 7919) % 10_007 for i in range(N)],
    )
    assert [columns[name].role for name in ("a", "c", "chart")] == ["quasi", "quasi", "identifier"]


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ([f"{1 + i % 28:02}.{1 + i % 12:02}.{1990 + i % 9}" for i in range(N)], "DD.MM.YYYY"),
        ([f"{1 + i % 12}/{1 + i % 28}/{1990 + i % 9}" for i in range(N)], "MM/DD/YYYY"),
        ([(1990 + i % 9) * 10000 + (1 + i % 12) * 100 + 1 + i % 28 for i in range(N)], "YYYYMMDD"),
        ([(1990 + i % 9) * 100 + 1 + i % 12 for i in range(N)], "YYYYMM"),
        ([f"{i % 24}:{i % 60:02}" for i in range(N)], "HH:MM"),
    ],
)
def test_dates_in_any_form_are_proposed_with_their_format(values, form):
    columns, reasons = proposed(x=values)
    assert (columns["x"].role, columns["x"].kind, columns["x"].format) == ("quasi", "ordinal", form)
    assert "in no other form" in reasons["x"]


def test_day_and_month_that_cannot_be_told_apart_are_asked_for():
    columns, reasons = proposed(x=[f"{1 + i % 12:02}/{1 + i % 11:02}/2001" for i in range(N)])
    assert columns["x"].format is None
    assert "DD/MM/YYYY or MM/DD/YYYY" in reasons["x"]


def test_numbers_that_are_no_dates_are_not_read_so():
    columns, _ = proposed(x=[20010100 + i % 99 for i in range(N)], y=[200100 + i % 50 for i in range(N)])
    assert columns["x"].format is None
    assert columns["y"].format is None


def role(name, values, **beside):
    proposal = propose(pl.DataFrame({name: values, **beside}))
    return proposal.schema[name].role, proposal.reasons[name]


def test_a_number_called_id_that_repeats_is_the_persons():
    panel = [i for i in range(30) for _ in range(4)]
    assert role("id", panel)[0] == "unit"
    assert role("patient_id", [1, 2, 3] * 40)[0] == "quasi", "three values are no number of persons"
    assert role("number", panel)[0] == "quasi", "a number alone may count something"


def test_whether_there_is_an_address_is_no_address():
    assert role("has_email_address", ["yes", "no"] * 30)[0] == "quasi"
    assert role("email", [f"a{i}@x.org" for i in range(30)])[0] == "identifier"


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (["placebo", "drug A"], "treatments"),
        (["Alive", "Dead", "unknown"], "illnesses or outcomes"),
        (["smoker", "non-smoker"], "habits"),
    ],
)
def test_texts_that_say_what_somebody_has_are_sensitive(texts, what):
    found, reason = role("v7", texts * 20)
    assert found == "sensitive"
    assert f"Most of its different texts speak of {what}." in reason


def test_texts_that_may_say_anything_decide_nothing():
    assert role("v7", ["positive", "red", "blue", "green"] * 10)[0] == "quasi"


def test_short_names_of_findings_count_beside_plain_ones():
    numbers = [1.5 + i % 13 for i in range(60)]
    assert role("hb", numbers)[0] == "quasi"
    beside = dict.fromkeys(("creatinine", "wbc", "platelets"), numbers)
    assert role("hb", numbers, **beside) == (
        "sensitive",
        "A short name of a finding, beside other findings. Numbers with 13 different values. "
        "Follows from creatinine, and also from wbc.",
    )


@pytest.mark.parametrize("name", ["exhealth", "salcohol", "midazolam", "appendicitis", "priorArrests", "loan_status"])
def test_parts_of_words_speak_for_a_name(name):
    assert role(name, [0, 1] * 30)[0] == "sensitive"


def test_how_long_something_took_is_no_number_of_persons():
    assert role("futime", [(37 * i) % 1009 for i in range(40)])[0] == "quasi"
    assert role("zz", [(37 * i) % 1009 for i in range(40)])[0] == "identifier"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("totmed", "sensitive"),
        ("illdays", "sensitive"),
        ("loanamt", "sensitive"),
        ("physlim", "sensitive"),
        ("momed", "quasi"),  # mother's education: not taken for medicine
        ("exper", "quasi"),
        ("hospage", "quasi"),  # speaks of both: masking is the cautious guess
    ],
)
def test_names_in_one_piece_are_taken_apart(name, role):
    columns, _ = proposed(**{name: [i % 30 for i in range(N)]})
    assert columns[name].role == role


def test_questions_of_one_battery_have_one_role():
    answers = {f"ab{end}": [i % 2 for i in range(N)] for end in ("any", "hlth", "poor", "single")}
    columns, reasons = proposed(**answers)
    assert {columns[name].role for name in answers} == {"sensitive"}
    assert "begin with ab" in reasons["abany"]
    columns, _ = proposed(**answers, ab_race=[i % 2 for i in range(N)])
    assert columns["abany"].role == "quasi"  # a battery that mixes both is no battery
    columns, _ = proposed(**(answers | {"abany": [i % 3 for i in range(N)]}))
    assert columns["abany"].role == "quasi"


def test_amounts_with_decimals_are_no_addresses_and_sizes_no_places():
    columns, reasons = proposed(COST_IP=[1.5 * i for i in range(N)], wall_area=[0.25 + i for i in range(N)])
    assert columns["COST_IP"].role == "sensitive"
    assert "place" not in reasons["wall_area"]


def test_numbers_that_repeat_are_known_by_the_end_of_their_name():
    columns, _ = proposed(
        HESID=[1000 + i // 4 for i in range(800)], covid=[i // 4 for i in range(800)], pid=[i % 7 for i in range(800)]
    )
    assert (columns["HESID"].role, columns["covid"].role, columns["pid"].role) == ("unit", "sensitive", "quasi")


@pytest.mark.parametrize(
    ("texts", "role"),
    [
        (("Nausea", "Rash", "Fatigue", "Other"), "sensitive"),
        (("Medicare", "Medicaid", "Private"), "sensitive"),
        (("strongly agree", "agree", "disagree"), "sensitive"),
        (("A", "B", "AB", "O"), "sensitive"),
        (("A", "B", "C", "D"), "quasi"),
        (("private", "public"), "quasi"),
    ],
)
def test_texts_that_say_something_of_a_person(texts, role):
    columns, _ = proposed(x=[texts[i % len(texts)] for i in range(N)])
    assert columns["x"].role == role


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([f"{1000 + i}-{i % 10}" for i in range(N)], "LOINC"),
        ([f"{50000 + i}-{100 + i}-{10 + i % 80}" for i in range(N)], "NDC"),
        ([f"{'GJKL'[i % 4]}{1000 + i}" for i in range(N)], "HCPCS"),
        ([f"{('CIR', 'END', 'NVS')[i % 3]}{100 + i % 20:03d}" for i in range(N)], "CCSR"),
        (
            [
                f"{('acute', 'chronic', 'mild')[i % 3]} {('gastr', 'cyst', 'arthr', 'hepat')[i % 4]}itis"
                for i in range(N)
            ],
            "ill",
        ),
    ],
)
def test_more_code_systems_are_known_by_their_shape(values, words):
    columns, reasons = proposed(x=[value for value in values for _ in range(4)])
    assert columns["x"].role == "sensitive"
    assert words in reasons["x"]


def test_labels_count_where_the_name_says_nothing():
    table = pl.DataFrame(
        {"Q12": [i % 9 for i in range(N)], "Q13": [i % 9 for i in range(N)], "sex": ["f", "m"] * (N // 2)}
    )
    said = {"Q12": "Ever told you had a stroke", "Q13": "Region of residence", "sex": "Had a stroke"}
    proposal = propose(table, Labels(columns=said))
    assert [proposal.schema[name].role for name in table.columns] == ["sensitive", "quasi", "quasi"]
    assert 'The file says "Ever told you had a stroke": illness or health.' in proposal.reasons["Q12"]
    assert 'The codebook says "Ever told' in propose(table, codebook=said).reasons["Q12"]


BOOK = """variable,label,values,missing
ZPER,Person identifier,,
Q1,Age at diagnosis of diabetes,,-8; -9
Q2,"Serum cholesterol (mg/100 ml), 1971",,
Q3,Occupation of the respondent,"1=farmer; 2=clerk; 3=teacher; 9=refused",
Q4,How often do you drink alcohol?,"1=never; 2=sometimes; 3=often; 7=don't know",
Q5,Tobacco price in state of residence,,
Q6,log of q5,,
Q7,a design weight,,
typo_Q2x,Nothing,,
"""


@pytest.fixture
def described(tmp_path):
    table = pl.DataFrame(
        {
            "zper": [i // 2 + 500 for i in range(N)],
            "q1": [30 + i % 40 if i % 5 else -8 for i in range(N)],
            "q2": [180.5 + i % 90 for i in range(N)],
            "q3": [(1, 2, 3, 9)[i % 4] for i in range(N)],
            "q4": [(1, 2, 3)[i % 3] for i in range(N)],
            "q5": [1.5 + (i % 7) / 10 for i in range(N)],
            "q6": [0.5 + (i % 7) / 9 for i in range(N)],
            "q7": [0.5 + (i % 11) / 10 for i in range(N)],
        }
    )
    (tmp_path / "book.csv").write_text(BOOK)
    return table, tmp_path / "book.csv"


def test_a_codebook_says_roles_kinds_levels_and_missing_codes(described):
    table, book = described
    proposal = propose(table, codebook=book)
    roles = [column.role for column in proposal.schema.columns]
    assert roles == ["unit", "quasi", "sensitive", "quasi", "sensitive", "quasi", "quasi", "weight"]
    assert proposal.schema["q1"].missing_codes == {-8: "unknown", -9: "unknown"}
    assert (proposal.schema["q3"].kind, proposal.schema["q3"].levels) == ("nominal", (1, 2, 3))
    assert proposal.schema["q3"].missing_codes == {9: "refused"}
    assert (proposal.schema["q4"].kind, proposal.schema["q4"].levels) == ("ordinal", (1, 2, 3))
    assert "The codebook says that 9 stands for an absence." in proposal.reasons["q3"]
    assert 'The codebook says "log of q5": it names q5, which is quasi.' in proposal.reasons["q6"]
    assert proposal.unused == ("typo_Q2x",)
    assert "does not have: typo_Q2x." in proposal.to_toml()
    assert Schema.from_dict(tomllib.loads(proposal.to_toml())) == proposal.schema
    assert Schema.infer(table, codebook=book) == proposal.schema


def test_without_the_codebook_the_same_columns_are_undecided(described):
    table, _ = described
    assert set(propose(table).undecided) >= {"q2", "q3", "q4"}


@pytest.mark.parametrize(
    ("label", "role", "about"),
    [
        ("Age at first heart attack", "quasi", "age or birth"),
        ("Depression score of children under age 18", "sensitive", "illness or health"),
        ("Days to death or last contact", "quasi", "the time between two dates"),
        ("The arrestee's race", "quasi", "origin"),
        ("White blood cell count", "sensitive", "a finding, score or risk"),
        ("Number of drinks in the past 12 months", "sensitive", "a habit"),
        ("Uses birth control", "sensitive", "care, treatment, drugs or insurance"),
        ("General happiness", None, None),
        ("Owns a gun", None, None),
    ],
)
def test_what_a_label_speaks_of(label, role, about):
    said = topic_of(label)
    assert (said and said.role, said and said.about) == (role, about)


@pytest.mark.parametrize("name", ["radio", "calc_vol", "condomin", "national", "general_mood_x", "DISMETH"])
def test_names_that_only_look_like_a_topic_are_no_reason(name):
    reason = propose(pl.DataFrame({name: [1, 2] * 20})).reasons[name]
    assert reason.startswith("Undecided") or "mood" in name


def test_what_is_undecided_is_asked_about():
    proposal = propose(pl.DataFrame({"DUQ200": [1, 2, 9] * 20, "age": [*range(60)]}))
    assert proposal.undecided == ("DUQ200",)
    assert 'Must nobody learn it? If so: role = "sensitive"' in proposal.comments["DUQ200"]
    assert "learn" not in proposal.comments["age"]


def test_a_battery_of_questions_is_told_by_its_scale_whatever_the_names():
    answers = {name: [(i * step) % 5 + 1 for i in range(60)] for step, name in enumerate(["xa", "q7", "lo", "ZZ"], 1)}
    table = pl.DataFrame({**answers, "grade": [i % 5 + 1 for i in range(60)], "age": [*range(20, 80)]})
    roles = propose(table).schema
    assert {roles[name].role for name in answers} == {"sensitive"}
    assert roles["age"].role == "quasi"
    few = propose(table.drop("ZZ", "grade")).schema
    assert {few[name].role for name in ("xa", "q7", "lo")} == {"quasi"}


def test_numbers_of_households_that_repeat_are_households():
    table = pl.DataFrame(
        {"ori_hid": [i // 3 for i in range(90)], "hh_id": [i // 2 for i in range(90)], "sex": [1, 2] * 45}
    )
    roles = propose(table).schema
    assert (roles["ori_hid"].role, roles["hh_id"].role) == ("household", "identifier")


def test_a_number_from_which_a_name_follows_names_as_much():
    names = [f"{chr(65 + i % 26)}elia {chr(65 + i % 7)}owe" for i in range(40)]
    table = pl.DataFrame(
        {"UTILITYID": [100 + i % 40 for i in range(400)], "owner_name": [names[i % 40] for i in range(400)]}
    )
    proposal = propose(table)
    assert proposal.schema["UTILITYID"].role == "identifier"
    assert proposal.reasons["UTILITYID"].startswith("owner_name, an identifier, follows from it")


@pytest.mark.parametrize(
    ("name", "cells"), [("time_in_hospital", [1, 2, 3, 4]), ("hospital", [0, 0, 0, 0, 0, 1, 2, 3])]
)
def test_days_and_stays_are_no_codes(name, cells):
    proposal = propose(pl.DataFrame({name: cells * 30}))
    assert proposal.schema[name].kind != "nominal"
    assert "codes" not in proposal.reasons[name]


def test_hospitals_are_codes():
    proposal = propose(pl.DataFrame({"hospital": [1, 2, 3, 4] * 30}))
    assert proposal.schema["hospital"].kind == "nominal"


def test_what_follows_from_a_quasi_identifier_may_be_derived():
    age = [i % 50 for i in range(400)]
    proposal = propose(pl.DataFrame({"agegr": [value // 10 for value in age], "age": age}))
    assert proposal.follows == {"agegr": ("age",)}
    assert 'derived = ["age"]' in proposal.comments["agegr"]
