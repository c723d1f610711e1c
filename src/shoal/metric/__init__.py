"""How far apart two values of a column are, and distances that can be added across columns."""

from shoal.metric.metric import Metric
from shoal.metric.space import Space, Spaces

__all__ = ["Metric", "Space", "Spaces"]
