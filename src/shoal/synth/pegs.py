"""PeGS, the Perturbed Gibbs Sampler: synthetic rows from perturbed building blocks.

A table of many columns is taken apart into small tables of counts, its *building blocks*; noise is put on them, and
rows are drawn by walking over them (Park, "Privacy-aware Publication and Utilization of Healthcare Data", 2014,
chapter 3).

``scope="dataset"``, the default: noise is drawn once for all tables, with one ε for everything that is ever drawn.
Which tables, `design` says:

- ``"graph"``, the default: tables of single columns and of pairs that the exponential mechanism chooses, or of all
  pairs where the noise is small; one *graphical model* weighs all of them together, and rows are polished towards its
  tables. See `graph_measure`.
- ``"pairs"``: tables of single columns and of pairs; from these a `chain` of blocks, each column given those before it.
  Rows are exact draws of the chain. All pairs are measured where the noise allows it, with δ twice: the second time
  where the first leaves most open. Otherwise the most telling ones, chosen by noisy maxima. See `spend`.
- ``"tree"``: the same with M − 1 chosen pairs that form a tree and one parent for each column.
- ``"conditionals"``: M tables, each column given a key of its parents, discrete Laplace noise of scale M/ε on every
  cell, and `passes` rounds of Gibbs sampling: the plain version.

``scope="sample"``, as published: exact counts stay inside, and each draw is perturbed by α virtual records for every
cell,

    Pr(x_i = j | h) = (n_ij + α) / (N_h + C_i α),    α = 1 / (exp(ε/M) − 1).                    (3.6), (3.8)

Then ε is the price of *one row* (or, with `block`, of one block of rows, whose visited blocks are reset to uniform),
and n rows cost n ε. Claims state both, always. With `diversity` (l-diversity) α is set block by block so that the
entropy reaches log l; that carries no differential-privacy claim.

Promised: the stated ε under adding or removing one person with up to `rows_per_person` rows, if the domain is public,
and start rows and parents are public or privately chosen. Parents chosen by plain mutual information void it (see
`shoal.synth.synthesizer.DATA_CHOSEN`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from shoal.arrays import Generator
from shoal.dp import Budget, ProtectedUnit
from shoal.errors import ParameterError
from shoal.method import ReportText
from shoal.params import Help, Range
from shoal.schema import Schema
from shoal.synth.counts import Tabulated
from shoal.synth.domain import EncodedTable, Missing, PublicTable, encode_table
from shoal.synth.parents import Choose, Parents
from shoal.synth.pegs_by_row import fit_by_row, row_price
from shoal.synth.spend import SHARES, Purse, can_pay, charge, total_budget
from shoal.synth.synthesizer import Model, Price, Synthesizer
from shoal.synth.within_bins import with_fine_tables

__all__ = ["PeGS"]

Scope = Literal["dataset", "sample"]
Design = Literal["graph", "pairs", "tree", "conditionals"]
Numbers = Literal["fine", "even"]
Smoothing = Literal["uniform", "margin", "maximum-entropy", "neighbours"]
_PLANS = {
    "graph": {"first one-way tables": 1, "choice of pairs": 2, "one-way and pair tables": 17},
    "conditionals": {"one-way tables": 1, "choice of parents": 2, "building blocks": 7},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PeGS(Synthesizer):
    """Synthetic rows from perturbed building blocks, with a true epsilon.

    Parameters
    ----------
    epsilon
        The privacy loss: of the whole data set, once (``scope="dataset"``), or of each row or block
        (``scope="sample"``). Raising it lowers noise and protection.
    delta
        None: pure ε with Laplace noise. A number far below 1 / (number of records): (ε, δ) by zCDP accounting with
        Gaussian noise, which is much better for many columns. Only with ``scope="dataset"``.
    scope
        ``"dataset"`` (draw as many rows as you like) or ``"sample"`` (as published, every row costs).
    design
        Which building blocks, with ``scope="dataset"``; see the module.
    parents
        Columns that a column's block is conditioned on, by column name; or how many each column gets; None: by a
        public rule. Names must come from public knowledge.
    choose
        How parents (or pairs) are chosen: ``"private"`` (from noisy tables, or by noisy maxima, paid from ε),
        ``"given"`` (by `parents`), ``"mutual-information"`` (as published; it voids the claim), ``"min-hash"`` (no
        parents: keys are `parents` random hash functions of all other columns; with ``scope="sample"``).
    passes
        Rounds of Gibbs sampling; None: 5 for ``"conditionals"``, 1 with ``scope="sample"``, where more passes
        share the same ε.
    block
        Rows of a block with reset (``scope="sample"``): ε then pays for a block. It must stay small against the
        number of keys, as every visited block becomes uniform.
    smoothing
        Where virtual records go (``scope="sample"``): ``"uniform"``, α on every cell, as published; ``"margin"``, more
        on common levels, by noisy margins that cost ε once; ``"maximum-entropy"``, only on cells of fewer than α
        records; ``"neighbours"``, evenly, and half of each record counts on the neighbours of its level where levels
        are in order. α is the least on any cell, so ε is the same.
    diversity
        l of l-diversity (``scope="sample"``), in place of ε: every distribution that is drawn from has entropy at least
        log l. No differential-privacy claim.
    bins
        Bins of a numeric column that has bounds and no edges. More bins are finer and noisier.
    numbers
        How a number is drawn from its bin, with ``scope="dataset"``: ``"fine"`` buys one fine table of each numeric
        column for a twelfth of the budget, so that spikes, heaps and the range stay (see `shoal.synth.within_bins`);
        ``"even"`` spreads numbers evenly.
    missing
        ``"level"``: a missing value is a cell of its own, in every column, whether or not the data have one;
        ``"refuse"``: it is an error. None: "level" with ``scope="dataset"``, where a missing cell that can't be told
        from noise stays empty; "refuse" with ``scope="sample"``, where every cell is drawn now and then, and so rows
        would have gaps that no record has.
    rows_per_person
        m, the rows that one person may have: ε (and δ) are the price of a person with all of them. Raising it raises
        the noise m times. If the schema has a unit column, of a person with more rows m are kept at random; if not, it
        is for you to know. See `shoal.dp.ProtectedUnit`.

    Notes
    -----
    Every row counts once; survey weights play no part, and weight columns are left out. Cost: linear in rows times
    columns (times pairs of columns for ``"pairs"``), plus about 20 µs for every noisy cell. A million rows of 13
    columns are fitted and drawn in a few seconds.

    Examples
    --------
    >>> import shoal
    >>> from shoal.synth import PeGS
    >>> table = shoal.datasets.health_survey(2000, seed=1).select("gender", "age_group", "income")
    >>> schema = shoal.Schema.of(quasi=["gender", "age_group"], sensitive=["income"], levels={
    ...     "gender": ["female", "male"], "age_group": range(8), "income": range(5)})
    >>> model = PeGS(epsilon=1.0).fit(table, schema)
    >>> model.sample(100).shape
    (100, 3)
    >>> print(model.spent)
    ε = 1
    """

    name = "pegs"
    title = "PeGS"
    summary = "New rows from noisy tables of columns and pairs: the usual choice for a public file."
    promise = "One epsilon (or epsilon, delta) for all rows ever drawn, if the declared domain is public."
    report_text = ReportText(
        done=(
            "The table was decomposed into small tables of counts, noise was added to them, and rows were "
            "drawn from them (Perturbed Gibbs Sampler)."
        ),
        writes="synthetic: drawn from noisy building blocks of the table",
        keeps="What the noisy building blocks hold of it.",
    )
    rank = 1

    epsilon: Annotated[float, Range(above=0), Help("privacy loss of the data set, or of a row or block")] = 1.0
    delta: Annotated[float | None, Range(above=0, below=1), Help("none: pure epsilon; a number: zCDP")] = None
    scope: Annotated[Scope, Help("one epsilon for the data set, or for each row (as published)")] = "dataset"
    design: Annotated[Design, Help("how the model is built")] = "graph"
    parents: Annotated[Mapping[str, Any] | int | None, Range(low=1), Help("parents by column, or how many")] = None
    choose: Annotated[Choose, Help("how parents are chosen")] = "private"
    passes: Annotated[int | None, Range(low=1), Help("rounds of Gibbs sampling")] = None
    block: Annotated[int | None, Range(low=1), Help("rows per block with reset")] = None
    smoothing: Annotated[Smoothing, Help("where virtual records go, row by row")] = "uniform"
    diversity: Annotated[float | None, Range(low=1), Help("l of l-diversity, in place of epsilon")] = None
    bins: Annotated[int, Range(low=1, high=10_000), Help("bins for a numeric column with bounds")] = 16
    numbers: Annotated[Numbers, Help("how a number is drawn from its bin")] = "fine"
    missing: Annotated[Missing | None, Help("missing values: a separate level, or refused")] = None
    rows_per_person: Annotated[
        int, Range(low=1), Help("largest number of rows per person, all covered by one epsilon")
    ] = 1

    def price(self, rows: int | None = None) -> Price:
        """What fitting and drawing `rows` rows will cost, before anything is looked at.

        Examples
        --------
        >>> from shoal.synth import PeGS
        >>> print(PeGS(epsilon=0.5, scope="sample", choose="given", parents={"a": ["b"]}).price(rows=1000))
        Each row costs ε = 0.5; 1,000 rows cost ε = 500 for the data set.
        """
        self._check_combination()
        if self.scope == "dataset":
            return self._data_set_price()
        return row_price(self, rows)

    def _data_set_price(self) -> Price:
        stated = self.stated
        budget = total_budget(self.epsilon, self.delta)  # for a person; a row may cost less, in the same shares
        plan = self._plan(budget)
        shares = dict(zip(plan, budget.split(list(plan.values())), strict=True))
        how = f", accounted as {budget}" if self.delta else ""
        words = f"The data set costs {stated}, once{how}; rows are free. Planned: " + ", ".join(
            f"{name} {part}" for name, part in shares.items()
        )
        words = f"{words}; where nothing is chosen or no pair measured, the other tables get that share"
        words += "; numbers within their bins take a twelfth of all, if there are any" if self.numbers == "fine" else ""
        return Price(per_row=None, per_block=None, per_data_set=stated, shares=shares, words=f"{words}.")

    def _plan(self, budget: Budget) -> dict[str, int]:
        """What is bought, with its share of the budget."""
        if self.design in _PLANS:
            return _PLANS[self.design]
        return dict(zip(("one-way tables", "choice of pairs", "pair tables"), SHARES[budget.definition], strict=True))

    def _fit(self, table: Any, schema: Schema, account: Any, rng: Generator) -> Model:
        self._check_combination()
        if self.scope == "sample":
            return fit_by_row(self, table, schema, account, rng)
        can_pay(account, self.stated)
        total_budget(self.epsilon, self.delta, self.unit(schema))  # an error before the table is looked at
        return self.fit_tabulated(self._encoded(table, schema, rng, public=True).tabulated, schema, account, rng)

    @property
    def stated(self) -> Budget:
        """The price that claims state."""
        return Budget(epsilon=self.epsilon, delta=self.delta or 0)

    def fit_tabulated(self, encoded: Tabulated, schema: Schema, account: Any, rng: Generator) -> Model:
        """Fit to exact counts, wherever they were counted; the account is charged before any noise is drawn."""
        from shoal.synth.pegs_by_graph import fit_graph
        from shoal.synth.pegs_by_table import fit_chain_model, fit_conditionals

        stated, unit = self.stated, self.unit(schema)
        purse = Purse(left=total_budget(self.epsilon, self.delta, unit))
        parents = Parents.of(self, encoded.domain)
        charge(account, stated, f"PeGS, design {self.design}: synthetic rows, as many as wanted")
        if self.numbers == "fine":
            encoded = replace(encoded, domain=with_fine_tables(encoded, purse))
        fit = {"graph": fit_graph, "conditionals": fit_conditionals}.get(self.design, fit_chain_model)
        return fit(self, encoded, parents, purse, rng, unit)

    def unit(self, schema: Schema) -> ProtectedUnit:
        """Who is protected."""
        return ProtectedUnit(rows=self.rows_per_person, held=schema.counts_persons)

    def public_table(self, schema: Schema) -> PublicTable:
        """How rows are held to the public domain that the schema declares."""
        return PublicTable.of(schema, **self._cells(schema))

    def _encoded(self, table: Any, schema: Schema, rng: Generator, *, public: bool) -> EncodedTable:
        return encode_table(table, schema, public=public, rng=rng, **self._cells(schema))

    def _cells(self, schema: Schema) -> dict[str, Any]:
        missing = self.missing or ("level" if self.scope == "dataset" else "refuse")
        return {"bins": self.bins, "missing": missing, "owner": "PeGS", "unit": self.unit(schema)}

    def _check_combination(self) -> None:
        """Parameters that speak of the other scope are an error, not ignored."""
        if self.choose == "given" and not isinstance(self.parents, Mapping):
            raise ParameterError("PeGS", "choose='given' needs parents by column name")
        by_row = {"block": None, "diversity": None, "smoothing": "uniform"}
        if self.scope == "dataset":
            for name, silent in by_row.items():
                if getattr(self, name) != silent:
                    raise ParameterError("PeGS", f"{name} belongs to scope='sample'", hint="Set the scope.")
            if self.choose == "min-hash":
                raise ParameterError("PeGS", "choose='min-hash' belongs to scope='sample'", hint="Set the scope.")
        elif self.delta is not None:
            raise ParameterError(
                "PeGS", "delta belongs to scope='dataset'", hint="Row by row, ε is pure.", parameter="delta"
            )
        elif self.diversity is not None and (self.block is not None or self.smoothing != "uniform"):
            raise ParameterError("PeGS", "diversity can't be combined with block or smoothing", parameter="diversity")
        elif self.choose == "min-hash" and isinstance(self.parents, Mapping):
            raise ParameterError("PeGS", "choose='min-hash' takes a number of hash functions as parents")
