"""Data-set scope: noise once on all tables, then rows for ever.

The argument: every table counts each record once, so a set of T tables changes by 1 in T cells when a record is added
or removed; OpenDP prices that. Choices of pairs or parents are noisy maxima with scores of bounded sensitivity.
Prices add, and the sum is the stated ε (or ρ, converted to ε and δ). Everything after the noise is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.dp import Budget
from shoal.errors import ParameterError
from shoal.synth.chain import Chain, fit_chain
from shoal.synth.claims import DATA_CHOSEN, assumptions, dp_claim
from shoal.synth.domain import Domain, Settled
from shoal.synth.margins import NoisyTables
from shoal.synth.parents import LARGEST, Parents, all_pairs, by_mutual_information, choose_pairs, choose_parents
from shoal.synth.spend import Purse
from shoal.synth.synthesizer import Model
from shoal.synth.tables import block_counts, keys, one_way, pair_counts

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = ["ChainModel", "ConditionalsModel", "fit_chain_model", "fit_conditionals", "measure", "n_pairs"]

_QUIET = 0.002  # noise per cell, as a share of the records, up to which all pairs are measured
_LOUD = 0.004  # and up to which chosen pairs are
_MOST_CELLS = 500_000


class _TableModel(Model):
    """What both designs share: a fixed claim for everything that is drawn."""

    def __init__(
        self, *, domain: Domain, spent: Budget, claims: Sequence[Claim], notes: Sequence[str], total: float
    ) -> None:
        self.domain, self._spent, self._claims = domain, spent, tuple(claims)
        self.notes, self._total = tuple(notes), max(1, round(total))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The one claim, for all rows that will ever be drawn."""
        return self._claims

    @property
    def spent(self) -> Budget:
        """What the fit cost; rows are free."""
        return self._spent

    @property
    def releasable(self) -> bool:
        """True unless the data chose the parents: the model holds noisy tables only."""
        return all(claim.basis == "proved" for claim in self._claims)

    @property
    def total(self) -> int:
        """The noisy number of records."""
        return self._total


class ChainModel(_TableModel):
    """A chain of building blocks fitted to noisy tables (designs "pairs" and "tree")."""

    kind: ClassVar[str] = "chain"

    def __init__(self, *, chain: Chain, **rest: Any) -> None:
        super().__init__(total=chain.total, **rest)
        self.chain = chain

    def _draw(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        if start is not None:
            raise ParameterError(
                "sample", "start rows are of no use here: rows are drawn exactly", hint="Leave it out."
            )
        return self.chain.draw(n, rng)

    def _body(self) -> dict[str, Any]:
        return {"chain": self.chain.to_dict()}

    @classmethod
    def from_body(cls, words: Mapping[str, Any], **rest: Any) -> ChainModel:
        """Read the model back from what `save` wrote."""
        return cls(chain=Chain.from_dict(words["chain"]), **rest)


class ConditionalsModel(_TableModel):
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

    def _draw(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
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
    pegs: PeGS, settled: Settled, parents: Parents, purse: Purse, rng: Generator, several: bool
) -> ChainModel:
    """Measure one-way tables and pairs, and build the chain."""
    measured, basis_lost = measure(pegs, settled, parents, purse)
    can_miss = [axis.has_missing for axis in settled.domain.axes]
    chain = fit_chain(measured, can_miss, rng, 1 if pegs.design == "tree" else None)
    told = f"{len(measured.pairs)} of {len(all_pairs(len(settled.domain.axes)))} pairs of columns were measured"
    claims, spent = _claims(pegs, several, basis_lost)
    return ChainModel(chain=chain, domain=settled.domain, spent=spent, claims=claims, notes=(*settled.notes, told))


def measure(pegs: PeGS, settled: Settled, parents: Parents, purse: Purse) -> tuple[NoisyTables, bool]:
    """Everything that looks at the data: one-way tables, the choice of pairs, pair tables; all paid from the purse.

    The second value says whether the choice of pairs cost the claim its proof.
    """
    sizes, codes = settled.domain.sizes, settled.codes
    first, choice, rest = purse.left.split([1, 2, 7])
    one, one_variance = purse.tables("one-way tables", one_way(codes, sizes), first)
    alone = NoisyTables(one=tuple(one), one_variance=one_variance, pairs={}, pair_variance=1.0)
    shares, total = alone.margins([axis.has_missing for axis in settled.domain.axes])
    pairs, basis_lost = _pairs(pegs, parents, codes, shares, total, purse, choice)
    if not any(purchase.what.startswith("choice") for purchase in purse.bought):
        rest = rest + choice
    if not pairs:
        again, variance = purse.tables("one-way tables, once more", one_way(codes, sizes), rest)
        return _joined(one, one_variance, again, variance), basis_lost
    noisy, variance = purse.tables("pair tables", [pair_counts(codes, sizes, i, j) for i, j in pairs], rest)
    tables = dict(zip(pairs, noisy, strict=True))
    return NoisyTables(one=tuple(one), one_variance=one_variance, pairs=tables, pair_variance=variance), basis_lost


def _joined(one: Sequence[IntArray], v: float, again: Sequence[IntArray], w: float) -> NoisyTables:
    """Two measurements of the same margins, weighted by 1/variance."""
    joint = 1 / (1 / v + 1 / w)
    means = tuple((a / v + b / w) * joint for a, b in zip(one, again, strict=True))
    return NoisyTables(one=means, one_variance=joint, pairs={}, pair_variance=1.0)


def n_pairs(sizes: Sequence[int], total: float, budget: Budget) -> int:
    """The public rule: how many pairs to measure with `budget`, the noisy number of records being `total`.

    All of them if there are not too many cells and the noise of a cell is small against the records; else two for each
    column, or one (a tree), or none (margins only), as the noise allows.
    """
    M = len(sizes)
    most = M * (M - 1) // 2
    cells = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) / 2
    if cells <= _MOST_CELLS and _spread(most, budget) <= _QUIET * total:
        return most
    chosen = budget * Fraction(7, 9)
    for wanted in (2 * (M - 1), M - 1):
        if _spread(wanted, chosen) <= _LOUD * total:
            return min(wanted, most)
    return 0


def _spread(n_tables: int, budget: Budget) -> float:
    """Standard deviation of the noise of a cell if `n_tables` tables are bought with `budget`."""
    if budget.definition == "zcdp":
        return math.sqrt(n_tables / (2 * budget.rho)) if budget.rho else math.inf
    return math.sqrt(2) * n_tables / budget.epsilon


def _pairs(
    pegs: PeGS,
    parents: Parents,
    codes: IntArray,
    shares: Sequence[FloatArray],
    total: float,
    purse: Purse,
    choice: Budget,
) -> tuple[list[tuple[int, int]], bool]:
    """The pairs to measure, and whether their choice cost the claim its proof."""
    sizes = [len(share) for share in shares]
    if parents.given is not None:
        return _as_pairs(parents.given), False
    if parents.choose == "mutual-information":
        return _as_pairs(by_mutual_information(codes, sizes, parents.how_many or 2)), True
    M = len(sizes)
    forced = M - 1 if pegs.design == "tree" else (parents.how_many or 0) * (M - 1)
    wanted = forced or n_pairs(sizes, total, purse.left)
    if wanted >= len(all_pairs(M)):
        return [(i, j) for i, j in all_pairs(M) if sizes[i] * sizes[j] <= LARGEST], False
    return (choose_pairs(codes, shares, total, wanted, purse, choice) if wanted else []), False


def _as_pairs(parents: Mapping[int, tuple[int, ...]]) -> list[tuple[int, int]]:
    return sorted({(min(i, j), max(i, j)) for i, found in parents.items() for j in found})


def fit_conditionals(
    pegs: PeGS, settled: Settled, parents: Parents, purse: Purse, rng: Generator, several: bool
) -> ConditionalsModel:
    """Noise once on every cell of the M tables of a column given its key; clip, normalise."""
    sizes, codes = settled.domain.sizes, settled.codes
    first, choice, rest = purse.left.split([1, 2, 7])
    one, one_variance = purse.tables("one-way tables", one_way(codes, sizes), first)
    can_miss = [axis.has_missing for axis in settled.domain.axes]
    alone = NoisyTables(one=tuple(one), one_variance=one_variance, pairs={}, pair_variance=1.0)
    shares, total = alone.margins(can_miss)
    how_many = min(parents.how_many or 1, len(sizes) - 1)
    if parents.given is not None:
        found, rest = dict(parents.given), rest + choice
    elif parents.choose == "mutual-information":
        found, rest = by_mutual_information(codes, sizes, how_many), rest + choice
    elif how_many == 0:
        found, rest = {0: ()}, rest + choice
    else:
        found = choose_parents(codes, sizes, how_many, purse, choice)
    counts = [block_counts(codes, sizes, i, found[i]) for i in range(len(sizes))]
    noisy, _ = purse.tables("building blocks", counts, rest)
    blocks = [_normalised(table, share) for table, share in zip(noisy, shares, strict=True)]
    claims, spent = _claims(pegs, several, parents.choose == "mutual-information")
    return ConditionalsModel(
        shares=shares,
        parents=found,
        blocks=blocks,
        passes=pegs.passes or 5,
        total=total,
        domain=settled.domain,
        spent=spent,
        claims=claims,
        notes=settled.notes,
    )


def _normalised(table: IntArray, share: FloatArray) -> FloatArray:
    """Clip at 0; a cell whose margin is 0 stays 0; a block with nothing left takes the column's margin."""
    kept = np.maximum(table, 0) * (share > 0)
    sums = kept.sum(axis=1, keepdims=True)
    return np.where(sums > 0, kept / np.maximum(sums, 1), share[None, :])


def _claims(pegs: PeGS, several: bool, chosen_from_data: bool) -> tuple[tuple[Claim, ...], Budget]:
    budget = Budget(epsilon=pegs.epsilon, delta=pegs.delta or 0)
    statement = (
        f"All rows ever drawn from this model together cost {budget}: what is drawn is at most e^ε times likelier with "
        "any one record than without it" + (", but for probability δ." if pegs.delta else ".")
    )
    if chosen_from_data:
        statement = f"{statement} {DATA_CHOSEN}"
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
        given=assumptions(several_rows=several, more=more),
    )
    return (claim,), budget
