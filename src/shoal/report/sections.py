"""The sections of words and tables: data, claims, method and its steps, columns, parameters, limits, provenance.

A page for everybody says why measured risk and utility are not on it where no comparison with the original may leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.claim import Claim
from shoal.fact import Step
from shoal.report.evidence import Evidence
from shoal.report.marginal import Marginal
from shoal.report.markup import Child, Html, join, rows_table, section, tag
from shoal.report.numbers import between, count, number, percent, plural
from shoal.report.pieces import basis, bullets, is_share, moved_words
from shoal.report.summary import left_out_words
from shoal.report.what_was_done import ROLES, ColumnAccount, is_apart

__all__ = [
    "claims",
    "claims_section",
    "columns",
    "data",
    "drawn_words",
    "limits",
    "method",
    "parameters",
    "provenance",
    "risk_withheld",
    "rows_words",
    "steps_tables",
    "utility_withheld",
]

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
        *_events(evidence),
    )


def _events(evidence: Evidence) -> list[Child]:
    """The tables of events of linked tables: how many rows, of whom, and what may be known of one."""
    found = {name: table for name, table in evidence.tables.items() if "parent" in table}
    if not found:
        return []
    rows = [
        (name, count(table["rows"]), table["parent"], _named(table, ("quasi", "time")), _named(table, None))
        for name, table in found.items()
    ]
    words = (
        "The table above holds the persons. Events hang on it by keys, which are new and in no order. Of an event, "
        "some columns are taken to be known to an intruder; the others must not be learnt from them."
    )
    head = ("Table", "Rows", "Belongs to", "May be known", "Must not be learnt")
    return [tag("h3", "Events"), tag("p", words), rows_table("Tables of events", head, rows, numeric=(1,), quiet=True)]


def _named(table: Mapping[str, Any], roles: tuple[str, ...] | None) -> str:
    """The columns of some roles, or of all others."""
    columns = table["columns"].items()
    names = [n for n, c in columns if (c["role"] not in ("quasi", "time") if roles is None else c["role"] in roles)]
    return ", ".join(names) or "–"


def rows_words(evidence: Evidence) -> str:
    """How many rows there are, and whose."""
    words = _size_words(evidence, f" about {count(evidence.n_people)} people" if evidence.has_unit else "")
    unit = " A row is a record; a person may have several." if evidence.has_unit else " A row is one person's record."
    if is_apart(evidence.recipe):
        unit = " No row is a person's row: look at columns, pairs and regressions, not at rows."
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
    return claims_section(evidence.claims)


def claims_section(made: Sequence[Claim]) -> Html:
    """The same, of claims that were read back."""
    used = [name for name in BASES if any(claim.basis == name for claim in made)]
    rows = [_claim_row(claim) for claim in made]
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
    value = join([style(claim.limit(3)), tag("div", spread, class_="spread") if spread else None])
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
    known = tag("ul", *(tag("li", limit) for limit in evidence.limits))
    return section("limits", "Known limits", known, *(_small_cells(evidence, internal) if counts else ()))


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
    where = "Outside the section Internal only, no" if internal else "No"
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


def steps_tables(evidence: Evidence, *, internal: bool) -> list[Child]:
    """Tables of what each step left and did; for everybody only what the released rows show anyway."""
    said = [(step, step.details if internal else step.outside) for step in evidence.steps]
    tables = [*(_risk_table(evidence) if internal else []), *(_table(step, words) for step, words in said if words)]
    return [tag("h3", "Step by step"), *tables] if tables else []


def _risk_table(evidence: Evidence) -> list[Html]:
    rows = [
        (step.name, percent(step.reidentification), percent(step.linkage))
        for step in evidence.steps
        if step.reidentification is not None
    ]
    head = ("After", "Nearest match finds the right person", "Nearest or second nearest original is the source")
    return [rows_table("Risk after each step", head, rows, numeric=(1, 2))] if rows else []


def _table(step: Step, words: Mapping[str, Any]) -> Html:
    rows = [(name.replace("_", " "), _step_value(name, value)) for name, value in words.items() if value is not None]
    return rows_table(f"What {step.name} did", ("What", "Value"), rows)


def _step_value(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_step_value(name, item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_step_value(name, item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and name.endswith("_share"):
        return percent(value)
    return number(value) if isinstance(value, int | float) else str(value)


def columns(evidence: Evidence, *, internal: bool, unmeasured: str = "") -> Html:
    """One row a column, in plain words; `unmeasured` is said where no comparison with the original may be shown."""
    marginals = {marginal.column: marginal for marginal in evidence.marginals}
    head = ["Column", "What was done", "Why", "How much it changed", "What is preserved"]
    rows = [_row(account, marginals, evidence, internal, unmeasured) for account in evidence.columns]
    return section(
        "columns",
        "What was changed, and why",
        tag("p", _intro(evidence, internal)),
        rows_table("What was changed, and why", head, rows, quiet=True, kind="account"),
    )


def _intro(evidence: Evidence, internal: bool) -> str:
    if evidence.withheld and not internal:
        return f"How much each column differs from the original was measured but is internal: {evidence.withheld}."
    return (
        "Moved by: the share of the records that would have to move for the two distributions of the column to "
        "agree (total variation, over the cells of the pictures below). 0% means that the distribution did "
        "not change, even if every person's value did."
    )


def _row(
    account: ColumnAccount, marginals: Mapping[str, Marginal], evidence: Evidence, internal: bool, unmeasured: str
) -> tuple[Child, ...]:
    name = join([account.name, tag("span", account.role, class_="role")])
    changed = _changed(account, marginals.get(account.name), evidence, internal, unmeasured)
    return name, _sentence(account.done), account.reason, changed, account.kept


def _changed(
    account: ColumnAccount, marginal: Marginal | None, evidence: Evidence, internal: bool, unmeasured: str
) -> str:
    if account.done == "removed":
        return "Removed entirely."
    if evidence.withheld and not internal:
        return unmeasured or " ".join(_left(account)) or "Kept inside."
    said = [*_moved(account, marginal), *_left(account)]
    if internal and account.changed_share is not None:
        said.append(f"{percent(account.changed_share)} of the values differ from the person's own.")
    return " ".join(said) or _why_unmeasured(account, marginal, evidence)


def _why_unmeasured(account: ColumnAccount, marginal: Marginal | None, evidence: Evidence) -> str:
    if marginal is not None:
        return "Too few people to say."
    n_shown = len(evidence.marginals)
    if account.role in (ROLES["quasi"], ROLES["sensitive"]) and evidence.n_marginals > n_shown:
        return f"Not measured: the first {n_shown} quasi-identifiers and sensitive columns are."
    return "Not measured: only quasi-identifiers and sensitive columns are."


def _moved(account: ColumnAccount, marginal: Marginal | None) -> list[str]:
    if account.done in ("published unchanged", "left as it is"):
        return ["Not at all."]
    if marginal is None or not marginal.cells:
        return []
    return [moved_words(marginal)]


def _left(account: ColumnAccount) -> list[str]:
    if account.n_left is None:
        return []
    return ["1 distinct value remains." if account.n_left == 1 else f"{count(account.n_left)} distinct values remain."]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def risk_withheld(evidence: Evidence, first: str = "") -> Html:
    """Why there is no measured risk, after what is said `first`."""
    words = f"{first}What an intruder achieves was measured against the original. The numbers are internal: "
    return section("risk", "Risk, before and after", tag("p", f"{words}{evidence.withheld}."))


def utility_withheld(evidence: Evidence) -> Html:
    """Why there is no measured utility, and what the rows themselves show of it."""
    words = (
        "How well the table agrees with the original was measured but is internal, for the same reason. Ask "
        "the publisher to run an analysis on the original and to say whether the results agree."
    )
    return section("utility", "Utility: what is preserved", tag("p", words), _blanked(evidence))


def _blanked(evidence: Evidence) -> Html | None:
    """The share of values that are blank in the released rows: anybody can count it there."""
    if not evidence.blanked:
        return None
    rows = [(name, percent(share)) for name, share in evidence.blanked.items()]
    caption = "Values suppressed in the released rows"
    return rows_table(caption, ("Column", "Share suppressed"), rows, numeric=(1,), kind="narrow")
