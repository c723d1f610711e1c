"""Groupers: who is grouped with whom."""

from shoal.group.ball import Ball
from shoal.group.crest import Crest
from shoal.group.grouper import Grouper, Grouping
from shoal.group.kmember import MDAV, KMember
from shoal.group.mst import MST, TCloseMST

__all__ = ["MDAV", "MST", "Ball", "Crest", "Grouper", "Grouping", "KMember", "TCloseMST"]
