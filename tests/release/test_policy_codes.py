"""A policy on a column of numbers or reasons: new rows get the same intervals, and their codes stay codes."""

import polars as pl

from shoal import Generalize, Schema, fit


def test_a_policy_keeps_codes_apart():
    schema = Schema.of(
        quasi=["age"],
        bounds={"age": (0, 120)},
        missing_codes={"age": {-8: "unknown"}},
        hierarchies={"age": {"kind": "intervals", "widths": [10, 20]}},
    )
    policy = fit(pl.DataFrame({"age": [21, 24, 27, -8, -8, -8]}), schema, Generalize(k=3))
    again = type(policy).from_dict(policy.to_dict())
    rows = again.apply(pl.DataFrame({"age": [41, 42, 43, -8, -8, -8]})).table["age"]
    assert sorted(rows.unique()) == ["-8", "40-49"]
