"""What was done to the table, told in plain words: column by column, then the method, then its known limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import ColumnError
from shoal.frame import series
from shoal.pair import Pair
from shoal.report.words import listed
from shoal.schema import Column, Schema

__all__ = ["ColumnAccount", "accounts_of", "known_limits", "method_words", "methods_in"]

ROLES = {
    "identifier": "identifier",
    "quasi": "quasi-identifier",
    "sensitive": "sensitive",
    "weight": "survey weight",
    "unit": "person number",
    "other": "other",
}
REASONS = {
    "identifier": "It names a person.",
    "quasi": "It can be matched against outside knowledge.",
    "sensitive": "It is what the release is about; it must not be learnt of a known person.",
    "weight": "Analyses need it.",
    "unit": "It links the rows of one person.",
    "other": "It was declared neither identifying nor sensitive.",
}
COLUMN_WORDS = {
    "centroid": "replaced: the average of the person's group, or the level nearest to it",
    "resample": "replaced: values of randomly drawn members of the person's group",
    "resample-permuted": "replaced: the values of the person's group, dealt out anew at random",
    "cell-dither": "replaced: values drawn from the distribution of the person's group",
    "gaussian-dither": "replaced: values drawn around the centre of the person's group, so that the distribution of "
    "the whole table is kept",
}
METHOD_WORDS = {
    "k-member": "Each person was put into a group of at least {k} people who resemble each other (greedy k-member "
    "grouping).",
    "mdav": "Each person was put into a group of at least {k} people who resemble each other (MDAV grouping, by "
    "maximum distance to the average).",
    "mst": "Each person was put into a group of at least {k} people who are near each other (by cutting the longest "
    "edges of a minimum spanning tree).",
    "crest": "Each person was put into a group of at least {k} people who are near each other and mixed in what is "
    "sensitive (class restricted spanning tree).",
    "t-close-mst": "Each person was put into a group of at least {k} people who are near each other and as mixed in "
    "what is sensitive as the table is (t-close minimum spanning tree).",
    "centroid": "All members of a group got the same values: the group's average, or the level nearest to it.",
    "resample": "Each person got the values of a randomly drawn member of the group.",
    "resample-permuted": "The values of each group were dealt out anew among its members at random.",
    "cell-dither": "Each person got values drawn from the cells around the values of the group, bent back onto the "
    "distribution of the whole table.",
    "gaussian-dither": "Each person got values drawn at random around the centre of the group, bent back onto the "
    "distribution of the whole table (Gaussian dither and Rosenblatt's transformation).",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAccount:
    """What became of one column, and why; `changed_share` of its values differ from the person's own (inside only)."""

    name: str
    role: str
    kind: str
    done: str
    reason: str
    missing: str
    changed_share: float | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {
            "name": self.name,
            "role": self.role,
            "kind": self.kind,
            "done": self.done,
            "reason": self.reason,
            "missing": self.missing,
        }


def accounts_of(pair: Pair, recipe: Mapping[str, Any]) -> tuple[ColumnAccount, ...]:
    """Tell what became of each column of the schema."""
    changed = _changed_shares(pair)
    return tuple(
        ColumnAccount(
            name=column.name,
            role=ROLES[column.role],
            kind=column.kind or "",
            done=_done(column, pair, recipe),
            reason=REASONS[column.role],
            missing=_missing(column),
            changed_share=changed.get(column.name),
        )
        for column in pair.schema.columns
    )


def methods_in(recipe: Mapping[str, Any], part: str) -> list[str]:
    """The names of the methods in one part of a recipe: ``"group"`` or ``"mask"``."""
    given = recipe.get(part) or []
    return [_method(words) for words in ([given] if isinstance(given, str | Mapping) else given)]


def method_words(recipe: Mapping[str, Any], pair: Pair, k: int) -> list[str]:
    """How the release was made, one sentence each step."""
    names = [*methods_in(recipe, "group"), *methods_in(recipe, "mask")]
    steps = [METHOD_WORDS[name].format(k=k) if name in METHOD_WORDS else f"Method: {name}." for name in names]
    if pair.schema.identifier:
        steps.append("Columns that name a person were removed.")
    if (np.diff(pair.source_rows) < 0).any():
        steps.append("The rows were put into another order.")
    return steps


def known_limits(recipe: Mapping[str, Any], schema: Schema) -> list[str]:
    """What the method doesn't do, one sentence each."""
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
    if masks and masks[-1] != "centroid":
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


def _method(words: Any) -> str:
    if isinstance(words, str):
        return words.partition(":")[0]
    name = str(words.get("method", "unnamed"))
    return "resample-permuted" if name == "resample" and words.get("replace") is False else name


def _done(column: Column, pair: Pair, recipe: Mapping[str, Any]) -> str:
    if column.name not in pair.released.columns:
        return "removed"
    if column.role != "quasi":
        return "published unchanged" if _is_unchanged(pair, column.name) else "changed"
    steps = [COLUMN_WORDS.get(name, f"changed ({name})") for name in methods_in(recipe, "mask")]
    return "; then ".join(steps) or "changed"


def _is_unchanged(pair: Pair, name: str) -> bool:
    """Whether every released value is its person's own."""
    known = np.flatnonzero(pair.source_rows >= 0)
    try:
        own, released = series(pair.original.frame, name), series(pair.released, name)
    except ColumnError:  # a mix of types, which nothing reads and so nothing changes
        return True
    return own.gather(pair.source_rows[known]).equals(released.gather(known), check_names=False)


def _missing(column: Column) -> str:
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
