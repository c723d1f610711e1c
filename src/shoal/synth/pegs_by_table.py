"""Data-set scope: noise once on all tables, then rows for ever.

The argument: every table counts each record once, so a set of T tables changes by 1 in T cells when a record is added
or removed; OpenDP prices that (a person with m rows: `shoal.dp.unit`). Choices of pairs or parents are noisy maxima
with scores of bounded sensitivity. What is bought later may depend on earlier answers, its price is fixed before
(see below). Prices add, and the sum is the stated ε (or ρ, converted to ε and δ). Everything after the noise is
post-processing.

Everything that the fit of a chain looks at: one-way tables, choice of pairs, tables of pairs; from one purse.

A small share of the budget (`spend.SHARES`) buys the one-way tables. Which pairs are measured is said by the
caller, or by the public rule `spend.n_pairs`: all, some that noisy maxima choose for a tenth of the budget, or
none. Pairs share what is left by their numbers of cells. Where the rule decides and the account is zCDP, that is done
with half of it; the other half then goes where a chain fitted to the noisy tables leaves most open, and both
measurements of a pair are averaged.

Only `Purse` sees counts, and every purchase is at a price that was set before, by public numbers and noisy tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.dp import Budget, ProtectedUnit
from shoal.synth.chain import Chain, fit_chain, unexplained
from shoal.synth.counts import Counts, Tabulated
from shoal.synth.parents import (
    LARGEST,
    Parents,
    Ties,
    all_pairs,
    by_mutual_information,
    choose_pairs,
    choose_parents,
    ties_found,
)
from shoal.synth.spend import SHARES, Purse, by_cells, by_gain, n_pairs
from shoal.synth.synthesizer import TableModel, assumptions, dp_claim, dp_statement, refuse_start
from shoal.synth.tables import NoisyTables, keys, mean_of_two

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = [
    "ChainModel",
    "ConditionalsModel",
    "fit_chain_model",
    "fit_conditionals",
    "measure",
    "table_claims",
]

Pair: TypeAlias = tuple[int, int]


class ChainModel(TableModel):
    """A chain of building blocks fitted to noisy tables (designs "pairs" and "tree")."""

    kind: ClassVar[str] = "chain"

    def __init__(self, *, chain: Chain, **rest: Any) -> None:
        super().__init__(total=chain.total, **rest)
        self.chain = chain

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        refuse_start(start)
        return self.chain.draw(n, rng)

    def _body(self) -> dict[str, Any]:
        return {"chain": self.chain.to_dict(), "ties": self._ties.to_dict()}

    @classmethod
    def from_body(cls, words: Mapping[str, Any], **rest: Any) -> ChainModel:
        """Read the model back from what `save` wrote."""
        return cls(chain=Chain.from_dict(words["chain"]), ties=Ties.from_dict(words), **rest)


class ConditionalsModel(TableModel):
    """Noisy building blocks, each column given its key, and Gibbs sampling (design "conditionals")."""

    kind: ClassVar[str] = "conditionals"

    def __init__(
        self,
        *,
        shares: Sequence[FloatArray],
        parents: Mapping[int, tuple[int, ...]],
        blocks: Sequence[FloatArray],
        passes: int,
        total: float,
        **rest: Any,
    ) -> None:
        super().__init__(total=total, **rest)
        self.shares, self.parents, self.blocks, self.passes = tuple(shares), dict(parents), tuple(blocks), passes
        self._cumulative = [np.cumsum(block, axis=1) for block in self.blocks]

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        sizes = self.domain.sizes
        Y = self._margins(n, rng) if start is None else start[rng.integers(0, len(start), n)].copy()
        Y = np.asfortranarray(Y)
        for _ in range(self.passes):
            for i in range(len(sizes)):
                cumulative = self._cumulative[i][keys(Y, sizes, self.parents[i])]
                u = rng.random(n)[:, None] * cumulative[:, -1:]
                Y[:, i] = np.minimum((cumulative <= u).sum(axis=1), sizes[i] - 1)
        return Y

    def _margins(self, n: int, rng: Generator) -> IntArray:
        """Starts that cost nothing: every column from its own noisy margin."""
        columns = [rng.choice(len(share), n, p=share) for share in self.shares]
        return np.column_stack(columns).astype(np.int64)

    def _body(self) -> dict[str, Any]:
        return {
            "passes": self.passes,
            "total": self.total,
            "shares": [[round(float(v), 9) for v in share] for share in self.shares],
            "parents": {str(i): list(found) for i, found in self.parents.items()},
            "blocks": [[[round(float(v), 7) for v in row] for row in block] for block in self.blocks],
        }

    @classmethod
    def from_body(cls, words: Mapping[str, Any], **rest: Any) -> ConditionalsModel:
        """Read the model back from what `save` wrote."""
        shares = [np.array(share, dtype=np.float64) for share in words["shares"]]
        return cls(
            shares=[share / share.sum() for share in shares],
            parents={int(i): tuple(found) for i, found in words["parents"].items()},
            blocks=[np.array(block, dtype=np.float64) for block in words["blocks"]],
            passes=words["passes"],
            total=words["total"],
            **rest,
        )


def fit_chain_model(
    pegs: PeGS, encoded: Tabulated, parents: Parents, purse: Purse, rng: Generator, unit: ProtectedUnit
) -> ChainModel:
    """Measure one-way tables and pairs, and build the chain."""
    measured, basis_lost = measure(pegs, encoded, parents, purse, rng)
    missing = [axis.missing_cell for axis in encoded.domain.axes]
    chain = fit_chain(measured, missing, rng, 1 if pegs.design == "tree" else None)
    note = f"{len(measured.pairs)} of {len(all_pairs(len(encoded.domain.axes)))} pairs of columns were measured"
    claims, spent = table_claims(pegs, unit, basis_lost)
    tied = [(link.column, parent) for link in chain.links for parent in link.parents]
    ties = ties_found(pegs, encoded.domain, measured.margins(missing), measured.one_variance, tied)
    return ChainModel(
        chain=chain,
        ties=ties,
        domain=encoded.domain,
        spent=spent,
        claims=claims,
        notes=(*ties.notes, *encoded.notes, note),
    )


def fit_conditionals(
    pegs: PeGS, encoded: Tabulated, parents: Parents, purse: Purse, rng: Generator, unit: ProtectedUnit
) -> ConditionalsModel:
    """Noise once on every cell of the M tables of a column given its key; clip, normalise."""
    sizes, counts = encoded.domain.sizes, encoded.counts
    first, choice, rest = purse.left.split([1, 2, 7])
    one, one_variance = purse.tables("one-way tables", counts.one_way(), first)
    missing = [axis.missing_cell for axis in encoded.domain.axes]
    alone = NoisyTables(one=tuple(one), one_variance=one_variance)
    shares, total = alone.margins(missing)
    how_many = min(parents.how_many or 1, len(sizes) - 1)
    if parents.given is not None:
        found, rest = dict(parents.given), rest + choice
    elif parents.choose == "mutual-information":
        found, rest = by_mutual_information(counts, how_many), rest + choice
    elif how_many == 0:
        found, rest = {0: ()}, rest + choice
    else:
        found = choose_parents(counts, how_many, purse, choice)
    exact = [counts.blocks(i, found[i]) for i in range(len(sizes))]
    noisy, _ = purse.tables("building blocks", exact, rest)
    blocks = [_normalised(table, share) for table, share in zip(noisy, shares, strict=True)]
    claims, spent = table_claims(pegs, unit, parents.choose == "mutual-information")
    return ConditionalsModel(
        shares=shares,
        parents=found,
        blocks=blocks,
        passes=pegs.passes or 5,
        total=total,
        domain=encoded.domain,
        spent=spent,
        claims=claims,
        notes=encoded.notes,
    )


def _normalised(table: IntArray, share: FloatArray) -> FloatArray:
    """Clip at 0; a cell whose margin is 0 stays 0; a block with nothing left takes the column's margin."""
    kept = np.maximum(table, 0) * (share > 0)
    sums = kept.sum(axis=1, keepdims=True)
    return np.where(sums > 0, kept / np.maximum(sums, 1), share[None, :])


def table_claims(pegs: PeGS, unit: ProtectedUnit, chosen_from_data: bool) -> tuple[tuple[Claim, ...], Budget]:
    """The one claim of a model of noisy tables, and what it cost."""
    budget = Budget(epsilon=pegs.epsilon, delta=pegs.delta or 0)
    statement = dp_statement(budget, 1, protected=unit.statement, chosen=chosen_from_data)
    more = []
    if isinstance(pegs.parents, Mapping):
        more.append("Parents were named from public knowledge.")
    if pegs.design == "conditionals":
        more.append("Start rows, if any were given, come from public knowledge, never from the data.")
    claim = dp_claim(
        budget,
        scope="per data set",
        basis="published" if chosen_from_data else "proved",
        statement=statement,
        given=assumptions(unit, *more),
    )
    return (claim,), budget


def measure(pegs: PeGS, encoded: Tabulated, parents: Parents, purse: Purse, rng: Generator) -> tuple[NoisyTables, bool]:
    """Measure one-way tables and pairs; the second value says whether the choice of pairs cost the claim its proof."""
    sizes, counts = encoded.domain.sizes, encoded.counts
    missing = [axis.missing_cell for axis in encoded.domain.axes]
    first, choice, _ = purse.left.split(SHARES[purse.left.definition])
    one, one_variance = purse.tables("one-way tables", counts.one_way(), first)
    alone = NoisyTables(one=tuple(one), one_variance=one_variance)
    shares, total = alone.margins(missing)
    by_rule = n_pairs(shares, total, math.sqrt(one_variance), purse.left)
    pairs, basis_lost = _pairs(pegs, parents, counts, shares, total, by_rule, purse, choice)
    if not pairs:
        return _margins_again(alone, counts, purse), basis_lost
    looks_twice = purse.left.definition == "zcdp" and len(pairs) > 1 and _is_open(pegs, parents)
    first_look, second_look = purse.left.split([1, int(looks_twice)])
    tables = _bought(alone, counts, purse, pairs, by_cells([sizes[i] * sizes[j] for i, j in pairs], first_look))
    if looks_twice:
        tables = _second_look(tables, counts, purse, unexplained(tables, missing, rng), second_look)
    return tables, basis_lost


def _margins_again(alone: NoisyTables, counts: Counts, purse: Purse) -> NoisyTables:
    """Without pairs, the rest of the budget goes to the margins."""
    again, w = purse.tables("one-way tables, once more", counts.one_way(), purse.left)
    v = alone.one_variance
    both = [mean_of_two(a, v, b, w) for a, b in zip(alone.one, again, strict=True)]
    return NoisyTables(one=tuple(mean for mean, _ in both), one_variance=both[0][1])


def _second_look(
    tables: NoisyTables, counts: Counts, purse: Purse, spread: Mapping[Pair, FloatArray], price: Budget
) -> NoisyTables:
    """Spend `price` where the first look leaves most open."""
    pairs = list(spread)
    prices = by_gain([spread[pair] for pair in pairs], [1 / tables.variance(*pair) for pair in pairs], price)
    return _bought(tables, counts, purse, pairs, prices)


def _bought(
    tables: NoisyTables, counts: Counts, purse: Purse, pairs: Sequence[Pair], prices: Sequence[Budget]
) -> NoisyTables:
    """`tables` with every pair that has a price measured (once more)."""
    priced = {pair: price for pair, price in zip(pairs, prices, strict=True) if not price.empty}
    exact = [counts.pair(i, j) for i, j in priced]
    noisy, variances = purse.apart("pair table", exact, list(priced.values()))
    return tables.joined(dict(zip(priced, noisy, strict=True)), dict(zip(priced, variances, strict=True)))


def _is_open(pegs: PeGS, parents: Parents) -> bool:
    """Whether the design leaves it to us which pairs matter."""
    return pegs.design == "pairs" and parents.choose == "private" and not parents.how_many


def _pairs(
    pegs: PeGS,
    parents: Parents,
    counts: Counts,
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
        return _as_pairs(by_mutual_information(counts, parents.how_many or 2)), True
    M = len(sizes)
    forced = M - 1 if pegs.design == "tree" else (parents.how_many or 0) * (M - 1)
    n_chosen = forced or by_rule
    if n_chosen >= len(all_pairs(M)):
        return [(i, j) for i, j in all_pairs(M) if sizes[i] * sizes[j] <= LARGEST], False
    return (choose_pairs(counts, shares, total, n_chosen, purse, choice) if n_chosen else []), False


def _as_pairs(parents: Mapping[int, tuple[int, ...]]) -> list[Pair]:
    return sorted({(min(i, j), max(i, j)) for i, found in parents.items() for j in found})
