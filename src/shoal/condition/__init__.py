"""What every class of a release must meet: enough persons, mixed sensitive values, limits on an attacker's risk."""

from shoal.condition.conditions import Conditions
from shoal.condition.requirements import MINIMALITY, Closeness, Diversity, Promise

__all__ = ["MINIMALITY", "Closeness", "Conditions", "Diversity", "Promise"]
