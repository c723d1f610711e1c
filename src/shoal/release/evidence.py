"""What the two reports of a release are drawn from: everything for inside, and what the gate lets through.

The evidence for outside is gathered from the kept records alone (`shoal.release.disclose`), so a page drawn from it
can't tell of anybody who was left out. Where no comparison may leave, it holds none: whoever asks it for one gets an
error and not a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal import report
from shoal.errors import GuaranteeError
from shoal.fact import Step, sentences
from shoal.release.disclose import Measured, rounded, why_inside
from shoal.release.manifest import versions
from shoal.report.account import accounts_of
from shoal.report.bands import Bands
from shoal.report.correlation import Correlations
from shoal.report.marginal import Marginal

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = ["gathered"]


def gathered(release: Release, words: Mapping[str, Any], digest: str) -> tuple[report.Evidence, report.Evidence]:
    """The evidence for inside and for outside; `words` is the manifest, `digest` the hash of the released table."""
    common = {
        "recipe": words["recipe"],
        "k": release.small_cell,
        "hidden": release.recipe.k,
        "versions": versions(),
        "created": words["created"],
        "hashes": {"released table, SHA-256": digest, "input, keyed hash": words["input"]["commitment"]},
        "leaves_out": release.leaves_out,
        "withheld": why_inside(release),
    }
    inside = report.gather(
        release.pair,
        claims=release.claims,
        risk=release.risk,
        utility=release.utility,
        steps=release.steps,
        notes=release.notes,
        **common,
    )
    return inside, _outside(release, inside, common)


def _outside(release: Release, inside: report.Evidence, common: Mapping[str, Any]) -> report.Evidence:
    kept = release.kept
    if kept is None:
        return _without_comparisons(release, _told(release, inside))
    same = kept.pair.original.n == release.prepared.n
    whole = inside if same else _of_kept(release, kept, common)
    return _rounded(_told(release, whole), kept)


def _of_kept(release: Release, kept: Measured, common: Mapping[str, Any]) -> report.Evidence:
    return report.gather(
        kept.pair, claims=release.claims, risk=kept.risk, utility=kept.utility, steps=(), notes=(), **common
    )


def _told(release: Release, evidence: report.Evidence) -> report.Evidence:
    """The same with the facts that may leave, and with no row but the released ones."""
    n = evidence.n_released
    return replace(
        evidence,
        claims=release.outside_claims,
        notes=sentences(release.facts, outside=True),
        steps=tuple(Step(name=step.name, outside=step.outside) for step in release.steps),
        columns=tuple(replace(account, changed_share=None) for account in evidence.columns),
        n_original=n,
        n_used=n,
    )


def _rounded(evidence: report.Evidence, kept: Measured) -> report.Evidence:
    return replace(
        evidence,
        risk=rounded(kept.risk),
        utility=rounded(kept.utility),
        attackers=rounded(evidence.attackers),
        correlations=rounded(evidence.correlations),
        marginals=tuple(map(_with_round_shares, evidence.marginals)),
        sizes=rounded(evidence.sizes),
        risks=rounded(evidence.risks),
    )


def _without_comparisons(release: Release, evidence: report.Evidence) -> report.Evidence:
    columns = accounts_of(release.kept_pair, evidence.recipe)
    none = Bands(bands=())
    withheld: Any = _Withheld()
    return replace(
        evidence,
        columns=tuple(replace(account, changed_share=None) for account in columns),
        marginals=(),
        n_marginals=0,
        sizes=none,
        risks=none,
        correlations=Correlations.none(),
        n_correlated=0,
        mosaic=None,
        attackers=withheld,
        risk=withheld,
        utility=withheld,
    )


class _Withheld:
    """Stands where a comparison with the original would be: any look at it is an error."""

    def __getattr__(self, name: str) -> Any:
        raise GuaranteeError("external report", "must not compare with the original")

    __getitem__ = __getattr__


def _with_round_shares(marginal: Marginal) -> Marginal:
    """Shares are rounded; edges are round numbers as they are, and three digits can't tell 12344.2 from 12344.4."""
    short: Marginal = rounded(marginal)
    edges = zip(short.cells, marginal.cells, strict=True)
    return replace(short, cells=tuple(replace(cell, low=own.low, high=own.high) for cell, own in edges))
