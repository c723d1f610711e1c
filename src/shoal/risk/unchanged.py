"""Re-identification by all that is seen: masked quasi-identifiers *and* the columns published unchanged.

The 1/k of `shoal.mask.mask` holds for an intruder who uses the released quasi-identifiers alone. Sensitive, other and
weight columns are published as they are, and depend on the quasi-identifiers: among one woman and four men, the row
with eclampsia is the woman's, whatever sex is written in it. This attack uses that. It knows a person's true
quasi-identifiers x, looks through the nearest released rows (see `shoal.risk.candidates`) and weighs for each row j,
which shows quasi-identifiers x'_j and unchanged columns s_j1, s_j2, …:

- how near x'_j is to x: whether nearest, its distance, and the number of nearer rows;
- for each unchanged column, log P(s_j | x) / P(s_j) = Σ_c log P(x_c | s_j) / P(x_c), from tables of counts over people
  who are *not* candidates for this person, shrunk towards independence (naive Bayes);
- for each unchanged column, how well s_j goes with x'_j in the release itself, which counts against the row: then it is
  somebody else's ordinary row;
- for columns found to be a function of the quasi-identifiers (`shoal.risk.dependence`), whether s_j is that function's
  value at x. Such an intruder knows the rule: weights are made from public counts.

The weights of these signs are learnt from half of the persons (`shoal.risk.choice`) and used on the other half, and the
other way round, so that nobody's own row teaches how to find it. Two plain rules compete with the learnt one, and the
best on the half that teaches is used on the other: nearest match, and, where columns are a function of the
quasi-identifiers, the nearest of the rows that show the values which follow from x. Where persons have several rows,
one more attack is tried, on all rows of a person at once (`shoal.risk.linked_rows`), and the better of the two is told.
The result is a lower bound of what an intruder may reach: a better model of P(s | x), or knowing values of s, finds
more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.equivalence import Codes, codes, combine
from shoal.frame import series
from shoal.pair import Pair
from shoal.record import Record
from shoal.risk.candidates import Candidates, candidates, distinct_questions
from shoal.risk.choice import chosen, learn, sure
from shoal.risk.column_levels import Levels, quasi_levels, unchanged_levels
from shoal.risk.dependence import Dependence, determined_by_quasi, modal_values, quasi_codes, unchanged_names
from shoal.risk.linked_rows import linked_rows
from shoal.risk.nearest import known_codes
from shoal.risk.uncertainty import wilson
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["UnchangedColumnsAttack", "measure", "unchanged_columns"]

MOST_TARGETS = 2000
MOST_CANDIDATES = 50
_FEWEST_CANDIDATES = 20
_MOST_PAIRS = 1_000_000
_FEWEST_TARGETS = 50
_FEWEST_RECORDS = 20
_MOST_COLUMNS = 30
_SURE_SHARE = 0.1
_RULE = 0.99  # share from which a column counts as a function of the quasi-identifiers
_SHARP = 1e4  # a difference of one is certainty
_PRIOR = 0.5  # people's worth of independence in each cell of a table


@dataclass(frozen=True, slots=True, kw_only=True)
class UnchangedColumnsAttack(Record):
    """How often a person is found by quasi-identifiers and unchanged columns together.

    Parameters
    ----------
    expected, interval
        Mean probability of a hit over the targets, ties at random, and its 95 % interval; None where not measured.
    baseline
        The same for nearest match on the released quasi-identifiers alone, on the same targets.
    surest, surest_interval
        The same over the tenth of the targets of whom the attack is surest: what somebody who may choose the victim
        reaches.
    largest
        The largest probability of one target in this release. It stays inside.
    n_targets, n_records, sampled
        Targets, original records, and whether the targets are a random part of them.
    columns
        The unchanged columns that were used.
    why
        Why nothing was measured; None where it was.
    """

    releasable: ClassVar[bool] = True

    expected: float | None
    interval: tuple[float, float] | None
    baseline: float | None
    surest: float | None
    surest_interval: tuple[float, float] | None
    largest: float | None
    n_targets: int
    n_records: int
    sampled: bool
    columns: tuple[str, ...]
    why: str | None

    @property
    def is_measured(self) -> bool:
        """Whether the attack could be tried."""
        return self.why is None


def unchanged_columns(
    original: Any, released: Any, schema: Schema, source_rows: Any = None, seed: int = 0, k: int = 1
) -> UnchangedColumnsAttack:
    """Find people by their quasi-identifiers and by the columns published unchanged, and say how often it works.

    Parameters
    ----------
    original, released, schema
        Both tables, of any dataframe type, and the schema of the original.
    source_rows
        Original row number of each released row; None: the rows are in the same order.
    seed
        Seed of the draw of targets and of the halves.
    k
        The size of groups, where it is known: the attack looks through at least four groups' worth of rows.

    Notes
    -----
    At most 2,000 original records are targets (fewer where they would have more than a million candidate
    rows together); for each the attack looks through the 50 nearest released rows (4k where that is more; a quarter of
    the table, at least 20, where that is less) and those that tie with the last, or through its class where the release
    was coarsened. At most 30 unchanged columns are used, in the order of the schema. Each record counts once; with a
    unit column a hit is any row of the same person. Weights are a column like others. Cost: O(n log n), and a million
    candidate rows at most.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"sex": ["f", "m", "m", "m"] * 25, "ill": ["eclampsia", "no", "no", "no"] * 25})
    >>> schema = shoal.Schema.of(quasi=["sex"], sensitive=["ill"])
    >>> hidden = table.with_columns(sex=pl.lit("m"))
    >>> found = shoal.risk.unchanged_columns(table, hidden, schema)
    >>> round(found.baseline, 3), round(found.expected, 3)
    (0.01, 0.02)
    """
    return measure(Pair.of(original, released, schema, source_rows), seed=seed, k=k)


def measure(
    pair: Pair, *, seed: int = 0, k: int = 1, tied: tuple[Dependence, ...] | None = None
) -> UnchangedColumnsAttack:
    """`unchanged_columns` of an existing pair; `tied` saves the search for dependences where it was made already."""
    names = unchanged_names(pair)[:_MOST_COLUMNS]
    why = _why_not(pair, names)
    if why is not None:
        return _not_measured(pair, names, why)
    tied = determined_by_quasi(pair, seed=seed) if tied is None else tied
    trial = _trial(pair, seed, k)
    if len(trial.rows.row) == 0:
        return _not_measured(pair, names, "none of the people tried was released")
    return _attack(pair, trial, names, tied)


def _why_not(pair: Pair, names: tuple[str, ...]) -> str | None:
    if not names:
        return "no column is published unchanged"
    if not pair.schema.quasi:
        return "the schema names no quasi-identifier"
    if (pair.source_rows < 0).all():
        return "no released row belongs to a known person"
    if pair.original.n < _FEWEST_RECORDS:
        return f"fewer than {_FEWEST_RECORDS} records to learn from"
    return None


def _not_measured(pair: Pair, names: tuple[str, ...], why: str) -> UnchangedColumnsAttack:
    return UnchangedColumnsAttack(
        expected=None,
        interval=None,
        baseline=None,
        surest=None,
        surest_interval=None,
        largest=None,
        n_targets=0,
        n_records=pair.original.n,
        sampled=False,
        columns=names,
        why=why,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
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


def _attack(pair: Pair, trial: _Trial, names: tuple[str, ...], tied: tuple[Dependence, ...]) -> UnchangedColumnsAttack:
    own = _own(pair, trial)
    near = trial.rows.nearest().astype(np.float64)
    follows = _follow(pair, trial, names, tied)
    signs = np.column_stack([*_nearness(trial.rows, near), *_content(pair, trial, names), *follows])
    plain = [near, *([_strict(trial.rows, follows)] if follows else [])]
    hits, nearest_hits, certainty = (
        np.zeros(len(trial.targets)),
        np.zeros(len(trial.targets)),
        np.zeros(len(trial.targets)),
    )
    for half in (0, 1):
        scores = _best_rule(
            [*plain, signs @ learn(signs, trial.rows.starts, own.persons_at(trial, 1 - half))], own, trial, 1 - half
        )
        here = trial.half[trial.person[trial.targets]] == half
        found, sureness = own.hits(scores, trial)
        hits[here], certainty[here] = found[here], sureness[here]
        nearest_hits[here] = own.hits(near, trial)[0][here]
    linked = linked_rows(pair, trial.targets, names, trial.seed)
    if linked is not None and linked.hits.mean() > hits[linked.tried].mean():
        return _result(pair, names, linked.hits, nearest_hits[linked.tried], linked.certainty)
    return _result(pair, names, hits, nearest_hits, certainty)


def _result(
    pair: Pair, names: tuple[str, ...], hits: FloatArray, nearest: FloatArray, certainty: FloatArray
) -> UnchangedColumnsAttack:
    n = len(hits)
    surest = hits[np.argsort(-certainty, kind="stable")[: max(1, round(_SURE_SHARE * n))]]
    expected, top = float(hits.mean()), float(surest.mean())
    return UnchangedColumnsAttack(
        expected=expected,
        interval=wilson(expected, n),
        baseline=float(nearest.mean()),
        surest=top,
        surest_interval=wilson(top, len(surest)),
        largest=float(hits.max()),
        n_targets=n,
        n_records=pair.original.n,
        sampled=n < pair.original.n,
        columns=names,
        why=None,
    )


def _trial(pair: Pair, seed: int, k: int) -> _Trial:
    """Draw the targets and list their candidates; fewer targets where the lists are long."""
    rng = stream(seed, "unchanged columns")
    person, n = pair.original.units(), pair.original.n
    half = rng.permutation(int(person.max()) + 1) % 2
    drawn = rng.permutation(n)[:MOST_TARGETS]
    most = max(_FEWEST_CANDIDATES, min(n // 4, max(MOST_CANDIDATES, 4 * k)))
    targets = np.sort(drawn[: _affordable(pair, drawn, most)])
    asking, question = _questions(pair, targets, half[person])
    rows = candidates(pair, asking, most)
    return _Trial(targets=targets, question=question, asking=asking, half=half, person=person, rows=rows, seed=seed)


def _affordable(pair: Pair, drawn: IntArray, most: int) -> int:
    """How many targets have at most a million candidates together, judged by a few."""
    few = drawn[:_FEWEST_TARGETS]
    listed = len(candidates(pair, few, most).row)
    return max(_FEWEST_TARGETS, int(_MOST_PAIRS * len(few) / max(1, listed)))


def _questions(pair: Pair, targets: IntArray, half: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct questions within each half: a record that asks each, and the question of each target."""
    asking: list[IntArray] = []
    question = np.empty(len(targets), dtype=np.int64)
    for side in (0, 1):
        here = half[targets] == side
        first, number = distinct_questions(pair, targets[here])
        question[here] = number + sum(map(len, asking))
        asking.append(first)
    return np.concatenate(asking), question


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """The pairs (target, candidate) in which the row is the target's person's."""

    target: IntArray
    pair: IntArray

    def hits(self, scores: FloatArray, trial: _Trial) -> tuple[FloatArray, FloatArray]:
        """Probability of a hit of each target and how sure the intruder is, where rows are ranked by `scores`."""
        picked = chosen(scores, trial.rows.starts)
        hits: FloatArray = np.bincount(self.target, weights=picked[self.pair], minlength=len(trial.targets)).astype(
            np.float64
        )
        certainty = np.zeros(len(trial.asking))
        certainty[trial.rows.question[trial.rows.starts]] = sure(scores, trial.rows.starts)
        return hits, certainty[trial.question]

    def persons_at(self, trial: _Trial, half: int) -> FloatArray:
        """How many targets of a half each candidate is right for; a target with several rows counts once in all."""
        here = trial.half[trial.person[trial.targets[self.target]]] == half
        rows = np.bincount(self.target, minlength=len(trial.targets))[self.target]
        counts = np.bincount(self.pair[here], weights=1 / rows[here], minlength=len(trial.rows.row))
        return counts.astype(np.float64)


def _own(pair: Pair, trial: _Trial) -> _Own:
    """Find each target's own rows among the candidates of its question."""
    rows = trial.rows
    n_persons = len(trial.half)
    sources = pair.source_rows[rows.row]
    known = np.flatnonzero(sources >= 0)
    keys = rows.question[known] * n_persons + trial.person[sources[known]]
    order = np.argsort(keys, kind="stable")
    wanted = trial.question * n_persons + trial.person[trial.targets]
    low, high = (np.searchsorted(keys[order], wanted, side=side) for side in ("left", "right"))
    target = np.repeat(np.arange(len(wanted)), high - low)
    offset = np.arange(len(target)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
    return _Own(target=target, pair=known[order[low[target] + offset]])


def _best_rule(rules: list[FloatArray], own: _Own, trial: _Trial, half: int) -> FloatArray:
    """The scores that find most people of a half; the plainer ones where several find as many."""
    here = trial.half[trial.person[trial.targets]] == half
    if not here.any():
        return rules[0]
    return max(rules, key=lambda scores: float(own.hits(scores, trial)[0][here].mean()))


def _strict(rows: Candidates, follows: list[FloatArray]) -> FloatArray:
    """First by how many columns follow from the person's quasi-identifiers, then by distance; only ties leave doubt."""
    scores: FloatArray = _SHARP * (np.sum(follows, axis=0) - rows.distance / (1.0 + rows.distance.max()))
    return scores


def _nearness(rows: Candidates, near: FloatArray) -> list[FloatArray]:
    """Signs of the released quasi-identifiers: nearest, distance in tenth distances, number of nearer rows."""
    tenth = rows.distance[rows.starts + np.minimum(9, rows.lengths - 1)]
    scale = np.where(tenth > 0, tenth, 1.0)[rows.place]
    return [near, -rows.distance / scale, -np.log1p(rows.nearer())]


def _content(pair: Pair, trial: _Trial, names: tuple[str, ...]) -> list[FloatArray]:
    """Signs of the unchanged columns."""
    codings = list(zip(pair.encoder.codings, pair.original_codes.T, known_codes(pair).T, strict=True))
    quasi = [quasi_levels(*coding) for coding in codings]
    left_out = _left_out(pair, trial)
    signs = []
    for name in names:
        for levels in unchanged_levels(series(pair.released, name)):
            signs.append(_goes_with_person(pair, trial, levels, [true for true, _ in quasi], left_out))
            signs.append(-_goes_with_row(levels, [shown for _, shown in quasi], trial.rows.row))
    return signs


def _follow(pair: Pair, trial: _Trial, names: tuple[str, ...], tied: tuple[Dependence, ...]) -> list[FloatArray]:
    """For each column that is a function of the quasi-identifiers: whether a candidate shows its value at x."""
    known = [found for found in tied if found.direction == "determined" and found.share >= _RULE]
    return [_follows(pair, trial, found) for found in known if found.column in names]


def _left_out(pair: Pair, trial: _Trial) -> BoolArray:
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


def _goes_with_person(
    pair: Pair, trial: _Trial, column: Levels, quasi: list[Levels], left_out: BoolArray
) -> FloatArray:
    """log P(s_j | x) / P(s_j) of each candidate by naive Bayes, from the rows that aren't left out for its question."""
    rows, n_questions = trial.rows, len(trial.rows.starts)
    known = pair.source_rows >= 0
    shown, sources = column.values[known], pair.source_rows[known]
    value = column.values[rows.row]
    key = rows.place * column.n + value
    out = np.bincount(key[left_out], minlength=n_questions * column.n)
    n_value = np.bincount(shown, minlength=column.n)[value] - out[key]
    n_all = len(shown) - np.bincount(rows.place[left_out], minlength=n_questions)[rows.place]
    total = np.zeros(len(key))
    for levels in quasi:
        asked = levels.values[trial.asking][rows.question]
        table = np.bincount(shown * levels.n + levels.values[sources], minlength=column.n * levels.n)
        same = left_out & (levels.values[pair.source_rows[rows.row]] == asked)
        both = table[value * levels.n + asked] - np.bincount(key[same], minlength=n_questions * column.n)[key]
        n_asked = np.bincount(levels.values[sources], minlength=levels.n)[asked]
        n_asked = n_asked - np.bincount(rows.place[same], minlength=n_questions)[rows.place]
        total += _log_ratio(both, n_value, n_asked, n_all)
    return total


def _goes_with_row(column: Levels, quasi: list[Levels], candidate: IntArray) -> FloatArray:
    """log P(s_j | x'_j) / P(s_j) of each candidate's released row, from the release itself."""
    rows, place = np.unique(candidate, return_inverse=True)
    n_value = np.bincount(column.values, minlength=column.n)[column.values[rows]]
    total, n_all = np.zeros(len(rows)), np.full(len(rows), len(column.values))
    for levels in quasi:
        key = column.values * levels.n + levels.values
        both = np.bincount(key, minlength=column.n * levels.n)[key[rows]]
        n_asked = np.bincount(levels.values, minlength=levels.n)[levels.values[rows]]
        total += _log_ratio(both, n_value, n_asked, n_all)
    return total[place]


def _log_ratio(both: IntArray, n_value: IntArray, n_asked: IntArray, n_all: IntArray) -> FloatArray:
    """log P(x | s) / P(x): people counted over people expected were x and s independent, with `_PRIOR` more of each."""
    expected = n_value * n_asked / np.maximum(1, n_all)
    ratio: FloatArray = np.log((both + _PRIOR) / (expected + _PRIOR))
    return ratio


def _follows(pair: Pair, trial: _Trial, found: Dependence) -> FloatArray:
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
