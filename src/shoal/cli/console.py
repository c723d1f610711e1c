"""What the commands share on the screen: tables, progress, errors."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from shoal.claim import Claim
from shoal.errors import ProblemsError, ShoalError
from shoal.progress import Pace, listening, spoken

if TYPE_CHECKING:
    from shoal.release.forecast import Forecast

__all__ = [
    "WIDE",
    "Steps",
    "clipped",
    "complain_of",
    "note",
    "out",
    "print_claims",
    "print_error",
    "print_table",
    "steps",
]

WIDE = 80
"""Columns of a terminal that everything fits."""
_PIPE_CLOSED = 141  # as shells have it: 128 and the number of SIGPIPE


class Screen(Console):
    """A console whose reader may go away (`| head`): the command then ends without a word."""

    def on_broken_pipe(self) -> None:
        """End as whoever is stopped by a closed pipe does, and write nothing more."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_PIPE_CLOSED)


out = Screen(highlight=False)
err = Screen(stderr=True, highlight=False)


_PATIENCE, _BEAT = 2.0, 0.2  # seconds before a progress bar appears, and between its moves


def print_error(message: str) -> None:
    """One line on standard error."""
    err.print(f"[bold red]shoal:[/] {_escape(message)}", soft_wrap=True)


def complain_of(error: ShoalError) -> None:
    """An error as one line, or several problems as a table, each with its remedy, on standard error."""
    if not isinstance(error, ProblemsError):
        print_error(str(error))
        return
    print_error(f"the table doesn't fit its schema; {len(error.problems)} problems.")
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    for name in ("where", "problem", "remedy"):
        table.add_column(name, overflow="fold")
    for before, problem in zip((None, *error.problems), error.problems, strict=False):
        again = before is not None and (before.rule, before.hint) == (problem.rule, problem.hint)
        rule = "the same" if again else problem.rule
        found = f"{rule}; {problem.got}" if problem.got else rule
        table.add_row(_escape(problem.owner), _escape(found), "as above" if again else _escape(problem.hint))
    err.print(table)


def note(message: str) -> None:
    """One line on standard error that is no error; none where only errors are wanted."""
    if out.quiet:
        return
    err.print(message, style="dim", markup=False, soft_wrap=True)


class Steps:
    """The steps of a run, for a bar: called with the name of each as it begins.

    Steps are counted where their number is known, or weigh what a forecast expects of each (`expect`).
    """

    def __init__(self, total: int | None) -> None:
        self._total, self._begun, self._heard = total, -1, 0.0
        self._pace, self._compiling = Pace({}), _Compiling()

    def __call__(self, name: str) -> None:
        """A step begins."""
        self._begun, self._heard = self._begun + 1, 0.0
        self._pace.begin(name)

    def expect(self, forecast: Forecast, *, compiles: bool = False) -> None:
        """Weigh the steps to come by a forecast, and say how long they will take if that is long.

        Where kernels are compiled on the way, that time is in no forecast: the clock of the pace stands still then.
        """
        if compiles:
            self._compiling.watch()
        self._total, self._pace = None, Pace(forecast.seconds, clock=self._compiling.clock)
        if forecast.is_long:
            note(f"This takes {forecast}.")

    def heard(self, share: float) -> None:
        """The present step has come so far."""
        self._heard = share
        self._pace.advanced(share)

    @property
    def shown(self) -> tuple[str, float, str]:
        """The present step, the share of the run that is done, and about how long it will take."""
        if self._total is not None:
            return self._pace.step, min(1.0, (max(0, self._begun) + self._heard) / max(1, self._total)), ""
        share = self._pace.share
        if self._compiling.now:
            return f"{self._pace.step}: compiling, once", share, ""
        return self._pace.step, share, f"about {spoken(self._pace.seconds_left)} left" if share > 0 else ""


class _Compiling:
    """The compiling of kernels: whether some is under way, and a clock that stands still meanwhile."""

    def __init__(self) -> None:
        self._under_way, self._since, self._lost = 0, 0.0, 0.0

    @property
    def now(self) -> bool:
        return self._under_way > 0

    def clock(self) -> float:
        now = time.monotonic()
        return (self._since if self.now else now) - self._lost

    def watch(self) -> None:
        """Hear from numba, which must be needed anyway: it takes a fifth of a second to load."""
        from numba.core import event

        watcher = self

        class Heard(event.Listener):
            def on_start(self, _: Any) -> None:
                if not watcher.now:
                    watcher._since = time.monotonic()
                watcher._under_way += 1

            def on_end(self, _: Any) -> None:
                watcher._under_way -= 1
                if not watcher.now:
                    watcher._lost += time.monotonic() - watcher._since

        register: Any = event.register
        register("numba:compile", Heard())


@contextmanager
def steps(total: int | None = None) -> Iterator[Steps]:
    """A progress bar over named steps that appears once the work takes longer than two seconds, and then moves."""
    run, over = Steps(total), threading.Event()
    watcher = threading.Thread(target=_show, args=(run, over), daemon=True)
    watcher.start()
    try:
        with listening(run.heard):
            yield run
    finally:
        over.set()
        watcher.join()


def _show(run: Steps, over: threading.Event) -> None:
    if over.wait(_PATIENCE) or out.quiet:
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("starting", total=1.0, left="")
        while not over.wait(_BEAT):
            step, share, left = run.shown
            bar.update(task, description=step, completed=share, left=left)


def clipped(line: str) -> str:
    """A line that fits."""
    return line if len(line) <= WIDE else f"{line[: WIDE - 1]}…"


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
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=i == 0, overflow="fold")
    for row in rows:
        table.add_row(*[_escape(cell) for cell in row])
    out.print(table)


def print_claims(claims: Sequence[Claim]) -> None:
    """Each claim with its basis and its assumptions."""
    out.print("[bold]Claims[/]")
    for claim in claims:
        _indented(
            2, f"[bold]{_escape(claim.kind)}[/] {claim.limit():.4g} [cyan]{claim.basis}[/], {_escape(claim.scope)}"
        )
        _indented(4, _escape(claim.statement))
        for assumption in claim.assumptions:
            _indented(4, f"[dim]assumes: {_escape(assumption)}[/]")


def _indented(columns: int, text: str) -> None:
    out.print(Padding(text, (0, 0, 0, columns)))


def _escape(text: str) -> str:
    return escape(text)
