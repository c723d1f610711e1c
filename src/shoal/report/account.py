"""What was done to the table, told in plain words: column by column, then the method, then its known limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ColumnError
from shoal.frame import series
from shoal.pair import Pair
from shoal.record import Record
from shoal.report.method_words import COLUMN_WORDS, KEPT_WORDS, METHOD_WORDS, PARTS, REASONS, ROLES
from shoal.report.numbers import listed
from shoal.schema import Column, Schema

__all__ = ["ColumnAccount", "accounts_of", "known_limits", "method_words", "methods_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAccount(Record):
    """What became of one column, and why.

    `n_left` counts the different values that a coarsened column still has; the release shows them to everybody.
    `changed_share` of the values differ from the person's own: inside only.
    """

    inside: ClassVar[tuple[str, ...]] = (
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
    return tuple(_account(column, pair, recipe, changed.get(column.name)) for column in pair.schema.columns)


def _account(column: Column, pair: Pair, recipe: Mapping[str, Any], changed_share: float | None) -> ColumnAccount:
    done = _done(column, pair, recipe)
    return ColumnAccount(
        name=column.name,
        role=ROLES[column.role],
        kind=column.kind or "",
        done=done,
        reason=_reason(column, done, recipe),
        kept=_kept(column, done, recipe),
        missing=_missing(column, recipe),
        n_left=_n_left(column, done, pair, recipe),
        changed_share=changed_share,
    )


def _n_left(column: Column, done: str, pair: Pair, recipe: Mapping[str, Any]) -> int | None:
    if "coarsen" not in recipe or column.role != "quasi" or done in (REMOVED, AS_IT_IS):
        return None
    return int(series(pair.released, column.name).n_unique())


def _kept(column: Column, done: str, recipe: Mapping[str, Any]) -> str:
    if done == REMOVED:
        return "Nothing."
    if done in (UNCHANGED, AS_IT_IS):
        return "Everything."
    names = _steps_on(column, recipe)
    return KEPT_WORDS.get(names[-1], "What the method leaves.") if names else "What the method leaves."


def _reason(column: Column, done: str, recipe: Mapping[str, Any]) -> str:
    if done == AS_IT_IS:
        return "The method had no need to change it."
    if column.role == "weight" and "synthesize" in recipe:
        return "A synthetic row stands for itself."
    return REASONS[column.role]


def methods_in(recipe: Mapping[str, Any], part: str) -> list[str]:
    """The names of the methods in one part of a recipe: ``"group"`` or ``"mask"``."""
    return [_method(words) for words in _listed(recipe.get(part))]


def method_words(recipe: Mapping[str, Any], pair: Pair, k: int) -> list[str]:
    """How the release was made, one sentence each step."""
    names = [name for part in PARTS for name in methods_in(recipe, part)]
    steps = [METHOD_WORDS[name].format(k=k) if name in METHOD_WORDS else f"Method: {name}." for name in names]
    if pair.schema.identifier:
        steps.append("Columns that name a person were removed.")
    if (np.diff(pair.source_rows) < 0).any():
        steps.append("The rows were put into another order.")
    return steps


def known_limits(recipe: Mapping[str, Any], schema: Schema) -> list[str]:
    """What the method doesn't do, one sentence each."""
    if "synthesize" in recipe:
        return list(SYNTHETIC_LIMITS)
    masks = methods_in(recipe, "mask")
    limits = [
        "Everything rests on the list of quasi-identifiers: a column that an intruder can match on, and that is not on "
        "the list, is not protected.",
    ]
    kept = [c.name for c in schema.columns if c.role in ("sensitive", "other", "weight")]
    if kept:
        limits.append(
            f"Published unchanged: {listed(kept)}. Whoever knows such a value of a person can link through it."
        )
    if "coarsen" in recipe:
        limits += _coarse_limits(recipe)
    if masks and masks[-1] in AWARE:
        limits.append(
            "What was written started from each person's own row: nothing is proved about re-identification, it is "
            "measured only."
        )
    elif masks and masks[-1] != "centroid":
        limits.append(
            "The released table is not made of classes of k equal rows. What is promised is a limit on the probability "
            "of re-identification, not k-anonymity of the file. A rare combination may be real, but the rest of its "
            "row belongs to every member of the group with the same probability."
        )
    if masks == ["centroid"]:
        limits.append("Averages shrink variances and correlations, and distributions collapse onto fewer values.")
    elif masks and kept:
        limits.append(
            "Only the distribution of the quasi-identifiers is kept as such. Their link to the other columns loosens "
            "as groups grow, and with it the fit of regressions."
        )
    limits.append("Measured risk is the success of the attacks that were tried; another attack may do better.")
    return limits


SYNTHETIC_LIMITS = (
    "A synthetic table keeps what its model looks at. Other regularities are lost, and rare combinations may be "
    "frequent or missing by noise.",
    "Intervals and tests computed as if the rows were real people are too optimistic.",
    "Whatever is promised holds for the rows; a second table drawn by another fit costs anew.",
)
AWARE = ("push-back", "flatten", "shuffle")


def _coarse_limits(recipe: Mapping[str, Any]) -> list[str]:
    last = recipe["coarsen"][-1] if recipe["coarsen"] else {}
    said = [
        "People of one class share what is written of them. Whatever else all of them share, a sensitive value above "
        "all, is known of each as soon as the class is.",
        "Intervals and sets can't be computed with as they stand: for the measures on this page each was read as the "
        "typical value of the records behind it.",
    ]
    asked = [last.get(name) not in (None, "none") for name in ("diversity", "closeness")]
    return said[1:] if any(asked) else said


def _method(words: Any) -> str:
    if isinstance(words, str):
        return words.partition(":")[0]
    name = str(words.get("method", "unnamed"))
    return "resample-permuted" if name == "resample" and words.get("replace") is False else name


REMOVED, UNCHANGED, AS_IT_IS = "removed", "published unchanged", "left as it is"


def _done(column: Column, pair: Pair, recipe: Mapping[str, Any]) -> str:
    if column.name not in pair.released.columns:
        return REMOVED
    if column.role != "quasi" and "synthesize" not in recipe and _is_unchanged(pair, column.name):
        return UNCHANGED
    names = _steps_on(column, recipe)
    if not names or ("coarsen" in recipe and _is_unchanged(pair, column.name)):
        return AS_IT_IS if _is_unchanged(pair, column.name) else "changed"
    return "; then ".join(COLUMN_WORDS.get(name, f"changed ({name})") for name in names)


def _steps_on(column: Column, recipe: Mapping[str, Any]) -> list[str]:
    """The methods that write this column: those that name columns write only these, others the quasi-identifiers."""
    synthetic = "synthesize" in recipe
    given = [words for part in PARTS[1:] for words in _listed(recipe.get(part))]
    return [_method(words) for words in given if synthetic or _writes(words, column)]


def _writes(words: Any, column: Column) -> bool:
    named = words.get("columns") if isinstance(words, Mapping) else None
    return column.name in named if isinstance(named, list | tuple) else column.role == "quasi"


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


def _missing(column: Column, recipe: Mapping[str, Any]) -> str:
    if "synthesize" in recipe and column.role in ("quasi", "sensitive", "other") and column.missing == "error":
        return "a cell of its own, or refused, as the parameters say"
    if column.role in ("identifier", "unit"):
        return "not used"
    if column.role == "other":
        return "published as missing"
    if column.kind != "numeric":
        return "a level of its own"
    if column.missing == "drop":
        return "the row is left out"
    if column.missing == "median":
        return "replaced by the median"
    if column.missing == "error":
        return "published as missing" if column.role == "sensitive" else "none (any would be refused)"
    return f"replaced by {column.missing:g}, as declared"


def _changed_shares(pair: Pair) -> dict[str, float]:
    known = pair.source_rows >= 0
    if not known.any():
        return {}
    own = pair.original_codes[pair.source_rows[known]]
    differs = ~((own == pair.released_codes[known]) | (np.isnan(own) & np.isnan(pair.released_codes[known])))
    if pair.exact is not None:
        differs |= ~pair.exact[known]
    return dict(zip(pair.encoder.names, map(float, differs.mean(axis=0)), strict=True))
