"""Places whose size a name doesn't tell: states and larger ones by their values, and facilities by their names."""

from __future__ import annotations

import polars as pl

from shoal.schema.evidence import words_in
from shoal.schema.judgement.identifiers import PLACES_OF_ANY_SIZE
from shoal.schema.judgement.us_places import DIVISIONS, REGIONS, STATE_NAMES, STATE_OF_FIPS, STATES
from shoal.schema.name_words import NUMBER

__all__ = ["answers_share", "is_state_or_larger", "may_be_small_place", "says_whether"]


def is_state_or_larger(values: pl.Series) -> bool:
    """Whether all these places are states, divisions or regions of the census, or countries by their codes."""
    return set(values.cast(pl.String).str.strip_chars().str.to_lowercase()) <= _LARGE


_LARGE = frozenset(
    name.lower()
    for names in (STATES, STATE_NAMES, STATE_OF_FIPS, DIVISIONS, REGIONS, REGIONS.values())
    for name in names
) | {"north central", "us", "usa", "united states", "abroad", "foreign", "other", "unknown", "*"}


def says_whether(values: pl.Series) -> bool:
    """Return True if these say who has one, not which (yes and no, 0 and 1, town and country), or nothing at all."""
    if values.dtype == pl.Boolean:
        return True
    for part in (values.head(_A_LOOK), values):  # the first settle most columns
        texts = set(_lower(part))
        if not any(texts <= answers for answers in _ANSWERS):
            return False
    return True


def answers_share(distinct: pl.DataFrame) -> float:
    """Return the share of cells that are answers, not places, from different values (``value``, ``count``).

    Between all and hardly any nothing can be judged: one cell would decide what is written of all.
    """
    answers = _lower(distinct["value"]).is_in(sorted((_ANSWERS[0] | _ANSWERS[2]) - {"unknown", "*"}))
    return int(distinct["count"].filter(answers).sum()) / max(1, int(distinct["count"].sum()))


def _lower(values: pl.Series) -> pl.Series:
    return values.cast(pl.String).str.strip_chars().str.to_lowercase()


_A_LOOK = 64
_ANSWERS = (
    frozenset(("yes", "no", "y", "n", "true", "false", "t", "f", "unknown", "*")),
    frozenset(("0", "1", "0.0", "1.0")),
    frozenset(("urban", "rural", "suburban", "metro", "nonmetro", "non-metro", "unknown", "*")),
)


def may_be_small_place(name: str) -> bool:
    """Whether a column of this name may hold places smaller than a state: regions of any size, or facilities.

    ``admitting_hospital`` and ``provider_id`` say which; ``time_in_hospital`` and ``provider_type`` don't.
    """
    words = words_in(name)
    return bool(PLACES_OF_ANY_SIZE & set(words)) or _says_which_facility(words)


def _says_which_facility(words: tuple[str, ...]) -> bool:
    *parts, whole = words
    if whole in _GLUED:
        return True
    at = max((i for i, word in enumerate(parts) if word in _FACILITIES), default=None)
    if at is None or (at and parts[at - 1] in _MEASURED):
        return False
    return set(parts[at + 1 :]) <= _WHICH


_FACILITIES = frozenset(
    [
        "hospital",
        "hospitals",
        "clinic",
        "clinics",
        "facility",
        "facilities",
        "provider",
        "providers",
        "institution",
        "institutions",
    ]
)
_WHICH = NUMBER | {"name", "names", "label"}
_GLUED = frozenset(f"{facility}{which}" for facility in _FACILITIES for which in _WHICH)
_MEASURED = frozenset(
    [
        "in",
        "days",
        "day",
        "time",
        "nights",
        "hours",
        "stay",
        "stays",
        "visits",
        "per",
        "since",
        "before",
        "after",
        "n",
        "num",
        "nbr",
        "no",
    ]
)
