"""Values that look like codes for an absence are asked about, with counts; what may be anything else is not."""

import polars as pl
import pytest

from shoal.errors import SchemaError
from shoal.frame import enter
from shoal.schema import Column, Schema
from shoal.schema.codes_seen import codes_seen, question, undeclared
from shoal.schema.evidence import look
from shoal.schema.infer import propose


def seen(values):
    return codes_seen(look(pl.Series("x", values)))


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([*range(20, 60), *[-8] * 6, *[-9] * 5], {"-9": 5, "-8": 6}),
        ([*range(20, 60), *[-8] * 4], {}),  # fewer than five people
        ([*range(-20, 20), *[-8] * 9], {}),  # negative numbers are numbers here
        ([*range(20, 60), *[999] * 7], {"999": 7}),
        ([*range(60, 100), *[97] * 7], {}),  # 97 is a number among others
        ([*[1, 2, 3] * 20, *[9] * 8], {"9": 8}),
        ([*[1, 2, 3, 4, 5, 6, 7] * 9], {}),
        ([*range(44, 199), *[0] * 5], {"0": 5}),
        ([*range(1, 50), *[0] * 30], {}),  # a count begins at 0
        ([*["12", "13"] * 9, *["N"] * 6], {"N": 6}),
        ([*["a", "b"] * 9, *["?"] * 6], {"?": 6}),
        (["NA"] * 6, {}),  # nothing else to be absent from
    ],
)
def test_what_stands_apart_is_asked_about(values, codes):
    assert seen(values) == codes


def test_the_question_has_the_entry_to_write():
    assert 'missing_codes = { "-8" = "unknown" }' in question({"-8": 6})


def test_a_proposal_asks_and_decides_nothing():
    proposal = propose(pl.DataFrame({"income": [*range(500, 900, 10), *[-8] * 6]}))
    assert proposal.doubtful == {"income": {"-8": 6}}
    assert "-8 (6 cells)" in proposal.comments["income"]
    assert "-8" not in proposal.reasons["income"]
    assert proposal.schema["income"].missing_codes is None


def test_codes_next_to_the_others_are_no_absence():
    race = pl.Series("race", [*[1, 2, 3, 5, 6, 7, 8, 9] * 20])
    assert codes_seen(look(race)) == {}
    assert codes_seen(look(pl.Series("says", [*[1, 2, 3, 4] * 20, *[8, 9] * 6]))) == {"8": 6, "9": 6}


def test_words_among_numbers_are_proposed_as_absences():
    cells = [*map(str, range(100, 140)), *["N"] * 7, "?"]
    proposal = propose(pl.DataFrame({"income": cells, "job": ["cook", "N"] * 24}))
    assert (proposal.schema["income"].kind, dict(proposal.schema["income"].missing_codes)) == (
        "numeric",
        {"?": "unknown", "N": "unknown"},
    )
    assert "Numbers but for words" in proposal.reasons["income"]
    assert proposal.schema["job"].missing_codes is None


def test_the_question_says_to_take_a_listed_code_out_of_the_levels():
    listed = propose(pl.DataFrame({"status": ["a", "b", "N"] * 10})).comments["status"]
    assert listed.endswith('missing_codes = { "N" = "unknown" }, and take it out of the levels')
    unlisted = propose(pl.DataFrame({"income": [*range(500, 900, 10), *[-8] * 6]})).reasons["income"]
    assert "levels" not in unlisted
    with pytest.raises(SchemaError, match="Take them out of the levels"):
        Column(name="status", role="quasi", kind="nominal", levels=("a", "N"), missing_codes={"N": "unknown"})


@pytest.mark.parametrize("cells", [[*range(20, 60), *[-9] * 12], [*map(str, "abcdefgh"), *["unknown"] * 12]])
def test_a_column_may_be_called_count(cells):
    assert codes_seen(look(pl.Series("count", cells))) == codes_seen(look(pl.Series("other", cells)))
    assert codes_seen(look(pl.Series("count", cells)))


def test_n_beside_y_says_no():
    assert codes_seen(look(pl.Series("seen", ["Y", "N"] * 20))) == {}
    assert codes_seen(look(pl.Series("seen", ["A", "N"] * 20))) == {"N": 20}


def test_a_word_that_says_why_is_its_own_meaning():
    asked = question({"Not applicable": 7, "?": 9, "Refused": 5})
    assert '{ "Not applicable" = "not applicable", "?" = "unknown", "Refused" = "refused" }' in asked
    assert asked.startswith("Do ")


@pytest.mark.parametrize(("name", "kind"), [("children", "ordinal"), ("race", "nominal")])
def test_few_numbers_with_a_word_for_an_absence_are_numbers_unless_they_are_codes(name, kind):
    made = propose(pl.DataFrame({name: ["0", "1", "2", "3", "N"] * 10})).schema[name]
    assert made.kind == kind
    assert made.missing_codes == ({"N": "unknown"} if kind == "ordinal" else None)


def test_a_code_among_listed_levels_of_an_ordinal_column_is_asked_about():
    levels = [0, 1, 2, 3, 97]
    table = pl.DataFrame({"children": levels * 6, "opinion": ["1", "2", "3", "4", "97"] * 6})
    proposal = propose(table)
    assert proposal.schema["opinion"].kind == "ordinal"
    assert all("Does 97 (6 cells) stand for an absence?" in proposal.comments[name] for name in table.columns)
    listed = Schema.of(
        quasi=["children", "opinion"], kinds=dict.fromkeys(table.columns, "ordinal"), levels={"children": levels}
    )
    asked = undeclared(enter(table), listed)
    assert asked["children"].endswith("and take it out of the levels")
    assert asked["opinion"].endswith('missing_codes = { "97" = "unknown" }')
    codes = {name: {97: "refused"} for name in table.columns}
    declared = Schema.of(quasi=table.columns, kinds=dict.fromkeys(table.columns, "ordinal"), missing_codes=codes)
    assert undeclared(enter(table), declared) == {}
