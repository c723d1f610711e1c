"""The experiments of Li and Sarkar, "Class Restricted Clustering and Micro-Perturbation for Data Privacy" (2013).

What it repeats: Table 1 (benchmark, Partial CAMP-CREST and CAMP-CREST at about 5 % and 1 % linkage) and Figure 5 (ABICO
against linkage). For each grouping and masking k grows by about 1.3 from 2 until linkage falls to the level; the first
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared, prepare
from shoal.encode import Encoder
from shoal.errors import InputError, ParameterError
from shoal.group import MDAV, MST, Crest, Grouper, KMember, TCloseMST
from shoal.group.mix import class_codes, class_names, compound
from shoal.mask import BlindMask, Centroid, MicroPerturb, ValueSets, pair_up
from shoal.pair import Pair
from shoal.params import Help, Range, check
from shoal.risk import ClassMix, class_mix
from shoal.risk.record_linkage import measure as linkage_of
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.moment import moments_of

__all__ = [
    "GROUPERS",
    "LEVELS",
    "MASKS",
    "PAPER",
    "CampCrestStudy",
    "PaperRow",
    "Point",
    "Settings",
    "group_sizes",
    "medicare",
    "run",
    "simulated",
]

Progress = Callable[[int, int], None]
LEVELS = (0.05, 0.01)
MASKS: dict[str, BlindMask] = {
    "centroid": Centroid(),
    "published": MicroPerturb(noise="published"),
    "centred": MicroPerturb(noise="centred"),
    "exact": MicroPerturb(noise="exact"),
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
PAPER_METHODS = {
    "Benchmark": ("TCloseMST", "centroid"),
    "Partial CAMP-CREST": ("Partial CREST", "published"),
    "CAMP-CREST": ("CREST", "published"),
}

_NEAR = (0.5, 1.5)  # times a level: farther from every level one draw is enough


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """A row of the paper's Table 1 as printed; shares for its percentages."""

    data: str
    method: str
    level: float
    seconds: float
    linkage: float
    chi_square: float
    abim: float
    abisd: float
    abico: float


def _printed(data: str, level: float, *rows: tuple[float, ...]) -> list[PaperRow]:
    return [
        PaperRow(
            data=data,
            method=method,
            level=level,
            seconds=seconds,
            linkage=linkage / 100,
            chi_square=chi_square,
            abim=abim / 100,
            abisd=abisd / 100,
            abico=abico / 100,
        )
        for method, (seconds, linkage, chi_square, abim, abisd, abico) in zip(PAPER_METHODS, rows, strict=True)
    ]


PAPER: tuple[PaperRow, ...] = (
    *_printed(
        "Offer", 0.05,
        (0.6, 4.97, 4.34, 0, 47.75, 438.16), (0.6, 4.83, 4.14, 2.55, 3.44, 112.16),
        (1.4, 4.74, 3.59, 2.28, 2.87, 113.71),
    ),
    *_printed(
        "Diabetes", 0.05,
        (1.3, 4.30, 2.27, 0, 36.10, 118.42), (1.3, 4.24, 2.04, 1.54, 2.94, 24.98), (4.1, 4.17, 1.37, 1.46, 3.68, 28.62),
    ),
    *_printed(
        "Medicare", 0.05,
        (33.4, 4.29, 2.65, 0, 37.59, 392.54), (34.9, 4.21, 2.64, 2.70, 2.54, 127.51),
        (126.2, 4.09, 1.89, 2.11, 2.96, 118.51),
    ),
    *_printed(
        "Offer", 0.01,
        (0.6, 1.13, 7.00, 0, 69.39, 1343.74), (0.6, 0.95, 6.60, 3.37, 2.52, 108.31),
        (1.5, 0.86, 5.90, 3.09, 2.70, 106.14),
    ),
    *_printed(
        "Diabetes", 0.01,
        (1.3, 1.04, 3.59, 0, 55.23, 171.87), (1.3, 0.86, 3.35, 1.96, 2.18, 29.94), (4.5, 0.86, 2.56, 1.66, 1.86, 32.36),
    ),
    *_printed(
        "Medicare", 0.01,
        (33.1, 0.98, 3.39, 0, 50.93, 692.33), (34.2, 0.97, 3.29, 2.53, 1.15, 141.82),
        (132.6, 0.96, 2.31, 2.79, 1.18, 136.40),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of a study.

    Parameters
    ----------
    levels
        Linkage levels of the table.
    draws
        Masked files over which a perturbation is averaged; the paper took 5. More of them steady the numbers.
    growth
        Factor from one k to the next. Nearer to 1 comes nearer to each level and takes longer.
    t
        The t of t-closeness; "TCloseMST strict" takes a quarter of it. Lowering it evens the class mix of TCloseMST and
        makes its groups larger.
    n
        Records of the simulated file, where there is no other.
    seed
        Seed of everything.
    """

    levels: tuple[float, ...] = LEVELS
    draws: Annotated[int, Range(low=1), Help("masked files a perturbation is averaged over")] = 3
    growth: Annotated[float, Range(low=1.01, high=4), Help("factor from one k to the next")] = 1.3
    t: Annotated[float, Range(low=0, high=1), Help("t of t-closeness")] = 0.2
    n: Annotated[int, Range(low=100), Help("records of the simulated file")] = 1500
    seed: Annotated[int, Range(low=0), Help("seed of everything")] = 0


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

    `points` come grouping by grouping, masking by masking, with growing k.
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
        found = (_first(self.curve(g, m), level) for g in GROUPERS for m in MASKS)
        return tuple(point for point in found if point is not None)

    def table(self) -> list[dict[str, Any]]:
        """The rows of every level and, after them, the paper's, as one flat table."""
        ours = [
            {"source": self.data, "level": level, **asdict(p)} for level in self.settings.levels for p in self.at(level)
        ]
        theirs = [_paper_words(row) for row in PAPER]
        return [*ours, *theirs]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-safe words."""
        return {**asdict(self), "random_chi_square": self.random_chi_square}


def run(
    table: Any = None,
    schema: Schema | None = None,
    *,
    name: str = "the file given",
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> CampCrestStudy:
    """Try every grouping with every masking at growing k.

    Parameters
    ----------
    table, schema
        A file with a nominal or ordinal sensitive column, the class. Left out: NMES1988 (the paper's Medicare, extra
        ``data``) if it is installed, simulated records otherwise.
    name
        What to call the file.
    settings
        The numbers of the study.
    progress
        Called with the steps done and all steps.

    Examples
    --------
    >>> from shoal.study.camp_crest import Settings, run, simulated
    >>> study = run(*simulated(120, 0), settings=Settings(levels=(0.3,), draws=1))
    >>> all(point.linkage <= 0.3 for point in study.at(0.3))
    True
    """
    settings = _checked(settings or Settings())
    table, schema, name = _data(table, schema, name, settings)
    bench = _Bench.of(prepare(table, schema), settings)
    _warm_up(settings)
    return CampCrestStudy(
        settings=settings,
        data=name,
        paper_data=_paper_data(bench.prepared, name),
        n_records=bench.prepared.n,
        quasi=bench.prepared.schema.quasi,
        class_columns=class_names(bench.prepared.schema),
        class_shares=tuple(float(share) for share in bench.classes.mean(axis=0)),
        points=bench.all_points(progress or _quiet),
    )


def group_sizes(n: int, growth: float) -> Iterator[int]:
    """The k to try: from 2, growing by about `growth`, as long as two groups fit."""
    k = 2
    while k <= n // 2:
        yield k
        k = max(k + 1, round(k * growth))


def medicare() -> tuple[pl.DataFrame, Schema]:
    """NMES1988 as the paper had it: classes none, one, several chronic diseases; the other 21 columns as numbers."""
    from shoal.datasets import nmes1988

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
class _Bench:
    """A file ready to be grouped and masked over and over; releases stay codes, in the original's row order."""

    prepared: Prepared
    settings: Settings
    pair: Pair
    classes: FloatArray
    columns: tuple[str, ...]

    @classmethod
    def of(cls, prepared: Prepared, settings: Settings) -> _Bench:
        schema = prepared.schema
        if not schema.quasi or not class_names(schema):
            raise InputError("study", "needs quasi-identifiers and a nominal or ordinal sensitive column, the class")
        encoder = Encoder.fit(prepared, schema.quasi)
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
        points: list[Point] = []
        total = len(GROUPERS) * len(sizes)
        for i, grouping in enumerate(GROUPERS):
            points += self._sweep(grouping, sizes, partial(_say, progress, i * len(sizes), total))
        order = list(MASKS)
        return tuple(sorted(points, key=lambda p: (list(GROUPERS).index(p.grouping), order.index(p.masking), p.k)))

    def _sweep(self, grouping: str, sizes: Sequence[int], say: Callable[[int], None]) -> list[Point]:
        """One grouping at growing k, until every masking is at or below the lowest level."""
        points: list[Point] = []
        waiting = list(MASKS)
        for at, k in enumerate(sizes):
            say(at)
            start = time.perf_counter()
            labels = GROUPERS[grouping](k, self.settings.t).group(self.prepared, self.settings.seed).labels
            took = time.perf_counter() - start
            mix = class_mix(self.prepared.frame, self.prepared.schema, labels)
            measured = [self._point(grouping, masking, k, labels, mix, took) for masking in waiting]
            points += measured
            waiting = [p.masking for p in measured if p.linkage > min(self.settings.levels)]
            if not waiting:
                break
        say(len(sizes))
        return points

    def _point(self, grouping: str, masking: str, k: int, labels: IntArray, mix: ClassMix, took: float) -> Point:
        start = time.perf_counter()
        first = self._release(grouping, masking, k, labels, 0)
        took += time.perf_counter() - start
        measured = [_measures(first, self.classes, self.columns)]
        if masking != "centroid" and _is_near(measured[0]["linkage"], self.settings.levels):
            more = (self._release(grouping, masking, k, labels, draw) for draw in range(1, self.settings.draws))
            measured += [_measures(release, self.classes, self.columns) for release in more]
        return Point(
            grouping=grouping,
            masking=masking,
            k=k,
            draws=len(measured),
            seconds=took,
            n_groups=mix.n_groups,
            chi_square=mix.chi_square,
            homogeneous_groups=mix.homogeneous_groups,
            lone_groups=mix.lone_groups,
            **_means(measured),
        )

    def _release(self, grouping: str, masking: str, k: int, labels: IntArray, draw: int) -> Pair:
        keys = ("camp-crest study", grouping, masking, k, draw)
        sets = ValueSets.of(self.pair.original_codes, labels, self.pair.encoder)
        drawn = MASKS[masking].draw(sets, stream(self.settings.seed, *keys))
        return replace(self.pair, released_codes=pair_up(drawn, labels, stream(self.settings.seed, "pairing", *keys)))


def _measures(pair: Pair, classes: FloatArray, columns: Sequence[str]) -> dict[str, Any]:
    loss = moments_of(pair, columns=columns)
    return {
        "linkage": linkage_of(pair).share,
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


def _first(points: Sequence[Point], level: float) -> Point | None:
    return next((point for point in points if point.linkage <= level), None)


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
    """Which file of the paper this is; the Pima file is known by its shape."""
    if name == "NMES1988":
        return "Medicare"
    return "Diabetes" if prepared.n == 768 and len(prepared.schema.quasi) == 8 else None


def _warm_up(settings: Settings) -> None:
    """Load what is compiled, so that the times of the table are those of the methods."""
    small = prepare(*simulated(100, 0))
    for grouper in GROUPERS.values():
        grouper(3, settings.t).group(small, 0)


def _paper_words(row: PaperRow) -> dict[str, Any]:
    words = asdict(row)
    grouping, masking = PAPER_METHODS[words.pop("method")]
    return {**words, "source": f"paper, {words.pop('data')}", "grouping": grouping, "masking": masking}


def _say(progress: Progress, before: int, total: int, at: int) -> None:
    progress(before + at, total)


def _quiet(done: int, total: int) -> None:
    """Say nothing."""
