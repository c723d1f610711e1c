"""PeGS by row, as published: the draw is the protection, and every row has a price.

From a start row, each column in turn is drawn from its building block with α virtual records on every cell:

    Pr(x_i = j | h) = (n_ij + α) / (N_h + C_i α).                                                            (3.6)

Adding a record changes one block of each column by one count, so one draw of one column changes in probability by a
factor of at most 1 + 1/α in either direction, and a row of M draws by (1 + 1/α)^M = e^ε for α = 1 / (exp(ε/M) − 1).
This needs parents, domain and start that don't depend on the data. With *reset*, a block that was visited is uniform
from then on in that block of rows: the record's M blocks are each looked at once, so the whole block of rows costs ε.

Draws use whole-number weights and the operating system's entropy. With a seed they can be repeated, and the claim goes.

*Smoothing*: virtual records need not be spread evenly, as long as no cell has fewer than α of them where it matters.

- ``"margin"``: α_j = α max(1, C_i π_j) with π noisy margins that were paid for. As α_j ≥ α, a draw's ratio is at most
  1 + 1/α; with the paper's α_j ∝ π_j a rare level would have less than α, and no ε of this size would hold.
- ``"maximum-entropy"``: max(n_ij, α) in place of n_ij + α: virtual records fill the lowest cells first, which of all
  ways to spend them gives the largest entropy. One record more changes max(n, α) by a factor of at most 1 + 1/α, and
  the sum, which is at least C_i α, by at most one record.
- ``"neighbours"``: in an ordered column a record counts as half a record of its own level and a quarter of each
  neighbour (at an end the rest stays). It is still one record in one block, of which no cell gets more than one, so a
  draw's ratio is at most 1 + 1/α as before.

After a reset, what is left of a block is its virtual records.

l-diverse building blocks: the smallest α in each block whose perturbed distribution has entropy of at least log l.

    H(α) = − Σ_j p_j log p_j,    p_j = (n_j + α) / (N + C α).

H grows with α from the entropy of the counts to log C. So α = 0 where the counts already reach log l, else the root of
H(α) = log l; an empty block, and l = C, give the uniform distribution; l > C is impossible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.claim_wording import statement
from shoal.domain import Domain
from shoal.dp import Budget, ProtectedUnit
from shoal.errors import ParameterError
from shoal.params import build, to_dict
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.synth.counts import Counts
from shoal.synth.exact_draws import GRAIN, ModelByRow, below, check_weights, pick_cell, uniform_starts, virtual_records
from shoal.synth.hashing import MinHash
from shoal.synth.parents import Parents, by_mutual_information, choose_parents
from shoal.synth.spend import Purse, can_pay, charge
from shoal.synth.synthesizer import Price, assumptions, dp_claim, dp_statement
from shoal.synth.tables import NoisyTables, block_counts, check_blocks, counts_by_key, keys, one_way

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = [
    "RowModel",
    "diverse_blocks",
    "diverse_probabilities",
    "entropy",
    "fit_by_row",
    "row_price",
    "shared_with_neighbours",
]

_ONCE = {"choice of parents": "the private choice of parents costs", "margins": "noisy margins cost"}
_VISITS = 40_000_000  # cells of the map of visited blocks that are held at once
_STEPS = 200
_GRAINS = 1 << 40


def row_price(pegs: PeGS, rows: int | None) -> Price:
    """What PeGS by row costs."""
    if pegs.diversity is not None:
        words = "l-diversity has no price in ε: nothing is promised about differential privacy."
        return Price(per_row=None, per_block=None, per_data_set=None, shares={}, words=words)
    one = Budget(epsilon=pegs.epsilon)
    shares = dict.fromkeys(_bought_once(pegs), one)
    B = pegs.block or 1
    bill = None if rows is None else one * (math.ceil(rows / B) + len(shares))
    words = f"Each {'row' if B == 1 else f'block of {B} rows'} costs {one}"
    words += "".join(f"; {_ONCE[what]} {one} once" for what in shares)
    words += f"; {rows:,} rows cost {bill} for the data set." if rows is not None else "; n rows cost n times that."
    per_block = one if pegs.block else None
    return Price(per_row=one * Fraction(1, B), per_block=per_block, per_data_set=bill, shares=shares, words=words)


def _bought_once(pegs: PeGS) -> list[str]:
    """What is paid for when the model is fitted, each at the price of a row."""
    chooses = pegs.choose == "private" and not isinstance(pegs.parents, Mapping) and pegs.diversity is None
    return [what for what, bought in zip(_ONCE, (chooses, pegs.smoothing == "margin"), strict=True) if bought]


def fit_by_row(pegs: PeGS, table: Any, schema: Schema, account: Any, rng: Generator) -> RowModel:
    """Count the building blocks; pay for the choice of parents if it is private."""
    once = Budget(epsilon=pegs.epsilon) * len(_bought_once(pegs))
    can_pay(account, once)
    encoded = pegs._encoded(table, schema, rng, public=pegs.diversity is None)
    if pegs.diversity is not None:
        _check_diversity(encoded.domain, pegs.diversity)
    parents = Parents.of(pegs, encoded.domain)
    sizes, codes = encoded.domain.sizes, encoded.codes
    if pegs.diversity is None:
        most = [2 * size for size in sizes]  # virtual records by margins are at most twice as many
        check_weights("PeGS", pegs.epsilon, len(sizes) * (pegs.passes or 1) * pegs.rows_per_person, most)
    hashing = _hashing(pegs, sizes, rng)
    if not once.empty:
        charge(account, once, f"PeGS by row: {' and '.join(_bought_once(pegs))}")
    purse = Purse(left=pegs.unit(schema).per_row(once))
    found = _found_parents(pegs, parents, encoded.counts, purse)
    return RowModel(
        domain=encoded.domain,
        counts=[_blocks(codes, sizes, i, found[i], hashing) for i in range(len(sizes))],
        parents=found,
        pegs=pegs,
        held=schema.counts_persons,
        notes=encoded.notes,
        account=account,
        chosen=None if once.empty else once,
        hashing=hashing,
        margins=_noisy_margins(codes, encoded.domain, purse) if pegs.smoothing == "margin" else None,
    )


def _hashing(pegs: PeGS, sizes: Sequence[int], rng: Generator) -> MinHash | None:
    if pegs.choose != "min-hash" or len(sizes) < 2:
        return None
    made = MinHash.draw(sizes, pegs.parents if isinstance(pegs.parents, int) else 1, rng)
    check_blocks(made.n_keys, max(sizes))
    return made


def _blocks(codes: IntArray, sizes: Sequence[int], i: int, parents: Sequence[int], hashing: MinHash | None) -> IntArray:
    if hashing is None:
        return block_counts(codes, sizes, i, parents)
    return counts_by_key(hashing.keys(codes, i), hashing.n_keys, codes[:, i], sizes[i])


def _found_parents(pegs: PeGS, parents: Parents, counts: Counts, purse: Purse) -> dict[int, tuple[int, ...]]:
    sizes = counts.sizes
    how_many = min(parents.how_many or (1 if pegs.epsilon < 10 else 2), len(sizes) - 1)
    if parents.given is not None:
        return dict(parents.given)
    if pegs.choose == "min-hash" or not how_many:
        return dict.fromkeys(range(len(sizes)), ())
    if "choice of parents" in _bought_once(pegs):
        return choose_parents(counts, how_many, purse, purse.left * Fraction(1, len(_bought_once(pegs))))
    return by_mutual_information(counts, how_many)


def _noisy_margins(codes: IntArray, domain: Domain, purse: Purse) -> list[FloatArray]:
    noisy, variance = purse.tables("margins", one_way(codes, domain.sizes), purse.left)
    shares, _ = NoisyTables(one=tuple(noisy), one_variance=variance).margins([None] * len(domain.axes))
    return shares


class RowModel(ModelByRow):
    """Exact building blocks, kept inside, and perturbed draws from them."""

    kind: ClassVar[str] = "rows"

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
        hashing: MinHash | None = None,
        margins: Sequence[FloatArray] | None = None,
        priced_units: int = 0,
        seeded: bool = False,
    ) -> None:
        self.domain, self.parents, self.pegs = domain, dict(parents), pegs
        self.notes, self.account = tuple(notes), account
        self._unit = ProtectedUnit(rows=pegs.rows_per_person, held=held)
        self.counts, self._chosen, self._units, self._seeded = tuple(counts), chosen, priced_units, seeded
        self.hashing, self.margins = hashing, margins
        self._weights = self._cumulated()

    @property
    def alpha(self) -> float | None:
        """α, the fewest virtual records on a cell; None under l-diversity, where each block has its own."""
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
        both = [(self._records(i), self._prior(i)) for i in range(len(self.counts))]
        if self.pegs.smoothing == "maximum-entropy":
            return [np.cumsum(np.maximum(n, alpha), axis=1) for n, alpha in both]
        return [np.cumsum(n + alpha, axis=1) for n, alpha in both]

    def _records(self, i: int) -> IntArray:
        """The records in each cell of the blocks of column i, in grains."""
        if self.pegs.smoothing == "neighbours":
            return self.counts[i] @ shared_with_neighbours(self.domain.sizes[i], self.domain.axes[i].n_ordered)
        return self.counts[i] * GRAIN

    def _prior(self, i: int) -> IntArray:
        """The virtual records of each cell of column i, in grains."""
        C = self.domain.sizes[i]
        if self.margins is None:
            return np.full(C, self._grains, dtype=np.int64)
        times = np.maximum(1.0, C * self.margins[i])
        return np.asarray(np.ceil(self._grains * times), dtype=np.int64)

    def _key(self, Y: IntArray, i: int) -> IntArray:
        if self.hashing is not None:
            return self.hashing.keys(Y, i)
        return keys(Y, self.domain.sizes, self.parents[i])

    @property
    def spent(self) -> Budget | None:
        """Choice of parents plus all rows or blocks drawn so far; None under l-diversity."""
        if self.pegs.diversity is not None:
            return None
        one = Budget(epsilon=self.pegs.epsilon)
        return one * self._units + (self._chosen or one * 0)

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
        said: dict[str, Any] = {"protected": self._unit.statement, "chosen": self._from_data}
        start = "Start rows come from public knowledge or from the whole domain at random, never from the data."
        given = assumptions(self._unit, start)
        unit = "row" if B is None else f"block of {B} rows drawn from one start with reset"
        claims = [
            dp_claim(
                one,
                scope="per row" if B is None else "per block",
                basis=basis,  # type: ignore[arg-type]
                statement=dp_statement(one, 2, single=unit, **said),
                given=given,
            )
        ]
        if self._units and self.spent is not None:
            rows = f"{self._units:,} {'rows' if B is None else 'blocks'}"
            statement = dp_statement(self.spent, 4, rows=rows, **said)
            claims.append(
                dp_claim(self.spent, scope="per data set", basis=basis, statement=statement, given=given)  # type: ignore[arg-type]
            )
        return tuple(claims)

    @property
    def _from_data(self) -> bool:
        return self.pegs.choose == "mutual-information" and not isinstance(self.pegs.parents, Mapping)

    def _charge(self, n: int) -> int:
        units = math.ceil(n / (self.pegs.block or 1))
        what = "rows" if self.pegs.block is None else "blocks"
        if self.pegs.diversity is None:
            charge(self.account, Budget(epsilon=self.pegs.epsilon) * units, f"PeGS by row: {units:,} {what}")
        return units

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
                cumulative = weights[self._key(Y, i)]
                Y[:, i] = pick_cell(cumulative, below(cumulative[:, -1], exact))
        return Y

    def _reset_walk(self, Y: IntArray, B: int, exact: Generator | None) -> IntArray:
        """Blocks side by side, one row of each at a time; what a block has visited holds virtual records only."""
        visited = [np.zeros((len(Y), len(table)), dtype=np.bool_) for table in self.counts]
        reset = [np.cumsum(self._prior(i)) for i in range(len(self.counts))]
        lines, out = np.arange(len(Y)), np.empty((len(Y), B, Y.shape[1]), dtype=np.int64)
        for b in range(B):
            for _ in range(self._passes):
                for i, weights in enumerate(self._weights):
                    key = self._key(Y, i)
                    cumulative = np.where(visited[i][lines, key][:, None], reset[i], weights[key])
                    Y[:, i] = pick_cell(cumulative, below(cumulative[:, -1], exact))
                    visited[i][lines, key] = True
            out[:, b] = Y
        return out.reshape(-1, Y.shape[1])

    def trace(self, start: Any = None, seed: int | None = None) -> pl.DataFrame:
        """How one row comes about (table 3.3): the start, and the row after each draw; a number is its bin's middle.

        It costs what a row costs and no more: each line is made of the start, which is public, and of the last line.
        Rules of the schema are not applied.
        """
        rng = stream(fresh_seed() if seed is None else seed, "synth", "trace")
        self._units += self._charge(1)
        self._seeded |= seed is not None
        codes = None if start is None else self.domain.encode(start, "start rows")
        Y = uniform_starts(self.domain, 1, codes, rng)
        lines, steps = [Y.copy()], ["start"]
        for _ in range(self._passes):
            for i, weights in enumerate(self._weights):
                cumulative = weights[self._key(Y, i)]
                Y[:, i] = pick_cell(cumulative, below(cumulative[:, -1], None if seed is None else rng))
                lines.append(Y.copy())
                steps.append(self.domain.names[i])
        drawn = np.concatenate(lines)
        columns = [axis.decode(drawn[:, i]) for i, axis in enumerate(self.domain.axes)]
        return pl.DataFrame([pl.Series("drawn", steps), *columns])

    def _body(self) -> dict[str, Any]:
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
            "ranks": None if self.hashing is None else self.hashing.ranks.tolist(),
            "margins": None if self.margins is None else [share.tolist() for share in self.margins],
        }

    @classmethod
    def from_body(cls, words: Mapping[str, Any], **rest: Any) -> RowModel:
        """Read the model back from what `save` wrote; an account is not saved with it."""
        from shoal.synth.pegs import PeGS

        given = {name: value for name, value in words["parameters"].items() if name != "parents"}
        choose = "min-hash" if words.get("ranks") else "mutual-information" if words["from_data"] else "private"
        chosen, ranks, margins = words["chosen"], words.get("ranks"), words.get("margins")
        sizes = rest["domain"].sizes
        return cls(
            domain=rest["domain"],
            counts=[np.array(table, dtype=np.int64) for table in words["counts"]],
            parents={int(i): tuple(found) for i, found in words["parents"].items()},
            pegs=build(PeGS, {**given, "choose": choose}),
            held=words["held"],
            notes=rest["notes"],
            account=None,
            chosen=None if chosen is None else Budget.from_dict(chosen),
            hashing=None if ranks is None else MinHash(sizes=sizes, ranks=np.array(ranks, dtype=np.int64)),
            margins=None if margins is None else [np.array(share) for share in margins],
            priced_units=words["units"],
            seeded=words["seeded"],
        )


def shared_with_neighbours(size: int, n_ordered: int) -> IntArray:
    """What a record of each level (down) counts on each level (across), in grains; each row sums to one record.

    Examples
    --------
    >>> from shoal.synth.exact_draws import GRAIN
    >>> from shoal.synth.pegs_by_row import shared_with_neighbours
    >>> (shared_with_neighbours(4, 3) / GRAIN).tolist()
    [[0.75, 0.25, 0.0, 0.0], [0.25, 0.5, 0.25, 0.0], [0.0, 0.25, 0.75, 0.0], [0.0, 0.0, 0.0, 1.0]]
    """
    weights = np.eye(size, dtype=np.int64) * GRAIN
    for level in range(max(n_ordered - 1, 0)):
        pair = [level, level + 1]
        weights[pair, pair] -= GRAIN // 4
        weights[pair, pair[::-1]] += GRAIN // 4
    return weights


def _diversity_claim(l: float) -> Claim:  # noqa: E741
    return Claim(
        kind="l-diversity",
        value=float(l),
        scope="per building block",
        basis="proved",
        statement=statement("l-diversity", claim={"value": l}),
        assumptions=("Entropy is that of the perturbed conditional distribution, not of the synthetic rows.",),
    )


def _check_diversity(domain: Domain, l: float) -> None:  # noqa: E741
    """Refuse an l that a column can't reach, and name the column."""
    for axis in domain.axes:
        if axis.size < l:
            raise ParameterError(
                "PeGS",
                f"diversity must not exceed the number of levels of column '{axis.name}'",
                got=f"l = {l:g} for {axis.size} levels",
                hint="Lower l, or leave the column out.",
            )


def entropy(p: FloatArray) -> FloatArray:
    """Shannon entropy of each row, in nats."""
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.asarray(-(p * logs).sum(axis=1), dtype=np.float64)


def diverse_probabilities(counts: IntArray, l: float) -> FloatArray:  # noqa: E741
    """The distribution of each block (row of counts), perturbed as little as log l asks for."""
    C = counts.shape[1]
    n = counts.astype(np.float64)
    least = np.log(l)
    plain = _perturbed(n, np.zeros(len(n)))
    open_rows = entropy(plain) < least
    low, high = np.full(len(n), -30.0), np.full(len(n), 40.0)  # log α
    for _ in range(_STEPS):
        middle = (low + high) / 2
        short = entropy(_perturbed(n, np.exp(middle))) < least
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    mended = _perturbed(n, np.exp(high))
    mended = np.where(entropy(mended)[:, None] < least, 1.0 / C, mended)  # l = C: α is infinite
    return np.where(open_rows[:, None], mended, plain)


def diverse_blocks(counts: IntArray, l: float) -> IntArray:  # noqa: E741
    """The same as whole-number weights."""
    weights: IntArray = np.rint(diverse_probabilities(counts, l) * _GRAINS).astype(np.int64)
    return weights


def _perturbed(n: FloatArray, alpha: FloatArray) -> FloatArray:
    C = n.shape[1]
    total = n.sum(axis=1) + C * alpha
    p = (n + alpha[:, None]) / np.where(total > 0, total, 1)[:, None]
    return np.where((total > 0)[:, None], p, 1.0 / C)
