"""What was done to the table, told in plain words: column by column, then the method, then its known limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ColumnError
from shoal.frame import series
from shoal.method import FAMILIES, Family, ReportText, find
from shoal.pair import Pair
from shoal.record import Record
from shoal.report.numbers import listed
from shoal.schema import NAMING, Column
from shoal.value import text_of

__all__ = [
    "ROLES",
    "ColumnAccount",
    "Named",
    "accounts_of",
    "is_apart",
    "is_coarsened",
    "known_limits",
    "method_words",
    "methods_in",
]

ROLES = {
    "identifier": "identifier",
    "quasi": "quasi-identifier",
    "sensitive": "sensitive",
    "weight": "survey weight",
    "unit": "person number",
    "household": "household number",
    "time": "time of an event",
    "other": "other",
}
REASONS = {
    "identifier": "It names a person.",
    "quasi": "It can be matched against outside knowledge.",
    "sensitive": "It is what the release is about; it must not be disclosed about a known person.",
    "weight": "Analyses need it.",
    "unit": "It links the rows of one person.",
    "household": "It links the people who live together.",
    "time": "It says when something happened to a person.",
    "other": "It was declared neither identifying nor sensitive.",
}


_UNTOLD = ReportText()


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A method as a recipe's words name it, and what it says of itself; one that isn't known is told by its name."""

    name: str
    report_text: ReportText = _UNTOLD
    starts_from_rows: bool = False
    apart: bool = False
    collapses: bool = False
    coarsens: bool = False
    perturbs: bool = False
    maps_distances: bool = False

    @classmethod
    def of(cls, family: Family, words: Any) -> Named:
        """Read the words of one method: a text, or a table with its parameters."""
        given = {"method": words.partition(":")[0]} if isinstance(words, str) else words
        name = str(given.get("method", "unnamed"))
        known = find(family, name)
        if known is None:
            return cls(name=name)
        aware = getattr(known, "is_aware", False)
        collapses = getattr(known, "collapses", False)
        apart = getattr(known, "is_apart_with", None)
        return cls(
            name=name,
            report_text=known.report_text_with(given),
            starts_from_rows=aware,
            apart=apart is not None and apart(given),
            collapses=collapses,
            coarsens=known.coarsens,
            perturbs=getattr(known, "perturbs", False),
            maps_distances=known.maps_distances,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAccount(Record):
    """What became of one column, and why.

    `n_left` counts the different values that a coarsened column still has; the release shows them to everybody.
    `changed_share` of the values differ from the person's own: inside only.
    """

    private: ClassVar[tuple[str, ...]] = (
        "changed_share",
        "n_left",
    )
    name: str
    role: str
    kind: str
    done: str
    reason: str
    kept: str
    missing: str
    n_left: int | None
    changed_share: float | None


def accounts_of(pair: Pair, recipe: Mapping[str, Any]) -> tuple[ColumnAccount, ...]:
    """Tell what became of each column of the schema."""
    changed = _changed_shares(pair)
    return tuple(_account(column, pair, recipe, changed.get(column.name)) for column in pair.schema.declared)


def _account(column: Column, pair: Pair, recipe: Mapping[str, Any], changed_share: float | None) -> ColumnAccount:
    steps, coarse = _steps_on(column, pair, recipe), is_coarsened(recipe)
    done = _done(column, pair, steps, coarse)
    return ColumnAccount(
        name=column.name,
        role=ROLES[column.role],
        kind=column.kind or "",
        done=done,
        reason=_reason(column, done, pair),
        kept=_kept(done, steps),
        missing=_missing(column, pair),
        n_left=_n_left(column, done, pair) if coarse else None,
        changed_share=changed_share,
    )


def _n_left(column: Column, done: str, pair: Pair) -> int | None:
    if column.role != "quasi" or done in (REMOVED, AS_IT_IS):
        return None
    return int(series(pair.released, column.name).n_unique())


def _kept(done: str, steps: Sequence[Named]) -> str:
    if done == REMOVED:
        return "Nothing."
    if done == PSEUDONYM:
        return "Which rows have the same one; with a project key, also over releases of the same key and scope."
    if done in (UNCHANGED, AS_IT_IS):
        return "Everything."
    return (steps[-1].report_text.keeps if steps else "") or "What the method preserves."


def _reason(column: Column, done: str, pair: Pair) -> str:
    if done == AS_IT_IS:
        return "The method had no need to change it."
    if column.role == "weight" and not pair.is_of_people:
        return "A synthetic row stands for itself."
    return REASONS[column.role]


def methods_in(recipe: Mapping[str, Any], family: Family) -> list[Named]:
    """The methods of one family in a recipe's words."""
    return [Named.of(family, words) for words in _listed(recipe.get(family))]


def is_apart(recipe: Mapping[str, Any]) -> bool:
    """Whether no released row is a person's: every column was handed round by itself."""
    masks = methods_in(recipe, "mask")
    return bool(masks) and masks[-1].apart


def is_coarsened(recipe: Mapping[str, Any]) -> bool:
    """Whether some method of a recipe wrote wider values, so that equal rows form classes."""
    return any(one.coarsens for family in FAMILIES for one in methods_in(recipe, family))


def method_words(recipe: Mapping[str, Any], pair: Pair, k: int) -> list[str]:
    """How the release was made, one sentence each step; groups only where some mask looks at them."""
    masks = methods_in(recipe, "mask")
    grouped = not masks or not all(mask.perturbs for mask in masks)
    named = [one for family in FAMILIES for one in methods_in(recipe, family) if family != "group" or grouped]
    steps = [one.report_text.done.format(k=k) or f"Method: {one.name}." for one in named]
    if any(not pair.schema[name].pseudonym for name in pair.schema.identifier):
        steps.append("Columns that name a person were removed.")
    if pair.schema.pseudonym:
        steps.append(f"Pseudonyms were written in the place of {listed(list(pair.schema.pseudonym))}.")
    if (np.diff(pair.source_rows) < 0).any():
        steps.append("The rows were put into another order.")
    return steps


def known_limits(recipe: Mapping[str, Any], pair: Pair) -> list[str]:
    """What the method doesn't do, one sentence each."""
    if not pair.is_of_people:
        return list(SYNTHETIC_LIMITS)
    if is_apart(recipe):
        return [*APART_LIMITS, _OTHERS]
    masks = methods_in(recipe, "mask")
    limits = [
        "Everything rests on the list of quasi-identifiers: a column that an intruder can match on, and that is not on "
        "the list, is not protected.",
    ]
    beside = [c.name for c in pair.schema.columns if c.role in ("sensitive", "time", "other", "weight")]
    masked = _listed(recipe.get("mask"))
    written = [name for name in beside if any(_writes(words, pair.schema[name]) for words in masked)]
    kept = [name for name in beside if name not in written]
    if written:
        limits.append(
            f"Not as collected: {listed(written)}. Masks wrote these sensitive columns, and diversity, closeness and "
            "classes in this report count what they wrote."
        )
    if kept:
        limits.append(
            f"Published unchanged: {listed(kept)}. Anyone who knows such a value of a person can use it for linkage."
        )
    if is_coarsened(recipe):
        limits += _coarse_limits(recipe["coarsen"][-1])
    if masks and masks[-1].starts_from_rows:
        limits.append(
            "The released values were derived from each person's own row: nothing is proved about "
            "re-identification; it is only measured."
        )
    elif masks and not masks[-1].collapses:
        limits.append(
            "The released table is not made of classes of k equal rows. What is promised is a limit on the probability "
            "of re-identification, not k-anonymity of the file. A rare combination may be real, but the rest of its "
            "row belongs to every member of the group with the same probability."
        )
    if len(masks) == 1 and masks[0].collapses:
        limits.append("Averaging shrinks variances and correlations, and distributions collapse onto fewer values.")
    elif masks and kept:
        limits.append(
            "Only the distribution of the quasi-identifiers is preserved as such. Their association with the other "
            "columns weakens as groups grow, and with it the fit of regressions."
        )
    limits.append(_OTHERS)
    return limits


_OTHERS = "Measured risk is the success of the attacks that were tried; another attack may do better."
APART_LIMITS = (
    "No row is a person's row: look at columns, pairs and regressions, not at rows, outliers or single cases.",
    "What is promised is about whose cell a cell is, not about what it says. A value that few people have is seen, and "
    "points at people like it; somebody else's cell may say the same as a person's own.",
    "Each value occurs exactly as often as before: whoever knows everybody else's values of a column reads the last.",
    "Relations of two columns are kept, and with them regressions. What three columns say together is kept only as far "
    "as the people of a group agree.",
)
SYNTHETIC_LIMITS = (
    "A synthetic table preserves what its model describes. Other patterns are lost, and noise may make rare "
    "combinations frequent or remove them.",
    "Intervals and tests computed as if the rows were real people are too optimistic.",
    "The guarantee holds for these rows; a second table drawn from another fit has its own cost.",
)


def _coarse_limits(last: Mapping[str, Any]) -> list[str]:
    said = [
        "People of one class share the released values. Anything else that all of them share, a sensitive value "
        "above all, is disclosed for each of them as soon as the class is known.",
        "Intervals and sets can't be used in computations directly: for the measures on this page, each was read as "
        "the typical value of its records.",
    ]
    asked = [last.get(name) not in (None, "none") for name in ("diversity", "closeness")]
    return said[1:] if any(asked) else said


REMOVED, UNCHANGED, AS_IT_IS = "removed", "published unchanged", "left as it is"
PSEUDONYM = "replaced by a pseudonym"


def _done(column: Column, pair: Pair, steps: Sequence[Named], coarse: bool) -> str:
    if column.name not in pair.released.columns:
        return REMOVED
    if column.pseudonym:
        return PSEUDONYM
    if column.role != "quasi" and pair.is_of_people and _is_unchanged(pair, column.name):
        return UNCHANGED
    if not steps or (coarse and _is_unchanged(pair, column.name)):
        return AS_IT_IS if _is_unchanged(pair, column.name) else "changed"
    return "; then ".join(one.report_text.writes or f"changed ({one.name})" for one in steps)


def _steps_on(column: Column, pair: Pair, recipe: Mapping[str, Any]) -> list[Named]:
    """The methods that write this column: those that name columns write only these, others the quasi-identifiers.

    Of nobody's row all is written.
    """
    given = [(family, words) for family in FAMILIES[1:-1] for words in _listed(recipe.get(family))]
    return [Named.of(family, words) for family, words in given if not pair.is_of_people or _writes(words, column)]


def _writes(words: Any, column: Column) -> bool:
    named = words.get("columns") if isinstance(words, Mapping) else None
    if isinstance(named, list | tuple):
        return column.name in named
    return column.role == "quasi" or (isinstance(words, Mapping) and Named.of("mask", words).apart)


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, str | Mapping) else list(given or [])


def _is_unchanged(pair: Pair, name: str) -> bool:
    """Whether every released value is its person's own."""
    known = np.flatnonzero(pair.source_rows >= 0)
    try:
        own, released = series(pair.original.frame, name), series(pair.released, name)
    except ColumnError:  # a mix of types, which nothing reads and so nothing changes
        return True
    return own.gather(pair.source_rows[known]).equals(released.gather(known), check_names=False)


def _missing(column: Column, pair: Pair) -> str:
    if not pair.is_of_people and column.role in ("quasi", "sensitive", "time", "other") and column.missing == "error":
        return "a cell of its own, or refused, as the parameters say"
    if column.pseudonym:
        return "published as missing"
    if column.role in NAMING:
        return "not used"
    if column.role in ("time", "other"):
        return "published as missing"
    if column.kind != "numeric" and not column.date_codes:
        return "a level of its own"
    if column.keeps_absence or column.date_codes:
        return _kept_absence(column)
    if column.missing == "drop":
        return "the row is dropped"
    if column.missing == "median":
        return "replaced by the median"
    if column.missing == "error":
        return "published as missing" if column.role == "sensitive" else "none (any would be refused)"
    return f"replaced by {column.missing:g}, as declared"


def _kept_absence(column: Column) -> str:
    """A number or a reason: what each absence is written as, and means."""
    kept = column.missing == "level" or column.kind != "numeric"
    empty = f"empty ({column.absence or 'not said why'})" if kept else ""
    codes = [f"{text_of(code)} ({meaning})" for code, meaning in (column.missing_codes or {}).items()]
    return f"a level of its own: {', '.join([*([empty] if empty else []), *codes])}"


def _changed_shares(pair: Pair) -> dict[str, float]:
    known = pair.source_rows >= 0
    if not known.any():
        return {}
    own = pair.original_codes[pair.source_rows[known]]
    differs = ~((own == pair.released_codes[known]) | (np.isnan(own) & np.isnan(pair.released_codes[known])))
    if pair.exact is not None:
        differs |= ~pair.exact[known]
    return dict(zip(pair.encoder.names, map(float, differs.mean(axis=0)), strict=True))
