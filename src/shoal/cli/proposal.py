"""A proposed schema on the screen: its roles, and what only a person can decide."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from shoal.cli.console import out as screen
from shoal.schema.infer import Proposal

__all__ = ["print_proposal"]

_ROLES = ("identifier", "unit", "household", "quasi", "sensitive", "weight")


def print_proposal(made: Proposal) -> None:
    """Columns by role, then the questions, each with the columns that it is about."""
    names = {role: [column.name for column in made.schema.columns if column.role == role] for role in _ROLES}
    roles = [(f"{role} ({len(found)})", ", ".join(found)) for role, found in names.items() if found]
    _print("Proposed roles", roles)
    _print("For you to decide", [(question, ", ".join(found)) for question, found in _questions(made) if found])


def _questions(made: Proposal) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("undecided: sensitive?", made.undecided),
        ("codes for an absence?", tuple(made.doubtful)),
        ("derived from others?", tuple(made.follows)),
    )


def _print(title: str, rows: list[tuple[str, str]]) -> None:
    if not rows:
        return
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True, min_width=22)
    lines.add_column(overflow="fold")
    for head, text in rows:
        lines.add_row(escape(head), escape(text))
    screen.print(title, style="bold")
    screen.print(lines)
