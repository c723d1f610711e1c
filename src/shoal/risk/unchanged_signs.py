"""What speaks for a candidate row in the attack with unchanged columns: its signs, each a number per candidate.

The formulas are in `shoal.risk.unchanged`. The tables of counts that they are read from need columns of few levels. A
number with many values is cut at quantiles; where its values repeat, as survey weights do, they count as levels too,
because equal weights say more than like ones. Of many levels the commonest have places of their own and the rest share
one. A column whose values hardly repeat teaches nothing about another person and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.conform import floats
from shoal.encode import Coding
from shoal.equivalence import Codes, codes, combine
from shoal.frame import series
from shoal.pair import Pair
from shoal.risk.candidates import Candidates
from shoal.risk.dependence import Dependence, modal_values, quasi_codes
from shoal.risk.keys import compact
from shoal.risk.nearest import known_codes

__all__ = ["Trial", "content", "follow", "nearness", "strict"]

_BINS = 20
_MOST_VALUES = 50
_MOST_LEVELS = 500
_RULE = 0.99  # share from which a column counts as a function of the quasi-identifiers
_SHARP = 1e4  # a difference of one is certainty
_PRIOR = 0.5  # people's worth of independence in each cell of a table


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The targets, their questions and the candidate rows of these, with the half that each belongs to."""

    targets: IntArray
    question: IntArray
    asking: IntArray
    half: IntArray  # of each person
    person: IntArray  # of each original record
    rows: Candidates
    seed: int

    @property
    def question_half(self) -> IntArray:
        """The half of each question that has rows."""
        return self.half[self.person[self.asking]][self.rows.question[self.rows.starts]]


def nearness(rows: Candidates, near: FloatArray) -> list[FloatArray]:
    """Signs of the released quasi-identifiers: nearest, distance in tenth distances, number of nearer rows."""
    tenth = rows.distance[rows.starts + np.minimum(9, rows.lengths - 1)]
    scale = np.where(tenth > 0, tenth, 1.0)[rows.place]
    return [near, -rows.distance / scale, -np.log1p(rows.nearer())]


def content(pair: Pair, trial: Trial, names: tuple[str, ...]) -> list[FloatArray]:
    """Signs of the unchanged columns."""
    codings = list(zip(pair.encoder.codings, pair.original_codes.T, known_codes(pair).T, strict=True))
    quasi = [quasi_levels(*coding) for coding in codings]
    left_out = _left_out(pair, trial)
    asked = [_asked(pair, trial, true, left_out) for true, _ in quasi]
    signs = []
    for name in names:
        for levels in unchanged_levels(series(pair.released, name)):
            signs.append(_goes_with_person(pair, trial, levels, asked, left_out))
            signs.append(-_goes_with_row(levels, [shown for _, shown in quasi], trial.rows.row))
    return signs


def follow(pair: Pair, trial: Trial, names: tuple[str, ...], tied: tuple[Dependence, ...]) -> list[FloatArray]:
    """For each column that is a function of the quasi-identifiers: whether a candidate shows its value at x."""
    known = [found for found in tied if found.direction == "determined" and found.share >= _RULE]
    return [_follows(pair, trial, found) for found in known if found.column in names]


def strict(rows: Candidates, follows: list[FloatArray]) -> FloatArray:
    """First by how many columns follow from the person's quasi-identifiers, then by distance; only ties leave doubt."""
    scores: FloatArray = _SHARP * (np.sum(follows, axis=0) - rows.distance / (1.0 + rows.distance.max()))
    return scores


def _left_out(pair: Pair, trial: Trial) -> BoolArray:
    """Candidates that the tables of their question are made without: all, or those of its half where too few are left.

    No table may know a person's own row better than other candidates, or worse. Made without all candidates it can't.
    Made without half of them it knows the own row worse, which makes the attack weaker, never stronger.
    """
    rows = trial.rows
    many = (2 * rows.lengths > len(pair.released))[rows.place]
    sources = pair.source_rows[rows.row]
    own_half = trial.half[trial.person[sources]] == trial.question_half[rows.place]
    left_out: BoolArray = (sources >= 0) & (~many | own_half)
    return left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A quasi-identifier: its levels, that of each question's person, and the candidates left out that have it."""

    levels: Levels
    at: IntArray
    same: IntArray
    n_same: IntArray


def _asked(pair: Pair, trial: Trial, levels: Levels, left_out: BoolArray) -> _Asked:
    rows = trial.rows
    at = levels.values[trial.asking][rows.question[rows.starts]]
    same = np.flatnonzero(left_out & (levels.values[pair.source_rows[rows.row]] == at[rows.place]))
    return _Asked(levels=levels, at=at, same=same, n_same=np.bincount(rows.place[same], minlength=len(rows.starts)))


def _goes_with_person(pair: Pair, trial: Trial, column: Levels, quasi: list[_Asked], left_out: BoolArray) -> FloatArray:
    """log P(s_j | x) / P(s_j) of each candidate by naive Bayes, from the rows that aren't left out for its question.

    Candidates of a question with the same value of the column have the same number: it is computed once for them all.
    """
    rows, n_questions = trial.rows, len(trial.rows.starts)
    known = pair.source_rows >= 0
    shown, sources = column.values[known], pair.source_rows[known]
    key = rows.place * column.n + column.values[rows.row]
    n_keys = n_questions * column.n
    cell = np.flatnonzero(np.bincount(key, minlength=n_keys))
    place, value = cell // column.n, cell % column.n
    n_value = np.bincount(shown, minlength=column.n)[value] - np.bincount(key[left_out], minlength=n_keys)[cell]
    n_all = len(shown) - np.bincount(rows.place[left_out], minlength=n_questions)[place]
    total = np.zeros(n_keys)
    for each in quasi:
        levels, asked = each.levels, each.at[place]
        table = np.bincount(shown * levels.n + levels.values[sources], minlength=column.n * levels.n)
        both = table[value * levels.n + asked] - np.bincount(key[each.same], minlength=n_keys)[cell]
        n_asked = np.bincount(levels.values[sources], minlength=levels.n)[asked] - each.n_same[place]
        total[cell] += _log_ratio(both, n_value, n_asked, n_all)
    found: FloatArray = total[key]
    return found


def _goes_with_row(column: Levels, quasi: list[Levels], candidate: IntArray) -> FloatArray:
    """log P(s_j | x'_j) / P(s_j) of each candidate's released row, from the release itself."""
    rows = np.flatnonzero(np.bincount(candidate))
    n_value = np.bincount(column.values, minlength=column.n)[column.values[rows]]
    total, n_all = np.zeros(len(column.values)), np.full(len(rows), len(column.values))
    for levels in quasi:
        key = column.values * levels.n + levels.values
        both = np.bincount(key, minlength=column.n * levels.n)[key[rows]]
        n_asked = np.bincount(levels.values, minlength=levels.n)[levels.values[rows]]
        total[rows] += _log_ratio(both, n_value, n_asked, n_all)
    found: FloatArray = total[candidate]
    return found


def _log_ratio(both: IntArray, n_value: IntArray, n_asked: IntArray, n_all: IntArray) -> FloatArray:
    """log P(x | s) / P(x): people counted over people expected were x and s independent, with `_PRIOR` more of each."""
    expected = n_value * n_asked / np.maximum(1, n_all)
    ratio: FloatArray = np.log((both + _PRIOR) / (expected + _PRIOR))
    return ratio


def _follows(pair: Pair, trial: Trial, found: Dependence) -> FloatArray:
    """Whether each candidate shows the value that follows from the asking person's quasi-identifiers."""
    known = np.flatnonzero(pair.source_rows >= 0)
    values = codes(series(pair.released, found.column))
    of = quasi_codes(pair, known)
    cells = combine([of[name] for name in found.quasi])
    modes = modal_values(cells, Codes(values=values.values[known], n=values.n))
    cell = np.full(pair.original.n, -1, dtype=np.int64)
    cell[pair.source_rows[known]] = cells.values
    asked = cell[trial.asking][trial.rows.question]
    same: BoolArray = (asked >= 0) & (modes[asked] == values.values[trial.rows.row])
    return same.astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The level of each row, a number from 0 to n − 1."""

    values: IntArray
    n: int


def unchanged_levels(column: pl.Series) -> Iterator[Levels]:
    """A released column in the one or two codings from which something can be learnt."""
    coded = compact(codes(column))
    values, distinct = coded.values, coded.n
    repeats = 2 * distinct <= len(values)
    if column.dtype.is_numeric() and distinct > _MOST_VALUES:
        yield _binned(floats(column))
    if repeats and distinct > 1:
        yield _commonest(values)


def quasi_levels(coding: Coding, true: FloatArray, shown: FloatArray) -> tuple[Levels, Levels]:
    """A quasi-identifier of the original and of the release in the same few levels."""
    if coding.levels is not None:
        n = coding.n_levels + 1
        return tuple(Levels(values=np.clip(np.rint(side), 0, n - 1).astype(np.int64), n=n) for side in (true, shown))  # type: ignore[return-value]
    cuts = _cuts(true, _BINS)
    before, after = (Levels(values=np.searchsorted(cuts, side), n=len(cuts) + 1) for side in (true, shown))
    return before, after


def _binned(values: FloatArray) -> Levels:
    present = ~np.isnan(values)
    cuts = _cuts(values[present], _BINS)
    return Levels(values=np.where(present, np.searchsorted(cuts, values), len(cuts) + 1), n=len(cuts) + 2)


def _cuts(values: FloatArray, bins: int) -> FloatArray:
    distinct = np.unique(values)
    if len(distinct) <= bins:
        return distinct[:-1] / 2 + distinct[1:] / 2
    return np.unique(np.quantile(values, np.arange(1, bins) / bins))


def _commonest(values: IntArray) -> Levels:
    counts = np.bincount(values)
    if len(counts) <= _MOST_LEVELS:
        return Levels(values=values, n=len(counts))
    place = np.full(len(counts), _MOST_LEVELS, dtype=np.int64)
    place[np.argsort(-counts, kind="stable")[:_MOST_LEVELS]] = np.arange(_MOST_LEVELS)
    return Levels(values=place[values], n=_MOST_LEVELS + 1)
