"""The nearest rows so far, as a heap: the worst of them is at hand, to be replaced by a better one.

A row is better if its distance is smaller, or equal and its number lower.
"""

from __future__ import annotations

from numba import njit

from shoal.arrays import FloatArray, IntArray

__all__ = ["offer"]


@njit(cache=True, nogil=True)
def offer(near: FloatArray, rows: IntArray, size: int, distance: float, row: int) -> bool:
    """Offer a row to a heap that holds `size` of `len(near)`; return whether it was taken."""
    if size < len(near):
        _sift_up(near, rows, size, distance, row)
    elif _is_worse(near[0], rows[0], distance, row):
        _sift_down(near, rows, distance, row)
    else:
        return False
    return True


@njit(cache=True, nogil=True)
def _is_worse(distance: float, row: int, than: float, than_row: int) -> bool:
    return distance > than or (distance == than and row > than_row)


@njit(cache=True, nogil=True)
def _sift_up(near: FloatArray, rows: IntArray, at: int, distance: float, row: int) -> None:
    while at > 0:
        above = (at - 1) // 2
        if not _is_worse(distance, row, near[above], rows[above]):
            break
        near[at], rows[at] = near[above], rows[above]
        at = above
    near[at], rows[at] = distance, row


@njit(cache=True, nogil=True)
def _sift_down(near: FloatArray, rows: IntArray, distance: float, row: int) -> None:
    at, below = 0, 1
    while below < len(near):
        if below + 1 < len(near) and _is_worse(near[below + 1], rows[below + 1], near[below], rows[below]):
            below += 1
        if not _is_worse(near[below], rows[below], distance, row):
            break
        near[at], rows[at] = near[below], rows[below]
        at, below = below, 2 * below + 1
    near[at], rows[at] = distance, row
