"""Any grouper, with groups merged or rejected until their sensitive values are mixed enough: l-diversity, t-closeness.

The groups of another grouper are taken as they come. With ``failing="merge"`` a group that fails the conditions
(`shoal.condition`) is merged with another, pair by pair, those of least cost first; then all are looked at again, until
every group meets them. The other is the one whose centre is nearest, or, with `mixing` w, the one of the nearest few
with the least d / d_0 + w m: d the distance of the centres, d_0 the mean distance of a failing group to its nearest,
and m how far the sensitive values of both together would be from the table's (total variation, the mean over columns).
In the last resort all records are one group, so a condition that the whole table fails is an error. With
``failing="reject"`` its records are left out; closeness is then to the records that stay, so groups are rejected until
all that stay meet the conditions among themselves.

Promised: every group holds as many persons as the other grouper gives it, and meets the conditions. Not promised:
the smallest groups that do, or the fewest rejected; protection against somebody who knows how groups are chosen
(minimality attack). What a group tells about its members is bounded; who is who in it is the mask's to hide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray, numbered
from shoal.condition import Conditions
from shoal.condition.conditions import Sensitive
from shoal.conform import Prepared
from shoal.errors import GuaranteeError, ParameterError
from shoal.group.grouper import NO_HANDING, Grouper, Grouping, Handing, quasi_points, require_sizes
from shoal.group.points import Points
from shoal.method import ReportText, find
from shoal.params import Help, Range, build, check

__all__ = ["Mix", "Mixed", "OfAnother", "grouper_of", "merge"]

_FEW = 12  # nearest groups, the failing one itself among them, of which the partner is chosen by the mix
_BINS = 16  # of a sensitive column with more values


@dataclass(frozen=True, slots=True, kw_only=True)
class OfAnother(Grouper):
    """A grouper that starts from the groups of another one."""

    size_parameter: ClassVar[str] = "minimum"

    of: Annotated[str | Mapping[str, Any] | Grouper, Help("the other grouper, by its name")] = "k-member"
    minimum: Annotated[int | None, Range(low=2), Help("smallest group size; none: the other grouper's")] = None

    @property
    def k(self) -> int:  # type: ignore[override]
        """How many each group holds at least: the other grouper's k."""
        return self.other.k

    @property
    def other(self) -> Grouper:
        """The grouper that does the grouping."""
        return grouper_of(self.of, self, self.minimum)

    @property
    def uses_response(self) -> bool:
        """Whether the other grouper looks at sensitive numbers."""
        return self.other.uses_response


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed(OfAnother):
    """Group by another grouper, and merge groups until each is diverse, or close to the table.

    Parameters
    ----------
    of
        The other grouper: a grouper, its name, or its words such as ``{"method": "crest", "k": 5}``.
    minimum
        Smallest group size, given to the other grouper; None: its own.
    diversity
        What each group must meet in every sensitive column: ``3`` (different values), ``"entropy:2.5"``,
        ``"recursive:3,2"``; None asks for nothing. Raising it makes groups larger.
    closeness
        How far a group's sensitive values may be from the table's: ``0.2``, ``"equal:0.2"``, ``"ordered:0.2"``.
        Lowering it makes groups larger.
    failing
        What happens to a group that fails: ``"merge"`` it with the nearest, or ``"reject"`` it, so that its records
        are left out. Rejecting keeps the other groups as small as they were.
    mixing
        How much the sensitive values of both together count beside nearness where a partner is chosen. Raising it makes
        fewer and closer-to-the-table groups do, of people who are less alike. 0: nearness alone.
    suppression
        The largest share of records that may be left out; more is an error.

    Notes
    -----
    A missing value is a value of its own. Where the schema names a unit, a person counts once. Survey weights are not
    used. Cost: that of the other grouper, and n log n for each round of merging, of which there are few.

    References
    ----------
    Machanavajjhala et al. 2007; Li, Li and Venkatasubramanian 2007; Soria-Comas et al. 2015 (merging after
    microaggregation).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 31, 32, 61, 62, 71, 72], "ill": ["no", "no", "no", "yes"] * 2})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    >>> labels = shoal.Mixed(of=shoal.MDAV(k=2), diversity=2).assign(table, schema, seed=1)
    >>> len(set(labels)), bool(labels[0] == labels[3])
    (2, True)
    """

    title = "any grouper, with mixed groups"
    summary = (
        "Takes the groups of another grouper and merges or rejects those whose sensitive values are not mixed enough."
    )
    promise = "Every group holds at least k persons and meets the l-diversity or t-closeness asked for."
    report_text = ReportText(
        done=(
            "Each person was put into a group of at least {k} people who are near each other; groups whose sensitive "
            "values were not mixed enough were merged with the nearest, or left out."
        ),
    )
    rank = 8

    diversity: Annotated[int | str | None, Help("l-diversity of every sensitive column in each group")] = None
    closeness: Annotated[float | str | None, Help("t-closeness of every sensitive column in each group")] = None
    failing: Annotated[Literal["merge", "reject"], Help("what happens to a group that fails")] = "merge"
    mixing: Annotated[float, Range(low=0), Help("weight of the sensitive mix beside nearness, for merging")] = 3.0
    suppression: Annotated[float, Range(low=0, high=1), Help("largest share of records left out by reject")] = 0.05

    @property
    def leaves_out(self) -> bool:
        """Whether failing groups are rejected."""
        return self.failing == "reject"

    def group(self, prepared: Prepared, seed: int, handing: Handing = NO_HANDING) -> Grouping:
        """Group a prepared table."""
        check(self)
        other = self.other
        first = other.group(prepared, seed, handing)
        if self.diversity is None and self.closeness is None and not other.leaves_small:
            return first
        conditions = Conditions.of(prepared, k=other.k, diversity=self.diversity, closeness=self.closeness)
        if self.leaves_out:
            return self._without_failing(first, conditions)
        conditions.check_whole("Mixed", prepared.n)
        mix = Mix.of(conditions.sensitive, self.mixing) if self.mixing else None
        labels = merge(first.labels, quasi_points(prepared).dense(), conditions.meets, mix)
        require_sizes(self, labels[np.unique(prepared.units(), return_index=True)[1]])
        merged = first.n_groups - int(labels.max()) - 1
        return Grouping(labels=labels, notes={**first.notes, "groups merged": merged})

    def _without_failing(self, first: Grouping, conditions: Conditions) -> Grouping:
        """The groups that meet the conditions, numbered anew; the records of the others have the label −1."""
        good = conditions.releasable_classes(first.labels, first.n_groups)
        number = np.where(good, np.cumsum(good) - 1, -1)
        labels: IntArray = number[first.labels]
        share = float((labels < 0).mean())
        if share > self.suppression or not good.any():
            raise GuaranteeError(
                "Mixed",
                f"may leave out at most {self.suppression:.4g} of the records",
                got=f"{share:.4g} in groups that fail the conditions",
                hint="Raise suppression, ask for less diversity, or merge failing groups (failing=merge).",
            )
        return Grouping(labels=labels, notes={**first.notes, "groups rejected": int((~good).sum())})

    def _points(self, prepared: Prepared) -> Points:
        return quasi_points(prepared)

    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        raise NotImplementedError("Mixed looks at sensitive values: see group")


def grouper_of(given: str | Mapping[str, Any] | Grouper, owner: Grouper, size: int | None) -> Grouper:
    """The grouper that a name, words or a grouper stand for, where it is a parameter of another one.

    `size` is the smallest group that is asked of it; None: its own.
    """
    grouper = given if isinstance(given, Grouper) else _built(given, owner)
    return grouper.clone().set_params(**({} if size is None else {grouper.size_parameter: size}))


def _built(given: str | Mapping[str, Any], owner: Grouper) -> Grouper:
    words = _words(given) if isinstance(given, str) else dict(given)
    name = str(words.pop("method", ""))
    cls = find("group", name)
    if cls is None or cls is type(owner):
        owned = type(owner).__name__
        raise ParameterError(owned, "of must name another grouper", got=repr(name)[:40], parameter="of")
    grouper: Grouper = build(cls, words)
    return grouper


def _words(text: str) -> dict[str, Any]:
    """A name, or words as on the command line: ``method=crest/k=5``."""
    pairs = [part.partition("=") for part in text.split("/")]
    return {name: value for name, _, value in pairs} if "=" in text else {"method": text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """How mixed groups are: the bins of all sensitive columns beside each other, and the weight that they have."""

    bins: tuple[IntArray, ...]
    weight: float

    @classmethod
    def of(cls, columns: Sequence[Sensitive], weight: float) -> Mix:
        """Columns of many values are cut into `_BINS` runs of ranks."""
        return cls(bins=tuple(_binned(column.values, column.n_values) for column in columns), weight=weight)

    def excess(self, labels: IntArray, n: int) -> FloatArray:
        """By how many members each group has more of a bin than its share of the table, one column per bin."""
        sizes = np.bincount(labels, minlength=n)
        parts = []
        for bins in self.bins:
            overall = np.bincount(bins)
            counts = np.bincount(labels * len(overall) + bins, minlength=n * len(overall)).reshape(n, -1)
            parts.append(counts - np.outer(sizes, overall / len(bins)))
        return np.hstack(parts) / (2 * len(parts))


def _binned(values: IntArray, n: int) -> IntArray:
    if n <= _BINS:
        return values
    before = np.concatenate([[0], np.cumsum(np.bincount(values, minlength=n))[:-1]])
    bins: IntArray = (before * _BINS // len(values))[values]
    return numbered(bins)[1]


def merge(
    labels: IntArray, points: FloatArray, meets: Callable[[IntArray, int], BoolArray], mix: Mix | None = None
) -> IntArray:
    """Merge groups that fail with their nearest, until all meet the conditions; labels 0..c-1."""
    labels = numbered(labels)[1]
    while True:
        n = int(labels.max()) + 1
        failing = np.flatnonzero(~meets(labels, n))
        if n == 1 or not len(failing):
            return labels
        other, cost = _partners(failing, labels, points, n, mix)
        into = _joined(failing, other, cost, n)
        labels = numbered(into[labels])[1]


def _partners(
    failing: IntArray, labels: IntArray, points: FloatArray, n: int, mix: Mix | None
) -> tuple[IntArray, FloatArray]:
    """The group that each failing one would join, and what that costs."""
    from scipy.spatial import cKDTree

    centres = _centres(labels, points, n)
    distance, near = cKDTree(centres).query(centres[failing], k=min(n, 2 if mix is None else _FEW))
    cost = np.where(near == failing[:, None], np.inf, distance)
    if mix is not None:
        excess, sizes = mix.excess(labels, n), np.bincount(labels, minlength=n)
        usual = float(np.mean(np.min(cost, axis=1))) or 1.0
        apart = np.abs(excess[failing][:, None, :] + excess[near]).sum(axis=2)
        cost = cost / usual + mix.weight * apart / (sizes[failing][:, None] + sizes[near])
    best = np.argmin(cost, axis=1)
    every = np.arange(len(failing))
    return near[every, best], cost[every, best]


def _centres(labels: IntArray, points: FloatArray, n: int) -> FloatArray:
    sizes = np.bincount(labels, minlength=n)
    return np.column_stack([np.bincount(labels, weights=column, minlength=n) / sizes for column in points.T])


def _joined(failing: IntArray, other: IntArray, cost: FloatArray, n: int) -> IntArray:
    """Which group each joins: those that fail their partner, least cost first, each group once in a round."""
    into, free = np.arange(n), np.ones(n, dtype=np.bool_)
    for i in np.lexsort((failing, cost)).tolist():
        group, partner = int(failing[i]), int(other[i])
        if free[group] and free[partner]:
            free[[group, partner]] = False
            into[group] = partner
    return into
