"""Groupers: who hides with whom."""

from shoal.group.grouper import Grouper, Grouping
from shoal.group.kmember import KMember
from shoal.group.mdav import MDAV

__all__ = ["MDAV", "Grouper", "Grouping", "KMember"]
