"""What every synthesizer shares: declared parameters in, a priced and fitted model out, synthetic rows from the model.

A `Synthesizer` says what it will cost (`price`) before it looks at anything, and `fit` charges an account before it
computes. The `Model` that it gives draws rows (`sample`), says what is promised (`claims`) and what has been spent
(`spent`), and is saved as JSON.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from shoal.arrays import Generator, IntArray
from shoal.claim import Claim
from shoal.domain import Domain
from shoal.dp import Budget
from shoal.errors import GuaranteeError, ParameterError
from shoal.files import write_text
from shoal.method import Method
from shoal.params import check
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.synth.constraints import satisfying
from shoal.synth.output import give

__all__ = ["Model", "Price", "Synthesizer"]

FORMAT = "shoal synthetic model 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a synthesizer costs, before it looks at anything.

    Parameters
    ----------
    per_row, per_block
        What one row, or one block of rows, adds to the bill; None where rows are free.
    per_data_set
        The whole bill for the rows asked for; None if it depends on rows and no number was given, or if there is no
        differential-privacy claim at all.
    shares
        What the bill of a fit is spent on.
    words
        All of it in sentences.
    """

    per_row: Budget | None
    per_block: Budget | None
    per_data_set: Budget | None
    shares: Mapping[str, Budget]
    words: str

    def __str__(self) -> str:
        return self.words

    def to_dict(self) -> dict[str, Any]:
        """The price as JSON-safe words."""
        parts = {"per_row": self.per_row, "per_block": self.per_block, "per_data_set": self.per_data_set}
        return {
            **{name: None if part is None else part.to_dict() for name, part in parts.items()},
            "shares": {name: part.to_dict() for name, part in self.shares.items()},
            "words": self.words,
        }


class Synthesizer(Method):
    """Learns a model of a table, from which rows of no real person are drawn."""

    family = "synthesize"

    @abstractmethod
    def price(self, rows: int | None = None) -> Price:
        """What fitting, and drawing `rows` rows, will cost."""

    def fit(self, table: Any, schema: Schema, account: Any = None, seed: int | None = None) -> Model:
        """Learn a model.

        Parameters
        ----------
        table, schema
            The records, and the public knowledge about their columns.
        account
            A `shoal.dp.Account` of the data set. It is charged before anything is computed; if it can't pay, nothing is
            computed and nothing is spent.
        seed
            Repeats what is not protective noise. Protective noise never repeats.

        Raises
        ------
        InputError
            The table breaks the schema. It is checked before anything is computed or charged, and the error names all
            columns that break it. Whoever sees the error learns that the table does; a claim covers what comes out
            of a fit that goes through.
        """
        check(self)
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
            raise ParameterError(type(self).__name__, "seed must be a whole number, at least 0", got=repr(seed)[:60])
        if not isinstance(schema, Schema):
            raise ParameterError(type(self).__name__, "schema must be a Schema", got=type(schema).__name__)
        return self._fit(table, schema, account, stream(fresh_seed() if seed is None else seed, "synth", "fit"))

    @abstractmethod
    def _fit(self, table: Any, schema: Schema, account: Any, rng: Generator) -> Model:
        """Learn a model; parameters are checked already."""


class Model(ABC):
    """A fitted synthesizer: draws rows, and answers for what they promise and cost."""

    kind: ClassVar[str] = ""
    rows_are_free: ClassVar[bool] = True

    domain: Domain
    notes: tuple[str, ...] = ()
    detached: bool = False
    """Whether the model was loaded without the account that its rows must be charged to."""

    @property
    @abstractmethod
    def claims(self) -> tuple[Claim, ...]:
        """What is promised about the rows drawn so far and, where rows are free, about all that will be drawn."""

    @property
    @abstractmethod
    def spent(self) -> Budget | None:
        """What this model has spent so far; None where there is no differential-privacy claim."""

    @property
    @abstractmethod
    def releasable(self) -> bool:
        """Whether the model itself, not only its rows, may leave the secure environment."""

    @property
    def independent(self) -> bool:
        """Whether columns are drawn without any tie between them."""
        return False

    @property
    def epsilon_needed(self) -> float | None:
        """Where columns came out independent: about the ε at which they would not."""
        return None

    @property
    @abstractmethod
    def total(self) -> int | None:
        """The number of records as far as the model may tell it (noisy), or None."""

    def sample(self, n: int | None = None, start: Any = None, seed: int | None = None) -> Any:
        """Draw `n` synthetic rows as the kind of dataframe that the data came in.

        Parameters
        ----------
        n
            Number of rows. Choose it without looking at the private table; None takes the model's noisy total.
        start
            Rows to start Gibbs sampling from: public ones, never the data. None starts from uniform rows. Models
            that draw without a start refuse it.
        seed
            Repeats the draw. Where the draw itself is the protection (PeGS by row), a seed costs the claim.

        Returns
        -------
        Rows with the released columns (no identifier, unit or weight) in the order of the schema and of the types that
        it declares (`shoal.domain.declared`), in no particular order of rows. Rules of the schema hold in every row.
        """
        if self.detached:
            raise GuaranteeError(
                type(self).__name__,
                "each row of this model has a cost, and it was loaded without an account",
                hint="Load it with the account of its data: load(path, account=Account.open(data)).",
            )
        rows, codes = self._checked(n), None
        if start is not None:
            codes = self.domain.encode(start, "start rows")
            if len(codes) == 0:
                raise ParameterError("sample", "start must have at least one row", got="0 rows")
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
            raise ParameterError("sample", "seed must be a whole number, at least 0", got=repr(seed)[:60])
        drawn = self._sample(rows, codes, seed)
        return give(drawn, self.domain.backend, self.domain.nullable)

    def _sample(self, n: int, start: IntArray | None, seed: int | None) -> pl.DataFrame:
        rng = stream(fresh_seed() if seed is None else seed, "synth", "sample")
        return satisfying(self.domain, lambda m: self.draw_codes(m, start, rng), n, rng)

    @abstractmethod
    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""

    @abstractmethod
    def _body(self) -> dict[str, Any]:
        """What is saved besides domain and claims."""

    def to_dict(self) -> dict[str, Any]:
        """The model as JSON-safe words."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "releasable": self.releasable,
            "accounted": getattr(self, "account", None) is not None or self.detached,
            "domain": self.domain.to_dict(),
            "notes": list(self.notes),
            "claims": [claim.to_dict() for claim in self.claims],
            "spent": None if self.spent is None else self.spent.to_dict(),
            **self._body(),
        }

    def save(self, path: str | Path, *, internal: bool = False) -> None:
        """Write the model as JSON.

        A model that is not releasable holds exact counts of the data; it is only written with ``internal=True``, and
        the file says so.
        """
        if not self.releasable and not internal:
            raise GuaranteeError(
                type(self).__name__,
                "this model holds exact counts of the data and must not leave the secure environment",
                hint="For internal use, save it with internal=True. To publish a model, use scope='dataset'.",
            )
        write_text(Path(path), json.dumps(self.to_dict(), ensure_ascii=False))

    def _checked(self, n: int | None) -> int:
        n = self.total if n is None else n
        if n is None:
            raise ParameterError("sample", "n must be given: this model must not reveal the number of records")
        if not isinstance(n, int) or isinstance(n, bool) or n < 1:
            raise ParameterError("sample", "n must be a whole number, at least 1", got=repr(n)[:60])
        return n
