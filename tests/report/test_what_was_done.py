"""What was done, in words that are true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.pair import Pair
from shoal.report.what_was_done import accounts_of, known_limits, method_words, methods_in
from shoal.schema import Schema

RECIPE = {"group": {"method": "k-member", "k": 5}, "mask": [{"method": "centroid"}]}


def test_every_column_is_accounted_for(pair: Pair) -> None:
    accounts = {account.name: account for account in accounts_of(pair, RECIPE)}
    assert list(accounts) == [column.name for column in pair.schema.columns]
    assert accounts["name"].done == "removed"
    assert accounts["cost"].done == accounts["weight"].done == accounts["note"].done == "published unchanged"
    assert "average of the person's group" in accounts["age"].done
    assert accounts["region"].missing == "a level of its own"
    assert accounts["cost"].missing == "published as missing"
    assert 0 < accounts["age"].changed_share < 1
    assert accounts["cost"].changed_share is None
    assert "changed_share" not in accounts["age"].to_dict()


def test_unchanged_is_said_only_where_it_is_true(pair_by_hand: Callable[..., Any]) -> None:
    table = pl.DataFrame({"a": range(10), "y": range(10)})
    schema = Schema.of(quasi=["a"], sensitive=["y"])
    shifted = table.with_columns(pl.col("y") + 1)
    accounts = accounts_of(Pair.of(table, shifted, schema), RECIPE)
    assert [account.done for account in accounts][1] == "changed"
    assert accounts[0].changed_share == 0


def test_the_rule_for_missing_numbers_is_told() -> None:
    table = pl.DataFrame({"a": [1.0, None, 3.0], "b": [1.0, None, 3.0], "c": [1.0, 2.0, 3.0], "d": [1.0, None, 2.0]})
    schema = Schema.of(quasi=["a", "b", "c", "d"], missing={"a": "drop", "b": "median", "d": -9.5})
    released = pl.DataFrame({name: [1.0, 2.0] for name in "abcd"})
    told = [account.missing for account in accounts_of(Pair.of(table, released, schema, [0, 2]), RECIPE)]
    assert told == [
        "the row is dropped",
        "replaced by the median",
        "none (any would be refused)",
        "replaced by -9.5, as declared",
    ]


def test_the_order_of_rows_and_identifiers_are_mentioned_only_where_they_changed(pair: Pair) -> None:
    assert any("another order" in step for step in method_words(RECIPE, pair, 5))
    table = pl.DataFrame({"a": range(10)})
    same = Pair.of(table, table, Schema.of(quasi=["a"]))
    assert method_words(RECIPE, same, 5) == method_words(RECIPE, pair, 5)[:2]


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        ("centroid", ["centroid"]),
        ({"method": "resample", "replace": True}, ["resample"]),
        ([{"method": "resample", "replace": False}, "gaussian-dither:alpha=0.2"], ["resample", "gaussian-dither"]),
        (None, []),
    ],
)
def test_methods_are_read_in_every_form(mask: Any, names: list[str]) -> None:
    assert [one.name for one in methods_in({"mask": mask}, "mask")] == names


def test_values_that_change_hands_are_told_so() -> None:
    drawn, dealt = ({"method": "resample", "replace": replace} for replace in (True, False))
    first, second = (methods_in({"mask": mask}, "mask")[0].report_text for mask in (drawn, dealt))
    assert "up to chance" in first.keeps
    assert second.keeps == "Every value, exactly as often as before."


def test_limits_fit_the_method(pair: Pair) -> None:
    averaged = " ".join(known_limits(RECIPE, pair))
    dithered = " ".join(known_limits({"mask": [{"method": "gaussian-dither"}]}, pair))
    assert "not k-anonymity of the file" in dithered
    assert "not k-anonymity of the file" not in averaged
    assert "cost, disease, weight and note" in dithered
    assert np.unique(known_limits(RECIPE, pair)).size == len(known_limits(RECIPE, pair))


def test_an_unknown_method_is_named(pair: Pair) -> None:
    recipe = {"group": {"method": "future-grouper"}, "mask": [{"method": "future-mask"}]}
    assert method_words(recipe, pair, 5)[:2] == ["Method: future-grouper.", "Method: future-mask."]
    assert accounts_of(pair, recipe)[1].done == "changed (future-mask)"
