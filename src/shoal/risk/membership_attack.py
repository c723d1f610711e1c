"""Membership: can somebody tell who was in the data from the release?

Every member and every other person gets a score, larger for "was in the data":

- ``"distance"``: minus the distance to the closest released record;
- ``"density"``: log p_release(x) − log p_reference(x), kernel estimates from the release and from half of the control
  group, so that a person in a crowd isn't taken for a member.

    AUC = mean over pairs of [s_in > s_out] + ½ [s_in = s_out];   ½ is guessing
    TPR at x = largest share of members at or above a threshold that at most x of the others reach

An AUC of ½ hides a leak of a few outliers, which the TPR at a small FPR shows. Members and others must be of one
population. A threshold chosen on one half of the people and tried on the other refutes every ε below
log((TPR_low − δ) / FPR_high), with Clopper-Pearson ends. An attack bounds the risk from below; only a proof bounds it
from above.

Membership by shadow releases: what would the release look like with this person, and what without?

The strongest membership attack that needs no look inside a method (Carlini et al. 2022; Stadler, Oprisanu and Troncoso
2022). The method itself is run on random halves of the people. For each target, t is minus the distance to the closest
released row; over the halves that hold the target t is taken to be N(m_in, s_in), over the others N(m_out, s_out), and
in one more release, from a half that the intruder doesn't know,

    score = log N(t; m_in, s_in) − log N(t; m_out, s_out)

tells members from others. AUC, rates and the refuted ε are read as in `shoal.risk.membership_attack`. It says how much
the *method* gives away of people like these at half the size, with the intruder knowing the method and everybody's
records; not what one release gave away.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.errors import InputError, ParameterError
from shoal.frame import enter, leave, pick
from shoal.record import Interval, Record
from shoal.risk.control_group import AttackTable, attack_table, check_attacks, gower, nearest, spans
from shoal.risk.uncertainty import wilson
from shoal.rng import stream
from shoal.schema import Schema

__all__ = [
    "Membership",
    "area_under_curve",
    "likelihood_ratio",
    "membership",
    "membership_of",
    "refuted_epsilon",
    "shadow_membership",
    "true_positives",
]

Method = Literal["distance", "density", "shadow"]
_RATES = (0.001, 0.01, 0.1)
_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(Record):
    """How well membership can be told.

    Parameters
    ----------
    method
        How people were scored; ``"shadow"`` by `shoal.risk.membership_attack`.
    n_members, n_others
        People scored on either side. No rate below 1/n_others can be seen.
    auc, interval
        Chance that a member scores higher than another person, ties half, with its 95% interval; ½ is guessing.
    risk
        2 AUC − 1, at least 0: how much better than guessing.
    tpr
        Share of members found at each false positive rate, by rate, with its 95% interval.
    epsilon
        Every claim of a smaller ε is refuted at the 90% level; 0 where none is.
    verdict
        ``"leak"`` where the interval lies above ½, else ``"none seen"``.
    """

    method: Method
    n_members: int
    n_others: int
    auc: float
    interval: Interval
    risk: float
    tpr: dict[str, float]
    tpr_intervals: dict[str, Interval]
    epsilon: float
    verdict: Literal["leak", "none seen"]

    def __float__(self) -> float:
        return self.risk


def membership(
    original: Any,
    released: Any,
    schema: Schema,
    control: Any,
    *,
    method: Method = "distance",
    attacks: int = 1000,
    source_rows: Any = None,
    seed: int = 0,
) -> Membership:
    """Try to tell members of the original from people who were not in it.

    Parameters
    ----------
    original, released, schema
        Tables of any dataframe type, and the roles of their columns; rows need not correspond.
    control
        People of the same population who had no part in the release.
    method
        ``"distance"`` or ``"density"``.
    attacks
        How many people are scored at most, of either table.
    source_rows
        Original row of each released row, needed to read a coarsened release only.
    seed
        Repeats the choice of people.

    Notes
    -----
    Rows are scored; where a person has several, one row of each person is drawn. Cost: O(attacks · released rows ·
    columns).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> members = pl.DataFrame({"age": range(0, 100, 2)})
    >>> others = pl.DataFrame({"age": range(1, 100, 2)})
    >>> shoal.risk.membership(members, members, shoal.Schema.of(quasi=["age"]), control=others).auc
    1.0
    """
    _check(method, attacks)
    tables = attack_table(original, released, schema, control, source_rows)
    rng = stream(seed, "risk", "membership")
    sides = [values[_one_row_each(persons, rng)] for values, persons in tables.sides()]
    if len(sides) < 2 or min(map(len, sides)) < 4:
        raise InputError("control", "must hold at least four people who were not in the data, and the original as many")
    members, others = (
        rng.permutation(side)[:attacks] if len(side) > attacks else rng.permutation(side) for side in sides
    )
    scores = _distance_scores if method == "distance" else _density_scores
    return membership_of(method, *scores(tables, members, others, seed))


def membership_of(method: Method, inside: FloatArray, outside: FloatArray) -> Membership:
    """What the scores of members and others say."""
    auc, interval = area_under_curve(inside, outside)
    found = {f"{rate:g}": true_positives(inside, outside, rate) for rate in _RATES}
    return Membership(
        method=method,
        n_members=len(inside),
        n_others=len(outside),
        auc=auc,
        interval=interval,
        risk=max(0.0, 2 * auc - 1),
        tpr=found,
        tpr_intervals={rate: wilson(share, len(inside)) for rate, share in found.items()},
        epsilon=_tested_epsilon(inside, outside),
        verdict="leak" if interval[0] > 0.5 else "none seen",
    )


def _one_row_each(persons: Any, rng: Any) -> Any:
    """One random row of each person."""
    order = rng.permutation(len(persons))
    return order[np.unique(persons[order], return_index=True)[1]]


def _distance_scores(
    tables: AttackTable, members: FloatArray, others: FloatArray, seed: int
) -> tuple[FloatArray, FloatArray]:
    rng = stream(seed, "risk", "membership", "ties")
    far = [nearest(people, tables.released, tables.ordered, 1, rng)[1][:, 0] for people in (members, others)]
    return -far[0], -far[1]


def _density_scores(
    tables: AttackTable, members: FloatArray, others: FloatArray, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Log ratio of kernel densities; half of the others are the reference and aren't scored."""
    half = len(others) // 2
    reference, others = others[:half], others[half:]
    width = _bandwidth(reference, tables)
    return tuple(
        _log_density(people, tables.released, tables, width) - _log_density(people, reference, tables, width)
        for people in (members, others)
    )  # type: ignore[return-value]


def _bandwidth(reference: FloatArray, tables: AttackTable) -> float:
    """Half of the median distance of a reference person to the nearest other one; a small number where that is 0."""
    apart = gower(reference, reference, tables.ordered, spans(tables.released, tables.ordered))
    np.fill_diagonal(apart, np.inf)
    return max(float(np.median(apart.min(axis=1))) / 2, 0.01)


def _log_density(people: FloatArray, centres: FloatArray, tables: AttackTable, width: float) -> FloatArray:
    span = spans(tables.released, tables.ordered)
    step = max(1, _BLOCK // max(1, len(centres)))
    out = np.empty(len(people))
    for start in range(0, len(people), step):
        block = slice(start, start + step)
        apart = gower(people[block], centres, tables.ordered, span) / width
        nearest_of = apart.min(axis=1, keepdims=True)
        out[block] = np.log(np.exp(nearest_of - apart).mean(axis=1)) - nearest_of[:, 0]
    return out


def area_under_curve(inside: FloatArray, outside: FloatArray) -> tuple[float, Interval]:
    """AUC with ties as halves, and DeLong's 95% interval."""
    ordered_in, ordered_out = np.sort(inside), np.sort(outside)
    above = (np.searchsorted(ordered_out, inside, "left") + np.searchsorted(ordered_out, inside, "right")) / 2
    below = (np.searchsorted(ordered_in, outside, "left") + np.searchsorted(ordered_in, outside, "right")) / 2
    places_in, places_out = above / len(outside), 1 - below / len(inside)
    auc = float(places_in.mean())
    spread = places_in.var(ddof=1) / len(inside) + places_out.var(ddof=1) / len(outside)
    # Where no pair overlaps DeLong's variance is 0: one more pair, the other way round, stands in for what wasn't seen.
    half = max(1.96 * math.sqrt(float(spread)), 1.96 / (len(inside) + len(outside)))
    return auc, (max(0.0, auc - half), min(1.0, auc + half))


def true_positives(inside: FloatArray, outside: FloatArray, rate: float) -> float:
    """The largest share of members at or above a threshold that at most `rate` of the others reach."""
    allowed = math.floor(rate * len(outside) + 1e-9)
    ordered = np.sort(outside)[::-1]
    bound = ordered[allowed] if allowed < len(ordered) else -math.inf
    return float((inside > bound).mean())


def refuted_epsilon(hits: int, members: int, alarms: int, others: int, delta: float = 0.0) -> float:
    """The ε below which every claim is refuted by `hits` of members at `alarms` of others, at 95% each."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, hits, members - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, alarms + 1, others - alarms)) if alarms < others else 1.0
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def _tested_epsilon(inside: FloatArray, outside: FloatArray) -> float:
    """The threshold that refutes most on one half of the people, tried on the other half."""
    first, second = (inside[::2], outside[::2]), (inside[1::2], outside[1::2])
    cuts = np.unique(np.quantile(np.concatenate(first), np.linspace(0.02, 0.98, 49)))
    best = max(cuts, key=lambda cut: _refuted_at(float(cut), *first))
    return _refuted_at(float(best), *second)


def _refuted_at(cut: float, inside: FloatArray, outside: FloatArray) -> float:
    return refuted_epsilon(int((inside >= cut).sum()), len(inside), int((outside >= cut).sum()), len(outside))


def _check(method: object, attacks: object) -> None:
    check_attacks("membership", attacks)
    if method not in ("distance", "density"):
        raise ParameterError("membership", "method must be 'distance' or 'density'", got=repr(method)[:60])


_FEWEST = 4
_NARROWEST = 1e-3  # of a spread, so that a target that never moves has a density


def shadow_membership(
    table: Any,
    schema: Schema,
    release: Callable[[Any], Any],
    *,
    shadows: int = 16,
    attacks: int = 200,
    seed: int = 0,
) -> Membership:
    """Attack a method, not a release: run it on random halves and tell who was in.

    Parameters
    ----------
    table, schema
        People of the kind that the method will be used on, a row each.
    release
        The method: takes a table of people and gives a released table, as
        ``lambda people: shoal.PeGS(epsilon=1.0).fit(people, schema).sample(len(people))``.
    shadows
        How many halves the intruder learns from. Raising it makes the attack stronger.
    attacks
        How many people are targets at most.
    seed
        Repeats the halves and the targets, not what the method draws by itself.

    Notes
    -----
    Cost: `shadows` + 1 runs of the method, and as many searches for the closest row.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [3 * i % 101 for i in range(60)]})
    >>> shoal.risk.shadow_membership(table, shoal.Schema.of(quasi=["age"]), lambda people: people).verdict
    'leak'
    """
    check_attacks("shadow_membership", attacks)
    if not isinstance(shadows, int) or isinstance(shadows, bool) or shadows < _FEWEST:
        raise ParameterError("shadow_membership", f"shadows must be a whole number, at least {_FEWEST}")
    frame = enter(table)
    n = len(frame)
    if n < 8:
        raise InputError("table", "must have at least eight rows to attack halves of it", got=f"{n} rows")
    rng = stream(seed, "risk", "shadow releases")
    targets = rng.permutation(n)[:attacks]
    inside = np.array([_half(n, rng.permutation(n)) for _ in range(shadows + 1)])
    scores = np.array([_closeness(frame, table, half, targets, schema, release, seed) for half in inside])
    ratio = likelihood_ratio(scores[0], scores[1:], inside[1:, targets])
    member = inside[0, targets]
    return membership_of("shadow", ratio[member], ratio[~member])


def _half(n: int, order: IntArray) -> BoolArray:
    out = np.zeros(n, dtype=np.bool_)
    out[order[: n // 2]] = True
    return out


def _closeness(
    frame: Any, table: Any, half: BoolArray, targets: IntArray, schema: Schema, release: Callable[[Any], Any], seed: int
) -> FloatArray:
    """Minus the distance of each target to the closest row of a release made from `half`."""
    made = release(leave(pick(frame, np.flatnonzero(half)), like=table))
    coded = attack_table(frame, made, schema)
    rng = stream(seed, "risk", "shadow ties")
    return -nearest(coded.original[targets], coded.released, coded.ordered, 1, rng)[1][:, 0]


def likelihood_ratio(seen: FloatArray, shadows: FloatArray, inside: BoolArray) -> FloatArray:
    """log N(t; m_in, s_in) − log N(t; m_out, s_out) of each target, from shadows by row; spreads are pooled."""
    out = np.zeros(len(seen))
    for member, sign in ((True, 1.0), (False, -1.0)):
        own = np.where(inside == member, shadows, np.nan)
        with np.errstate(invalid="ignore"):
            mean = np.where((inside == member).any(axis=0), np.nan_to_num(own).sum(axis=0), 0.0)
        mean = mean / np.maximum((inside == member).sum(axis=0), 1)
        spread = max(float(np.sqrt(np.nanmean((own - mean) ** 2))), _NARROWEST)
        out += sign * (-((seen - mean) ** 2) / (2 * spread**2) - np.log(spread))
    return out
