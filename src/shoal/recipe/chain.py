"""A chain of masks at work on the groups of a table: what each writes, and what an intruder achieves after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.claim import Claim
from shoal.conform import Prepared
from shoal.encode import Encoder
from shoal.errors import GuaranteeError
from shoal.fact import Step
from shoal.group import Grouper, Grouping
from shoal.mask import AwareMask, BlindMask, ColumnMask, Masking, ValueSets, draw_chain, pair_up
from shoal.mask.permute import Blocks
from shoal.pair import Pair
from shoal.risk import record_linkage, reidentification_attack
from shoal.rng import secret, stream

__all__ = ["Chained", "Coder", "Mask", "run_chain"]

Mask: TypeAlias = BlindMask | AwareMask | ColumnMask


@dataclass(frozen=True, slots=True, kw_only=True)
class Coder:
    """The codes of the columns that masks write: all quasi-identifiers, and the sensitive ones that are named."""

    quasi: Encoder
    responses: Encoder

    @classmethod
    def of(cls, prepared: Prepared, responses: Sequence[str] = ()) -> Coder:
        """Learn them from a whole table."""
        return cls(quasi=Encoder.of(prepared, prepared.schema.quasi), responses=Encoder.of(prepared, responses))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chained:
    """What a chain of masks wrote: codes and groups in prepared row order, and what is to be said of them."""

    codes: FloatArray
    response_codes: FloatArray
    labels: IntArray
    caveats: tuple[str, ...]
    claims: tuple[Claim, ...]
    steps: tuple[Step, ...]
    literal: frozenset[str] = frozenset()
    sources: Mapping[str, IntArray] = field(default_factory=dict)


def run_chain(
    grouper: Grouper,
    masks: Sequence[Mask],
    prepared: Prepared,
    coder: Coder,
    grouping: Grouping,
    *,
    seed: int,
    key: str,
    names: tuple[int, ...] = (),
    handed: Blocks = (),
) -> Chained:
    """Apply the masks in turn to a grouper's groups; one that is still too small at the end is a GuaranteeError.

    Masks draw from the seed; which record of a group gets which row comes from the secret key. `names` tell the draws
    of several parts of a table apart.
    """
    state = Masking(
        prepared=prepared,
        encoder=coder.quasi,
        codes=coder.quasi.own_codes(prepared),
        labels=grouping.labels,
        minimum=grouper.k,
        responses=coder.responses,
        response_codes=coder.responses.own_codes(prepared),
    )
    runs = list(_runs(masks, handed))
    watched = not all(run.is_blind for run in runs)
    steps = [_measured("before any mask", state)] if watched else []
    caveats: list[str] = []
    claims: tuple[Claim, ...] = ()
    for run in runs:
        caveats += run.caveats(state)
        claims = run.claims(state) if len(masks) == 1 else ()
        n_said = len(state.records)
        state = run.apply(state, seed, key, names)
        steps += [_measured(run.name, state, state.records[n_said:])] if watched else []
    _require_sizes(grouper, state)
    return Chained(
        codes=state.codes,
        response_codes=state.response_codes,
        labels=state.labels,
        caveats=tuple(dict.fromkeys(caveats)),
        claims=claims,
        steps=tuple(steps),
        literal=state.literal,
        sources=state.sources,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One mask, or blind masks that follow each other; `first` is the place of the first in the chain.

    `handed` are the blocks that a mask of columns hands round.
    """

    first: int
    masks: tuple[Mask, ...]
    handed: Blocks = ()

    @property
    def is_blind(self) -> bool:
        return not self.masks[0].is_aware

    @property
    def sees_sets(self) -> bool:
        return isinstance(self.masks[0], BlindMask)

    @property
    def name(self) -> str:
        return ", then ".join(mask.name for mask in self.masks)

    def caveats(self, state: Masking) -> list[str]:
        seen: Any = _sets(state) if self.sees_sets else state
        return [text for mask in self.masks for text in mask.caveats(seen)]

    def claims(self, state: Masking) -> tuple[Claim, ...]:
        mask = self.masks[0]
        return mask.claims(_sets(state)) if isinstance(mask, BlindMask) else mask.claims(state)

    def apply(self, state: Masking, seed: int, key: str, names: tuple[int, ...]) -> Masking:
        if isinstance(self.masks[0], ColumnMask):
            return self.masks[0].hand_out(state, self.handed, key, (self.first, *names))
        streams = [stream(seed, "mask", self.first + i, *names) for i in range(len(self.masks))]
        mask = self.masks[0]
        if isinstance(mask, AwareMask):
            return mask.apply(state, streams[0])
        blind = [mask for mask in self.masks if isinstance(mask, BlindMask)]
        drawn = draw_chain(blind, _sets(state), streams)
        return state.holding(pair_up(drawn, state.labels, secret(key, "pairing", self.first, *names)))


def _runs(masks: Sequence[Mask], handed: Blocks) -> Iterator[_Run]:
    blind: list[Mask] = []
    for i, mask in enumerate(masks):
        if isinstance(mask, BlindMask):
            blind.append(mask)
            if i + 1 < len(masks) and isinstance(masks[i + 1], BlindMask):
                continue
            yield _Run(first=i + 1 - len(blind), masks=tuple(blind))
            blind = []
        else:
            yield _Run(first=i, masks=(mask,), handed=handed)


def _sets(state: Masking) -> ValueSets:
    return ValueSets.of(state.codes, state.labels, state.encoder, state.prepared.weights())


def _measured(name: str, state: Masking, said: Sequence[Mapping[str, Any]] = ()) -> Step:
    """What an intruder achieves on the table as it is now, and what the last mask has to say."""
    prepared, encoder = state.prepared, state.encoder
    pair = Pair(
        original=prepared,
        released=prepared.frame,
        source_rows=np.arange(prepared.n),
        encoder=encoder,
        original_codes=encoder.own_codes(prepared),
        released_codes=state.codes,
    )
    return Step(
        name=name,
        details=dict(said[-1] if said else {}),
        reidentification=reidentification_attack.measure(pair, trials=1).expected,
        linkage=record_linkage.measure(pair).share,
    )


def _require_sizes(grouper: Grouper, state: Masking) -> None:
    small = state.persons() < grouper.k
    if small.any():
        n_records = int(state.sizes[small].sum())
        raise GuaranteeError(
            type(grouper).__name__,
            f"leaves records in groups of fewer than {grouper.k} persons",
            got=f"{n_records} records in {int(small.sum())} groups",
            hint="Put PushBack first in the chain of masks (--mask push-back), or choose larger radii.",
        )
