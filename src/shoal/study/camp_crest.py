"""The experiments of Li and Sarkar, "Class Restricted Clustering and Micro-Perturbation for Data Privacy" (2013).

What it repeats: Table 1 (benchmark, Partial CAMP-CREST and CAMP-CREST at about 5% and 1% linkage) and Figure 5 (ABICO
against linkage). For each grouping and masking k grows by about 1.4 from 2 until linkage falls to the level; the first
k that does is the row of the table.

How it differs: the paper compares t-close groups with mean substitution against class restricted groups with
micro-perturbation, which mixes two things. Here **every grouping meets every masking**, so that a gain can be laid at
the door of one or the other. t-closeness comes with a t and with a quarter of it, for its mix depends on t. X² stands
beside C − 1, its value for groups drawn at random. Relative biases divide by means and correlations that may be near
0, so the absolute difference of correlations stands beside them. And two measures that the paper lacks say what evenly
mixed, wide groups cost: SSE/SST, and how much of the link between quasi-identifiers and class is left,

    link kept = Σ r(Y_j, c) r(X_j, c) / Σ r(X_j, c)²,

over numeric and ordinal quasi-identifiers j and classes c (0-1 coded): 1 is all of it, 0 nothing; mean
substitution, which inflates correlations, can exceed 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared, prepare
from shoal.datasets import nmes1988
from shoal.encode import Encoder
from shoal.errors import InputError, ParameterError
from shoal.group import MDAV, MST, Crest, Grouper, KMember, TCloseMST
from shoal.group.mix import class_codes, class_names, compound
from shoal.mask import BlindMask, Centroid, MicroPerturb, ValueSets, pair_up
from shoal.pair import Pair
from shoal.params import Help, Range, check
from shoal.risk import ClassMix, class_mix
from shoal.risk.record_linkage import Scale
from shoal.risk.record_linkage import measure as linkage_of
from shoal.rng import stream
from shoal.schema import Schema
from shoal.study.camp_crest_average import KS, Way, compare_ways, three_classes
from shoal.study.study import Flag, Progress, quiet
from shoal.utility.moment import moments_of

__all__ = [
    "GROUPERS",
    "LEVELS",
    "MASKS",
    "RIVALS",
    "CampCrestStudy",
    "Point",
    "Settings",
    "first_at",
    "group_sizes",
    "medicare",
    "run",
    "simulated",
]

LEVELS = (0.05, 0.01)
MASKS: dict[str, BlindMask] = {
    "centroid": Centroid(),
    "published": MicroPerturb(noise="published"),
    "centred": MicroPerturb(noise="centred"),
    "exact": MicroPerturb(noise="exact"),
    "hybrid": MicroPerturb(noise="hybrid"),
}
GROUPERS: dict[str, Callable[[int, float], Grouper]] = {
    "MST": lambda k, t: MST(k=k),
    "TCloseMST": lambda k, t: TCloseMST(k=k, t=t),
    "TCloseMST strict": lambda k, t: TCloseMST(k=k, t=t / 4),
    "Partial CREST": lambda k, t: Crest(k=k, alpha=1.0),
    "CREST": lambda k, t: Crest(k=k),
    "MDAV": lambda k, t: MDAV(k=k),
    "KMember": lambda k, t: KMember(k=k),
}

RIVALS = ("Partial CREST", "TCloseMST", "TCloseMST strict")
"""The groupings that CREST is held against, over parts of the file too."""

_NEAR = (0.5, 1.5)  # times a level: farther from every level one draw is enough


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of a study. More draws steady them; a smaller growth comes nearer to each level and takes longer;
    a lower t evens the class mix of TCloseMST and makes its groups larger ("TCloseMST strict" takes a quarter of it).
    """

    levels: Annotated[tuple[float, ...], Flag("--level"), Help("Linkage levels; repeatable. [default: 0.05, 0.01]")] = (
        LEVELS
    )
    draws: Annotated[int, Range(low=1), Help("Masked files per perturbation; the paper used 5.")] = 2
    growth: Annotated[float, Range(low=1.01, high=4), Help("Factor from one k to the next.")] = 1.4
    t: Annotated[float, Range(low=0, high=1), Help("The t of t-closeness.")] = 0.2
    scale: Annotated[Scale, Help("Unit of numbers in linkage: range, z (standard deviations) or raw (none).")] = "range"
    parts: Annotated[int, Range(low=0), Help("Largest number of disjoint parts for paired intervals.")] = 8
    part_rows: Annotated[int, Range(low=20), Help("Smallest number of records of a part.")] = 200
    n: Annotated[int, Range(low=100), Flag("--rows"), Help("Number of records in the simulated file.")] = 1500
    seed: Annotated[int, Range(low=0), Help("Random seed.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One grouping with one masking at one k, averaged over draws; shares lie in 0..1.

    `seconds` are for grouping and masking once. Losses are None where nothing can be measured.
    """

    grouping: str
    masking: str
    k: int
    draws: int
    seconds: float
    linkage: float
    n_groups: int
    chi_square: float
    homogeneous_groups: int
    homogeneous_share: float
    lone_groups: int
    abim: float | None
    abisd: float | None
    abico: float | None
    correlation_difference: float | None
    sse_sst: float | None
    class_link: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CampCrestStudy:
    """All points of a study. It counts groups of single classes: internal.

    `points` come grouping by grouping, masking by masking, with growing k; `parts` holds those of disjoint random parts
    of the file, for CREST and its rivals with published noise. `averages` compares one grouping for several class
    columns with one run each, where there are several (NMES1988 has three).
    """

    releasable: ClassVar[bool] = False

    settings: Settings
    data: str
    paper_data: str | None
    n_records: int
    quasi: tuple[str, ...]
    class_columns: tuple[str, ...]
    class_shares: tuple[float, ...]
    points: tuple[Point, ...]
    parts: tuple[tuple[Point, ...], ...]
    averages: tuple[Way, ...] = ()

    @property
    def random_chi_square(self) -> int:
        """C − 1: about what X² is for groups drawn at random."""
        return len(self.class_shares) - 1

    def curve(self, grouping: str, masking: str) -> tuple[Point, ...]:
        """The points of one combination, k growing."""
        return tuple(p for p in self.points if p.grouping == grouping and p.masking == masking)

    def at(self, level: float) -> tuple[Point, ...]:
        """The first point of each combination whose linkage is at or below `level`; those that never are, are left
        out."""
        return first_at(self.points, level)

    def mixes(self, grouping: str, other: str, level: float) -> tuple[list[float], list[float]]:
        """X² of two groupings in the parts where both reach the level."""
        found = [{p.grouping: p.chi_square for p in first_at(part, level)} for part in self.parts]
        both = [mix for mix in found if grouping in mix and other in mix]
        return [mix[grouping] for mix in both], [mix[other] for mix in both]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-safe words."""
        return {**asdict(self), "random_chi_square": self.random_chi_square}


def run(
    table: Annotated[
        Any, Flag("--data"), Help("A file with a class column. [default: NMES1988 if installed, else simulated]")
    ] = None,
    schema: Annotated[Schema | None, Flag("--schema", "-s"), Help("Schema file (TOML).")] = None,
    *,
    name: str = "the file given",
    settings: Settings | None = None,
    progress: Progress = quiet,
) -> CampCrestStudy:
    """Try every grouping with every masking at growing k.

    `table` has a nominal or ordinal sensitive column, the class. Left out: NMES1988 (the paper's Medicare, extra
    ``data``) if it is installed, simulated records otherwise.

    Examples
    --------
    >>> from shoal.study.camp_crest import Settings, run, simulated
    >>> study = run(*simulated(120, 0), settings=Settings(levels=(0.3,), draws=1))
    >>> all(point.linkage <= 0.3 for point in study.at(0.3))
    True
    """
    settings = _checked(settings or Settings())
    table, schema, name = _data(table, schema, name, settings)
    experiment = _Experiment.of(prepare(table, schema), settings)
    _warm_up(settings)
    return CampCrestStudy(
        settings=settings,
        data=name,
        paper_data=_paper_data(experiment.prepared, name),
        n_records=experiment.prepared.n,
        quasi=experiment.prepared.schema.quasi,
        class_columns=class_names(experiment.prepared.schema),
        class_shares=tuple(float(share) for share in experiment.classes.mean(axis=0)),
        points=experiment.all_points(progress),
        parts=experiment.part_points(),
        averages=_averages(experiment.prepared, name, settings),
    )


def _averages(prepared: Prepared, name: str, settings: Settings) -> tuple[Way, ...]:
    """Both ways to treat several class columns, where there are several and all else is numbers or ranks."""
    several = prepare(*three_classes()) if name == "NMES1988" else prepared
    schema, parts = several.schema, min(settings.parts, several.n // settings.part_rows)
    if parts < 2 or len(class_names(schema)) < 2 or any(schema[quasi].kind == "nominal" for quasi in schema.quasi):
        return ()
    ks = [k for k in KS if k <= several.n // parts // 4]
    return compare_ways(several.frame, schema, parts=parts, ks=ks, seed=settings.seed)


def first_at(points: Sequence[Point], level: float) -> tuple[Point, ...]:
    """The first point of each combination, k growing, whose linkage is at or below `level`."""
    found: dict[tuple[str, str], Point] = {}
    for p in points:
        if p.linkage <= level:
            found.setdefault((p.grouping, p.masking), p)
    return tuple(found.values())


def group_sizes(n: int, growth: float) -> Iterator[int]:
    """The k to try: from 2, growing by about `growth`, as long as two groups fit."""
    k = 2
    while k <= n // 2:
        yield k
        k = max(k + 1, round(k * growth))


def medicare() -> tuple[pl.DataFrame, Schema]:
    """NMES1988 as the paper had it: classes none, one, several chronic diseases; the other 21 columns as numbers."""
    table = nmes1988()
    flags = [
        *((column, level) for column, level in (("health", "excellent"), ("health", "poor"), ("adl", "limited"))),
        *(("region", level) for level in ("northeast", "midwest", "west")),
        *(("afam", "yes"), ("gender", "male"), ("married", "yes"), ("employed", "yes"), ("insurance", "yes")),
        ("medicaid", "yes"),
    ]
    numbers = [name for name in table.columns if table[name].dtype.is_numeric() and name != "chronic"]
    coded = table.select(
        *numbers,
        *(pl.col(column).eq(level).cast(pl.Int64).alias(f"{column}_{level}") for column, level in flags),
        pl.col("chronic").clip(0, 2).cast(pl.String).replace({"0": "none", "1": "one", "2": "several"}),
    )
    return coded, Schema.of(quasi=[name for name in coded.columns if name != "chronic"], sensitive=["chronic"])


def simulated(n: int, seed: int) -> tuple[pl.DataFrame, Schema]:
    """Two factors behind six correlated columns, and a class of three levels that follows the first."""
    rng = stream(seed, "camp-crest study", "simulated")
    factors = rng.standard_normal((n, 2))
    x = 10 + factors @ rng.standard_normal((2, 6)) + 0.6 * rng.standard_normal((n, 6))
    place = np.digitize(factors[:, 0] + rng.standard_normal(n), [-0.8, 0.6])
    columns = {f"x{j + 1}": x[:, j] for j in range(6)}
    table = pl.DataFrame({**columns, "ill": np.array(["no", "mild", "severe"])[place]})
    return table, Schema.of(quasi=list(columns), sensitive=["ill"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Experiment:
    """A file ready to be grouped and masked over and over; releases stay codes, in the original's row order."""

    prepared: Prepared
    settings: Settings
    pair: Pair
    classes: FloatArray
    columns: tuple[str, ...]

    @classmethod
    def of(cls, prepared: Prepared, settings: Settings) -> _Experiment:
        schema = prepared.schema
        if not schema.quasi or not class_names(schema):
            raise InputError("study", "needs quasi-identifiers and a nominal or ordinal sensitive column, the class")
        encoder = Encoder.of(prepared, schema.quasi)
        codes = encoder.codes(prepared.frame)
        rows = np.arange(prepared.n)
        classes = compound(class_codes(prepared, class_names(schema)))[:, 0]
        return cls(
            prepared=prepared,
            settings=settings,
            pair=Pair(
                original=prepared,
                released=prepared.frame,
                source_rows=rows,
                encoder=encoder,
                original_codes=codes,
                released_codes=codes,
            ),
            classes=(classes[:, None] == np.arange(classes.max() + 1)).astype(np.float64),
            columns=tuple(name for name in schema.quasi if schema[name].kind != "nominal"),
        )

    def all_points(self, progress: Progress) -> tuple[Point, ...]:
        sizes = list(group_sizes(self.prepared.n, self.settings.growth))
        if not sizes:
            raise InputError("study", "needs at least four records", got=f"{self.prepared.n}")
        points = [point for grouping in GROUPERS for point in self._sweep(grouping, sizes, MASKS, progress)]
        order = list(MASKS)
        return tuple(sorted(points, key=lambda p: (list(GROUPERS).index(p.grouping), order.index(p.masking), p.k)))

    def part_points(self) -> tuple[tuple[Point, ...], ...]:
        """CREST and its rivals, with published noise, on disjoint random parts of the file."""
        n_parts = min(self.settings.parts, self.prepared.n // self.settings.part_rows)
        order = stream(self.settings.seed, "camp-crest study", "parts").permutation(self.prepared.n)
        return tuple(self._part(rows) for rows in np.array_split(order, n_parts)) if n_parts > 1 else ()

    def _part(self, rows: IntArray) -> tuple[Point, ...]:
        part = _Experiment.of(prepare(self.prepared.frame[np.sort(rows)], self.prepared.schema), self.settings)
        sizes = list(group_sizes(len(rows), self.settings.growth))
        return tuple(p for grouping in ("CREST", *RIVALS) for p in part._sweep(grouping, sizes, ["published"], quiet))

    def _sweep(self, grouping: str, sizes: Sequence[int], masks: Iterable[str], progress: Progress) -> list[Point]:
        """One grouping at growing k, until every masking is at or below the lowest level."""
        points: list[Point] = []
        waiting = list(masks)
        before, total = list(GROUPERS).index(grouping) * len(sizes), len(GROUPERS) * len(sizes)
        for at, k in enumerate(sizes):
            progress(before + at, total)
            start = time.perf_counter()
            labels = GROUPERS[grouping](k, self.settings.t).group(self.prepared, self.settings.seed).labels
            took = time.perf_counter() - start
            mix = class_mix(self.prepared.frame, self.prepared.schema, labels)
            measured = [self._point(grouping, masking, k, labels, mix, took) for masking in waiting]
            points += measured
            waiting = [p.masking for p in measured if p.linkage > min(self.settings.levels)]
            if not waiting:
                break
        progress(before + len(sizes), total)
        return points

    def _point(self, grouping: str, masking: str, k: int, labels: IntArray, mix: ClassMix, took: float) -> Point:
        start = time.perf_counter()
        first = self._release(grouping, masking, k, labels, 0)
        took += time.perf_counter() - start
        measured = [self._measures(first)]
        if masking != "centroid" and _is_near(measured[0]["linkage"], self.settings.levels):
            more = (self._release(grouping, masking, k, labels, draw) for draw in range(1, self.settings.draws))
            measured += [self._measures(release) for release in more]
        return Point(
            grouping=grouping,
            masking=masking,
            k=k,
            draws=len(measured),
            seconds=took,
            n_groups=mix.n_groups,
            chi_square=mix.chi_square,
            homogeneous_groups=mix.homogeneous_groups,
            homogeneous_share=mix.homogeneous_share,
            lone_groups=mix.lone_groups,
            **_means(measured),
        )

    def _measures(self, pair: Pair) -> dict[str, Any]:
        return _measures(pair, self.classes, self.columns, self.settings.scale)

    def _release(self, grouping: str, masking: str, k: int, labels: IntArray, draw: int) -> Pair:
        keys = ("camp-crest study", grouping, masking, k, draw)
        sets = ValueSets.of(self.pair.original_codes, labels, self.pair.encoder)
        drawn = MASKS[masking].draw(sets, stream(self.settings.seed, *keys))
        return replace(self.pair, released_codes=pair_up(drawn, labels, stream(self.settings.seed, "pairing", *keys)))


def _measures(pair: Pair, classes: FloatArray, columns: Sequence[str], scale: Scale = "range") -> dict[str, Any]:
    loss = moments_of(pair, columns=columns)
    return {
        "linkage": linkage_of(pair, scale=scale).share,
        "abim": loss.abim,
        "abisd": loss.abisd,
        "abico": loss.abico,
        "correlation_difference": loss.correlation_difference,
        "sse_sst": loss.sse_sst,
        "class_link": _class_link(pair, classes, columns),
    }


def _class_link(pair: Pair, classes: FloatArray, columns: Sequence[str]) -> float | None:
    """How much of the correlations between quasi-identifiers and classes is left."""
    own = [pair.encoder.names.index(name) for name in columns]
    before = _correlations(pair.original_codes[:, own], classes)
    after = _correlations(pair.released_codes[:, own], classes)
    size = float((before**2).sum())
    return float((after * before).sum()) / size if size > 0 else None


def _correlations(x: FloatArray, y: FloatArray) -> FloatArray:
    """Correlation of each column of x with each of y; 0 where one is constant."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    sizes = np.outer(np.sqrt((x**2).sum(axis=0)), np.sqrt((y**2).sum(axis=0)))
    out: FloatArray = np.divide(x.T @ y, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return out


def _means(measured: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {key: _mean([one[key] for one in measured]) for key in measured[0]}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _is_near(share: float, levels: Sequence[float]) -> bool:
    """Whether a share could stand in the table of some level."""
    low, high = _NEAR
    return share <= high * min(levels) or any(low * level <= share <= high * level for level in levels)


def _checked(settings: Settings) -> Settings:
    check(settings)
    if not settings.levels or not all(0 < level < 1 for level in settings.levels):
        raise ParameterError("study", "levels must lie between 0 and 1", got=repr(settings.levels)[:60])
    return replace(settings, levels=tuple(sorted(set(settings.levels), reverse=True)))


def _data(table: Any, schema: Schema | None, name: str, settings: Settings) -> tuple[Any, Schema, str]:
    if (table is None) != (schema is None):
        raise ParameterError("study", "needs both a file and its schema, or neither")
    if table is not None and schema is not None:
        return table, schema, name
    try:
        return *medicare(), "NMES1988"
    except InputError:
        return *simulated(settings.n, settings.seed), "simulated records"


def _paper_data(prepared: Prepared, name: str) -> str | None:
    """Which file of the paper this is; Pima and Offer, which is not at hand, are known by their number of records."""
    if name == "NMES1988":
        return "Medicare"
    if prepared.n == 768 and len(prepared.schema.quasi) == 8:
        return "Diabetes"
    return "Offer" if prepared.n == 443 else None


def _warm_up(settings: Settings) -> None:
    """Load what is compiled, so that the times of the table are those of the methods."""
    small = prepare(*simulated(100, 0))
    for grouper in GROUPERS.values():
        grouper(3, settings.t).group(small, 0)
