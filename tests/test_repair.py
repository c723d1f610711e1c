"""Safe changes of a schema: they settle what doesn't fit and never let more be learnt."""

import polars as pl
import pytest

from shoal import Schema
from shoal.conform import prepare
from shoal.errors import ProblemsError
from shoal.repair import problems_of, safe_fixes
from shoal.schema.amend import amended

TABLE = pl.DataFrame(
    {
        "age": [30, 40, None, 50],
        "code": ["1", "2", "3", "X"],
        "sex": ["f", "m", "f", "SENTINEL"],
        "email": ["a@b.org", "c@d.org", "e@f.org", "g@h.org"],
        "cost": [1.0, 2.0, 3.0, 4.0],
    }
)
SCHEMA = Schema.of(quasi=["age", "code", "sex", "gone"], levels={"sex": ["f", "m"]})


def test_every_problem_is_said_at_once_each_with_its_remedy():
    with pytest.raises(ProblemsError) as caught:
        prepare(TABLE, SCHEMA)
    problems = caught.value.problems
    assert len(problems) == 6
    assert all(problem.hint for problem in problems)
    message = str(caught.value)
    for part in (
        "'gone' is not in",
        "'email' of the",
        "'cost' of the",
        "'age': has missing",
        "'code': mixes",
        "'sex'",
    ):
        assert part in message
    assert "SENTINEL" not in message


def test_safe_fixes_leave_what_needs_judgement():
    fixes = {fix.column: fix.entries for fix in safe_fixes(TABLE, SCHEMA)}
    assert fixes["gone"] is None
    assert fixes["email"]["role"] == "identifier"
    assert fixes["cost"]["role"] == "quasi"  # proposed sensitive: the cautious role masks it
    assert fixes["code"] == {"kind": "nominal"}
    assert fixes["age"] == {"missing": "level"}  # they stay what they are: nobody is dropped, nothing is filled in
    assert set(fixes) == {"gone", "email", "cost", "code", "age"}
    repaired = Schema.from_dict(_read(amended(SCHEMA.to_toml(), fixes)))
    assert {problem.column for problem in problems_of(TABLE, repaired)} == {"sex"}
    assert safe_fixes(TABLE, repaired) == ()


def test_entry_that_a_rule_speaks_of_stays():
    schema = Schema.of(quasi=["sex", "gone"], rules=[{"never": {"gone": ["x"], "sex": ["m"]}}])
    assert safe_fixes(TABLE.select("sex"), schema) == ()


def test_comments_and_everything_else_stay():
    text = (
        '# my file\n\n# checked by me\n[columns.code]  # a code\nrole = "quasi"\nkind = "numeric"\n\n'
        '# old\n[columns."a b"]\nrole = "other"\n[columns."a b".metric]\nkind = "x"\n\n[columns.z]\nrole = "other"\n'
    )
    changed = amended(text, {"code": {"kind": "nominal"}, "a b": None, "new one": {"role": "quasi"}})
    assert changed == (
        '# my file\n\n# checked by me\n[columns.code]  # a code\nrole = "quasi"\nkind = "nominal"\n\n'
        '[columns.z]\nrole = "other"\n\n[columns."new one"]\nrole = "quasi"\n'
    )


def _read(text):
    import tomllib

    return tomllib.loads(text)
