"""Keyed pseudonyms and date shifts: one project key, one scope, the same person alike in all tables and years."""

from shoal.pseudonym.date_shift import DateShift, Shifted, days_between, possible_shifts
from shoal.pseudonym.project_key import ENVIRONMENT, ProjectKey
from shoal.pseudonym.pseudonyms import Pseudonyms

__all__ = ["ENVIRONMENT", "DateShift", "ProjectKey", "Pseudonyms", "Shifted", "days_between", "possible_shifts"]
