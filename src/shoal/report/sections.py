"""The sections that tell: data, claims with their assumptions, method, parameters, limits, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.claim import Claim
from shoal.report.evidence import Evidence
from shoal.report.markup import Child, Html, join, rows_table, section, tag
from shoal.report.numbers import between, count, number, percent, plural
from shoal.report.pieces import basis, bullets, is_share
from shoal.report.steps import steps_tables
from shoal.report.summary import left_out_words

__all__ = ["claims", "data", "drawn_words", "limits", "method", "parameters", "provenance", "rows_words"]

BASES = {
    "proved": "it follows from a theorem whose conditions the program has met",
    "verified": "it was checked on the written file",
    "measured": "it is the result of an attack; another attack may do better",
    "published": "it is stated in a paper, and Shoal does not vouch for it",
}
PRIVATE_WORDS = ("seed", "key", "path", "file", "input", "output", "source", "directory", "folder")


def data(evidence: Evidence, words: str) -> Html:
    """What the data are: rows, people, and the role that each column was given."""
    rows = [(account.name, account.role, account.kind or "–", account.missing) for account in evidence.columns]
    head = ("Column", "Role", "Kind", "Missing values")
    return section(
        "data",
        "Data",
        tag("p", words),
        tag(
            "p",
            "A person assigned a role to every column. The role says what the column could reveal about a person and "
            "decides how it is treated: everything below rests on this list.",
        ),
        rows_table("Columns and their roles", head, rows, quiet=True),
    )


def rows_words(evidence: Evidence) -> str:
    """How many rows there are, and whose."""
    words = _size_words(evidence, f" about {count(evidence.n_people)} people" if evidence.has_unit else "")
    unit = " A row is a record; a person may have several." if evidence.has_unit else " A row is one person's record."
    weights = " Records carry survey weights, which count wherever a share is said to be weighted."
    return f"{words}{unit}{weights if evidence.weighted else ''} {left_out_words(evidence)}".strip()


def drawn_words(evidence: Evidence) -> str:
    """How many rows there are, where they are nobody's."""
    whose = "No row is a person's; the columns are those of a private table of records about people."
    return f"{_size_words(evidence)} {whose}"


def _size_words(evidence: Evidence, about: str = "") -> str:
    rows, columns = plural(evidence.n_released, "row"), plural(evidence.n_kept, "column")
    return f"The released table has {rows}{about} and {columns}."


def claims(evidence: Evidence) -> Html:
    """Every promise with its basis and its assumptions in full."""
    used = [name for name in BASES if any(claim.basis == name for claim in evidence.claims)]
    rows = [_claim_row(claim) for claim in evidence.claims]
    head = ("Claim", "Value", "Basis", "Scope", "In words")
    table = rows_table("Claims of this release", head, rows, numeric=(1,), quiet=True)
    meanings = tag("ul", *(tag("li", tag("strong", name), f": {BASES[name]}.") for name in used))
    intro = tag(
        "p",
        "A claim is worth as much as its basis and its assumptions. They are listed in full, with a box to tick: the "
        "person who decides has to know whether they hold where the table goes.",
    )
    nothing = tag("p", "This release carries no claim.")
    return section("claims", "Claims and assumptions", intro, *((table, meanings) if rows else (nothing,)))


def _claim_row(claim: Claim) -> tuple[Child, ...]:
    style = percent if is_share(claim) else number
    spread = between(claim.interval, "percent" if is_share(claim) else "number")
    value = join([style(claim.value), tag("div", spread, class_="spread") if spread else None])
    assumptions = tag("ul", *(tag("li", text) for text in claim.assumptions), class_="assumptions")
    words = join([claim.statement, tag("div", "Assumes:", assumptions) if claim.assumptions else None])
    return claim.kind, value, basis(claim.basis), claim.scope, words


def method(evidence: Evidence) -> Html:
    """How it was made, step by step."""
    steps = tag("ol", *(tag("li", step) for step in evidence.method))
    return section("method", "Method", steps if evidence.method else tag("p", "The table is as it came in."))


def parameters(evidence: Evidence, *, internal: bool) -> Html:
    """Every parameter, the notes of the run, and what each step said of itself."""
    rows = _parameter_rows(evidence.recipe)
    return section(
        "parameters",
        "Parameters",
        rows_table("Parameters of each step", ("Step", "Method", "Parameters"), rows, quiet=True) if rows else None,
        tag("h3", "Notes of the run") if evidence.notes else None,
        bullets(evidence.notes),
        *steps_tables(evidence, internal=internal),
    )


def limits(evidence: Evidence, *, internal: bool, counts: bool) -> Html:
    """What the method doesn't do and, on a page that shows counts of people, which of them it doesn't show."""
    told = tag("ul", *(tag("li", limit) for limit in evidence.limits))
    return section("limits", "Known limits", told, *(_small_cells(evidence, internal) if counts else ()))


def _small_cells(evidence: Evidence, internal: bool) -> list[Child]:
    return [tag("h3", "The small-cell rule on this page"), tag("p", _rule_words(evidence.k, internal))]


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


def _parameter_rows(recipe: Mapping[str, Any]) -> list[tuple[Child, ...]]:
    steps = {
        "group": "Grouping",
        "mask": "Masking",
        "coarsen": "How it is coarsened",
        "synthesize": "How it is synthesised",
    }
    rows: list[tuple[Child, ...]] = []
    for part, given in recipe.items():
        if part in PRIVATE_WORDS:
            continue
        for words in given if isinstance(given, list | tuple) else [given]:
            name, spelled = _spelled(words)
            rows.append((steps.get(part, part), name, tag("code", spelled) if spelled else "none"))
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
        f"{where} table, picture or tooltip on this page has a cell that counts 1 to {k - 1} people, before or after. "
        "Such cells are merged: a bin with its neighbour, a level with other rare levels, which are then not named. "
        "Where a merged cell is still too small, the next smallest joins it. Cells are merged and never blanked, so "
        f"every number shown counts nobody or at least {k} people, and so does whatever can be worked out by adding "
        "and subtracting numbers of the same table. The lowest and highest bin of a number are open, so that no "
        f"smallest or largest value is shown. {'' if internal else _share_words(k)}"
    )


def _share_words(k: int) -> str:
    return f"A share that would tell of 1 to {k - 1} people is written as under or over a limit."
