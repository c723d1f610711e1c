"""Whether one value of a column stands for one person: hospitals do not, and what may not is asked."""

import numpy as np
import polars as pl
import pytest

from shoal.schema.infer import propose
from shoal.schema.person_key import contradictions


def discharges(n=1000, n_hospitals=163, seed=0, name="Facility Id"):
    """Discharges of hospitals that have a number and a name, with sex, age group and race of the patients."""
    rng = np.random.default_rng(seed)
    hospital = rng.integers(0, n_hospitals, n)
    return pl.DataFrame(
        {
            "Health Service Area": [f"Area {one % 8}" for one in hospital],
            name: 1000 + 7 * hospital,
            "Facility Name": [f"{'ABCDEFGH'[one % 8]}{one} General Hospital" for one in hospital],
            "Age Group": rng.choice(["0-17", "18-29", "30-49", "50-69", "70 or Older"], n),
            "Gender": rng.choice(["M", "F"], n),
            "Race": rng.choice(["White", "Black", "Other"], n),
            "Length of Stay": rng.integers(1, 30, n),
            "Total Costs": rng.lognormal(9, 1, n).round(2),
        }
    )


def visits(n=400, seed=0, **columns):
    """Three visits each of people who keep sex, year of birth and race."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), 3)
    return pl.DataFrame(
        {
            "patient_id": 5000 + who,
            "sex": rng.choice(["f", "m"], n)[who],
            "yob": rng.integers(1930, 2005, n)[who],
            "race": rng.choice(["white", "black", "asian"], n)[who],
            "cost": rng.lognormal(7, 1, 3 * n).round(2),
            **{name: make(who, rng) for name, make in columns.items()},
        }
    )


def test_a_hospitals_number_is_no_person_and_is_asked():
    proposal = propose(discharges())
    assert proposal.schema.unit is None
    assert proposal.schema["Facility Id"].role == "quasi"
    assert proposal.keys == {"Facility Id": "unit"}
    assert (
        'Does one value of Facility Id stand for one person? If so: role = "unit"' in proposal.comments["Facility Id"]
    )
    assert "Does one value of Facility Id stand for one person?" in proposal.to_toml()


@pytest.mark.parametrize(
    "name",
    [
        *("wardid", "providerid", "clinicid", "insurernbr", "payerid", "schoolid", "siteid", "regionid", "hospitalkey"),
        *("KlinikId", "krankenkasseid", "stationid", "hopitalid", "ecoleid", "clinicaid", "ziekenhuisid"),
    ],
)
def test_words_for_institutions_in_several_languages_name_no_person(name):
    table = discharges(name=name).drop("Facility Name", "Gender", "Race", "Age Group")
    schema = propose(table).schema
    assert (schema.unit, schema.household) == (None, None)


@pytest.mark.parametrize("name", ["visit_id", "episode_id", "encounterid", "Fallnummer"])
def test_a_number_of_visits_names_no_person_though_its_rows_agree(name):
    proposal = propose(visits().rename({"patient_id": name}))
    assert proposal.schema.unit is None
    assert name not in proposal.schema.released
    assert propose(visits().rename({"patient_id": "visiting_patient_id"})).schema.unit == "visiting_patient_id"


def test_a_label_that_speaks_of_a_hospital_is_heard():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"nr_id": rng.integers(0, 300, 1200), "cost": rng.lognormal(7, 1, 1200)})
    assert propose(table).schema.unit == "nr_id"
    assert propose(table, codebook={"nr_id": "number of the hospital"}).schema.unit is None


@pytest.mark.parametrize("trait", ["sex", "yob", "race", "age", "Geschlecht", "date_of_birth"])
def test_what_persons_keep_must_be_the_same_in_their_rows(trait):
    rng = np.random.default_rng(2)
    n = 1200
    values = {
        "sex": rng.choice(["f", "m"], n),
        "Geschlecht": rng.choice(["w", "m"], n),
        "yob": rng.integers(1930, 2005, n),
        "race": rng.choice(["white", "black", "asian"], n),
        "age": rng.integers(0, 95, n),
        "date_of_birth": [f"{year}-05-0{year % 9 + 1}" for year in rng.integers(1930, 2005, n)],
    }[trait]
    table = pl.DataFrame({"subject_id": np.repeat(np.arange(300), 4) + 9000, trait: values, "cost": rng.random(n)})
    proposal = propose(table)
    assert proposal.schema.unit is None
    assert proposal.schema.identifier[:1] == ("subject_id",)  # a number of people leaves in no role
    assert proposal.keys == {"subject_id": "unit"}
    assert "of 300 its values with several rows have" in proposal.reasons["subject_id"]


def test_a_patients_number_stays_the_unit():
    proposal = propose(visits())
    assert proposal.schema.unit == "patient_id"
    assert proposal.keys == {}


def test_a_patient_who_grows_older_and_a_few_errors_of_writing_are_still_persons():
    grown = visits(age=lambda who, rng: 40 + who % 30 + np.tile([0, 4, 9], len(who) // 3))
    wrong = grown.with_columns(sex=pl.when(pl.int_range(len(grown)) < 12).then(pl.lit("m")).otherwise("sex"))
    assert propose(wrong).schema.unit == "patient_id"


def test_a_patient_whose_name_is_spelled_out_is_a_person():
    first, last = ["Ada", "Ben", "Cleo", "Dan"], ["Abel", "Berg", "Cole", "Dorn", "Ende"]
    names = visits(patient_name=lambda who, rng: [f"{first[i % 4]} {last[i % 5]}{chr(97 + i % 26)} {i}" for i in who])
    assert propose(names).schema.unit == "patient_id"


def test_a_hospitals_patients_are_persons():
    table = visits().rename({"patient_id": "hospital_patient_id"})
    assert propose(table).schema.unit == "hospital_patient_id"


def test_households_of_both_sexes_stay_and_schools_as_households_do_not():
    rng = np.random.default_rng(3)
    home = np.repeat(np.arange(400), 3)
    table = pl.DataFrame({"household_id": 7000 + home, "sex": rng.choice(["f", "m"], 1200), "age": rng.random(1200)})
    assert propose(table).schema.household == "household_id"
    large = table.with_columns(household_id=pl.Series(7000 + np.arange(1200) % 24))
    asked = propose(large)
    assert asked.schema.household is None
    assert asked.keys == {"household_id": "household"}


def test_contradictions_are_counted_by_person_and_name_nobody():
    table = pl.DataFrame(
        {
            "who": [1, 1, 2, 2, 3, 3, 4, None, None],
            "sex": ["f", "f", "m", "f", "m", None, "f", "m", "f"],
            "yob": [1950, 1951, 1960, 1960, 1970, 1970, 1980, 1990, 1991],
            "age": [20, 35, 20, 36, 50, 50, 1, 2, 90],
        }
    )
    found = {one.trait: (one.n_torn, one.n_persons) for one in contradictions(table.to_dict(), "who")}
    assert found == {"sex": (1, 2), "birth": (1, 3), "age": (1, 3)}
    assert not any(digit in str(one) for one in contradictions(table.to_dict(), "who") for digit in ("1950", "36"))


def test_a_number_whose_rows_contradict_each_other_leaves_in_no_role_until_a_person_answers():
    proposal = propose(visits(HESID=lambda who, rng: 10**6 + 7 * rng.integers(0, 300, len(who))).drop("patient_id"))
    assert proposal.schema["HESID"].role == "identifier"
    assert proposal.keys == {"HESID": "unit"}
