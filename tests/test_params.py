import math
from dataclasses import dataclass
from typing import Annotated, Literal

import pydantic
import pytest
from annotated_types import Ge, Gt, Interval, Le
from hypothesis import find
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.params import Help, Range, build, check, json_schema, parameters, to_dict


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    k: Annotated[int, Range(low=2), Help("group size")] = 5
    alpha: Annotated[float, Range(above=0, high=1)] = 1 / 3
    exact: bool = False
    mode: Literal["a", "b"] = "a"
    cap: Annotated[int | None, Range(low=1)] = None


def test_defaults_pass():
    check(Method())


@pytest.mark.parametrize(
    "wrong",
    [{"k": 1}, {"k": 2.5}, {"k": True}, {"k": "5"}, {"alpha": 0}, {"alpha": float("nan")}, {"alpha": 1.5},
     {"exact": 1}, {"mode": "c"}, {"cap": 0}, {"k": None}],
)  # fmt: skip
def test_a_broken_rule_names_method_and_parameter(wrong):
    with pytest.raises(ParameterError, match=f"Method: {next(iter(wrong))} must"):
        check(Method(**wrong))


def test_build_reads_words():
    built = build(Method, {"k": "7", "alpha": "1/4", "exact": "true", "mode": "b", "cap": "none"})
    assert built == Method(k=7, alpha=0.25, exact=True, mode="b", cap=None)


@pytest.mark.parametrize("words", [{"k": "x"}, {"alpha": "1/0"}, {"exact": "maybe"}, {"nope": "1"}])
def test_build_refuses_unreadable_words(words):
    with pytest.raises(ParameterError):
        build(Method, words)


def test_words_round_trip():
    method = Method(k=9, alpha=1 / 3, cap=4)
    assert build(Method, to_dict(method)) == method
    assert build(Method, {name: str(value) for name, value in to_dict(method).items()}) == method


def test_rule_in_words():
    k, alpha, exact, mode, cap = (parameter.rule for parameter in parameters(Method))
    assert k == "be a whole number at least 2"
    assert alpha == "be a number greater than 0 and at most 1"
    assert exact == "be true or false"
    assert mode == "be one of 'a', 'b'"
    assert cap == "be a whole number or none at least 1"


def test_json_schema():
    schema = json_schema(Method)["properties"]
    assert schema["k"] == {"description": "group size", "default": 5, "type": "integer", "minimum": 2}
    assert schema["mode"]["enum"] == ["a", "b"]
    assert schema["alpha"]["exclusiveMinimum"] == 0
    assert schema["cap"]["type"] == ["integer", "null"]


def test_a_range_is_read_by_pydantic_and_hypothesis():
    kind = Annotated[int, Range(low=2, below=7), Help("a size")]
    assert pydantic.TypeAdapter(kind).json_schema() == {"type": "integer", "minimum": 2, "exclusiveMaximum": 7}
    assert {find(st.from_type(kind), lambda x, n=n: x >= n) for n in range(2, 7)} == {2, 3, 4, 5, 6}
    with pytest.raises(pydantic.ValidationError):
        pydantic.TypeAdapter(kind).validate_python(7)


@pytest.mark.parametrize(
    ("extras", "low", "high", "above", "below"),
    [
        ((Ge(2),), 2, math.inf, -math.inf, math.inf),
        ((Gt(0), Le(1)), -math.inf, 1, 0, math.inf),
        ((Interval(ge=1, lt=3),), 1, math.inf, -math.inf, 3),
        ((Range(low=1, high=2),), 1, 2, -math.inf, math.inf),
    ],
)
def test_bounds_of_annotated_types_are_ranges(extras, low, high, above, below):
    assert Range.of(extras) == Range(low=low, high=high, above=above, below=below)
    assert Range.of(()) is None
