"""PeGS by row, as published: the draw is the protection, and every row has a price.

From a start row, each column in turn is drawn from its building block with α virtual records on every cell:

    Pr(x_i = j | h) = (n_ij + α) / (N_h + C_i α).                                                            (3.6)

Adding a record changes one block of each column by one count, so one draw of one column changes in probability by a
factor of at most 1 + 1/α in either direction, and a row of M draws by (1 + 1/α)^M = e^ε for α = 1 / (exp(ε/M) − 1).
This needs parents, domain and start that don't depend on the data. With *reset*, a block that was visited is uniform
from then on in that block of rows: the record's M blocks are each looked at once, so the whole block of rows costs ε.

Draws use whole-number weights and the operating system's entropy. With a seed they can be repeated, and the claim goes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import Generator, IntArray
from shoal.claim import Claim
from shoal.domain import Domain
from shoal.dp import Budget, ProtectedUnit
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.synth.claims import DATA_CHOSEN, assumptions, dp_claim
from shoal.synth.constraints import satisfying
from shoal.synth.diversity import check_diversity, diverse_blocks
from shoal.synth.exact import GRAIN, below, check_weights, pick_cell, virtual_records
from shoal.synth.parents import Parents, by_mutual_information, choose_parents
from shoal.synth.spend import Purse
from shoal.synth.synthesizer import Model, Price
from shoal.synth.tables import block_counts, keys

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = ["RowModel", "fit_by_row", "row_price", "uniform_starts"]

_VISITS = 40_000_000  # cells of the map of visited blocks that are held at once


def row_price(pegs: PeGS, rows: int | None) -> Price:
    """What PeGS by row costs."""
    if pegs.diversity is not None:
        words = "l-diversity has no price in ε: nothing is promised about differential privacy."
        return Price(per_row=None, per_block=None, per_data_set=None, shares={}, words=words)
    one = Budget(epsilon=pegs.epsilon)
    choice = one if _pays_for_choice(pegs) else one * 0
    B = pegs.block or 1
    bill = None if rows is None else one * math.ceil(rows / B) + choice
    words = f"Each {'row' if B == 1 else f'block of {B} rows'} costs {one}"
    words += f"; the private choice of parents costs {choice} once" if not choice.empty else ""
    words += f"; {rows:,} rows cost {bill} for the data set." if rows is not None else "; n rows cost n times that."
    shares = {"choice of parents": choice} if not choice.empty else {}
    per_block = one if pegs.block else None
    return Price(per_row=one * _inverse(B), per_block=per_block, per_data_set=bill, shares=shares, words=words)


def _inverse(B: int) -> Any:
    from fractions import Fraction

    return Fraction(1, B)


def _pays_for_choice(pegs: PeGS) -> bool:
    return pegs.choose == "private" and not isinstance(pegs.parents, Mapping) and pegs.diversity is None


def fit_by_row(pegs: PeGS, table: Any, schema: Schema, account: Any, rng: Generator) -> RowModel:
    """Count the building blocks; pay for the choice of parents if it is private."""
    from shoal.synth.pegs import can_pay, charge

    price = Budget(epsilon=pegs.epsilon)
    pays = _pays_for_choice(pegs)
    if pays:
        can_pay(account, price)
    settled = pegs._settled(table, schema, rng, public=pegs.diversity is None)
    if pegs.diversity is not None:
        check_diversity(settled.domain, pegs.diversity)
    parents = Parents.of(pegs, settled.domain)
    sizes, codes = settled.domain.sizes, settled.codes
    if pegs.diversity is None:
        check_weights("PeGS", pegs.epsilon, len(sizes) * (pegs.passes or 1) * pegs.rows_per_person, sizes)
    how_many = min(parents.how_many or (1 if pegs.epsilon < 10 else 2), len(sizes) - 1)
    if parents.given is not None:
        found = dict(parents.given)
    elif pays and how_many:
        charge(account, price, "PeGS by row: private choice of parents")
        per_row = pegs.unit(schema).per_row(price)
        found = choose_parents(codes, sizes, how_many, Purse(left=per_row), per_row)
    else:
        found = by_mutual_information(codes, sizes, how_many)
    return RowModel(
        domain=settled.domain,
        counts=[block_counts(codes, sizes, i, found[i]) for i in range(len(sizes))],
        parents=found,
        pegs=pegs,
        held=schema.unit is not None,
        notes=settled.notes,
        account=account,
        chosen=price if pays and how_many else None,
    )


class RowModel(Model):
    """Exact building blocks, kept inside, and perturbed draws from them."""

    kind: ClassVar[str] = "rows"
    rows_are_free: ClassVar[bool] = False

    def __init__(
        self,
        *,
        domain: Domain,
        counts: Sequence[IntArray],
        parents: Mapping[int, tuple[int, ...]],
        pegs: PeGS,
        held: bool,
        notes: Sequence[str],
        account: Any,
        chosen: Budget | None,
        priced_units: int = 0,
        seeded: bool = False,
    ) -> None:
        self.domain, self.parents, self.pegs = domain, dict(parents), pegs
        self.notes, self.account = tuple(notes), account
        self._unit = ProtectedUnit(rows=pegs.rows_per_person, held=held)
        self.counts, self._chosen, self._units, self._seeded = tuple(counts), chosen, priced_units, seeded
        self._weights = self._cumulated()

    @property
    def alpha(self) -> float | None:
        """α, the virtual records on every cell; None under l-diversity, where each block has its own."""
        return None if self.pegs.diversity is not None else self._grains / GRAIN

    @property
    def _grains(self) -> int:
        """With reset, a record's M blocks are each looked at once, however many passes there are.

        A person's m records are m steps, each of which must cost a draw no more than an m-th of its share of ε.
        """
        times = 1 if self.pegs.block is not None else self._passes
        return virtual_records(self.pegs.epsilon, len(self.counts) * times * self._unit.rows)

    @property
    def _passes(self) -> int:
        return self.pegs.passes or 1

    def _cumulated(self) -> list[IntArray]:
        """Cumulative whole-number weights of every block."""
        if self.pegs.diversity is not None:
            return [np.cumsum(diverse_blocks(table, self.pegs.diversity), axis=1) for table in self.counts]
        return [np.cumsum(table * GRAIN + self._grains, axis=1) for table in self.counts]

    @property
    def spent(self) -> Budget | None:
        """Choice of parents plus all rows or blocks drawn so far; None under l-diversity."""
        if self.pegs.diversity is not None:
            return None
        one = Budget(epsilon=self.pegs.epsilon)
        return one * self._units + (self._chosen or one * 0)

    @property
    def releasable(self) -> bool:
        """False: the blocks are exact counts."""
        return False

    @property
    def total(self) -> None:
        """Not told: it would be exact."""
        return

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Per row, per block and per data set so far; without the ε claims once a seed was used."""
        if self.pegs.diversity is not None:
            return (_diversity_claim(self.pegs.diversity),)
        if self._seeded:
            return ()
        return self._dp_claims()

    def _dp_claims(self) -> tuple[Claim, ...]:
        one = Budget(epsilon=self.pegs.epsilon)
        B = self.pegs.block
        basis = "published" if self._from_data else "proved"
        tail = f" {DATA_CHOSEN}" if self._from_data else ""
        start = "Start rows come from public knowledge or from the whole domain at random, never from the data."
        given = assumptions(self._unit, start)
        tail = f" {self._unit.statement}{tail}"
        unit = "row" if B is None else f"block of {B} rows drawn from one start with reset"
        claims = [
            dp_claim(
                one,
                scope="per row" if B is None else "per block",
                basis=basis,  # type: ignore[arg-type]
                statement=f"Each single {unit} costs {one}. Rows add up: this is not a promise about the file.{tail}",
                given=given,
            )
        ]
        if self._units and self.spent is not None:
            rows = f"{self._units:,} {'rows' if B is None else 'blocks'}"
            statement = f"The {rows} drawn so far together cost {self.spent} for the data set.{tail}"
            claims.append(
                dp_claim(self.spent, scope="per data set", basis=basis, statement=statement, given=given)  # type: ignore[arg-type]
            )
        return tuple(claims)

    @property
    def _from_data(self) -> bool:
        return self.pegs.choose == "mutual-information" and not isinstance(self.pegs.parents, Mapping)

    def _sample(self, n: int, start: IntArray | None, seed: int | None) -> pl.DataFrame:
        units = math.ceil(n / (self.pegs.block or 1))
        if self.pegs.diversity is None:
            self._charge(units)
        self._seeded |= seed is not None
        rng = stream(fresh_seed() if seed is None else seed, "synth", "sample")
        exact = None if seed is None else rng
        drawn = satisfying(self.domain, lambda m: self._walk(m, start, rng, exact), n, rng, rows_are_free=False)
        self._units += units
        return drawn

    def _charge(self, units: int) -> None:
        from shoal.synth.pegs import charge

        what = "rows" if self.pegs.block is None else "blocks"
        charge(self.account, Budget(epsilon=self.pegs.epsilon) * units, f"PeGS by row: {units:,} {what}")

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        return self._walk(n, start, rng, None)

    def _walk(self, n: int, start: IntArray | None, rng: Generator, exact: Generator | None) -> IntArray:
        B = self.pegs.block
        if B is None:
            return self._pass_over(uniform_starts(self.domain, n, start, rng), exact)
        held = max(1, _VISITS // sum(len(table) for table in self.counts))
        left, out = math.ceil(n / B), []
        while left:
            blocks = min(held, left)
            out.append(self._reset_walk(uniform_starts(self.domain, blocks, start, rng), B, exact))
            left -= blocks
        return np.asfortranarray(np.concatenate(out)[:n])

    def _pass_over(self, Y: IntArray, exact: Generator | None) -> IntArray:
        for _ in range(self._passes):
            for i, weights in enumerate(self._weights):
                cumulative = weights[keys(Y, self.domain.sizes, self.parents[i])]
                Y[:, i] = pick_cell(cumulative, below(cumulative[:, -1], exact))
        return Y

    def _reset_walk(self, Y: IntArray, B: int, exact: Generator | None) -> IntArray:
        """Blocks side by side, one row of each at a time; what a block has visited is uniform from then on."""
        visited = [np.zeros((len(Y), len(table)), dtype=np.bool_) for table in self.counts]
        lines, out = np.arange(len(Y)), np.empty((len(Y), B, Y.shape[1]), dtype=np.int64)
        for b in range(B):
            for _ in range(self._passes):
                for i, weights in enumerate(self._weights):
                    key = keys(Y, self.domain.sizes, self.parents[i])
                    seen = visited[i][lines, key]
                    cumulative = weights[key]
                    drawn = below(np.where(seen, cumulative.shape[1], cumulative[:, -1]), exact)
                    Y[:, i] = np.where(seen, drawn, pick_cell(cumulative, drawn))
                    visited[i][lines, key] = True
            out[:, b] = Y
        return out.reshape(-1, Y.shape[1])

    def _body(self) -> dict[str, Any]:
        from shoal.params import to_dict

        words = to_dict(self.pegs) | {"parents": "none"}
        return {
            "warning": "internal: holds exact counts of the data",
            "parameters": words,
            "from_data": self._from_data,
            "parents": {str(i): list(found) for i, found in self.parents.items()},
            "counts": [table.tolist() for table in self.counts],
            "chosen": None if self._chosen is None else self._chosen.to_dict(),
            "units": self._units,
            "seeded": self._seeded,
            "held": self._unit.held,
        }

    @classmethod
    def from_body(cls, words: Mapping[str, Any], **rest: Any) -> RowModel:
        """Read the model back from what `save` wrote; an account is not saved with it."""
        from shoal.params import build
        from shoal.synth.pegs import PeGS

        given = {name: value for name, value in words["parameters"].items() if name != "parents"}
        choose = "mutual-information" if words["from_data"] else "private"
        chosen = words["chosen"]
        return cls(
            domain=rest["domain"],
            counts=[np.array(table, dtype=np.int64) for table in words["counts"]],
            parents={int(i): tuple(found) for i, found in words["parents"].items()},
            pegs=build(PeGS, {**given, "choose": choose}),
            held=words["held"],
            notes=rest["notes"],
            account=None,
            chosen=None if chosen is None else Budget.from_dict(chosen),
            priced_units=words["units"],
            seeded=words["seeded"],
        )


def uniform_starts(domain: Domain, n: int, start: IntArray | None, rng: Generator) -> IntArray:
    """Start rows: drawn from the public ones given, or uniformly from the domain."""
    rows = domain.uniform(n, rng) if start is None else start[rng.integers(0, len(start), n)]
    return np.asfortranarray(rows.copy())


def _diversity_claim(l: float) -> Claim:  # noqa: E741
    return Claim(
        kind="l-diversity",
        value=float(l),
        scope="per building block",
        basis="proved",
        statement=(
            f"Every distribution that a value is drawn from has entropy of at least log {l:g}: given the columns "
            f"of its key, "
            f"no value is surer than an even choice of {l:g}, in the sense of entropy. Nothing is promised about "
            "differential privacy."
        ),
        assumptions=("Entropy is that of the perturbed conditional distribution, not of the synthetic rows.",),
    )
