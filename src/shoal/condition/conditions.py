"""What every class of a release must meet: k persons, and sensitive values that are mixed enough.

A class is a set of records with equal written quasi-identifiers. It meets the conditions if

- it holds at least k persons (distinct units where the schema names a unit column, else records);
- every sensitive column is l-diverse in it: ``3`` or ``"distinct:3"`` (three different values), ``"entropy:2.5"``
  (exp of the entropy at least 2.5), ``"recursive:3,2"`` (the most frequent value occurs less than c = 3 times as often
  as all values from the l = 2nd most frequent on together);
- every sensitive column is t-close in it: ``0.2`` (the distance follows the kind of the column), ``"equal:0.2"`` (total
  variation) or ``"ordered:0.2"`` (earth mover's distance over ranks).

Definitions are those of `shoal.equivalence`, so `shoal.risk.classes` finds the same. **Closeness compares a class with
the released records**, not with the original table: that is what a reviewer of the release can check. Where records are
left out, the released mix changes with them; `Conditions.releasable_classes` leaves out classes until all that are left
meet the conditions among themselves.

What merging classes does to a condition decides what a search may skip. A class with k persons or l different values
keeps them whatever it is merged with, so k and distinct l are *monotone*: the records to be left out only get fewer.
Entropy, recursive diversity and closeness can be lost by merging with a class that fails. They survive where every
merged class meets them (entropy is concave; r_1 and the sum of the l − 1 largest counts are subadditive; both distances
are convex with the table's mix fixed), thus only where no record is left out, and only while a class counts records:
persons with rows in two classes are counted once in the merged one, and the argument breaks.

A table of distinct combinations in the place of the rows that have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.condition.overall import OverallMix
from shoal.condition.requirements import Closeness, Diversity, Promise, closeness_promise, diversity_promise
from shoal.conform import Prepared, levels_like
from shoal.equivalence import Classes, Codes, Contents, codes, combine, contents_of, ranks
from shoal.errors import GuaranteeError, ParameterError, SchemaError
from shoal.frame import series

__all__ = ["Closeness", "Conditions", "Counted", "Diversity", "Promise", "Sensitive", "smallest_in_subsets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitive:
    """A sensitive column as a kernel sees it.

    Parameters
    ----------
    name
        The column.
    values, n_values
        Its values as numbers from 0 to `n_values` − 1: dense ranks where `ordered`, missing last; all of them occur.
    ordered
        Whether closeness is the earth mover's distance over these ranks rather than total variation.
    overall
        Of a part of a table, how many records of the whole table have each value; None where these are all.
    """

    name: str
    values: IntArray
    n_values: int
    ordered: bool
    overall: IntArray | None = None

    def contents(self, found: Classes, rows: IntArray) -> Contents:
        """The values in each class of `rows`."""
        if self.overall is None:
            return contents_of(found, _again_dense(self, rows))
        return replace(contents_of(found, Codes(values=self.values[rows], n=self.n_values)), overall=self.overall)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What every class must meet, with the arrays that it takes to check it.

    Parameters
    ----------
    k
        Smallest number of persons in a class.
    persons
        The person of each row, or None where each row is a person.
    diversity, closeness
        What the sensitive columns must meet, or None.
    sensitive
        The sensitive columns; empty where neither diversity nor closeness is asked for.
    subsets
        Largest size of the subsets of quasi-identifiers whose classes are counted as well, or None.
    weights, item
        Of a table of combinations: how many records each row stands for, or how many persons its person does; and which
        combination each row is, where a combination has a row for each set of persons that has it.

    Examples
    --------
    >>> import numpy as np, polars as pl, shoal
    >>> from shoal.conform import prepare
    >>> table = pl.DataFrame({"age": [30, 30, 41, 41, 41], "ill": ["no", "yes", "no", "no", "no"]})
    >>> prepared = prepare(table, shoal.Schema.of(quasi=["age"], sensitive=["ill"]))
    >>> conditions = Conditions.of(prepared, k=2, diversity=2)
    >>> conditions.meets(np.array([0, 0, 1, 1, 1]), 2).tolist()
    [True, False]
    """

    k: int
    persons: IntArray | None = None
    diversity: Diversity | None = None
    closeness: Closeness | None = None
    sensitive: tuple[Sensitive, ...] = ()
    subsets: int | None = None
    weights: IntArray | None = None
    item: IntArray | None = None

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        *,
        k: int,
        diversity: int | str | None = None,
        closeness: float | str | None = None,
        subsets: int | None = None,
        counted: Counted | None = None,
    ) -> Conditions:
        """Read the conditions and hold them to the table: an error says which can't be met by any release of it.

        With `counted`, the rows of the table are combinations, and that says what each of them stands for.
        """
        required = None if diversity is None else Diversity.of(diversity)
        close = None if closeness is None else Closeness.of(closeness)
        persons = None if prepared.schema.unit is None or counted is not None else prepared.units()
        n = prepared.n if persons is None else int(persons.max()) + 1
        _check_k(k, n if counted is None else counted.n_persons)
        columns = _sensitive(prepared, close) if required or close else ()
        for column in columns:
            _check_values(column, required)
        made = cls(k=k, persons=persons, diversity=required, closeness=close, sensitive=columns, subsets=subsets)
        return made if counted is None else made._of_counted(counted)

    def _of_counted(self, counted: Counted) -> Conditions:
        if counted.item is None:
            return replace(self, weights=counted.rows)
        own = tuple(replace(column, values=column.values[counted.item]) for column in self.sensitive)
        return replace(self, persons=counted.group, weights=counted.persons, item=counted.item, sensitive=own)

    @property
    def monotone(self) -> bool:
        """Whether merging classes can never make a class fail that met the conditions, whatever it is merged with."""
        return self.closeness is None and (self.diversity is None or self.diversity.kind == "distinct")

    @property
    def monotone_together(self) -> bool:
        """Whether merging classes that all meet the conditions gives one that does; holds where none is left out."""
        return self.monotone or self.persons is None

    def meets(self, labels: IntArray, n: int) -> BoolArray:
        """Which of the classes 0 to `n` − 1 meet the conditions; rows labelled −1 are left out and count nowhere.

        Closeness is to the mix of the rows that are not left out. A class without rows doesn't meet them.
        """
        chosen, rows, found = self._classes(labels)
        good = found.sizes >= self.k
        for column in self.sensitive if len(rows) else ():
            contents = column.contents(found, rows)
            if self.diversity is not None:
                good &= self.diversity.holds(self.diversity.found(contents))
            if self.closeness is not None:
                good &= self.closeness.holds(_distance(contents, column.ordered))
        out: BoolArray = np.zeros(n, dtype=np.bool_)
        out[chosen] = good
        return out

    def check_whole(self, owner: str, n: int) -> None:
        """Refuse conditions that `n` rows fail as one class: then no partition of them helps."""
        if not self.meets(np.zeros(n, dtype=np.int64), 1).all():
            raise GuaranteeError(
                owner,
                "the conditions must be met by the table as one class",
                got="a table that doesn't meet them",
                hint="Ask for less diversity.",
            )

    def releasable_classes(self, labels: IntArray, n: int) -> BoolArray:
        """Which classes may be released: those that fail are left out until all that stay meet the conditions.

        One round suffices without closeness; with it, what is left out changes the mix that classes are compared with.
        """
        left = np.array(labels, dtype=np.int64)
        while True:
            good = self.meets(left, n)
            failed = (left >= 0) & ~good[left]
            if not failed.any() or self.closeness is None:
                return good
            left[failed] = -1

    def promises(self) -> tuple[Promise, ...]:
        """The conditions as promises about the released table."""
        who = "records" if self.persons is None else "persons"
        statement = f"Every combination of released quasi-identifiers is shared by at least {self.k} {who}."
        first = Promise(kind="k-anonymity", value=self.k, column="", measure=who, statement=statement)
        return (first, *(p for column in self.sensitive for p in self._sensitive_promises(column)))

    def found(self, labels: IntArray, n: int) -> tuple[float, ...]:
        """The worst class, in the order of `promises`: smallest k and l, largest t (0 and 1 where no row is left)."""
        _, rows, found = self._classes(labels)
        out: list[float] = [found.k]
        for column in self.sensitive:
            contents = column.contents(found, rows) if len(rows) else None
            if self.diversity is not None:
                out.append(0.0 if contents is None else float(self.diversity.found(contents).min()))
            if self.closeness is not None:
                out.append(1.0 if contents is None else float(_distance(contents, column.ordered).max()))
        return tuple(out)

    def _classes(self, labels: IntArray) -> tuple[IntArray, IntArray, Classes]:
        """The numbers of the classes that have rows, the rows that count, and their classes."""
        labels = labels if self.item is None else labels[self.item]
        rows = np.flatnonzero(labels >= 0)
        chosen, dense = np.unique(labels[rows], return_inverse=True)
        key = Codes(values=dense.astype(np.int64).reshape(-1), n=len(chosen))
        persons, weights = (None if of is None else of[rows] for of in (self.persons, self.weights))
        sizes = _sizes(key, persons, weights)
        return chosen, rows, Classes(labels=key.values, sizes=sizes, persons=persons, weights=weights)

    def _sensitive_promises(self, column: Sensitive) -> list[Promise]:
        made = []
        if self.diversity is not None:
            made.append(diversity_promise(self.diversity, column.name))
        if self.closeness is not None:
            made.append(closeness_promise(self.closeness.t, column.name, column.ordered))
        return made


def smallest_in_subsets(columns: Sequence[Codes], persons: IntArray | None, size: int) -> dict[int, int]:
    """The smallest class over all subsets of `columns` of each size up to `size`, in persons.

    A class over fewer columns is a union of classes over more, so k on all columns implies k on every subset; this
    counts what somebody meets who knows only a few of them. Cost: O(n) for each of the subsets.
    """
    n_rows = len(columns[0].values) if columns else 0
    smallest: dict[int, int] = {}
    for width in range(1, min(size, len(columns)) + 1):
        keys = (combine(chosen, n_rows=n_rows) for chosen in combinations(columns, width))
        smallest[width] = min(int(_sizes(key, persons).min(initial=n_rows)) for key in keys)
    return smallest


def _sizes(key: Codes, persons: IntArray | None, weights: IntArray | None = None) -> IntArray:
    """Persons in each class of `key`, of rows or persons that stand for some."""
    row: IntArray | slice = slice(None)
    if persons is not None:
        both = combine([key, Codes(values=persons, n=int(persons.max(initial=-1)) + 1)])
        row = np.empty(both.n, dtype=np.int64)
        row[both.values] = np.arange(len(persons))
    own = None if weights is None else weights[row]
    return np.bincount(key.values[row], weights=own, minlength=key.n).astype(np.int64)


def _again_dense(column: Sensitive, rows: IntArray) -> Codes:
    """The column's values on `rows`, renumbered so that all numbers occur and the order stays."""
    values = column.values[rows]
    seen: BoolArray = np.zeros(column.n_values, dtype=np.bool_)
    seen[values] = True
    place = np.cumsum(seen) - 1
    return Codes(values=place[values], n=int(seen.sum()))


def _distance(contents: Contents, ordered: bool) -> FloatArray:
    return contents.ordered_distance() if ordered else contents.variation()


def _sensitive(prepared: Prepared, close: Closeness | None) -> tuple[Sensitive, ...]:
    schema = prepared.schema
    if not schema.sensitive:
        raise SchemaError(
            "schema",
            "must name a sensitive column if diversity or closeness is required",
            hint="Give the role sensitive to each column that must not be disclosed.",
        )
    return tuple(_sensitive_column(prepared, name, close) for name in schema.sensitive)


def _sensitive_column(prepared: Prepared, name: str, close: Closeness | None) -> Sensitive:
    content, column = series(prepared.frame, name), prepared.schema[name]
    ordered = close is not None and close.distance_for(column.kind) == "ordered"
    if ordered and column.kind == "nominal":
        raise ParameterError(
            "conditions",
            f"closeness 'ordered' needs an order, and column '{name}' is nominal",
            hint="Use 'equal', or declare the column ordinal with its levels.",
            parameter="closeness",
        )
    overall = OverallMix.told(prepared, name)
    if overall is not None:
        values, n = overall.codes(content), len(overall.counts)
        return Sensitive(name=name, values=values, n_values=n, ordered=ordered, overall=overall.counts)
    count: Callable[..., Codes] = codes if column.kind == "nominal" else ranks
    levels = [levels_like(content, column)] if column.kind == "ordinal" and column.levels is not None else []
    found = _dense(count(content, *levels))
    return Sensitive(name=name, values=found.values, n_values=found.n, ordered=ordered)


def _dense(found: Codes) -> Codes:
    seen: BoolArray = np.zeros(found.n, dtype=np.bool_)
    seen[found.values] = True
    return Codes(values=(np.cumsum(seen) - 1)[found.values], n=int(seen.sum()))


def _check_k(k: int, n_persons: int) -> None:
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise ParameterError("conditions", "k must be a whole number at least 1", got=repr(k)[:60], parameter="k")
    if n_persons < k:
        raise GuaranteeError(
            "conditions", f"need at least k = {k} persons", got=f"{n_persons}", hint="Lower k or add records."
        )


def _check_values(column: Sensitive, required: Diversity | None) -> None:
    if required is not None and column.n_values < required.l:
        raise GuaranteeError(
            "conditions",
            f"diversity {required} can't be met in column '{column.name}', which has too few values",
            got=f"{column.n_values} different values",
            hint=f"Ask for at most {column.n_values}, or give the column another role.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many rows and persons the items of a table of distinct combinations stand for.

    Parameters
    ----------
    rows
        Rows of each item.
    item, group, persons
        Which items the persons of each group have, as pairs sorted by group, and how many persons that group has (in
        each of its pairs); None where each row is a person. Persons don't add over items; over such groups they do.
    """

    rows: IntArray
    item: IntArray | None = None
    group: IntArray | None = None
    persons: IntArray | None = None

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        if self.group is None or self.persons is None:
            return int(self.rows.sum())
        return int(self.persons[np.flatnonzero(np.diff(self.group, prepend=-1))].sum())
