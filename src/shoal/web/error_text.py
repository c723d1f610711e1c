"""What went wrong, in words for the person at the screen: what it was and what to do.

Errors that Shoal raises on purpose hold no cell and are passed on as they are. Of any other only the type is told; its
message and traceback, which may quote cells, go to a file in the private workspace. A full disk is recognised wherever
it shows, also where a library has wrapped it.
"""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from shoal.errors import (
    ColumnError,
    GuaranteeError,
    IdentifierError,
    InputError,
    ParameterError,
    ProblemsError,
    ShoalError,
)
from shoal.record import Record
from shoal.register.refusal import CrossedError

__all__ = ["DISK_FULL", "Failure", "Fault", "explain", "is_disk_full", "out_of_disk", "without_paths"]

DISK_FULL = 28
"""Exit code of a child that couldn't even write that the disk is full."""

Fault = Literal["guarantee", "input", "parameter", "internal"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_WORDS = tuple(os.strerror(code).lower() for code in _FULL) + tuple(f"(os error {code})" for code in _FULL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(Record):
    """Why something failed.

    Parameters
    ----------
    message
        What was wrong and what to do; never a cell.
    kind
        A promise that can't be met (``"guarantee"``), unusable input, a wrong parameter, or a fault of the program.
    columns
        What is wrong with which column, where that is why: its name and the rule with its remedy.
    naming
        The columns that name people, or may, with the reason for each, if that is why; a person can drop or allow them.
    releases, keeps_groups
        The earlier releases of the same people beside which it doesn't hold, if that is why, and whether it could keep
        the groups of one of them.

    Examples
    --------
    >>> from shoal.errors import GuaranteeError
    >>> from shoal.web.error_text import explain
    >>> failure = explain(GuaranteeError("preset cms", "wants classes of 11", hint="Coarsen more."))
    >>> print(failure.kind, "-", failure)
    guarantee - preset cms: wants classes of 11. Coarsen more.
    """

    message: str
    kind: Fault = "internal"
    columns: tuple[tuple[str, str], ...] = ()
    naming: tuple[tuple[str, str], ...] = ()
    releases: tuple[str, ...] = ()
    keeps_groups: bool = False

    def __str__(self) -> str:
        return self.message

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Failure:
        """Read a failure back from its words."""
        by_column = {part: tuple((name, said) for name, said in words.get(part, ())) for part in ("columns", "naming")}
        return cls(
            message=words["message"],
            kind=words["kind"],
            columns=by_column["columns"],
            naming=by_column["naming"],
            releases=tuple(words.get("releases", ())),
            keeps_groups=bool(words.get("keeps_groups", False)),
        )


def explain(error: BaseException, folder: Path | None = None) -> Failure:
    """The failure behind `error`; what may quote cells is written to ``fault.txt`` in `folder`."""
    if is_disk_full(error):
        return out_of_disk(folder)
    if isinstance(error, ShoalError):
        if isinstance(error, CrossedError):
            return _crossed(error)
        if isinstance(error, IdentifierError):
            return _naming(error)
        return Failure(message=str(error), kind=_kind(error), columns=_by_column(error))
    if isinstance(error, MemoryError):
        hint = "Close other programs, or use fewer rows or columns, and run it again."
        return Failure(message=f"not enough memory. {hint}", kind="input")
    return Failure(message=_internal(error, folder), kind="internal")


def _by_column(error: ShoalError) -> tuple[tuple[str, str], ...]:
    """What is wrong with which column, if that is all that is wrong."""
    problems = error.problems if isinstance(error, ProblemsError) else (error,)
    named = [one for one in problems if isinstance(one, ColumnError)]
    return tuple((one.column, _rule(one)) for one in named) if len(named) == len(problems) else ()


def _rule(error: ColumnError) -> str:
    return str(error).removeprefix(f"{error.owner}: ")


def _crossed(error: CrossedError) -> Failure:
    """A release that doesn't hold beside earlier ones; the page offers the ways on, in its own words."""
    message = str(GuaranteeError(error.owner, error.rule, got=error.got))
    names = tuple(name for _, name, _, _ in error.earlier)
    return Failure(message=message, kind="guarantee", releases=names, keeps_groups=error.keeps_groups)


def _naming(error: IdentifierError) -> Failure:
    """A release that would hold what names people; the page offers the ways on, column by column."""
    message = str(GuaranteeError(error.owner, error.rule))
    return Failure(message=message, kind="guarantee", naming=tuple(error.columns.items()))


def out_of_disk(folder: Path | None) -> Failure:
    """The failure that a full disk is."""
    where = f" under {folder}" if folder else ""
    return Failure(message=f"the disk is full: free space{where} and run it again. Nothing was released.", kind="input")


def is_disk_full(error: BaseException) -> bool:
    """Whether a full disk (or a limit on the size of files) is what lies behind `error`."""
    return any(_says_full(link) for link in _chain(error))


def without_paths(failure: Failure, path: Path) -> Failure:
    """The same failure with the file's name in place of its path in the private workspace."""
    return replace(failure, message=failure.message.replace(str(path), path.name))


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _says_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    said = error.got if isinstance(error, ShoalError) else str(error)
    return any(words in said.lower() for words in _FULL_WORDS)


def _kind(error: ShoalError) -> Fault:
    kinds: dict[type[ShoalError], Fault] = {
        GuaranteeError: "guarantee",
        ParameterError: "parameter",
        InputError: "input",
    }
    return next((kind for cls, kind in kinds.items() if isinstance(error, cls)), "internal")


def _internal(error: BaseException, folder: Path | None) -> str:
    said = f"internal fault: {type(error).__name__}."
    if folder is None:
        return said
    with suppress(OSError):
        (folder / "fault.txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    return f"{said} The details are in {folder / 'fault.txt'}, which is internal because it may quote cell values."
