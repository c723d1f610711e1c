"""Data for the vector-quantization study: the paper's toy table, and a mixed-type one with planted outliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.distance import Metric
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["TOY_RADIUS", "Planted", "planted", "toy"]

TOY_RADIUS = {"zip": 20.0, "age": 10.0, "nationality": 1.0}

_CODES = ("E10", "E11", "E66", "I10", "I20", "I21", "I25", "I50", "J44", "J45", "C34", "C50", "M16", "M17", "N18")
_PLACES = ("north", "east", "south", "west", "centre", "islands")
_AT = np.array([[0, 2], [2, 0], [0, -2], [-2, 0], [0, 0], [4, -4]], dtype=np.float64)
_KINDS = 6
_FAR = (12.0, 60.0)  # standard deviations


class Planted(NamedTuple):
    """A table, its schema, and which of its records were planted far away."""

    table: pl.DataFrame
    schema: Schema
    far: BoolArray


def toy() -> tuple[pl.DataFrame, Schema]:
    """Table 1 of the paper: five patients, of whom the last stands out."""
    table = pl.DataFrame(
        {
            "zip": [13053, 13068, 13068, 13053, 14853],
            "age": [28, 29, 21, 23, 50],
            "nationality": ["Russian", "American", "Japanese", "American", "Indian"],
            "condition": ["Heart Disease", "Heart Disease", "Viral Infection", "Viral Infection", "Cancer"],
        }
    )
    return table, Schema.of(quasi=["zip", "age", "nationality"], sensitive=["condition"])


def planted(n: int = 4000, *, share: float = 0.01, seed: int = 0) -> Planted:
    """Simulated patients of six kinds in eight columns of five metrics, a `share` of them moved far away.

    The planted ones lie 12 to 60 standard deviations out in two or three of the three numbers, each at a place of its
    own; their other columns are as everybody's.
    """
    rng = stream(seed, "planted")
    kind = rng.integers(0, _KINDS, n)
    numbers = _numbers(kind, rng)
    far = np.zeros(n, dtype=np.bool_)
    far[rng.choice(n, round(share * n), replace=False)] = True
    numbers[far] += _shifts(int(far.sum()), rng)
    table = pl.DataFrame(
        {
            "glucose": (100 + 15 * numbers[:, 0]).round(1),
            "pressure": (120 + 12 * numbers[:, 1]).round(1),
            "weight": (75 + 10 * numbers[:, 2]).round(1),
            "education": np.array(["none", "school", "college", "degree"])[_level(kind, 4, rng)],
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "smoker": np.array(["no", "yes"])[(rng.random(n) < 0.15 + 0.1 * (kind % 3)).astype(np.int64)],
            "place": np.array(_PLACES)[_level(kind, len(_PLACES), rng)],
            "diagnosis": np.array(_CODES)[_level(kind, len(_CODES), rng)],
            "cost": np.exp(7 + 0.4 * kind / _KINDS + rng.normal(size=n)).round(2),
        }
    )
    return Planted(table=table, schema=_schema(), far=far)


def _numbers(kind: IntArray, rng: Generator) -> FloatArray:
    centers: FloatArray = rng.normal(scale=1.5, size=(_KINDS, 3))
    spread: FloatArray = rng.normal(scale=0.7, size=(len(kind), 3))
    return centers[kind] + spread


def _shifts(n: int, rng: Generator) -> FloatArray:
    size: FloatArray = rng.uniform(*_FAR, size=(n, 3)) * rng.choice([-1.0, 1.0], size=(n, 3))
    size[np.arange(n), rng.integers(0, 3, n)] *= rng.integers(0, 2, n)  # one of the three may stay
    return size


def _level(kind: IntArray, n_levels: int, rng: Generator) -> IntArray:
    """A level that is near a place of its kind's own."""
    own = (kind * n_levels) // _KINDS
    near: IntArray = (own + rng.binomial(2, 0.35, len(kind))) % n_levels
    return near


def _schema() -> Schema:
    distances = np.sqrt(((_AT[:, None] - _AT) ** 2).sum(axis=2)).round(3)
    return Schema.of(
        quasi=["glucose", "pressure", "weight", "education", "sex", "smoker", "place", "diagnosis"],
        sensitive=["cost"],
        kinds={"education": "ordinal"},
        levels={"education": ["none", "school", "college", "degree"]},
        metrics={
            "place": Metric.matrix(_PLACES, distances),
            "diagnosis": Metric(kind="tree", lengths=(1, 3)),
        },
    )
