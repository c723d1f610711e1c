"""A proposal of very many columns says first where to begin."""

import polars as pl
import pytest

from shoal.schema.infer import propose
from shoal.schema.infer_linked import propose_linked
from shoal.schema.proposal_advice import advice

N = 120


def survey(n_questions, n_costs=0):
    answers = {f"qx_{i}": [(j * (i + 3)) % 5 + i / 7 for j in range(N)] for i in range(n_questions)}
    costs = {f"cost{i}": [(j * (i + 7) + j * j) % 89 + 0.5 for j in range(N)] for i in range(n_costs)}
    return pl.DataFrame({"age": [20 + j % 60 for j in range(N)], **answers, **costs})


@pytest.mark.parametrize(("n_open", "advised"), [(24, False), (25, True)])
def test_many_open_columns_are_advised_about_and_few_are_not(n_open, advised):
    names = [f"v{i}" for i in range(n_open)]
    assert bool(advice(30, names, [])) == bool(advice(30, [], names)) == advised


def test_two_lines_say_how_much_is_open_where_to_begin_and_what_goes_together():
    first, second = propose(survey(30, 26)).advice
    assert first.startswith("26 of 57 columns are sensitive, so released as they are, and 30 are undecided, so masked.")
    assert first.split("Begin with ")[1].count("qx_") == 3
    assert "qx_* (30 columns), cost* (26 columns)" in second
    assert 'role = "identifier"' in second


def test_advice_stands_before_everything_else_in_the_file():
    proposal = propose(survey(30))
    top = " ".join(line.removeprefix("# ") for line in proposal.to_toml().splitlines()[1:8])
    assert all(line in top for line in proposal.advice)
    assert "Begin with" not in propose(survey(3)).to_toml()


def test_advice_stands_above_the_table_of_linked_tables_that_it_is_about():
    persons = survey(30).with_columns(person_id=pl.int_range(N) + 1000)
    visits = pl.DataFrame(
        {"visit_id": range(5000, 5000 + N), "person_id": range(1000, 1000 + N), "note": ["a", "b"] * 60}
    )
    text = propose_linked({"persons": persons, "visits": visits}).to_toml()
    assert text.count("Begin with") == 1
    assert text.index("Begin with") < text.index("[tables.persons]")


def test_very_long_names_are_cut():
    assert all(len(line) < 260 for line in advice(60, [], [f"{'x' * 80}{i}" for i in range(40)]))
