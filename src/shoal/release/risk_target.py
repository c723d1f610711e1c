"""Raise k until a risk falls to a target: linkage, as measured, or the risk of an attacker, as counted.

Linkage (the share of released rows whose nearest or second nearest original is their source) falls as groups grow. From
the grouper's own k, k is raised by about a quarter at a time until the mean linkage of some pilot releases, made with
seeds of their own and thrown away, is at or below the target. Then one release is made at that k and kept whatever its
own linkage is.

Choosing among finished releases by their linkage would be wrong: it favours permutations that hide people from this
attack, and whoever knows the rule could undo them. The proved bound needs a permutation that nothing has selected.

The risk of an attacker (`shoal.condition.attackers`) follows from the groups alone, whatever the permutation, so the
release at the smallest k that meets it is the one that is kept. The limits become part of its recipe: each is a claim
that is counted on the release, refuses it where it doesn't hold, and is counted again by `shoal verify`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from shoal.condition.attackers import risk_limits, smallest_k
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Fact
from shoal.files import Source
from shoal.recipe import Anonymization, Progress, quiet
from shoal.release.claims import attacker_risks
from shoal.release.make import anonymize
from shoal.release.release import Release
from shoal.risk import linkage
from shoal.schema import Schema

__all__ = ["anonymize_to_linkage", "anonymize_to_risk"]

_PILOTS = 3


def anonymize_to_linkage(
    table: Any, schema: Schema, target: float, *, group: Any, progress: Progress | None = None, **method: Any
) -> Release:
    """Anonymise with the smallest k tried at which pilot releases have a mean linkage of at most `target`.

    Parameters
    ----------
    table, schema, group, progress, method
        As for `anonymize`; the k of `group` is where the search starts.
    target
        Share of released rows that may be linked, between 0 and 1. The release's own linkage is measured and
        reported; it can lie a little above.

    Raises
    ------
    GuaranteeError
        Not even groups of half the file meet the target.

    Examples
    --------
    >>> import shoal
    >>> from shoal.release import anonymize_to_linkage
    >>> table, schema = shoal.datasets.health_survey(400, seed=1), shoal.datasets.health_survey_schema()
    >>> release = anonymize_to_linkage(table, schema, 0.05, group=shoal.MDAV(k=2), mask=shoal.Resample(), seed=1)
    >>> release.recipe.group.k > 2, float(release.risk.linkage) < 0.1
    (True, True)
    """
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target < 1:
        raise ParameterError("anonymize", "target linkage must be between 0 and 1", got=repr(target)[:40])
    native = table.frame if isinstance(table, Source) else table
    group, found = _large_enough(native, schema, target, group, method, progress or quiet)
    release: Release = anonymize(table, schema, group=group, progress=progress, **method)
    chosen = Fact(
        says="k = {k} was chosen on pilot releases, whose mean linkage was {found:.2%} (target {target:.2%})",
        values={"k": group.k, "found": found, "target": target},
    )
    return replace(release, facts=(*release.facts, chosen))


def _large_enough(
    table: Any, schema: Schema, target: float, group: Any, method: Mapping[str, Any], progress: Progress
) -> tuple[Any, float]:
    same: dict[str, Any] = {name: method.get(name) for name in ("mask", "pseudonyms")}
    same["allow"] = method.get("allow", ())
    while True:
        progress(f"trying k = {group.k}")
        pilots = [anonymize(table, schema, group=group, **same) for _ in range(_PILOTS)]
        found = sum(float(linkage(table, p.table, schema, source_rows=p.source_rows)) for p in pilots) / _PILOTS
        if found <= target:
            return group, found
        group = _raised(group, len(pilots[0].source_rows), found, target)


def _raised(group: Any, n: int, found: float, target: float) -> Any:
    k = max(group.k + 1, round(group.k * 1.25))
    if k > n // 2:
        raise GuaranteeError(
            "anonymize",
            f"linkage must fall to {target:.2%}",
            got=f"{found:.2%} at k = {group.k}, the largest tried",
            hint="Raise the target, or choose another mask.",
        )
    return group.clone().set_params(**{group.size_parameter: k})


def anonymize_to_risk(
    table: Any,
    schema: Schema,
    risk: str,
    *,
    group: Any,
    mask: Any,
    population: float | None = None,
    progress: Progress | None = None,
    **method: Any,
) -> Release:
    """Anonymise with the smallest k tried at which the attackers' risks are within their limits.

    Parameters
    ----------
    table, schema, group, mask, progress, method
        As for `anonymize`; the k of `group` is where the search starts.
    risk
        The limits, such as ``"journalist:0.05/marketer:0.01"`` (`shoal.condition.attackers`).
    population
        Persons that the table was drawn from. None: the survey weights tell, or the table is the population.

    Raises
    ------
    ParameterError
        The chain ends in an aware mask; or it ends in a mask that leaves rows of a group different, which form no
        classes for a register to be matched with, and another attacker than the prosecutor is named.
    GuaranteeError
        No k meets the limits.

    Examples
    --------
    >>> import shoal
    >>> from shoal.release import anonymize_to_risk
    >>> table, schema = shoal.datasets.health_survey(400, seed=1), shoal.datasets.health_survey_schema()
    >>> release = anonymize_to_risk(
    ...     table, schema, "prosecutor:0.1", group=shoal.MDAV(k=2), mask=shoal.Centroid(), seed=1)
    >>> release.recipe.group.k
    10
    """
    limits, say = risk_limits(risk), progress or quiet
    Anonymization.of(group, mask).limited(risk, population)

    def run(k: int) -> Release:
        say(f"trying k = {k}")
        raised = group.clone().set_params(**{group.size_parameter: k})
        made: Release = anonymize(table, schema, group=raised, mask=mask, progress=progress, **method)
        return made

    def meets(release: Release) -> bool:
        found = attacker_risks(limits, release.pair, release.labels, population)
        return all(limit.holds(value) for limit, value in zip(limits, found, strict=True))

    k, release = smallest_k(limits, group.k, run, meets)
    fact = Fact(says="k = {k} is the smallest tried at which {risk} holds", values={"k": k, "risk": risk})
    held = cast(Anonymization, release.recipe).limited(risk, population)
    return replace(release, recipe=held, facts=(*release.facts, fact))
