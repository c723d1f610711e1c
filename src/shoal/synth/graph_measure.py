"""Everything that the graphical design looks at, in five steps from one purse; see `junction` for the shares.

1. A twentieth of the budget buys one-way tables; from the noisy number of records follows the plan.
2. More one-way tables; the model is fitted to them.
3. K times a pair is chosen by the exponential mechanism (a tenth of the budget) and measured at once. The score of a
   pair, with e what the model expects of it and p its price,

       q = Σ |n − e| − C E|noise at p|,        one record changes it by at most 1, as e is whole and known before,

   is the error that measuring would take away, less what noise brings. Only pairs that can be paid and keep the
   junction tree small are candidates. The model is fitted anew after every four, and when three in a row say no more
   than noise, no more are chosen.
4. What was kept back: with δ one number is asked first, how far all other pairs are from the model; if that is
   much less than the noise they would have, nothing more is looked at. Else all pairs are measured, with half of the
   money by their cells, and the other half goes where most is open. What is left buys all tables once more. With little
   noise under pure ε all pairs are measured at once in place of steps 3 and 4.
5. Pairs that the junction tree can't hold have the target e plus what shrinkage believes of their deviation.

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
    plan = look.begin()
    named = _named(parents, encoded)
    if named is not None:
        look.measure_all(named, purse.left * Fraction(4, 5))
    elif plan.at_once and parents.how_many is None and look.affords_all:
        look.measure_all(look.pairs, purse.left)
    elif look.pairs:
        picks = (
            plan.picks if parents.how_many is None else min(len(look.pairs), parents.how_many * (len(look.sizes) - 1))
        )
        look.choose(picks, plan)
        look.spend_kept(plan)
    look.finish(plan)
    return look.found(), parents.choose == "mutual-information"


def _named(parents: Parents, encoded: Tabulated) -> list[Pair] | None:
    """Pairs that are not to be chosen privately."""
    given = parents.given
    if given is None and parents.choose == "mutual-information":
        given = by_mutual_information(encoded.counts, parents.how_many or 2)
    return None if given is None else sorted({(min(i, j), max(i, j)) for i, of in given.items() for j in of})


class _Look:
    """The state of one fit: what was seen, and the model of it."""

    def __init__(self, encoded: Tabulated, purse: Purse) -> None:
        self.counts, self.sizes, self.purse = encoded.counts, encoded.domain.sizes, purse
        self.missing = [axis.missing_cell for axis in encoded.domain.axes]
        self.all = purse.left
        self.seen = Sightings(sizes=self.sizes)
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

    def begin(self) -> Plan:
        """Steps 1 and 2."""
        self._one_way("one-way tables", self.all * FIRST)
        self.total = self.seen.total()
        self.b = blur([self._cells(pair) for pair in self.pairs], self.total, self.all) if self.pairs else 0.0
        plan = planned(self.b, len(self.sizes), self.all.definition)
        if self.pairs:
            self._one_way("one-way tables, again", self.all * (plan.one_way - FIRST))
        self.total = self.seen.total()
        self.empty = [self._noise_cell(i, cell) for i, cell in enumerate(self.missing)]
        return plan

    def choose(self, n_picks: int, plan: Plan) -> None:
        """Step 3: choose `n_picks` pairs and measure each at once."""
        choosing = self.all * CHOOSING
        rest = self.purse.left - choosing
        money = rest - rest * plan.kept
        cells = [self._cells(pair) for pair in self.pairs]
        parts = prices(cells, n_picks, money)
        noise = np.array(cells) * typical_error(np.array([float(part) for part in parts]), money)
        left = Fraction(1)
        dull = 0
        for k, price in enumerate(choosing.split(n_picks)):
            if k % _ROUND == 0:
                self._fit(_STEPS)
                expected = self._model.pair_tables()
                far = self._distances(expected)
            open_pairs = self._candidates(parts, left)
            if len(open_pairs) == 0:
                break
            scores = (far - np.minimum(np.rint(noise), _FAR).astype(np.int64))[open_pairs]
            at = int(open_pairs[self.purse.choice("choice of a pair", scores, 1.0, price)])
            self._buy("pair table", {self.pairs[at]: money * parts[at]})
            self.inside.append(self.pairs[at])
            left -= parts[at]
            dull = 0 if self._judged(self.pairs[at], expected[self.pairs[at]])[2] > _CLEAR else dull + 1
            if dull == _DULL:
                break

    def spend_kept(self, plan: Plan) -> None:
        """Step 4: all pairs, if that is worth its noise."""
        if plan.kept == 0 or not self.affords_all:
            return
        self._fit(plan.steps)
        kept = (self.all - self.all * (plan.one_way + CHOOSING)) * plan.kept
        kept = kept if self.purse.left.covers(kept) else self.purse.left
        if kept.definition == "zcdp":
            ask, kept = kept * _ASK, kept - kept * _ASK
            if not self._worth(ask, kept):
                return
        self.measure_all(self.pairs, kept)

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
        """What is left buys all tables once more; then the last fit."""
        regions = list(self.seen.tables)
        if not self.purse.left.empty:
            cells = [self.seen.tables[region].size for region in regions]
            self._buy("all tables, again", _priced(regions, cells, self.purse.left))
        self.total = self.seen.total()
        self._fit(plan.steps)

    def found(self) -> Found:
        """Step 5."""
        model = self._model
        expected = model.pair_tables()
        outside = [pair for pair in self.seen.pairs if pair not in self.inside]
        targets = {pair: table for pair in outside if (table := self._believed(pair, expected[pair])) is not None}
        alone = self._independent()
        clear = [pair for pair in alone if pair in self.inside and self._judged(pair, alone[pair])[2] > _CLEAR]
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
            self.seen.shrunk(self.total),
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

    def _candidates(self, parts: Sequence[Fraction], left: Fraction) -> IntArray:
        """Pairs that were not chosen yet, can be paid and keep the junction tree small: no look at the data."""
        chosen = set(self.inside)
        able = [k for k, pair in enumerate(self.pairs) if pair not in chosen and parts[k] <= left]
        return self._that_fit(able)

    def _that_fit(self, able: Sequence[int]) -> IntArray:
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
