"""How well a score tells people apart and how true its probabilities are, on people it has not seen.

- AUROC: the probability that a person with the outcome gets a higher risk than one without (ties count half), with the
  95 % interval of Hanley and McNeil;
- accuracy at the threshold ½, Brier score (mean squared error of the probability);
- calibration: in tenths of the risk, the mean risk against the share with the outcome; `calibration_error` is the mean
  absolute difference weighted by people.

An evaluation looks at real people's outcomes without noise: it is for inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.errors import InputError

__all__ = ["Evaluation", "auroc", "evaluate", "roc_curve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
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

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-safe words."""
        words = {name: getattr(self, name) for name in self.__slots__}
        return words | {"auroc_interval": list(self.auroc_interval), "bins": [list(bin_) for bin_ in self.bins]}


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
