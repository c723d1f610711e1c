"""Hold a finished release to the rules of a preset; what was found is among its facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.compliance import preset as find_preset
from shoal.compliance.presets import Check, Preset
from shoal.errors import GuaranteeError
from shoal.fact import Fact
from shoal.release.release import Release
from shoal.schema import Schema

__all__ = ["held_to"]


def held_to(release: Release, name: str, *, accept: bool) -> Release:
    """Hold a release to the rules of a preset; what was found is among its facts."""
    wanted = find_preset(name)
    n_left_out = int((release.labels < 0).sum())
    allowed = {name for method in release.recipe.methods for name in getattr(method, "allow", ())}
    looked_at = Schema(tuple(column for column in release.schema.columns if column.name not in allowed))
    checks = wanted.findings(release.table, looked_at, n_left_out=n_left_out)
    failed = [check for check in checks if not check.holds]
    if failed and not accept:
        raise GuaranteeError(
            f"preset {name}",
            f"wants {'; '.join(check.rule for check in failed)}",
            got="; ".join(check.words for check in failed),
            hint="Give the columns another role or coarsen them; allow those that merely look like identifiers "
            "(--allow), or accept the findings (--accept).",
        )
    return replace(release, facts=(*release.facts, *_preset_facts(wanted, checks)), preset=name)


def _preset_facts(preset: Preset, checks: Sequence[Check]) -> list[Fact]:
    """What the rules found on the released table, and what the preset doesn't do."""
    says = "{preset}: {rule}: {words}"
    found = [
        Fact(
            says=says,
            values={"preset": preset.name, "rule": check.rule, "words": check.words, "holds": check.holds},
            outside=check.outside,
        )
        for check in checks
    ]
    limits = [
        Fact(says="{preset}: {limit}", values={"preset": preset.name, "limit": limit}, outside=True)
        for limit in preset.limits
    ]
    return [*found, *limits]
