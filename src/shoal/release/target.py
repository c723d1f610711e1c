"""Raise k until a measured risk falls to a target.

Linkage (the share of released rows whose nearest or second nearest original is their source) falls as groups grow. From
the grouper's own k, k is raised by about a quarter at a time until linkage is at or below the target; the first
release that meets it is returned. Linkage is measured, not proved: the claims of that release say so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.errors import GuaranteeError, ParameterError
from shoal.files import Source
from shoal.release.run import Progress, Release, anonymize
from shoal.risk import linkage
from shoal.schema import Schema

__all__ = ["anonymize_to_linkage"]


def anonymize_to_linkage(
    table: Any, schema: Schema, target: float, *, group: Any, progress: Progress | None = None, **method: Any
) -> Release:
    """Anonymise with the smallest k tried whose linkage is at most `target`.

    Parameters
    ----------
    table, schema, group, progress, method
        As for `anonymize`; the k of `group` is where the search starts.
    target
        Largest share of released rows that may be linked, between 0 and 1.

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
    >>> float(release.risk.linkage) <= 0.05
    True
    """
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target < 1:
        raise ParameterError("anonymize", "target linkage must be between 0 and 1", got=repr(target)[:40])
    native = table.frame if isinstance(table, Source) else table
    while True:
        if progress:
            progress(f"trying k = {group.k}")
        release = anonymize(native, schema, group=group, **method)
        found = linkage(native, release.table, schema, source_rows=release.source_rows).share
        if found <= target:
            note = f"k was raised to {group.k}, where measured linkage is {found:.2%} (target {target:.2%})"
            return replace(release, notes=(*release.notes, note), source=table if native is not table else None)
        group = _raised(group, len(release.source_rows), found, target)


def _raised(group: Any, n: int, found: float, target: float) -> Any:
    k = max(group.k + 1, round(group.k * 1.25))
    if k > n // 2:
        raise GuaranteeError(
            "anonymize",
            f"linkage must fall to {target:.2%}",
            got=f"{found:.2%} at k = {group.k}, the largest tried",
            hint="Raise the target, or choose another mask.",
        )
    return replace(group, k=k)
