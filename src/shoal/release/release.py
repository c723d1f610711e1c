"""A released table with its evidence: what was made, how, what it promises, and what was measured.

Measures and claims are computed when first asked for, all from one pair of original and release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import IntArray
from shoal.claim import Claim
from shoal.dp import Spending
from shoal.errors import ParameterError
from shoal.files import Source
from shoal.pair import Pair
from shoal.recipe import AnyRecipe, Synthesis
from shoal.release.promises import promises
from shoal.risk import RiskReport
from shoal.risk import assess as assess_risk
from shoal.rng import fresh_seed
from shoal.schema import Schema
from shoal.synth import Model
from shoal.utility import UtilityReport
from shoal.utility import assess as assess_utility

__all__ = ["Progress", "Release", "checked_seed", "quiet"]

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A released table with its evidence.

    `labels` and `source_rows` are internal: they link released rows to people and are never written.

    Parameters
    ----------
    table
        What goes out, of the same type as what came in: rows shuffled, no index, no identifier.
    schema, declared
        The schema with every kind settled, and as it was given.
    recipe
        How the table was made.
    notes
        What else a reader must know, in sentences that may leave the secure room.
    labels
        The group of each original row: who hides with whom; −1 for a row that was left out.
    source_rows
        The original row of each released row.
    caveats
        What must be said beside the bound on re-identification.
    earned
        Claims of the method itself, beside those that every release of its sort carries.
    steps
        What each step of a chain did, in counts and shares that may leave the secure room.
    model
        The fitted model of a synthetic release.
    spending
        The account that a synthetic release was charged to, and what it has spent so far; None without an account.
    """

    table: Any
    schema: Schema
    recipe: AnyRecipe
    notes: tuple[str, ...]
    labels: IntArray
    source_rows: IntArray
    seed: int
    original: Any
    declared: Schema
    source: Source | None = None
    caveats: tuple[str, ...] = ()
    earned: tuple[Claim, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = field(default=())
    model: Model | None = None
    spending: Spending | None = None

    def __repr__(self) -> str:
        return f"Release({len(self.source_rows)} rows, {self.recipe})"

    @cached_property
    def pair(self) -> Pair:
        """Original and release side by side (internal)."""
        return Pair.of(self.original, self.table, self.schema, self.source_rows)

    @cached_property
    def risk(self) -> RiskReport:
        """What an intruder achieves against this release."""
        recipe = self.recipe
        labels = None if self.is_synthetic else self.labels
        return assess_risk(self.pair, labels=labels, k=recipe.k, seed=self.seed, exchangeable=recipe.is_blind)

    @cached_property
    def utility(self) -> UtilityReport:
        """What the release keeps of the original."""
        return assess_utility(self.pair, seed=self.seed)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What is promised, each with its basis and assumptions."""
        if self.is_synthetic:
            return self.earned
        return (*promises(self.recipe, self.pair, self.labels, self.risk, self.caveats), *self.earned)

    @property
    def small_cell(self) -> int:
        """Counts below it are not shown outside: k, or 5 where no k was asked for."""
        return self.recipe.k if self.recipe.k > 1 else 5

    @property
    def is_synthetic(self) -> bool:
        """Whether its rows are nobody's."""
        return isinstance(self.recipe, Synthesis)

    def write(
        self,
        directory: str | PathLike[str],
        *,
        format: str = "csv",
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Write table, external report and manifest to `directory`, internal report and replay file to its
        ``internal/``.

        The written table is read back and measured again; if a claim fails, nothing is left behind and a
        GuaranteeError is raised.

        Parameters
        ----------
        directory
            Must not exist yet, or be empty, or hold an older release and `overwrite` be True.
        format
            Ending of the table file: csv, tsv, parquet, and with the extra `formats` dta, sav, xpt.
        """
        from shoal.release.writing import write

        return write(self, Path(directory), format=format, overwrite=overwrite, progress=progress or quiet)


def checked_seed(seed: int | None) -> int:
    """The given seed, or a fresh secret one."""
    if seed is None:
        return fresh_seed()
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError("release", "seed must be a whole number of at least 0", got=repr(seed)[:40])
    return int(seed)


def quiet(step: str) -> None:
    """Say nothing."""
