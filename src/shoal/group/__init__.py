"""Groupers: who is grouped with whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.group.balanced import Balanced
    from shoal.group.ball import Ball
    from shoal.group.crest import Crest
    from shoal.group.grouper import Grouper, Grouping, Handing
    from shoal.group.kmember import MDAV, KMember
    from shoal.group.mst import MST, TCloseMST

__all__ = ["MDAV", "MST", "Balanced", "Ball", "Crest", "Grouper", "Grouping", "Handing", "KMember", "TCloseMST"]

__getattr__, __dir__ = on_demand(__name__)
