"""A grouper and a chain of masks: group, mask, shuffle.

The released table has the quasi-identifiers as the masks wrote them, the sensitive, weight and other columns as they
were, no identifier and no unit column, its rows in random order and no index.

Masks of a chain, blind and aware ones, come in any order. A run of blind masks sees value sets only, and its rows are
handed to the records of a group by a random permutation at its end. Given the groups as they are then, the rows of one
group are exchangeable, whatever came before: so a chain that *ends* in blind masks keeps the re-identification bound of
`shoal.mask.mask`, with the groups that the aware masks left. A chain that ends in an aware mask promises nothing of the
kind; what it leaves is measured after each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray, numbered
from shoal.canonical import canonical, retyped
from shoal.condition.attackers import risk_limits
from shoal.conform import Prepared, as_written, prepare, typed_by_input
from shoal.encode import Encoder
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Fact
from shoal.frame import Frame, pick, with_columns
from shoal.group import Grouper, Grouping, Handing
from shoal.mask import AwareMask, ColumnMask
from shoal.mask.permute import Blocks
from shoal.method import Method
from shoal.recipe.chain import Chained, Coder, Mask, run_chain
from shoal.recipe.derived import again, derived_columns, without_derived
from shoal.recipe.recipe import Made, ReadMethod, Recipe, Run, checked_methods, method_words
from shoal.recipe.rules import blocks_of, breaking, check_rules, group_within, part_of, rule_caveats
from shoal.recipe.spell import argument, preset_options
from shoal.schema import Schema

__all__ = ["Anonymization"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymization(Recipe):
    """One grouper and a chain of masks; `risk` are limits on attackers that its groups are held to.

    `population` is how many persons the table was drawn from; None: the survey weights tell, or it is all of them.
    """

    command: ClassVar[str] = "anonymize"
    entries: ClassVar[tuple[frozenset[str], ...]] = (
        frozenset({"group", "mask"}),
        frozenset({"group", "mask", "risk"}),
        frozenset({"group", "mask", "risk", "population"}),
    )
    asks: ClassVar[frozenset[str]] = frozenset({"preset"})

    group: Grouper
    masks: tuple[Mask, ...]
    risk: str | None = None
    population: float | None = None

    @classmethod
    def of(cls, group: Grouper, mask: Mask | Sequence[Mask]) -> Anonymization:
        """Take one mask or several; a wrong parameter is an error here, before any data is read."""
        masks = tuple(mask) if isinstance(mask, Sequence) else (mask,)
        (grouper,) = checked_methods("anonymize", "group must be a grouper", [group], "group")
        rule = "mask must be a mask or a list of masks"
        made = cls(group=grouper, masks=checked_methods("anonymize", rule, masks, "mask"))
        made._check_order()
        return made

    def _check_order(self) -> None:
        """Refuse what would put columns together that were handed round, or show the cells of who is left out."""
        if any(isinstance(mask, ColumnMask) for mask in self.masks[:-1]):
            hint = "A mask after it would start from rows that are nobody's."
            raise ParameterError("anonymize", "permute must be the last mask of a chain", hint=hint, parameter="mask")
        if self.leaves_out and getattr(self.masks[-1], "neighbours", False):
            raise ParameterError(
                "anonymize",
                "permute lets numbers change places before groups are rejected, whose people would leave a number",
                hint="Set neighbours=false, or merge groups that fail (failing=merge).",
                parameter="mask",
            )

    @classmethod
    def read(cls, words: Mapping[str, Any], method: ReadMethod) -> Anonymization:
        """Read it from the words of `to_dict`, or from methods as texts."""
        given = words["mask"] if isinstance(words["mask"], list | tuple) else [words["mask"]]
        made = cls.of(method("group", words["group"]), [method("mask", mask) for mask in given])
        risk, population = words.get("risk"), words.get("population")
        return made if risk is None else made.limited(str(risk), None if population is None else float(population))

    def limited(self, risk: str, population: float | None = None) -> Anonymization:
        """The same, with groups that are held to limits on attackers; a ParameterError where no mask can be."""
        limits = risk_limits(risk)
        others = {limit.attacker for limit in limits} - {"prosecutor"}
        if self.collapses or (self.is_blind and not others):
            return replace(self, risk=risk, population=population)
        raise ParameterError(
            "anonymize",
            "a limit on an attacker needs a mask that makes the rows of a group equal",
            got=self.masks[-1].name,
            hint="Use --mask centroid, or coarsen; for the prosecutor alone any blind mask will do.",
            parameter="risk",
        )

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON- and TOML-safe words."""
        words = {"group": method_words(self.group), "mask": [method_words(mask) for mask in self.masks]}
        asked = {"risk": self.risk, "population": self.population}
        return words | {name: value for name, value in asked.items() if value is not None}

    def options(self, *, preset: str | None, accept: bool, **asked: Any) -> list[str]:
        """``--group``, one ``--mask`` for each mask, and the preset."""
        masks = [part for mask in self.masks for part in ("--mask", argument(mask))]
        risk = [] if self.risk is None else ["--risk", self.risk]
        size = [] if self.population is None else ["--population", f"{self.population:g}"]
        return ["--group", argument(self.group), *masks, *risk, *size, *preset_options(preset, accept)]

    @property
    def methods(self) -> tuple[Method, ...]:
        """The grouper, then the masks."""
        return (self.group, *self.masks)

    @property
    def limits(self) -> tuple[tuple[str, float | None], ...]:
        """The limits on attackers that the groups are held to."""
        return () if self.risk is None else ((self.risk, self.population),)

    @property
    def leaves_out(self) -> bool:
        """Whether the grouper may reject groups."""
        return self.group.leaves_out

    @property
    def perturbs(self) -> bool:
        """Whether the last mask changes single records whatever their groups are."""
        return self.masks[-1].perturbs

    @property
    def why_inside(self) -> str | None:
        """What randomised response hides, figures about the original would tell."""
        if not any(mask.is_local for mask in self.masks):
            return None
        return "they compare with the private table, which randomised response doesn't cover"

    @property
    def records_groups(self) -> bool:
        """Balance rests on sums that differ in their last bits between machines; aware masks make other groups."""
        return self.group.needs_all_columns and not any(mask.is_aware for mask in self.masks)

    @property
    def repeats(self) -> bool:
        """Coins that protect are tossed once and never kept."""
        return not any(mask.is_local for mask in self.masks)

    @property
    def family(self) -> str:
        """Blind masks carry a proved bound on re-identification, aware ones are measured only."""
        return "blind masks" if self.is_blind else "aware masks"

    @property
    def k(self) -> int:
        """How many persons each group holds at least."""
        return self.group.k

    @property
    def is_blind(self) -> bool:
        """Whether the last mask is blind, so that the re-identification bound holds."""
        return not self.masks[-1].is_aware

    @property
    def collapses(self) -> bool:
        """Whether the last mask makes the rows of a group equal."""
        return self.masks[-1].collapses

    @property
    def keeps_groups(self) -> bool:
        """Masks need groups, whoever made them."""
        return True

    def rewrites(self, schema: Schema) -> tuple[str, ...]:
        """The columns besides the quasi-identifiers that masks write: sensitive ones, or all that leave."""
        handed = {name for block in self.handed(schema) for name in block}
        named = handed | set(self._coded(schema))
        return tuple(c.name for c in schema.released.columns if c.name in named and c.name not in schema.quasi)

    def handed(self, schema: Schema) -> Blocks:
        """The blocks of columns that are handed round, each by itself; none where rows are masked.

        A column that follows from others is none of them: it is computed again.
        """
        mask = self.masks[-1]
        if not isinstance(mask, ColumnMask):
            return ()
        names = [column.name for column in schema.released.columns]
        blocks = mask.blocks_of(schema, names)
        derived = {c.name for c in derived_columns(schema, [name for block in blocks for name in block])}
        return mask.blocks_of(schema, [name for name in names if name not in derived]) if derived else blocks

    def _coded(self, schema: Schema) -> tuple[str, ...]:
        """The sensitive columns that masks write as codes."""
        named = {name for mask in self.masks if isinstance(mask, AwareMask) for name in mask.rewrites(schema)}
        return tuple(name for name in schema.sensitive if name in named)

    @property
    def groups_by_response(self) -> bool:
        """Whether the grouper looks at sensitive numbers."""
        return self.group.uses_response

    def run(self, table: Any, schema: Schema, run: Run) -> Made:
        """Group, mask, shuffle."""
        run.progress("checking the table")
        prepared = canonical(prepare(table, schema))
        check_rules(prepared)
        written = self.rewrites(prepared.schema)
        masked = self._obedient(self._stepped(without_derived(prepared, written), run), run)
        grouping, chained = masked.grouping, masked.chained
        stays = np.flatnonzero(grouping.labels >= 0)
        order = run.order(len(stays))
        labels = np.full(prepared.n_original, -1, dtype=np.int64)
        labels[prepared.rows[stays]] = chained.labels
        kept_rows = prepared if len(stays) == prepared.n else part_of(prepared, stays)
        frame, gone, said = again(kept_rows, masked.released(order), written)
        kept = prepared.schema.with_columns(replace(column, role="other") for column in gone)
        return Made(
            frame=retyped(frame, typed_by_input(table, prepared.schema)),
            prepared=replace(prepared, schema=kept) if gone else prepared,
            labels=labels,
            source_rows=kept_rows.rows[order],
            facts=(*prepared.facts, *_grouping_fact(grouping.notes), *said),
            caveats=(*chained.caveats, *self._rule_caveats(prepared.schema)),
            claims=(*chained.claims, *self.group.claims(masked.shown, chained.labels)),
            steps=chained.steps,
        )

    def _rule_caveats(self, schema: Schema) -> tuple[str, ...]:
        """What rules cost; nothing where the columns of a rule are handed round together."""
        return () if self.is_apart(schema) else rule_caveats(schema, blind=self.is_blind)

    def _stepped(self, prepared: Prepared, run: Run) -> Prepared:
        """The table that is grouped: where a mask hands columns round, with numbers at neighbours in rank."""
        mask = self.masks[-1]
        if not isinstance(mask, ColumnMask):
            return prepared
        return mask.step(prepared, self.handed(prepared.schema), self.k, run.key, self.group.fixed)

    def _obedient(self, prepared: Prepared, run: Run) -> _Masked:
        """Group and mask so that the schema's rules hold (`shoal.recipe.rules`).

        Columns of a rule that are handed round together keep it, whoever gets them.
        """
        if self.is_apart(prepared.schema):
            return self._masked(prepared, np.zeros(prepared.n, dtype=np.int64), run)
        for fine in (False, True):
            masked = self._masked(prepared, blocks_of(prepared, fine=fine), run)
            broken = masked.breaking()
            if not broken.any():
                return masked
            if not self.is_blind:
                return masked.mended(broken)
        raise GuaranteeError(
            self.masks[-1].name,
            "writes rows that break the rules of the schema, and mending them by a look at who gets them would cost "
            "the bound on re-identification",
            got=f"{int(broken.sum()):,} rows",
            hint="Choose a mask that hands out whole rows (resample, gaussian-dither), or leave the rule out.",
        )

    def _masked(self, prepared: Prepared, blocks: IntArray, run: Run) -> _Masked:
        run.progress("grouping")
        found = self._grouped(run.widened(prepared), blocks, run)
        run.progress("masking")
        shown, stays = _staying(prepared, found), found.labels >= 0
        coder = Coder.of(shown, self._coded(shown.schema))
        grouping = replace(found, labels=numbered(found.labels[stays])[1])
        if blocks.any():
            chained = self._masked_by_block(shown, coder, grouping, blocks[stays], run)
        else:
            handed = self.handed(shown.schema)
            chained = run_chain(
                self.group, self.masks, shown, coder, grouping, seed=run.seed, key=run.key, handed=handed
            )
        return _Masked(grouping=found, shown=shown, coder=coder, chained=chained)

    def _grouped(self, prepared: Prepared, blocks: IntArray, run: Run) -> Grouping:
        """Settled groups as they are, the others by the grouper, among themselves."""
        handing = Handing(key=run.key, blocks=self._balanced_blocks(prepared.schema))
        if run.groups is None:
            return group_within(self.group, prepared, blocks, run.seed, handing)
        settled = run.groups[prepared.rows]
        rest = np.flatnonzero(settled < 0)
        labels = numbered(settled)[1] - bool(len(rest))
        if len(rest):
            own = numbered(blocks[rest])[1]
            found = group_within(self.group, part_of(prepared, rest), own, run.seed, handing)
            labels[rest] = np.where(found.labels < 0, -1, int(labels.max()) + 1 + found.labels)
        return Grouping(labels=labels, notes={"kept_groups": int(labels.max()) + 1})

    def _balanced_blocks(self, schema: Schema) -> Blocks:
        """The columns that stay together; what is left of whole rows is one block more."""
        handed = self.handed(schema)
        if len(handed) != 1:
            return handed
        rest = tuple(column.name for column in schema.released.columns if column.name not in handed[0])
        return (*handed, rest) if rest else ()

    def _masked_by_block(
        self, prepared: Prepared, coder: Coder, grouping: Grouping, blocks: IntArray, run: Run
    ) -> Chained:
        codes, beside = (np.empty((prepared.n, len(part.codings))) for part in (coder.quasi, coder.responses))
        labels = np.empty(prepared.n, dtype=np.int64)
        first, caveats, literal = 0, list[str](), set[str]()
        for block in range(int(blocks.max()) + 1):
            rows = np.flatnonzero(blocks == block)
            own = numbered(grouping.labels[rows])[1]
            part, mine = part_of(prepared, rows), Grouping(labels=own)
            words: dict[str, Any] = {"seed": run.seed, "key": run.key, "handed": self.handed(part.schema)}
            done = run_chain(self.group, self.masks, part, coder, mine, names=(block,), **words)
            codes[rows], beside[rows], labels[rows] = done.codes, done.response_codes, first + done.labels
            first += int(done.labels.max()) + 1
            caveats += done.caveats
            literal |= done.literal
        said = tuple(dict.fromkeys(caveats))
        return Chained(
            codes=codes,
            response_codes=beside,
            labels=labels,
            caveats=said,
            claims=(),
            steps=(),
            literal=frozenset(literal),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Masked:
    """The records that stay, and what the masks wrote for them.

    Codes are learnt from these alone: a value that only rejected records have is none that a mask can write.
    """

    grouping: Grouping
    shown: Prepared
    coder: Coder
    chained: Chained

    def released(self, order: IntArray) -> Frame:
        """The rows as they leave, in this order."""
        prepared, chained = self.shown, self.chained
        keep = [name for name in prepared.frame.columns if name in prepared.schema.released]
        rows = pick(prepared.frame.select(keep), order)
        for encoder, codes in ((self.coder.quasi, chained.codes), (self.coder.responses, chained.response_codes)):
            rows = encoder.decode(codes[order], prepared.frame, rows, chained.literal)
        rows = with_columns(rows, self._handed(order))
        return as_written(rows.select(keep), prepared.schema)

    def _handed(self, order: IntArray) -> dict[str, Any]:
        """The columns that were handed round as they were: cells of other rows, copied."""
        frame, sources = self.shown.frame, self.chained.sources
        copied = [name for name in sources if name not in self._rewritten()]
        return {name: pick(frame.select([name]), sources[name][order])[name] for name in copied}

    def _rewritten(self) -> set[str]:
        """The columns in which masks wrote other codes before they were handed round."""
        found = set()
        for encoder, codes in (
            (self.coder.quasi, self.chained.codes),
            (self.coder.responses, self.chained.response_codes),
        ):
            own = encoder.own_codes(self.shown)
            for j, name in enumerate(encoder.names):
                source = self.chained.sources.get(name)
                if source is not None and not np.array_equal(own[source, j], codes[:, j], equal_nan=True):
                    found.add(name)
        return found

    def breaking(self) -> BoolArray:
        """Which rows break a rule that speaks of a masked column."""
        schema, n = self.shown.schema.released, self.shown.n
        masked = {*schema.quasi, *self.coder.responses.names}
        rules = [rule for rule in schema.rules if set(rule.columns) & masked]
        if not rules:
            return np.zeros(n, dtype=np.bool_)
        return breaking(self.released(np.arange(n)), self.shown.schema, rules)

    def mended(self, broken: BoolArray) -> _Masked:
        """Records whose rows break a rule get their own values back in the columns of all rules."""
        tied = {name for rule in self.shown.schema.released.rules for name in rule.columns}

        def own(encoder: Encoder, codes: FloatArray) -> FloatArray:
            is_tied = np.array([name in tied for name in encoder.names], dtype=np.bool_)
            return np.where(broken[:, None] & is_tied, encoder.own_codes(self.shown), codes)

        chained, coder = self.chained, self.coder
        codes, beside = own(coder.quasi, chained.codes), own(coder.responses, chained.response_codes)
        return replace(self, chained=replace(chained, codes=codes, response_codes=beside, claims=()))


def _staying(prepared: Prepared, grouping: Grouping) -> Prepared:
    """The records that the grouper didn't reject."""
    stays = grouping.labels >= 0
    return prepared if bool(stays.all()) else part_of(prepared, np.flatnonzero(stays))


def _grouping_fact(notes: Mapping[str, Any]) -> tuple[Fact, ...]:
    """How the groups were found: it follows from all records, so it is for inside."""
    others = {name: value for name, value in notes.items() if name not in _PLAN}
    said = [*_by_blocks(notes), *(f"{name.replace('_', ' ')}: {value}" for name, value in others.items())]
    words = {**notes, "said": "; ".join(said)}
    return (Fact(says="Grouping: {said}.", values=words, counts="groups"),) if said else ()


_PLAN = ("strategy", "n_blocks", "block_rows")


def _by_blocks(notes: Mapping[str, Any]) -> list[str]:
    """What differs from grouping all records at once, which needs no words."""
    if notes.get("strategy") != "blocks":
        return []
    return [f"in {notes['n_blocks']:,} blocks of at most {notes['block_rows']:,} people, mended where blocks meet"]
