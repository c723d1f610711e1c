"""One random half split of the market-risk study: every mask, k, shift, coding and region at once.

The training half is the existing market, its enrolment the members; the test half, tilted to a region's
demographics, is the new market, and its enrolment is what is to be predicted. Members are grouped once for each k
and masked by each mask; weights, models and errors then depend only on sums per cell of the grid:

    members     N(x) = Σ v,  Σ vy        test   V(x) = Σ v,  Σ vy,  Σ vy²

so that all regions and shifts are one batch of small least squares problems. Survey weights times the chance of
enrolment weigh the members, and the masks keep that weighted distribution.

**Re-identification** of the members, mask by mask (figures 3 to 5 of Wei, Ramamurthy and Varshney 2018): the paper
matches every member to the nearest masked record, breaks ties at random and counts hits over many masked files. Given
the grouping, all masked rows of a group are exchangeable, so the chance of a hit is

    P(match lands in the member's group) / size of the group,

which needs no counting of hits and few masked files: it is averaged over `draws` of each mask, and over the members
of each equivalence class of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared
from shoal.design import distinct_rows
from shoal.encode import Encoder
from shoal.group import KMember
from shoal.mask import BlindMask, Centroid, GaussianDither, Resample, ValueSets, pair_up
from shoal.pair import Pair
from shoal.risk.nearest import match_pair
from shoal.risk.reidentification_attack import measure
from shoal.rng import stream
from shoal.shift.models import least_squares, market_logit
from shoal.shift.people import ratio, sums_by
from shoal.study.market_scene import Scene

__all__ = [
    "CODINGS",
    "MASKS",
    "SHIFTS",
    "ClassRisks",
    "SplitResult",
    "class_risks",
    "halves",
    "mask_members",
    "run_split",
]

_DIGITS = 9  # differences of chances that agree in so many are equal
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
    encoder = Encoder.of(members, members.schema.quasi)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRisks:
    """Chance of re-identification by mask, at one k.

    `mean` is over all members; `classes` holds the mean of each equivalence class of the original, whose sizes are
    `class_sizes`; `largest` is that of the member most at risk. None of them exceeds 1/k.
    """

    releasable: ClassVar[bool] = False

    k: int
    mean: dict[str, float]
    largest: dict[str, float]
    classes: dict[str, FloatArray]
    class_sizes: IntArray

    def histogram(self, mask: str, bins: int = 10) -> list[int]:
        """Number of classes in each tenth (or other part) of 0 to 1/k."""
        counts, _ = np.histogram(self.classes[mask], bins=np.linspace(0, 1 / self.k * (1 + 1e-12), bins + 1))
        return [int(count) for count in counts]

    def better_share(self, mask: str, than: str = "centroid") -> float:
        """Share of the classes that are at less risk under `mask` than under `than`."""
        return float(np.mean(self.classes[mask] < self.classes[than]))

    def difference_histogram(self, mask: str, than: str = "centroid", bins: int = 20) -> tuple[list[float], list[int]]:
        """Lower edges of equal bins from −1/k to 1/k, and the classes whose chance under `mask` less that under `than`
        lies in each."""
        edges = np.arange(-bins // 2, bins // 2) * 2 / bins / self.k
        found = np.round((self.classes[mask] - self.classes[than]) * self.k * bins / 2, _DIGITS)
        places = np.clip(np.floor(found).astype(np.int64) + bins // 2, 0, bins - 1)
        return edges.tolist(), np.bincount(places, minlength=bins).tolist()

    def to_dict(self) -> dict[str, Any]:
        """Means, largest values and histograms as JSON-safe words."""
        return {
            "k": self.k,
            "bound": 1 / self.k,
            "n_classes": len(self.class_sizes),
            "mean": self.mean,
            "largest": self.largest,
            "histogram": {mask: self.histogram(mask) for mask in self.classes},
            "better_than_centroid_share": {mask: self.better_share(mask) for mask in self.classes},
        }


def class_risks(members: Prepared, ks: Sequence[int], draws: int, seed: int) -> tuple[ClassRisks, ...]:
    """Measure each k of `ks` over `draws` files of each mask."""
    encoder = Encoder.of(members, members.schema.quasi)
    codes = encoder.codes(members.frame)
    return tuple(_at_k(members, encoder, codes, k, draws, seed) for k in ks)


def _at_k(members: Prepared, encoder: Encoder, codes: FloatArray, k: int, draws: int, seed: int) -> ClassRisks:
    labels = KMember(k=k).group(members, seed).labels
    sets = ValueSets.of(codes, labels, encoder, members.weights())
    distinct, own = distinct_rows(codes)
    sizes = np.bincount(own, minlength=len(distinct))
    records = {
        name: np.mean([_records(members, sets, labels, mask, (seed, name, k, i)) for i in range(draws)], axis=0)
        for name, mask in MASKS.items()
    }
    return ClassRisks(
        k=k,
        mean={name: float(risk.mean()) for name, risk in records.items()},
        largest={name: float(risk.max()) for name, risk in records.items()},
        classes={name: sums_by(own, risk, len(distinct)) / sizes for name, risk in records.items()},
        class_sizes=sizes,
    )


def _records(
    members: Prepared, sets: ValueSets, labels: IntArray, mask: BlindMask, key: tuple[int, str, int, int]
) -> FloatArray:
    """Each member's chance of being found in one masked file."""
    seed, name, k, i = key
    drawn = mask.draw(sets, stream(seed, "market study", "risk", name, k, i))
    released = pair_up(drawn, labels, stream(seed, "market study", "risk pairing", name, k, i))
    original = sets.encoder.codes(members.frame)
    pair = Pair(
        original=members,
        released=members.frame,
        source_rows=np.arange(members.n),
        encoder=sets.encoder,
        original_codes=original,
        released_codes=released,
    )
    matches = match_pair(pair, everyone=True)
    by_group = measure(pair, trials=1, seed=seed, labels=labels, matches=matches).by_group
    return by_group.records if by_group is not None else np.full(members.n, np.nan)
