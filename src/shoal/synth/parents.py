"""Which columns a column's building block is conditioned on, and who chose them.

Whether synthetic columns are tied to each other at all, as a fact that programs can read.

With few records or a small ε no pair of columns stands out of its noise. Rows are then drawn from margins alone: ages
and diagnoses are those of the data, but who has which is chance. That must be said first, not in a footnote, and with
the ε that would change it: the least at which the public rule `spend.n_pairs` would measure a pair, from the noisy
margins and number of records. All of it follows from noisy tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.domain import Domain
from shoal.dp import Budget
from shoal.errors import ParameterError
from shoal.record import Record
from shoal.synth.counts import Counts
from shoal.synth.spend import Purse, expected_noise, n_pairs, total_budget
from shoal.synth.tables import check_keys, dependence, distance, mutual_information, n_keys

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = [
    "Choose",
    "Parents",
    "Ties",
    "all_pairs",
    "by_mutual_information",
    "choose_pairs",
    "choose_parents",
    "ties_found",
]

Choose = Literal["private", "given", "mutual-information", "min-hash"]
LARGEST = 200_000  # cells of one building block table, unless parents are named
DEPENDENCE_SENSITIVITY = 5
_FAR = 1e15  # records: a cost beyond is as good as any
_STEP, _MOST = 1.25, 1e4
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Parents:
    """What the caller said: parents by position (or None), how many to choose, and how."""

    given: Mapping[int, tuple[int, ...]] | None
    how_many: int | None
    choose: Choose

    @classmethod
    def of(cls, pegs: PeGS, domain: Domain) -> Parents:
        """Read the parameters against the domain; a column can't be its own parent."""
        if not isinstance(pegs.parents, Mapping):
            return cls(given=None, how_many=pegs.parents, choose=pegs.choose)
        given: dict[int, tuple[int, ...]] = dict.fromkeys(range(len(domain.axes)), ())
        for name, named in pegs.parents.items():
            i = domain.position(name, "parents")
            found = [named] if isinstance(named, str) else list(named)
            positions = tuple(domain.position(parent, "parents") for parent in found)
            if i in positions or len(set(positions)) < len(positions):
                raise ParameterError("parents", f"of '{name}' must be other columns, each named once")
            given[i] = positions
            if pegs.scope == "sample" or pegs.design == "conditionals":
                check_keys(domain.sizes, i, positions)
        return cls(given=given, how_many=None, choose="given")


def all_pairs(n: int) -> list[tuple[int, int]]:
    """All pairs of positions, i < j."""
    return list(combinations(range(n), 2))


def choose_pairs(
    counts: Counts, shares: Sequence[FloatArray], total: float, n_chosen: int, purse: Purse, price: Budget
) -> list[tuple[int, int]]:
    """Choose pairs by noisy maxima: first a spanning tree, then the strongest of the rest.

    The score of a pair is the distance Σ |n_ij − e_ij| between its table and what noisy margins expect under
    independence, less the error that measuring it is expected to have; one record changes it by at most 1.
    """
    sizes = [len(share) for share in shares]
    pairs = [(i, j) for i, j in all_pairs(len(sizes)) if sizes[i] * sizes[j] <= LARGEST]
    if not pairs:
        return []
    alone = (np.outer(shares[i], shares[j]) * total for i, j in pairs)
    far = np.array([distance(counts.pair(*pair), e) for pair, e in zip(pairs, alone, strict=True)], dtype=np.int64)
    cost = expected_noise([sizes[i] * sizes[j] for i, j in pairs], n_chosen, purse.left - price)
    scores = far - np.minimum(np.rint(cost), _FAR).astype(np.int64)
    chosen: list[tuple[int, int]] = []
    group = list(range(len(sizes)))
    for part in price.split(n_chosen):
        joining = [k for k, (i, j) in enumerate(pairs) if group[i] != group[j]]
        open_pairs = joining or [k for k, pair in enumerate(pairs) if pair not in chosen]
        if not open_pairs:
            break
        i, j = pairs[open_pairs[purse.choice("choice of a pair", scores[open_pairs], 1.0, part)]]
        chosen.append((i, j))
        group = [group[i] if g == group[j] else g for g in group]
    return chosen


def choose_parents(counts: Counts, how_many: int, purse: Purse, price: Budget) -> dict[int, tuple[int, ...]]:
    """Choose parents of every column by noisy maxima of `dependence`; as long as the keys stay few."""
    sizes, M = counts.sizes, len(counts.sizes)
    scores = _scores(counts, dependence)
    parts = iter(price.split(max(1, M * how_many)))
    out: dict[int, tuple[int, ...]] = {}
    for i in range(M):
        chosen: list[int] = []
        for _ in range(how_many):
            part = next(parts)
            open_columns = [j for j in range(M) if _fits(sizes, i, chosen, j)]
            if open_columns:
                row = scores[i, open_columns].astype(np.int64)
                at = purse.choice("choice of a parent", row, float(DEPENDENCE_SENSITIVITY), part)
                chosen.append(open_columns[at])
        out[i] = tuple(chosen)
    return out


def by_mutual_information(counts: Counts, how_many: int) -> dict[int, tuple[int, ...]]:
    """The columns with the most mutual information, as published: no claim survives this choice."""
    scores, sizes = _scores(counts, mutual_information), counts.sizes
    out: dict[int, tuple[int, ...]] = {}
    for i in range(len(sizes)):
        chosen: list[int] = []
        for j in np.argsort(-scores[i], kind="stable"):
            if len(chosen) < how_many and _fits(sizes, i, chosen, int(j)):
                chosen.append(int(j))
        out[i] = tuple(chosen)
    return out


def _fits(sizes: Sequence[int], i: int, chosen: Sequence[int], j: int) -> bool:
    return j != i and j not in chosen and n_keys(sizes, [*chosen, j]) * sizes[i] <= LARGEST


def _scores(counts: Counts, measure: Callable[[IntArray], float]) -> FloatArray:
    M = len(counts.sizes)
    scores = np.zeros((M, M))
    for i, j in all_pairs(M):
        scores[i, j] = scores[j, i] = measure(counts.pair(i, j))
    return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties(Record):
    """Whether synthetic columns are tied to each other at all.

    Parameters
    ----------
    independent
        Whether every column is independent of every other.
    by_design
        Whether the method leaves ties out, whatever the data are.
    epsilon_needed
        Where noise left no tie, or some columns without one: about the ε at which there would be one, or at which one
        more pair could be paid for each of these columns (None: not within 10,000, or not known).
    alone
        Columns that are tied to no other, where some are tied.
    """

    independent: bool = False
    by_design: bool = False
    epsilon_needed: float | None = None
    alone: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The warning, if there is one to give."""
        if self.independent:
            return (f"Columns are independent of each other: {self._why}.",)
        if self.alone:
            said = ", ".join(self.alone[:_MOST_NAMED]) + (" and more" if len(self.alone) > _MOST_NAMED else "")
            few, their = ("is", "its") if len(self.alone) == 1 else ("are", "their")
            return (
                f"{said} {few} independent of all other columns: no tie of theirs stood out of the noise. Don't study "
                f"{their} relations in these rows; {self._more}.",
            )
        return ()

    @property
    def _more(self) -> str:
        if self.epsilon_needed is None:
            return "a larger ε or fewer columns would keep more"
        each = "it" if len(self.alone) == 1 else "each of them"
        return f"about ε = {self.epsilon_needed:.2g} would pay for a tie of {each}, as would fewer columns"

    @property
    def _why(self) -> str:
        study = "Single columns can be studied in these rows, relations between columns can't"
        if self.by_design:
            return f"this method draws each on its own. {study}; PeGS keeps relations"
        remedy = (
            "more records or fewer levels would be needed"
            if self.epsilon_needed is None
            else f"about ε = {self.epsilon_needed:.2g} would be needed with these records"
        )
        return f"no tie between two of them stood out of the noise. {study}; {remedy}"

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Ties:
        """Read the facts back from a model's words; older models don't have them."""
        found = dict(words.get("ties", {}))
        return cls(**found | {"alone": tuple(found.get("alone", ()))})


def ties_found(
    pegs: PeGS,
    domain: Domain,
    margins: tuple[Sequence[FloatArray], float],
    one_variance: float,
    tied: Iterable[tuple[int, int]],
    pays_for: Callable[[Budget, int], bool] | None = None,
) -> Ties:
    """The facts about a model with the ties `tied`, from its margins and number of records.

    `pays_for` says whether a budget would buy so many pairs more.
    """
    shares, total = margins
    held = {i for pair in tied for i in pair}
    alone = tuple(name for i, name in enumerate(domain.names) if held and i not in held)
    if held or len(shares) < 2:
        more = pays_for if alone else None
        return Ties(alone=alone, epsilon_needed=more and _least(pegs, lambda e, b: more(b, len(alone))))

    def enough(epsilon: float, budget: Budget) -> bool:
        return n_pairs(shares, total, math.sqrt(one_variance) * pegs.epsilon / epsilon, budget) > 0

    return Ties(independent=True, epsilon_needed=_least(pegs, enough))


def _least(pegs: PeGS, enough: Callable[[float, Budget], bool]) -> float | None:
    """About the least ε above that of the model which is enough."""
    epsilon = pegs.epsilon
    while epsilon < _MOST:
        epsilon *= _STEP
        if enough(epsilon, total_budget(epsilon, pegs.delta)):
            return float(f"{epsilon:.2g}")
    return None
