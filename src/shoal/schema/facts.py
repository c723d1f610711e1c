"""What is known of a column before its role is guessed: the words of its name, its type, how its cells repeat."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from shoal.errors import ColumnError

__all__ = ["Facts", "look", "words_in"]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A column, counted once."""

    name: str
    words: tuple[str, ...]
    cells: pl.Series  # with NaN as null
    n_known: int
    n_distinct: int

    @property
    def text(self) -> bool:
        """Whether it holds texts."""
        return self.cells.dtype in (pl.String, pl.Categorical, pl.Enum)

    @cached_property
    def whole(self) -> bool:
        """Whether it holds whole numbers."""
        if self.cells.dtype.is_float():
            return bool((self.cells == self.cells.round()).all())
        return self.cells.dtype.is_integer()

    @property
    def all_distinct(self) -> bool:
        """Whether no value comes twice."""
        return self.n_distinct == self.n_known > 1

    @property
    def distinct_share(self) -> float:
        """Different values for each known cell."""
        return self.n_distinct / max(1, self.n_known)

    @cached_property
    def values(self) -> pl.Series:
        """The different values; texts without the blanks around them."""
        known = self.cells.drop_nulls().unique()
        return known.cast(pl.String).str.strip_chars() if self.text else known

    def has(self, *words: str) -> bool:
        """Whether one of `words` is in the name."""
        return any(word in words for word in self.words)

    def share(self, pattern: str) -> float:
        """The share of different texts that fit a pattern."""
        return float(self.values.str.contains(pattern).mean() or 0.0) if self.text and len(self.values) else 0.0  # type: ignore[arg-type]


def look(column: pl.Series) -> Facts:
    """Count a column; one that holds lists or bytes is an error."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration):
        rule = "must hold values of one simple type (numbers, text, dates or true/false)"
        raise ColumnError(column.name, rule, got=str(column.dtype).split("(")[0])
    cells = column.fill_nan(None) if column.dtype.is_float() else column
    known = cells.drop_nulls()
    return Facts(
        name=column.name, words=words_in(column.name), cells=cells, n_known=len(known), n_distinct=known.n_unique()
    )


def words_in(name: str) -> tuple[str, ...]:
    """The words of a name in lower case (``patientID`` gives patient, id), and the name in one piece."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return (*(part.lower() for part in parts), re.sub(r"[^a-z0-9]", "", name.lower()))
