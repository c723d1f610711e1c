"""Traditional disclosure limitation, step by step: chapter 2 of Park (2014) on data at hand.

The chapter prepares 1,432 newborn stays for a question about charges: five columns are kept (two demographic ones, the
place, the length of stay, the charge), rare records left out, numbers binned, places generalised, rare combinations
suppressed, and numbers imputed. It draws each step and measures none. Here simulated stays, or a file, take the same
way, and every step is measured: who is unique, who can be linked, and what becomes of the regression of the charge.
Steps that the chapter only names stand beside its own: swapping, noise, Anatomy, and imputation by donors.

- **Anatomy** (Xiao and Tao 2006): quasi-identifiers stay exact, and charges change places in buckets of `k` with
  different charges. It is not a method of Shoal: everybody can be found in such a release.
- **Noise** is added to the length of stay. Its slope is then too small; a measurement error model takes the noise out
  again (`shoal.utility.noise_corrected`).

Uniqueness and linkage are those of an intruder who knows the demographic columns, the place and the length of stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.coarsening import Recode, Suppress
from shoal.conform import prepare
from shoal.datasets.inpatients import inpatient, inpatient_schema
from shoal.encode import Encoder
from shoal.errors import InputError, ParameterError
from shoal.frame import enter, series
from shoal.mask import AddNoise, RankSwap, RecordSwap
from shoal.mask.aware import AwareMask, Masking
from shoal.params import Help, Range, check
from shoal.release import coarsen
from shoal.risk import linkage
from shoal.rng import stream
from shoal.schema import Schema
from shoal.study.study import Flag, Progress, quiet
from shoal.synth import MultipleImputation
from shoal.utility import noise_corrected, regression

__all__ = ["STEPS", "DisclosureStudy", "Outcome", "Roles", "Settings", "anatomy", "prepared_stays", "run", "shortened"]

_BINS = 20
_RARE = 0.99  # charges beyond this quantile are left out, lengths of stay beyond it are pooled


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of a study. More draws narrow the intervals."""

    n: Annotated[int, Range(low=200), Flag("--rows"), Help("Number of simulated stays.")] = 1432
    draws: Annotated[int, Range(low=2), Help("How often: simulated files, or masks of one file.")] = 5
    k: Annotated[int, Range(low=2), Help("Fewest records with the same place and demographic columns.")] = 3
    ratio: Annotated[float, Range(above=0, high=2), Help("Noise on the length of stay, in standard deviations.")] = 0.5
    seed: Annotated[int, Range(low=0), Help("Random seed.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The five columns: a place, two demographic columns, a length of stay, a charge."""

    place: str
    first: str
    second: str
    stay: str
    charge: str

    @classmethod
    def of(cls, table: pl.DataFrame, schema: Schema) -> Roles:
        """The nominal quasi-identifier of most levels, the two of fewest, the first numbers; all kinds are known."""
        nominal = sorted((c for c in schema.quasi if schema[c].kind == "nominal"), key=lambda c: table[c].n_unique())
        stays = [c for c in schema.quasi if schema[c].kind == "numeric"]
        charges = [c for c in schema.sensitive if schema[c].kind == "numeric"]
        if len(nominal) < 3 or not stays or not charges:
            raise InputError(
                "study", "needs three nominal and a numeric quasi-identifier, and a numeric sensitive column"
            )
        return cls(place=nominal[-1], first=nominal[0], second=nominal[1], stay=stays[0], charge=charges[0])

    @property
    def keys(self) -> list[str]:
        """Place and demographic columns: what the chapter makes k-anonymous."""
        return [self.place, self.first, self.second]

    @property
    def names(self) -> list[str]:
        """All five."""
        return [*self.keys, self.stay, self.charge]

    def schema(self, *, stay_is_known: bool = True) -> Schema:
        """Quasi-identifiers are the keys, with the length of stay or without."""
        kinds = {**dict.fromkeys(self.keys, "nominal"), self.stay: "numeric", self.charge: "numeric"}
        known, hidden = ([*self.keys, self.stay], [self.charge]) if stay_is_known else (self.keys, self.names[3:])
        return Schema.of(quasi=known, sensitive=hidden, kinds=kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one step leaves, draw by draw; `linkage` is empty where no row is anybody's.

    `overlap` is that of the 95% intervals of all coefficients of the charge's regression, `slope` the coefficient of
    the length of stay over the original's.
    """

    step: str
    rows_share: tuple[float, ...]
    unique_share: tuple[float, ...]
    linkage: tuple[float, ...]
    overlap: tuple[float, ...]
    slope: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureStudy:
    """All outcomes, and the first draw's tables as pictures need them. It counts single records: internal."""

    releasable: ClassVar[bool] = False

    settings: Settings
    data: str
    roles: Roles
    outcomes: tuple[Outcome, ...]
    corrected: tuple[float, ...]
    pictures: Pictures

    def outcome(self, step: str) -> Outcome:
        """The outcome of a step."""
        return next(o for o in self.outcomes if o.step == step)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as JSON-safe words; pictures stay on the page."""
        return {**asdict(self), "pictures": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """The first draw: the five columns as they are and prepared, places generalised twice and suppressed, the numbers
    imputed by regressions, and the coefficients of both regressions with their standard errors."""

    raw: pl.DataFrame = field(repr=False)
    ready: pl.DataFrame = field(repr=False)
    short: pl.DataFrame = field(repr=False)
    shorter: pl.DataFrame = field(repr=False)
    suppressed: pl.DataFrame = field(repr=False)
    fitted: Mapping[str, FloatArray] = field(repr=False)
    coefficients: Mapping[str, tuple[tuple[str, float, float], ...]]


Made = tuple[pl.DataFrame, IntArray | None]
"""A table, and the row of the raw table that each of its rows is of; None where no row is anybody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One draw: the five columns as they are, the prepared ones with their rows, and a seed."""

    raw: pl.DataFrame = field(repr=False)
    ready: pl.DataFrame = field(repr=False)
    rows: IntArray = field(repr=False)
    roles: Roles
    settings: Settings
    seed: int

    def rng(self, *names: str) -> Generator:
        """A stream of its own for each use."""
        return stream(self.seed, "disclosure study", *names)


def run(
    table: Annotated[Any, Flag("--data"), Help("A file of stays. [default: simulated]")] = None,
    schema: Annotated[Schema | None, Flag("--schema", "-s"), Help("Its schema (TOML).")] = None,
    *,
    name: str = "the file given",
    settings: Settings | None = None,
    progress: Progress = quiet,
) -> DisclosureStudy:
    """Take stays through every step and measure what is left.

    `table` has three nominal quasi-identifiers, a numeric one and a numeric sensitive column; with a file the draws
    differ in the chance of the steps alone, not in the people.

    Examples
    --------
    >>> from shoal.study.disclosure import Settings, run
    >>> study = run(settings=Settings(n=300, draws=2))
    >>> study.outcome("as it is").slope
    (1.0, 1.0)
    """
    settings = settings or Settings()
    check(settings)
    if (table is None) != (schema is None):
        raise ParameterError("study", "needs both a file and its schema, or neither")
    scenes = [_scene(table, schema, settings, draw) for draw in range(settings.draws)]
    found: dict[str, list[dict[str, float | None]]] = {step: [] for step in STEPS}
    for i, scene in enumerate(scenes):
        for j, (step, make) in enumerate(STEPS.items()):
            progress(i * len(STEPS) + j, len(scenes) * len(STEPS))
            found[step].append(_measured(scene, *make(scene)))
    progress(1, 1)
    return DisclosureStudy(
        settings=settings,
        data="simulated stays" if table is None else name,
        roles=scenes[0].roles,
        outcomes=tuple(_outcome(step, runs) for step, runs in found.items()),
        corrected=tuple(_corrected(scene) for scene in scenes),
        pictures=_pictures(scenes[0]),
    )


def _scene(table: Any, schema: Schema | None, settings: Settings, draw: int) -> Scene:
    seed = settings.seed + draw
    if table is None or schema is None:
        frame, schema = inpatient(settings.n, seed), inpatient_schema()
    else:
        given = enter(table)
        frame = pl.DataFrame([series(given, name) for name in given.columns])
    roles = Roles.of(frame, prepare(frame, schema).schema)
    raw = frame.select(roles.names).with_columns(pl.col(roles.keys).cast(pl.String)).drop_nulls()
    ready, rows = prepared_stays(raw, roles)
    return Scene(raw=raw, ready=ready, rows=rows, roles=roles, settings=settings, seed=seed)


def prepared_stays(raw: pl.DataFrame, roles: Roles) -> tuple[pl.DataFrame, IntArray]:
    """The dearest one in a hundred left out, long stays pooled, charges in bins; and which rows are left."""
    stay, charge = pl.col(roles.stay), pl.col(roles.charge)
    top, most = (float(raw[c].quantile(_RARE, "higher") or 0) for c in (roles.charge, roles.stay))
    width = float(f"{max(top, 1.0) / _BINS:.1g}")
    kept = raw.with_row_index("row").filter(charge <= top)
    binned = kept.with_columns(stay.clip(upper_bound=most), (charge / width).floor() * width)
    return binned.drop("row"), kept["row"].to_numpy().astype(np.int64)


def shortened(table: pl.DataFrame, place: str, cut: int) -> pl.DataFrame:
    """Places without their last `cut` characters, of which at least one is left."""
    return table.with_columns(pl.col(place).str.slice(0, max(1, _longest(table, place) - cut)))


def _longest(table: pl.DataFrame, place: str) -> int:
    return max((len(name) for name in table[place].unique().drop_nulls()), default=1)


def anatomy(values: FloatArray, size: int, rng: Generator) -> FloatArray:
    """Values that change places in buckets of `size` with values from different parts of their range."""
    n_buckets = max(1, len(values) // size)
    order = np.lexsort((rng.random(len(values)), values))
    bucket = np.empty(len(values), dtype=np.int64)
    bucket[order] = np.arange(len(values)) % n_buckets
    by_bucket = np.argsort(bucket, kind="stable")
    at_random = np.lexsort((rng.random(len(values)), bucket))
    out = np.empty_like(values)
    out[by_bucket] = values[at_random]
    return out


def _as_it_is(scene: Scene) -> Made:
    return scene.raw, np.arange(len(scene.raw))


def _ready(scene: Scene) -> Made:
    return scene.ready, scene.rows


def _short(scene: Scene) -> Made:
    return shortened(scene.ready, scene.roles.place, 1), scene.rows


def _suppressed(scene: Scene) -> Made:
    roles = scene.roles
    steps = [
        Recode(steps={roles.place: {"kind": "prefix", "keep": max(1, _longest(scene.ready, roles.place) - 1)}}),
        Suppress(k=scene.settings.k),
    ]
    made = coarsen(scene.ready, roles.schema(stay_is_known=False), steps, seed=scene.seed)
    plain = pl.col(roles.place).str.strip_chars_end("*").replace("", None)  # 7801* is 7801, * is nothing
    return made.table.select(roles.names).with_columns(plain), scene.rows[made.source_rows]


def _masked(scene: Scene, mask: Callable[[Scene], AwareMask]) -> Made:
    prepared = prepare(scene.ready, scene.roles.schema())
    encoder = Encoder.of(prepared, prepared.schema.quasi)
    codes, together = encoder.own_codes(prepared), np.zeros(prepared.n, dtype=np.int64)
    state = Masking(prepared=prepared, encoder=encoder, codes=codes, labels=together, minimum=scene.settings.k)
    done = mask(scene).apply(state, scene.rng("mask"))
    return encoder.decode(done.codes, prepared.frame, prepared.frame).to_native(), scene.rows


def _dealt(scene: Scene) -> Made:
    charge = scene.ready[scene.roles.charge].to_numpy()
    written = anatomy(charge.astype(np.float64), scene.settings.k, scene.rng("anatomy"))
    return scene.ready.with_columns(pl.Series(scene.roles.charge, written)), scene.rows


def _imputed(scene: Scene, model: Any, whole: bool = False) -> Made:
    columns = None if whole else [scene.roles.stay, scene.roles.charge]
    method = MultipleImputation(K=2, columns=columns, model=model, scores="raw" if model == "linear" else "normal")
    rows = method.fit(scene.ready, scene.roles.schema(), seed=scene.seed).sample(seed=scene.seed)
    return rows.select(scene.roles.names), None if whole else scene.rows


STEPS: dict[str, Callable[[Scene], Made]] = {
    "as it is": _as_it_is,
    "filtered, top-coded, binned": _ready,
    "place shortened": _short,
    "rare keys suppressed": _suppressed,
    "places swapped": partial(
        _masked, mask=lambda scene: RecordSwap(hierarchy=[scene.roles.place], k=scene.settings.k)
    ),
    "ranks swapped": partial(_masked, mask=lambda scene: RankSwap(columns=[scene.roles.stay], percent=10)),
    "noise added": partial(
        _masked,
        mask=lambda scene: AddNoise(columns=[scene.roles.stay], ratio=scene.settings.ratio, kind="additive"),
    ),
    "Anatomy": _dealt,
    "numbers imputed, linear": partial(_imputed, model="linear"),
    "numbers imputed, matching": partial(_imputed, model="matching"),
    "numbers imputed, tree": partial(_imputed, model="tree"),
    "numbers imputed, forest": partial(_imputed, model="forest"),
    "all imputed, tree": partial(_imputed, model="tree", whole=True),
}
"""Each step by its name: the first four build on each other, the others start from the second."""


def _measured(scene: Scene, table: pl.DataFrame, rows: IntArray | None) -> dict[str, float | None]:
    schema, roles = scene.roles.schema(), scene.roles
    found = regression(scene.raw, table, schema, rows, target=roles.charge, coding="numeric")
    known = _as_written(scene.raw, table, roles.place)
    slope = next(c for c in found.coefficients if c.term == roles.stay)
    return {
        "rows_share": len(table) / len(scene.raw),
        "unique_share": _unique_share(table, list(schema.quasi)),
        "linkage": None if rows is None else linkage(known, table, schema, rows).share,
        "overlap": found.mean_overlap,
        "slope": slope.released / slope.original if slope.original else None,
    }


def _as_written(raw: pl.DataFrame, table: pl.DataFrame, place: str) -> pl.DataFrame:
    """What an intruder makes of known places: as short as those of the release."""
    return shortened(raw, place, max(0, _longest(raw, place) - _longest(table, place)))


def _unique_share(table: pl.DataFrame, columns: Sequence[str]) -> float:
    """Share of the rows that no other row equals."""
    sizes = table.group_by(columns).len()["len"]
    return float((sizes == 1).sum()) / len(table)


def _outcome(step: str, runs: Sequence[Mapping[str, float | None]]) -> Outcome:
    columns = {key: tuple(run[key] for run in runs) for key in runs[0]}
    known = {key: tuple(v for v in values if v is not None) for key, values in columns.items()}
    return Outcome(step=step, **known)


def _corrected(scene: Scene) -> float:
    """The slope with the noise taken out, over that before the noise came."""
    roles, ratio = scene.roles, scene.settings.ratio
    table, _ = STEPS["noise added"](scene)
    names = [roles.stay, roles.first, roles.second]
    after, before = (
        noise_corrected(frame, roles.charge, names, noisy=[roles.stay], ratio=ratio)[roles.stay]
        for frame in (table, scene.ready)
    )
    return after.corrected / before.plain


def _pictures(scene: Scene) -> Pictures:
    roles = scene.roles
    models = {name: _fit(scene.ready, name, roles) for name in (roles.stay, roles.charge)}
    return Pictures(
        raw=scene.raw,
        ready=scene.ready,
        short=_short(scene)[0],
        shorter=shortened(scene.ready, roles.place, 2),
        suppressed=_suppressed(scene)[0],
        fitted={name: fitted for name, (fitted, _) in models.items()},
        coefficients={name: coefficients for name, (_, coefficients) in models.items()},
    )


def _fit(table: pl.DataFrame, target: str, roles: Roles) -> tuple[FloatArray, tuple[tuple[str, float, float], ...]]:
    """Least squares of one number on the other and the demographic columns: fitted values, and coefficients with their
    standard errors."""
    other = roles.charge if target == roles.stay else roles.stay
    dummies = table.select(roles.first, roles.second).to_dummies(drop_first=True)
    X = np.column_stack([np.ones(len(table)), dummies.to_numpy(), table[other].to_numpy()]).astype(np.float64)
    y = table[target].to_numpy().astype(np.float64)
    inverse = np.linalg.pinv(X.T @ X)
    beta = inverse @ (X.T @ y)
    variance = float(((y - X @ beta) ** 2).sum()) / max(1, len(y) - X.shape[1])
    errors = np.sqrt(variance * np.maximum(np.diag(inverse), 0.0))
    terms = ("(intercept)", *dummies.columns, other)
    return X @ beta, tuple(zip(terms, beta.tolist(), errors.tolist(), strict=True))
