"""Everything that the fit of a chain looks at: one-way tables, choice of pairs, tables of pairs; from one purse.

A small share of the budget (`allocation.SHARES`) buys the one-way tables. Which pairs are measured is said by the
caller, or by the public rule `allocation.n_pairs`: all, some that noisy maxima choose for a tenth of the budget, or
none. Pairs share what is left by their numbers of cells. Where the rule decides and the account is zCDP, that is done
with half of it; the other half then goes where a chain fitted to the noisy tables leaves most open, and both
measurements of a pair are averaged.

Only `Purse` sees counts, and every purchase is at a price that was set before, by public numbers and noisy tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.dp import Budget
from shoal.synth.allocation import SHARES, by_cells, by_gain, n_pairs
from shoal.synth.chain import unexplained
from shoal.synth.domain import Settled
from shoal.synth.margins import NoisyTables, mean_of_two
from shoal.synth.parents import LARGEST, Parents, all_pairs, by_mutual_information, choose_pairs
from shoal.synth.spend import Purse
from shoal.synth.tables import one_way, pair_counts

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = ["measure"]

Pair: TypeAlias = tuple[int, int]


def measure(pegs: PeGS, settled: Settled, parents: Parents, purse: Purse, rng: Generator) -> tuple[NoisyTables, bool]:
    """Measure one-way tables and pairs; the second value says whether the choice of pairs cost the claim its proof."""
    sizes, codes = settled.domain.sizes, settled.codes
    can_miss = [axis.has_missing for axis in settled.domain.axes]
    first, choice, _ = purse.left.split(SHARES[purse.left.definition])
    one, one_variance = purse.tables("one-way tables", one_way(codes, sizes), first)
    alone = NoisyTables(one=tuple(one), one_variance=one_variance)
    shares, total = alone.margins(can_miss)
    by_rule = n_pairs(shares, total, math.sqrt(one_variance), purse.left)
    pairs, basis_lost = _pairs(pegs, parents, codes, shares, total, by_rule, purse, choice)
    if not pairs:
        return _margins_again(alone, codes, purse), basis_lost
    looks_twice = purse.left.definition == "zcdp" and len(pairs) > 1 and _is_open(pegs, parents)
    first_look, second_look = purse.left.split([1, int(looks_twice)])
    tables = _bought(alone, codes, purse, pairs, by_cells([sizes[i] * sizes[j] for i, j in pairs], first_look))
    if looks_twice:
        tables = _second_look(tables, codes, purse, unexplained(tables, can_miss, rng), second_look)
    return tables, basis_lost


def _margins_again(alone: NoisyTables, codes: IntArray, purse: Purse) -> NoisyTables:
    """Without pairs, the rest of the budget goes to the margins."""
    again, w = purse.tables("one-way tables, once more", one_way(codes, alone.sizes), purse.left)
    v = alone.one_variance
    both = [mean_of_two(a, v, b, w) for a, b in zip(alone.one, again, strict=True)]
    return NoisyTables(one=tuple(mean for mean, _ in both), one_variance=both[0][1])


def _second_look(
    tables: NoisyTables, codes: IntArray, purse: Purse, spread: Mapping[Pair, FloatArray], price: Budget
) -> NoisyTables:
    """Spend `price` where the first look leaves most open."""
    pairs = list(spread)
    prices = by_gain([spread[pair] for pair in pairs], [1 / tables.variance(*pair) for pair in pairs], price)
    return _bought(tables, codes, purse, pairs, prices)


def _bought(
    tables: NoisyTables, codes: IntArray, purse: Purse, pairs: Sequence[Pair], prices: Sequence[Budget]
) -> NoisyTables:
    """`tables` with every pair that has a price measured (once more)."""
    priced = {pair: price for pair, price in zip(pairs, prices, strict=True) if not price.empty}
    counts = [pair_counts(codes, tables.sizes, i, j) for i, j in priced]
    noisy, variances = purse.apart("pair table", counts, list(priced.values()))
    return tables.joined(dict(zip(priced, noisy, strict=True)), dict(zip(priced, variances, strict=True)))


def _is_open(pegs: PeGS, parents: Parents) -> bool:
    """Whether the design leaves it to us which pairs matter."""
    return pegs.design == "pairs" and parents.choose == "private" and not parents.how_many


def _pairs(
    pegs: PeGS,
    parents: Parents,
    codes: IntArray,
    shares: Sequence[FloatArray],
    total: float,
    by_rule: int,
    purse: Purse,
    choice: Budget,
) -> tuple[list[Pair], bool]:
    """The pairs to measure, and whether their choice cost the claim its proof."""
    sizes = [len(share) for share in shares]
    if parents.given is not None:
        return _as_pairs(parents.given), False
    if parents.choose == "mutual-information":
        return _as_pairs(by_mutual_information(codes, sizes, parents.how_many or 2)), True
    M = len(sizes)
    forced = M - 1 if pegs.design == "tree" else (parents.how_many or 0) * (M - 1)
    wanted = forced or by_rule
    if wanted >= len(all_pairs(M)):
        return [(i, j) for i, j in all_pairs(M) if sizes[i] * sizes[j] <= LARGEST], False
    return (choose_pairs(codes, shares, total, wanted, purse, choice) if wanted else []), False


def _as_pairs(parents: Mapping[int, tuple[int, ...]]) -> list[Pair]:
    return sorted({(min(i, j), max(i, j)) for i, found in parents.items() for j in found})
