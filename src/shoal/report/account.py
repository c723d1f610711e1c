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
PARTS = ("group", "mask", "coarsen", "synthesize")
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


COLUMN_WORDS |= {
    "micro-perturb": "replaced: the centre of the person's group, with noise that keeps means and covariances",
    "push-back": "changed for people who stood out: moved back into the nearest group",
    "flatten": "replaced in the columns named: the central value of the person's group",
    "shuffle": "values exchanged between the people of a group",
    "generalize": "coarsened: wider intervals or categories, the same for everybody",
    "mondrian": "coarsened: the interval or set of values of the person's class",
    "suppress": "left out in some rows",
    "recode": "recoded by the steps given",
    "pegs": "synthetic: drawn from noisy building blocks of the table",
    "perturbed-imputation": "synthetic: drawn from perturbed regressions",
    "marginal-bootstrap": "synthetic: drawn from the column's own distribution",
    "multiple-imputation": "synthetic: drawn from regressions",
    "safe-harbor": "coarsened as the Safe Harbor rule says, where it has a rule for such a column",
}
METHOD_WORDS |= {
    "micro-perturb": "All members of a group got the group's centre, with noise that keeps means and covariances "
    "(micro-perturbation).",
    "ball": "People were gathered in groups that are near each other in every quasi-identifier (epsilon-balls); groups "
    "of fewer than {k} were left to be moved.",
    "push-back": "People who stood out were moved back into the nearest group, in the columns in which they were too "
    "far away.",
    "flatten": "In the columns named, all members of a group got its central value.",
    "shuffle": "Values were exchanged between the members of a group, one column at a time, so that distances to the "
    "group's centre stay distributed as they were.",
    "generalize": "Quasi-identifiers were replaced by wider intervals or categories, column by column and the same for "
    "everybody, until each combination is shared by at least {k} people; records that still stood out were left out.",
    "mondrian": "The people were divided into classes of at least {k}, and each got the intervals and sets that cover "
    "the class.",
    "suppress": "Single values were left out until each combination is shared by at least {k} people.",
    "recode": "Columns were recoded by fixed steps.",
    "limited-data-set": "Columns that name a person or a street address were refused.",
    "pegs": "The table was taken apart into small tables of counts, noise was put on them, and rows were drawn from "
    "them (Perturbed Gibbs Sampler).",
    "perturbed-imputation": "Rows were drawn from regressions of each column on the others, perturbed.",
    "marginal-bootstrap": "Each column was drawn by itself; links between columns are lost.",
    "multiple-imputation": "Rows were drawn from regressions of each column on those before it.",
    "safe-harbor": "Columns were coarsened by the rules of HIPAA Safe Harbor: three digits of a ZIP code, years "
    "instead of dates, ages over 89 pooled.",
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
            reason=_reason(column, recipe),
            missing=_missing(column, recipe),
            changed_share=changed.get(column.name),
        )
        for column in pair.schema.columns
    )


def _reason(column: Column, recipe: Mapping[str, Any]) -> str:
    if column.role == "weight" and "synthesize" in recipe:
        return "A synthetic row stands for itself."
    return REASONS[column.role]


def methods_in(recipe: Mapping[str, Any], part: str) -> list[str]:
    """The names of the methods in one part of a recipe: ``"group"`` or ``"mask"``."""
    given = recipe.get(part) or []
    return [_method(words) for words in ([given] if isinstance(given, str | Mapping) else given)]


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


def _done(column: Column, pair: Pair, recipe: Mapping[str, Any]) -> str:
    if column.name not in pair.released.columns:
        return "removed"
    if column.role != "quasi" and "synthesize" not in recipe:
        return "published unchanged" if _is_unchanged(pair, column.name) else "changed"
    names = [name for part in PARTS[1:] for name in methods_in(recipe, part)]
    if "coarsen" in recipe and _is_unchanged(pair, column.name):
        return "left as it is"
    steps = [COLUMN_WORDS.get(name, f"changed ({name})") for name in names]
    return "; then ".join(steps) or "changed"


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
