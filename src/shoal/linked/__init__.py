"""Linked tables: persons and their events, checked, grouped, exchanged, coarsened and counted on the joined view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.linked.collection import Collection
    from shoal.linked.counting import Bags, candidates, k_of
    from shoal.linked.event_method import Done, EventMethod
    from shoal.linked.joint import JointRisk, assess_joint, bags_of
    from shoal.linked.summaries import summaries_of

__all__ = [
    "Bags",
    "Collection",
    "Done",
    "EventMethod",
    "JointRisk",
    "assess_joint",
    "bags_of",
    "candidates",
    "k_of",
    "summaries_of",
]

__getattr__, __dir__ = on_demand(__name__)
