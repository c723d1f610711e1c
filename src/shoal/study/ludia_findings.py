"""What the LUDIA study found, in words: computed from its numbers, nothing claimed beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.report.numbers import listed, number, percent
from shoal.study.ludia import KINDS, PAPER_METHODS, Error, LudiaStudy
from shoal.study.ludia_inpatient import InpatientPart, LevelError
from shoal.study.paired import paired

__all__ = ["averages", "best", "claims", "findings"]

_CLOSE = 1.02
_CONTRASTS = (
    ("LUDIA, standardised", "Ridge"),
    ("LUDIA, standardised", "LUDIA"),
    ("LUDIA, standardised", "LUDIA, as printed"),
    ("LUDIA, standardised", "MP"),
    ("Crossed", "Ridge"),
    ("Crossed", "Ridge, two sets"),
)
_OURS = ("MP", "ER", "Ridge", "LUDIA", "LUDIA, standardised", "CUDIA")


def findings(study: LudiaStudy) -> list[str]:
    """Where each method wins, and what the paper's sentences come to."""
    return [
        *_wins(study),
        *_many(study),
        *_knob(study),
        *_starts(study),
        *_seeds(study),
        *_inpatient(study),
        *claims(study),
    ]


def averages(errors: Sequence[Error], kind: str, n_groups: int | None = None) -> dict[str, float]:
    """Mean absolute error by method, over the sizes of a kind of table."""
    rows = [e for e in errors if e.kind == kind and n_groups in (None, e.n_groups)]
    methods = dict.fromkeys(e.method for e in rows)
    return {m: sum(e.mae for e in rows if e.method == m) / sum(e.method == m for e in rows) for m in methods}


def best(found: dict[str, float]) -> str:
    """The method with the least error."""
    return min(found, key=lambda method: found[method])


def _said(found: dict[str, float], methods: Sequence[str]) -> str:
    return ", ".join(f"{m} {number(found[m])}" for m in methods if m in found)


def _wins(study: LudiaStudy) -> Iterator[str]:
    for kind in KINDS:
        found = averages(study.few, kind)
        first, second = sorted(found, key=lambda method: found[method])[:2]
        against = paired(_runs(study.few, kind, first), _runs(study.few, kind, second))
        word = "wins" if against.clear else f"is lowest, but not clearly below {second}"
        yield (
            f"{study.settings.n_groups} groups, {kind}: {first} {word} ({against}; mean absolute error over group "
            f"sizes: {_said(found, _OURS)})."
        )


def _runs(errors: Sequence[Error], kind: str, method: str) -> list[float]:
    return [value for e in errors if (e.kind, e.method) == (kind, method) for value in e.runs]


def _seeds(study: LudiaStudy) -> Iterator[str]:
    """What holds over many draws, each contrast with its interval."""
    for part in study.seeds:
        means = {name: sum(values) / len(values) for name, values in part.errors.items()}
        yield f"{part.data}, hospital level, {study.settings.seeds} draws: mean errors {_said(means, list(means))}."
        for one, other in _CONTRASTS:
            against = paired(part.errors[one], part.errors[other])
            lower, higher = (one, other) if against.difference < 0 else (other, one)
            verdict = f"{lower} is below {higher}" if against.clear else f"{one} and {other} can't be told apart"
            yield f"{part.data}: {verdict} ({one} minus {other}: {against})."


def _many(study: LudiaStudy) -> Iterator[str]:
    for n_groups in dict.fromkeys(e.n_groups for e in study.many):
        ratios = []
        for kind in KINDS:
            found = averages(study.many, kind, n_groups)
            ratios.append(found["Ridge"] / min(found.values()))
        within = "is" if max(ratios) <= _CLOSE else "is not"
        yield (
            f"{n_groups} groups of different case mix: ridge with correction {within} within 2% of the best method "
            f"everywhere (at most {percent(max(ratios) - 1)} behind); LUDIA is "
            f"{_times(study, n_groups)} the best method's error."
        )


def _times(study: LudiaStudy, n_groups: int) -> str:
    found = [averages(study.many, kind, n_groups) for kind in KINDS]
    times = [f["LUDIA"] / min(f.values()) for f in found]
    return f"{number(min(times))} to {number(max(times))} times"


def _knob(study: LudiaStudy) -> Iterator[str]:
    for n_groups in dict.fromkeys(e.n_groups for e in study.knob):
        found = averages(study.knob, "RE1", n_groups)
        yield (
            f"LUDIA's error depends on its number of iterations: on RE1 with {n_groups} groups it is least at "
            f"{best(found)} of those tried ({_said(found, list(found))}). The aggregates don't show which to take."
        )


def _starts(study: LudiaStudy) -> Iterator[str]:
    said = ", ".join(f"{s.start} {number(s.mae)}" for s in study.starts)
    worst, least = max(s.mae for s in study.starts), min(s.mae for s in study.starts)
    word = "comparable" if worst <= 1.25 * least else "not comparable"
    yield f"Three starts of LUDIA on RE1 are {word} after 50 iterations: {said}."


def _inpatient(study: LudiaStudy) -> Iterator[str]:
    for part in study.inpatient:
        levels = list(dict.fromkeys(e.level for e in part.levels))
        wins = [f"{level} {best(_by_method(part.levels, level))}" for level in levels]
        yield f"{part.data}: least error by level on this one table: {', '.join(wins)}."
        yield from _downstream(part)


def _downstream(part: InpatientPart) -> Iterator[str]:
    if part.daily:
        near = min((d for d in part.daily if d.method != "original"), key=lambda d: d.distance)
        effects = min((e for e in part.effects if e.method != "original"), key=lambda e: e.effects_mse)
        yield (
            f"{part.data}: the histogram of daily charges is nearest with {near.method} (total variation "
            f"{number(near.distance)}), hospital intercepts with {effects.method} (mean squared error "
            f"{number(effects.effects_mse)}, slope {number(effects.slope)} against {number(part.effects[0].slope)})."
        )
    trained = {e.method: e.mae for e in part.lasso if e.method != "original"}
    first = best(trained)
    level = [e.method for e in part.lasso if e.method not in ("original", first) and e.behind <= e.half]
    yield (
        f"{part.data}: a lasso trained on rebuilt targets errs least with {first}; not to be told apart from it, "
        f"person by person: {listed(level) if level else 'none'} ({_said(trained, _OURS)}; trained on the truth "
        f"{number(part.lasso[0].mae)})."
    )


def _by_method(rows: Sequence[LevelError], level: str) -> dict[str, float]:
    return {e.method: e.mae for e in rows if e.level == level}


def claims(study: LudiaStudy) -> list[str]:
    """The paper's sentences, and whether they reproduce here."""
    return [*_claim_simulated(study), *_claim_levels(study), _claim_lasso(study)]


def _claim_simulated(study: LudiaStudy) -> Iterator[str]:
    kinds = [kind for kind in KINDS if kind != "FE"]
    against = {kind: averages(study.few, kind) for kind in kinds}
    paper = [k for k in kinds if best({m: against[k][m] for m in PAPER_METHODS}) == "LUDIA"]
    fair = [k for k in kinds if best(against[k]).startswith("LUDIA")]
    yield (
        "Paper: except for FE, LUDIA has the least error. Against the paper's own rivals (MP, ER without "
        f"correction) this {_holds(paper, kinds)}; against all methods here it {_holds(fair, kinds)}. These are means; "
        "intervals are said above."
    )
    beside = {kind: paired(_runs(study.many, kind, "LUDIA"), _runs(study.many, kind, "ER")) for kind in KINDS}
    ahead = [kind for kind, found in beside.items() if found.clear and found.difference < 0]
    yield (
        "Paper: ER can't follow random effects. With the correction and many groups, that LUDIA is clearly below it "
        f"{_holds(ahead, KINDS)} (LUDIA minus ER: {'; '.join(f'{kind} {found}' for kind, found in beside.items())})."
    )


def _holds(where: Sequence[str], asked: Sequence[str]) -> str:
    if len(where) == len(asked):
        return "reproduces everywhere"
    return f"reproduces on {listed(list(where))} only" if where else "does not reproduce anywhere"


def _claim_levels(study: LudiaStudy) -> Iterator[str]:
    for part in study.inpatient:
        levels = list(dict.fromkeys(e.level for e in part.levels))[1:]
        ahead = [lv for lv in levels if best(_by_method(part.levels, lv)).startswith("LUDIA")]
        if levels:
            yield (
                f"Paper, Table 4.3: LUDIA is best below the county. On one draw of {part.data} this "
                f"{_holds(ahead, levels)}."
            )


def _claim_lasso(study: LudiaStudy) -> str:
    ahead = [
        part.data
        for part in study.inpatient
        if best({e.method: e.mae for e in part.lasso if e.method != "original"}).startswith("LUDIA")
    ]
    asked = [part.data for part in study.inpatient]
    return (
        f"Paper, Figure 4.8: targets by LUDIA train the best lasso. On one table each this {_holds(ahead, asked)}; "
        "which methods can't be told apart from the first, person by person, is said above."
    )
