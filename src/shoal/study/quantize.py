"""Anonymization as vector quantization (Miche et al. 2016), tried out: the paper shows no experiment, so this is the
first.

Two tables. The paper's **toy table**, whose fifth record is to be found and blended in. And simulated patients in eight
columns of five metrics, with **planted outliers** 12 to 60 standard deviations out. Asked of each option:

- *recall*: are the planted found, at which radius, and how many others stand out with them;
- *distortion*: how far a record moved, Σ_j map_j(d_j(before, after)), over all records and over the planted;
- *shape*: KL of the distances to the centre in each large cluster of the original, its members before and all who
  are in it after (largest and median);
- *linkage*: share of released records whose nearest or second nearest original is their own, after every step.

What it shows: pushing outliers back protects the outliers. Everybody else stays as linkable as before until something
stirs the clusters.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.conform import Prepared, prepare
from shoal.distance import Metric
from shoal.distance.mapped_column import MappedColumn
from shoal.distance.medoid import medoids
from shoal.distance.radius import radii_of
from shoal.distance.space import Spaces
from shoal.encode import Encoder
from shoal.errors import GuaranteeError
from shoal.group.ball import Ball, Scene
from shoal.mask.aware import AwareMask, Masking
from shoal.mask.flatten import Flatten
from shoal.mask.push_back import PushBack
from shoal.mask.shape_divergence import changed_shapes
from shoal.mask.shuffle import Shuffle
from shoal.params import Help, Range, check
from shoal.risk import linkage
from shoal.rng import stream
from shoal.schema import Schema
from shoal.study.study import Flag, Progress, quiet

__all__ = [
    "CHAINS",
    "TOY_RADIUS",
    "Found",
    "Planted",
    "QuantizeStudy",
    "Settings",
    "Step",
    "planted",
    "run",
    "toy",
]

CHAINS: dict[str, tuple[AwareMask, ...]] = {
    "nothing": (),
    "push-back to an element": (PushBack(),),
    "push-back to the centroid": (PushBack(to="centroid"),),
    "push-back to noise": (PushBack(to="noise", divergence=1.0),),
    "push-back, strict": (PushBack(strict=True),),
    "push-back, then shuffle 0.05": (PushBack(), Shuffle(divergence=0.05)),
    "push-back, then shuffle 0.5": (PushBack(), Shuffle(divergence=0.5)),
    "push-back, then shuffle 0.05, earth mover's": (PushBack(), Shuffle(divergence=0.05, measure="emd")),
    "push-back, then shuffle 0.05, diagnosis × 3": (PushBack(), Shuffle(divergence=0.05, importance={"diagnosis": 3})),
    "push-back, then shuffle numbers": (
        PushBack(),
        Shuffle(columns=["glucose", "pressure", "weight"], divergence=0.05, change=0.0),
    ),
    "push-back, then flatten": (PushBack(), Flatten()),
}
RADII = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How large the study is."""

    n: Annotated[int, Range(low=200), Flag("--rows"), Help("Number of records in the simulated table.")] = 3000
    share: Annotated[float, Range(above=0, high=0.2), Help("Share of planted outliers.")] = 0.01
    minimum: Annotated[int, Range(low=2), Help("Smaller groups count as small.")] = 5
    seed: Annotated[int, Range(low=0), Help("Random seed.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Who stands out at one radius."""

    radius: float
    shape: str
    recall: float
    others_share: float
    n_groups: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one chain of masks does; `refused` says why it didn't, `reached` is the largest divergence of a shuffle."""

    name: str
    linkage: float | None = None
    linkage_planted: float | None = None
    distortion: float | None = None
    distortion_planted: float | None = None
    changed_share: float | None = None
    shape_median: float | None = None
    shape_largest: float | None = None
    out_again: float | None = None
    outside_share: float | None = None
    reached: float | None = None
    seconds: float = 0.0
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizeStudy:
    """All numbers of the study."""

    settings: Settings
    toy: Mapping[str, Sequence[Mapping[str, Any]]]
    radius: float
    found: tuple[Found, ...]
    steps: tuple[Step, ...]
    mapped: tuple[MappedColumn, ...]

    def to_dict(self) -> dict[str, Any]:
        """The study as JSON-safe words."""
        return asdict(self)


def run(settings: Settings | None = None, progress: Progress = quiet) -> QuantizeStudy:
    """Run the study.

    Examples
    --------
    ``run(Settings(n=300)).toy`` holds the paper's table of persons after each step.

    >>> from shoal.study.quantize import Settings
    >>> Settings(n=300).n
    300
    """
    chosen = settings or Settings()
    check(chosen)
    data = planted(chosen.n, share=chosen.share, seed=chosen.seed)
    experiment = _Experiment.of(data, chosen)
    steps = []
    for i, (name, masks) in enumerate(CHAINS.items()):
        progress(i, len(CHAINS) + 1)
        steps.append(experiment.step(name, masks))
    progress(len(CHAINS), len(CHAINS) + 1)
    return QuantizeStudy(
        settings=chosen,
        toy=_toy_tables(chosen.seed),
        radius=experiment.radius,
        found=tuple(
            experiment.found(radius, shape) for shape in ("clique", "ball") for radius in (*RADII, experiment.radius)
        ),
        steps=tuple(steps),
        mapped=tuple(
            MappedColumn.of(s, x, stream(chosen.seed, "pairs", s.name))
            for s, x in zip(experiment.spaces, experiment.positions.T, strict=True)
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Experiment:
    """The simulated table, ready for one chain after another."""

    settings: Settings
    data: Planted
    prepared: Prepared
    scene: Scene
    state: Masking
    spaces: Spaces
    positions: FloatArray
    radius: float

    @classmethod
    def of(cls, data: Planted, settings: Settings) -> _Experiment:
        prepared = prepare(data.table, data.schema)
        scene = Scene.of(prepared, settings.seed)
        ball = Ball(minimum=settings.minimum)
        radius = ball.suggested(scene)
        encoder = Encoder.of(prepared, prepared.schema.quasi)
        codes = encoder.codes(prepared.frame)
        labels = scene.rows(ball.cover(scene, radius))
        state = Masking(prepared=prepared, encoder=encoder, codes=codes, labels=labels, minimum=settings.minimum)
        spaces = Spaces.fit(prepared.schema, encoder, codes)
        return cls(
            settings=settings, data=data, prepared=prepared, scene=scene, state=state, spaces=spaces,
            positions=spaces.positions(codes), radius=radius,
        )  # fmt: skip

    def found(self, radius: float, shape: str) -> Found:
        labels = self.scene.rows(Ball(shape=shape).cover(self.scene, radius))  # type: ignore[arg-type]
        small = self._small(labels)
        return Found(
            radius=radius,
            shape=shape,
            recall=float(small[self.data.far].mean()),
            others_share=float(small[~self.data.far].mean()),
            n_groups=int(labels.max()) + 1,
        )

    def step(self, name: str, masks: Sequence[AwareMask]) -> Step:
        """Run a chain and measure what it left."""
        begun = time.perf_counter()
        state = self.state
        try:
            for i, mask in enumerate(masks):
                state = mask.apply(state, stream(self.settings.seed, "mask", i))
        except GuaranteeError as error:
            return Step(name=name, refused=str(error), seconds=time.perf_counter() - begun)
        return self._measured(name, state, time.perf_counter() - begun)

    def _measured(self, name: str, state: Masking, seconds: float) -> Step:
        far, positions = self.data.far, self.spaces.positions(state.codes)
        moved = self.spaces.joint(self.positions, positions)
        shape = self._shape(state, positions)
        records = {record["mask"]: record for record in state.records}
        return Step(
            name=name,
            linkage=self._linkage(state, np.ones(len(far), dtype=np.bool_)),
            linkage_planted=self._linkage(state, far),
            distortion=float(moved.mean()),
            distortion_planted=float(moved[far].mean()),
            changed_share=float((positions != self.positions).mean()),
            shape_median=float(np.median(shape)),
            shape_largest=float(shape.max()),
            out_again=float(self._out_again(state)[far].mean()),
            outside_share=records.get("push-back", {}).get("outside_range_share"),
            reached=records.get("shuffle", {}).get("divergence", {}).get("largest"),
            seconds=seconds,
        )

    def _linkage(self, state: Masking, rows: BoolArray) -> float:
        frame = state.encoder.decode(state.codes, self.prepared.frame, self.prepared.frame).to_native()
        kept = np.flatnonzero(rows)
        return float(linkage(self.data.table, frame[kept], self.data.schema, source_rows=kept))

    def _shape(self, state: Masking, positions: FloatArray) -> FloatArray:
        """KL of each large cluster of the original: its members before, all who are in it after, around one centre."""
        labels = self.state.labels
        large = np.flatnonzero(~self._small(labels))
        own = np.unique(labels[large], return_inverse=True)[1].reshape(-1)
        centers = medoids(self.positions[large], own, self.spaces)
        now = np.full(int(state.labels.max()) + 1, -1, dtype=np.int64)
        now[state.labels[large]] = own
        rows = np.flatnonzero(now[state.labels] >= 0)
        later = now[state.labels[rows]]
        return changed_shapes(
            self.spaces.joint(self.positions[large], centers[own]), own,
            self.spaces.joint(positions[rows], centers[later]), later,
        )  # fmt: skip

    def _out_again(self, state: Masking) -> BoolArray:
        """Who stands out of the release, by the radii of the original."""
        radii = radii_of(self.radius, self.spaces, "study")
        frame = state.encoder.decode(state.codes, self.prepared.frame, self.prepared.frame).to_native()
        given = {space.name: float(r) for space, r in zip(self.spaces, radii, strict=True)}
        ball = Ball(radius=given, minimum=self.settings.minimum)
        return self._small(ball.assign(frame, self.data.schema, seed=self.settings.seed))

    def _small(self, labels: IntArray) -> BoolArray:
        out: BoolArray = np.bincount(labels)[labels] < self.settings.minimum
        return out


def _toy_tables(seed: int) -> dict[str, list[dict[str, Any]]]:
    """The toy table, and what each way of pushing back makes of it."""
    table, schema = toy()
    prepared = prepare(table, schema)
    encoder = Encoder.of(prepared, schema.quasi)
    labels = Ball(radius=TOY_RADIUS, minimum=4).group(prepared, seed).labels
    state = Masking(prepared=prepared, encoder=encoder, codes=encoder.codes(prepared.frame), labels=labels, minimum=4)
    out = {"original": table.to_dicts()}
    for name in ("push-back to an element", "push-back to the centroid", "push-back to noise"):
        done = CHAINS[name][0].apply(state, stream(seed, "toy", name))
        written = encoder.decode(done.codes, prepared.frame, prepared.frame).to_native()
        out[name] = pl.DataFrame(written).to_dicts()
    return out


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
