"""The demonstration: every mask on a simulated health survey, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from shoal.datasets import health_survey, health_survey_schema
from shoal.group import KMember
from shoal.mask import BlindMask, CellDither, Centroid, GaussianDither, Resample
from shoal.recipe import spell
from shoal.release import Release, anonymize

__all__ = ["MASKS", "Trial", "trials"]

MASKS: tuple[BlindMask, ...] = (
    Centroid(),
    Resample(),
    Resample(replace=False),
    CellDither(),
    GaussianDither(),
    GaussianDither(exact=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One mask tried on the survey."""

    mask: BlindMask
    release: Release
    seconds: float

    @property
    def name(self) -> str:
        """The mask, with what differs from its defaults."""
        shown = spell(self.mask).split(",")
        plain = spell(type(self.mask)()).split(",")
        changed = [part.rpartition(":")[2] for part, usual in zip(shown, plain, strict=True) if part != usual]
        return ", ".join([shown[0].partition(":")[0], *(part.removesuffix("=true") for part in changed)])


def trials(n: int, k: int, seed: int, progress: Callable[[str], None]) -> list[Trial]:
    """Anonymise the survey once with every mask."""
    table, schema = health_survey(n, seed), health_survey_schema()
    done = []
    for mask in MASKS:
        progress(spell(mask).partition(":")[0])
        start = time.perf_counter()
        release = anonymize(table, schema, group=KMember(k=k), mask=mask, seed=seed)
        done.append(Trial(mask=mask, release=release, seconds=time.perf_counter() - start))
        _ = release.risk, release.utility
    return done
