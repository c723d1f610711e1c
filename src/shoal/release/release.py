"""A released table with its evidence: what was made, how, what it promises, and what was measured.

Measures and claims are computed when first asked for, all from one pair of original and release.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray, distinct_numbers
from shoal.canonical import plain
from shoal.claim import Claim, claim_rows
from shoal.compliance import Preset
from shoal.conform import Prepared
from shoal.errors import ParameterError
from shoal.fact import Fact, Step, sentences
from shoal.files import Source
from shoal.files.linked import LinkedSource
from shoal.frame import Frame, enter, series
from shoal.pair import NOBODY, Pair
from shoal.pseudonym import Pseudonyms
from shoal.reading import Reading
from shoal.recipe import Linked, Progress, Recipe, quiet
from shoal.record import html_table
from shoal.register.beside_earlier import Beside
from shoal.release.claims import promises, rules_claim
from shoal.release.disclose import Measured, measured
from shoal.release.headlines import found_lines, keeps_lines, replicated_lines, variation_lines
from shoal.release.treated import treated_columns
from shoal.report.readings import notebook_table
from shoal.risk import RiskReport
from shoal.risk import assess as assess_risk
from shoal.risk.closest_record import measure as closest_to
from shoal.rng import fresh_seed, is_repeatable
from shoal.schema import LinkedSchema, Schema
from shoal.schema.whose_rows import WhoseRows, whose_rows
from shoal.utility import Quality, Usefulness, UtilityReport
from shoal.utility import assess as assess_utility
from shoal.utility.quality import quality_of
from shoal.utility.suppressed import SuppressionLoss, loss_between
from shoal.utility.usefulness import usefulness_of

if TYPE_CHECKING:
    from shoal.dp import Spending
    from shoal.recipe.paid_model import PaidModel
    from shoal.synth import Model

__all__ = ["Release", "SyntheticRelease", "checked_seed"]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A released table with its evidence.

    `labels` and `source_rows` are internal: they link released rows to people and are never written.

    Parameters
    ----------
    table
        What goes out, of the same type as what came in: rows shuffled, no index, no identifier.
    schema, declared
        The schema with every kind settled, and as it was given.
    recipe
        How the table was made.
    facts
        What else happened, and whether it may leave the secure environment.
    labels
        The group of each original row: who hides with whom; −1 for a row that was left out.
    source_rows
        The original row of each released row.
    seed, key
        The seed of what repeats, and the secret key of who got which row and of the order of the rows.
    original, prepared
        The table as it came in, and as the run worked on it: held to the schema, in plain types, sorted by content.
    caveats
        What must be said beside the bound on re-identification.
    earned
        Claims of the method itself, beside those that every release of its sort carries.
    steps
        What each step of a chain did.
    preset
        The set of rules that the table was held to.
    repeatable
        Whether the key follows from a seed, as in studies; such a release is never written.
    model
        The fitted model of a synthetic release.
    spending
        The account that a synthetic release was charged to, and what it has spent so far; None without an account.
    paid
        Where the model that was paid for is kept until the release is written; None where it isn't.
    pseudonyms
        What the pseudonyms were made with; None where there are none.
    control
        People of the same population who took no part in a synthetic release; None: nobody is known.
    linked
        The tables of events, where the release is of linked tables; `table` then holds all tables by name.
    beside
        What it gives away beside earlier releases of the same people, where a register was given.
    entry
        What the register records when the release is written.
    whole, held_back
        The table with the people whom the register held back, and which of its rows are theirs; None where nobody was.
    """

    table: Any
    schema: Schema
    recipe: Recipe
    facts: tuple[Fact, ...]
    labels: IntArray
    source_rows: IntArray
    seed: int
    key: str = field(repr=False)
    original: Any
    prepared: Prepared
    declared: Schema
    source: Source | LinkedSource | None = None
    caveats: tuple[str, ...] = ()
    earned: tuple[Claim, ...] = ()
    steps: tuple[Step, ...] = ()
    preset: Preset | None = None
    repeatable: bool = field(default_factory=is_repeatable)
    model: Model | None = None
    spending: Spending | None = None
    paid: PaidModel | None = field(default=None, repr=False)
    pseudonyms: Pseudonyms | None = None
    control: Any = field(default=None, repr=False)
    linked: Linked | None = None
    beside: Beside | None = None
    entry: Any = field(default=None, repr=False)
    whole: Any = field(default=None, repr=False)
    held_back: BoolArray | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"Release({len(self.source_rows)} rows, {self.recipe.title})"

    def _repr_html_(self) -> str:
        """The release as a notebook shows it: what it promises, and what was measured; it measures, if need be."""
        promised = html_table(repr(self), claim_rows(self.claims), ("basis", "promise", "what it says"))
        return promised + notebook_table("measured (internal)", [*self.risk_lines, *self.utility_lines])

    @property
    def frame(self) -> Frame:
        """The released table; of linked ones that of the persons."""
        return enter(self.table if self.linked is None else self.table[self.linked.schema.persons.name])

    @property
    def described(self) -> Schema | LinkedSchema:
        """The schema as it was given, of one table or of linked ones."""
        return self.declared if self.linked is None else self.linked.declared or self.linked.schema

    @property
    def stem(self) -> str:
        """The name of the file of the released table, without its ending."""
        return "release" if self.linked is None else self.linked.schema.persons.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What else happened, in sentences, for inside."""
        return sentences(self.facts)

    @property
    def treated(self) -> dict[str, list[str]]:
        """The columns that a preset removed or rewrote and those that a person allowed, by what was done; inside."""
        return treated_columns(self.facts, self.described, self.preset)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be said first, and may leave."""
        return () if self.beside is None else self.beside.warnings

    @cached_property
    def whose_rows(self) -> WhoseRows:
        """What rows count as, by the schema as it was given and by the whole table: internal."""
        if self.linked is None:
            return whose_rows(enter(self.original), self.declared)
        persons = self.linked.schema.persons.name
        return whose_rows(enter(self.original[persons]), self.declared)

    @property
    def inside_warnings(self) -> tuple[str, ...]:
        """What must be said first, to those who may see the whole table."""
        found = self.whose_rows
        keyed = f"{found.question} Each key counts as a person: give copies of one person one key, or declare "
        text = found.warning if self.linked is None else f'{keyed}repeats = "different people".' if found.asked else ""
        return (*filter(None, [text]), *self.warnings)

    @cached_property
    def quality(self) -> Quality | None:
        """Scores of columns and pairs of a synthetic table; None where rows are people's."""
        return None

    @cached_property
    def usefulness(self) -> Usefulness | None:
        """How well models that learnt from a synthetic table predict real people."""
        return None

    @cached_property
    def pair(self) -> Pair:
        """Original and release side by side (internal); the original's rows are in the order of `prepared`."""
        place = np.full(self.prepared.n_original + 1, NOBODY, dtype=np.int64)
        place[self.prepared.rows] = np.arange(self.prepared.n)
        return Pair.between(self.prepared, self.frame, place[self.source_rows])

    @cached_property
    def risk(self) -> RiskReport:
        """What an intruder achieves against this release."""
        recipe = self.recipe
        return assess_risk(
            self.pair,
            labels=None if recipe.perturbs else self.labels,
            k=recipe.k,
            seed=self.seed,
            exchangeable=recipe.is_blind,
            population=recipe.population_size,
        )

    @cached_property
    def utility(self) -> UtilityReport:
        """What the release keeps of the original."""
        return assess_utility(self.pair, seed=self.seed)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What is promised, each with its basis and assumptions."""
        risk = self.risk if self.outside_measures is None else self.outside_measures.risk
        return (*promises(self.recipe, self.pair, self.labels, risk, self.caveats), *self.earned)

    @property
    def outside_claims(self) -> tuple[Claim, ...]:
        """The claims that may leave: what was measured stays inside where comparisons do."""
        if self.outside_measures is not None:
            return self.claims
        return tuple(claim for claim in self.claims if claim.basis != "measured")

    @cached_property
    def outside_measures(self) -> Measured | None:
        """What was measured over the records that were kept; None where no comparison may leave."""
        return measured(self)

    @cached_property
    def suppression(self) -> SuppressionLoss | None:
        """What left-out records and blanked cells took from each level; None where nothing was. For inside only."""
        original, rows = self.original if self.whole is None else self.whole, self.source_rows
        if self.held_back is not None:
            rows = np.flatnonzero(~self.held_back)[rows]
        own = enter(original if self.linked is None else original[self.linked.schema.persons.name])
        return loss_between(own, self.frame, rows, self.schema, blanks=self.recipe.blanks_cells)

    @property
    def leaves_out(self) -> bool:
        """Whether the method or a rule for missing numbers may leave records out."""
        dropping = any(c.missing == "drop" and c.kind == "numeric" for c in self.schema.columns)
        return self.recipe.leaves_out or dropping

    @property
    def small_cell(self) -> int:
        """Counts below it are not shown outside: k, or 5 where no k was asked for."""
        return self.recipe.k if self.recipe.k > 1 else 5

    @property
    def outside_pair(self) -> Pair:
        """Original and release over the records that were kept."""
        return self.pair.without_left_out()

    @property
    def outside_labels(self) -> IntArray:
        """The group of each released person's record, in the order of `outside_pair`: numbered as they first appear."""
        own = self.labels[self.prepared.rows]
        return own[distinct_numbers(self.pair.source_rows)]

    def measure(self, *, progress: Progress | None = None) -> None:
        """Measure risk and utility and state the claims, now and not when they are first asked for."""
        say = progress or quiet
        say("measuring risk")
        _ = self.risk
        say("measuring utility")
        _ = self.utility, self.quality, self.usefulness
        _ = self.claims  # claims may need both again, without the records that were left out

    @property
    def risk_lines(self) -> list[Reading]:
        """The first numbers of what an intruder achieves."""
        return found_lines(self)

    @property
    def utility_lines(self) -> list[Reading]:
        """The first numbers of what the release keeps."""
        return keeps_lines(self)

    def in_file_types(self) -> pl.DataFrame:
        """The table as it is written: its types follow from the released rows, not from the input."""
        frame = self.frame
        return pl.DataFrame([plain(series(frame, name)) for name in frame.columns])

    def write(
        self,
        directory: str | PathLike[str],
        *,
        format: str = "csv",
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Write what may leave to `directory` (table, manifest, report), what may not to a folder beside it.

        ``write("out/")`` puts replay file, internal report and model into ``out.internal/``, which only the owner can
        read. Both folders appear together or not at all. The written table is read back and measured again; if a claim
        fails, nothing is left behind and a GuaranteeError is raised.

        Parameters
        ----------
        directory
            Must not exist yet, or be empty, or hold an older release and `overwrite` be True; the same holds for the
            folder beside it.
        format
            Ending of the table file: csv, tsv, parquet, and with the extra `formats` dta, sav, xpt.
        """
        from shoal.release.write import write

        return write(self, Path(directory), format=format, overwrite=overwrite, progress=progress or quiet)


class SyntheticRelease(Release):
    """A release whose rows are nobody's: nobody is found in it, and nothing is promised but what its model claims."""

    @cached_property
    def risk(self) -> RiskReport:
        """What an intruder achieves, who finds nobody's group."""
        found = assess_risk(self.pair, labels=None, k=self.recipe.k, seed=self.seed, exchangeable=False)
        if self.control is None:
            return found
        return replace(found, closest=closest_to(self.pair, control=self.control, seed=self.seed))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where columns are tied to nothing: it follows from noisy tables, or from the method."""
        return () if self.model is None else self.model.ties.notes

    @cached_property
    def quality(self) -> Quality:
        """Scores of columns and pairs."""
        return quality_of(self.pair, seed=self.seed)

    @cached_property
    def usefulness(self) -> Usefulness | None:
        """How well models that learnt from the rows predict real people."""
        return usefulness_of(self.pair, control=self.control, seed=self.seed)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What the model claims, and the rules that its rows keep."""
        return (*self.earned, *rules_claim(self.pair))

    @property
    def suppression(self) -> None:
        """There are no records of people to leave out."""
        return

    @property
    def leaves_out(self) -> bool:
        """There are no records of people to leave out."""
        return False

    @property
    def outside_pair(self) -> Pair:
        """No record is anybody's, so none was left out."""
        return self.pair

    @property
    def risk_lines(self) -> list[Reading]:
        """How often the combination of a single person came out again."""
        return replicated_lines(self)

    @property
    def utility_lines(self) -> list[Reading]:
        """How far the shares moved."""
        return variation_lines(self)

    def in_file_types(self) -> pl.DataFrame:
        """The types of the schema, which are public."""
        return self.frame.to_polars()


def checked_seed(seed: int | None) -> int:
    """The given seed, or a fresh secret one."""
    if seed is None:
        return fresh_seed()
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError("release", "seed must be a whole number of at least 0", got=repr(seed)[:40])
    return int(seed)
