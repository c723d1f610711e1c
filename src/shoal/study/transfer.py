"""Transfer between tasks: does it help to learn one task from the rows of another?

Section 2 of Wei, Ramamurthy and Varshney (2018) names transfer beside covariate shift and tries it nowhere. Here a
small table of the target task stands beside a large one of another task, simulated health surveys both, and the model
is used on people who are older than either. Three kinds of another task:

- **alike**: the same costs; whoever pools is right;
- **dearer**: all costs are half as high again;
- **dearer for the old**: costs of those from age group 5 on are doubled, so the tasks share a part only.

Error is the root mean square of predicted less true mean cost over the new people, truth being the same model on 60,000
people of the target task.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.datasets import health_survey, health_survey_schema
from shoal.params import Help, Range, check
from shoal.shift import Transfer
from shoal.study.study import Flag, Progress, quiet

__all__ = ["KINDS", "WAYS", "Error", "Settings", "TransferStudy", "run"]

Kind = Literal["alike", "dearer", "dearer for the old"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Way = Literal["alone", "pooled", "ratio", "logistic"]
WAYS: tuple[Way, ...] = get_args(Way)

_TRUTH = 60_000
_OLDER = 3  # the new people are of this age group or above
_LIMIT = 0.6  # small tables leave many cells of the new people without rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of a study. More draws narrow the intervals."""

    draws: Annotated[int, Range(low=2), Help("Number of simulated pairs of tables.")] = 20
    sizes: Annotated[
        tuple[int, ...], Flag("--size"), Help("Rows of the target task; repeatable. [default: 300, 1000]")
    ] = (
        300,
        1000,
    )
    n: Annotated[int, Range(low=100), Flag("--rows"), Help("Rows of the other task, and of the new people.")] = 4000
    seed: Annotated[int, Range(low=0), Help("Random seed.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """Errors of one way to learn, draw by draw, and the mean weight that it gave to rows of the other task."""

    kind: str
    size: int
    way: str
    runs: tuple[float, ...]
    borrowed_share: float

    @property
    def mean(self) -> float:
        """Mean over the draws."""
        return float(np.mean(self.runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferStudy:
    """All errors of a study, on simulated people."""

    settings: Settings
    errors: tuple[Error, ...]

    def error(self, kind: str, size: int, way: str) -> Error:
        """The errors of one way in one setting."""
        return next(e for e in self.errors if (e.kind, e.size, e.way) == (kind, size, way))

    def to_dict(self) -> dict[str, Any]:
        """The study as JSON-safe words."""
        return asdict(self)


def run(*, settings: Settings | None = None, progress: Progress = quiet) -> TransferStudy:
    """Run the study.

    Examples
    --------
    >>> from shoal.study.transfer import Settings, run
    >>> study = run(settings=Settings(draws=2, sizes=(300,), n=600))
    >>> len(study.errors)
    12
    """
    settings = settings or Settings()
    check(settings)
    people = health_survey(_TRUTH, settings.seed)
    truth = Transfer(method="none").fit({"here": people}, "here", people, health_survey_schema())
    cases = [(kind, size) for size in settings.sizes for kind in KINDS]
    errors: list[Error] = []
    for i, (kind, size) in enumerate(cases):
        progress(i, len(cases))
        found = np.array([_draw(kind, size, truth, settings, draw) for draw in range(settings.draws)])
        errors += [_error(kind, size, way, found[:, j]) for j, way in enumerate(WAYS)]
    progress(len(cases), len(cases))
    return TransferStudy(settings=settings, errors=tuple(errors))


def _error(kind: Kind, size: int, way: Way, found: FloatArray) -> Error:
    runs, borrowed = found.T
    return Error(kind=kind, size=size, way=way, runs=tuple(runs.tolist()), borrowed_share=float(borrowed.mean()))


def _draw(kind: Kind, size: int, truth: Transfer, settings: Settings, draw: int) -> list[tuple[float, float]]:
    """Error and borrowed share of every way on one pair of tables."""
    first = 1 + settings.seed + 3 * draw  # three surveys of their own for each draw
    here = health_survey(size, first + 1_000_000)
    there = _other(health_survey(settings.n, first + 1_000_001), kind)
    new = health_survey(settings.n, first + 1_000_002).filter(pl.col("age_group") >= _OLDER)
    return [_tried(way, here, there, new, truth.predict(new)) for way in WAYS]


def _tried(
    way: Way, here: pl.DataFrame, there: pl.DataFrame, new: pl.DataFrame, true: FloatArray
) -> tuple[float, float]:
    tasks = {"here": here} if way == "alone" else {"here": here, "there": there}
    model = Transfer(method=way if way in ("ratio", "logistic") else "none", limit=_LIMIT)
    model.fit(tasks, "here", new, health_survey_schema())
    share = 0.0 if model.weights_ is None else model.weights_.borrowed_share
    return float(np.sqrt(np.mean((model.predict(new) - true) ** 2))), share


def _other(people: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    old = pl.col("age_group") >= 5
    factor = {"alike": pl.lit(1.0), "dearer": pl.lit(1.5), "dearer for the old": pl.when(old).then(2.0).otherwise(1.0)}
    return people.with_columns(cost=(pl.col("cost") * factor[kind]).round().cast(pl.Int64))
