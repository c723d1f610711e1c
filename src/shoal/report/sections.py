"""The sections of the page that tell: summary, claims, columns, method, who decides, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.claim import Claim
from shoal.report.account import ColumnAccount
from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, join, rows_table, section, tag
from shoal.report.pieces import bullets, is_share, proved_bound
from shoal.report.steps import steps_tables
from shoal.report.words import between, count, number, percent, plural

__all__ = ["claims", "columns", "decision", "method", "provenance", "signing", "summary", "tile"]

BASES = {
    "proved": "a theorem says so, and the program has met its conditions",
    "verified": "it was checked on the written file",
    "measured": "it is the result of an attack that was tried; another attack may do better",
    "published": "a paper says so, and Shoal does not vouch for it",
}
PRIVATE_WORDS = ("seed", "key", "path", "file", "input", "output", "source", "directory", "folder")


def summary(evidence: Evidence) -> Html:
    """What this is, in a few sentences and four numbers."""
    return section(
        "summary",
        "Summary",
        tag("p", _what_it_is(evidence)),
        tag("p", _rows_words(evidence)),
        tag("dl", *_headline_tiles(evidence), class_="tiles"),
        signing(),
    )


def signing() -> Html:
    """Who decides, in a sentence."""
    return tag(
        "p",
        "Shoal documents; a person decides. This page says what was done, what is promised and on what basis, and "
        "what was measured. Whether the table may be given to whom, and for how long, is decided by the person "
        "who signs under ",
        tag("a", "Who decides", href="#decision"),
        ".",
    )


def claims(evidence: Evidence) -> Html:
    """Every promise with its basis and its assumptions in full."""
    used = [basis for basis in BASES if any(claim.basis == basis for claim in evidence.claims)]
    rows = [_claim_row(claim) for claim in evidence.claims]
    head = ("Promise", "Value", "Basis", "Scope", "In words")
    table = rows_table("Claims of this release", head, rows, numeric=(1,), quiet=True)
    meanings = tag("ul", *(tag("li", tag("strong", basis), f": {BASES[basis]}.") for basis in used))
    intro = tag(
        "p",
        "A claim is worth as much as its basis and its assumptions. They are listed in full, because the person who "
        "decides has to know whether they hold where the table goes.",
    )
    nothing = tag("p", "This release carries no claim.")
    return section("claims", "Claims", intro, *((table, meanings) if rows else (nothing,)))


def columns(evidence: Evidence, *, internal: bool) -> Html:
    """What became of each column, and why."""
    head = ["Column", "Role", "Kind", "What was done", "Why", "Missing values"]
    rows = [_column_row(account, internal) for account in evidence.columns]
    if internal:
        head.append("Values changed")
    return section(
        "columns",
        "Columns",
        tag("p", "The role of a column says what it may do to a person. The role decides what is done with it."),
        rows_table("What was changed, and why", head, rows, numeric=(6,) if internal else (), quiet=True),
    )


def method(evidence: Evidence, *, internal: bool) -> Html:
    """How it was made, with every parameter, and the method's known limits."""
    parameters = _parameter_rows(evidence.recipe)
    return section(
        "method",
        "Method and known limits",
        tag("h3", "How the table was made"),
        tag("ol", *(tag("li", step) for step in evidence.method)),
        rows_table("Parameters", ("Step", "Method", "Parameters"), parameters) if parameters else None,
        tag("h3", "Notes of the run") if evidence.notes else None,
        bullets(evidence.notes),
        *steps_tables(evidence, internal=internal),
        tag("h3", "Known limits"),
        tag("ul", *(tag("li", limit) for limit in evidence.limits)),
        *_small_cells(evidence, internal),
    )


def _small_cells(evidence: Evidence, internal: bool) -> list[Child]:
    if evidence.is_synthetic and not internal:
        return []
    return [tag("h3", "The small-cell rule on this page"), tag("p", _rule_words(evidence.k, internal))]


def decision() -> Html:
    """An empty block for the person who decides."""
    lines = (
        "Recipient and purpose",
        "Assumptions hold for this recipient",
        "Decision",
        "Name",
        "Role",
        "Date",
        "Valid until",
        "Signature",
    )
    body = [tag("tr", tag("th", line, scope="row"), tag("td", aria_label=f"{line}: to be filled in")) for line in lines]
    return section(
        "decision",
        "Who decides",
        tag(
            "p",
            "No tool can tell whether a release is acceptable: that depends on who receives it, what they know and "
            "what they have agreed to. The person below has read this page and decides. The decision should expire: "
            "what outsiders know changes.",
        ),
        tag("table", tag("caption", "Decision"), tag("tbody", *body), class_="sign"),
    )


def provenance(evidence: Evidence) -> Html:
    """What computed the release, and how to check the files."""
    made = [(name, version) for name, version in evidence.versions.items()]
    hashes = [(name, tag("code", digest)) for name, digest in evidence.hashes.items()]
    return section(
        "provenance",
        "Provenance",
        tag("p", f"Made on {evidence.created}."),
        rows_table("Hashes", ("What", "Hash"), hashes) if hashes else None,
        rows_table("Versions", ("Package", "Version"), made, kind="narrow") if made else None,
        tag(
            "p",
            "The manifest beside the table (manifest.json) holds its SHA-256, the recipe and these claims for programs "
            "to read; ",
            tag("code", "shoal verify"),
            " checks them again.",
            class_="note",
        ),
    )


def _headline_tiles(evidence: Evidence) -> list[Html]:
    """Four numbers for a first look."""
    found, kept = evidence.risk.reidentification, evidence.utility
    bound = proved_bound(evidence)
    beside = f"No more than {percent(bound)} for any person, by proof" if bound else "One attack on this release"
    whom = "people" if evidence.has_unit else "records"
    return [
        _hiding_tile(evidence, whom),
        tile("Rows released", count(evidence.n_released), _rows_beside(evidence)),
        tile("Found by nearest match", percent(found.expected), beside),
        tile(
            "Distribution kept",
            percent(kept.histogram_intersection),
            f"A fresh sample of the same people keeps {percent(kept.bootstrap_intersection.value)}",
        ),
    ]


def _hiding_tile(evidence: Evidence, whom: str) -> Html:
    if evidence.hidden < 2:
        smallest = evidence.risk.classes.k
        shown = str(smallest) if smallest >= evidence.k else f"fewer than {evidence.k}"
        return tile("Smallest class", f"{shown} {whom}", "Who share all quasi-identifiers; no size was asked for")
    if "coarsen" in evidence.recipe:
        beside = "Each combination of quasi-identifiers is shared by at least this many"
    else:
        beside = "Each person hides in a group of at least this many"
    return tile("Smallest group (k)", f"{evidence.hidden} {whom}", beside)


def _rows_beside(evidence: Evidence) -> str:
    said = [f"{evidence.left_out} left out for a missing number"] if evidence.left_out else []
    said += [f"{evidence.suppressed} suppressed"] if evidence.suppressed else []
    text = ", ".join(said)
    return f"{text[:1].upper()}{text[1:]}" if text else "All that came in"


def tile(name: str, value: str, beside: str) -> Html:
    """One number of a first look."""
    shown = tag("dd", tag("span", value, class_="figure"), tag("div", beside, class_="beside"))
    return tag("div", tag("dt", name), shown, class_="tile")


def _what_it_is(evidence: Evidence) -> str:
    return f"This page is the evidence for one released table. {_aim(evidence)} {' '.join(evidence.method)}"


def _aim(evidence: Evidence) -> str:
    if evidence.hidden < 2:
        return "The table was made from records about people by fixed rules of coarsening."
    if "coarsen" in evidence.recipe:
        return (
            "The table was made from records about people so that each combination of quasi-identifiers in it is "
            f"shared by at least {evidence.hidden} of them."
        )
    return (
        "The table was made from records about people so that each person hides in a group of at least "
        f"{evidence.hidden}, and so that the data keep their shape."
    )


def _rows_words(evidence: Evidence) -> str:
    released = f"The released table has {plural(evidence.n_released, 'row')}"
    people = f" about {count(evidence.n_people)} people" if evidence.has_unit else ""
    kept = f"{released}{people} and {plural(_n_kept(evidence), 'column')}."
    if evidence.left_out:
        kept += f" {evidence.left_out.capitalize()} rows were left out because a number was missing in them."
    if evidence.suppressed:
        kept += f" {evidence.suppressed.capitalize()} rows were suppressed because they stood out."
    return kept


def _n_kept(evidence: Evidence) -> int:
    return sum(account.done != "removed" for account in evidence.columns)


def _claim_row(claim: Claim) -> tuple[Child, ...]:
    style = percent if is_share(claim) else number
    spread = between(claim.interval, "percent" if is_share(claim) else "number")
    value = join([style(claim.value), tag("div", spread, class_="spread") if spread else None])
    basis = tag("span", claim.basis, class_=f"basis {claim.basis}")
    assumptions = tag("ul", *(tag("li", text) for text in claim.assumptions), class_="assumptions")
    words = join([claim.statement, tag("div", "Assumes:", assumptions) if claim.assumptions else None])
    return claim.kind, value, basis, claim.scope, words


def _column_row(account: ColumnAccount, internal: bool) -> tuple[Child, ...]:
    row = (account.name, account.role, account.kind or "–", account.done, account.reason, account.missing)
    return (*row, percent(account.changed_share)) if internal else row


def _parameter_rows(recipe: Mapping[str, Any]) -> list[tuple[Child, ...]]:
    steps = {
        "group": "Who hides with whom",
        "mask": "What is written instead",
        "coarsen": "How it is coarsened",
        "synthesize": "How it is synthesised",
    }
    rows: list[tuple[Child, ...]] = []
    for part, given in recipe.items():
        if part in PRIVATE_WORDS:
            continue
        for words in given if isinstance(given, list | tuple) else [given]:
            name, parameters = _spelled(words)
            rows.append((steps.get(part, part), name, tag("code", parameters) if parameters else "none"))
    return rows


def _spelled(words: Any) -> tuple[str, str]:
    if not isinstance(words, Mapping):
        return str(words), ""
    shown = {key: value for key, value in words.items() if key not in ("method", *PRIVATE_WORDS) and value != "none"}
    said = [f"{key} = {_value(value)}" for key, value in shown.items()]
    return str(words.get("method", "–")), ", ".join(said)


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return number(value) if isinstance(value, int | float) else str(value)


def _rule_words(k: int, internal: bool) -> str:
    where = "Outside the section Inside only, no" if internal else "No"
    return (
        f"{where} table or picture on this page has a cell that counts 1 to {k - 1} people, before or after. Such "
        "cells are merged: a bin with its neighbour, a level with other rare levels, which are then not named. Where a "
        "merged cell is still too small, the next smallest joins it. Cells are merged and never blanked, so every "
        f"number shown counts nobody or at least {k} people, and so does whatever can be worked out by adding and "
        "subtracting numbers of the same table. The lowest and highest bin of a number are open, so that no smallest "
        f"or largest value is shown. {'' if internal else _share_words(k)}"
    )


def _share_words(k: int) -> str:
    return f"A share that would tell of 1 to {k - 1} people is written as under or over a limit."
