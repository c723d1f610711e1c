"""The experiments of chapter 5 of Park's thesis (2014): private trees behind an API, and what their promise is worth.

What it repeats: the C4.5 tree against the 0-DiffStructure (figures 5.3, 5.4), an admissible and a non-admissible split
with the range of gains over the eight one-record changes (5.5), and AUROC against ε (5.6, 5.7) over random halves, on a
file in the layout of the Pima data or a simulated one.

What it adds: the same axis for models whose ε is proved and covers the whole model; the published forest when its ε has
to cover as many queries as the test half has people; the two attacks that the chapter tells as stories, carried out
(`shoal.study.dpat_attacks`); which α grow different structures; how many one-record deletions change the "0-private"
structure and by how many noise scales an answer moves; the exact privacy loss of noise that is scaled to the leaf.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.errors import InputError
from shoal.frame import enter, series
from shoal.params import Help, Range, check
from shoal.rng import stream
from shoal.schema import Schema
from shoal.score import AlphaTree, CertifiedForest, CertifiedTree, StableForest, StableTree, distinct_alphas
from shoal.score.evaluation import auroc, roc_curve
from shoal.score.model import Records
from shoal.score.splits import Splits, alpha_gain, gain_range
from shoal.score.stable import leaf_range, stable_choice
from shoal.score.tree import Tree, grow
from shoal.study.dpat_attacks import Attack, on_outcome, on_value
from shoal.study.study import Flag, Progress, quiet

__all__ = ["EPSILONS", "DpatStudy", "Settings", "laplace_loss", "run"]

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
ALPHAS = (0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much to do."""

    n: Annotated[int, Range(low=100), Help("Number of records in the simulated table.")] = 768
    halves: Annotated[int, Range(low=2), Help("Number of random halves; the paper used 30.")] = 10
    deletions: Annotated[int, Range(low=1), Help("Largest number of one-record deletions to try.")] = 768
    daves: Annotated[int, Range(low=2), Help("Number of people whose outcome is attacked.")] = 10
    seed: Annotated[int, Range(low=0), Help("Random seed of the table and the halves.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """AUROC of one model at each ε, over the halves."""

    model: str
    promise: str
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    halves: tuple[tuple[float, ...], ...]
    """AUROC of each half at each ε."""

    def at(self, epsilon: float) -> list[float]:
        """AUROC of each half at one ε."""
        return [half[EPSILONS.index(epsilon)] for half in self.halves]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The best question about each variable at one node: gain, κ and λ."""

    node: str
    admissible: bool
    questions: tuple[tuple[str, float, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletions:
    """What deleting single records does to the "0-private" structure of one α."""

    alpha: float
    tried: int
    changed: int
    largest_move: float
    """The largest change of one exact answer, in noise scales at ε = 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The privacy loss of one leaf's noise against its worst neighbour at ε = 1, by the size of the answer."""

    n1: int
    n: int
    inside: float
    at_ten: float
    at_hundred: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DpatStudy:
    """What the study found. For inside: it shows exact trees of the data."""

    releasable: ClassVar[bool] = False

    settings: Settings
    data: str
    n_records: int
    n_features: int
    trees: dict[str, str]
    pictures: dict[str, str]
    splits: tuple[Split, ...]
    curves: tuple[Curve, ...]
    roc: dict[str, list[tuple[float, float]]]
    deletions: tuple[Deletions, ...]
    losses: tuple[Loss, ...]
    hidden: str
    on_value: tuple[Attack, ...]
    on_outcome: tuple[Attack, ...]
    alphas: dict[str, tuple[float, ...]]
    absent: str

    def curve(self, model: str) -> Curve:
        """The curve of a model."""
        return next(curve for curve in self.curves if curve.model == model)

    def to_dict(self) -> dict[str, Any]:
        """The study as JSON-safe words."""
        words = {name: getattr(self, name) for name in self.__slots__ if name not in ("pictures", "settings")}
        for name in ("splits", "curves", "deletions", "losses", "on_value", "on_outcome"):
            words[name] = [asdict(item) for item in words[name]]
        return words | {"settings": asdict(self.settings), "epsilons": list(EPSILONS)}


def run(
    table: Annotated[Any, Flag("--data"), Help("A table in the Pima layout. [default: a simulated one]")] = None,
    schema: Annotated[
        Schema | None, Flag("--schema", "-s"), Help("Schema file (TOML) of a table in another layout.")
    ] = None,
    target: Annotated[str, Flag("--target", "-t"), Help("Column with the two classes.")] = "diabetes",
    *,
    name: str = "a simulated table",
    settings: Settings | None = None,
    progress: Progress = quiet,
) -> DpatStudy:
    """Run the study on `table` (any dataframe with a schema), or on a simulated one."""
    settings = settings or Settings()
    check(settings)
    X, y, rules = _data(table, schema, target, settings)
    full = AlphaTree(1.0, max_depth=4, schema=rules).fit(X, y)
    stable = StableTree(1.0, schema=rules).fit(X, y)
    records = stable.records(X, y, None)
    total = settings.halves + len(ALPHAS)
    found, roc, absent = _curves(X, y, rules, settings, lambda done: progress(done, total))
    deletions = []
    for i, alpha in enumerate(ALPHAS):
        deletions.append(_deletions(records, alpha, stable.max_depth, settings))
        progress(settings.halves + i + 1, total)
    hidden, values = on_value(X, y, rules, settings.seed)
    return DpatStudy(
        settings=settings,
        data=name if table is not None else "a simulated table",
        n_records=len(y),
        n_features=len(records.features),
        trees={"C4.5 (α = 1), depth 4": full.to_text(), "0-DiffStructure (α = 1)": stable.to_text()},
        pictures={"C4.5 (α = 1), depth 4": full.to_svg(), "0-DiffStructure (α = 1)": stable.to_svg()},
        splits=_splits(records, stable.model_[0]),
        curves=found,
        roc=roc,
        deletions=tuple(deletions),
        losses=_losses(stable.model_[0]),
        hidden=hidden,
        on_value=values,
        on_outcome=on_outcome(X, y, rules, settings.daves),
        alphas={str(a): equal for a, equal in distinct_alphas(X, y, schema=rules).items()},
        absent=absent,
    )


def laplace_loss(answer: float, one: tuple[float, float], other: tuple[float, float]) -> float:
    """|log ratio| at `answer` of two Laplace densities, each given by centre and scale."""
    logs = [-abs(answer - centre) / scale - math.log(2 * scale) for centre, scale in (one, other)]
    return abs(logs[0] - logs[1])


def _data(table: Any, schema: Schema | None, target: str, settings: Settings) -> tuple[pl.DataFrame, IntArray, Schema]:
    rules = schema or pima_like_schema()
    frame = enter(pima_like(settings.n, settings.seed) if table is None else table)
    if target not in frame.columns:
        raise InputError("study", f"the table must have the target column '{target}'")
    roles = ("quasi", "sensitive", "other")
    names = [c.name for c in rules.columns if c.role in roles and c.name != target and c.name in frame.columns]
    outcome = series(frame, target).cast(pl.String)
    levels = rules[target].levels if target in rules and rules[target].levels else tuple(outcome.unique().sort())
    if levels is None or len(levels) != 2 or not names:
        raise InputError("study", "needs a target with two classes and at least one declared feature")
    y = (outcome == str(levels[1])).to_numpy().astype(np.int64)
    return pl.DataFrame({name: series(frame, name) for name in names}), y, rules


def _models(rules: Schema, queries: int) -> dict[str, tuple[str, Callable[[float], Any]]]:
    return {
        "CertifiedForest": ("ε for the model, proved", lambda e: CertifiedForest(e, rules)),
        "CertifiedForest, random trees": (
            "ε for the model, proved",
            lambda e: CertifiedForest(e, rules, design="random", n_trees=10),
        ),
        "CertifiedTree, depth 3": ("ε for the model, proved", lambda e: CertifiedTree(e, rules, max_depth=3)),
        "EDPaT": ("ε a query, refuted", lambda e: StableForest(ALPHAS, e, schema=rules)),
        "DPaT": ("ε a query, refuted", lambda e: StableTree(1.0, e, schema=rules)),
        "EDPaT, ε for all queries": (
            "ε for all queries, refuted",
            lambda e: StableForest(ALPHAS, e / queries, schema=rules),
        ),
        "C4.5, no privacy": ("none", lambda e: AlphaTree(1.0, schema=rules)),
        "EDPaT, 3 cuts": ("ε a query, refuted", lambda e: StableForest(ALPHAS, e, cuts=3, schema=rules)),
        "C4.5, 3 cuts, no privacy": ("none", lambda e: AlphaTree(1.0, cuts=3, schema=rules)),
        **_peers(),
    }


def _curves(
    X: pl.DataFrame, y: IntArray, rules: Schema, settings: Settings, progress: Callable[[int], None]
) -> tuple[tuple[Curve, ...], dict[str, list[tuple[float, float]]], str]:
    models = _models(rules, len(y) - len(y) // 2)
    found = {name: np.zeros((settings.halves, len(EPSILONS))) for name in models}
    roc: dict[str, list[tuple[float, float]]] = {}
    for h in range(settings.halves):
        order = stream(settings.seed, "dpat", "half", h).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        for name, (_, make) in models.items():
            for j, epsilon in enumerate(EPSILONS):
                risks = _asked(make(epsilon).fit(X[train], y[train]), X[test])
                found[name][h, j] = auroc(risks, y[test])
                if h == 0 and epsilon == 1.0 and name in ("CertifiedForest", "EDPaT", "DPaT", "C4.5, no privacy"):
                    roc[name] = roc_curve(risks, y[test])
        progress(h + 1)
    curves = tuple(
        Curve(
            model=name,
            promise=models[name][0],
            mean=tuple(float(m) for m in values.mean(axis=0)),
            deviation=tuple(float(s) for s in values.std(axis=0, ddof=1)),
            halves=tuple(tuple(float(v) for v in half) for half in values),
        )
        for name, values in found.items()
    )
    return curves, roc, "" if _peers() else "diffprivlib is not installed, so its models are not shown."


def _asked(model: Any, X: pl.DataFrame) -> FloatArray:
    """Published models answer as published, without clipping to 0..1."""
    answers: FloatArray = model.answers(X) if hasattr(model, "answers") else model.predict_proba(X)[:, 1]
    return answers


def _splits(records: Records, tree: Tree) -> tuple[Split, ...]:
    """Figure 5.5: the root, and the largest leaf whose best question was not admissible."""
    splits = Splits.of(records.features)
    keys = splits.keys(records.codes, records.y)
    leaves = tree.apply(records.codes)
    mixed = [leaf for leaf in tree.leaves if tree.counts[leaf].min() > 0 and leaf != 0]
    out = [_split("the root", keys, splits, records)]
    if mixed:
        leaf = max(mixed, key=lambda node: float(tree.counts[node].sum()))
        out.append(_split("the largest leaf that stopped", keys[leaves == leaf], splits, records))
    return tuple(out)


def _split(node: str, keys: IntArray, splits: Splits, records: Records) -> Split:
    tables, total = splits.tables(keys)
    gains = alpha_gain(tables, 1.0)
    low, high = gain_range(tables, 1.0)
    rows = []
    for j in range(len(records.features)):
        own = np.flatnonzero(splits.variable == j)
        if len(own):
            best = int(own[gains[own].argmax()])
            asked = records.features.question(j, int(splits.low[best]))
            rows.append((asked, float(gains[best]), float(low[best]), float(high[own].max())))
    rows.sort(key=lambda row: -row[1])
    admissible = stable_choice(1.0, splits, 1)(tables, total, 0) >= 0
    return Split(node=node, admissible=admissible, questions=tuple(rows))


def _deletions(records: Records, alpha: float, max_depth: int, settings: Settings) -> Deletions:
    """Delete records one by one; compare structures, and answers where they differ."""
    splits = Splits.of(records.features)
    keys = splits.keys(records.codes, records.y)
    choose = stable_choice(alpha, splits, max_depth)
    whole = grow(keys, splits, choose)
    before, widths = _exact(whole, records.codes)
    rows = np.arange(len(keys))
    if len(rows) > settings.deletions:
        rows = stream(settings.seed, "dpat", "deletions").choice(rows, settings.deletions, replace=False)
    changed, largest = 0, 0.0
    for row in rows:
        tree = grow(np.delete(keys, row, axis=0), splits, choose)
        if tree.structure() != whole.structure():
            changed += 1
            largest = max(largest, float((np.abs(_exact(tree, records.codes)[0] - before) / widths).max()))
    return Deletions(alpha=alpha, tried=len(rows), changed=changed, largest_move=largest)


def _exact(tree: Tree, codes: IntArray) -> tuple[FloatArray, FloatArray]:
    leaves = tree.apply(codes)
    n1, n = tree.counts[:, 1], tree.counts.sum(axis=1)
    share = np.where(n > 0, n1 / np.maximum(n, 1.0), 0.5)
    width = np.array([np.subtract(*leaf_range(one, total)[::-1]) for one, total in zip(n1, n, strict=True)])
    return share[leaves], width[leaves]


def _losses(tree: Tree) -> tuple[Loss, ...]:
    """At ε = 1, for each leaf the worst of its neighbours: inside 0..1, and at answers of ±10 and ±100."""
    found = [_loss(round(n1), round(n0 + n1)) for n0, n1 in tree.counts[tree.leaves]]
    return tuple(sorted(found, key=lambda loss: -loss.inside))


def _loss(n1: int, n: int) -> Loss:
    neighbours = [(n1 + 1, n + 1), (n1, n + 1)]
    neighbours += [(n1 - 1, n - 1)] if n1 > 0 and n > 1 else []
    neighbours += [(n1, n - 1)] if n1 < n and n > 1 else []

    def worst(answers: FloatArray) -> float:
        own = _law(n1, n)
        return max(laplace_loss(float(a), own, _law(*other)) for other in neighbours for a in answers)

    return Loss(
        n1=n1,
        n=n,
        inside=worst(np.linspace(0, 1, 101)),
        at_ten=worst(np.array([-10.0, 10.0])),
        at_hundred=worst(np.array([-100.0, 100.0])),
    )


def _law(n1: int, n: int) -> tuple[float, float]:
    low, high = leaf_range(n1, n)
    return (n1 / n if n else 0.5), high - low


def _peers() -> dict[str, tuple[str, Callable[[float], Any]]]:
    """diffprivlib's models: names, promises and makers; nothing where it can't be imported."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from diffprivlib import models  # type: ignore[import-not-found, unused-ignore]
    except Exception:  # it subclasses private classes of scikit-learn, so its import can fail in any way
        return {}
    promise = "ε for the model, proved"
    unit = (0.0, 1.0)
    return {
        "diffprivlib naive Bayes": (promise, lambda e: _Scaled(models.GaussianNB(epsilon=e, bounds=unit))),
        "diffprivlib logistic": (promise, lambda e: _Scaled(models.LogisticRegression(epsilon=e, data_norm=3.0))),
    }


class _Scaled:
    """A peer on numbers scaled by the range of the training half (which is kind to it: the range is not public)."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> _Scaled:
        values = X.to_numpy().astype(np.float64)
        self.low, self.span = values.min(axis=0), np.maximum(np.ptp(values, axis=0), 1e-9)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit((values - self.low) / self.span, y)
        return self

    def predict_proba(self, X: Any) -> Any:
        values = np.clip((X.to_numpy().astype(np.float64) - self.low) / self.span, 0, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.nan_to_num(self.model.predict_proba(values))
