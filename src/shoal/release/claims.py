"""Which claims a recipe earns, and on what basis.

- Rows of a group made equal, by coarsening or by a mask that does so at the end of a chain: **k-anonymity**, verified
  by counting.
- A chain that ends in a blind mask, and any coarsening: the **re-identification bound** of `shoal.mask.mask`, proved.
  (The rows of a class are equal and in random order, so no rule tells them apart.) With one row per person it is 1/k.
  Where persons have several rows, person u is hit with probability at most (rows of u)/(rows of u's group), and the
  claim is the largest of these; where a pseudonym ties a person's rows together, it is that of
  `shoal.release.pseudonyms`.
- A chain that ends in an aware mask: the **group size**, verified, which limits nobody's risk by itself; where the mask
  changes single records whatever their groups are (noise, swapping, PRAM), not even that.
- Always: the **re-identification** that the nearest-match attack really achieves, measured; and, where columns are
  published unchanged, what an attack achieves that uses them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, cast

import polars as pl

from shoal.arrays import IntArray
from shoal.canonical import plain
from shoal.claim import Claim, Kind, Unit
from shoal.claim_wording import ALONE, ONE_ATTACK, QUASI, SENSITIVE, counted_once, statement
from shoal.condition import Conditions
from shoal.condition.attackers import RiskLimit, risk_limits, worst_risks
from shoal.condition.requirements import MINIMALITY, Promise
from shoal.conform import Prepared
from shoal.equivalence import classes_of
from shoal.errors import GuaranteeError
from shoal.frame import adopt, enter, pick, series, with_columns
from shoal.pair import Pair
from shoal.recipe import Recipe
from shoal.recipe.rules import breaking
from shoal.release.disclose import significant
from shoal.release.reidentification_bound import bound_claim, bound_of, has_token, minimality, tied
from shoal.risk import RiskReport
from shoal.schema import Column, Rule, Schema
from shoal.schema import Kind as ColumnKind
from shoal.schema.whose_rows import assumed_of_rows, crowds_count

__all__ = [
    "Frequency",
    "attacker_risks",
    "cell_claims",
    "checkable_rules",
    "class_claims",
    "k_anonymity",
    "promises",
    "require_kept",
    "rules_claim",
    "unit_of",
]


def promises(
    recipe: Recipe, pair: Pair, labels: IntArray, risk: RiskReport, caveats: Sequence[str]
) -> tuple[Claim, ...]:
    """The claims of a release made by `recipe`."""
    hidden = _hidden(recipe, pair, labels, risk, caveats)
    beside = _measured_by_all(risk, pair.schema, recipe.rewrites(pair.schema))
    return (*hidden, _measured(risk.reidentification), *beside, *rules_claim(pair))


def checkable_rules(pair: Pair) -> tuple[Rule, ...]:
    """The rules of the schema that a released row can obey or break: those without a coarsened column.

    An interval or set holds the true value, so it can't break a rule that the original obeys.
    """
    coarse = {name for name in pair.schema.released.quasi if _is_coarse(pair, name)}
    shown = set(pair.released.columns) - coarse
    return tuple(rule for rule in pair.schema.released.rules if shown.issuperset(rule.columns))


def _is_coarse(pair: Pair, name: str) -> bool:
    return pair.exact is not None and not bool(pair.exact[:, pair.encoder.names.index(name)].all())


def rules_claim(pair: Pair) -> tuple[Claim, ...]:
    """No released row breaks a rule, counted."""
    rules = checkable_rules(pair)
    if not rules:
        return ()
    broken = int(breaking(pair.released, pair.schema, rules).sum())
    if broken:
        raise GuaranteeError("release", "every row must obey the rules of the schema", got=f"{broken} that don't")
    return (
        Claim(
            kind="rules kept",
            value=len(rules),
            scope="per record",
            basis="verified",
            unit="records",
            statement=statement("rules kept", claim={"value": len(rules)}),
            assumptions=("The rules are those of the schema, which the manifest lists.",),
        ),
    )


def _hidden(recipe: Recipe, pair: Pair, labels: IntArray, risk: RiskReport, caveats: Sequence[str]) -> Iterator[Claim]:
    if recipe.k < 2:
        return
    if recipe.perturbs:
        return
    if recipe.collapses or (not recipe.is_blind and risk.classes.k >= recipe.k):
        yield k_anonymity(recipe.k, pair.schema, assumptions=(*minimality(recipe), *_several(pair.schema)))
    yield from _mixed(recipe, pair, labels)
    yield from _limited(recipe, pair, labels)
    if recipe.is_blind:
        yield bound_of(recipe, pair, labels, caveats)
    else:
        yield _group_size(recipe.k, pair, caveats)


def class_claims(
    recipe: Recipe, schema: Schema, largest_share: float, mixes: Sequence[Promise] = ()
) -> tuple[Claim, ...]:
    """What a coarsening claims by its classes alone, nothing being measured.

    `largest_share` is the most of a class that one person holds, `mixes` are promises that were counted.
    """
    bound = max(1 / recipe.k, largest_share)
    return (
        k_anonymity(recipe.k, schema, assumptions=minimality(recipe)),
        *(_mix_claim(promise, unit_of(schema), shows=True) for promise in mixes),
        bound_claim(recipe, schema, bound, (), measured=False),
    )


def cell_claims(
    recipe: Recipe,
    schema: Schema,
    largest_share: float,
    caveats: Sequence[str],
    found: Frequency,
    mixes: Sequence[Promise] = (),
) -> tuple[Claim, ...]:
    """What an anonymization cell by cell claims; `largest_share` is the most of a group that one person holds.

    `mixes` are promises about sensitive columns that were counted and hold.
    """
    bound = max(1 / recipe.k, largest_share)
    hidden = [k_anonymity(recipe.k, schema)] if recipe.collapses else []
    hidden += [_mix_claim(promise, unit_of(schema), shows=recipe.collapses) for promise in mixes]
    return (*hidden, bound_claim(recipe, schema, bound, caveats, measured=False), _measured(found))


def unit_of(schema: Schema) -> Unit:
    """What a release of this schema counts: records, or persons where a column tells them apart."""
    return "persons" if schema.counts_persons else "records"


def k_anonymity(k: float, schema: Schema, *, assumptions: Sequence[str] = ()) -> Claim:
    """Every combination is shared by k."""
    unit = unit_of(schema)
    return Claim(
        kind="k-anonymity",
        value=k,
        scope=f"per {unit[:-1]}",
        basis="verified",
        unit=unit,
        statement=statement("k-anonymity", claim={"value": k, "unit": unit}),
        assumptions=(
            QUASI,
            *assumed_of_rows(schema),
            *assumptions,
            ALONE,
        ),
    )


def _mixed(recipe: Recipe, pair: Pair, labels: IntArray) -> Iterator[Claim]:
    """l-diversity and t-closeness that methods were asked for, counted on the release.

    Where a record's own row took part in what was written, the mix of its group limits nothing, and nothing is claimed.
    """
    records, own = _as_written(pair), labels[pair.original.rows][pair.source_rows]
    for method in recipe.methods:
        asked = {name: getattr(method, name, None) for name in ("diversity", "closeness")}
        if not recipe.is_blind or all(words is None for words in asked.values()):
            continue
        conditions = Conditions.of(records, k=getattr(method, "k", 1), **asked)
        worst = conditions.found(own, int(own.max()) + 1)
        for promise, found in zip(conditions.promises(), worst, strict=True):
            require_kept(promise, found)
            if promise.column:
                yield _mix_claim(promise, unit_of(pair.schema), shows=recipe.collapses)


def require_kept(promise: Promise, found: float) -> None:
    """Refuse a release whose worst class, which has `found`, breaks a promise."""
    if not promise.holds(found):
        raise GuaranteeError("release", promise.statement.rstrip("."), got=f"{found:.4g} in the worst class")


def _limited(recipe: Recipe, pair: Pair, labels: IntArray) -> Iterator[Claim]:
    """Limits on attackers that methods were given, counted on the release."""
    for words, population in recipe.limits:
        limits = risk_limits(words)
        for limit, value in zip(limits, attacker_risks(limits, pair, labels, population), strict=True):
            if not limit.holds(value):
                raise GuaranteeError("release", limit.statement.rstrip("."), got=f"{value:.4g}")
            claim = _limit_claim(limit, pair.schema, population, minimality(recipe))
            yield (
                claim
                if recipe.collapses
                else replace(claim, scope="per group", assumptions=(_DRAWN, *claim.assumptions))
            )


_DRAWN = "A class is the group that a row was drawn from, which the table doesn't show."


def attacker_risks(
    limits: Sequence[RiskLimit], pair: Pair, labels: IntArray, population: float | None
) -> tuple[float, ...]:
    """The risk of each limit's attacker, with the groups of the released rows as classes; persons count."""
    own = labels[pair.original.rows][pair.source_rows]
    people = pl.DataFrame({"class": own, "person": pair.original.units()[pair.source_rows]})
    found = classes_of(enter(people), ["class"], None if pair.schema.unit is None else "person")
    return worst_risks(limits, pick(pair.original.frame, pair.source_rows), pair.schema, found, population)


def _limit_claim(limit: RiskLimit, schema: Schema, population: float | None, assumed: Sequence[str]) -> Claim:
    kind = cast(Kind, f"{limit.attacker} risk")  # checked by the claim itself
    return Claim(
        kind=kind,
        value=limit.value,
        scope="mean over records" if limit.attacker == "marketer" else "per record",
        basis="verified",
        unit=unit_of(schema),
        statement=limit.statement,
        assumptions=(*_of_model(limit, schema, population), *assumed, ALONE),
    )


def _of_model(limit: RiskLimit, schema: Schema, population: float | None) -> list[str]:
    if limit.attacker == "prosecutor":
        return [QUASI]
    if population is None and schema.weight is None:
        return [QUASI, "The table is taken to be the whole population, which is the worst case."]
    size = "the survey weights say" if population is None else f"a population of {population:,.0f} people implies"
    return [
        QUASI,
        f"How many people of the population share a combination is unknown: as many as {size} are expected (negative "
        "binomial model), and a single record may be at higher risk than its expectation.",
    ]


def _as_written(pair: Pair) -> Prepared:
    """The records that were released, in the order of the release, with their sensitive columns as they are in it."""
    frame = pick(pair.original.frame, pair.source_rows)
    shown = {name: plain(series(pair.released, name)) for name in pair.schema.sensitive}
    changed = {name: new for name, new in shown.items() if not _same(new, series(frame, name))}
    return replace(
        pair.original,
        frame=with_columns(frame, {name: adopt(new, frame) for name, new in changed.items()}),
        schema=pair.schema.with_columns(_recoded(pair.schema[name], new) for name, new in changed.items()),
        rows=pair.original.rows[pair.source_rows],
    )


def _same(new: pl.Series, old: pl.Series) -> bool:
    return new.cast(old.dtype, strict=False).equals(old)


def _recoded(column: Column, new: pl.Series) -> Column:
    """A rewritten column: a number that stays one has its order, anything else has lost its levels."""
    kind: ColumnKind = "numeric" if column.kind == "numeric" and new.dtype.is_numeric() else "nominal"
    return replace(column, kind=kind, levels=None, bounds=None)


def _mix_claim(promise: Promise, unit: Unit, *, shows: bool) -> Claim:
    """`shows`: whether rows of a group are equal, so that the table shows its classes."""
    kind = cast(Kind, f"{promise.measure} {promise.kind}")  # checked by the claim itself
    return Claim(
        kind=kind,
        value=promise.value,
        scope="per class" if shows else "per group",
        basis="verified",
        column=promise.column,
        unit=unit,
        statement=promise.statement + counted_once({"unit": unit}),
        assumptions=(
            SENSITIVE,
            *([] if shows else [_GROUPS]),
            MINIMALITY,
            ALONE,
        ),
    )


_GROUPS = (
    "A class is the group that a row was drawn from. The table doesn't show the groups, and what is written beside a "
    "sensitive value is drawn without a look at it; where it depends on the quasi-identifiers, it may tell more."
)


def _group_size(k: int, pair: Pair, caveats: Sequence[str]) -> Claim:
    unit = unit_of(pair.schema)
    return Claim(
        kind="group size",
        value=k,
        scope=f"per {unit[:-1]}",
        basis="verified",
        unit=unit,
        statement=statement("group size", claim={"value": k, "unit": unit}),
        assumptions=(
            "The size of a group limits nobody's risk by itself: a record's own row took part in what was written. Go "
            "by the measured risk.",
            *assumed_of_rows(pair.schema),
            *caveats,
            ALONE,
        ),
    )


def _several(schema: Schema) -> list[str]:
    rows = "The rows of a person carry one pseudonym: k counts each row's combination, not what several show together."
    return [*tied(schema), *([rows] if has_token(schema) else [])]


class Frequency(Protocol):
    """What an attack found: how often it hits, within which interval, and on how many records it was tried."""

    @property
    def expected(self) -> float: ...  # noqa: D102
    @property
    def interval(self) -> tuple[float, float]: ...  # noqa: D102
    @property
    def n_targets(self) -> int: ...  # noqa: D102
    @property
    def sampled(self) -> bool: ...  # noqa: D102


def _measured(found: Frequency) -> Claim:
    value = significant(found.expected)
    return Claim(
        kind="re-identification frequency",
        value=value,
        scope="mean over records",
        basis="measured",
        unit="records",
        statement=statement("re-identification frequency", claim={"value": value}, matched=_matched(found)),
        assumptions=(ONE_ATTACK,),
        interval=(significant(found.interval[0]), significant(found.interval[1])),
    )


def _matched(found: Frequency) -> str:
    if found.sampled:
        return f"the originals of {found.n_targets:,} released records, drawn at random,"
    return "the original of every released record"


def _measured_by_all(risk: RiskReport, schema: Schema, written: Sequence[str]) -> tuple[Claim, ...]:
    """What is found by quasi-identifiers and unchanged columns together: the bound doesn't cover it.

    Sensitive columns that masks have `written` are used as they stand.
    """
    found = risk.unchanged
    if found.expected is None or found.interval is None:
        return ()
    value, names = significant(found.expected), ", ".join(found.columns)
    tried = f" (tried on {found.n_targets:,} of them, drawn at random)" if found.sampled else ""
    used = set(written) & set(found.columns)
    columns = "columns beside the quasi-identifiers" if used else "columns published unchanged"
    unit: Unit = "persons" if crowds_count(schema) == "people" else "records"
    return (
        Claim(
            kind="re-identification through unchanged columns",
            value=value,
            scope=f"mean over {unit}",
            basis="measured",
            unit=unit,
            statement=statement(
                "re-identification through unchanged columns",
                claim={"value": value},
                columns=columns,
                names=names,
                whom=crowds_count(schema),
                tried=tried,
            ),
            assumptions=(
                ONE_ATTACK,
                "The intruder knows how these columns depend on the quasi-identifiers, and nobody's values of them.",
            ),
            interval=(significant(found.interval[0]), significant(found.interval[1])),
        ),
    )
