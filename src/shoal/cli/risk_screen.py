"""What `shoal risk` prints: first what would help, then who stands out, against whom, what attacks found, and
what planned aggregates give away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.cli.console import WIDE, clipped, err, out, print_table
from shoal.cli.console import out as screen
from shoal.reading import Counts, Reading
from shoal.report.numbers import between, percent
from shoal.report.readings import reading_lines, reading_words
from shoal.report.who_stands_out import change_words
from shoal.risk import ClassReport
from shoal.risk.exposure import AggregateExposure, aggregate_exposure

__all__ = ["exposure", "print_classes", "print_risk", "tell_exposure"]

_CHANGES, _COLUMNS, _SETS = 3, 4, 3
_MOST = 15
_ASKED = "asked for"
_NEEDING = ("singling-out", "linkability", "guessing")
_UNCONTROLLED = " (over guessing; --control would tell what holds for anybody from a leak)"


def print_risk(
    found: Mapping[str, Any],
    limits: Mapping[str, float],
    broken: Mapping[str, float],
    *,
    verbose: bool,
    counts: Counts = "rows",
) -> None:
    """The summary, at most fifteen lines of 80 columns; with `verbose` everything. `counts`: what a row stands for."""
    for line in _summary(found, limits, counts):
        out.print(clipped(line), markup=False, soft_wrap=True, highlight=False)
    for name, value in broken.items():
        end = _UNCONTROLLED if name in _NEEDING and "membership" not in found else ""
        err.print(f"{name}: {percent(value)} is above the limit of {percent(limits[name])}{end}", markup=False)
    if verbose:
        for reading in _readings(found, limits, counts):
            out.print(f"{reading.name}: {reading.meaning} {reading_words(reading)}", markup=False, soft_wrap=True)
        _everything(found, counts)
    else:
        out.print("More with --verbose: values, combinations and records (internal).", markup=False)
    if "aggregates" in found:
        tell_exposure(found["aggregates"])


def _summary(found: Mapping[str, Any], limits: Mapping[str, float], counts: Counts) -> list[str]:
    """What would help, who stands out, and every figure with its yardsticks; what has a limit is always shown."""
    readings = _readings(found, limits, counts)
    asked = [reading for reading in readings if reading.basis == _ASKED]
    others = [reading for reading in readings if reading.first and reading not in asked]
    shown = [*asked, *others][: _MOST - 6]
    rows = [reading for reading in readings if reading in shown]
    fitness = list(_fitness(found))
    room = _MOST - 3 - len(rows) - len(fitness)
    table = [*reading_lines("Against whom", rows), *fitness]
    help_, who = list(_help(found)), list(_who(found, counts))
    first = help_[: max(1, min(len(help_), room - len(who)))] if room > len(who) else help_[:1]
    return [_standing(found), *first, *who[: max(0, room - len(first))], *table]


def _standing(found: Mapping[str, Any]) -> str:
    classes, n = found["classes"], found["what_if"].n_records
    was = f" ({found['before'].k} before)" if "before" in found else ""
    return f"{n:,} rows in {classes.n_classes:,} classes; smallest class k = {classes.k}{was}"


def _alone(k: int) -> str:
    return "alone in their class" if k == 2 else f"in classes of fewer than {k}"


def _help(found: Mapping[str, Any]) -> Iterator[str]:
    what_if = found["what_if"]
    useful = [change for change in what_if.changes if change.n_freed > 0][:_CHANGES]
    if not useful:
        none = "nobody stands out" if not what_if.n_at_risk else "no single step does; coarsen several columns"
        yield f"What would help most: {none}"
        return
    strongest = what_if.strongest
    shown = useful if strongest is None or strongest in useful else [*useful[:-1], strongest]
    for change in shown:
        counts = f"{what_if.n_at_risk:,} → {change.n_at_risk:,}"
        yield f"What would help: {change_words(change):<32} {counts:>16}, loses {percent(change.information_lost)}"


def _who(found: Mapping[str, Any], counts: Counts) -> Iterator[str]:
    parts, suda = found["contribution"], found["suda"]
    if not parts.n_at_risk:
        return
    columns = [c for c in parts.columns if c.shapley > 0][:_COLUMNS]
    yield _joined("Who stands out: by ", [f"{c.column} {percent(c.shapley / parts.share)}" for c in columns])
    if suda.by_columns:
        sets = sorted(suda.by_columns, key=lambda item: (len(item[0]), -item[1]))[:_SETS]
        smallest = [f"{' + '.join(names)} ({count:,})" for names, count in sets]
        yield _joined(f"  {suda.n_at_risk:,} {counts} alone on {suda.size} columns or fewer: ", smallest)


def _joined(start: str, items: Sequence[str]) -> str:
    """As many of the items as fit a line, the first at any rate."""
    shown = next((n for n in range(len(items), 1, -1) if len(start + ", ".join(items[:n])) <= WIDE), 1)
    return clipped(start + ", ".join(items[:shown]))


def _readings(found: Mapping[str, Any], limits: Mapping[str, float], counts: Counts) -> list[Reading]:
    """Every figure, the most telling first: of a release, what attacks on it found."""
    made = [
        *_classes(found, limits, counts),
        *_matching(found, counts),
        *_attacks(found, limits),
        *_whom(found, limits, counts),
    ]
    beyond = [*_households(found, limits), *_events(found, limits)]
    return [*(replace(one, counts=counts) for one in made), *beyond]


def _classes(found: Mapping[str, Any], limits: Mapping[str, float], counts: Counts) -> Iterator[Reading]:
    what_if, classes, k = found["what_if"], found["classes"], found["what_if"].k
    yield Reading(
        name=_alone(k),
        first=True,
        value=what_if.n_at_risk / what_if.n_records,
        before=found["before"].small_share(k) if "before" in found else None,
        chance=0.0,
        against="nobody",
        n=what_if.n_records,
        limit=limits.get("unique") if k == 2 else None,
        basis=_ASKED if k == 2 and "unique" in limits else "",
        meaning=f"Share of {counts} whose combination of quasi-identifiers too few others have.",
    )
    if k > 2 and "unique" in limits:
        share, n = classes.unique_share, classes.n_records
        yield Reading(name=_alone(2), value=share, n=n, limit=limits["unique"], basis=_ASKED)


def _whom(found: Mapping[str, Any], limits: Mapping[str, float], counts: Counts) -> Iterator[Reading]:
    attackers, n = found["attackers"], found["classes"].n_records
    most = attackers.threshold
    yield Reading(
        name="prosecutor, largest",
        first=True,
        value=attackers.prosecutor.largest,
        chance=1 / n,
        limit=limits.get("prosecutor", most),
        basis=_ASKED if "prosecutor" in limits else "usual",
        meaning="Who knows that a person is in the table finds them with probability 1/f; above the usual limit of "
        f"{percent(most)} are {round(attackers.prosecutor.above_share * n):,} {counts}, mean "
        f"{percent(attackers.prosecutor.mean)}.",
    )
    if attackers.population is None and not {"journalist", "marketer", "individual"} & set(limits):
        return
    yield from _registers(found, limits, counts)


def _registers(found: Mapping[str, Any], limits: Mapping[str, float], counts: Counts) -> Iterator[Reading]:
    """Against somebody who has a register of the population: the range over all models, and the highest trusted."""
    attackers, single, n = found["attackers"], found["individual"], found["classes"].n_records
    largest, mean, above = (attackers.worst(figure) for figure in ("largest", "mean", "above_share"))
    yield Reading(
        name=f"journalist, {_range(attackers.largest_spread, largest)}",
        first=True,
        value=largest.largest,
        limit=limits.get("journalist", attackers.threshold),
        basis=_ASKED if "journalist" in limits else "usual",
        meaning=f"Largest expected risk of a match with a register, E(1/F), by the {_named(largest)} model; above the "
        f"usual limit are {round(above.above_share * n):,} {counts}.{_weightless(single)}",
    )
    yield Reading(
        name=f"matched, {_range(attackers.spread, mean)}",
        first=True,
        value=mean.mean,
        interval=mean.interval,
        chance=None if attackers.population is None else 1 / attackers.population,
        n=n,
        limit=limits.get("marketer"),
        basis=_ASKED if "marketer" in limits else "",
        meaning="Share of the records that a register of the population is expected to match rightly (marketer), by "
        f"the {_named(mean)} model.",
    )
    yield Reading(
        name=f"risk > {percent(attackers.threshold)}, {_range(attackers.above_spread, above)}",
        first=True,
        value=above.above_share,
        n=n,
        limit=0.0,
        basis="usual",
        meaning=f"Share of {counts} whose individual risk is above the usual limit, by the {_named(above)} model; "
        f"{mean.mean * n:,.1f} matches expected.",
    )
    if "individual" in limits:
        yield Reading(
            name=f"individual, {_range(attackers.largest_spread, largest)}",
            value=largest.largest,
            limit=limits["individual"],
            basis=_ASKED,
            meaning="The largest individual risk.",
        )
    yield from _population_uniques(found["uniqueness"])


def _range(spread: tuple[float, float], model: Any) -> str:
    """What all models say, or the one that there is."""
    low, high = percent(spread[0]), percent(spread[1])
    return _named(model) if low == high else f"{low} to {high} by model"


def _weightless(single: Any) -> str:
    if not single.n_weightless:
        return ""
    return f" {single.n_weightless:,} records whose weights say of no others are taken to be all of their kind."


_NAMES = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "SNB", "negative binomial": "neg. binomial"}
_FITS = {True: "fits", False: "fits poorly", None: "unchecked"}


def _named(model: Any) -> str:
    return _NAMES.get(name := str(model.model), name)


def _fitness(found: Mapping[str, Any]) -> Iterator[str]:
    """How well each model describes the table, and what each says of uniques in the population: a line each."""
    models = [model for model in found["attackers"].models if model.model != "census"]
    if models:
        yield _joined("  The models: ", [f"{_named(model)} {_FITS[model.fits]}" for model in models])
        yield _joined("  Population uniques: ", [*_by_model(found["uniqueness"])])


def _by_model(uniques: Any) -> Iterator[str]:
    """Every model's share of population uniques, the chosen one first, with the reason."""
    chosen = uniques.chosen
    if chosen.share is not None:
        yield f"{_named(chosen)} {percent(chosen.share)} ({uniques.why})"
    for model in uniques.models:
        if model.model != chosen.model:
            yield f"{_named(model)} {'none' if model.share is None else percent(model.share)}"


def _population_uniques(uniques: Any) -> Iterator[Reading]:
    if uniques.chosen.share is None or uniques.spread is None:
        why = uniques.chosen.reason or "no population is known"
        yield Reading(name="unique in the population", value=None, meaning=f"No estimate: {why}.")
        return
    size, ends = uniques.population, uniques.chosen.interval
    interval = None if ends is None or size is None else (ends[0] / size, ends[1] / size)
    fit = " Pitman's describes this table poorly." if uniques.fits is False else ""
    yield Reading(
        name=f"unique in population, {_named(uniques.chosen)}",
        first=True,
        value=uniques.chosen.share,
        interval=interval,
        chance=0.0,
        against="nobody",
        meaning=f"Share of the population that is unique, by the model that Dankar et al. choose ({uniques.why}); over "
        f"all models {between(uniques.spread)}.{fit} They take everybody to be drawn with the same chance.",
    )


def _households(found: Mapping[str, Any], limits: Mapping[str, float]) -> Iterator[Reading]:
    if "households" not in found:
        return
    homes = found["households"]
    yield Reading(
        name="households found, by any member",
        first=True,
        value=homes.expected_households / homes.n_households,
        chance=1 / homes.n_households,
        n=homes.n_households,
        counts="households",
        meaning="Share of households expected to be found through any member or by their composition; largest "
        f"{percent(homes.largest)}; {homes.n_unique:,} households are like no other.",
    )
    if "household" in limits:
        limit = limits["household"]
        yield Reading(name="household, largest", value=homes.largest, limit=limit, basis=_ASKED)


_EVENTS = {
    ("1", "events"): "knows 1 event",
    ("2", "events"): "knows 2 events",
    ("3", "events"): "knows 3 events",
    ("any", "events"): "knows all events",
    ("2", "gaps"): "2 events, days between, no date",
    ("3", "gaps"): "3 events, days between, no date",
    ("2", "order"): "2 events in order, no date",
    ("3", "order"): "3 events in order, no date",
}


def _events(found: Mapping[str, Any], limits: Mapping[str, float]) -> Iterator[Reading]:
    """Linked tables joined: who has too few others that fit."""
    if "events" not in found:
        return
    joint = found["events"]
    known = {(one.events, one.knows): one for one in joint.by_events}
    for key, name in _EVENTS.items():
        if key in known:
            one, gated = known[key], key == ("1", "events") and "events" in limits
            yield Reading(
                name=name,
                first=key in (("1", "events"), ("any", "events"), ("2", "gaps")),
                value=one.below_share,
                interval=one.interval,
                chance=0.0,
                against="nobody",
                n=joint.n_persons,
                limit=limits["events"] if gated else None,
                basis=_ASKED if gated else "",
                meaning=f"Share of persons for whom fewer than {joint.k_required} fit, tables joined; the fewest are "
                f"{'not counted' if one.k is None else one.k}.",
            )
    for other in joint.third_parties:
        yield Reading(
            name=f"knows whose {other.column} is whose",
            first=True,
            value=other.below_share,
            chance=0.0,
            against="nobody",
            n=joint.n_persons,
            meaning=f"Share of persons with a pseudonym in {other.table} that fewer than {joint.k_required} of "
            f"their class have; {other.n_single:,} of {other.n_tokens:,} pseudonyms are of one person each.",
        )


def _matching(found: Mapping[str, Any], counts: Counts) -> Iterator[Reading]:
    """The stronger of the two matches."""
    if "reidentification" not in found:
        return
    match, hidden, n = found["reidentification"], found["unchanged"], found["classes"].n_records
    by_all = hidden.expected is not None and hidden.expected > match.expected
    with_all = (
        f"with unchanged columns not measured: {hidden.why}"
        if hidden.expected is None
        else (f"by quasi-identifiers {percent(match.expected)}, with unchanged columns {percent(hidden.expected)}")
    )
    sample = f"; a sample of {match.n_targets:,}" if match.sampled else ""
    yield Reading(
        name="found, unchanged columns too" if by_all else "found by nearest match",
        first=True,
        value=hidden.expected if by_all else match.expected,
        interval=hidden.interval if by_all else match.interval,
        before=1 / found["before"].n_records * found["before"].n_classes,
        chance=1 / n,
        n=n,
        meaning=f"Share of {counts} found by nearest match, {with_all}{sample}.",
    )


_SAID = {
    "leak": "a leak",
    "none seen": "no leak seen",
    "too weak": "no evidence: the attack does no better than guessing",
    "undefined": "undefined",
}


def _attacks(found: Mapping[str, Any], limits: Mapping[str, float]) -> Iterator[Reading]:
    for name, gate in (("singling_out", "singling-out"), ("linkability", "linkability"), ("guessing", "guessing")):
        if name in found:
            yield _attack(getattr(found[name], "worst", found[name]), limits.get(gate))
    if "membership" in found:
        result = found["membership"]
        yield Reading(
            name="membership",
            first=True,
            value=result.risk,
            chance=0.0,
            limit=limits.get("membership"),
            basis=_ASKED if "membership" in limits else "",
            meaning=f"AUC {result.auc:.2f} ({result.interval[0]:.2f} to {result.interval[1]:.2f}; guessing 0.50): "
            f"{result.verdict}.",
        )


def _attack(attack: Any, limit: float | None) -> Reading:
    """The risk that is left when the control group's success is taken off; 0 is what chance gives."""
    rate = attack.baseline_rate if attack.control_rate is None else attack.control_rate
    against = "guessing" if attack.control_rate is None else "people not in the data"
    weak = attack.verdict in ("too weak", "undefined")
    said = (
        _SAID[attack.verdict]
        if attack.control_rate is not None or attack.verdict != "leak"
        else ("better than guessing; give --control to tell a leak")
    )
    return Reading(
        name=f"{attack.attack}, over {against}" if attack.control_rate is None else attack.attack,
        first=True,
        value=None if weak and limit is None else attack.risk,
        interval=attack.interval,
        chance=0.0,
        against=against,
        slack=max(0.001, attack.risk if attack.verdict == "none seen" else 0.0),
        limit=limit,
        basis="" if limit is None else _ASKED,
        meaning=f"Success {percent(attack.rate)}, {against} {percent(rate)}, on {attack.n_attacks:,}: {said}.",
    )


def _everything(found: Mapping[str, Any], counts: Counts) -> None:
    """Tables of all measures; values, combinations and rows come under a heading that says they stay inside."""
    what_if, parts, suda, single = (found[name] for name in ("what_if", "contribution", "suda", "individual"))
    rows = [
        [change_words(c), f"{c.n_at_risk:,}", f"{c.n_freed:,}", f"{c.bits_lost:.2f}", f"{c.information_lost:.1%}"]
        for c in what_if.changes
    ]
    print_table("Every change of one step", ["", "left", "freed", "bits lost", "of all"], rows)
    rows = [[c.column, f"{c.shapley:.2%}", f"{c.drop_one:.2%}", f"{c.n_freed:,}"] for c in parts.columns]
    print_table("Columns", ["", "Shapley", "drop-one", "freed"], rows)
    _diversity(found["classes"])
    _models(found)
    out.print("[bold]Internal use only[/]")
    rows = [[f"{v.column} {v.value}", f"{v.n_records:,}", f"{v.n_at_risk:,}", f"{v.n_freed:,}"] for v in parts.values]
    print_table("Values", ["", counts, "stand out", "freed without the column"], rows)
    rows = [[str(c), f"{c.row + 1:,}", f"{c.score:g}"] for c in suda.combinations]
    print_table("Combinations of single records", ["", "row", "SUDA score"], rows)
    rows = [[f"row {row + 1:,}", f"{single.risks[row]:.2%}"] for row in single.riskiest()]
    print_table("Riskiest records", ["", "individual risk"], rows)


def _diversity(classes: Any) -> None:
    if not classes.sensitive:
        return
    rows = [
        [name, f"{d.distinct_l}", f"{d.entropy_l:.2f}", f"{d.t:.2f}", f"{d.homogeneous_share:.2%}"]
        for name, d in classes.sensitive.items()
    ]
    head = ["", "distinct l", "entropy l", "t", "in classes of one value"]
    print_table("Sensitive columns, worst class", head, rows)


def _models(found: Mapping[str, Any]) -> None:
    uniques = found["uniqueness"]
    rows = [
        [
            _named(m),
            "none: " + m.reason if m.share is None else f"{m.uniques:,.0f}",
            "" if m.share is None else f"{m.share:.2%}",
        ]
        for m in uniques.models
    ]
    print_table("Unique in the population, by model", ["", "people", "share"], rows)
    rows = [
        [_named(m), percent(m.largest), percent(m.mean), between(m.interval, "percent"), _FITS[m.fits]]
        for m in found["attackers"].models
    ]
    head = ["", "largest", "mean", "95% interval of the mean", "the model"]
    print_table("Matched with a register of the population, E(1/F), by model", head, rows)
    if "linkage" in found and found["linkage"].share is not None:
        out.print(
            f"linkage, two guesses (nearest or second nearest): {found['linkage'].share:.2%}; of coarse values too low"
        )
        out.print(f"combinations equal to their own person's: {found['verbatim'].own_share:.2%}")
    if "replicated" in found:
        again = found["replicated"]
        baseline = "" if again.control_share is None else f"; of people not in the data {again.control_share:.2%}"
        out.print(
            f"uniques of the original that turn up again, alone: {again.n_replicated:,} ({again.share:.2%}){baseline}"
        )


def exposure(table: Any, schema: Any, by: Sequence[str]) -> AggregateExposure:
    """What `shoal risk --aggregates` measures: `by` names columns, or several of them joined by commas."""
    return aggregate_exposure(table, schema, by=[name.strip() for text in by for name in text.split(",")])


def tell_exposure(found: AggregateExposure) -> None:
    """Print what every method recovers, then the advice."""
    rows = [
        [m.method, *(f"{share:.1%}" for share in (m.within_5_share, m.within_10_share, m.within_20_share)),
         f"{m.r_squared:.2f}", f"{m.mean_absolute_error:,.4g}"]
        for m in (found.overall_mean, *found.methods)
    ]  # fmt: skip
    head = ["", "within 5%", "within 10%", "within 20%", "R²", "mean error"]
    print_table(f"'{found.value}' rebuilt from its means by {', '.join(found.by)}", head, rows)
    for text in (*found.advice, *found.warnings):
        screen.print(f"- {text}", markup=False)


def print_classes(found: ClassReport, who: Counts, k: int) -> None:
    """The classes in a few lines; `who` is counted in them."""
    lines = [
        f"{found.n_records:,} rows in {found.n_classes:,} classes; smallest class k = {found.k} {who}",
        f"rows in classes of one: {found.unique_share:.2%}; of fewer than {k}: {found.small_share(k):.2%}",
    ]
    for name, mix in found.sensitive.items():
        lines.append(
            f"{name}: at least {mix.distinct_l} different values in a class (entropy l = {mix.entropy_l:.3g}), "
            f"t = {mix.t:.3g}, most frequent value up to {mix.alpha:.1%}, "
            f"{mix.homogeneous_share:.2%} of rows in classes with one value only"
        )
    lines.append("Attacks and what would help are measured in memory only: try them on a sample.")
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
