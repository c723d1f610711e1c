"""The figures of a comparison with their readings: found, guessed and kept, each beside what it is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.comparison.outcome import Outcome
from shoal.reading import Reading

if TYPE_CHECKING:
    from shoal.comparison.comparison import Comparison

__all__ = ["readings_of"]

_SLACK = 0.02  # of what is kept: as good as another sample


def readings_of(comparison: Comparison, one: Outcome, limit: float) -> tuple[Reading, Reading, Reading]:
    """What an outcome was measured to have found, guessed and kept.

    Before is the table published unchanged. Chance is a blind guess; of what is kept, another sample of the same size.
    The limit is the risk that is accepted.
    """
    before = comparison.reference
    found = Reading(
        name="found",
        value=one.risks.get("found"),
        before=None if one.is_counted else before.get("found"),
        chance=1 / comparison.n_records if comparison.n_records else None,
        limit=limit,
        basis="asked for",
        n=comparison.n_records or None,
    )
    guessed = Reading(
        name="guessed", value=one.risks.get("guessed"), before=before.get("guessed"), chance=0.0, slack=_SLACK
    )
    kept = Reading(
        name="kept",
        value=one.utilities.get("kept"),
        chance=before.get("second_sample"),
        against="another sample",
        better="higher",
        slack=_SLACK,
    )
    return found, guessed, kept
