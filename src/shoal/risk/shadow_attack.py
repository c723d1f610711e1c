"""Membership by shadow releases: what would the release look like with this person, and what without?

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

from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.errors import InputError, ParameterError
from shoal.frame import enter, leave, pick
from shoal.risk.attack_table import attack_table, check_attacks, nearest
from shoal.risk.membership_attack import Membership, told
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["likelihood_ratio", "shadow_membership"]

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
    return told("shadow", ratio[member], ratio[~member])


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
