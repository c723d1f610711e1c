import pickle

import pytest

from shoal import errors
from shoal.errors import (
    ColumnError,
    FileError,
    GuaranteeError,
    InputError,
    ParameterError,
    Problems,
    ProblemsError,
    SchemaError,
    ShoalError,
)


def test_message_is_composed_from_the_fields():
    error = ParameterError("KMember", "k must be at least 2", got="1", hint="Raise k.")
    assert str(error) == "KMember: k must be at least 2; got 1. Raise k."
    assert str(GuaranteeError("x", "must hold")) == "x: must hold."


@pytest.mark.parametrize(
    ("cls", "code"),
    [(ParameterError, 2), (GuaranteeError, 3), (InputError, 4), (SchemaError, 4), (ColumnError, 4), (FileError, 4)],
)
def test_exit_codes(cls, code):
    assert cls("owner", "must").exit_code == code
    assert issubclass(cls, ShoalError)


def test_every_error_survives_a_pickle():
    for name in errors.__all__:
        cls = getattr(errors, name)
        if name in ("Problems", "ProblemsError"):
            continue
        error = cls("a", "must b", got="c", hint="D.")
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)
        assert type(again) is cls


def test_problems_are_raised_at_once_and_survive_a_pickle():
    def wrong(name):
        raise ColumnError(name, "must be numeric", fix={"kind": "nominal"})

    problems = Problems()
    assert problems.each(wrong, ["a", "a"]) == []
    with pytest.raises(ColumnError, match="column 'a'"):
        problems.raise_if_any()
    problems.each(wrong, ["b"])
    with pytest.raises(ProblemsError) as caught:
        problems.raise_if_any()
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert [problem.column for problem in again.problems] == ["a", "b"]
    assert again.problems[0].fix == {"kind": "nominal"}
    assert again.exit_code == 4
    assert Problems().each(str, [1]) == ["1"]


def test_column_error_names_the_column():
    assert "column 'age'" in str(ColumnError("age", "must be numeric"))
