"""What the PeGS study says, in words: computed from its points, nothing claimed beyond them."""

from __future__ import annotations

from shoal.report.numbers import number
from shoal.study.pegs import POOL_EPSILON, POOLED, PegsStudy, Point

__all__ = ["findings"]


HIGH = 10.0  # ε per row from which the contrast of starts is printed


def findings(study: PegsStudy) -> list[str]:
    """The sentences."""
    return [
        _price(study),
        *_reset(study),
        _imputation(study),
        _equal(study),
        _designs(study),
        _regression(study),
        _attack(study),
    ]


def _at(points: tuple[Point, ...], epsilon: float, total: bool = False) -> Point:
    return next(p for p in points if (p.epsilon_per_data_set if total else p.epsilon_per_row) == epsilon)


def _price(study: PegsStudy) -> str:
    rows = study.settings.rows
    return (
        f"The ε of the paper's maps is per row. A file of {rows:,} rows at ε = 0.1 … 100 per row costs "
        f"ε = {number(0.1 * rows)} … {number(100 * rows)} for the data set."
    )


def _reset(study: PegsStudy) -> list[str]:
    plain, reset = study.curve("PeGS"), study.curve("PeGS with reset")
    wins = [p.epsilon_per_row for p, r in zip(plain, reset, strict=True) if r.marginal_mae < p.marginal_mae]
    low, high = (_at(curve, 1.0).marginal_mae for curve in (reset, plain))
    first = (
        f"At ε = 1 per row, PeGS with reset (blocks of 10) has a mean difference of margins of {low:.4f}, PeGS of "
        f"{high:.4f}: "
        f"{'as in the paper, reset is better' if low < high else 'unlike in the paper, reset is not better'} there."
    )
    where = ", ".join(number(epsilon) for epsilon in wins if epsilon is not None) or "none"
    return [first, f"Reset is better in margins at these ε per row: {where}.", _starts(study)]


def _starts(study: PegsStudy) -> str:
    """The paper's contrast once more, from start rows that look like people rather than uniform noise."""
    plain, reset = study.curve(f"PeGS{POOLED}"), study.curve(f"PeGS with reset{POOLED}")
    said = ", ".join(
        f"ε = {number(p.epsilon_per_row or 0)}: {p.marginal_mae:.4f} and {r.marginal_mae:.4f}"
        for p, r in zip(plain, reset, strict=True)
        if (p.epsilon_per_row or 0) >= HIGH
    )
    better = sum(p.marginal_mae < r.marginal_mae for p, r in zip(plain, reset, strict=True))
    return (
        "Uniform start rows still show after one pass, so the contrast above depends on them. With start rows drawn "
        f"from noisy margins (a pool that costs ε = {number(POOL_EPSILON)} once), PeGS is better in margins at "
        f"{better} of {len(plain)} values of ε; differences of margins of PeGS "
        f"and with reset at high ε per row: {said}, "
        f"means of {study.settings.draws} file(s) each."
    )


def _imputation(study: PegsStudy) -> str:
    point, floor = _at(study.curve("imputation"), 1.0), study.uniform
    return (
        f"Imputation at ε = 1 per row differs from the original by {point.marginal_mae:.4f} in margins; uniform "
        f"noise by "
        f"{floor.marginal_mae:.4f}. Below ε ≈ {len(study.sizes)} per row (one for each column) it is close to noise."
    )


def _equal(study: PegsStudy) -> str:
    ours, by_row = _at(study.total("pairs"), 1.0, True), _at(study.total("PeGS by row"), 1.0, True)
    best = min(study.curve("PeGS") + study.curve("PeGS with reset"), key=lambda p: p.pair_variation)
    verdict = "less than" if ours.pair_variation < best.pair_variation else "not less than"
    return (
        f"At ε = 1 for the whole data set, noisy tables of pairs have a mean total variation of two-way margins of "
        f"{ours.pair_variation:.3f}; PeGS by row at the same bill {by_row.pair_variation:.3f}. That is {verdict} "
        f"the best "
        f"by-row file of the study ({best.pair_variation:.3f}, which costs ε = "
        f"{number(best.epsilon_per_data_set or 0)}). "
        f"A resample of the original of the same size has {study.resample.pair_variation:.3f}."
    )


def _designs(study: PegsStudy) -> str:
    said = []
    for epsilon in (0.1, 1.0, 10.0):
        methods = ("graph, δ = 1e-9", "graph", "pairs, δ = 1e-9", "pairs", "tree", "conditionals", "margins only")
        ranked = sorted((_at(study.total(m), epsilon, True) for m in methods), key=lambda p: p.pair_variation)
        said.append(f"ε = {number(epsilon)}: " + ", ".join(f"{p.method} {p.pair_variation:.3f}" for p in ranked))
    return "Designs at equal ε for the data set, best first, by two-way total variation. " + "; ".join(said) + "."


def _regression(study: PegsStudy) -> str:
    ours, row, again = _at(study.total("pairs"), 10.0, True), _at(study.curve("PeGS"), 10.0), study.resample
    return (
        f"Linear regression of charge, mean distance in standard errors of the original: {ours.linear_errors:.1f} "
        f"for pairs at "
        f"ε = 10 for the data set, {row.linear_errors:.1f} for PeGS at ε = 10 per row, {again.linear_errors:.1f} for a "
        f"resample. The paper's own distance, which divides by coefficients, is {again.linear_distance:.1f} for "
        f"the resample."
    )


def _attack(study: PegsStudy) -> str:
    ours, again = _at(study.total("pairs"), 1.0, True), study.resample
    return (
        f"The intruder misses the diagnostic category in {ours.category_missed:.0%} of cases with pairs at ε = 1 "
        f"for the data "
        f"set, in {again.category_missed:.0%} with a resample of real records, in "
        f"{study.uniform.category_missed:.0%} with "
        "uniform noise. Guessing from a model that is true of people in general is no breach; ε bounds what a "
        "single record adds."
    )
