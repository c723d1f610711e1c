"""What each kind of job is asked for, in JSON-safe words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.web.inspect import Opened

__all__ = ["to_compare", "to_look", "to_open", "to_release"]

Words = Mapping[str, Any]


def to_open(
    path: str | Path, delimiter: str | None = None, encoding: str | None = None, decimal: str = "."
) -> dict[str, Any]:
    """The words of a job that opens a file."""
    return {"path": str(path), "delimiter": delimiter, "encoding": encoding, "decimal": decimal}


def to_look(opened: Opened, schema: Words) -> dict[str, Any]:
    """The words of a job that counts who is alone with their quasi-identifiers."""
    return {"opened": opened.slim().to_dict(), "schema": dict(schema)}


def to_release(
    opened: Opened,
    schema: Words,
    recipe: Words,
    *,
    format: str | None = None,
    preset: str | None = None,
    accept: bool = False,
    seed: int | None = None,
    account: bool = True,
    limit: float | None = None,
) -> dict[str, Any]:
    """The words of a job that makes a release.

    Parameters
    ----------
    opened, schema, recipe
        The file, its schema in words and the recipe in words.
    format
        Ending of the table: csv, tsv, parquet, dta, sav, xpt; None: as the input's where that can be written.
    preset, accept
        Rules that a coarsened table is held to, and whether to release although a check of them fails.
    seed
        None when you publish: a secret one is drawn.
    account, limit
        Whether a synthesis is charged to the account beside the file, and the epsilon that may ever be spent, set by
        the first run (None: 10).
    """
    return {
        "opened": opened.slim().to_dict(),
        "schema": dict(schema),
        "recipe": dict(recipe),
        "format": format,
        "preset": preset,
        "accept": accept,
        "seed": seed,
        "account": account,
        "limit": limit,
    }


def to_compare(
    opened: Opened,
    schema: Words,
    recipes: Sequence[Words] | None = None,
    *,
    also: Sequence[Words] = (),
    time_limit: float = 120.0,
    risk_limit: float = 0.05,
    workers: int | None = None,
    seed: int | None = None,
    store: str = "",
) -> dict[str, Any]:
    """The words of a job that compares recipes (None: the default ones for schema and table) and some others `also`.

    Finished recipes are kept in a folder of the room that `store` names, and are not run again.
    """
    return {
        "opened": opened.slim().to_dict(),
        "schema": dict(schema),
        "recipes": None if recipes is None else [dict(recipe) for recipe in recipes],
        "also": [dict(recipe) for recipe in also],
        "time_limit": time_limit,
        "risk_limit": risk_limit,
        "workers": workers,
        "seed": seed,
        "store": store,
    }
