"""Every column by itself: the cells of each column are handed round inside groups, whatever the other columns do.

Masks that release whole rows keep a row together: who knows a few columns of a person finds the row and reads the
others. Here no row is a person's. Each column, or *block* of tied columns, is shuffled inside the groups by a uniform
permutation of its own; numbers first change places with neighbours in rank (`shoal.mask.rank_step`), so that an exact
value doesn't point at its person's group ("slicing", Li, Li, Zhang and Molloy 2012, with a step before it).

**Bound.** *My cell* is the one that came from my row, not one of equal value. Given the table, the groups and all other
permutations, my cell of block b sits at a place of one group g, and the permutation of b carries it to each of the
n_g rows of g with the same chance. So for a row R chosen by anything but that permutation, by any set of other blocks
and any knowledge,

    P(R holds my cell of b)  ≤  1/n_g  ≤  1/k,

and all cells of m blocks meet in one row with chance at most 1/k^(m−1). The groups may depend on all columns.

Not promised: anything about values. Somebody else's cell may say the same as mine, a level of few people is seen, and a
group points at people like it; columns of one block are read together; margins are exact, so who knows everybody else's
values of a column reads mine. It assumes one row a person and one release: of two with fresh permutations, my value is
the one that comes back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.conform import Prepared
from shoal.encode import Coding, readable
from shoal.errors import GuaranteeError, ParameterError, SchemaError
from shoal.frame import pick, series, with_columns
from shoal.mask.aware import Masking
from shoal.mask.rank_step import rank_step, within
from shoal.method import Method, ReportText
from shoal.params import Help, check
from shoal.rng import secret
from shoal.schema import Rule, Schema

__all__ = ["Blocks", "ColumnMask", "Permute"]

Blocks = tuple[tuple[str, ...], ...]
"""Columns that change hands together."""


class ColumnMask(Method):
    """Writes no new value: it hands the cells of every column that leaves round, by itself, within groups."""

    family = "mask"
    is_aware: ClassVar[bool] = False
    perturbs: ClassVar[bool] = False
    is_local: ClassVar[bool] = False
    collapses: ClassVar[bool] = False
    needs_all_columns = True

    @classmethod
    def is_apart_with(cls, parameters: Mapping[str, Any]) -> bool:
        """Return True if with these parameters no released row is a person's."""
        return True

    @abstractmethod
    def blocks_of(self, schema: Schema, names: Sequence[str]) -> Blocks:
        """Return the blocks that are handed round among the columns `names`, each column in one at most."""

    @abstractmethod
    def step(self, prepared: Prepared, blocks: Blocks, k: int, key: str, fixed: Collection[str] = ()) -> Prepared:
        """Return the table that is grouped: the same, or with values in other rows; columns that are `fixed` stay."""

    @abstractmethod
    def hand_out(self, state: Masking, blocks: Blocks, key: str, names: tuple[int | str, ...]) -> Masking:
        """Return the state with each block handed round inside groups, by coins of the secret key alone."""

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Return what must be said beside a claim about a release made from `state`."""
        return ()

    def claims(self, state: Masking) -> tuple[Claim, ...]:
        """Return what the mask promises besides the bound when it alone makes a release of `state`."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Permute(ColumnMask):
    """Shuffle each column by itself inside groups.

    Parameters
    ----------
    blocks
        ``"columns"``: each column by itself. Tied columns, such as a time and its event, go together as blocks:
        ``[["time", "event"]]``, in words ``time+event/sex+age``; all others are by themselves. ``"rows"``: the
        quasi-identifiers go together as whole rows, and all other columns stay.
    neighbours
        Numbers and ordered levels first change places with neighbours in rank, in runs of at least k people that keep
        ties whole; a block of one number and levels does so among people of the same levels. Without it, who knows an
        exact value finds the group of its person.

    Notes
    -----
    Columns that a rule of the schema ties are one block, so the rule holds in every row; columns that follow from
    others are computed again. Missing values, with their reasons, are cells like others. Weights are a column like
    others: weighted means and totals are unbiased, weighted slopes are not. Margins are kept exactly. The permutations
    come from the secret key. Cost: a sort for each column.

    References
    ----------
    Li, Li, Zhang and Molloy 2012, "Slicing: a new approach for privacy preserving data publishing".

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(600, seed=1)
    >>> schema = shoal.datasets.health_survey_schema()
    >>> release = shoal.anonymize(table, schema, group=shoal.Balanced(k=11), mask=shoal.Permute())
    >>> all(sorted(release.table[name]) == sorted(table[name]) for name in release.table.columns)
    True
    """

    title = "every column shuffled by itself"
    summary = "Each column is shuffled by itself among people who are grouped: no row is a person's row."
    promise = (
        "A row chosen by any other of your values holds your own cell of a column in at most 1/k of cases (proved)."
    )
    report_text = ReportText(
        done="Each column was shuffled by itself inside the groups: no released row is a person's row.",
        writes="shuffled by itself among the people of the group",
        keeps="Every value, exactly as often as before.",
    )
    rank = 5

    blocks: Annotated[
        str | Sequence[Any], Help("columns, rows, or tied columns that go together, as in time+event/sex+age")
    ] = "columns"
    neighbours: Annotated[bool, Help("numbers first change places with neighbours in rank")] = True

    @classmethod
    def report_text_with(cls, parameters: Mapping[str, Any]) -> ReportText:
        """Of whole rows, other columns stay."""
        return _ROWS if parameters.get("blocks") == "rows" else cls.report_text

    @classmethod
    def is_apart_with(cls, parameters: Mapping[str, Any]) -> bool:
        """Return True if with these parameters no released row is a person's."""
        return parameters.get("blocks") != "rows"

    def blocks_of(self, schema: Schema, names: Sequence[str]) -> Blocks:
        """Return the blocks that are handed round; a ParameterError where they name what doesn't leave."""
        check(self)
        if self.blocks == "rows":
            quasi = tuple(name for name in names if name in schema.quasi)
            if not quasi:
                raise SchemaError("schema", "must name at least one quasi-identifier to hand rows round")
            return (quasi,)
        asked = self._asked(names)
        _refuse_pseudonyms(schema, asked)
        joined = _joined([*asked, *_tied(schema.released.rules, names)], names)
        if len(joined) < 2:
            hint = "Name fewer columns in one block, or choose another mask."
            raise SchemaError("Permute", "needs at least two columns that are shuffled apart", got="1", hint=hint)
        return joined

    def step(self, prepared: Prepared, blocks: Blocks, k: int, key: str, fixed: Collection[str] = ()) -> Prepared:
        """Return the table with numbers at neighbours in rank."""
        _require_one_row_each(prepared)
        if not self.neighbours:
            return prepared
        columns: dict[str, Any] = {}
        for number, block in enumerate(blocks):
            if set(block) & set(fixed):
                continue
            sources = _stepped(prepared, block, k, secret(key, "neighbours", number, *block))
            if sources is not None:
                moved = pick(prepared.frame.select(list(block)), sources)
                columns |= {name: moved[name] for name in block}
        return replace(prepared, frame=with_columns(prepared.frame, columns)) if columns else prepared

    def hand_out(self, state: Masking, blocks: Blocks, key: str, names: tuple[int | str, ...]) -> Masking:
        """Return the state with each block shuffled inside groups."""
        sources: dict[str, IntArray] = {}
        for number, block in enumerate(blocks):  # whatever columns are called, no two blocks share their coins
            order = within(state.labels, secret(key, "permute", *names, number, *block))
            sources |= dict.fromkeys(block, order)
        written = {name: state.column(name)[sources[name]] for name in state.coded if name in sources}
        return replace(state.writing(written), sources={**state.sources, **sources})

    def _asked(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The blocks of several columns that were asked for."""
        if self.blocks == "columns":
            return []
        given = self.blocks.split("/") if isinstance(self.blocks, str) else self.blocks
        asked = [tuple(block.split("+")) if isinstance(block, str) else tuple(block) for block in given]
        seen: set[str] = set()
        for block in asked:
            for name in block:
                if name not in names:
                    rule = "blocks must name columns that leave, once each"
                    raise ParameterError("Permute", rule, got=f"'{name}'", hint=_hint(names), parameter="blocks")
                if name in seen:
                    rule = "blocks must not name a column twice"
                    raise ParameterError("Permute", rule, got=f"'{name}'", parameter="blocks")
                seen.add(name)
        return asked


_ROWS = ReportText(
    done="The quasi-identifiers of each group were randomly redistributed among its members, as whole rows.",
    writes="replaced: the values of the person's group, randomly redistributed",
    keeps="Every value, exactly as often as before.",
)


def _hint(names: Sequence[str]) -> str:
    return f"Write columns or rows, or choose among: {', '.join(names)}."


def _tied(rules: Iterable[Rule], names: Sequence[str]) -> list[tuple[str, ...]]:
    """The columns that each rule speaks of: together they keep it."""
    return [tuple(name for name in dict.fromkeys(rule.columns) if name in names) for rule in rules]


def _joined(parts: Sequence[tuple[str, ...]], names: Sequence[str]) -> Blocks:
    """Blocks in which columns of one part are together, in the order of the table.

    Examples
    --------
    >>> _joined([("a", "b"), ("b", "d")], ["a", "b", "c", "d"])
    (('a', 'b', 'd'), ('c',))
    """
    block = {name: {name} for name in names}
    for part in parts:
        together = set().union(*(block[name] for name in part))
        block |= dict.fromkeys(together, together)
    found: dict[tuple[str, ...], None] = {}
    for name in names:
        found[tuple(other for other in names if other in block[name])] = None
    return tuple(found)


def _refuse_pseudonyms(schema: Schema, asked: Sequence[tuple[str, ...]]) -> None:
    """A pseudonym by itself is nobody's: it stays with columns or with events, where that is said."""
    placed = {name for block in asked for name in block}
    loose = [name for name in schema.pseudonym if name not in placed]
    if loose:
        raise SchemaError(
            "schema",
            f"column '{loose[0]}' is released under a pseudonym, which is nobody's where every column is shuffled",
            hint="Name it in blocks, with the columns that it goes along with (alone: with its events), or drop it.",
        )


def _require_one_row_each(prepared: Prepared) -> None:
    n_persons = int(prepared.units().max(initial=-1)) + 1
    if n_persons < prepared.n:
        raise GuaranteeError(
            "Permute",
            "shuffles the columns of one row a person",
            got=f"{prepared.n:,} rows of {n_persons:,} persons",
            hint="Keep a row a person, link persons and events as two tables, or choose another mask: resample.",
        )


def _stepped(prepared: Prepared, block: Sequence[str], k: int, rng: Generator) -> IntArray | None:
    """For each row of a block with one number, and levels, the row whose cells it gets; None where nothing moves.

    A block with a column that can't be read, or with a pseudonym, stays.
    """
    codings = readable(prepared, block)
    if len(codings) < len(block):
        return None
    read = [_read(prepared, codings[name]) for name in block]
    ordered = [numbers for numbers, _ in read if numbers is not None]
    if len(ordered) != 1:
        return None
    levels = [levels for numbers, levels in read if numbers is None and levels is not None]
    strata = np.unique(np.column_stack(levels), axis=0, return_inverse=True)[1].reshape(-1) if levels else None
    return rank_step(ordered[0], k, rng, strata)


def _read(prepared: Prepared, coding: Coding) -> tuple[FloatArray | None, IntArray | None]:
    return coding.numbers_and_levels(series(prepared.frame, coding.name))
