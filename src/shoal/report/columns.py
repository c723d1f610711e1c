"""What was changed and why, one row a column: what was done, how much it changed by measure, and what is kept."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.report.account import ColumnAccount
from shoal.report.evidence import Evidence
from shoal.report.marginal import Marginal
from shoal.report.markup import Child, Html, join, rows_table, section, tag
from shoal.report.numbers import count, percent

__all__ = ["columns"]


def columns(evidence: Evidence, *, internal: bool, unmeasured: str = "") -> Html:
    """One row a column, in plain words; `unmeasured` is said where no comparison with the original may be shown."""
    marginals = {marginal.column: marginal for marginal in evidence.marginals}
    head = ["Column", "What was done", "Why", "How much it changed", "What is kept"]
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
    return " ".join(said) or "Not measured."


def _moved(account: ColumnAccount, marginal: Marginal | None) -> list[str]:
    if account.done in ("published unchanged", "left as it is"):
        return ["Not at all."]
    if marginal is None or not marginal.cells:
        return []
    return [f"Moved by {percent(marginal.distance())}."]


def _left(account: ColumnAccount) -> list[str]:
    if account.n_left is None:
        return []
    return ["1 distinct value remains." if account.n_left == 1 else f"{count(account.n_left)} distinct values remain."]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
