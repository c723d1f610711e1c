"""A grouper and a chain of masks: group, mask, shuffle.

The released table has the quasi-identifiers as the masks wrote them, the sensitive, weight and other columns as they
were, no identifier and no unit column, its rows in random order and no index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.canonical import canonical, retyped
from shoal.conform import Prepared, prepare
from shoal.encode import Encoder
from shoal.fact import Fact
from shoal.frame import Frame, enter, pick
from shoal.group import Grouper
from shoal.mask import AwareMask, BlindMask
from shoal.method import Method
from shoal.recipe.mask_chain import run_chain
from shoal.recipe.recipe import Made, ReadMethod, Recipe, Run, checked_methods, method_words
from shoal.recipe.spell import argument
from shoal.schema import Schema

__all__ = ["Anonymization", "Mask"]

Mask: TypeAlias = BlindMask | AwareMask


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymization(Recipe):
    """One grouper and a chain of masks."""

    command: ClassVar[str] = "anonymize"
    entries: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"group", "mask"}),)

    group: Grouper
    masks: tuple[Mask, ...]

    @classmethod
    def of(cls, group: Grouper, mask: Mask | Sequence[Mask]) -> Anonymization:
        """Take one mask or several; a wrong parameter is an error here, before any data is read."""
        masks = tuple(mask) if isinstance(mask, Sequence) else (mask,)
        (grouper,) = checked_methods("anonymize", "group must be a grouper", [group], "group")
        rule = "mask must be a mask or a list of masks"
        return cls(group=grouper, masks=checked_methods("anonymize", rule, masks, "mask"))

    @classmethod
    def read(cls, words: Mapping[str, Any], method: ReadMethod) -> Anonymization:
        """Read it from the words of `to_dict`, or from methods as texts."""
        given = words["mask"] if isinstance(words["mask"], list | tuple) else [words["mask"]]
        return cls.of(method("group", words["group"]), [method("mask", mask) for mask in given])

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON- and TOML-safe words."""
        return {"group": method_words(self.group), "mask": [method_words(mask) for mask in self.masks]}

    def options(self, **asked: Any) -> list[str]:
        """``--group`` and one ``--mask`` for each mask."""
        masks = [part for mask in self.masks for part in ("--mask", argument(mask))]
        return ["--group", argument(self.group), *masks]

    @property
    def methods(self) -> tuple[Method, ...]:
        """The grouper, then the masks."""
        return (self.group, *self.masks)

    @property
    def family(self) -> str:
        """Blind masks carry a proved bound on re-identification, aware ones are measured only."""
        return "blind masks" if self.is_blind else "aware masks"

    @property
    def k(self) -> int:
        """How many persons each group holds at least."""
        return self.group.k

    @property
    def is_blind(self) -> bool:
        """Whether the last mask is blind, so that the re-identification bound holds."""
        return not self.masks[-1].is_aware

    @property
    def collapses(self) -> bool:
        """Whether the last mask makes the rows of a group equal."""
        return self.masks[-1].collapses

    @property
    def groups_by_response(self) -> bool:
        """Whether the grouper looks at sensitive numbers."""
        return self.group.uses_response

    def run(self, table: Any, schema: Schema, run: Run) -> Made:
        """Group, mask, shuffle."""
        run.progress("checking the table")
        prepared = canonical(prepare(table, schema))
        run.progress("grouping")
        grouping = self.group.group(prepared, run.seed)
        run.progress("masking")
        encoder = Encoder.fit(prepared, prepared.schema.quasi)
        chained = run_chain(self.group, self.masks, prepared, encoder, grouping, seed=run.seed, key=run.key)
        order = run.order(prepared.n)
        labels = np.full(prepared.n_original, -1, dtype=np.int64)
        labels[prepared.rows] = chained.labels
        return Made(
            frame=retyped(_released(prepared, encoder, chained.codes, order), enter(table)),
            prepared=prepared,
            labels=labels,
            source_rows=prepared.rows[order],
            facts=(*prepared.facts, *_grouping_fact(grouping.notes)),
            caveats=chained.caveats,
            claims=chained.claims,
            steps=chained.steps,
        )


def _released(prepared: Prepared, encoder: Encoder, codes: FloatArray, order: IntArray) -> Frame:
    keep = [name for name in prepared.frame.columns if name in prepared.schema.released]
    rows = pick(prepared.frame.select(keep), order)
    return encoder.decode(codes[order], prepared.frame, rows).select(keep)


def _grouping_fact(notes: Mapping[str, Any]) -> tuple[Fact, ...]:
    """How the groups were found: it follows from all records, so it is for inside."""
    said = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in notes.items())
    return (Fact(says="grouping {said}", values={**notes, "said": said}, counts="groups"),) if said else ()
