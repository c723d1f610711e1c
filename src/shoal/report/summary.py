"""The first screen: in ten seconds what was released, how people are hidden, what is promised on which basis, what was
measured, and who decides."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.claim import Claim
from shoal.report.decision import signed
from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, join, section, tag
from shoal.report.numbers import count, number, percent, plural
from shoal.report.pieces import basis, found_before, is_share, proved_bound, weak_bound
from shoal.report.what_was_done import is_apart

__all__ = ["summary", "synthetic_summary"]

MOST_CLAIMS = 3


def summary(evidence: Evidence, *, internal: bool) -> Html:
    """Three numbers, then five answers."""
    if evidence.withheld is not None and not internal:
        return _glance(evidence, _withheld_tiles(evidence), _released(evidence), _kept_inside(evidence))
    return _glance(evidence, _tiles(evidence), _released(evidence), _measured(evidence))


def synthetic_summary(evidence: Evidence, *, internal: bool) -> Html:
    """The same of rows that are nobody's: what is measured against the private table is never at a glance."""
    return _glance(evidence, _synthetic_tiles(evidence), _drawn(evidence), _kept_inside(evidence))


def _glance(evidence: Evidence, tiles: Sequence[Html], released: str, measured: Child) -> Html:
    answers = {
        "What was released": released,
        "How people are hidden": _hidden(evidence),
        "What is promised": _promised(evidence),
        "What was measured": measured,
        "Who decides": signed(),
    }
    rows = [tag("div", tag("dt", name), tag("dd", words)) for name, words in answers.items()]
    return section(
        "summary",
        "At a glance",
        *(tag("p", text, class_="warning") for text in evidence.warnings),
        tag("dl", *tiles, class_="tiles"),
        tag("dl", *rows, class_="answers"),
    )


def _tiles(evidence: Evidence) -> list[Html]:
    return [
        _hiding_tile(evidence),
        _found_tile(evidence),
        _kept_tile(evidence),
    ]


def _kept_tile(evidence: Evidence) -> Html:
    """The joint distribution, or, where that is too wide to tell, pairs of columns."""
    kept, pairs = evidence.utility, evidence.utility.pairs_kept
    if pairs is not None:
        beside = "Mean over pairs of quasi-identifiers; 100% is all"
        return _tile("Distribution preserved, by pairs", percent(pairs.mean), beside)
    beside = f"A fresh sample of the same people preserves {percent(kept.bootstrap_intersection.value)}"
    return _tile("Distribution preserved", percent(kept.histogram_intersection), beside)


def _found_tile(evidence: Evidence) -> Html:
    """The most successful attack that was tried, and the proof beside it with what it covers."""
    found, bound = evidence.risk.reidentification.expected, proved_bound(evidence)
    by_all = evidence.risk.unchanged.expected
    proof = f"at most {percent(bound)} for any person, by proof" if bound else "no limit is proved"
    if is_apart(evidence.recipe):
        beside = f"A row chosen by any other value holds a person's own cell of a column: {proof}"
        return _tile("Found by nearest match", percent(found), beside)
    if by_all is None or by_all <= found:
        return _tile("Found by nearest match", percent(found), f"By the released quasi-identifiers alone: {proof}")
    beside = f"With the columns published unchanged; by quasi-identifiers alone {percent(found)}, {proof}"
    return _tile("Found, by the best attack tried", percent(by_all), beside)


def _withheld_tiles(evidence: Evidence) -> list[Html]:
    blank = sum(evidence.blanked.values()) / max(1, len(evidence.blanked))
    bound = proved_bound(evidence)
    found = percent(bound) if bound else "not stated"
    return [
        _hiding_tile(evidence),
        _tile("Found, at most", found, "By any rule that uses the released quasi-identifiers alone, by proof"),
        _tile("Values left out", percent(blank), "Of the quasi-identifiers, counted on the released rows"),
    ]


def _hiding_tile(evidence: Evidence) -> Html:
    whom = evidence.crowd
    if evidence.hidden < 2:
        smallest = evidence.smallest_class
        shown = str(smallest) if smallest >= evidence.k else f"fewer than {evidence.k}"
        return _tile("Smallest class", f"{shown} {whom}", "Who share all quasi-identifiers; no size is promised")
    if evidence.coarsened:
        beside = "Each combination of quasi-identifiers is shared by at least this many"
    else:
        beside = "Each person hides in a group of at least this many"
    return _tile("Smallest group (k)", f"{evidence.hidden} {whom}", beside)


def _synthetic_tiles(evidence: Evidence) -> list[Html]:
    promises = [_tile(c.kind, _value(c), f"{c.scope}, {c.basis}") for c in evidence.claims[:2]]
    none = [_tile("Promises", "none", "Nothing is promised about differential privacy")]
    return [_tile("Rows drawn", count(evidence.n_released), "Of no real person"), *(promises or none)]


def _tile(name: str, value: str, beside: str) -> Html:
    shown = tag("dd", tag("span", value, class_="figure"), tag("span", beside, class_="beside"))
    return tag("div", tag("dt", name), shown, class_="tile")


def _released(evidence: Evidence) -> str:
    known = f" about {count(evidence.n_people)}" if evidence.has_unit else " about"
    people = f"{known} people" if evidence.crowd == "people" else ""
    return f"A table of {_size(evidence)}{people}. {left_out_words(evidence)}".strip()


def _drawn(evidence: Evidence) -> str:
    return f"A synthetic table of {_size(evidence)}. Its rows were drawn from a model; no row belongs to a real person."


def _size(evidence: Evidence) -> str:
    return f"{plural(evidence.n_released, 'row')} and {plural(evidence.n_kept, 'column')}"


def left_out_words(evidence: Evidence) -> str:
    """What did not come through; a page for everybody knows of no record that was left out, only that some may be."""
    said = []
    if evidence.left_out:
        said.append(f"{plural(evidence.left_out, 'row')} left out because a number was missing.")
    if evidence.suppressed:
        said.append(f"{plural(evidence.suppressed, 'row')} suppressed because they stood out.")
    if not said and evidence.leaves_out:
        said.append("Records may have been suppressed; every figure refers to those that remain.")
    return " ".join(said)


def _hidden(evidence: Evidence) -> str:
    return " ".join(evidence.method) or _aim(evidence)


def _aim(evidence: Evidence) -> str:
    return "By fixed rules." if evidence.hidden < 2 else f"Among at least {evidence.hidden} others."


def _promised(evidence: Evidence) -> Child:
    promises = [claim for claim in evidence.claims if claim.basis != "measured"]
    if not promises:
        return join(
            [
                "Nothing. What was measured is reported below; ",
                tag("a", "a measurement", href="#claims"),
                " is no promise.",
            ]
        )
    return join([_claim_list(promises[:MOST_CLAIMS]), _more(len(promises)), _weak(evidence)])


def _weak(evidence: Evidence) -> Child:
    weak = weak_bound(evidence.claims, evidence.hidden)
    return tag("p", f"{weak[0].upper()}{weak[1:]}.", class_="more") if weak else None


def _more(n: int) -> Child:
    if n <= MOST_CLAIMS:
        return None
    return tag("p", tag("a", f"All {n} promises", href="#claims"), class_="more")


def _claim_list(claims: Sequence[Claim]) -> Html:
    items = [tag("li", basis(claim.basis), f" {claim.statement}") for claim in claims]
    return tag("ul", *items, class_="promises")


def _measured(evidence: Evidence) -> Child:
    found, kept = evidence.risk.reidentification, evidence.utility
    attack = (
        f" Matching on the quasi-identifiers finds {percent(found.expected)} of the {evidence.rows_are}"
        f"{found_before(evidence)}.{_by_all_words(evidence)}"
    )
    moved = kept.moments.correlation_difference
    links = f"; correlations are off by {number(moved)} on average" if number(moved) != "–" else ""
    shape = f" {_shape_words(evidence)}{links}."
    return tag(
        "ul", tag("li", tag("strong", "Risk."), attack), tag("li", tag("strong", "Use."), shape), class_="promises"
    )


def _shape_words(evidence: Evidence) -> str:
    kept, pairs = evidence.utility, evidence.utility.pairs_kept
    if pairs is not None:
        return f"Distributions of two columns agree to {percent(pairs.mean)} on average"
    fresh = percent(kept.bootstrap_intersection.value)
    return f"The joint distribution agrees to {percent(kept.histogram_intersection)} (a fresh sample: {fresh})"


def _by_all_words(evidence: Evidence) -> str:
    """What the attack with unchanged columns finds, or why it was not measured."""
    found = evidence.risk.unchanged
    if found.expected is None:
        return f" An attack that also uses unchanged columns: not measured, because {found.why}."
    columns = "all other columns" if is_apart(evidence.recipe) else "the columns published unchanged"
    return f" An attack that also uses {columns} finds {percent(found.expected)}."


def _kept_inside(evidence: Evidence) -> str:
    why = evidence.withheld or "it is about the private table"
    return (
        "How well the table agrees with the original, and what an attack achieves, was measured but is internal: "
        f"{why}."
    )


def _value(claim: Claim) -> str:
    return percent(claim.limit(3)) if is_share(claim) else number(claim.value)
