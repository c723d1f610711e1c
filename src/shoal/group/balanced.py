"""Balanced groups: people who agree in what columns tell of each other, exchanged until nothing else goes together.

A mask that shuffles each column by itself inside groups (`shoal.mask.permute`) loses of two columns exactly what goes
together *inside* groups. So groups are made of people who agree in what relations predict
(`shoal.group.halving`), and then people change places between near groups until the sums of products inside groups are
near a secret aim around 0 (`shoal.group.balance`): means, covariances and regressions of the release are then right in
the mean, whatever k is. The features that are balanced rest on at least 20 people (`shoal.group.features`).

Promised: every group holds at least k persons. Not promised: groups that are near in quasi-identifiers; that members of
a group differ in what is sensitive. What the groups are comes from the secret key, not from the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from shoal.arrays import IntArray
from shoal.conform import Prepared
from shoal.encode import Coding, readable
from shoal.equivalence import ranks
from shoal.errors import GuaranteeError, ParameterError, SchemaError
from shoal.frame import series
from shoal.group.balance import Balance, balanced
from shoal.group.features import FEWEST, Content, Features, features_of, guarded
from shoal.group.grouper import NO_HANDING, Grouper, Grouping, Handing, quasi_points, unit_points
from shoal.group.halving import coordinates, halved
from shoal.group.points import Points
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range, check
from shoal.rng import fresh_key, secret

__all__ = ["Balanced"]

_FEWEST_GROUPS, _FEW_GROUPS = 10, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced(Grouper):
    """Group people who agree in what columns tell of each other, and balance the groups.

    Parameters
    ----------
    k
        Smallest group size. Raising it lowers risk, and costs interactions and, in small tables, regressions.
    strata
        Columns that groups don't cross, such as the arms of a trial: what differs between their levels is kept, and
        whoever knows a person's group knows them.
    aim
        How far from 0 the secret aim of the sums inside groups is, in chance units: the root of the number of people.
        Raising it hides more from somebody who knows nearly all pairings, and costs precision; 0 hides nothing of them.

    Notes
    -----
    All columns that leave take part, whatever their role. Missing values are a level of their own; survey weights are a
    column like others. Fewer than ten groups are refused; below fifty, more of what goes together is lost. Cost:
    n log n in people for the halving, then n p² for p features (about seven a column): 100,000 rows of 12 columns take
    some seconds.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(600, seed=1)
    >>> schema = shoal.datasets.health_survey_schema()
    >>> labels = shoal.Balanced(k=11).assign(table, schema)
    >>> len(set(labels)), len(labels) // 11
    (54, 54)
    """

    title = "balanced groups"
    summary = "Groups people who agree in what columns tell of each other, balanced so that shuffling loses little."
    promise = "Every group holds at least k persons."
    report_text = ReportText(
        done=(
            "Each person was put into a group of at least {k} people, and people changed places between groups until "
            "what goes together inside groups cancels out."
        ),
    )
    rank = 5
    needs_all_columns = True

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 11
    strata: Annotated[Sequence[str], Help("columns that groups don't cross, name/name"), ColumnNames()] = ()
    aim: Annotated[float, Range(low=0, high=3), Help("distance of the secret aim from 0, in chance units")] = 0.3

    @property
    def fixed(self) -> tuple[str, ...]:
        """The strata."""
        return tuple(self.strata)

    def group(self, prepared: Prepared, seed: int, handing: Handing = NO_HANDING) -> Grouping:
        """Group a prepared table."""
        check(self)
        units = prepared.units()
        first = np.unique(units, return_index=True)[1]
        self._check_size(len(first))
        self._check_groups(len(first))
        strata = self._strata(prepared, first)
        features = self._features(prepared, units, handing)
        key = handing.key or fresh_key()
        points = coordinates(features)
        cells = halved(points, self.k, secret(key, "halving"), strata)
        found = balanced(features, points, cells, aim=self.aim, rng=secret(key, "balance"), strata=strata)
        labels = found.cells.labels()
        return Grouping(labels=labels[units], notes=self._notes(features, found, len(first)))

    def _check_groups(self, n_persons: int) -> None:
        if n_persons // self.k < _FEWEST_GROUPS:
            most = n_persons // _FEWEST_GROUPS
            hint = f"Set k to at most {most}" if most >= 2 else "Add people"
            raise GuaranteeError(
                "Balanced",
                f"needs people for at least {_FEWEST_GROUPS} groups of k = {self.k}",
                got=f"{n_persons} persons",
                hint=f"{hint}, or choose another grouper.",
            )

    def _strata(self, prepared: Prepared, first: IntArray) -> IntArray | None:
        """The stratum of each person; every one has at least k."""
        if not self.strata:
            return None
        unknown = [name for name in self.strata if name not in prepared.schema.released]
        if unknown:
            rule = "strata must be columns that leave"
            raise ParameterError("Balanced", rule, got=f"'{unknown[0]}'", parameter="strata")
        codes = [ranks(series(prepared.frame, name)).values[first] for name in self.strata]
        strata = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        smallest = int(np.bincount(strata).min())
        if smallest < self.k:
            raise GuaranteeError(
                "Balanced",
                f"every stratum must hold at least k = {self.k} persons",
                got=f"{smallest} in the smallest",
                hint="Leave a column out of strata, put levels together, or lower k.",
            )
        return strata

    def _features(self, prepared: Prepared, units: IntArray, handing: Handing) -> Features:
        released = prepared.schema.released
        names = [column.name for column in released.columns if column.name in prepared.frame.columns]
        if len(names) < 2:
            raise SchemaError("Balanced", "needs at least two columns that leave", got=str(len(names)))
        apart = {name for block in handing.blocks for name in block}
        extra = [name for name in names if name not in apart and (not apart or name in prepared.schema.quasi)]
        blocks = [*handing.blocks, *((name,) for name in extra)]
        codings = readable(prepared, names)
        contents = [[_content(prepared, codings[name]) for name in block if name in codings] for block in blocks]
        found = features_of(contents, prepared.n)
        found = found if len(units) == int(units.max()) + 1 else _of_persons(found, units)
        if not len(found.block):
            raise GuaranteeError(
                "Balanced",
                f"needs a column in which at least {FEWEST} people differ from all others, and has none",
                hint="Add people, put rare levels together, or choose another grouper.",
            )
        return found

    def _notes(self, features: Features, found: Balance, n_persons: int) -> Mapping[str, Any]:
        n_groups = len(found.cells.offsets) - 1
        notes = {
            "groups": n_groups,
            "features balanced": len(features.block),
            "imbalance before, in chance units": f"{found.before:.2g}",
            "off its aim after": f"{found.distance(n_persons):.2g}",
        }
        if n_groups < _FEW_GROUPS:
            most = n_persons // _FEW_GROUPS
            remedy = f"set k to at most {most}" if most >= 2 else "add people"
            notes["fewer than 50 groups"] = f"relations between columns are kept less well; {remedy}"
        return notes

    def _points(self, prepared: Prepared) -> Points:
        return quasi_points(prepared)

    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        raise NotImplementedError("Balanced looks at all columns: see group")


def _content(prepared: Prepared, coding: Coding) -> Content:
    numbers, levels = coding.numbers_and_levels(series(prepared.frame, coding.name))
    return Content(numbers=numbers, levels=levels)


def _of_persons(features: Features, units: IntArray) -> Features:
    """Features of persons with several rows: their means."""
    means = unit_points(features.values, units)
    made = [guarded(np.ascontiguousarray(column)) for column in means.T]
    kept = [j for j, found in enumerate(made) if found is not None]
    values = [found for found in made if found is not None]
    return Features(
        values=np.ascontiguousarray(np.column_stack([v for v, _ in values])) if values else np.empty((len(means), 0)),
        block=features.block[kept],
        people=np.array([people for _, people in values]),
    )
