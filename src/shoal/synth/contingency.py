"""The full contingency table: every combination of all columns counted, noise on every count, rows drawn from it.

The other brute-force synthesizer of table 3.1 of the thesis, beside the marginal bootstrap: the model loses nothing of
the table, and the noise nearly everything. One record counts once in one table, so noise has scale 1/ε (a
person with m rows: m/ε) however many columns there are, but there are Π C_i cells, nearly all of them empty, and each
gets its share of noise. From the noisy counts y the nearest table without a negative number is taken that sums to Σ y
(Euclidean projection on the simplex), over the combinations that the schema's rules allow. It is for few columns and
many records; above two million cells it is refused. With ``epsilon=None`` the counts are exact, rows are a bootstrap of
the records, and nothing is promised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.domain import Domain
from shoal.domain.declared import content_of
from shoal.dp import Budget, ProtectedUnit
from shoal.errors import ParameterError
from shoal.frame import enter
from shoal.method import ReportText
from shoal.params import Help, Range
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.synth.domain import Missing, backend_of, encode_table, give
from shoal.synth.spend import Purse, can_pay, charge, total_budget
from shoal.synth.synthesizer import (
    Model,
    Price,
    Synthesizer,
    TableModel,
    assumptions,
    dp_claim,
    dp_statement,
    refuse_start,
)
from shoal.synth.tables import keys, project

__all__ = ["ContingencyModel", "ContingencyTable"]

MOST_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContingencyTable(Synthesizer):
    """Draw rows from the noisy table of all columns together.

    Parameters
    ----------
    epsilon
        Privacy loss of the data set, once. None: exact counts and no claim.
    delta
        None: pure ε. A number: (ε, δ) by zCDP accounting.
    bins, missing, rows_per_person
        As in `PeGS`.

    Notes
    -----
    Cost: about 20 µs for each of the Π C_i cells, at most two million. Weights play no part; a missing value is a cell
    of its own.

    Examples
    --------
    >>> import shoal
    >>> from shoal.synth import ContingencyTable
    >>> table = shoal.datasets.health_survey(500, seed=1).select("gender", "income")
    >>> schema = shoal.Schema.of(quasi=["gender", "income"], levels={"gender": ["female", "male"], "income": range(5)})
    >>> ContingencyTable(epsilon=1.0).fit(table, schema).sample(10, seed=1).shape
    (10, 2)
    """

    title = "full contingency table"
    summary = "Rows from the noisy table of all columns together; for a handful of columns, and as a baseline."
    promise = "One epsilon for all rows ever drawn; without epsilon, nothing."
    report_text = ReportText(
        done="All combinations of the columns were counted, noise was added, and rows were drawn from the counts.",
        writes="synthetic: drawn from the noisy table of all columns",
        keeps="What the noise leaves of its ties with all other columns.",
    )
    rank = 5

    epsilon: Annotated[float | None, Range(above=0), Help("privacy loss for the data set; none: no claim")] = 1.0
    delta: Annotated[float | None, Range(above=0, below=1), Help("none: pure epsilon; a number: zCDP")] = None
    bins: Annotated[int, Range(low=1, high=10_000), Help("bins for a numeric column with bounds")] = 16
    missing: Annotated[Missing, Help("missing values: a separate level, or refused")] = "refuse"
    rows_per_person: Annotated[
        int, Range(low=1), Help("largest number of rows per person, all covered by one epsilon")
    ] = 1

    def price(self, rows: int | None = None) -> Price:
        """What the table costs; rows are free."""
        if self.epsilon is None:
            words = "Counts are exact: no price, and no promise."
            return Price(per_row=None, per_block=None, per_data_set=None, shares={}, words=words)
        stated = Budget(epsilon=self.epsilon, delta=self.delta or 0)
        words = f"The data set costs {stated}, once; rows are free."
        return Price(per_row=None, per_block=None, per_data_set=stated, shares={"full table": stated}, words=words)

    def _fit(self, table: Any, schema: Schema, account: Any, rng: Generator) -> Model:
        stated = self.price().per_data_set
        if stated is not None:
            can_pay(account, stated)
        unit = ProtectedUnit(rows=self.rows_per_person, held=schema.counts_persons)
        options: dict[str, Any] = {"bins": self.bins, "missing": self.missing, "owner": "ContingencyTable"}
        encoded = encode_table(table, schema, public=stated is not None, unit=unit, rng=rng, **options)
        _check_cells(encoded.domain.sizes)
        counts = _counted(encoded.codes, encoded.domain.sizes)
        if stated is None:
            return ContingencyModel(
                shares=counts / counts.sum(), total=len(encoded.codes), domain=encoded.domain, notes=encoded.notes
            )
        charge(account, stated, "ContingencyTable: the noisy table of all columns")
        noisy, may = self._noisy(counts, unit), _allowed(encoded.domain)
        total = max(1.0, float(noisy[may].sum()))
        shares = np.zeros(len(noisy))
        shares[may] = project(noisy[may], total) / total
        statement = dp_statement(stated, 0, protected=unit.statement)
        claim = dp_claim(stated, scope="per data set", basis="proved", statement=statement, given=assumptions(unit))
        return ContingencyModel(
            shares=shares,
            total=total,
            domain=encoded.domain,
            spent=stated,
            claims=(claim,),
            notes=encoded.notes,
        )

    def _noisy(self, counts: IntArray, unit: ProtectedUnit) -> FloatArray:
        purse = Purse(left=total_budget(self.epsilon or 0.0, self.delta, unit))
        noisy, _ = purse.tables("full table", [counts], purse.left)
        return noisy[0].astype(np.float64)


class ContingencyModel(TableModel):
    """The shares of all combinations, to draw from."""

    kind: ClassVar[str] = "contingency"

    def __init__(self, *, shares: FloatArray, **rest: Any) -> None:
        super().__init__(**rest)
        self.shares = shares

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        refuse_start(start)
        drawn = rng.choice(len(self.shares), n, p=self.shares)
        return np.asfortranarray(np.column_stack(np.unravel_index(drawn, self.domain.sizes))).astype(np.int64)

    def given(self, rows: Any, seed: int | None = None) -> Any:
        """The rows with the model's other columns, each drawn given those of its columns that the rows have.

        The second of two steps for codes of many levels: rows with a coarse column (a diagnostic category) come from
        another model, and this one, fitted to the coarse column and the detailed one alone, adds the detail. Both
        models have been paid for, so it costs nothing more. A combination that the model does not have takes its other
        columns from their margin.
        """
        frame = enter(rows)
        known = [i for i, name in enumerate(self.domain.names) if name in frame.columns]
        new = [i for i in range(len(self.domain.axes)) if i not in known]
        if not known or not new:
            rule = "rows must have some of the model's columns and lack some"
            raise ParameterError("given", rule, got=f"{len(known)} of {len(self.domain.axes)}")
        codes = np.column_stack([self.domain.axes[i].encode(content_of(frame, self.domain.names[i])) for i in known])
        rng = stream(fresh_seed() if seed is None else seed, "synth", "given")
        drawn = _drawn_given(self.shares, self.domain.sizes, known, codes, rng)
        columns = [self.domain.axes[i].decode(drawn[:, k], rng) for k, i in enumerate(new)]
        nullable = {name for name in self.domain.nullable if name not in frame.columns}
        return give(frame.to_polars().with_columns(columns), backend_of(rows), nullable)

    def _body(self) -> dict[str, Any]:
        held = np.flatnonzero(self.shares)
        shares = [float(f"{share:.9g}") for share in self.shares[held]]
        return {"cells": held.tolist(), "shares": shares, "total": self._total}

    @classmethod
    def from_body(cls, words: Mapping[str, Any], **rest: Any) -> ContingencyModel:
        """Read the model back from what `save` wrote."""
        shares = np.zeros(math.prod(rest["domain"].sizes))
        shares[words["cells"]] = words["shares"]
        return cls(shares=shares / shares.sum(), total=words["total"], **rest)


def _drawn_given(
    shares: FloatArray, sizes: Sequence[int], known: Sequence[int], codes: IntArray, rng: Generator
) -> IntArray:
    """Cells of the columns that are not `known`, drawn given the cells of those that are."""
    new = [i for i in range(len(sizes)) if i not in known]
    n_known, left = math.prod(sizes[i] for i in known), [sizes[i] for i in new]
    table = np.transpose(shares.reshape(sizes), [*known, *new]).reshape(n_known, -1)
    key = np.ravel_multi_index(tuple(codes.T), [sizes[i] for i in known])
    drawn = np.empty(len(key), dtype=np.int64)
    for value in np.unique(key):
        at = np.flatnonzero(key == value)
        p = table[value] if table[value].sum() > 0 else table.sum(axis=0)
        drawn[at] = rng.choice(table.shape[1], len(at), p=p / p.sum())
    return np.column_stack(np.unravel_index(drawn, left)).astype(np.int64)


def _check_cells(sizes: Sequence[int]) -> None:
    if math.prod(sizes) > MOST_CELLS:
        raise ParameterError(
            "ContingencyTable",
            f"the columns must have at most {MOST_CELLS:,} combinations together",
            got=f"{math.prod(sizes):,}",
            hint="Leave columns out, declare fewer levels or bins, or use PeGS.",
        )


def _allowed(domain: Domain) -> BoolArray:
    """Combinations that break no rule of the schema; a rule about a number in bins is left to the draw."""
    n = math.prod(domain.sizes)
    rules = [r for r in domain.rules if all(domain.axes[domain.names.index(c)].levels is not None for c in r.columns)]
    if not rules:
        return np.ones(n, dtype=np.bool_)
    cells = np.column_stack(np.unravel_index(np.arange(n), domain.sizes))
    return ~replace(domain, rules=tuple(rules)).broken(domain.decode(cells, stream(0, "middle")))


def _counted(codes: IntArray, sizes: Sequence[int]) -> IntArray:
    """Counts of all combinations, as a flat table."""
    return np.bincount(keys(codes, sizes, range(len(sizes))), minlength=math.prod(sizes)).astype(np.int64)
