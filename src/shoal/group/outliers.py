"""Who stands out: how many persons `Ball` would leave in small groups, without changing anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.conform import Prepared, prepare
from shoal.distance.radius import radii_of
from shoal.errors import GuaranteeError
from shoal.group.ball import Ball, Scene
from shoal.params import check
from shoal.schema import Schema

__all__ = ["Outliers", "outliers", "outliers_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers:
    """How many persons stand out at one radius.

    Parameters
    ----------
    radius
        As it was given.
    radii
        The radius of each column in its own units; None where every distance is near enough.
    minimum
        Persons that a group must hold not to be small.
    n_persons, n_groups, n_small_groups
        How many there are.
    n_outliers, n_alone
        Persons in small groups, and those of them who are near nobody else that is left.
    """

    releasable: ClassVar[bool] = False

    radius: str
    radii: dict[str, float | None]
    minimum: int
    n_persons: int
    n_groups: int
    n_small_groups: int
    n_outliers: int
    n_alone: int

    @property
    def outlier_share(self) -> float:
        """Share of the persons that stand out."""
        return self.n_outliers / self.n_persons

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-safe words."""
        return {**asdict(self), "outlier_share": self.outlier_share}


def outliers(
    table: Any,
    schema: Schema,
    radius: float | Mapping[str, float] | None = None,
    *,
    minimum: int = 5,
    shape: Literal["clique", "ball"] = "clique",
) -> Outliers:
    """Count the persons of small groups at a radius; None lets the data suggest one (`Ball.suggest`).

    Notes
    -----
    Parameters, missing values, units and cost are those of `Ball`. Survey weights are not used.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.group.outliers import outliers
    >>> table = pl.DataFrame({"age": [28, 29, 21, 23, 50]})
    >>> found = outliers(table, shoal.Schema.of(quasi=["age"]), {"age": 10}, minimum=3)
    >>> found.n_outliers, found.n_persons
    (1, 5)
    """
    return outliers_of(prepare(table, schema), Ball(radius=radius, minimum=minimum, shape=shape))


def outliers_of(prepared: Prepared, ball: Ball) -> Outliers:
    """`outliers` of a table that is prepared already."""
    check(ball)
    scene = Scene.of(prepared, 0)
    n = len(scene.positions)
    if n < ball.minimum:
        raise GuaranteeError(
            "outliers", f"needs at least minimum = {ball.minimum} persons", got=f"{n}", hint="Lower minimum."
        )
    radius = ball.suggested(scene) if ball.radius is None else ball.radius
    sizes = np.bincount(ball.cover(scene, radius))
    small = sizes < ball.minimum
    radii = radii_of(radius, scene.spaces, "outliers")
    return Outliers(
        radius=f"{radius:g}" if isinstance(radius, float | int) else "by column",
        radii={s.name: float(r) if np.isfinite(r) else None for s, r in zip(scene.spaces, radii, strict=True)},
        minimum=ball.minimum,
        n_persons=n,
        n_groups=len(sizes),
        n_small_groups=int(small.sum()),
        n_outliers=int(sizes[small].sum()),
        n_alone=int((sizes == 1).sum()),
    )
