"""Hand the table of a written release on: into a database, or to standard output.

The folder is held to its manifest first, so that only a release that was verified when it was written goes out. The
evidence (manifest, report) stays with the folder: who needs to check the release needs the folder.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from shoal.files import read_table
from shoal.files.database import write_rows
from shoal.release.contents import require_whole
from shoal.release.layout import place
from shoal.release.manifest import read_manifest

__all__ = ["export_table", "released_table"]


def released_table(directory: str | Path) -> pl.DataFrame:
    """The table of the release in `directory`, whose files must be those that its manifest names."""
    folder = place(directory)
    words = read_manifest(folder)
    require_whole(folder, words, "export")
    return read_table(folder / words["output"]["file"])


def export_table(directory: str | Path, database: str, table: str, *, overwrite: bool = False) -> int:
    """Write the released table to a database in one transaction; the number of rows.

    Parameters
    ----------
    database
        A file ending in .sqlite, .db or .duckdb, or a URL (``postgresql://USER@HOST/NAME``).
    table
        The table's name; one that is there is replaced only if `overwrite` is True.
    """
    frame = released_table(directory)
    write_rows(frame, database, table, replace=overwrite)
    return len(frame)
