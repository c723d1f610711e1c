"""What the study of private trees says, in words: computed from its numbers, nothing claimed beyond them."""

from __future__ import annotations

from shoal.report.numbers import number
from shoal.study.dpat import EPSILONS, Deletions, DpatStudy

__all__ = ["findings"]


def findings(study: DpatStudy) -> list[str]:
    """The sentences."""
    return [_certified(study), _queries(study), *_deletions(study), _losses(study), _structure(study), _split(study)]


def _structure(study: DpatStudy) -> str:
    lines = {name: text.count("risk ") for name, text in study.trees.items()}
    plain, stable = lines.values()
    return (
        f"C4.5 has {plain} leaves at depth 4; the 0-DiffStructure stops at {stable}, where no question beats all "
        "others by more than single records can change."
    )


def _deletions(study: DpatStudy) -> list[str]:
    return [_changed(found) for found in study.deletions if found.changed] + _unchanged(study)


def _changed(found: Deletions) -> str:
    return (
        f"α = {number(found.alpha)}: {found.changed} of {found.tried} one-record deletions change the structure that "
        f"is said to be 0-private; one answer moves by up to {number(found.largest_move)} of its noise scales (ε = 1)."
    )


def _unchanged(study: DpatStudy) -> list[str]:
    """Said as what it is: no counter-example among those tried."""
    orders = [number(found.alpha) for found in study.deletions if not found.changed]
    if not orders:
        return []
    tried = study.deletions[0].tried
    return [f"α = {' and '.join(orders)}: none of {tried} one-record deletions changed the structure; others may."]


def _losses(study: DpatStudy) -> str:
    worst = max(study.losses, key=lambda loss: loss.at_hundred)
    return (
        f"Noise scaled to the leaf: at ε = 1 the exact privacy loss of an answer reaches {number(worst.inside)} for "
        f"answers between 0 and 1, {number(worst.at_ten)} at ±10 and {number(worst.at_hundred)} at ±100: it has no "
        "bound."
    )


def _queries(study: DpatStudy) -> str:
    at = EPSILONS.index(1.0)
    each, all_ = study.curve("EDPaT").mean[at], study.curve("EDPaT, ε for all queries").mean[at]
    return (
        f"At ε = 1 a query the published forest has an AUROC of {each:.3f}; if ε = 1 has to cover one query for each "
        f"person of the test half, {all_:.3f}."
    )


def _certified(study: DpatStudy) -> str:
    ours, plain = study.curve("CertifiedForest"), study.curve("C4.5, no privacy")
    values = ", ".join(f"{m:.3f} at {number(e)}" for e, m in zip(EPSILONS, ours.mean, strict=True))
    return (
        f"AUROC of the certified forest, whose ε is proved and covers the model and all its answers: {values}. C4.5 "
        f"without privacy has {plain.mean[0]:.3f}."
    )


def _split(study: DpatStudy) -> str:
    words = [f"{split.node}: {'admissible' if split.admissible else 'not admissible'}" for split in study.splits]
    return "Splits shown, " + "; ".join(words) + "."
