"""People found among synthetic rows, beyond chance.

Synthetic rows are nobody's, so nobody's row can be found. What can happen is that a combination of quasi-identifiers
that one person alone has comes out again (Raab, Nowok and Dibben call these replicated uniques): by memory of that
person, or because such combinations come out anyway. To tell the two apart, each such person is given *phantoms*: the
same combination with the value of one column drawn from the table, kept if nobody has the result. With U the share of
records that are unique,

    found = U · max(0, share of uniques that came out − share of phantoms that came out).

Phantoms are a little less likely combinations than those that somebody has, so chance is understated and risk
overstated. Where no phantom can be made, all is counted as found.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.equivalence import equal_rows
from shoal.pair import Pair
from shoal.rng import stream

__all__ = ["found_beyond_chance", "replicated_uniques"]

_EACH = 4  # phantoms tried for each unique record


def replicated_uniques(pair: Pair) -> float:
    """Share of the original's records whose person alone has their quasi-identifiers, and these are in the release."""
    theirs, shown, n = equal_rows(pair.original_codes, _single_values(pair))
    return float((_lone(theirs, pair.original.units(), n) & _there(shown, n))[theirs].mean())


def found_beyond_chance(pair: Pair, seed: int) -> float:
    """Share of the original's records that are unique and came out more often than phantoms did."""
    theirs, _, n = equal_rows(pair.original_codes, _single_values(pair))
    alone = np.flatnonzero(_lone(theirs, pair.original.units(), n)[theirs])
    if len(alone) == 0:
        return 0.0
    phantoms = _phantoms(pair.original_codes, np.repeat(alone, _EACH), stream(seed, "phantoms"))
    return max(0.0, replicated_uniques(pair) - len(alone) / len(theirs) * _chance(pair, phantoms))


def _phantoms(codes: FloatArray, rows: IntArray, rng: Generator) -> FloatArray:
    """These rows with the value of one column each drawn from the table."""
    changed = codes[rows]
    column = rng.integers(codes.shape[1], size=len(rows))
    changed[np.arange(len(rows)), column] = codes[rng.integers(len(codes), size=len(rows)), column]
    return changed


def _chance(pair: Pair, phantoms: FloatArray) -> float:
    """Share of the phantoms that nobody has which came out; 0 where everybody's place is taken."""
    n_people = len(pair.original_codes)
    both, shown, n = equal_rows(np.concatenate([pair.original_codes, phantoms]), _single_values(pair))
    nobodys = both[n_people:][~_there(both[:n_people], n)[both[n_people:]]]
    return float(_there(shown, n)[nobodys].mean()) if len(nobodys) else 0.0


def _single_values(pair: Pair) -> FloatArray:
    """The release's codes; an interval or a set is no copy of a value."""
    return pair.released_codes if pair.exact is None else np.where(pair.exact, pair.released_codes, np.nan)


def _there(points: IntArray, n: int) -> BoolArray:
    """Which of `n` points occur."""
    found: BoolArray = np.bincount(points, minlength=n) > 0
    return found


def _lone(points: IntArray, person: IntArray, n: int) -> BoolArray:
    """Which of `n` points are one person's."""
    n_persons = int(person.max()) + 1
    alone: BoolArray = np.bincount(np.unique(points * n_persons + person) // n_persons, minlength=n) == 1
    return alone
