"""Linked tables in the workbench: a folder with one file for each is looked at as one, and its persons are counted.

Runs in a child process. What is found stays in the private workspace, as with one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, ProblemsError, ShoalError
from shoal.web.inspect import Opened, check_unchanged, look_at, stamp_of

if TYPE_CHECKING:
    import polars as pl

    from shoal.files.linked import LinkedSource
    from shoal.schema import LinkedSchema

__all__ = ["linked_column", "linked_exposure", "linked_source", "open_linked"]

K_REQUIRED = 5  # candidates that everybody should keep when events are known


def open_linked(path: str | Path, *, keep: Path | None = None, **asked: Any) -> Opened:
    """Look at the tables of a folder: columns of all of them, the persons' first, and the proposed links and roles.

    `keep` is a private folder for a copy of each table, of which columns are read fast; None keeps none.
    """
    from shoal.files.linked import names_in, read_linked
    from shoal.schema.infer_linked import propose_linked

    place, options = Path(path), {name: value for name, value in asked.items() if value is not None}
    stamp = stamp_of(place)
    source = read_linked(place, names_in(place), **options)
    proposed = propose_linked(source.frame)
    views = {t.name: look_at(source.frame[t.name], place, table=t.name) for t in proposed.schema.tables}
    first = views[proposed.schema.persons.name]
    opened = replace(
        first,
        path=str(place),
        name=place.name,
        format=source.format,
        bytes=stamp["size"],
        stamp=stamp,
        asked=options,
        n_columns=sum(view.n_columns for view in views.values()),
        columns=tuple(column for view in views.values() for column in view.columns),
        tables={name: int(view.n_rows or 0) for name, view in views.items()},
        previews={name: (list(view.preview_columns), list(view.preview)) for name, view in views.items()},
        proposal={
            "schema": proposed.schema.to_dict(),
            "tables": {name: one.to_dict() for name, one in proposed.proposals.items()},
        },
        copy=None if keep is None else _copied(source.frame, keep / "kept"),
        scan={"findings": [_with_table(one, n) for n, view in views.items() for one in (view.scan or {})["findings"]]},
    )
    check_unchanged(opened)
    return opened


def _copied(tables: Mapping[str, pl.DataFrame], folder: Path) -> str | None:
    """Copies of the tables; None where they can't be kept, which does no harm."""
    try:
        folder.mkdir(mode=0o700)
        for name, frame in tables.items():
            frame.write_ipc(folder / f"{name}.arrow")
    except Exception:  # a full disk, a type that Arrow doesn't hold
        return None
    return str(folder)


def linked_column(opened: Opened, table: str, name: str) -> pl.Series:
    """One column of one of the tables, from its copy."""
    import polars as pl

    check_unchanged(opened)
    try:
        return pl.read_ipc(Path(str(opened.copy)) / f"{table}.arrow", columns=[name])[name]
    except Exception:
        raise InputError(opened.name, "has no copy here any more", hint="Open it again.") from None


def _with_table(finding: Mapping[str, Any], table: str) -> dict[str, Any]:
    return {**finding, "table": table}


def linked_source(opened: Opened, schema: LinkedSchema) -> LinkedSource:
    """The tables of an opened folder, dates by the forms that the schema declares."""
    from shoal.files.linked import LinkedSource
    from shoal.release.linked import read_input

    check_unchanged(opened)
    found = read_input(opened.path, schema, **opened.asked)
    check_unchanged(opened)
    assert isinstance(found, LinkedSource)
    return found


def linked_exposure(tables: Mapping[str, Any], schema: LinkedSchema) -> dict[str, Any]:
    """What doesn't fit, who of the persons is alone, and how many are found by one or two of their events."""
    from shoal.linked import Collection
    from shoal.risk.joined_view import measure
    from shoal.web.exposure import exposure, standing

    root = schema.persons
    found: dict[str, Any] = {"quasi": list(root.whole.quasi), "problems": []}
    try:
        held = Collection.of(tables, schema)
    except ProblemsError as error:
        return found | {"problems": [_words(one) for one in error.problems]}
    except InputError as error:
        return found | {"problems": [_words(error)]}
    persons = tables[root.name]
    found |= exposure(persons, root.whole)
    found |= standing(persons, root.whole)
    try:
        joined = measure(held, K_REQUIRED)
    except ShoalError:
        return found
    known = [one for one in joined.by_events if one.knows == "events" and one.below_share is not None]
    return found | {"events": [(one.events, one.k, one.below_share) for one in known], "k_required": K_REQUIRED}


def _words(error: InputError) -> dict[str, Any]:
    """A problem of the tables together: it names table and column itself."""
    return {"column": "", "rule": str(error), "got": "", "hint": "", "fix": {}}
