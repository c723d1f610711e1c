"""Ball: records that are near each other in every column, and those that are near nobody.

Each column has its own metric d_j (see `shoal.distance`) and its own radius ε_j. A group is a set of records in which
every pair is near (Miche et al., "Data Anonymization as a Vector Quantization Problem", 2016):

    d_j(a_i, a_i') ≤ ε_j      for all i, i' of the group and all columns j.                  (2)

So each ε_j bounds a group's diameter: the group is a box, not a ball, and no chain of near records can stretch it. (2)
does not say which groups to form; here the densest record comes first, with all that can join it, then the densest of
the rest (`shoal.group.ball_cover`). With ``shape="ball"`` records are near the seed instead of near each other.

Promised: (2), or with ``shape="ball"`` its reading around the seed. **Not** promised: `minimum` records in each group.
A record that is near nobody is alone; it stands out, and a mask has to see to it (`PushBack`). The paper calls (2)
differential privacy. It isn't, and no such claim is made.

Who stands out: how many persons `Ball` would leave in small groups, without changing anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared, prepare
from shoal.distance.medoid import person_positions
from shoal.distance.radius import Radius, radii_of, read_radius
from shoal.distance.space import Spaces
from shoal.encode import Encoder
from shoal.errors import GuaranteeError, ParameterError, SchemaError
from shoal.group.grouper import NO_HANDING, Grouper, Grouping, Handing, canonical_order
from shoal.group.points import Points
from shoal.method import ReportText
from shoal.params import Help, Range, check
from shoal.record import Record
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["Ball", "Outliers", "Scene", "outliers", "outliers_of"]

Shape = Literal["clique", "ball"]
_STEPS = 64  # a suggested radius is a multiple of 1/64
_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball(Grouper):
    """Group records that are near each other in every column; leave those that aren't in small groups.

    Parameters
    ----------
    radius
        How near is near. A number from 0 to 1 is a common radius in mapped units, 0.3 say; a mapping gives every
        quasi-identifier its radius in its own units (a nominal mismatch is 1). None lets the data suggest a common
        one. Raising it makes fewer, wider groups and leaves fewer records in small ones.
    minimum
        How many smaller groups count as small. Raising it makes more records stand out.
    shape
        ``"clique"``: every pair of a group is within the radius. ``"ball"``: every record is within the radius of the
        group's seed, so two of them can be twice as far apart.

    Notes
    -----
    Deterministic up to ties, which the seed decides. A missing category is a level of its own; missing numbers follow
    the schema. Where the schema names a unit, persons are grouped (each at the mean of their numbers and the most
    frequent of their levels), and (2) holds for persons. Survey weights are not used. Cost: one search in a tree of
    boxes per record and per group, memory linear in records; 100,000 records of 8 columns take about ten seconds. A
    suggested radius costs some six groupings.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [28, 29, 21, 23, 50], "zip": [13053, 13068, 13068, 13053, 14853]})
    >>> schema = shoal.Schema.of(quasi=["age", "zip"])
    >>> shoal.Ball(radius={"age": 10, "zip": 20}, minimum=4).assign(table, schema, seed=1).tolist()
    [0, 0, 0, 0, 1]
    """

    title = "balls of one radius"
    summary = (
        "Groups of records within a given distance of each other, for any columns with a distance; isolated "
        "records stay alone."
    )
    promise = "Records of a group are within the radius in every column; small groups must be fixed by a mask."
    report_text = ReportText(
        done=(
            "People were gathered in groups that are near each other in every quasi-identifier "
            "(epsilon-balls); groups of fewer than {k} were left to be moved."
        ),
    )
    rank = 6

    leaves_small: ClassVar[bool] = True
    maps_distances: ClassVar[bool] = True
    size_parameter: ClassVar[str] = "minimum"

    radius: Annotated[
        float | Mapping[str, float] | None,
        Range(low=0, high=1),
        Help("radius: one number in mapped units, or column=radius/...; none: chosen from the data"),
    ] = None
    minimum: Annotated[int, Range(low=2), Help("smaller groups count as small")] = 5
    shape: Annotated[Shape, Help("every pair within the radius, or every record within the radius of the seed")] = (
        "clique"
    )

    @property
    def k(self) -> int:  # type: ignore[override]
        """The `minimum`."""
        return self.minimum

    @classmethod
    def suggest(
        cls, table: Any, schema: Schema, minimum: int = 5, share: float = _SHARE, shape: Shape = "clique"
    ) -> float:
        """The smallest common radius, in steps of 1/64, that leaves at most `share` of the persons in small groups.

        It is found by halving: the share falls as the radius grows, though not strictly, so a smaller radius may
        also do. Where many records tie, another seed can leave a few more.

        Examples
        --------
        >>> import shoal
        >>> table = shoal.datasets.health_survey(500, seed=1)
        >>> radius = shoal.Ball.suggest(table, shoal.datasets.health_survey_schema(), share=0.1)
        >>> 0 < radius <= 1
        True
        """
        if not 0 <= share <= 1:
            raise ParameterError("Ball.suggest", "share must be from 0 to 1", got=repr(share)[:40])
        ball = cls(minimum=minimum, shape=shape)
        check(ball)
        scene = Scene.of(prepare(table, schema), 0)
        ball._check_size(len(scene.positions))
        return ball.suggested(scene, share)

    def group(self, prepared: Prepared, seed: int, handing: Handing = NO_HANDING) -> Grouping:
        """Group a prepared table."""
        check(self)
        scene = Scene.of(prepared, seed)
        self._check_size(len(scene.positions))
        radius = self.suggested(scene) if self.radius is None else read_radius(self.radius, "Ball")
        labels = self.cover(scene, radius)
        self._check_tight(scene, labels)
        return Grouping(labels=scene.rows(labels), notes=self._notes(scene, radius, labels))

    def cover(self, scene: Scene, radius: Radius) -> IntArray:
        """Labels of the persons of a scene at a radius, whatever `radius` says."""
        from shoal.group.ball_cover import cover

        radii = radii_of(radius, scene.spaces, "Ball")
        return cover(scene.positions, scene.spaces.packed, radii, clique=self.shape == "clique")

    def suggested(self, scene: Scene, share: float = _SHARE) -> float:
        """`suggest` for a scene."""
        most = share * len(scene.positions)

        def enough(step: int) -> bool:
            radius = step / _STEPS
            if self.shape == "clique" and _crowdless(scene, radius, self.minimum) > most:
                return False
            return _in_small(self.cover(scene, radius), self.minimum) <= most

        return _first(enough, _STEPS) / _STEPS

    def _check_tight(self, scene: Scene, labels: IntArray) -> None:
        if labels.max() + 1 < len(labels):
            return
        raise GuaranteeError(
            "Ball",
            "radius is so small that every person is alone",
            hint=f"A common radius of {self.suggested(scene):g} leaves at most {_SHARE:.0%} in small groups.",
        )

    def _notes(self, scene: Scene, radius: Radius, labels: IntArray) -> dict[str, Any]:
        sizes = np.bincount(labels)
        small = sizes < self.minimum
        notes = {
            "radius": f"{radius:g}" if isinstance(radius, float | int) else _spell(radius),
            "radius from": "the data" if self.radius is None else "the recipe",
            "groups": len(sizes),
            "share of persons in small groups": _share_shown(int(sizes[small].sum()), int(sizes.sum()), self.minimum),
        }
        if len(sizes) == 1 and len(np.unique(scene.positions, axis=0)) > 1:
            notes["all persons share one group"] = f"a radius of {self.suggested(scene):g} would divide them"
        return notes

    def _points(self, prepared: Prepared) -> Points:
        return Points.of(Scene.of(prepared, 0).positions)

    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        raise NotImplementedError("Ball compares values column by column: see group")

    def _check_size(self, n_persons: int) -> None:
        if n_persons < self.minimum:
            raise GuaranteeError(
                "Ball",
                f"needs at least minimum = {self.minimum} persons",
                got=f"{n_persons}",
                hint="Lower minimum or add records.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The persons of a table as positions in metric spaces, in canonical order."""

    spaces: Spaces
    positions: FloatArray
    order: IntArray
    units: IntArray

    @classmethod
    def of(cls, prepared: Prepared, seed: int) -> Scene:
        """Take the quasi-identifiers of a prepared table."""
        names = prepared.schema.quasi
        if not names:
            raise SchemaError("schema", "must name at least one quasi-identifier to group by")
        encoder = Encoder.of(prepared, names)
        codes = encoder.own_codes(prepared)
        spaces, units = Spaces.fit(prepared.schema, encoder, codes), prepared.units()
        persons = person_positions(spaces.positions(codes), spaces, units)
        order = canonical_order(persons, stream(seed, "order"))
        return cls(spaces=spaces, positions=np.ascontiguousarray(persons[order]), order=order, units=units)

    def rows(self, labels: IntArray) -> IntArray:
        """Labels of persons in canonical order, as labels of rows in the table's order."""
        out = np.empty_like(labels)
        out[self.order] = labels
        return out[self.units]


def _in_small(labels: IntArray, minimum: int) -> int:
    sizes = np.bincount(labels)
    return int(sizes[sizes < minimum].sum())


def _crowdless(scene: Scene, radius: float, minimum: int) -> int:
    """A lower bound of the persons in small groups, cheaper than the grouping."""
    from shoal.group.ball_cover import least_small

    return least_small(scene.positions, scene.spaces.packed, radii_of(radius, scene.spaces, "Ball"), minimum)


def _first(enough: Callable[[int], bool], last: int) -> int:
    """By halving, a step from 0 to `last` that is enough while the one before it isn't; `last` always is."""
    low, high = -1, last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _share_shown(few: int, n: int, k: int) -> str:
    """A share of persons, without telling of 1 to k − 1 of them: notes leave the secure environment."""
    return f"under {k / n:.2%}" if 0 < few < k else f"{few / n:.2%}"


def _spell(radius: Any) -> str:
    return "/".join(f"{name}={value:g}" for name, value in radius.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers(Record):
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
    derived: ClassVar[tuple[str, ...]] = ("outlier_share",)

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
    >>> from shoal.group.ball import outliers
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
