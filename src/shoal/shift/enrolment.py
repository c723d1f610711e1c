"""Who of the new market enrols: everybody alike, by known probabilities, or like the members.

If enrolment depends on x alone, P(E=1 | x) is proportional to p(x | E=1, M=0) / p(x | M=0): members and existing market
give it up to a constant, on the cells where the existing market has people.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import FloatArray
from shoal.conform import floats
from shoal.errors import InputError, ParameterError
from shoal.frame import enter, series
from shoal.shift.people import People
from shoal.shift.populations import Populations
from shoal.shift.tally import ratio, sums_by

__all__ = ["LIKE_MEMBERS", "enrolment_words", "likelihood", "members_likelihood"]

LIKE_MEMBERS = "members"


def likelihood(given: Any, table: Any, new: People, populations: Populations) -> FloatArray | None:
    """Mean probability of enrolment on each combination; None: to be estimated from the members."""
    if isinstance(given, str) and given == LIKE_MEMBERS:
        return None
    if given is None:
        return np.ones(len(populations.points))
    market = populations.tables[2]
    chances = _chances(given, table, new)
    return ratio(sums_by(market.point, market.weights * chances, len(populations.points)), market.mass)


def members_likelihood(populations: Populations, members: FloatArray, existing: FloatArray) -> FloatArray:
    """P(E=1 | x) on each combination, scaled to a maximum of 1, for these masses of members and existing market."""
    cells = populations.in_cells
    odds = ratio(cells(members) / members.sum(), cells(existing) / existing.sum())
    top = odds.max()
    likely: FloatArray = (odds / top if top > 0 else odds)[populations.cell]
    return likely


def enrolment_words(given: Any) -> str:
    """How enrolment was told, for a report."""
    if given is None:
        return "everybody alike"
    if isinstance(given, str):
        return "like the members" if given == LIKE_MEMBERS else f"by the column {given}"
    return "by the given probabilities"


def _chances(given: Any, table: Any, new: People) -> FloatArray:
    values = _column(given, table) if isinstance(given, str) else _numbers(given)
    if values.shape != (new.n_original,):
        raise InputError("enrolment", "must be one probability for each row", got=f"shape {values.shape}")
    chances: FloatArray = values[new.rows]
    if not (np.isfinite(chances).all() and (chances >= 0).all() and (chances <= 1).all() and chances.any()):
        raise InputError("enrolment", "must hold probabilities from 0 to 1, not all 0, none missing")
    return chances


def _column(name: str, table: Any) -> FloatArray:
    frame = enter(table, owner="new market")
    if name not in frame.columns:
        raise ParameterError(
            "assess",
            "enrolment must be 'members', a column of the new market, or a probability for each row",
            got=repr(name)[:60],
        )
    return floats(series(frame, name))


def _numbers(given: Any) -> FloatArray:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("assess", "enrolment must hold numbers", got=type(given).__name__) from None
