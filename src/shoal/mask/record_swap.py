"""Targeted record swapping, as the census offices do it: households that stand out change places with others.

The columns of a hierarchy (region, district, ...), from the coarsest to the finest, say where a household lives. For a
member, count_h is the number of persons in the same area of level h who have the same other quasi-identifiers; the
household's risk at h is the largest 1/count_h over its members, and its level is the first h with a count below k. From
the top level down, every household of a level changes place with one from another area of that level that has the same
size and agrees on the columns `similar`, or, where there is none, on the first profile of `otherwise` that finds one;
donors are drawn with probabilities in proportion to their risk. At the finest level further pairs are drawn until the
share `rate` of the households has moved. No household moves twice, and all columns of the hierarchy move together.

Promised: the number of households of each size, and of each combination of the columns that all profiles have, in each
area is exactly kept, and everything but the place is true. Not promised: k-anonymity (moved households may still stand
out where they are) or any bound on re-identification: that is measured. A household at risk for which no donor is left
stays: it is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.equivalence import Codes, combine, persons
from shoal.errors import ColumnError, ParameterError
from shoal.frame import series
from shoal.mask.aware import AwareMask, Masking, by_content, chosen_columns
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range, check

__all__ = ["Households", "RecordSwap", "swap_pairs"]

_SIZE = "size"
_GLANCE = 256  # donors looked at before all of a profile are


@dataclass(frozen=True, slots=True, kw_only=True)
class Households:
    """What swapping looks at, household by household.

    Parameters
    ----------
    areas
        The area of each household at each level of the hierarchy, the coarsest first.
    profiles
        A column for each profile, tried in turn: households that are equal in it may change places.
    risk, level
        Risk at the finest level, and the first level at which a household is at risk; the number of levels where none.
    """

    areas: IntArray
    profiles: IntArray
    risk: FloatArray
    level: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSwap(AwareMask):
    """Swap the place of living of households that stand out.

    Parameters
    ----------
    hierarchy
        The quasi-identifiers that say where a household lives, the coarsest first; None: the nominal one with the most
        levels, or the last. In words: ``region/district``.
    similar
        Quasi-identifiers that both households must agree on, besides their size; None: none.
    otherwise
        Further profiles, tried in turn where no donor agrees on the one before: names joined by +, as in ``("sex+age",
        "sex", "size")``; ``size`` asks for the size alone. In words ``sex+age/sex/size``. More households find a donor.
    household
        The column that identifies households; None: the household of the schema, else its unit, else each row is a
        household.
    k
        A household is at risk where fewer than k persons share a member's values in its area.
    rate
        Share of the households that move at least. Raising it hides more.

    Notes
    -----
    Groups and survey weights play no part. Cost: n log n, and linear in the number of households that move.

    References
    ----------
    Shlomo, Tudor and Groom 2010; de Wolf et al., recordSwapping (European Statistical System).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"region": ["n", "n", "s", "s"] * 5, "age": [30, 41, 41, 30] * 5})
    >>> schema = shoal.Schema.of(quasi=["region", "age"])
    >>> mask = shoal.RecordSwap(hierarchy=["region"], rate=0.5)
    >>> release = shoal.anonymize(table, schema, group=shoal.MDAV(k=5), mask=mask, seed=1)
    >>> sorted(release.table["region"]) == sorted(table["region"])
    True
    """

    title = "record swapping"
    summary = "Households that stand out swap their place of residence with others, within a hierarchy of areas."
    promise = "Household counts by area are preserved exactly; re-identification is measured, not bounded."
    report_text = ReportText(
        done="Places of residence were swapped between households, starting with those that stand out.",
        writes="some were swapped with another household's",
        keeps="How many households, by size, each area has.",
    )
    rank = 22
    perturbs = True

    hierarchy: Annotated[Sequence[str] | None, Help("columns of areas, coarsest first, name/name"), ColumnNames()] = (
        None
    )
    similar: Annotated[Sequence[str] | None, Help("columns that must agree, name/name"), ColumnNames()] = None
    otherwise: Annotated[
        Sequence[str] | None,
        Help("profiles tried in turn where no donor agrees on the one before, name+name/name/size"),
    ] = None
    household: Annotated[str | None, Help("column that identifies households")] = None
    k: Annotated[int, Range(low=0), Help("people with fewer than this many alike in an area are at risk")] = 3
    rate: Annotated[float, Range(low=0, high=1), Help("smallest share of households that move")] = 0.05

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Swap the places."""
        check(self)
        places = self._places(state)
        order = by_content(state)
        home = self._homes(state, order)
        houses = self._described(state, order, home, places)
        pairs, stranded = swap_pairs(houses, self.rate, rng)
        codes = state.codes.copy()
        codes[order[:, None], places] = _moved(codes[order[:, None], places], home, pairs)
        return state.holding(
            codes,
            mask="record swap",
            columns=len(places),
            households=home.n,
            moved_share=2 * len(pairs) / home.n,
            at_risk_share=float((houses.level < len(places)).mean()),
            without_donor=stranded,
        )

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Nothing is proved about who can be found."""
        return (_MEASURED,)

    def _places(self, state: Masking) -> list[int]:
        if self.hierarchy is not None:
            names = chosen_columns("RecordSwap", self.hierarchy, state)
        else:
            nominal = [c for c in state.encoder.codings if c.kind == "nominal"]
            names = [max(nominal, key=lambda c: c.n_levels).name if nominal else state.encoder.names[-1]]
        return [state.encoder.names.index(name) for name in names]

    def _profiles(self, state: Masking) -> list[list[str]]:
        """The columns of each profile, in the order in which they are tried."""
        asked = [[] if one == _SIZE else one.split("+") for one in self.otherwise or ()]
        chosen = [list(self.similar or ()), *asked]
        return [chosen_columns("RecordSwap", names, state) if names else [] for names in chosen]

    def _homes(self, state: Masking, order: IntArray) -> Codes:
        schema = state.prepared.schema
        name = self.household or schema.household or schema.unit
        if name is None:
            return Codes(values=np.arange(len(order)), n=len(order))
        if name not in state.prepared.frame.columns:
            raise ParameterError(
                "RecordSwap", f"household must be a column of the table; '{name}' is not", parameter="household"
            )
        found = combine([persons(series(state.prepared.frame, name))]).values[order]
        _, first, place = np.unique(found, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first, kind="stable")] = np.arange(len(first))
        return Codes(values=rank[place.reshape(-1)], n=len(first))

    def _described(self, state: Masking, order: IntArray, home: Codes, places: list[int]) -> Households:
        codes = state.codes[order]
        columns = [_numbered(codes[:, j]) for j in range(codes.shape[1])]
        _check_together(home, [columns[j] for j in places], state, places)
        traits = [column for j, column in enumerate(columns) if j not in places]
        areas = [combine([columns[j] for j in places[: h + 1]]) for h in range(len(places))]
        counts = np.column_stack([_sizes(combine([area, *traits])) for area in areas])
        least = np.full((home.n, len(places)), np.iinfo(np.int64).max)
        np.minimum.at(least, home.values, counts)
        at_risk = least < self.k
        first = _first_rows(home)
        size = Codes(values=np.bincount(home.values, minlength=home.n), n=len(order) + 1)
        alike = {
            name: Codes(values=columns[j].values[first], n=len(order)) for j, name in enumerate(state.encoder.names)
        }
        profiles = [combine([size, *(alike[name] for name in names)]).values for names in self._profiles(state)]
        return Households(
            areas=np.column_stack([area.values[first] for area in areas]),
            profiles=np.column_stack(profiles),
            risk=1.0 / least[:, -1],
            level=np.where(at_risk.any(axis=1), at_risk.argmax(axis=1), len(places)),
        )


_MEASURED = (
    "Record swapping keeps everything but the place true: a household that moved may still stand out, and one that is "
    "recognised is recognised with all else. What is left was measured, not proved."
)


def swap_pairs(houses: Households, rate: float, rng: Generator) -> tuple[list[tuple[int, int]], int]:
    """Pairs of households that change places, and how many at risk found no partner."""
    n, n_levels = houses.areas.shape
    free = np.ones(n, dtype=np.bool_)
    # A weighted random order: drawing without replacement with probabilities in proportion to risk.
    keen = np.argsort(rng.exponential(size=n) / houses.risk, kind="stable")
    queues = tuple(_by_profile(profile, keen) for profile in houses.profiles.T)
    donors = _Donors(houses=houses, queues=queues, free=free)
    pairs: list[tuple[int, int]] = []
    stranded = 0
    for h in range(n_levels):
        for house in keen[houses.level[keen] == h]:
            if free[house]:
                found = donors.take(int(house), h)
                stranded += found is None
                pairs += [] if found is None else [(int(house), found)]
    expected = rate * n / 2
    goal = int(expected) + int(rng.random() < expected - int(expected))
    for house in keen:
        if len(pairs) >= goal:
            break
        found = donors.take(int(house), n_levels - 1) if free[house] else None
        pairs += [] if found is None else [(int(house), found)]
    return pairs, stranded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Donors:
    """Households that are free to move, by profile, the likeliest donor first; `barren` are areas without a donor."""

    houses: Households
    queues: tuple[dict[int, IntArray], ...]
    free: BoolArray
    barren: set[tuple[int, int, int, int]] = field(default_factory=set)

    def take(self, house: int, h: int) -> int | None:
        """A free household outside the area of level `h`, by the first profile that has one; both are taken."""
        for p in range(len(self.queues)):
            donor = self._found(house, h, p)
            if donor is not None:
                self.free[[house, donor]] = False
                self._tidy(p, int(self.houses.profiles[house, p]))
                return donor
        return None

    def _found(self, house: int, h: int, p: int) -> int | None:
        """The first free household of the same p-th profile outside the area."""
        profile, area = int(self.houses.profiles[house, p]), int(self.houses.areas[house, h])
        if (p, profile, h, area) in self.barren:
            return None
        for few in (_GLANCE, None):
            queue = self.queues[p][profile][:few]
            fits = self.free[queue] & (self.houses.areas[queue, h] != area)
            if fits.any():
                return int(queue[fits.argmax()])
        self.barren.add((p, profile, h, area))  # the free ones only become fewer
        return None

    def _tidy(self, p: int, profile: int) -> None:
        """Forget those who have moved, once they are most of the first in the queue."""
        queue = self.queues[p][profile]
        if 2 * int(self.free[queue[:_GLANCE]].sum()) < min(_GLANCE, len(queue)):
            self.queues[p][profile] = queue[self.free[queue]]


def _by_profile(profile: IntArray, keen: IntArray) -> dict[int, IntArray]:
    """The households of each profile, the likeliest donor first."""
    order = keen[np.argsort(profile[keen], kind="stable")]
    values, starts = np.unique(profile[order], return_index=True)
    return {int(value): part for value, part in zip(values, np.split(order, starts[1:]), strict=True)}


def _moved(values: FloatArray, home: Codes, pairs: list[tuple[int, int]]) -> FloatArray:
    """The places of all rows, with those of the paired households exchanged."""
    first = _first_rows(home)
    source = np.arange(home.n)
    for a, b in pairs:
        source[a], source[b] = b, a
    moved = source[home.values] != home.values
    out = values.copy()
    out[moved] = values[first[source[home.values[moved]]]]
    return out


def _first_rows(home: Codes) -> IntArray:
    first = np.empty(home.n, dtype=np.int64)
    first[home.values[::-1]] = np.arange(len(home.values) - 1, -1, -1)
    return first


def _numbered(values: FloatArray) -> Codes:
    distinct, place = np.unique(values, return_inverse=True)
    return Codes(values=place.reshape(-1).astype(np.int64), n=len(distinct))


def _sizes(key: Codes) -> IntArray:
    return np.bincount(key.values, minlength=key.n)[key.values]


def _check_together(home: Codes, columns: list[Codes], state: Masking, places: list[int]) -> None:
    for column, j in zip(columns, places, strict=True):
        apart = int((column.values != column.values[_first_rows(home)][home.values]).sum())
        if apart:
            raise ColumnError(
                state.encoder.names[j],
                "must be the same for all rows of a household to swap places",
                got=f"{apart} rows that differ",
            )
