"""Class disclosure: how much does a group tell about its members' classes?

A group whose classes are shared as in the whole table tells nothing; one with a single class gives it away. With n_gc
of n_g records of group g in class c, N_c of N overall, f_gc = n_gc / n_g and F_c = N_c / N:

    JSD_g = ½ [Σ_c f_gc log2(f_gc / M_gc) + Σ_c F_c log2(F_c / M_gc)],   M_gc = (f_gc + F_c)/2,        (5)
    X²    = 1/G Σ_g Σ_c (n_gc − n_g F_c)² / (n_g F_c)                                                  (13)

(Li and Sarkar 2013). Groups drawn at random have X² of about C − 1, the number of classes less one: a method that
ignores the class lies near it, one that sorts by class far above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, IntArray, numbered
from shoal.conform import Prepared, prepare
from shoal.errors import InputError, SchemaError
from shoal.group.mix import class_codes, class_names, compound
from shoal.record import Record
from shoal.schema import Schema

__all__ = ["ClassMix", "class_mix", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMix(Record):
    """The class mix of the groups of a table. It holds numbers of single groups: internal; `to_dict` has summaries.

    Parameters
    ----------
    columns
        The class columns that were looked at, together.
    n_records, n_groups, n_classes
        Number of records in groups, of groups and of classes.
    chi_square, random_chi_square
        X², and C − 1, its approximate value for groups drawn at random.
    mean_divergence, largest_divergence
        Mean of JSD over records (the weighted JSD of the table), and the largest of a group; in bits, 0 to 1.
    homogeneous_groups, homogeneous_share
        Groups whose records all have one class, and the share of records in them.
    lone_groups, lone_share
        Groups in which some class has a single record, and the share of records that are such.
    random_homogeneous_share, random_lone_share
        The two shares to expect of groups of the same sizes drawn at random.
    divergence
        JSD of each group, in the order of the labels.
    """

    private: ClassVar[tuple[str, ...]] = ("divergence",)
    releasable: ClassVar[bool] = False

    columns: tuple[str, ...]
    n_records: int
    n_groups: int
    n_classes: int
    chi_square: float
    random_chi_square: float
    mean_divergence: float
    largest_divergence: float
    homogeneous_groups: int
    homogeneous_share: float
    lone_groups: int
    lone_share: float
    random_homogeneous_share: float
    random_lone_share: float
    divergence: FloatArray


def class_mix(table: Any, schema: Schema, labels: Any, column: str | None = None) -> ClassMix:
    """How evenly the classes are spread over groups.

    Parameters
    ----------
    table, schema
        The original, of any dataframe type, and its schema.
    labels
        Group of each row, as `Grouper.assign` gives it or `release.labels`; a row with a negative label is left out.
    column
        The class column; None: all nominal and ordinal sensitive columns as one compound class.

    Notes
    -----
    A missing class is a class of its own. Records are counted, not persons, and survey weights play no part. Cost:
    n log n.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": range(6), "ill": ["no", "no", "yes", "no", "no", "yes"]})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    >>> mix = shoal.risk.class_mix(table, schema, [0, 0, 0, 1, 1, 1])
    >>> mix.chi_square, mix.random_chi_square, mix.homogeneous_groups, mix.lone_groups
    (0.0, 1.0, 0, 2)
    """
    prepared = prepare(table, schema)
    return measure(prepared, labels, _names(prepared.schema, column))


def measure(prepared: Prepared, labels: Any, names: tuple[str, ...]) -> ClassMix:
    """The class mix of a prepared table over the columns `names`."""
    groups = _groups(prepared, labels)
    codes = compound(class_codes(prepared, names))[:, 0]
    inside = groups >= 0
    return _mix(names, numbered(groups[inside])[1], codes[inside])


def _groups(prepared: Prepared, labels: Any) -> IntArray:
    given = np.asarray(labels)
    if given.shape != (prepared.n_original,) or not np.issubdtype(given.dtype, np.integer):
        raise InputError("labels", "must give a whole number for each row of the table", got=f"shape {given.shape}")
    groups: IntArray = given[prepared.rows].astype(np.int64)
    if not (groups >= 0).any():
        raise InputError("labels", "must assign at least one row to a group")
    return groups


def _names(schema: Schema, column: str | None) -> tuple[str, ...]:
    known = class_names(schema)
    if column is not None and column not in known:
        raise SchemaError("class_mix", f"column '{column}' must be a nominal or ordinal sensitive column")
    if not known:
        raise SchemaError(
            "class_mix",
            "needs a sensitive column that is nominal or ordinal",
            hint="Declare a column of numbers nominal where its values are classes.",
        )
    return known if column is None else (column,)


def _mix(names: tuple[str, ...], groups: IntArray, codes: IntArray) -> ClassMix:
    classes = numbered(codes)[1]
    sizes, overall, n = np.bincount(groups), np.bincount(classes), len(groups)
    pairs, counts = np.unique(groups * len(overall) + classes, return_counts=True)
    of, held = pairs // len(overall), overall[pairs % len(overall)]
    # Classes that a group lacks add up in closed form, so only the pairs that occur are looked at.
    chi_square = np.bincount(of, weights=counts**2 / (sizes[of] * (held / n))) - sizes
    divergence = _divergence(of, counts, held, sizes, n)
    homogeneous = np.bincount(of) == 1
    lone = np.bincount(of, weights=counts == 1)
    return ClassMix(
        columns=names,
        n_records=n,
        n_groups=len(sizes),
        n_classes=len(overall),
        chi_square=float(chi_square.mean()),
        random_chi_square=float(len(overall) - 1),
        mean_divergence=float(sizes @ divergence / n),
        largest_divergence=float(divergence.max()),
        homogeneous_groups=int(homogeneous.sum()),
        homogeneous_share=float(sizes[homogeneous].sum() / n),
        lone_groups=int((lone > 0).sum()),
        lone_share=float(lone.sum() / n),
        random_homogeneous_share=_by_chance(sizes, overall, overall),
        random_lone_share=_by_chance(sizes, overall, n - overall + 1),
        divergence=divergence,
    )


def _by_chance(sizes: IntArray, overall: IntArray, among: IntArray) -> float:
    """Mean over records of P(the m − 1 others of a random group of m are all among the `among` − 1 that count).

    For a record of class c these are the others of its class (a group of one class), or those of other classes (a class
    of one record): Π_{i=1}^{m−1} (A_c − i)/(N − i).
    """
    from scipy.special import gammaln

    n = int(overall.sum())
    m, groups = np.unique(sizes, return_counts=True)
    a = among[:, None].astype(np.float64)
    with np.errstate(invalid="ignore"):
        log = gammaln(a) - gammaln(np.maximum(a - m + 1, 1)) + gammaln(n - m + 1) - gammaln(n)
    chance = np.where(a >= m, np.exp(log), 0.0)
    return float((overall / n) @ chance @ (groups * m / n))


def _divergence(of: IntArray, counts: IntArray, held: IntArray, sizes: IntArray, n: int) -> FloatArray:
    """Jensen-Shannon divergence of each group from the table in bits, from the pairs (group, class) that occur.

    A class that the group lacks, of share q in the table, adds q/2.
    """
    p, q = counts / sizes[of], held / n
    middle = (p + q) / 2
    parts = 0.5 * (p * np.log2(p / middle) + q * np.log2(q / middle))
    lacking = 1.0 - np.bincount(of, weights=q)
    return np.clip(np.bincount(of, weights=parts) + 0.5 * lacking, 0.0, 1.0)
