"""Data-set scope: noise once on all tables, then rows for ever.

The argument: every table counts each record once, so a set of T tables changes by 1 in T cells when a record is added
or removed; OpenDP prices that (a person with m rows: `shoal.dp.unit`). Choices of pairs or parents are noisy maxima
with scores of bounded sensitivity. What is bought later may depend on earlier answers, its price is fixed before
(`measuring`). Prices add, and the sum is the stated ε (or ρ, converted to ε and δ). Everything after the noise is
post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.domain import Domain
from shoal.dp import Budget, ProtectedUnit
from shoal.errors import ParameterError
from shoal.synth.chain import Chain, fit_chain
from shoal.synth.claims import DATA_CHOSEN, assumptions, dp_claim
from shoal.synth.domain import Settled
from shoal.synth.margins import NoisyTables
from shoal.synth.measure import measure
from shoal.synth.parents import Parents, all_pairs, by_mutual_information, choose_parents
from shoal.synth.spend import Purse
from shoal.synth.synthesizer import Model
from shoal.synth.tables import block_counts, keys, one_way
from shoal.synth.ties import Ties, ties_found

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = ["ChainModel", "ConditionalsModel", "TableModel", "fit_chain_model", "fit_conditionals", "table_claims"]


class TableModel(Model):
    """What both designs share: a fixed claim for everything that is drawn."""

    def __init__(
        self,
        *,
        domain: Domain,
        spent: Budget,
        claims: Sequence[Claim],
        notes: Sequence[str],
        total: float,
        ties: Ties = Ties(),  # noqa: B008, a frozen value
    ) -> None:
        self.ties = ties
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
    def independent(self) -> bool:
        """Whether no tie between columns was found: rows are then drawn as if columns had nothing to do with it."""
        return self.ties.independent

    @property
    def epsilon_needed(self) -> float | None:
        """Where columns came out independent: about the ε at which ties could be told from noise."""
        return self.ties.epsilon_needed

    @property
    def total(self) -> int:
        """The noisy number of records."""
        return self._total


class ChainModel(TableModel):
    """A chain of building blocks fitted to noisy tables (designs "pairs" and "tree")."""

    kind: ClassVar[str] = "chain"

    def __init__(self, *, chain: Chain, **rest: Any) -> None:
        super().__init__(total=chain.total, **rest)
        self.chain = chain

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        if start is not None:
            raise ParameterError("sample", "start rows have no effect here: rows are drawn exactly", hint="Omit it.")
        return self.chain.draw(n, rng)

    def _body(self) -> dict[str, Any]:
        return {"chain": self.chain.to_dict(), "ties": self.ties.to_dict()}

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
    pegs: PeGS, settled: Settled, parents: Parents, purse: Purse, rng: Generator, unit: ProtectedUnit
) -> ChainModel:
    """Measure one-way tables and pairs, and build the chain."""
    measured, basis_lost = measure(pegs, settled, parents, purse, rng)
    can_miss = [axis.has_missing for axis in settled.domain.axes]
    chain = fit_chain(measured, can_miss, rng, 1 if pegs.design == "tree" else None)
    told = f"{len(measured.pairs)} of {len(all_pairs(len(settled.domain.axes)))} pairs of columns were measured"
    claims, spent = table_claims(pegs, unit, basis_lost)
    tied = sum(len(link.parents) for link in chain.links)
    ties = ties_found(pegs, measured.margins(can_miss), measured.one_variance, tied)
    return ChainModel(
        chain=chain,
        ties=ties,
        domain=settled.domain,
        spent=spent,
        claims=claims,
        notes=(*ties.notes, *settled.notes, told),
    )


def fit_conditionals(
    pegs: PeGS, settled: Settled, parents: Parents, purse: Purse, rng: Generator, unit: ProtectedUnit
) -> ConditionalsModel:
    """Noise once on every cell of the M tables of a column given its key; clip, normalise."""
    sizes, codes = settled.domain.sizes, settled.codes
    first, choice, rest = purse.left.split([1, 2, 7])
    one, one_variance = purse.tables("one-way tables", one_way(codes, sizes), first)
    can_miss = [axis.has_missing for axis in settled.domain.axes]
    alone = NoisyTables(one=tuple(one), one_variance=one_variance)
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
    claims, spent = table_claims(pegs, unit, parents.choose == "mutual-information")
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


def table_claims(pegs: PeGS, unit: ProtectedUnit, chosen_from_data: bool) -> tuple[tuple[Claim, ...], Budget]:
    """The one claim of a model of noisy tables, and what it cost."""
    budget = Budget(epsilon=pegs.epsilon, delta=pegs.delta or 0)
    statement = (
        f"All rows ever drawn from this model together cost {budget}: what is drawn is at most e^ε times likelier with "
        f"any one person than without{', but for probability δ' if pegs.delta else ''}. {unit.statement}"
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
        given=assumptions(unit, *more),
    )
    return (claim,), budget
