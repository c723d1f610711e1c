"""Re-identification of the members, mask by mask (Figures 3 to 5 of Wei, Ramamurthy and Varshney 2018).

The paper matches every member to the nearest masked record, breaks ties at random and counts hits over many masked
files. Given the grouping, all masked rows of a group are exchangeable, so the chance of a hit is

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
from shoal.mask import BlindMask, ValueSets, pair_up
from shoal.pair import Pair
from shoal.risk.matching import measure
from shoal.risk.nearest import match_pair
from shoal.rng import stream
from shoal.shift.tally import sums_by
from shoal.study.market_split import MASKS

__all__ = ["ClassRisks", "class_risks"]


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
    encoder = Encoder.fit(members, members.schema.quasi)
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
