"""The demonstration: nine ways to protect a simulated health survey, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.coarsening import Generalize, Mondrian
from shoal.datasets import health_survey, health_survey_schema
from shoal.group import Ball, KMember
from shoal.mask import CellDither, Centroid, GaussianDither, PushBack, Resample, Shuffle
from shoal.release import Release, anonymize, coarsen

__all__ = ["SHOWN", "Trial", "recipes", "trials"]

SHOWN = "gaussian-dither"
"""The trial whose release is written to look at."""

Make = Callable[[Any, Any, int], Release]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One method tried on the survey."""

    name: str
    release: Release
    seconds: float


def recipes(k: int) -> Mapping[str, Make]:
    """The methods of the demonstration by name."""
    masks = {
        "centroid": Centroid(),
        "resample": Resample(),
        "resample, replace=false": Resample(replace=False),
        "cell-dither": CellDither(),
        SHOWN: GaussianDither(),
        "gaussian-dither, exact": GaussianDither(exact=True),
    }
    ball = Ball(radius=0.4, minimum=k)
    return {
        **{name: _masked(KMember(k=k), mask) for name, mask in masks.items()},
        "ball, push-back, shuffle": _masked(ball, [PushBack(), Shuffle()]),
        "mondrian": lambda table, schema, seed: coarsen(table, schema, Mondrian(k=k), seed=seed),
        "generalize": lambda table, schema, seed: coarsen(table, schema, Generalize(k=k), seed=seed),
    }


def trials(n: int, k: int, seed: int, progress: Callable[[str], None]) -> list[Trial]:
    """Release the survey once with every method."""
    table, schema = health_survey(n, seed), health_survey_schema()
    done = []
    for name, make in recipes(k).items():
        progress(name)
        start = time.perf_counter()
        release = make(table, schema, seed)
        done.append(Trial(name=name, release=release, seconds=time.perf_counter() - start))
        _ = release.risk, release.utility
    return done


def _masked(group: Any, mask: Any) -> Make:
    return lambda table, schema, seed: anonymize(table, schema, group=group, mask=mask, seed=seed)
