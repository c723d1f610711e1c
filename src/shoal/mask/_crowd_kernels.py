"""Kernels of the masks that move records: nearest crowd, noise that keeps a shape, swaps that keep a shape.

The kernel of rank swapping.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.distance._kernels import apart, mapped
from shoal.distance.space import Packed
from shoal.distance.threads import in_chunks
from shoal.mask.shape_divergence import BINS, PSEUDO

__all__ = ["nearest_center", "noisy", "partners", "swap"]

_PARTNERS = 64  # tried for a value that is still where it was
_PROPOSALS = 4  # random swaps per value
_ROUNDING = 1.0 + 1e-12


def nearest_center(packed: Packed, rows: FloatArray, offsets: IntArray, centers: FloatArray) -> IntArray:
    """For each person (rows ``offsets[p]:offsets[p + 1]``) the centre with the least sum of mapped distances (eq 4)."""
    out = np.zeros(len(offsets) - 1, dtype=np.int64)
    in_chunks(lambda a, b: _nearest_some(packed, rows, offsets, centers, a, b, out), len(out), few=16)
    return out


@njit(cache=True, nogil=True)
def _nearest_some(
    packed: Packed, rows: FloatArray, offsets: IntArray, centers: FloatArray, first: int, last: int, out: IntArray
) -> None:
    for p in range(first, last):
        least = np.inf
        for c in range(len(centers)):
            total = _total(packed, rows, offsets[p], offsets[p + 1], centers[c], least)
            if total < least:
                least, out[p] = total, c


@njit(cache=True, nogil=True)
def _total(packed: Packed, rows: FloatArray, first: int, last: int, center: FloatArray, least: float) -> float:
    """Sum of the mapped distances of some rows to a centre, given up once it can't be the least."""
    total = 0.0
    for row in range(first, last):
        for j in range(len(center)):
            total += mapped(packed, j, apart(packed, j, rows[row, j], center[j]))
            if total >= least:
                return total
    return total


@njit(cache=True, nogil=True)
def _kl(before: IntArray, n_before: int, after: IntArray, n_after: int) -> float:
    total = 0.0
    for b in range(BINS):
        p = (before[b] + PSEUDO) / (n_before + BINS * PSEUDO)
        q = (after[b] + PSEUDO) / (n_after + BINS * PSEUDO)
        total += p * np.log(p / q)
    return max(0.0, total)


@njit(cache=True, nogil=True)
def _emd(before: IntArray, n_before: int, after: IntArray, n_after: int) -> float:
    total, p, q = 0.0, 0, 0
    for b in range(BINS):
        p += before[b]
        q += after[b]
        total += abs(p / n_before - q / n_after)
    return total / BINS


@njit(cache=True, nogil=True)
def _gap(before: IntArray, n_before: int, after: IntArray, n_after: int, mover: bool) -> float:
    """How far two shapes are apart: the earth mover's distance, or KL."""
    return _emd(before, n_before, after, n_after) if mover else _kl(before, n_before, after, n_after)


@njit(cache=True, nogil=True)
def _bin(distance: float, top: float) -> int:
    return 0 if top <= 0.0 else min(BINS - 1, int(distance / top * BINS))


@njit(cache=True, nogil=True)
def noisy(
    members: FloatArray, center: float, n_new: int, low: float, high: float, whole: bool, bound: float, mover: bool,
    uniforms: FloatArray,
) -> tuple[FloatArray, float]:  # fmt: skip
    """New values center + r, one after another, that keep the shape of the members' distances; and the gap reached.

    |r| is drawn from the bin of a random member; `uniforms` has three numbers for each try of each value.
    """
    far = np.abs(members - center)
    top = far.max()
    before = np.zeros(BINS, dtype=np.int64)
    for d in far:
        before[_bin(d, top)] += 1
    after, n, reached = before.copy(), len(members), 0.0
    out = np.empty(n_new)
    for i in range(n_new):
        least, best = np.inf, center
        for u in uniforms[i]:
            b = _bin(far[int(u[0] * n)], top)
            r = (b + u[1]) / BINS * top
            value = center + (r if u[2] < 0.5 else -r)
            value = min(max(np.rint(value) if whole else value, low), high)
            if abs(value - center) > top:
                continue
            place = _bin(abs(value - center), top)
            after[place] += 1
            gap = _gap(before, n, after, n + i + 1, mover)
            after[place] -= 1
            if gap < least:
                least, best = gap, value
            if gap <= bound:
                break
        out[i] = best
        after[_bin(abs(best - center), top)] += 1
        reached = _gap(before, n, after, n + i + 1, mover)
    return out, reached


@njit(cache=True, nogil=True)
def _next(state: AnyArray) -> np.uint64:
    """The next 64 random bits (splitmix64): a stream for each group, so that groups can go on at the same time."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _below(state: AnyArray, n: int) -> int:
    return int((_next(state) >> np.uint64(11)) % np.uint64(n))


def swap(
    values: FloatArray, far: FloatArray, offsets: IntArray, active: IntArray, bound: float, mover: bool,
    target: IntArray, seeds: IntArray,
) -> IntArray:  # fmt: skip
    """Which row each value now comes from, rows given group by group; the shape of each group is kept to `bound`.

    `far` are the mapped distances to the centre, value by value; only the `active` columns move. If fewer than `target`
    values of a group have changed at the end, more are made to.
    """
    source = np.empty(values.shape, dtype=np.int64)
    states = seeds.astype(np.uint64).reshape(-1, 1)

    def some(first: int, last: int) -> None:
        _swap_some(values, far, offsets, active, bound, mover, target, states, first, last, source)

    in_chunks(some, len(offsets) - 1, few=64)
    source += np.repeat(offsets[:-1], np.diff(offsets))[:, None]
    return source


@njit(cache=True, nogil=True)
def _swap_some(
    values: FloatArray, far: FloatArray, offsets: IntArray, active: IntArray, bound: float, mover: bool,
    target: IntArray, states: AnyArray, first: int, last: int, source: IntArray,
) -> None:  # fmt: skip
    for g in range(first, last):
        a, b = offsets[g], offsets[g + 1]
        _swap_group(values[a:b], far[a:b], source[a:b], active, bound, mover, target[g], states[g])


@njit(cache=True, nogil=True)
def _swap_group(
    values: FloatArray, far: FloatArray, source: IntArray, active: IntArray, bound: float, mover: bool, target: int,
    state: AnyArray,
) -> None:  # fmt: skip
    s = len(source)
    joint, top = np.empty(s), 0.0
    for i in range(s):
        source[i] = i
        joint[i] = _sum(far, source, i)
        top = max(top, joint[i])
    before = np.zeros(BINS, dtype=np.int64)
    for i in range(s):
        before[_bin(joint[i], top)] += 1
    after = before.copy()
    if s > 1:
        _exchange_rows(far, source, active, joint, before, after, top, bound, mover, state)
        for _ in range(_PROPOSALS * s * len(active)):
            j = active[_below(state, len(active))]
            i, k = _below(state, s), _below(state, s)
            # Whatever keeps the shape is accepted: a walk that sought change would tell what a value was not.
            _try_swap(values, far, source, joint, before, after, top, bound, mover, j, i, k, -2)
        _change_more(values, far, source, joint, before, after, top, bound, mover, active, target, state)


@njit(cache=True, nogil=True)
def _change_more(
    values: FloatArray, far: FloatArray, source: IntArray, joint: FloatArray, before: IntArray, after: IntArray,
    top: float, bound: float, mover: bool, active: IntArray, target: int, state: AnyArray,
) -> None:  # fmt: skip
    """Find partners for values that are still where they were, until the target is reached."""
    s = len(source)
    changed = 0
    for j in active:
        for i in range(s):
            changed += values[source[i, j], j] != values[i, j]
    for cell in range(s * len(active)):
        if changed >= target:
            return
        i, j = cell // len(active), active[cell % len(active)]
        if values[source[i, j], j] != values[i, j]:
            continue
        begin = _below(state, s)
        for step in range(min(s, _PARTNERS)):
            k = (begin + step) % s
            gained = _gain(values, j, i, k, source[i, j], source[k, j])
            if _try_swap(values, far, source, joint, before, after, top, bound, mover, j, i, k, 1):
                changed += gained
                break


@njit(cache=True, nogil=True)
def _sum(far: FloatArray, source: IntArray, i: int) -> float:
    total = 0.0
    for j in range(far.shape[1]):
        total += far[source[i, j], j]
    return total


@njit(cache=True, nogil=True)
def _exchange_rows(
    far: FloatArray, source: IntArray, active: IntArray, joint: FloatArray, before: IntArray, after: IntArray,
    top: float, bound: float, mover: bool, state: AnyArray,
) -> None:  # fmt: skip
    """Give each record another's values in all active columns, if that keeps the shape; else leave them."""
    s = len(source)
    order = np.arange(s)
    for i in range(s - 1, 0, -1):
        k = _below(state, i + 1)
        order[i], order[k] = order[k], order[i]
    for i in range(s):
        for j in active:
            source[i, j] = order[i]
    fresh, counts, fits = np.empty(s), np.zeros(BINS, dtype=np.int64), True
    for i in range(s):
        fresh[i] = _sum(far, source, i)
        fits = fits and fresh[i] <= top * _ROUNDING
        counts[_bin(fresh[i], top)] += 1
    if fits and _gap(before, s, counts, s, mover) <= bound:
        joint[:], after[:] = fresh, counts
        return
    for i in range(s):
        for j in active:
            source[i, j] = i


@njit(cache=True, nogil=True)
def _try_swap(
    values: FloatArray, far: FloatArray, source: IntArray, joint: FloatArray, before: IntArray, after: IntArray,
    top: float, bound: float, mover: bool, j: int, i: int, k: int, gain: int,
) -> bool:  # fmt: skip
    """Swap the values of rows i and k in column j, if at least `gain` more values are changed and the shape is kept."""
    a, b = source[i, j], source[k, j]
    if values[a, j] == values[b, j] or _gain(values, j, i, k, a, b) < gain:
        return False
    source[i, j], source[k, j] = b, a
    new_i, new_k = _sum(far, source, i), _sum(far, source, k)
    s = len(source)
    if max(new_i, new_k) <= top * _ROUNDING:
        _recount(after, joint[i], joint[k], new_i, new_k, top)
        if _gap(before, s, after, s, mover) <= bound:
            joint[i], joint[k] = new_i, new_k
            return True
        _recount(after, new_i, new_k, joint[i], joint[k], top)
    source[i, j], source[k, j] = a, b
    return False


@njit(cache=True, nogil=True)
def _gain(values: FloatArray, j: int, i: int, k: int, a: int, b: int) -> int:
    now = int(values[a, j] != values[i, j]) + int(values[b, j] != values[k, j])
    then = int(values[b, j] != values[i, j]) + int(values[a, j] != values[k, j])
    return then - now


@njit(cache=True, nogil=True)
def _recount(counts: IntArray, old_i: float, old_k: float, new_i: float, new_k: float, top: float) -> None:
    counts[_bin(old_i, top)] -= 1
    counts[_bin(old_k, top)] -= 1
    counts[_bin(new_i, top)] += 1
    counts[_bin(new_k, top)] += 1


@njit(cache=True)
def partners(n: int, window: int, draws: FloatArray) -> IntArray:
    """The rank that each rank changes places with; its own where nothing is left in its window."""
    partner = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        if partner[i] >= 0:
            continue
        room = min(window, n - 1 - i)
        chosen = i
        for k in range(draws.shape[1]):
            j = i + 1 + int(draws[i, k] * room)
            if room > 0 and partner[j] < 0:
                chosen = j
                break
        if chosen == i and room > 0:  # all tries were taken: the next free one, going round the window
            start = int(draws[i, 0] * room)
            for step in range(room):
                j = i + 1 + (start + step) % room
                if partner[j] < 0:
                    chosen = j
                    break
        partner[i] = chosen
        partner[chosen] = i
    return partner
