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

The weights of these signs are learnt from half of the persons (`learn`) and used on the other half, and the other way
round, so that nobody's own row teaches how to find it. Two plain rules compete with the learnt one, and the
best on the half that teaches is used on the other: nearest match, and, where columns are a function of the
quasi-identifiers, the nearest of the rows that show the values which follow from x. Where persons have several rows,
one more attack is tried, on all rows of a person at once (`shoal.risk.linked_rows`), and the better of the two
is reported. The result is a lower bound of what an intruder may reach: a better model of P(s | x), or knowing values of
s, finds more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.pair import Pair
from shoal.progress import advance
from shoal.record import Record
from shoal.risk.candidates import candidates, chosen, distinct_questions, learn, sure
from shoal.risk.dependence import Dependence, determined_by_quasi, unchanged_names
from shoal.risk.linked_rows import LinkedRows, linked_rows, tokens_of
from shoal.risk.uncertainty import wilson
from shoal.risk.unchanged_signs import Trial, content, follow, nearness, strict
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


@dataclass(frozen=True, slots=True, kw_only=True)
class UnchangedColumnsAttack(Record):
    """How often a person is found by quasi-identifiers and unchanged columns together.

    Parameters
    ----------
    expected, interval
        Mean probability of a hit over the targets, ties at random, and its 95% interval; None where not measured.
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
    pair: Pair,
    *,
    seed: int = 0,
    k: int = 1,
    tied: tuple[Dependence, ...] | None = None,
    everyone: bool = False,
) -> UnchangedColumnsAttack:
    """`unchanged_columns` of an existing pair.

    `tied` saves the search for dependences where it was made already. `everyone` tries all people, in as many parts as
    a sample has people, each attacked on its own: a second for every 2,000 of them.
    """
    names = unchanged_names(pair)[:_MOST_COLUMNS]
    why = _why_not(pair, (*names, *tokens_of(pair)))
    if why is not None:
        return _not_measured(pair, names, why)
    tied = determined_by_quasi(pair, seed=seed) if tied is None else tied
    draw = _draw(pair, seed, k)
    parts = draw.parts() if everyone else draw.parts()[:1]
    found = []
    for i, targets in enumerate(parts):
        trial = _trial(pair, draw, targets)
        found += [_attack(pair, trial, names, tied)] if len(trial.rows.row) else []
        if everyone:
            advance(i + 1, len(parts))
    if not found:
        return _not_measured(pair, names, "none of the people tried was released")
    hits, nearest, certainty = (np.concatenate(column) for column in zip(*found, strict=True))
    return _result(pair, (*names, *tokens_of(pair)), hits, nearest, certainty)


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


_Found = tuple[FloatArray, FloatArray, FloatArray]


def _attack(pair: Pair, trial: Trial, names: tuple[str, ...], tied: tuple[Dependence, ...]) -> _Found:
    """Of each target: the probability of a hit, that by nearest match alone, and how sure the attack is."""
    own = _own(pair, trial)
    near = trial.rows.nearest().astype(np.float64)
    follows = follow(pair, trial, names, tied)
    signs = np.column_stack([*nearness(trial.rows, near), *content(pair, trial, names), *follows])
    plain = [near, *([strict(trial.rows, follows)] if follows else [])]
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
    if linked is not None and _finds_more(linked, hits):
        return linked.hits, nearest_hits[linked.tried], linked.certainty
    return hits, nearest_hits, certainty


def _finds_more(linked: LinkedRows, hits: FloatArray) -> bool:
    """Whether trying people by all their rows finds more of them: of the few it was tried on, and than of everybody."""
    return bool(linked.hits.mean() > max(hits.mean(), hits[linked.tried].mean()))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draw:
    """All records in a random order, in which half each person is, and how long lists of candidates may be."""

    seed: int
    order: IntArray
    person: IntArray
    half: IntArray
    most: int
    size: int

    def parts(self) -> list[IntArray]:
        """Everybody once, in parts of at most `size`; the first is the sample."""
        rest = self.order[self.size :]
        more = np.array_split(rest, -(-len(rest) // self.size)) if len(rest) else []
        return [self.order[: self.size], *more]


def _draw(pair: Pair, seed: int, k: int) -> _Draw:
    """Draw the order of the targets; fewer at once where the lists of candidates are long."""
    rng = stream(seed, "unchanged columns")
    person, n = pair.original.units(), pair.original.n
    half = rng.permutation(int(person.max()) + 1) % 2
    order = rng.permutation(n)
    most = max(_FEWEST_CANDIDATES, min(n // 4, max(MOST_CANDIDATES, 4 * k)))
    size = min(MOST_TARGETS, _affordable(pair, order, most))
    return _Draw(seed=seed, order=order, person=person, half=half, most=most, size=size)


def _trial(pair: Pair, draw: _Draw, drawn: IntArray) -> Trial:
    """The targets with their candidates."""
    targets = np.sort(drawn)
    asking, question = _questions(pair, targets, draw.half[draw.person])
    rows = candidates(pair, asking, draw.most)
    return Trial(
        targets=targets,
        question=question,
        asking=asking,
        half=draw.half,
        person=draw.person,
        rows=rows,
        seed=draw.seed,
    )


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

    def hits(self, scores: FloatArray, trial: Trial) -> tuple[FloatArray, FloatArray]:
        """Probability of a hit of each target and how sure the intruder is, where rows are ranked by `scores`."""
        picked = chosen(scores, trial.rows.starts)
        hits: FloatArray = np.bincount(self.target, weights=picked[self.pair], minlength=len(trial.targets)).astype(
            np.float64
        )
        certainty = np.zeros(len(trial.asking))
        certainty[trial.rows.question[trial.rows.starts]] = sure(scores, trial.rows.starts)
        return hits, certainty[trial.question]

    def persons_at(self, trial: Trial, half: int) -> FloatArray:
        """How many targets of a half each candidate is right for; a target with several rows counts once in all."""
        here = trial.half[trial.person[trial.targets[self.target]]] == half
        rows = np.bincount(self.target, minlength=len(trial.targets))[self.target]
        counts = np.bincount(self.pair[here], weights=1 / rows[here], minlength=len(trial.rows.row))
        return counts.astype(np.float64)


def _own(pair: Pair, trial: Trial) -> _Own:
    """Find each target's own rows among the candidates of its question."""
    rows = trial.rows
    n_persons = len(trial.half)
    sources = pair.source_rows[rows.row]
    known = np.flatnonzero(sources >= 0)
    keys = rows.question[known] * n_persons + trial.person[sources[known]]
    order = np.argsort(keys, kind="stable")
    target_keys = trial.question * n_persons + trial.person[trial.targets]
    low, high = (np.searchsorted(keys[order], target_keys, side=side) for side in ("left", "right"))
    target = np.repeat(np.arange(len(target_keys)), high - low)
    offset = np.arange(len(target)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
    return _Own(target=target, pair=known[order[low[target] + offset]])


def _best_rule(rules: list[FloatArray], own: _Own, trial: Trial, half: int) -> FloatArray:
    """The scores that find most people of a half; the plainer ones where several find as many."""
    here = trial.half[trial.person[trial.targets]] == half
    if not here.any():
        return rules[0]
    return max(rules, key=lambda scores: float(own.hits(scores, trial)[0][here].mean()))
