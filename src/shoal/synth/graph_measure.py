"""Everything that the graphical design looks at, in five steps from one purse; see `junction` for the shares.

1. A twentieth of the budget buys one-way tables; from the noisy number of records follows the plan. Where all pairs
   would have noise of more than 3, all the rest buys one-way tables again, unless the caller asks for pairs.
2. More one-way tables; the model is fitted to them.
3. K times a pair is chosen by the exponential mechanism (a tenth of the budget) and measured at once. The score of a
   pair, with e what the model expects of it and p its price,

       q = Σ |n − e| − Σ min(E|noise at p|, e),      one record changes it by at most 1, as e is known before and whole,

   is the error that measuring would take away, less what noise brings: in a cell no more than it is expected to hold,
   as nothing in the model is negative. So a pair of many cells of which few are in use can be chosen. Only pairs that
   can be paid and keep the junction tree small are candidates. The model is fitted anew after every four. When three
   in a row say no more than noise, no more are chosen. If the tree is full before K, and step 4 doesn't measure all
   pairs, the other picks go to pairs outside the tree.
4. What was kept back: with δ one number is asked first, how far all other pairs are from the model; if that is
   much less than the noise they would have, nothing more is looked at. Else all pairs are measured, with half of the
   money by their cells, and the other half goes where most is open. What is left buys one-way tables and pairs that
   say more than noise once more. With little noise under pure ε all pairs are measured at once in place of steps 3
   and 4.
5. The ends of ordered columns, where nothing is clear, are set to what is believed of them by all tables (`levels`).
   Pairs that the junction tree can't hold have the target e plus what shrinkage believes of their deviation.

Promise: only `Purse` sees counts, at prices that are fixed before each look by public numbers and noisy answers, and
parts of a budget add up to it exactly. So ε (or ρ) is that of adaptive composition. Everything else is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.dp import Budget
from shoal.synth.counts import Tabulated
from shoal.synth.graphical import Graphical, Sightings, fit_graphical
from shoal.synth.junction import CHOOSING, FIRST, Plan, Region, adjacency, blur, fitting, planned, prices, typical_error
from shoal.synth.parents import Parents, all_pairs, by_mutual_information
from shoal.synth.spend import MOST_CELLS, Purse, by_cells, by_gain
from shoal.synth.tables import believed, distance

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = ["Found", "measure_graph"]

Pair: TypeAlias = tuple[int, int]
TREE_CELLS = 60_000
_ROUND = 4  # picks between two fits
_STEPS = 60  # of mirror descent between picks
_ASK = Fraction(1, 50)  # of the money kept back: the question whether to spend it on all pairs
_WORTH = 0.3
_DULL = 3  # picks in a row that say no more than noise: no further pair is chosen
_CLEAR = 3.0  # log likelihood that a deviation must gain over "all is noise"
_SEEN = 3.0  # standard deviations: a missing cell below is taken for noise
_FAR = 1e15


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was measured and made of it: the model, the targets of pairs that it can't hold, clear ties."""

    model: Graphical
    seen: Sightings
    targets: Mapping[Pair, FloatArray]
    clear: tuple[Pair, ...]
    blur: float


def measure_graph(pegs: PeGS, encoded: Tabulated, parents: Parents, purse: Purse) -> tuple[Found, bool]:
    """Measure and fit; the second value says whether the choice of pairs cost the claim its proof."""
    look = _Look(encoded, purse)
    named = _named(parents, encoded)
    plan = look.begin(asked=named is not None or parents.how_many is not None)
    if named is not None:
        look.measure_all(named, purse.left * Fraction(4, 5))
    elif plan.at_once and parents.how_many is None and look.affords_all:
        look.measure_all(look.pairs, purse.left)
    elif look.pairs and not plan.alone:
        picks = (
            plan.picks if parents.how_many is None else min(len(look.pairs), parents.how_many * (len(look.sizes) - 1))
        )
        made = look.choose(picks, plan)
        if not look.spend_kept(plan):
            look.choose_beyond(made)
    look.finish(plan)
    return look.found(), parents.choose == "mutual-information"


def _named(parents: Parents, encoded: Tabulated) -> list[Pair] | None:
    """Pairs that are not to be chosen privately."""
    given = parents.given
    if given is None and parents.choose == "mutual-information":
        given = by_mutual_information(encoded.counts, parents.how_many or 2)
    return None if given is None else sorted({(min(i, j), max(i, j)) for i, of in given.items() for j in of})


@dataclass(slots=True, kw_only=True)
class _Picks:
    """What pairs cost, the prices of choices still to be made, and how the last ones went.

    A pair costs its part of `money`; `noise` is what a cell of it would have, `left` how much of the money there is.
    """

    money: Budget
    parts: Sequence[Fraction]
    noise: FloatArray
    ahead: list[Budget]
    left: Fraction = Fraction(1)
    made: int = 0
    dull: int = 0


class _Look:
    """The state of one fit: what was seen, and the model of it."""

    def __init__(self, encoded: Tabulated, purse: Purse) -> None:
        self.counts, self.sizes, self.purse = encoded.counts, encoded.domain.sizes, purse
        self.missing = [axis.missing_cell for axis in encoded.domain.axes]
        self.all = purse.left
        self.seen = Sightings(sizes=self.sizes, ordered=tuple(axis.n_ordered for axis in encoded.domain.axes))
        self.inside: list[Region] = [(i,) for i in range(len(self.sizes))]
        self.pairs = [pair for pair in all_pairs(len(self.sizes)) if self._cells(pair) <= TREE_CELLS]
        self.truth = {pair: self.counts.pair(*pair) for pair in self.pairs}
        self.one_way = self.counts.one_way()
        self.total, self.b = 1.0, math.inf
        self.empty: list[BoolArray] = [np.zeros(size, dtype=np.bool_) for size in self.sizes]
        self.model: Graphical | None = None

    @property
    def affords_all(self) -> bool:
        """Whether all pairs together have few enough cells to be measured."""
        return sum(self._cells(pair) for pair in self.pairs) <= MOST_CELLS

    def begin(self, *, asked: bool) -> Plan:
        """Steps 1 and 2; `asked`: the caller wants pairs to be measured."""
        self._one_way("one-way tables", self.all * FIRST)
        self.total = self.seen.total()
        self.b = blur([self._cells(pair) for pair in self.pairs], self.total, self.all) if self.pairs else 0.0
        plan = planned(self.b, len(self.sizes), self.all.definition, asked=asked)
        if self.pairs:
            self._one_way("one-way tables, again", self.all * (plan.one_way - FIRST))
        self.total = self.seen.total()
        self.empty = [self._noise_cell(i, cell) for i, cell in enumerate(self.missing)]
        return plan

    def choose(self, n_picks: int, plan: Plan) -> _Picks:
        """Step 3: choose up to `n_picks` pairs that the junction tree can hold and measure each at once."""
        choosing = self.all * CHOOSING
        rest = self.purse.left - choosing
        money = rest - rest * plan.kept
        parts = prices([self._cells(pair) for pair in self.pairs], n_picks, money)
        noise = typical_error(np.array([float(part) for part in parts]), money)
        picks = _Picks(money=money, parts=parts, noise=noise, ahead=list(choosing.split(n_picks)))
        while picks.ahead and len(able := self._that_fit(self._payable(picks))):
            if picks.made % _ROUND == 0:
                scored, expected = self._scored(noise)
            at = self._pick(picks, able, scored, expected)
            self.inside.append(self.pairs[at])
        return picks

    def choose_beyond(self, picks: _Picks) -> None:
        """Spend picks that are left because the tree is full on pairs outside of it."""
        if not picks.ahead or not self._payable(picks):
            return
        scored, expected = self._scored(picks.noise)
        while picks.ahead and (able := self._payable(picks)):
            self._pick(picks, np.array(able, dtype=np.int64), scored, expected)

    def _scored(self, noise: FloatArray) -> tuple[IntArray, dict[Pair, FloatArray]]:
        """The score of every pair beside the model fitted anew, and what it expects of them."""
        self._fit(_STEPS)
        expected = self._model.pair_tables()
        return self._distances(expected) - self._harm(expected, noise), expected

    def _pick(self, picks: _Picks, able: IntArray, scored: IntArray, expected: Mapping[Pair, FloatArray]) -> int:
        """Choose one of the pairs that are `able` and measure it; too many in a row that are dull end the picks."""
        at = int(able[self.purse.choice("choice of a pair", scored[able], 1.0, picks.ahead.pop(0))])
        pair = self.pairs[at]
        self._buy("pair table", {pair: picks.money * picks.parts[at]})
        picks.left -= picks.parts[at]
        picks.made += 1
        picks.dull = 0 if self._judged(pair, expected[pair])[2] > _CLEAR else picks.dull + 1
        if picks.dull == _DULL:
            picks.ahead.clear()
        return at

    def spend_kept(self, plan: Plan) -> bool:
        """Step 4: all pairs, if that is worth its noise; says whether they were measured."""
        if plan.kept == 0 or not self.affords_all:
            return False
        self._fit(plan.steps)
        kept = (self.all - self.all * (plan.one_way + CHOOSING)) * plan.kept
        kept = kept if self.purse.left.covers(kept) else self.purse.left
        if kept.definition == "zcdp":
            ask, kept = kept * _ASK, kept - kept * _ASK
            if not self._worth(ask, kept):
                return False
        self.measure_all(self.pairs, kept)
        return True

    def measure_all(self, pairs: Sequence[Pair], money: Budget) -> None:
        """Measure these pairs; with δ in two looks."""
        if not pairs:
            return
        twice = money.definition == "zcdp" and len(pairs) > 1
        first, second = money.split([1, int(twice)])
        self._buy("pair table", _priced(pairs, [self._cells(pair) for pair in pairs], first))
        self._take_in(pairs)
        if twice:
            self._fit(_STEPS)
            spread = self._spread(pairs)
            have = [1 / self.seen.variance[pair] for pair in pairs]
            self._buy("pair table, again", dict(zip(pairs, by_gain(spread, have, second), strict=True)))

    def finish(self, plan: Plan) -> None:
        """What is left buys one-way tables and clear pairs once more; then the last fit."""
        if not self.purse.left.empty:
            pairs = set(self._clear())
            regions = [region for region in self.seen.tables if len(region) == 1 or region in pairs]
            cells = [self.seen.tables[region].size for region in regions]
            self._buy("clear tables, again", _priced(regions, cells, self.purse.left))
        self.total = self.seen.total()
        self._fit(plan.steps)
        self.model = self._model.with_counts(self.seen.ends())

    def found(self) -> Found:
        """Step 5."""
        model = self._model
        expected = model.pair_tables()
        outside = [pair for pair in self.seen.pairs if pair not in self.inside]
        targets = {pair: table for pair in outside if (table := self._believed(pair, expected[pair])) is not None}
        clear = [pair for pair in self._clear() if pair in self.inside]
        return Found(model=model, seen=self.seen, targets=targets, clear=(*clear, *targets), blur=self.b)

    @property
    def _model(self) -> Graphical:
        if self.model is None:
            self._fit(_STEPS)
        if self.model is None:
            raise AssertionError("a fit makes a model")
        return self.model

    def _fit(self, steps: int) -> None:
        self.model = fit_graphical(
            self.seen.believed(self.total),
            self.inside,
            total=self.total,
            steps=steps,
            before=self.model,
            empty=self.empty,
        )

    def _one_way(self, what: str, money: Budget) -> None:
        regions: list[Region] = [(i,) for i in range(len(self.sizes))]
        self._buy(what, _priced(regions, self.sizes, money))

    def _buy(self, what: str, priced: Mapping[Region, Budget]) -> None:
        paid = {region: price for region, price in priced.items() if not price.empty}
        noisy, variances = self.purse.apart(what, [self._counts(region) for region in paid], list(paid.values()))
        self.seen = self.seen.joined(dict(zip(paid, noisy, strict=True)), dict(zip(paid, variances, strict=True)))

    def _counts(self, region: Region) -> IntArray:
        if len(region) == 2:
            return self.truth[region] if region in self.truth else self.counts.pair(region[0], region[1])
        return self.one_way[region[0]]

    def _cells(self, region: Region) -> int:
        return math.prod(self.sizes[i] for i in region)

    def _noise_cell(self, i: int, missing: int | None) -> BoolArray:
        """The missing cell, if its count can't be told from noise."""
        table, deviation = self.seen.tables[i,], math.sqrt(self.seen.variance[i,])
        gone = np.zeros(len(table), dtype=np.bool_)
        if missing is not None and len(table) > 1:
            gone[missing] = table[missing] < _SEEN * deviation
        return gone

    def _distances(self, expected: Mapping[Pair, FloatArray]) -> IntArray:
        """Σ |n − e| of every pair."""
        return np.array([distance(self.truth[pair], expected[pair]) for pair in self.pairs], dtype=np.int64)

    def _harm(self, expected: Mapping[Pair, FloatArray], noise: FloatArray) -> IntArray:
        """Σ min(E|noise|, e) of every pair: no look at the data."""
        harm = [float(np.minimum(size, expected[pair]).sum()) for pair, size in zip(self.pairs, noise, strict=True)]
        return np.minimum(np.rint(harm), _FAR).astype(np.int64)

    def _payable(self, picks: _Picks) -> list[int]:
        """Pairs that were not measured yet and can be paid: no look at the data."""
        return [k for k, pair in enumerate(self.pairs) if pair not in self.seen.tables and picks.parts[k] <= picks.left]

    def _that_fit(self, able: Sequence[int]) -> IntArray:
        """Those that keep the junction tree small: no look at the data."""
        adjacent = adjacency(len(self.sizes), self.inside)
        ends = np.array([self.pairs[k] for k in able], dtype=np.int64).reshape(-1, 2)
        return np.array(able, dtype=np.int64)[fitting(adjacent, self.sizes, ends, TREE_CELLS)]

    def _worth(self, ask: Budget, kept: Budget) -> bool:
        """Whether the pairs that were not measured are further from the model than their noise would be."""
        rest = [pair for pair in self.pairs if pair not in self.seen.tables]
        if not rest:
            return True
        expected = self._model.pair_tables()
        far = sum(distance(self.truth[pair], expected[pair]) for pair in rest)
        noisy = self.purse.number("distance of the other pairs", far, float(len(rest)), ask)
        noise = blur([self._cells(pair) for pair in self.pairs], self.total, kept)
        return noisy / len(rest) / (2 * self.total) >= _WORTH * noise

    def _take_in(self, pairs: Iterable[Pair]) -> None:
        """Let the model hold the pairs that say most, as long as its junction tree stays small."""
        expected = self._model.pair_tables()
        strength = {}
        for pair in pairs:
            if pair not in self.inside:
                t, g, gain = self._judged(pair, expected[pair])
                prior = t * np.maximum(expected[pair], 1e-9) ** g
                if gain > _CLEAR:
                    strength[pair] = float((prior / np.sqrt(prior + self.seen.variance[pair])).sum())
        at = {pair: k for k, pair in enumerate(self.pairs)}
        for pair in sorted(strength, key=lambda pair: -strength[pair]):
            if pair in at and len(self._that_fit([at[pair]])):
                self.inside.append(pair)

    def _spread(self, pairs: Sequence[Pair]) -> list[FloatArray]:
        """How far the truth of each pair may be from what is expected without it: a variance for each cell."""
        expected, alone = self._model.pair_tables(), self._independent()
        tables = [alone[pair] if pair in self.inside else expected[pair] for pair in pairs]
        judged = [self._judged(pair, table) for pair, table in zip(pairs, tables, strict=True)]
        return [t * np.maximum(table, 1e-9) ** g for table, (t, g, _) in zip(tables, judged, strict=True)]

    def _independent(self) -> dict[Pair, FloatArray]:
        shares = self._model.shares()
        return {(i, j): np.outer(shares[i], shares[j]) * self.total for i, j in self.seen.pairs}

    def _clear(self) -> list[Pair]:
        """Pairs that say more than noise about a tie."""
        return [pair for pair, e in self._independent().items() if self._judged(pair, e)[2] > _CLEAR]

    def _judged(self, pair: Pair, expected: FloatArray) -> tuple[float, float, float]:
        from shoal.synth._chain_kernels import judge

        t, g, gain = judge(_centred(self.seen.tables[pair] - expected), expected, self.seen.variance[pair])
        return float(t), float(g), float(gain)

    def _believed(self, pair: Pair, expected: FloatArray) -> FloatArray | None:
        """The table of a pair outside the model: e plus what is believed of y − e; None if that is all noise."""
        t, g, gain = self._judged(pair, expected)
        if gain <= _CLEAR:
            return None
        D, prior = _centred(self.seen.tables[pair] - expected), t * np.maximum(expected, 1e-9) ** g
        return np.maximum(expected + believed(D, prior, self.seen.variance[pair]), 0.0)


def _priced(regions: Sequence[Region] | Sequence[Pair], cells: Sequence[int], money: Budget) -> dict[Region, Budget]:
    return dict(zip(regions, by_cells(cells, money), strict=True))


def _centred(D: FloatArray) -> FloatArray:
    """Deviations without those of the margins."""
    return np.asarray(D - D.mean(axis=0) - D.mean(axis=1, keepdims=True) + D.mean(), dtype=np.float64)
