"""How far apart two values of a column are, and distances that can be added across columns."""

from shoal.distance.metric import Metric
from shoal.distance.space import Space, Spaces

__all__ = ["Metric", "Space", "Spaces"]
