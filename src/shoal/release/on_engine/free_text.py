"""Free text on an engine: the rule of `shoal.compliance.free_text`, counted where the rows lie.

A column is free text if its different texts are long on average and most cells differ. Lengths are summed batch by
batch, so no text comes to the driver.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from shoal.compliance.free_text import LONG, SHORT, refuse_free_text
from shoal.engine import Engine, Relation

__all__ = ["check_texts_on"]


def check_texts_on(engine: Engine, relation: Relation, columns: Sequence[str], allow: Sequence[str]) -> None:
    """Refuse free text among `columns` that nobody has allowed."""
    texts = [name for name in columns if relation.types.get(name) == pl.String and name not in allow]
    long = [name for name in texts if _mean_length(engine, relation, name) >= SHORT]
    if not long:
        return
    known, distinct = engine.known(relation, long), engine.distinct(relation, long)
    differ = [name for name in long if known[name] >= 2 and distinct[name] > 0.5 * known[name]]
    refuse_free_text(
        [name for name in differ if _mean_length(engine, engine.count(relation, [name]), name) >= LONG],
    )


def _mean_length(engine: Engine, relation: Relation, name: str) -> float:
    types = {"cells": pl.Int64(), "letters": pl.Int64()}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        lengths = rows[name].drop_nulls().str.len_chars()
        return pl.DataFrame({"cells": [len(lengths)], "letters": [int(lengths.sum())]}, schema=types)

    sums = engine.add_up(engine.select(relation, [name]), batch, types)
    return float(sums["letters"][0]) / max(1, int(sums["cells"][0]))
