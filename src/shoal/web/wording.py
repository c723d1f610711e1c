"""What each method is called, does and promises, one line each, for the person who chooses."""

from __future__ import annotations

from functools import cache

from shoal.coarsening import Generalize, Mondrian, Recode, Suppress
from shoal.compliance import LimitedDataSet, SafeHarbor
from shoal.group import MDAV, MST, Ball, Crest, KMember, TCloseMST
from shoal.mask import CellDither, Centroid, Flatten, GaussianDither, MicroPerturb, PushBack, Resample, Shuffle

__all__ = ["Texts", "wording"]

Texts = tuple[str, str, str]


def wording(cls: type) -> Texts:
    """Title, words and promise of a method class."""
    return _texts()[cls]


@cache
def _texts() -> dict[type, Texts]:
    return {**_GROUPERS, **_MASKS, **_COARSENERS, **_synthesizers()}


_BOUND = "Re-identification by the quasi-identifiers at most 1/k (proved)"
_AT_LEAST = "Every group holds at least k persons."

_GROUPERS: dict[type, Texts] = {
    KMember: (
        "k-member clustering",
        "Small, tight groups, alike in the numeric sensitive columns too: the usual choice.",
        _AT_LEAST,
    ),
    MDAV: (
        "MDAV",
        "The usual microaggregation; looks at quasi-identifiers only, so sensitive values don't steer the groups.",
        "Every group holds k to 2k − 1 persons.",
    ),
    MST: (
        "spanning tree",
        "Follows gaps in the data: the longest edges of the tree are cut while both sides keep k.",
        _AT_LEAST,
    ),
    TCloseMST: (
        "spanning tree with t-closeness",
        "As the spanning tree, and each group's classes stay near those of the whole table.",
        "Every group holds at least k persons, and its classes differ from the table's by at most t.",
    ),
    Crest: (
        "CREST",
        "Near each other and mixed in the sensitive class, so that a group gives less away.",
        "Every group holds at least k persons; no class mix is promised.",
    ),
    Ball: (
        "balls of one radius",
        "Who is within a distance of each other, for any columns with a distance; who is near nobody stays alone.",
        "Records of a group are within the radius in every column; small groups must be mended by a mask.",
    ),
}

_MASKS: dict[type, Texts] = {
    Centroid: (
        "group centre",
        "Everybody in a group gets its mean, or its most frequent level: plain microaggregation.",
        "k-anonymity, counted again on the written file.",
    ),
    Resample: (
        "resampling in groups",
        "Each person gets the quasi-identifiers of a random member of their group.",
        f"{_BOUND}; the joint distribution is kept, exactly without replacement.",
    ),
    CellDither: (
        "dither by cells",
        "The published variant that equals resampling with replacement.",
        f"{_BOUND}.",
    ),
    GaussianDither: (
        "Gaussian dither",
        "Noise as wide as the group, mapped back to observed values: the usual choice, with the lowest measured risk.",
        f"{_BOUND}; with exact, the joint distribution is kept exactly.",
    ),
    MicroPerturb: (
        "mean and noise",
        "The group's mean, and noise that restores the covariance.",
        f"{_BOUND}; with noise exact, means and covariances of numbers are kept.",
    ),
    PushBack: (
        "push outliers back",
        "Records that stand out move into the nearest crowd, with few changes. Follow it with another mask.",
        "No small group is left; nothing is promised for those who weren't moved.",
    ),
    Flatten: (
        "one value per group",
        "Chosen columns get the group's centre under their own distance.",
        "The chosen columns are equal within a group.",
    ),
    Shuffle: (
        "shuffle in groups",
        "Values change places within a group and a column, while distances to its centre keep their distribution.",
        "The asked share of values has changed, or nothing is released; re-identification is measured, not bounded.",
    ),
}

_COARSENERS: dict[type, Texts] = {
    Mondrian: (
        "Mondrian: boxes of k people",
        "Intervals and sets, cut finer where there are more people; loses least of the coarseners.",
        "Every combination is shared by at least k persons, and every record is kept.",
    ),
    Generalize: (
        "one level for each column",
        "The same bands for the whole column, chosen to lose least; a few records may be left out.",
        "Every combination is shared by at least k persons; at most the asked share of records is left out.",
    ),
    Suppress: (
        "blank the rare cells",
        "Leaves most cells as they are and blanks those that give people away.",
        "Every combination is shared by at least k persons, and what is still there is true.",
    ),
    Recode: (
        "fixed steps",
        "Bands, caps, rounding, first letters, parts of dates, ancestors in a table: what is said, column by column.",
        "The steps are done; no k is promised. Follow it with a method that sees to k.",
    ),
    SafeHarbor: (
        "Safe Harbor",
        "ZIP codes to three digits, dates to years, ages over 89 pooled, smaller places suppressed.",
        "What the scan recognises is rewritten, or the run stops; no k is promised.",
    ),
    LimitedDataSet: (
        "limited data set",
        "Dates, ages and ZIP codes stay; street addresses and direct identifiers are refused.",
        "What the scan recognises is refused; no k is promised.",
    ),
}


def _synthesizers() -> dict[type, Texts]:
    from shoal import synth

    return {
        synth.PeGS: (
            "PeGS",
            "New rows from noisy tables of columns and pairs: the usual choice for a public file.",
            "One epsilon (or epsilon, delta) for all rows ever drawn, if the declared domain is public.",
        ),
        synth.PerturbedImputation: (
            "perturbed imputation",
            "Logistic regressions with noise, row by row; to compare with.",
            "Epsilon for each row: n rows cost n times as much.",
        ),
        synth.MarginalBootstrap: (
            "columns on their own",
            "Every column from its own margin; all ties between columns are gone. For test files.",
            "One epsilon for all rows ever drawn; without epsilon nothing.",
        ),
        synth.MultipleImputation: (
            "multiple imputation",
            "Tables from regressions, for analysts who are trusted and need valid intervals.",
            "",
        ),
    }
