"""Kernels that count the classes of a node: one pass over distinct combinations, in a hash table.

An item is a combination of values (or a class of a finer node, which any of its combinations can stand for, since
levels nest) with its number of rows. Its key at a node is the mixed-radix number of its columns' groups; where that
number could leave 62 bits, the key is a hash and equality is checked column by column. No two different combinations
are ever taken for one.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["count", "dealt", "distinct_persons", "exceeds", "label", "tally"]

_PART = 4096  # items of a part, about: their table stays in the cache
_FEWEST_PARTS, _MOST_PARTS = 16, 512  # powers of two


@njit(cache=True, nogil=True, inline="always")
def _mix(key):  # type: ignore[no-untyped-def]
    """Spread a key over 64 bits (the finaliser of MurmurHash3)."""
    key = np.uint64(key)
    key ^= key >> np.uint64(33)
    key *= np.uint64(0xFF51AFD7ED558CCD)
    key ^= key >> np.uint64(33)
    key *= np.uint64(0xC4CEB9FE1A85EC53)
    return key ^ (key >> np.uint64(33))


@njit(cache=True, nogil=True)
def _same(a, b, codes, lut, at):  # type: ignore[no-untyped-def]
    """Whether two combinations are together at a node."""
    for j in range(codes.shape[1]):  # noqa: SIM110 (numba compiles the loop better)
        if lut[at[j] + codes[a, j]] != lut[at[j] + codes[b, j]]:
            return False
    return True


@njit(cache=True, nogil=True)
def label(codes, lut, at, radix, span):  # type: ignore[no-untyped-def]
    """The class of each item at a node, numbered in order of appearance, and the first item of each class.

    `at` says where the groups of each column's level begin in `lut`, `radix` how many groups that level has, `span` how
    many keys there are; 0 if they don't fit 62 bits.
    """
    if 0 < span <= 8 * len(codes) + 1024:
        return _label_directly(codes, lut, at, radix, span)
    return _label_by_hash(codes, lut, at, radix, span > 0)


@njit(cache=True, nogil=True)
def _label_directly(codes, lut, at, radix, span):  # type: ignore[no-untyped-def]
    """Few keys: each has a slot of its own."""
    n, m = codes.shape
    slots = np.full(span, -1, np.int32)
    labels = np.empty(n, np.int32)
    first = np.empty(n, np.int32)
    n_classes = 0
    for i in range(n):
        key = 0
        for j in range(m):
            key = key * radix[j] + lut[at[j] + codes[i, j]]
        if slots[key] < 0:
            slots[key] = n_classes
            first[n_classes] = i
            n_classes += 1
        labels[i] = slots[key]
    return labels, first[:n_classes].copy()


@njit(cache=True, nogil=True)
def _label_by_hash(codes, lut, at, radix, exact):  # type: ignore[no-untyped-def]
    """Many keys: open addressing. Keys that aren't exact are hashes, and equality is checked by column."""
    n, m = codes.shape
    size = 16
    while size < 2 * n:
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.full(size, -1, np.int32)
    keys = np.empty(size, np.uint64)
    labels = np.empty(n, np.int32)
    first = np.empty(n, np.int32)
    n_classes = 0
    for i in range(n):
        key = np.uint64(0)
        for j in range(m):
            key = key * np.uint64(radix[j]) + np.uint64(lut[at[j] + codes[i, j]])
            if not exact:
                key = _mix(key)
        place = _mix(key) & mask
        while slots[place] >= 0 and not (
            keys[place] == key and (exact or _same(i, first[slots[place]], codes, lut, at))
        ):
            place = (place + np.uint64(1)) & mask
        if slots[place] < 0:
            slots[place] = n_classes
            keys[place] = key
            first[n_classes] = i
            n_classes += 1
        labels[i] = slots[place]
    return labels, first[:n_classes].copy()


@njit(cache=True, nogil=True)
def count(codes, rows, lut, at, radix, span):  # type: ignore[no-untyped-def]
    """The classes of a node: the values of an item that stands for each, and its number of rows."""
    labels, first = label(codes, lut, at, radix, span)
    totals, shown = np.zeros(len(first), np.int64), np.empty((len(first), codes.shape[1]), codes.dtype)
    for i in range(len(labels)):
        totals[labels[i]] += rows[i]
    for c in range(len(first)):
        for j in range(codes.shape[1]):
            shown[c, j] = codes[first[c], j]
    return shown, totals


@njit(cache=True, nogil=True)
def exceeds(codes, rows, end, lut, at, radix, exact, k, limit):  # type: ignore[no-untyped-def]
    """Whether more than `limit` rows are in classes of fewer than `k`, counted class by class until that is sure.

    Items come dealt into parts (`dealt`). A part has whole classes, so what fails in it fails in the table: a node that
    fails by far is decided by the first parts, and the keys of the others are never made.
    """
    m, longest = codes.shape[1], 0
    for p in range(len(end) - 1):
        longest = max(longest, end[p + 1] - end[p])
    keys = np.empty(longest, np.uint64)
    small = 0
    for p in range(len(end) - 1):
        start = end[p]
        for i in range(start, end[p + 1]):
            key = np.uint64(0)
            for j in range(m):
                key = key * np.uint64(radix[j]) + np.uint64(lut[at[j] + codes[i, j]])
                if not exact:
                    key = _mix(key)
            keys[i - start] = _mix(key)  # one to one
        small += _rows_in_small(keys, codes[start : end[p + 1]], rows[start : end[p + 1]], lut, at, exact, k)
        if small > limit:
            return True
    return False


@njit(cache=True, nogil=True)
def dealt(codes, rows, lut, at):  # type: ignore[no-untyped-def]
    """Items and their rows, dealt into parts by their classes at a node, and where each part begins.

    Parts are small enough to be counted in the cache, and hold whole classes of that node and of all finer ones. They
    are copied, so that counting reads memory in order.
    """
    n, parts = len(codes), _FEWEST_PARTS
    while parts * _PART < n and parts < _MOST_PARTS:
        parts *= 2
    part, place = np.empty(n, np.int32), np.zeros(parts + 1, np.int64)
    for i in range(n):
        key = np.uint64(0)
        for j in range(codes.shape[1]):
            key = _mix(key + np.uint64(lut[at[j] + codes[i, j]]) + np.uint64(1))
        part[i] = key & np.uint64(parts - 1)
        place[part[i] + 1] += 1
    for p in range(parts):
        place[p + 1] += place[p]
    end = place.copy()
    items, totals = np.empty_like(codes), np.empty_like(rows)
    for i in range(n):
        to = place[part[i]]
        place[part[i]] += 1
        totals[to] = rows[i]
        for j in range(codes.shape[1]):
            items[to, j] = codes[i, j]
    return items, totals, end


@njit(cache=True, nogil=True)
def _rows_in_small(keys, codes, rows, lut, at, exact, k):  # type: ignore[no-untyped-def]
    """Rows in classes of fewer than `k`, of items with mixed keys."""
    size = 16
    while size < 2 * len(rows):
        size *= 2
    mask = np.uint64(size - 1)
    first = np.full(size, -1, np.int32)
    taken = np.empty(size, np.uint64)
    totals = np.zeros(size, np.int64)
    for i in range(len(rows)):
        key = keys[i]
        place = (key >> np.uint64(20)) & mask
        while first[place] >= 0 and not (taken[place] == key and (exact or _same(i, first[place], codes, lut, at))):
            place = (place + np.uint64(1)) & mask
        first[place] = i
        taken[place] = key
        totals[place] += rows[i]
    small = 0
    for total in totals:
        if total < k:
            small += int(total)
    return small


@njit(cache=True, nogil=True)
def tally(codes, rows, good, excess, at):  # type: ignore[no-untyped-def]
    """Rows in failing classes, what suppressing them adds to the loss, and Σ rows² of all and of good classes."""
    suppressed, added, squares, kept = 0, 0.0, 0.0, 0.0
    for c in range(len(rows)):
        square = float(rows[c]) * float(rows[c])
        squares += square
        if good[c]:
            kept += square
            continue
        suppressed += rows[c]
        each = 0.0
        for j in range(codes.shape[1]):
            each += excess[at[j] + codes[c, j]]
        added += each * rows[c]
    return suppressed, added, squares, kept


@njit(cache=True, nogil=True)
def distinct_persons(labels, n_classes, combination, person, weight):  # type: ignore[no-untyped-def]
    """Persons in each class, from pairs (combination, person) sorted by person; each stands for `weight` persons."""
    sizes = np.zeros(n_classes, np.int64)
    last = np.full(n_classes, -1, np.int64)
    for i in range(len(person)):
        c = labels[combination[i]]
        if last[c] != person[i]:
            last[c] = person[i]
            sizes[c] += weight[i]
    return sizes
