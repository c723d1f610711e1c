"""What a codebook says of an opened file: another proposal, beside the one that its cells and names gave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError
from shoal.files.codebook import fitted, read_codebook
from shoal.report.numbers import listed
from shoal.web.inspect import BEFORE, CODEBOOK, Opened, rows_to_judge

if TYPE_CHECKING:
    from shoal.files import Source

__all__ = ["described"]

MOST_NAMED = 8


def described(opened: Opened, source: Source, codebook: Path) -> Opened:
    """Propose with `codebook` too; one that can't be read, or speaks of no column here, is told and left aside."""
    try:
        return _proposed(opened, source, codebook)
    except InputError as error:
        return replace(opened, notes=(*opened.notes, f"The codebook {codebook.name} was not used. {error}"))


def _proposed(opened: Opened, source: Source, codebook: Path) -> Opened:
    from shoal.schema.infer import propose

    book = read_codebook(codebook)
    said, _ = fitted(book, source.frame.columns)
    found = propose(rows_to_judge(source.frame), source.labels, codebook=book)
    before = (opened.proposal or {}).get("schema")
    described = f"{len(said.codebook)} of {opened.n_columns} columns"
    words = f"Proposed with the codebook {codebook.name}, which describes {described}."
    rest = f" There is no column for {_named(found.unused)}." if found.unused else ""
    return replace(
        opened,
        proposal={**found.to_dict(), BEFORE: before, CODEBOOK: codebook.name},
        notes=(*opened.notes, f"{words}{rest} Undo goes back to what was proposed without it."),
    )


def _named(names: tuple[str, ...]) -> str:
    rest = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return listed([*names[:MOST_NAMED], *rest])
