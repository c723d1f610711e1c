"""A synthesizer: fit a model and draw rows that are nobody's.

What is measured against the original is for inside. A differential-privacy claim covers the synthetic rows, not numbers
computed from the private table beside them, so the external report and the manifest of a synthetic release hold
claims, method and domain, and no comparison with the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.canonical import canonical
from shoal.conform import prepare
from shoal.domain.domain import conformed
from shoal.errors import ParameterError
from shoal.fact import Fact
from shoal.frame import enter
from shoal.method import Method
from shoal.pair import NOBODY
from shoal.recipe.recipe import Made, ReadMethod, Recipe, Run, checked_methods, method_words
from shoal.recipe.spell import argument, preset_options, unspoken
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.dp import Budget
    from shoal.recipe.paid_model import PaidModel
    from shoal.synth import Model, Price, Synthesizer

__all__ = ["Synthesis"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis(Recipe):
    """A synthesizer and the number of rows to draw (None: as many as the model says)."""

    command: ClassVar[str] = "synthesize"
    entries: ClassVar[tuple[frozenset[str], ...]] = (frozenset({"synthesize"}), frozenset({"synthesize", "rows"}))
    asks: ClassVar[frozenset[str]] = frozenset({"limit", "preset"})
    is_of_people: ClassVar[bool] = False

    method: Synthesizer
    rows: int | None = None

    @classmethod
    def of(cls, method: Synthesizer, rows: int | None = None) -> Synthesis:
        """A wrong parameter is an error here, before any data is read."""
        (checked,) = checked_methods("synthesize", "method must be a synthesizer", [method], "synthesize")
        if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1):
            raise ParameterError("synthesize", "rows must be a whole number, at least 1", got=repr(rows)[:40])
        return cls(method=checked, rows=rows)

    @classmethod
    def read(cls, words: Mapping[str, Any], method: ReadMethod) -> Synthesis:
        """Read it from the words of `to_dict`, or from a method as text; rows stand with the method or beside it."""
        given, rows = words["synthesize"], words.get("rows")
        if isinstance(given, Mapping):
            rows = given.get("rows") if rows is None else rows
            given = {name: value for name, value in given.items() if name != "rows"}
        return cls.of(method("synthesize", given), None if rows == "none" else rows)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON- and TOML-safe words."""
        return {"synthesize": {**method_words(self.method), "rows": "none" if self.rows is None else self.rows}}

    def options(
        self, *, seed: int | None, preset: str | None, accept: bool, limit: float | None, account: bool
    ) -> list[str]:
        """Method, rows and account; there is no word for a seed."""
        if seed is not None:
            raise unspoken("a seed of a synthesis")
        rows = [] if self.rows is None else ["--rows", str(self.rows)]
        most = [] if limit is None else ["--limit", repr(float(limit))]
        held = preset_options(preset, accept)
        return ["--method", argument(self.method), *rows, *most, *held, *([] if account else ["--no-account"])]

    @property
    def methods(self) -> tuple[Method, ...]:
        """The synthesizer alone."""
        return (self.method,)

    @property
    def family(self) -> str:
        """Synthesis."""
        return "synthesis"

    @property
    def title(self) -> str:
        """The synthesizer, and how many rows it draws where that was asked for."""
        return super(Synthesis, self).title + (f" ({self.rows:,} rows)" if self.rows else "")

    @property
    def why_inside(self) -> str:
        """A claim covers the rows, and nothing else that is computed from the private table."""
        return "they compare with the private table, which the claims don't cover"

    @property
    def repeats(self) -> bool:
        """Protective noise is drawn once and never kept."""
        return False

    @property
    def takes_seed(self) -> bool:
        """Where each row costs, the draw is the protection, and a seed would cost the claim."""
        return self.price.per_row is None

    @property
    def needs_prepared(self) -> bool:
        """A synthesizer has rules of its own for missing numbers."""
        return False

    @property
    def price(self) -> Price:
        """What fitting and drawing cost."""
        return self.method.price(self.rows)

    @property
    def bill(self) -> Budget | None:
        """The price of the fit, or of all rows where each row costs."""
        price = self.price
        if price.per_data_set is not None or price.per_row is None or self.rows is None:
            return price.per_data_set
        return price.per_row * self.rows

    def run(self, table: Any, schema: Schema, run: Run) -> Made:
        """Fit, draw; the account is charged before anything is computed."""
        paid = self._purchase(schema, run)
        found = None if paid is None else paid.found()
        if found is None:
            self._check_price(run.account)
        run.progress("checking the table")
        # What is released has the schema's types, and so has what it is set beside.
        original = conformed(enter(table), schema)
        settled = canonical(prepare(original, _lenient(schema)))
        seed = run.seed if run.seeded else None
        run.progress("fitting")
        model = found or self._fitted(table, schema, run, paid)
        run.progress("drawing")
        frame = enter(model.sample(self.rows, seed=seed))
        return Made(
            frame=frame,
            prepared=settled,
            labels=np.full(settled.n_original, NOBODY, dtype=np.int64),
            source_rows=np.full(len(frame), NOBODY, dtype=np.int64),
            facts=(
                *(Fact(says="{note}", values={"note": note}, outside=True) for note in model.notes),
                *([] if found is None or paid is None else [paid.PAID_BEFORE]),
            ),
            claims=model.claims,
            original=original,
            model=model,
            spending=None if run.account is None else run.account.spending,
            paid=paid,
        )

    def _purchase(self, schema: Schema, run: Run) -> PaidModel | None:
        """Where the model is kept until its rows are written; None where rows have a price, or nobody pays."""
        price = self.price
        if run.account is None or run.digest is None or price.per_data_set is None or price.per_row is not None:
            return None
        from shoal.recipe.paid_model import PaidModel  # the synthesizers take a while to load

        return PaidModel.of(run.account, self, schema, run.digest)

    def _fitted(self, table: Any, schema: Schema, run: Run, paid: PaidModel | None) -> Model:
        """Charge, draw, store what was paid for, and only then use it."""
        seed = run.seed if run.seeded else None
        model = self.method.fit(table, schema, account=paid or run.account, seed=seed)
        if paid is not None:
            paid.keep(model)
        return model

    def _check_price(self, account: Any) -> None:
        """Refuse before anything is computed or charged what the account can't pay in full."""
        price = self.price
        if price.per_row is not None and self.rows is None:
            raise ParameterError(
                "synthesize", "rows must be given if each row has a cost", hint="Choose the number of rows."
            )
        if account is not None and price.per_data_set is not None and not account.affords(price.per_data_set):
            account.charge(price.per_data_set, purpose="synthesis")  # raises: it says what is left


def _lenient(schema: Schema) -> Schema:
    """The schema by which the private table is measured: a missing number is a level, as the synthesizer keeps it."""
    lenient = [replace(c, missing="level") for c in schema.columns if c.missing == "error" and c.role == "quasi"]
    lenient += [replace(c, role="other") for c in schema.columns if c.derived]
    return schema.with_columns(lenient)
