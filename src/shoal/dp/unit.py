"""Who is protected: one person with up to m rows, as a value that scales noise, cuts rows and says so in words.

A mechanism is built for neighbours that differ in one row; a person with m rows is a chain of m such steps (group
privacy). So what a person may cost is divided before it is spent on rows:

    ε  →  ε / m      (pure differential privacy: the ratios of m steps multiply),
    ρ  →  ρ / m²     (zCDP: Bun and Steinke 2016, proposition 1.9).

An (ε, δ) is turned into the ρ that it allows first, for the person, and then divided: δ needs no factor of its own.
(Divided directly it would become (ε/m, δ / (m e^(ε (m−1)/m))), which is far worse.)

Where the table says which rows are whose, it is held to m: of a person with more rows m are kept at random. Rows are
left out and not refused, because an error would tell that somebody has more. Which rows of a person are kept follows
from a key that was drawn without the data and from that person's rows alone, neither from other people nor from the
order of the table. So tables that differ in one person differ in at most m rows afterwards, whatever the key, even if
it is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.dp.budget import Budget
from shoal.errors import ParameterError

__all__ = ["FIT_STOPS", "ProtectedUnit", "rows_within"]

_MASK = 2**63 - 1  # the widest seed that Polars' hash takes

FIT_STOPS = (
    "The table is not empty and every record keeps to the schema: one that does not (a level that was not declared, a "
    "number out of bounds, a missing value where it is refused) stops the fit before anything is computed, and whoever "
    "sees it stop learns that."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedUnit:
    """One person with up to `rows` rows; `held` says whether the table named its persons and was held to that.

    Examples
    --------
    >>> from shoal.dp import Budget, ProtectedUnit
    >>> unit = ProtectedUnit(rows=4)
    >>> print(unit, "|", unit.per_row(Budget(epsilon=1)), "|", unit.per_row(Budget.zcdp(0.16)))
    one person with up to 4 rows | ε = 0.25 | ρ = 0.01 (zCDP)
    """

    rows: int = 1
    held: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.rows, bool) or not isinstance(self.rows, int | np.integer) or self.rows < 1:
            raise ParameterError("ProtectedUnit", "rows must be a whole number of at least 1", got=repr(self.rows)[:60])

    def __str__(self) -> str:
        return "one person with one row" if self.rows == 1 else f"one person with up to {self.rows} rows"

    def per_row(self, budget: Budget) -> Budget:
        """What one row may cost, so that a person costs at most `budget`: ε / m, or ρ / m²."""
        if budget.definition == "approximate":
            raise ParameterError("ProtectedUnit", "(epsilon, delta) must first be converted to rho", got=str(budget))
        m = int(self.rows)
        return budget * Fraction(1, m * m if budget.definition == "zcdp" else m)

    @property
    def statement(self) -> str:
        """The unit as a sentence of a claim."""
        return f"Protected unit: {self}."

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true about persons and rows."""
        neighbours = f"Two data sets are neighbours if one has one person more ({self}; add or remove one)."
        if self.held:
            kept = "one was" if self.rows == 1 else f"{self.rows} were"
            return neighbours, f"The table was held to that: of a person with more rows {kept} kept, at random."
        return neighbours, (
            "No person has more rows than that, which was not checked, as the table did not say whose they are; "
            "somebody with j times as many is protected at j times epsilon (with a delta, more loosely still)."
        )


def rows_within(persons: pl.Series, cells: IntArray, rows: int, key: int) -> BoolArray:
    """Which rows stay so that no person has more than `rows`: drawn by `key` among the person's own rows.

    Parameters
    ----------
    persons
        Whose each row is; a row without a person's name is a person of its own.
    cells
        What the rows hold, as numbers: equal rows of a person are as good as each other.
    key
        Any whole number, drawn without the data.
    """
    held = pl.DataFrame({"person": persons.alias("person"), **{str(j): cells[:, j] for j in range(cells.shape[1])}})
    first = held.select("person").with_columns(drawn=held.hash_rows(key & _MASK))
    copies = first.with_columns(copy=pl.int_range(pl.len()).over("person", "drawn"))
    drawn = copies.select("person", order=copies.hash_rows(key >> 1 & _MASK))
    place = drawn.select(pl.col("order").rank("ordinal").over("person").alias("place"))["place"]
    return np.asarray((place.to_numpy() <= rows) | persons.is_null().to_numpy(), dtype=np.bool_)
