"""How well a score tells people apart and how true its probabilities are, on people it has not seen.

- AUROC: the probability that a person with the outcome gets a higher risk than one without (ties count half), with the
  95% interval of Hanley and McNeil;
- accuracy at the threshold ½, Brier score (mean squared error of the probability);
- calibration: in tenths of the risk, the mean risk against the share with the outcome; `calibration_error` is the mean
  absolute difference weighted by people.

An evaluation looks at real people's outcomes without noise: it is for inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.errors import InputError
from shoal.record import Record

__all__ = [
    "ClassEvaluation",
    "Evaluation",
    "NumberEvaluation",
    "auroc",
    "evaluate",
    "evaluate_classes",
    "evaluate_numbers",
    "roc_curve",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Record):
    """What an evaluation found; `bins` holds (mean risk, share with the outcome, people) for tenths of the risk.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.score import evaluate
    >>> found = evaluate(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))
    >>> found.auroc, found.n
    (0.75, 4)
    """

    releasable: ClassVar[bool] = False

    n: int
    n_outcome: int
    auroc: float
    auroc_interval: tuple[float, float]
    accuracy: float
    brier: float
    calibration_error: float
    bins: tuple[tuple[float, float, int], ...]


def evaluate(risks: FloatArray, outcome: IntArray) -> Evaluation:
    """Measure risks against outcomes (0 and 1); both outcomes must occur."""
    risks, y = np.asarray(risks, dtype=np.float64), np.asarray(outcome).astype(np.int64)
    if len(risks) != len(y) or not 0 < y.sum() < len(y):
        raise InputError("evaluation", "needs one risk for each outcome, and both outcomes among them")
    area = auroc(risks, y)
    bins = _bins(risks, y)
    return Evaluation(
        n=len(y),
        n_outcome=int(y.sum()),
        auroc=area,
        auroc_interval=_interval(area, int(y.sum()), int(len(y) - y.sum())),
        accuracy=float(((risks >= 0.5) == y).mean()),
        brier=float(((risks - y) ** 2).mean()),
        calibration_error=float(sum(abs(risk - share) * n for risk, share, n in bins) / len(y)),
        bins=bins,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassEvaluation(Record):
    """How well shares of several classes fit: accuracy of the likeliest, mean of −log(share of the true class), AUROC.

    `auroc` holds for each class that of its share against all others; None where the table has nobody of it, or nobody
    else.
    """

    releasable: ClassVar[bool] = False

    n: int
    accuracy: float
    log_loss: float
    auroc: dict[str, float | None]

    def rows(self) -> list[list[str]]:
        """Each measure in words, for a table."""
        areas = [[f"AUROC of {name}", "none" if a is None else f"{a:.3f}"] for name, a in self.auroc.items()]
        return [
            ["people", f"{self.n:,}"],
            ["accuracy", f"{self.accuracy:.3f}"],
            ["log loss", f"{self.log_loss:.3f}"],
            *areas,
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberEvaluation(Record):
    """How far expected values are from what came: R², root mean squared and mean absolute error, mean error."""

    releasable: ClassVar[bool] = False

    n: int
    r2: float
    rmse: float
    mae: float
    bias: float

    def rows(self) -> list[list[str]]:
        """Each measure in words, for a table."""
        errors = [["root mean squared error", self.rmse], ["mean absolute error", self.mae], ["mean error", self.bias]]
        shown = [[str(name), f"{value:.4g}"] for name, value in errors]
        return [["people", f"{self.n:,}"], ["R²", f"{self.r2:.3f}"], *shown]


def evaluate_classes(shares: FloatArray, classes: Sequence[str], outcome: AnyArray) -> ClassEvaluation:
    """Measure shares of several classes (columns in the order of `classes`) against the true ones.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.score import evaluate_classes
    >>> shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    >>> evaluate_classes(shares, ["a", "b", "c"], np.array(["a", "b"])).accuracy
    0.5
    """
    places = {label: place for place, label in enumerate(classes)}
    if len(outcome) != len(shares) or not len(outcome) or not set(outcome) <= set(places):
        raise InputError("evaluation", "needs one known class for each person")
    y = np.array([places[label] for label in outcome])
    own = np.maximum(shares[np.arange(len(y)), y], 1e-15)
    areas = {label: _area(shares[:, place], y == place) for label, place in places.items()}
    return ClassEvaluation(
        n=len(y), accuracy=float((shares.argmax(axis=1) == y).mean()), log_loss=float(-np.log(own).mean()), auroc=areas
    )


def _area(shares: FloatArray, own: AnyArray) -> float | None:
    return auroc(shares, own.astype(np.int64)) if 0 < own.sum() < len(own) else None


def evaluate_numbers(expected: FloatArray, outcome: AnyArray) -> NumberEvaluation:
    """Measure expected values against what came.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.score import evaluate_numbers
    >>> evaluate_numbers(np.array([1.0, 2.0]), np.array([1.0, 4.0])).mae
    1.0
    """
    y = np.asarray(outcome, dtype=np.float64)
    if len(y) != len(expected) or not len(y) or not np.isfinite(y).all():
        raise InputError("evaluation", "needs one number for each person, none of them missing")
    error = expected - y
    spread = float(((y - y.mean()) ** 2).sum())
    return NumberEvaluation(
        n=len(y),
        r2=1.0 - float((error**2).sum()) / spread if spread else 0.0,
        rmse=float(np.sqrt((error**2).mean())),
        mae=float(np.abs(error).mean()),
        bias=float(error.mean()),
    )


def auroc(risks: FloatArray, y: IntArray) -> float:
    """The area under the ROC curve by ranks, ties counting half."""
    from scipy.stats import rankdata

    n1 = int(y.sum())
    ranks = rankdata(risks)
    return float((ranks[y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(y) - n1)))


def roc_curve(risks: FloatArray, y: IntArray, points: int = 60) -> list[tuple[float, float]]:
    """(false positive rate, true positive rate) at up to `points` thresholds."""
    order = np.argsort(-risks, kind="stable")
    hits, last = y[order], np.append(np.diff(risks[order]) != 0, True)
    true, false = np.cumsum(hits)[last] / y.sum(), np.cumsum(1 - hits)[last] / (len(y) - y.sum())
    chosen = np.unique(np.linspace(0, len(true) - 1, min(points, len(true))).astype(np.int64))
    return [(0.0, 0.0), *((float(f), float(t)) for f, t in zip(false[chosen], true[chosen], strict=True))]


def _interval(area: float, n1: int, n0: int) -> tuple[float, float]:
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = (area * (1 - area) + (n1 - 1) * (q1 - area**2) + (n0 - 1) * (q2 - area**2)) / (n1 * n0)
    reach = 1.96 * float(np.sqrt(max(variance, 0.0)))
    return max(0.0, area - reach), min(1.0, area + reach)


def _bins(risks: FloatArray, y: IntArray) -> tuple[tuple[float, float, int], ...]:
    parts = np.array_split(np.argsort(risks, kind="stable"), min(10, len(risks)))
    return tuple((float(risks[part].mean()), float(y[part].mean()), len(part)) for part in parts)
