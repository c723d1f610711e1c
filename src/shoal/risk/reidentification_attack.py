"""Re-identification: can an intruder who knows a person's quasi-identifiers find that person's row?

Each original record is matched to the nearest released row (Euclidean, on standardised codes); among ties the intruder
picks at random; it is a hit if the row belongs to the same person (paper 000, section 4.3). With T_i the tied nearest
rows of record i, |T_i| of them, h_i of the same person:

- expected_i = h_i / |T_i|, exactly, with no trials;
- simulated: the share of hits in `trials` rounds of random ties, drawn from binomials, for comparison with figures
  that were made so.

**The group formula.** A mask that sees only the grouping and each group's set of values makes the released rows of
one group exchangeable. Then record i of person u is hit with probability

    P_i = Σ_g t_ig / |T_i| · R_ug / R_g  ≤  max_g R_ug / R_g,

where t_ig of the tied rows come from group g, which has R_g released rows, R_ug of them of person u. Where each
row is a person this is (t_ig / |T_i|) / n_g ≤ 1/n_g ≤ 1/k. It averages over what the mask could as well have written,
so it varies much less than one run's hits. It says nothing about a mask that looks at a record's own row.

Where matching every record would cost too much (see `nearest`), it is done for a random sample of records, each
against all released rows; means then have an interval that holds. The bound max R_ug / R_g always counts every person
and group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray, numbered
from shoal.errors import InputError, ParameterError
from shoal.pair import Pair
from shoal.record import Record
from shoal.risk.nearest import Matches, match_pair, rows_in_ties
from shoal.risk.uncertainty import chernoff, wilson
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["GroupRisk", "Reidentification", "measure", "reidentification"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRisk(Record):
    """Re-identification averaged over the exchangeable rows of each group.

    Parameters
    ----------
    mean, interval, largest
        Mean of P_i over the original records, its 95% interval where they are a sample (else the mean twice), and the
        maximum over those matched.
    bound
        The largest R_ug / R_g over all persons and groups; without a unit column, 1 / (smallest group). Never sampled.
    largest_landing_share
        The largest share of a record's tied rows that lie in groups of its person; without a unit column the
        largest P_i · n_g. Never above 1.
    n_groups
        Number of groups.
    n_targets, sampled
        How many records were matched, and whether they are a random sample.
    records
        P_i of each of them; 0 for a record that was left out.
    """

    private: ClassVar[tuple[str, ...]] = ("records",)
    releasable: ClassVar[bool] = False

    mean: float
    interval: tuple[float, float]
    largest: float
    bound: float
    largest_landing_share: float
    n_groups: int
    n_targets: int
    sampled: bool
    records: FloatArray

    @property
    def holds(self) -> bool:
        """Whether no record's probability exceeds the bound, without tolerance."""
        return self.largest <= self.bound and self.largest_landing_share <= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reidentification(Record):
    """How often nearest-row matching finds the right person.

    Parameters
    ----------
    expected
        Mean over original records of the exact probability of a hit, ties at random.
    simulated, interval
        Mean frequency of hits over the trials and its 95% interval: of the trials' chance where every record was
        matched; of the sample's, which holds for `expected` too, where a sample was.
    largest
        The largest expected probability of one matched record.
    n_records, n_targets, sampled
        Records in all, how many of them were matched, and whether these are a random sample.
    rows
        The records that were matched, as positions among the records used; None for all.
    records, record_ties
        Probability of a hit and number of tied nearest rows, of each matched record.
    class_sizes, class_expected, class_simulated
        Matched records, mean probability and mean simulated frequency of each equivalence class of the original.
    by_group
        The group formula, where labels were given.
    of_people
        Whether released rows belong to people; a synthetic table's don't, and nobody's row can be found in it.
    """

    private: ClassVar[tuple[str, ...]] = (
        "class_expected",
        "class_simulated",
        "class_sizes",
        "of_people",
        "record_ties",
        "records",
        "rows",
    )
    derived: ClassVar[tuple[str, ...]] = ("n_classes",)
    releasable: ClassVar[bool] = False

    expected: float
    simulated: float
    interval: tuple[float, float]
    trials: int
    largest: float
    n_records: int
    n_targets: int
    sampled: bool
    rows: IntArray | None
    records: FloatArray
    record_ties: IntArray
    class_sizes: IntArray
    class_expected: FloatArray
    class_simulated: FloatArray
    by_group: GroupRisk | None
    of_people: bool = True

    @property
    def n_classes(self) -> int:
        """Equivalence classes of the original that have matched records."""
        return len(self.class_sizes)

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON-safe words; rows that are nobody's, as a synthetic table's, leave nothing to measure."""
        words = Record.to_dict(self)
        return words if self.of_people else words | dict.fromkeys(("expected", "simulated", "interval", "largest"))

    def __float__(self) -> float:
        return self.expected


def reidentification(
    original: Any,
    released: Any,
    schema: Schema,
    source_rows: Any = None,
    trials: int = 200,
    seed: int = 0,
    labels: Any = None,
) -> Reidentification:
    """Match each original record to the nearest released row and say how often it is the right person.

    Parameters
    ----------
    original, released, schema
        Both tables, of any dataframe type, and the schema of the original.
    source_rows
        Original row number of each released row; None: the rows are in the same order.
    trials
        Rounds of simulated tie-breaking; more of them narrow `interval`, not the risk.
    seed
        Seed of the simulation, and of the sample of records where one is drawn.
    labels
        Group of each original row (−1: left out). With it, `by_group` holds the group formula.

    Notes
    -----
    Distances that agree up to a factor 1 + 1e-9 tie. A row whose missing number led to its being left out is no
    record. Where the release is coarsened or values are blanked out, the intruder, who knows the recoding, finds the
    class that a record was written to. Survey weights play no part: each record counts once. With a
    unit column a hit is any row of the same person. Cost: O(n log n) in the number of distinct points, of which a
    random sample is matched where all would take long (`sampled`).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 57], "sex": ["f", "f", "m", "m"]})
    >>> schema = shoal.Schema.of(quasi=["age", "sex"])
    >>> shoal.risk.reidentification(table, table, schema).expected
    0.75
    """
    pair = Pair.of(original, released, schema, source_rows)
    return measure(pair, trials=trials, seed=seed, labels=labels)


def measure(
    pair: Pair, *, trials: int = 200, seed: int = 0, labels: Any = None, matches: Matches | None = None
) -> Reidentification:
    """`reidentification` of an existing pair; `matches` saves the search where it was made already."""
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise ParameterError("reidentification", "trials must be a whole number of at least 1", got=repr(trials)[:60])
    matches = match_pair(pair, seed=seed) if matches is None else matches
    ties = matches.n_ties()[matches.queries]
    person = pair.original.units()
    hits = _own_rows(matches, pair.source_rows, person)
    records = hits / ties
    frequencies = _simulate(records, trials, stream(seed, "reidentification"))
    simulated = float(frequencies.mean())
    sizes = np.bincount(matches.queries, minlength=matches.n_queries)
    groups = None if labels is None else _by_group(pair, matches, ties, person, labels)
    return Reidentification(
        expected=float(records.mean()),
        simulated=simulated,
        interval=chernoff(simulated, len(records)) if matches.sampled else wilson(simulated, trials * len(records)),
        trials=trials,
        largest=float(records.max()),
        n_records=pair.original.n,
        n_targets=len(records),
        sampled=matches.sampled,
        rows=matches.rows,
        records=records,
        record_ties=ties,
        class_sizes=sizes,
        class_expected=np.bincount(matches.queries, weights=records) / sizes,
        class_simulated=np.bincount(matches.queries, weights=frequencies) / sizes,
        by_group=groups,
        of_people=bool((pair.source_rows >= 0).any()),
    )


def _by_group(pair: Pair, matches: Matches, ties: IntArray, person: IntArray, labels: Any) -> GroupRisk:
    group, n_groups = _dense_labels(_check_labels(pair, labels))
    known = pair.source_rows >= 0
    released_group = np.where(known, group[pair.source_rows], -1)
    released_person = np.where(known, person[pair.source_rows], -1)
    risk, landing, bound = group_formula(
        matches, ties, matches.of_asked(person), released_person, released_group, n_groups=max(1, n_groups)
    )
    mean = float(risk.mean())
    return GroupRisk(
        mean=mean,
        interval=chernoff(mean, len(risk)) if matches.sampled else (mean, mean),
        largest=float(risk.max()),
        bound=bound,
        largest_landing_share=float((landing / ties).max()),
        n_groups=n_groups,
        n_targets=len(risk),
        sampled=matches.sampled,
        records=risk,
    )


def _check_labels(pair: Pair, labels: Any) -> IntArray:
    given = np.asarray(labels)
    if given.shape != (pair.original.n_original,) or not np.issubdtype(given.dtype, np.integer):
        raise InputError(
            "labels",
            "must be one whole number for each row of the original",
            got=f"shape {given.shape} for {pair.original.n_original} rows",
        )
    return given.astype(np.int64)[pair.original.rows]


def _dense_labels(labels: IntArray) -> tuple[IntArray, int]:
    present, place = numbered(labels[labels >= 0])
    group = np.full(len(labels), -1, dtype=np.int64)
    group[labels >= 0] = place
    return group, len(present)


def _own_rows(matches: Matches, source_rows: IntArray, person: IntArray) -> IntArray:
    """h_i: tied nearest rows that belong to the same person."""
    owner = np.where(source_rows >= 0, person[source_rows], -1)
    return rows_in_ties(matches, owner, matches.queries, matches.of_asked(person), int(person.max()) + 1)


def _simulate(records: FloatArray, trials: int, generator: Generator) -> FloatArray:
    """Share of hits of each record in `trials` rounds of random ties."""
    return generator.binomial(trials, records) / trials


def group_formula(
    matches: Matches,
    ties: IntArray,
    person: IntArray,
    released_person: IntArray,
    released_group: IntArray,
    n_groups: int,
) -> tuple[FloatArray, IntArray, float]:
    """P_i of the matched records, the number of tied rows in groups of their persons, and the bound max R_ug / R_g.

    `person` is that of each matched record; the bound is over all persons and groups.

    Each term is one division of whole numbers, t R_ug / (|T| R_g). Division rounds monotonically, so where a person
    has one group P_i is at most the bound to the last bit; a sum of several terms is held to it against rounding.
    """
    member = (released_person >= 0) & (released_group >= 0)
    rows_of_group = np.bincount(released_group[member], minlength=n_groups)
    keys, rows = np.unique(released_person[member] * n_groups + released_group[member], return_counts=True)
    owner, group = keys // n_groups, keys % n_groups
    record, entry = _entries(person, owner)
    tied = rows_in_ties(matches, released_group, matches.queries[record], group[entry], n_groups)
    share = tied * rows[entry] / (ties[record] * rows_of_group[group[entry]])
    most = np.zeros(int(max(person.max(), released_person.max())) + 1)
    np.maximum.at(most, owner, rows / rows_of_group[group])
    risk = np.bincount(record, weights=share, minlength=len(person))
    landing = np.bincount(record, weights=tied, minlength=len(person)).astype(np.int64)
    return np.minimum(risk, most[person]), landing, float(most.max())


def _entries(person: IntArray, owner: IntArray) -> tuple[IntArray, IntArray]:
    """Each record with each (person, group) entry of its person; `owner` is the sorted person of the entries."""
    starts = np.searchsorted(owner, person)
    lengths = np.searchsorted(owner, person, side="right") - starts
    record = np.repeat(np.arange(len(person)), lengths)
    offset = np.arange(len(record)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return record, starts[record] + offset
