"""Everything that both reports show, gathered once.

`gather` reads the pair of original and release and keeps only summaries. Marginals, class sizes and the risk histogram
are merged here by the small-cell rule, for both audiences alike; `small`, `uniques` and the changed shares are exact
and are shown inside only. The record never holds the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from shoal.arrays import FloatArray, distinct_numbers
from shoal.claim import Claim
from shoal.coarsening import SUPPRESSED
from shoal.distance.mapped_column import MappedColumn
from shoal.fact import Step
from shoal.frame import series
from shoal.pair import Pair
from shoal.report.bands import Bands, SmallClasses, class_sizes, people_of, risk_bands
from shoal.report.correlation import Correlations, correlations_of
from shoal.report.mapping import mapped_of
from shoal.report.marginal import Marginal, marginals_of
from shoal.report.mosaic import Mosaic, mosaic_of
from shoal.report.what_was_done import ColumnAccount, accounts_of, is_coarsened, known_limits, method_words
from shoal.risk import Attackers, RiskReport
from shoal.risk import attacker_models as models
from shoal.schema.whose_rows import Noun, crowds_count, rows_count_as
from shoal.utility import Quality, Usefulness, UtilityReport

__all__ = ["Evidence", "gather"]

MOST_MARGINALS = 24
FEW = 5  # the limit of the small-cell rule where no k was asked for
MOST_CORRELATED = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a report shows of one release.

    Parameters
    ----------
    title, created, k, recipe, claims, notes, versions, hashes
        As given to `gather`.
    n_original, n_used, n_released
        Rows that came in, rows left after the schema's rules for missing numbers, rows released.
    n_people
        People among the rows used: distinct units, or rows.
    has_unit, weighted
        Whether the schema names a unit, and a survey weight.
    columns
        What became of each column.
    method, limits
        How it was made and what the method does not do, in sentences.
    marginals, n_marginals
        Distributions before and after, without small cells, of the first columns; and how many columns have one.
    sizes, risks
        Records by class size, before and after, and by probability of being found, without small cells.
    small
        Exact counts of small classes: inside only.
    correlations, n_correlated
        Correlations before and after of the first columns; and how many columns have an order.
    mosaic
        Two quasi-identifiers together, before and after; None where there are fewer than two.
    mapped
        Distances in each column before and after the metric mapping, where people were compared by it. Internal only.
    steps
        What each step of a chain did, and the risk that it left.
    hidden
        How many people each person is hidden among by construction; 1 where nothing of the kind is promised.
    is_of_people, coarsened
        Whether the released rows are people's, and whether wider values were written, so that equal rows form classes.
    leaves_out, withheld, blanked
        Whether records may have been left out; why comparisons stay inside, if they do; and then the share of blank
        values in each released quasi-identifier.
    attackers
        The attacker models on the original and on the release, with the threshold 1/k.
    risk, utility
        The measures.
    warnings
        What must be said before anything else.
    quality, usefulness
        Of synthetic rows: scores of columns and pairs, and models trained on them and tested on real people. Inside
        only.
    """

    releasable: ClassVar[bool] = False

    title: str
    created: str
    k: int
    recipe: Mapping[str, Any]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    hashes: Mapping[str, str]
    n_original: int
    n_used: int
    n_released: int
    n_people: int
    has_unit: bool
    weighted: bool
    columns: tuple[ColumnAccount, ...]
    method: tuple[str, ...]
    limits: tuple[str, ...]
    marginals: tuple[Marginal, ...]
    n_marginals: int
    sizes: Bands
    risks: Bands
    small: SmallClasses
    correlations: Correlations
    n_correlated: int
    mosaic: Mosaic | None
    mapped: tuple[MappedColumn, ...]
    steps: tuple[Step, ...]
    hidden: int
    is_of_people: bool
    coarsened: bool
    leaves_out: bool
    withheld: str | None
    blanked: Mapping[str, float]
    attackers: tuple[Attackers, Attackers]
    risk: RiskReport
    utility: UtilityReport
    rows_are: Noun = "rows"
    crowd: Noun = "rows"
    warnings: tuple[str, ...] = ()
    quality: Quality | None = None
    usefulness: Usefulness | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def smallest_class(self) -> int:
        """How many people share the rarest combination of the release."""
        return self.small.smallest[1]

    @property
    def left_out(self) -> int:
        """How many rows were left out for missing numbers: for inside."""
        return self.n_original - self.n_used

    @property
    def suppressed(self) -> int:
        """How many records were suppressed by the method: for inside."""
        return self.n_used - self.n_released

    @property
    def n_kept(self) -> int:
        """How many columns the release has."""
        return sum(account.done != "removed" for account in self.columns)


def gather(
    pair: Pair,
    *,
    recipe: Mapping[str, Any],
    claims: Sequence[Claim],
    risk: RiskReport,
    utility: UtilityReport,
    k: int,
    notes: Sequence[str],
    versions: Mapping[str, str],
    created: str,
    title: str = "Evidence for a release",
    hashes: Mapping[str, str] | None = None,
    steps: Sequence[Step] = (),
    hidden: int | None = None,
    leaves_out: bool = False,
    withheld: str | None = None,
    warnings: Sequence[str] = (),
    quality: Quality | None = None,
    usefulness: Usefulness | None = None,
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    population: float | None = None,
) -> Evidence:
    """Collect what a report of a release shows.

    Parameters
    ----------
    pair
        The original and the release.
    recipe
        How it was made: ``{"group": {"method": ..., ...}, "mask": [{"method": ..., ...}]}``. Entries that name a seed
        or a path are not shown outside.
    claims
        What is promised.
    risk, utility
        What was measured.
    k
        Smallest group size; it is also the limit of the small-cell rule, which is at least 5 where `hidden` says that
        no size was asked for.
    notes
        What else a reader must know, in sentences that may leave the secure environment.
    versions
        What computed the release.
    created
        The day, as text.
    hashes
        Names and hashes of what is published; a keyed hash of the input may be among them, a plain one must not.
    steps
        What each step of the recipe did.
    hidden
        How many people each person is hidden among; None: k.
    leaves_out
        Whether the method or the schema may leave records out.
    withheld
        Why a page for everybody shows no comparison with the original; None where it does.
    warnings
        What must be said first, in sentences that may leave the secure environment.
    quality, usefulness
        Further measures of synthetic rows, for inside.
    tables
        The linked tables in the words of the manifest: those of events have rows, parent and columns.
    population
        Number of persons that the table was drawn from; None: the survey weights, else the table is the population.

    Notes
    -----
    Survey weights count in marginals and correlations where the schema names them; class sizes and risk count
    records. A missing value is a cell of its own. Cost: O(n log n) a column.
    """
    k = k if hidden is None or hidden > 1 else max(k, FEW)
    shown = [name for name in (*pair.schema.quasi, *pair.schema.sensitive) if name in pair.released.columns]
    correlations = correlations_of(pair)
    sizes, small = class_sizes(pair, k)
    marginals, risks = marginals_of(pair, shown[:MOST_MARGINALS], k), _risk_bands(pair, risk, k)
    return Evidence(
        title=title,
        created=created,
        k=k,
        recipe=recipe,
        claims=tuple(claims),
        notes=tuple(notes),
        versions=dict(versions),
        hashes=dict(hashes or {}),
        n_original=pair.original.n_original,
        n_used=pair.original.n,
        n_released=len(pair.released),
        n_people=len(distinct_numbers(pair.original.units())),
        has_unit=pair.schema.unit is not None,
        rows_are=rows_count_as(pair.schema),
        crowd=crowds_count(pair.schema),
        weighted=pair.schema.weight is not None,
        columns=accounts_of(pair, recipe),
        method=tuple(method_words(recipe, pair, k)),
        limits=tuple(known_limits(recipe, pair)),
        marginals=marginals,
        n_marginals=len(shown),
        sizes=sizes,
        risks=risks,
        small=small,
        correlations=correlations.first(MOST_CORRELATED),
        n_correlated=len(correlations.names),
        mosaic=mosaic_of(pair, k),
        mapped=mapped_of(pair, recipe),
        steps=tuple(steps),
        hidden=k if hidden is None else hidden,
        is_of_people=pair.is_of_people,
        coarsened=is_coarsened(recipe),
        leaves_out=leaves_out,
        withheld=withheld,
        blanked=_blanked_shares(pair) if withheld else {},
        attackers=(
            models.measure(pair.original.frame, pair.schema, population, 1 / k, found=pair.original_classes()),
            models.measure(pair.released, pair.schema, population, 1 / k, found=pair.released_classes()),
        ),
        risk=risk,
        utility=utility,
        warnings=tuple(warnings),
        quality=quality,
        usefulness=usefulness,
        tables=dict(tables or {}),
    )


def _blanked_shares(pair: Pair) -> dict[str, float]:
    """The share of blank values of each quasi-identifier, counted on the released rows."""
    texts = {name: series(pair.released, name).cast(pl.String) for name in pair.schema.quasi}
    shares = {n: int((text.is_null() | (text == SUPPRESSED)).sum()) / len(text) for n, text in texts.items()}
    return shares if any(shares.values()) else {}


def _risk_bands(pair: Pair, risk: RiskReport, k: int) -> Bands:
    """Records by the group formula's probability where there is one (it varies less), else by this run's."""
    found = risk.reidentification
    records: FloatArray = found.records if found.by_group is None else found.by_group.records
    bound = 1 / k if found.by_group is None else found.by_group.bound
    people = people_of(pair)[0]
    if people is not None and found.rows is not None:
        people = people[found.rows]
    return risk_bands(records, people, bound, k)
