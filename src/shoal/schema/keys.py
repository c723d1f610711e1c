"""Keys that no name gives away: numbers or texts that repeat, and with whose repeats other columns repeat too.

Whoever shares a key shares what belongs to it: the members of a household its region, the visits of a patient the sex,
the pupils of a school its denomination. A measure has functions of itself beside it (a logarithm, a decile), which rise
or fall with it; they prove nothing. So a column is a key if at least two others, neither constant nor rising or
falling with it, are the same in 99 of 100 rows that share its value. With few rows each it is the key of persons or of
households: of households, if people of both sexes or of ages far apart share it. With more it is a code of groups.
Copies of a row share everything: where rows repeat beyond chance, each different row counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from shoal.schema.evidence import Facts, rank_correlation
from shoal.schema.guess_beside import Guess
from shoal.schema.repeats import distinct_rows

__all__ = ["by_repeats", "group_codes"]

_FEWEST, _FEW_ROWS = 100, 6.0  # different keys of persons or households, and rows for each on average
_FEWEST_GROUPS, _ROWS_PROVE = 10, 50  # different codes of groups; rows that share a value, below which nothing is said
_MOST_COLUMNS, _MOST_TRIED = 500, 16
_SAME, _BY_CHANCE, _MONOTONE = 0.99, 0.9, 0.5
_SAMPLE, _NEARLY = 20_000, 0.9  # rows of a sample of keys, with all rows of each; share from which all keys are read
_SEXES = (frozenset(("male", "female")), frozenset(("m", "f")), frozenset(("man", "woman")))
_APART = 12.0  # years between the ages of people who share a key: no series of visits lasts as long on average


def by_repeats(facts: Sequence[Facts], guesses: Mapping[str, Guess]) -> dict[str, Guess]:
    """The guesses, with keys of persons and of households among the columns that nothing else decides."""
    made = dict(guesses)
    facts = _once_each(facts)
    for fact in _candidates(facts, guesses, _FEWEST):
        rows = fact.n_known / fact.n_distinct
        n_same = _n_same(fact, facts) if rows <= _FEW_ROWS else 0
        if n_same >= 2:
            what, role = ("households", "household") if _several_people(fact, facts) else ("persons or records", "unit")
            reason = f"{n_same} other columns repeat with its values, {rows:.1f} rows each, as with numbers of {what}"
            made[fact.name] = Guess(role=role, reason=reason)  # type: ignore[arg-type]
    return made


def group_codes(facts: Sequence[Facts], guesses: Mapping[str, Guess]) -> frozenset[str]:
    """The undecided columns of whole numbers that are codes of groups: two other columns repeat with their values."""
    facts = _once_each(facts)
    open_ = _candidates(facts, guesses, _FEWEST_GROUPS)
    return frozenset(fact.name for fact in open_ if fact.whole and not fact.text and _n_same(fact, facts) >= 2)


def _once_each(facts: Sequence[Facts]) -> Sequence[Facts]:
    """The columns of the different rows, where rows repeat beyond chance."""
    first = distinct_rows({fact.name: fact.cells for fact in facts})
    if first is None:
        return facts
    kept = [(fact, fact.cells.filter(pl.Series(first))) for fact in facts]
    return [replace(fact, cells=cells, n_known=len(cells) - cells.null_count()) for fact, cells in kept]


def _candidates(facts: Sequence[Facts], guesses: Mapping[str, Guess], fewest: int) -> list[Facts]:
    if len(facts) > _MOST_COLUMNS:
        return []
    repeat = [fact for fact in facts if guesses[fact.name].undecided and fewest <= fact.n_distinct < fact.n_known]
    return [fact for fact in repeat if fact.text or fact.whole][:_MOST_TRIED]


def _n_same(fact: Facts, facts: Sequence[Facts]) -> int:
    """How many other columns are the same in nearly all rows that share a value of this one."""
    shared = pl.Series(fact.cells.is_duplicated() & fact.cells.is_not_null())
    if int(shared.sum()) < max(_ROWS_PROVE, 0.3 * fact.n_known):
        return 0
    others = [other for other in facts if other is not fact and other.n_distinct > 1]
    every = max(1, fact.n_known // _SAMPLE)
    if every > 1:
        some = shared & fact.cells.is_in(fact.values.sort().gather_every(every).implode())
        others = [other for other in others if _same_share(_rows(fact, other, some)) >= _NEARLY]
    return sum(_follows(fact, other, shared) for other in others)


def _rows(fact: Facts, other: Facts, shared: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"key": fact.cells.filter(shared), "other": other.cells.filter(shared).cast(pl.String)})


def _follows(fact: Facts, other: Facts, shared: pl.Series) -> bool:
    rows = _rows(fact, other, shared)
    commonest = int(rows["other"].value_counts(name="n")["n"].max()) / len(rows)  # type: ignore[arg-type]
    return commonest <= _BY_CHANCE and _same_share(rows) >= _SAME and not _rises_with(fact, other)


def _same_share(rows: pl.DataFrame) -> float:
    """The share of rows whose other value is the commonest one of their key."""
    counts = rows.group_by("key", "other").len().group_by("key").agg(pl.col("len").max())
    return int(counts["len"].sum()) / max(1, len(rows))


def _rises_with(fact: Facts, other: Facts) -> bool:
    numbers = all(one.cells.dtype.is_numeric() for one in (fact, other))
    return numbers and abs(rank_correlation(fact.cells, other.cells)) >= _MONOTONE


def _several_people(fact: Facts, facts: Sequence[Facts]) -> bool:
    """Whether people of both sexes, or of ages far apart, share a value."""
    return any(_sexes_differ(fact, other) for other in facts) or any(_ages_differ(fact, other) for other in facts)


def _sexes_differ(fact: Facts, other: Facts) -> bool:
    if not other.text or frozenset(other.values.str.to_lowercase()) not in _SEXES:
        return False
    rows = pl.DataFrame({"key": fact.cells, "sex": other.cells}).drop_nulls()
    return float((rows.group_by("key").agg(pl.col("sex").n_unique())["sex"] > 1).mean() or 0.0) > 0.1  # type: ignore[arg-type]


def _ages_differ(fact: Facts, other: Facts) -> bool:
    if not other.has("age", "ages") or not other.cells.dtype.is_numeric():
        return False
    rows = pl.DataFrame({"key": fact.cells, "age": other.cells}).drop_nulls()
    spans = rows.group_by("key").agg(n=pl.len(), span=pl.col("age").max() - pl.col("age").min()).filter(pl.col("n") > 1)
    return float(spans["span"].mean() or 0.0) > _APART  # type: ignore[arg-type]
