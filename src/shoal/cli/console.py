"""What the commands share on the screen: tables, progress, complaints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table

from shoal.claim import Claim
from shoal.errors import ProblemsError, ShoalError

__all__ = ["complain", "complain_of", "out", "print_claims", "print_table", "steps"]

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

_PATIENCE = 2.0  # seconds before a progress bar appears


def complain(message: str) -> None:
    """One line on standard error."""
    err.print(f"[bold red]shoal:[/] {_escape(message)}", soft_wrap=True)


def complain_of(error: ShoalError) -> None:
    """An error as one line, or several problems as a table, each with its remedy, on standard error."""
    if not isinstance(error, ProblemsError):
        complain(str(error))
        return
    complain(f"the table doesn't fit its schema; {len(error.problems)} problems.")
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    for name in ("where", "problem", "remedy"):
        table.add_column(name, overflow="fold")
    for problem in error.problems:
        found = f"{problem.rule}; {problem.got}" if problem.got else problem.rule
        table.add_row(_escape(problem.owner), _escape(found), _escape(problem.hint))
    err.print(table)


@contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """A progress bar over named steps that appears once the work takes longer than two seconds."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
    )
    task = bar.add_task("starting", total=total)
    begun = iter(range(total + 1))

    def step(name: str) -> None:
        bar.update(task, description=name, completed=next(begun, total))

    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield step
    finally:
        timer.cancel()
        bar.stop()


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table; the first column is text, the others are numbers."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, 1),
    )
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=i == 0)
    for row in rows:
        table.add_row(*[_escape(cell) for cell in row])
    out.print(table)


def print_claims(claims: Sequence[Claim]) -> None:
    """Each claim with its basis and its assumptions."""
    out.print("[bold]Claims[/]")
    for claim in claims:
        _indented(2, f"[bold]{_escape(claim.kind)}[/] {claim.value:.4g} [cyan]{claim.basis}[/], {_escape(claim.scope)}")
        _indented(4, _escape(claim.statement))
        for assumption in claim.assumptions:
            _indented(4, f"[dim]assumes: {_escape(assumption)}[/]")


def _indented(columns: int, text: str) -> None:
    from rich.padding import Padding

    out.print(Padding(text, (0, 0, 0, columns)))


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
