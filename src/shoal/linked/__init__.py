"""Linked tables: persons and their events, checked, grouped, exchanged, coarsened and counted on the joined view."""

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
