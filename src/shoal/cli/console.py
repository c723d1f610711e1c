"""What the commands share on the screen: tables, progress, complaints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from shoal.claim import Claim

__all__ = ["complain", "out", "print_claims", "print_table", "steps"]

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

_PATIENCE = 2.0  # seconds before a progress bar appears


def complain(message: str) -> None:
    """One line on standard error."""
    err.print(f"[bold red]shoal:[/] {_escape(message)}", soft_wrap=True)


@contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """A progress bar over named steps that appears once the work takes longer than two seconds."""
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
    out.print(Padding(text, (0, 0, 0, columns)))


def _escape(text: str) -> str:
    return escape(text)
