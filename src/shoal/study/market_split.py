"""One random half split of the market-risk study: every mask, k, shift, coding and region at once.

The training half is the existing market, its enrolment the members; the test half, tilted to a region's
demographics, is the new market, and its enrolment is what is to be predicted. Members are grouped once for each k
and masked by each mask; weights, models and errors then depend only on sums per cell of the grid:

    members     N(x) = Σ v,  Σ vy        test   V(x) = Σ v,  Σ vy,  Σ vy²

so that all regions and shifts are one batch of small least squares problems. Survey weights times the chance of
enrolment weigh the members, and the masks keep that weighted distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared
from shoal.encode import Encoder
from shoal.group import KMember
from shoal.mask import BlindMask, Centroid, GaussianDither, Resample, ValueSets, pair_up
from shoal.rng import stream
from shoal.shift.logistic import market_logit
from shoal.shift.models import least_squares
from shoal.shift.tally import ratio, sums_by
from shoal.study.market_scene import Scene

__all__ = ["CODINGS", "MASKS", "SHIFTS", "SplitResult", "halves", "mask_members", "run_split"]

SHIFTS = ("none", "logistic", "ratio")
CODINGS = ("dummy", "numeric")
MASKS: dict[str, BlindMask] = {
    "centroid": Centroid(),
    "resample": Resample(weighted=True),
    "gaussian": GaussianDither(weighted=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitResult:
    """Errors of one split; the first variant is the unprotected one, the first market has no shift.

    `bias` (percent) and `r_squared` have axes variant, shift, coding, market; `intersection` variant, shift, market.
    `gap` is how far the true mean cost of each market's enrollees lies from that of the members, in percent of it.
    `slopes` are the coefficients of the unweighted numeric model by variant, intercept first: they show how far x and
    y have come apart.
    """

    bias: FloatArray
    r_squared: FloatArray
    intersection: FloatArray
    gap: FloatArray
    slopes: FloatArray


def halves(n: int, split: int, seed: int) -> tuple[IntArray, IntArray]:
    """Training and test records. Splits 2i and 2i + 1 are one division with the parts exchanged."""
    order = stream(seed, "market study", "split", split // 2).permutation(n)
    first, second = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    return (first, second) if split % 2 == 0 else (second, first)


def run_split(scene: Scene, split: int, ks: Sequence[int], seed: int) -> SplitResult:
    """Everything about one split; `ks` are the sizes of groups, without 1."""
    train, test = halves(scene.n, split, seed)
    judge = _Judge.of(scene, train, test)
    members = scene.members(train)
    weights = scene.weights[train] * scene.enrolment[scene.cell[train]]
    costs = scene.costs[train]
    results = [judge.errors(scene.cell[train], costs, weights)]
    for k in ks:
        results += [judge.errors(cell, costs, weights) for cell in mask_members(scene, members, k, split, seed)]
    bias, r_squared, intersection, slopes = (np.array(part) for part in zip(*results, strict=True))
    return SplitResult(
        bias=bias, r_squared=r_squared, intersection=intersection, slopes=slopes, gap=judge.gap(costs, weights)
    )


def mask_members(scene: Scene, members: Prepared, k: int, split: int, seed: int) -> list[IntArray]:
    """The members' grid cells as each mask of `MASKS` writes them."""
    labels = KMember(k=k).group(members, seed).labels
    encoder = Encoder.fit(members, members.schema.quasi)
    sets = ValueSets.of(encoder.codes(members.frame), labels, encoder, members.weights())
    out = []
    for name, mask in MASKS.items():
        drawn = mask.draw(sets, stream(seed, "market study", name, k, split))
        rows = pair_up(drawn, labels, stream(seed, "market study", "pairing", name, k, split))
        out.append(scene.on_grid(rows, encoder))
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """Importance weights for every market, and the sums over the true enrolment that predictions are held against."""

    X: dict[str, FloatArray]
    weights: FloatArray  # shift, market, cell
    mass: FloatArray  # market, cell
    sums: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, scene: Scene, train: IntArray, test: IntArray) -> _Judge:
        existing = _shares(sums_by(scene.cell[train], scene.weights[train], scene.n_cells))
        new = _shares(sums_by(scene.cell[test], scene.weights[test], scene.n_cells) * scene.tilt)
        v, y = scene.weights[test] * scene.enrolment[scene.cell[test]], scene.costs[test]
        mass, sums, squares = (sums_by(scene.cell[test], v * y**i, scene.n_cells) * scene.tilt for i in range(3))
        return cls(
            X=scene.X,
            weights=np.array([_weights(shift, existing, new, scene.X["numeric"]) for shift in SHIFTS]),
            mass=mass,
            sums=sums,
            squares=squares,
        )

    def errors(self, cell: IntArray, costs: FloatArray, weights: FloatArray) -> tuple[FloatArray, ...]:
        """Bias in percent, R², intersection and slopes of the models trained on members in these cells."""
        n_cells = self.mass.shape[1]
        members = sums_by(cell, weights, n_cells)
        means = ratio(sums_by(cell, weights * costs, n_cells), members)
        weighted = self.weights * members
        betas = [least_squares(self.X[coding], weighted, means) for coding in CODINGS]
        fits = [beta[..., :1] + beta[..., 1:] @ self.X[coding].T for beta, coding in zip(betas, CODINGS, strict=True)]
        bias = np.stack([self._bias(fit) for fit in fits], axis=1)
        r_squared = np.stack([self._r_squared(fit) for fit in fits], axis=1)
        overlap = np.minimum(_shares(weighted), _shares(self.mass)).sum(axis=-1)
        return bias, r_squared, overlap, betas[1][0, 0]

    def gap(self, costs: FloatArray, weights: FloatArray) -> FloatArray:
        """Percent by which each market's enrollees cost more than the members."""
        own = float(np.average(costs, weights=weights))
        return 100 * (1 - own / self._true_mean())

    def _true_mean(self) -> FloatArray:
        mean: FloatArray = self.sums.sum(axis=1) / self.mass.sum(axis=1)
        return mean

    def _bias(self, predicted: FloatArray) -> FloatArray:
        truth = self.sums.sum(axis=1)
        out: FloatArray = 100 * ((self.mass * predicted).sum(axis=-1) - truth) / truth
        return out

    def _r_squared(self, predicted: FloatArray) -> FloatArray:
        error = (self.mass * predicted**2 - 2 * self.sums * predicted + self.squares).sum(axis=-1)
        spread = self.squares.sum(axis=1) - self.sums.sum(axis=1) ** 2 / self.mass.sum(axis=1)
        out: FloatArray = 1 - error / spread
        return out


def _weights(shift: str, existing: FloatArray, new: FloatArray, X: FloatArray) -> FloatArray:
    """Importance weight of each cell for each market."""
    if shift == "none":
        return np.ones_like(new)
    if shift == "ratio":
        return ratio(new, np.broadcast_to(existing, new.shape))
    return np.array([np.exp(market_logit(X, existing, market).log_odds(X)) for market in new])


def _shares(mass: FloatArray) -> FloatArray:
    shares: FloatArray = mass / mass.sum(axis=-1, keepdims=True)
    return shares
