"""Resampling inside each group: values change hands, the distribution stays.

With replacement, each record gets a value drawn from its group's set, value v with probability n_ℓ(v)/n_ℓ; by Lemma 1
of Wei et al. (2018) the released values then have the original's distribution, up to sampling noise as in a
bootstrap. Without replacement the group's values are permuted, and the released joint distribution of the
quasi-identifiers is the original's exactly.

Promised: re-identification by the quasi-identifiers at most 1/k (see `shoal.mask.mask`). Not promised: no equivalence
classes of size k; every released row is some original person's combination; the link between quasi-identifiers and
sensitive columns loosens as groups grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from shoal.arrays import FloatArray, Generator
from shoal.errors import ParameterError
from shoal.mask.mask import BOUND, BlindMask, ValueSets, require_weights
from shoal.method import ReportText
from shoal.params import Help

__all__ = ["Resample"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resample(BlindMask):
    """Give each record values of a randomly chosen member of its group.

    Parameters
    ----------
    replace
        True draws with replacement; False permutes the group's values, which keeps the joint distribution exactly.
    weighted
        Draw by survey weight, so that the *weighted* distribution is kept (with replacement only).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63]})
    >>> schema = shoal.Schema.of(quasi=["age"])
    >>> mask = shoal.Resample(replace=False)
    >>> release = shoal.anonymize(table, schema, group=shoal.MDAV(k=3), mask=mask, seed=1)
    >>> sorted(release.table["age"])
    [21, 22, 23, 61, 62, 63]
    """

    title = "resampling in groups"
    summary = "Each person gets the quasi-identifiers of a random member of their group."
    promise = f"{BOUND}; the joint distribution is preserved, exactly so without replacement."
    report_text = ReportText(
        done="Each person got the values of a randomly drawn member of the group.",
        writes="replaced: values of randomly drawn members of the person's group",
        keeps="Values that people of the group have; how often each occurs, up to chance.",
    )
    rank = 2

    replace: Annotated[bool, Help("draw with replacement")] = True
    weighted: Annotated[bool, Help("draw by survey weight")] = False

    @classmethod
    def report_text_with(cls, parameters: Mapping[str, Any]) -> ReportText:
        """Without replacement the values change hands, and none is lost."""
        return _PERMUTED if parameters.get("replace") is False else cls.report_text

    def draw(self, sets: ValueSets, rng: Generator) -> FloatArray:
        """Members of the same group, drawn with or without replacement."""
        if not self.replace and self.weighted:
            raise ParameterError("Resample", "weighted=True needs replace=True")
        if not self.replace:
            return sets.values
        from shoal.mask.rosenblatt import masses, pick_members

        mass = masses(require_weights(self, sets), sets.offsets) if self.weighted else None
        return sets.values[pick_members(sets.offsets, rng, mass)]


_PERMUTED = ReportText(
    done="The values of each group were randomly redistributed among its members.",
    writes="replaced: the values of the person's group, randomly redistributed",
    keeps="Every value, exactly as often as before.",
)
