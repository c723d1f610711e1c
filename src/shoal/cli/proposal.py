"""A proposed schema on the screen: its roles, and what only a person can decide."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from shoal.cli.console import out as screen
from shoal.schema.infer import Proposal
from shoal.schema.person_key import key_question
from shoal.schema.whose_rows import REMEDY

__all__ = ["print_proposal", "print_rows"]

_ROLES = ("identifier", "unit", "household", "quasi", "sensitive", "weight")
_KEYS = {"weight": "a survey's weight?"}
_MOST_NAMED = 60


def print_proposal(made: Proposal) -> None:
    """Where to begin if much is open, columns by role, then the questions, each with the columns that it is about."""
    for line in made.advice:
        screen.print(escape(line))
    names = {role: [column.name for column in made.schema.columns if column.role == role] for role in _ROLES}
    roles = [(f"{role} ({len(found):,})", _listed(found)) for role, found in names.items() if found]
    print_rows("Proposed roles", roles)
    asked = [(_KEYS.get(role, "who is a person?"), key_question(name, role)) for name, role in made.keys.items()]
    decide = [(question, _listed(found)) for question, found in _questions(made) if found]
    again = [("who is a person?", f"{made.repeats} {REMEDY}")] if made.repeats else []
    print_rows("For you to decide", [*again, *asked, *decide])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _questions(made: Proposal) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("undecided: sensitive?", made.undecided),
        ("codes for an absence?", tuple(made.doubtful)),
        ("derived from others?", tuple(made.follows)),
    )


def print_rows(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """A title, and below it a line for each pair of texts; nothing where there is none."""
    if not rows:
        return
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True, min_width=22)
    lines.add_column(overflow="fold")
    for head, text in rows:
        lines.add_row(escape(head), escape(text))
    screen.print(title, style="bold")
    screen.print(lines)
