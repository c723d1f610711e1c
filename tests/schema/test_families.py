"""Weights of surveys and of bodies are told apart or asked about; columns of one sort get one role."""

import polars as pl
import pytest

from shoal.schema.infer import propose

N = 240
WEIGHTS = [40 + (i * 7919) % 97 + 0.25 for i in range(N)]  # as a body's in pounds or a survey's
HEIGHTS = [150 + (i * 7) % 41 for i in range(N)]
STRATA = [1 + i % 12 for i in range(N)]


def proposed(**columns):
    return propose(pl.DataFrame(columns))


@pytest.mark.parametrize("design", ["STRAT", "PSU", "SDMVSTRA", "VARPSU", "stratum"])
def test_weight_beside_strata_or_sampling_units_is_the_surveys(design):
    assert proposed(**{"WEIGHT": WEIGHTS, design: STRATA}).schema.weight == "WEIGHT"
    assert proposed(**{"WEIGHT_KG": WEIGHTS, design: STRATA}).schema.weight is None


def test_weight_that_rises_with_height_is_a_bodys_whatever_stands_beside_it():
    body = [height / 2 + (i % 5) for i, height in enumerate(HEIGHTS)]
    proposal = proposed(WEIGHT=body, HEIGHT=HEIGHTS, PSU=STRATA)
    assert (proposal.schema.weight, dict(proposal.keys)) == (None, {})
    assert "rises with a height" in proposal.reasons["WEIGHT"]


@pytest.mark.parametrize("beside", [{}, {"HEIGHT": HEIGHTS, "PSU": STRATA}], ids=["alone", "both"])
def test_weight_that_may_be_either_is_a_question(beside):
    proposal = proposed(WEIGHT=WEIGHTS, **beside)
    assert proposal.schema["WEIGHT"].role == "quasi"
    assert proposal.keys == {"WEIGHT": "weight"}
    assert 'Is WEIGHT the weight of a survey, and not of a body? If so: role = "weight"' in proposal.comments["WEIGHT"]


def test_label_tells_a_body_from_a_survey():
    body, survey = ({"WEIGHT": text} for text in ("Weight in kg", "Final person weight of the sample"))
    table = pl.DataFrame({"WEIGHT": WEIGHTS, "PSU": STRATA})
    assert propose(table, codebook=body).schema.weight is None
    assert propose(table, codebook=survey).schema.weight == "WEIGHT"


def amounts(*names):
    return {name: [(i * (13 + 7 * j) + i * i * (j + 1)) % 83 + 0.5 for i in range(N)] for j, name in enumerate(names)}


def test_columns_of_one_sort_get_one_role():
    proposal = proposed(**amounts("account_paid", "account_cost", "account_xq", "account_adj"))
    assert {column.role for column in proposal.schema.columns} == {"sensitive"}
    assert "2 of them are sensitive" in proposal.reasons["account_xq"]


def test_one_sensitive_column_or_one_quasi_identifier_decides_no_family():
    assert "account_xq" in proposed(**amounts("account_cost", "account_xq", "account_adj")).undecided
    assert "home_xq" in proposed(**amounts("home_cost", "home_paid", "home_age", "home_xq")).undecided


def test_words_that_only_modify_make_no_family():
    assert "total_xq" in proposed(**amounts("total_cost", "total_paid", "total_xq")).undecided


@pytest.mark.parametrize(("name", "role"), [("addr_state", "quasi"), ("account_balance", "sensitive")])
def test_what_is_said_of_an_address_or_an_account_is_neither(name, role):
    assert proposed(**{name: [f"q{i % 50}" for i in range(N)]}).schema[name].role == role
    assert proposed(addr=[f"q{i % 50}" for i in range(N)]).schema["addr"].role == "identifier"
