"""What every synthesizer shares: declared parameters in, a priced and fitted model out, synthetic rows from the model.

A `Synthesizer` says what it will cost (`price`) before it looks at anything, and `fit` charges an account before it
computes. The `Model` that it gives draws rows (`sample`), says what is promised (`claims`) and what has been spent
(`spent`), and is saved as JSON.

The promises of synthetic rows, in sentences that a steward can quote.

Models as JSON files, and back.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from shoal.arrays import Generator, IntArray
from shoal.claim import Basis, Claim, Kind, claim_rows
from shoal.claim_wording import PUBLIC_KNOWLEDGE, ROWS_NOT_TAKEN, statement
from shoal.domain import Domain
from shoal.dp import Budget, ProtectedUnit
from shoal.dp.unit import FIT_STOPS
from shoal.errors import FileError, GuaranteeError, ParameterError
from shoal.files import write_text
from shoal.method import Method
from shoal.params import check
from shoal.record import html_table
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.synth.constraints import satisfying
from shoal.synth.domain import give
from shoal.synth.parents import Ties

__all__ = [
    "DATA_CHOSEN",
    "Model",
    "Price",
    "Synthesizer",
    "TableModel",
    "assumptions",
    "dp_claim",
    "dp_statement",
    "load",
    "refuse_start",
]

FORMAT = "shoal synthetic model 1"
DATA_CHOSEN = (
    "Parents were chosen by plain mutual information from the data. One record can change that choice, and then "
    "no finite "
    "epsilon holds; the number is the paper's, and Shoal does not vouch for it."
)


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

    def _repr_html_(self) -> str:
        """The model as a notebook shows it: what it promises of its rows."""
        title = f"{type(self).__name__}, spent: {self.spent or 'nothing'}"
        return html_table(title, claim_rows(self.claims), ("basis", "promise", "what it says"))

    @property
    def ties(self) -> Ties:
        """Whether columns are tied to each other, and if not, why."""
        return Ties()

    @property
    def independent(self) -> bool:
        """Whether columns are drawn without any tie between them."""
        return self.ties.independent

    @property
    def epsilon_needed(self) -> float | None:
        """Where columns came out independent: about the ε at which they would not."""
        return self.ties.epsilon_needed

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


class TableModel(Model):
    """A model that is paid for once, when it is fitted: one claim for everything that is drawn, or none."""

    def __init__(
        self,
        *,
        domain: Domain,
        notes: Sequence[str],
        total: float,
        spent: Budget | None = None,
        claims: Sequence[Claim] = (),
        ties: Ties = Ties(),  # noqa: B008, a frozen value
    ) -> None:
        self._ties = ties
        self.domain, self._spent, self._claims = domain, spent, tuple(claims)
        self.notes, self._total = tuple(notes), max(1, round(total))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The one claim, for all rows that will ever be drawn; none for exact tables."""
        return self._claims

    @property
    def spent(self) -> Budget | None:
        """What the fit cost; rows are free. None for exact tables."""
        return self._spent

    @property
    def releasable(self) -> bool:
        """Whether it holds noisy tables only, and the data didn't choose the parents."""
        return self._spent is not None and all(claim.basis == "proved" for claim in self._claims)

    @property
    def ties(self) -> Ties:
        """Whether ties between columns were found."""
        return self._ties

    @property
    def total(self) -> int:
        """The number of records: noisy if the tables are."""
        return self._total


def refuse_start(start: IntArray | None) -> None:
    """Refuse rows to start from, for models that draw without a chain."""
    if start is not None:
        raise ParameterError("sample", "start rows have no effect here: rows are drawn exactly", hint="Omit it.")


def assumptions(unit: ProtectedUnit | None, *more: str) -> tuple[str, ...]:
    """What must be true for a claim about synthetic rows; without a unit any two data sets are neighbours."""
    neighbours = ("Any two data sets are neighbours.",) if unit is None else unit.assumptions
    return (
        *neighbours,
        PUBLIC_KNOWLEDGE,
        ROWS_NOT_TAKEN,
        FIT_STOPS,
        *more,
    )


def _dp_kind(budget: Budget) -> Kind:
    """The literature's name of what a budget promises."""
    return "epsilon-DP" if budget.definition == "pure" else "(epsilon, delta)-DP"


def dp_statement(budget: Budget, which: int, *, protected: str, chosen: bool = False, **more: str) -> str:
    """The sentence of a differential-privacy claim of that size (`shoal.claim_wording`)."""
    delta = str(budget).partition(", δ = ")[2]
    return statement(
        _dp_kind(budget),
        which,
        claim={"value": budget.epsilon},
        delta=f", δ = {delta}" if delta else "",
        protected=protected,
        chosen=f" {DATA_CHOSEN}" if chosen else "",
        **more,
    )


def dp_claim(budget: Budget, *, scope: str, basis: Basis, statement: str, given: Sequence[str]) -> Claim:
    """A differential-privacy claim of that size."""
    return Claim(
        kind=_dp_kind(budget),
        value=budget.epsilon,
        scope=scope,
        basis=basis,
        statement=statement,
        assumptions=tuple(given),
    )


def load(path: str | Path, account: Any = None) -> Model:
    """Read a model that `Model.save` wrote.

    A model whose rows were charged to an account needs `account` again: without it, it refuses to draw, so that no
    row escapes.

    Examples
    --------
    >>> import tempfile, pathlib, shoal
    >>> from shoal.synth import MarginalBootstrap, load
    >>> table = shoal.datasets.health_survey(500, seed=1).select("gender")
    >>> schema = shoal.Schema.of(quasi=["gender"], levels={"gender": ["female", "male"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = pathlib.Path(folder, "model.json")
    ...     MarginalBootstrap(epsilon=1.0).fit(table, schema).save(place)
    ...     load(place).sample(3).columns
    ['gender']
    """
    words = _read(Path(path))
    if not isinstance(words, dict) or words.get("format") != FORMAT or words.get("kind") not in _kinds():
        raise FileError(str(path), f"must be a model saved by Shoal ({FORMAT})")
    spent = words["spent"]
    model: Model = _kinds()[words["kind"]].from_body(
        words,
        domain=Domain.from_dict(words["domain"]),
        spent=None if spent is None else Budget.from_dict(spent),
        claims=[Claim.from_dict(claim) for claim in words["claims"]],
        notes=tuple(words["notes"]),
    )
    if not model.rows_are_free:
        model.account = account  # type: ignore[attr-defined]
        model.detached = account is None and bool(words.get("accounted", True))
    return model


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(str(path), "must be a readable file", got=error.strerror or "") from None
    except ValueError:
        raise FileError(str(path), "must be a JSON file") from None


def _kinds() -> dict[str, Any]:
    from shoal.synth.bootstrap import BootstrapModel
    from shoal.synth.contingency import ContingencyModel
    from shoal.synth.pegs_by_graph import GraphModel
    from shoal.synth.pegs_by_row import RowModel
    from shoal.synth.pegs_by_table import ChainModel, ConditionalsModel

    models = (ChainModel, ConditionalsModel, GraphModel, RowModel, BootstrapModel, ContingencyModel)
    return {model.kind: model for model in models}
