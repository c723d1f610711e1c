"""Pseudonyms of third parties in linked tables: a doctor's token ties the persons together who have it.

Whoever learns which token is a doctor's (the doctor, a colleague, anybody who knows how many patients there are) and
knows whose doctor that is has as candidates the persons of the class with the token:

    K(i, t) = { j : q_j = q_i and j has the token t },   k = min over i and the tokens t of i

A doctor with one patient is that patient's second name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.equivalence import ranks
from shoal.fact import Fact
from shoal.linked.collection import Collection
from shoal.linked.counting import Bags, candidates
from shoal.record import Record

__all__ = ["TokenRisk", "third_parties"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRisk(Record):
    """What the pseudonyms of one column give away of persons; for inside.

    Parameters
    ----------
    table, column
        Where the pseudonyms stand.
    n_tokens
        How many different ones there are.
    n_single
        How many of them one person alone has.
    k
        The smallest number of persons of one class who have the same token; 0 where nobody has one.
    below_share
        The share of the counted persons who have a token that fewer than k_required persons of their class have.
    """

    releasable: ClassVar[bool] = False

    table: str
    column: str
    n_tokens: int
    n_single: int
    k: int
    below_share: float

    @property
    def fact(self) -> Fact:
        """What to say of it, for inside."""
        return Fact(
            says="{table}, {column}: of {n} pseudonyms, {single} are of one person each; who knows whose they are "
            "finds {share:.1%} of persons among too few others of the class",
            values={"table": self.table, "n": self.n_tokens, "single": self.n_single, "share": self.below_share},
            column=self.column,
            counts="persons",
        )


def third_parties(collection: Collection, classes: IntArray, k_required: int) -> tuple[TokenRisk, ...]:
    """What each column of pseudonyms that are not the rows' own keys gives away, by the classes of persons."""
    return tuple(_found(collection, classes, k_required))


def _found(collection: Collection, classes: IntArray, k_required: int) -> Iterator[TokenRisk]:
    for table in collection.schema.tables:
        for name in table.columns.pseudonym:
            tokens = collection.tables[table.name][name]
            there = tokens.is_not_null().to_numpy() & (classes[collection.persons[table.name]] >= 0)
            person, item = collection.persons[table.name][there], ranks(tokens.filter(pl.Series(there))).values
            yield _counted(table.name, name, Bags.of(classes, person, item), k_required)


def _counted(table: str, column: str, bags: Bags, k_required: int) -> TokenRisk:
    held = np.unique(np.column_stack((bags.item, bags.person)), axis=0)[:, 0] if len(bags.item) else bags.item
    n_patients = np.bincount(held)[np.unique(held)] if len(held) else held
    has_one = bags.sizes > 0
    fit = candidates(bags, 1)[has_one]
    return TokenRisk(
        table=table,
        column=column,
        n_tokens=len(n_patients),
        n_single=int((n_patients == 1).sum()),
        k=int(fit.min()) if len(fit) else 0,
        below_share=float((fit < k_required).sum() / max(1, int(bags.counted().sum()))),
    )
