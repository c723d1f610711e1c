"""The attackers of a report: prosecutor, journalist and marketer, by every model of the population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from shoal.reading import Reading
from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, join, rows_table, tag
from shoal.report.numbers import between, number, percent
from shoal.report.pieces import capped, guarded, may_tell
from shoal.report.readings import verdict
from shoal.risk import Attackers

__all__ = ["attackers"]


def attackers(evidence: Evidence, internal: bool) -> list[Child]:
    """What each attacker's risk is before and after, by which model, and what to make of it."""
    return [_attacker_table(evidence, internal), _model_table(evidence, internal), _attacker_note(evidence)]


_FITS = {True: "yes", False: "poorly", None: "can't be checked"}


def _attacker_table(evidence: Evidence, internal: bool) -> Html:
    """Shares above 1/k and bands of class sizes have the same cut, so that no difference of the two tells more."""
    k, sides = evidence.k, evidence.attackers
    n = (evidence.n_used, evidence.n_released)
    above = [
        guarded(side.prosecutor.above_share, size, evidence, internal=internal)
        for side, size in zip(sides, n, strict=True)
    ]
    limits: dict[str, float] = {claim.kind: claim.value for claim in evidence.claims if claim.basis == "verified"}
    hidden = 1 / k if evidence.small.smallest[1] >= k else None
    largest, means, shares = (
        tuple(getattr(side.prosecutor, figure) for side in sides) for figure in ("largest", "mean", "above_share")
    )
    may = all(may_tell(share, size, evidence, internal=internal) for share, size in zip(shares, n, strict=True))
    texts = [capped(risk, k, internal=internal) for risk in largest]
    rows: list[tuple[Child, ...]] = [
        ("Prosecutor: largest", *_judged(largest, texts, 1 / n[1], limits.get("prosecutor risk", hidden))),
        ("Prosecutor: mean", *_judged(means, [percent(mean) for mean in means], 1 / n[1])),
        *([(f"Prosecutor: records above {percent(1 / k)}", *_judged(shares, above, 0.0))] if may else []),
        (
            "Journalist: largest expected",
            *_by_register(evidence, "largest", limits.get("journalist risk", hidden), internal),
        ),
        (
            "Marketer: expected share of correct matches",
            *_by_register(evidence, "mean", limits.get("marketer risk"), internal),
        ),
    ]
    head = ("Attacker", "Before", "After", "By chance", "Limit", "Reading")
    return rows_table("Risk by attacker", head, rows, numeric=(1, 2, 3, 4), quiet=True)


def _by_register(
    evidence: Evidence, figure: Literal["largest", "mean"], limit: float | None, internal: bool
) -> tuple[Child, ...]:
    """The highest over the models that are not seen to fit poorly, with the range over all of them.

    For everybody the range is of the released rows alone.
    """
    sides = evidence.attackers
    values = tuple(float(getattr(side.worst(figure), figure)) for side in sides)
    texts = [_risk_shown(value, figure, evidence.k, internal) for value in values]
    chance = 1 / (sides[1].population or evidence.n_released)
    before, after, *rest = _judged(values, texts, chance, limit)
    ranges = [_range(side, figure, evidence.k, internal) for side in sides]
    return before if not internal else join([before, ranges[0]]), join([after, ranges[1]]), *rest


def _range(side: Attackers, figure: str, k: int, internal: bool) -> Child:
    """From the lowest to the highest model."""
    found = [float(getattr(model, figure)) for model in side.models]
    low, high = (_risk_shown(end, figure, k, internal) for end in (min(found), max(found)))
    return None if low == high else tag("div", f"{low} to {high} by model", class_="spread")


def _risk_shown(value: float, figure: str, k: int, internal: bool) -> str:
    """The largest risk is of one class, and outside it doesn't tell one of fewer than k people."""
    return percent(value) if figure == "mean" else capped(value, k, internal=internal)


def _model_table(evidence: Evidence, internal: bool) -> Html | None:
    """What every model of the population says: of the release, and for inside of the original too."""
    before, after = evidence.attackers
    if after.population is None:
        return None
    sides = {"before": before, "after": after} if internal else {"after": after}
    rows = [
        (
            f"{model.model}, {when}",
            capped(model.largest, evidence.k, internal=internal),
            percent(model.mean),
            between(model.interval),
            _FITS[model.fits],
        )
        for when, side in sides.items()
        for model in side.models
    ]
    head = ("Model", "Largest expected", "Mean", "95% interval of the mean", "Does it describe the table?")
    return rows_table("Matched with a register of the population, by model", head, rows, numeric=(1, 2, 3))


def _judged(
    sides: tuple[float, ...], texts: Sequence[str], chance: float, limit: float | None = None
) -> tuple[Child, ...]:
    """A risk before and after, what chance gives, its limit, and the verdict, which never tells more than they do."""
    before, after = sides
    known = after if texts[0] == texts[1] else before
    read = Reading(name="", value=after, limit=limit, before=known, chance=chance)
    return *texts, percent(chance), percent(limit), verdict(read)


def _attacker_note(evidence: Evidence) -> Html:
    after = evidence.attackers[1]
    size = (
        "The table is taken to be the whole population, which is the worst case."
        if after.population is None
        else f"The population is taken to have about {number(after.population)} people; how many of them share a "
        "combination is unknown, so the journalist's and the marketer's risk are expectations under a model, and a "
        "single record may be at higher risk. No model is right: the highest figure over those that are not seen to "
        "describe the table poorly counts, and the range over all is beside it."
    )
    words = (
        "The prosecutor knows that the person is in the table; the journalist matches against a register of the "
        "population; the marketer wants as many matches as possible. The models count equal combinations and take "
        "each at face value: where a mask moved the values, they say little and the attacks above say more. "
        f"{size}"
    )
    return tag("p", words, class_="note")
