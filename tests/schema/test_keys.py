"""Keys by what repeats with them, roles by what texts say, and the order of the questions."""

import numpy as np
import polars as pl

from shoal.schema import keys
from shoal.schema.codes_seen import codes_seen
from shoal.schema.evidence import look
from shoal.schema.infer import propose

RNG = np.random.default_rng(3)
HOUSES = np.repeat(np.arange(300), RNG.integers(1, 6, 300))
N = len(HOUSES)


def survey(sex):
    """Members of households under names that say nothing: two columns belong to the household, two to the person."""
    order = RNG.permutation(N)
    per_house = {"xb1": RNG.integers(1, 10, 300), "xb2": RNG.integers(0, 40, 300) / 7}
    columns = {"xa": 9_000_000 + 13 * RNG.permutation(300)[HOUSES]}
    columns |= {name: values[HOUSES] for name, values in per_house.items()}
    columns |= {"xs": sex, "xm": RNG.integers(0, 900, N)}
    return pl.DataFrame(columns)[order]


def test_number_that_two_columns_repeat_with_is_a_household():
    made = propose(survey(RNG.choice(["m", "f"], N)))
    assert made.schema["xa"].role == "household"
    assert made.reasons["xa"].startswith("2 other columns repeat with its values")


def test_of_a_long_table_only_what_repeats_in_a_sample_of_keys_is_counted_over_all_rows(monkeypatch):
    counted, plain = [], keys._follows
    monkeypatch.setattr(keys, "_SAMPLE", N // 4)
    monkeypatch.setattr(keys, "_follows", lambda *two: counted.append(two[1].name) or plain(*two))
    assert propose(survey(RNG.choice(["m", "f"], N))).schema["xa"].role == "household"
    assert counted == ["xb1", "xb2"]


def test_number_of_people_of_one_sex_each_is_the_unit():
    assert propose(survey(np.array(["m", "f"])[HOUSES % 2])).schema["xa"].role == "unit"


def test_measure_with_its_logarithm_and_its_classes_is_no_key():
    amount = 10 * RNG.integers(100, 400, N)
    table = pl.DataFrame({"qty": amount, "lqty": np.log(amount), "qty2": amount**2, "qcl": amount // 500})
    assert {column.role for column in propose(table).schema.columns} == {"quasi"}
    assert propose(table).schema["qty"].kind == "numeric"


def test_number_of_many_rows_each_is_a_code_and_stays():
    group = np.repeat(np.arange(30), 40)
    cells = {"sq": group, "d1": RNG.integers(0, 4, 30)[group], "d2": RNG.integers(0, 9, 30)[group]}
    made = propose(pl.DataFrame(cells | {"own": RNG.normal(0, 1, len(group))}))
    assert (made.schema["sq"].role, made.schema["sq"].kind) == ("quasi", "nominal")
    assert "Codes of groups" in made.reasons["sq"]


def test_texts_that_speak_of_illness_are_sensitive_unless_one_speaks_of_what_others_know():
    ill = ["Colon Cancer", "COPD", "Cirrhosis", "other"] * 20
    known = ["Colon Cancer", "COPD", "married", "other"] * 20
    made = propose(pl.DataFrame({"grp1": ill, "grp2": known, "grp3": ["red", "blue"] * 40}))
    assert made.schema.sensitive == ("grp1",)
    assert made.reasons["grp1"].startswith("3 of its 4 texts speak of illness or health")


def test_questions_about_what_tells_most_people_apart_come_first():
    table = pl.DataFrame({"q1": [0, 1] * 60, "q2": [i / 7 for i in range(120)], "q3": [1, 2, 3, 4, 5, 6] * 20})
    assert propose(table).undecided == ("q2", "q3", "q1")


def test_final_weight_is_the_weight_and_a_persons_comes_before_a_households():
    weights = {"w1": RNG.uniform(1, 9, 50), "w2": RNG.uniform(1, 9, 50), "w3": RNG.uniform(1, 9, 50)}
    said = {"w1": "household sample weight", "w2": "personal sample weight", "w3": "final sampling weight"}
    assert propose(pl.DataFrame(weights), codebook=said).schema.weight == "w3"
    assert propose(pl.DataFrame(weights).drop("w3"), codebook={k: said[k] for k in ("w1", "w2")}).schema.weight == "w2"


def test_number_that_a_codebook_calls_a_households_is_one():
    made = propose(pl.DataFrame({"h": HOUSES, "z": RNG.normal(0, 1, N)}), codebook={"h": "the household ID"})
    assert made.schema["h"].role == "household"


def test_nine_beside_no_and_yes_may_stand_for_an_absence():
    assert codes_seen(look(pl.Series("ate", [0, 1] * 20 + [9] * 6))) == {"9": 6}
    assert codes_seen(look(pl.Series("ate", ["yes", "no"] * 20 + ["not answered"] * 6))) == {"not answered": 6}


def test_words_that_only_seem_to_be_made_of_others_are_left_whole():
    made = propose(pl.DataFrame({"current_type": [1, 2, 3] * 30, "cigpday": list(range(90))}))
    assert made.reasons["current_type"].startswith("Undecided")
    assert "a habit" in made.reasons["cigpday"]
