"""Which columns a column's building block is conditioned on, and who chose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.domain import Domain
from shoal.dp import Budget
from shoal.errors import ParameterError
from shoal.synth.allocation import expected_noise
from shoal.synth.spend import Purse
from shoal.synth.tables import check_keys, dependence, distance, mutual_information, n_keys, pair_counts

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = ["Choose", "Parents", "all_pairs", "by_mutual_information", "choose_pairs", "choose_parents"]

Choose = Literal["private", "given", "mutual-information"]
LARGEST = 200_000  # cells of one building block table, unless parents are named
DEPENDENCE_SENSITIVITY = 5
_FAR = 1e15  # records: a cost beyond is as good as any


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
    codes: IntArray, shares: Sequence[FloatArray], total: float, wanted: int, purse: Purse, price: Budget
) -> list[tuple[int, int]]:
    """Choose pairs by noisy maxima: first a spanning tree, then the strongest of the rest.

    The score of a pair is the distance Σ |n_ij − e_ij| between its table and what noisy margins expect under
    independence, less the error that measuring it is expected to have; one record changes it by at most 1.
    """
    sizes = [len(share) for share in shares]
    pairs = [(i, j) for i, j in all_pairs(len(sizes)) if sizes[i] * sizes[j] <= LARGEST]
    if not pairs:
        return []
    far = np.array([_distance(codes, sizes, i, j, shares, total) for i, j in pairs], dtype=np.int64)
    cost = expected_noise([sizes[i] * sizes[j] for i, j in pairs], wanted, purse.left - price)
    scores = far - np.minimum(np.rint(cost), _FAR).astype(np.int64)
    chosen: list[tuple[int, int]] = []
    group = list(range(len(sizes)))
    for part in price.split(wanted):
        joining = [k for k, (i, j) in enumerate(pairs) if group[i] != group[j]]
        open_pairs = joining or [k for k, pair in enumerate(pairs) if pair not in chosen]
        if not open_pairs:
            break
        i, j = pairs[open_pairs[purse.choice("choice of a pair", scores[open_pairs], 1.0, part)]]
        chosen.append((i, j))
        group = [group[i] if g == group[j] else g for g in group]
    return chosen


def choose_parents(
    codes: IntArray, sizes: Sequence[int], how_many: int, purse: Purse, price: Budget
) -> dict[int, tuple[int, ...]]:
    """Choose parents of every column by noisy maxima of `dependence`; as long as the keys stay few."""
    M = len(sizes)
    scores = _scores(codes, sizes, dependence)
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


def by_mutual_information(codes: IntArray, sizes: Sequence[int], how_many: int) -> dict[int, tuple[int, ...]]:
    """The columns with the most mutual information, as published: no claim survives this choice."""
    scores = _scores(codes, sizes, mutual_information)
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


def _scores(codes: IntArray, sizes: Sequence[int], measure: object) -> FloatArray:
    scores = np.zeros((len(sizes), len(sizes)))
    for i, j in all_pairs(len(sizes)):
        scores[i, j] = scores[j, i] = measure(pair_counts(codes, sizes, i, j))  # type: ignore[operator]
    return scores


def _distance(codes: IntArray, sizes: Sequence[int], i: int, j: int, shares: Sequence[FloatArray], total: float) -> int:
    return distance(pair_counts(codes, sizes, i, j), np.outer(shares[i], shares[j]) * total)
