"""What is written instead: what every mask shares.

A **blind** mask sees `ValueSets`: for each group the set of its members' values, sorted, without a trace of which
record had which. It gives back as many rows per group as came in. `pair_up` then hands the rows of a group to its
records by a random permutation. So, given the grouping, the released rows of one group are exchangeable whatever
the mask does, and the following holds for every blind mask and every chain of them.

**Bound.** An intruder knows record i's true values x_i and picks a released row by any rule that uses the released
quasi-identifiers alone. The choice does not depend on the permutation of group ℓ, so any row of the group is equally
likely to be record i's. Hence

    P(hit i) = P(match lands in i's group) / n_ℓ  ≤  1/n_ℓ  ≤  1/k.

It assumes that the intruder doesn't use the sensitive or other columns, which are published as they are, and
doesn't know the seed; and that nobody chose among several releases by looking at how well they hide people, since
a selected permutation is no longer uniform.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.encode import Encoder
from shoal.errors import ParameterError
from shoal.method import Method
from shoal.params import check

__all__ = ["BOUND", "BlindMask", "ValueSets", "draw_chain", "pair_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSets:
    """All that a blind mask may see.

    Parameters
    ----------
    values
        Codes of the quasi-identifiers, sorted inside each group.
    offsets
        The rows of group g are ``values[offsets[g]:offsets[g + 1]]``.
    weights
        Survey weights that go with `values`, or None.
    encoder
        What the codes mean.
    """

    values: FloatArray
    offsets: IntArray
    weights: FloatArray | None
    encoder: Encoder

    @classmethod
    def of(cls, codes: FloatArray, labels: IntArray, encoder: Encoder, weights: FloatArray | None = None) -> ValueSets:
        """Forget which record had which value: sort inside each group."""
        keys = [*codes.T[::-1], labels] if weights is None else [weights, *codes.T[::-1], labels]
        order = np.lexsort(keys)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(labels))))
        return cls(
            values=np.ascontiguousarray(codes[order]),
            offsets=offsets,
            weights=None if weights is None else weights[order],
            encoder=encoder,
        )

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each group."""
        return np.diff(self.offsets)

    @property
    def groups(self) -> IntArray:
        """The group of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def standardised(self) -> FloatArray:
        """The values on the scale where the original has mean 0 and variance 1."""
        return self.encoder.standardise(self.encoder.apart(self.values))

    def holding(self, values: FloatArray) -> ValueSets:
        """The same groups with other values; weights no longer belong to them."""
        return replace(ValueSets.of(values, self.groups, self.encoder), encoder=self.encoder)


BOUND = "Re-identification by the quasi-identifiers at most 1/k (proved)"
"""What every blind mask promises, in few words."""


class BlindMask(Method):
    """Writes new values from the value sets of the groups, never from a record's own row."""

    family = "mask"
    is_aware: ClassVar[bool] = False
    """Whether it starts from a record's own row: then nothing is proved of it."""
    perturbs: ClassVar[bool] = False
    is_local: ClassVar[bool] = False
    collapses: ClassVar[bool] = False
    """Whether all rows of a group become equal, so that groups are equivalence classes."""

    @abstractmethod
    def draw(self, sets: ValueSets, rng: Generator) -> FloatArray:
        """New codes, as many rows per group as came in, group by group, in any order inside a group."""

    def caveats(self, sets: ValueSets) -> tuple[str, ...]:
        """What must be said beside a claim about a release made from `sets`."""
        return ()

    def claims(self, sets: ValueSets) -> tuple[Claim, ...]:
        """What the mask promises about utility when it alone made the release from `sets`."""
        return ()


def draw_chain(masks: Sequence[BlindMask], sets: ValueSets, streams: Sequence[Generator]) -> FloatArray:
    """Draw through all masks in turn: each sees what the one before it wrote, group by group."""
    for i, (mask, rng) in enumerate(zip(masks, streams, strict=True)):
        check(mask)
        if i > 0 and getattr(mask, "weighted", False):
            raise ParameterError(type(mask).__name__, "weighted=True is possible only for the first mask of a chain")
        drawn = mask.draw(sets, rng)
        sets = sets.holding(drawn)
    return sets.values


def pair_up(rows: FloatArray, labels: IntArray, rng: Generator) -> FloatArray:
    """Hand the rows of each group (given group by group) to its records by a random permutation."""
    order = np.lexsort((rng.random(len(labels)), labels))
    out = np.empty_like(rows)
    out[order] = rows
    return out


def require_weights(mask: BlindMask, sets: ValueSets) -> FloatArray:
    """The survey weights, or an error that says how to name them."""
    if sets.weights is None:
        raise ParameterError(
            type(mask).__name__,
            "weighted=True needs survey weights",
            hint="Give one column the role weight in the schema.",
        )
    return sets.weights
