"""What `shoal risk` prints: first what would help, then who stands out, against whom, and what attacks found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shoal.cli.aggregates import tell_exposure
from shoal.cli.console import out, print_table

__all__ = ["change_words", "print_risk"]

_CHANGES, _COLUMNS, _SETS = 3, 4, 3


def print_risk(
    found: Mapping[str, Any], limits: Mapping[str, float], broken: Mapping[str, float], *, verbose: bool
) -> None:
    """The summary, at most some fifteen lines; with `verbose` everything."""
    for line in (*_standing(found), *_help(found), *_who(found), *_whom(found), *_attacks(found)):
        out.print(line, markup=False, soft_wrap=True)
    for name, limit in limits.items():
        told = f"{broken[name]:.2%} is above the limit" if name in broken else "within the limit"
        out.print(f"{name}: {told} of {limit:.2%}", markup=False)
    if verbose:
        _everything(found)
    else:
        out.print("More with --verbose: values, combinations and records (internal).", markup=False)
    if "aggregates" in found:
        tell_exposure(found["aggregates"])


def _standing(found: Mapping[str, Any]) -> Iterator[str]:
    classes, what_if = found["classes"], found["what_if"]
    share = what_if.n_at_risk / what_if.n_records
    rows = f"{what_if.n_records:,} rows in {classes.n_classes:,} classes; smallest class k = {classes.k}"
    if "before" in found:
        before, least = found["before"], what_if.k
        was = f"{before.small_share(least):.1%} before, {share:.1%} now"
        yield f"{rows} ({before.k} before). {_alone(least)}: {was}"
    else:
        yield f"{rows}. {_alone(what_if.k)}: {what_if.n_at_risk:,} people ({share:.1%})"


def _alone(k: int) -> str:
    return "Alone in their class" if k == 2 else f"In classes of fewer than {k}"


def _help(found: Mapping[str, Any]) -> Iterator[str]:
    what_if = found["what_if"]
    useful = [change for change in what_if.changes if change.n_freed > 0][:_CHANGES]
    if not useful:
        yield "What would help most: nothing stands out" if not what_if.n_at_risk else "No single step helps."
        return
    yield "What would help most (people who stand out, now → then; information lost)"
    strongest = what_if.strongest
    shown = useful if strongest is None or strongest in useful else [*useful[:-1], strongest]
    for change in shown:
        counts = f"{what_if.n_at_risk:,} → {change.n_at_risk:,}"
        yield f"  {change_words(change):<34} {counts:>20}   loses {change.information_lost:.1%}"


def change_words(change: Any) -> str:
    """A change as a person would say it."""
    step = change.step
    if change.action == "drop":
        return f"drop {change.column}"
    if change.action == "round":
        return f"{change.column} rounded to {step['base']:g}"
    if change.action == "top-code":
        return f"{change.column} top-coded at {step['high']:g}"
    if change.action == "bottom-code":
        return f"{change.column} bottom-coded at {step['low']:g}"
    return f"{change.column} {_coarser(step)}"


def _coarser(step: Mapping[str, Any]) -> str:
    kind = step["kind"]
    if kind == "bins":
        return f"in intervals of {step['width']:g}" if "width" in step else "in intervals"
    if kind == "prefix":
        return f"to its first {step['keep']} characters"
    return f"to {step['part']}" if kind == "date" else "one level coarser"


def _who(found: Mapping[str, Any]) -> Iterator[str]:
    parts, suda = found["contribution"], found["suda"]
    if not parts.n_at_risk:
        return
    yield "Who stands out, and why"
    columns = [c for c in parts.columns if c.shapley > 0][:_COLUMNS]
    told = ", ".join(f"{c.column} {c.shapley / parts.share:.0%}" for c in columns)
    yield f"  share of each column in it: {told}"
    if suda.by_columns:
        sets = sorted(suda.by_columns, key=lambda item: (len(item[0]), -item[1]))[:_SETS]
        told = ", ".join(f"{' + '.join(names)} ({count:,})" for names, count in sets)
        yield f"  people alone on few columns: {suda.n_at_risk:,} on up to {suda.size}; smallest sets: {told}"


def _whom(found: Mapping[str, Any]) -> Iterator[str]:
    attackers, uniques, single = found["attackers"], found["uniqueness"], found["individual"]
    prosecutor, journalist = attackers.prosecutor, attackers.journalist
    yield f"Knows who is in the table (prosecutor): mean {prosecutor.mean:.2%}, largest {prosecutor.largest:.2%}"
    if attackers.population is None:
        yield "Matches against a register (journalist): the same; give --population if the table is a sample"
        return
    low, high = attackers.spread
    span = f", {low:.2%} to {high:.2%} over models" if high > low * 1.005 else ""
    yield (
        f"Matches against a register of {attackers.population:,.0f} (journalist): mean {journalist.mean:.2%}{span}, "
        f"largest expected {journalist.largest:.2%} ({_named(attackers.model)} model)"
    )
    if "before" in found:
        return
    model = f"individual risk, {single.model} model{_fit(single)}"
    yield f"  {single.n_above:,} people above {single.threshold:.0%} ({model}); {single.expected:,.1f} expected matches"
    yield f"  {_population_uniques(uniques)}"


def _named(model: str) -> str:
    return "Pitman" if model == "pitman" else model


def _fit(single: Any) -> str:
    if single.fit is None:
        return ""
    return ", which fits" if single.fit.fits else ", which fits poorly"


def _population_uniques(uniques: Any) -> str:
    if uniques.chosen.share is None or uniques.spread is None:
        return f"unique in the population: no estimate ({uniques.chosen.reason})"
    low, high = uniques.spread
    names = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "slide negative binomial"}
    fit = {True: "", False: "; Pitman's describes this table poorly", None: ""}[uniques.fits]
    chosen = f"{uniques.chosen.share:.1%} by {names[uniques.chosen.model]}'s model"
    return f"unique in the population: {chosen}, {low:.1%} to {high:.1%} over all models{fit}"


def _attacks(found: Mapping[str, Any]) -> Iterator[str]:
    if "reidentification" in found:
        yield from _matching(found)
    for name in ("singling_out", "linkability", "guessing"):
        if name in found:
            attack = getattr(found[name], "worst", found[name])
            yield _attack_line(attack)
    if "membership" in found:
        result = found["membership"]
        span = f"{result.interval[0]:.2f} to {result.interval[1]:.2f}"
        yield f"membership: AUC {result.auc:.2f} ({span}; guessing 0.50): {result.verdict}"


def _matching(found: Mapping[str, Any]) -> Iterator[str]:
    match, hidden = found["reidentification"], found["unchanged"]
    told = f"not measured: {hidden.why}" if hidden.expected is None else f"{hidden.expected:.2%}"
    sample = f" (a sample of {match.n_targets:,})" if match.sampled else ""
    chance = f"chance gives {1 / found['classes'].n_records:.2%}"
    yield f"nearest match: {match.expected:.2%} found{sample}; with unchanged columns: {told}; {chance}"


def _attack_line(attack: Any) -> str:
    against = "guessing" if attack.control_rate is None else "people not in the data"
    rate = attack.baseline_rate if attack.control_rate is None else attack.control_rate
    span = f"{attack.interval[0]:.1%} to {attack.interval[1]:.1%}"
    verdict = {
        "leak": "a leak" if attack.control_rate is not None else "better than guessing; give --control to tell a leak",
        "none seen": "no leak seen",
        "too weak": "no evidence: the attack does no better than guessing",
        "undefined": "undefined",
    }[attack.verdict]
    return f"{attack.attack}: {attack.rate:.1%}, {against} {rate:.1%}; risk {attack.risk:.1%} ({span}): {verdict}"


def _everything(found: Mapping[str, Any]) -> None:
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
    out.print("[bold]For inside only[/]")
    rows = [[f"{v.column} {v.value}", f"{v.n_records:,}", f"{v.n_at_risk:,}", f"{v.n_freed:,}"] for v in parts.values]
    print_table("Values", ["", "people", "stand out", "freed without the column"], rows)
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
            m.model,
            "none: " + m.reason if m.share is None else f"{m.uniques:,.0f}",
            "" if m.share is None else f"{m.share:.2%}",
        ]
        for m in (uniques.pitman, uniques.zayatz, uniques.snb)
    ]
    print_table("Unique in the population, by model", ["", "people", "share"], rows)
    if "linkage" in found and found["linkage"].share is not None:
        out.print(f"linkage, two guesses (nearest or second nearest): {found['linkage'].share:.2%}")
        out.print(f"combinations equal to their own person's: {found['verbatim'].own_share:.2%}")
    if "replicated" in found:
        again = found["replicated"]
        told = "" if again.control_share is None else f"; of people not in the data {again.control_share:.2%}"
        out.print(
            f"uniques of the original that turn up again, alone: {again.n_replicated:,} ({again.share:.2%}){told}"
        )
