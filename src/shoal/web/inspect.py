"""Look at a file: what it holds, how it begins, what its columns could be, what in it looks like an identifier.

Runs in a child process; the page's process never parses a table. A large text file is told in two stages: first how it
begins (``stage="preview"``), after a look at its first megabyte, then everything (``stage="full"``).

What is found stays in the private workspace: the preview holds cells, and counts may be small.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import FileError, InputError
from shoal.files import read_source
from shoal.files.atomic import check_readable, reporting
from shoal.record import Record

if TYPE_CHECKING:
    import polars as pl

    from shoal.files import Source

__all__ = [
    "BEFORE",
    "CODEBOOK",
    "ColumnView",
    "Opened",
    "check_unchanged",
    "look_at",
    "open_file",
    "rows_to_judge",
    "stamp_of",
    "texts_of",
]

PREVIEW_ROWS = 50
PREVIEW_COLUMNS = 50
LONGEST_CELL = 120
MOST_COLUMNS = 3_000
MOST_DISTINCT = 10_000
BINS = 20
MOST_LEVELS = 12
MOST_CELLS = 20_000_000  # beyond it the proposal and the scan look at evenly spaced rows

_MARK_BYTES = 1 << 16

BEFORE = "without_codebook"
"""In a proposal with a codebook: the schema that was proposed without it, to go back to."""
CODEBOOK = "codebook"
"""In a proposal with a codebook: its name."""

Stamp = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnView(Record):
    """What is known of one column.

    Parameters
    ----------
    name, type
        Its name, and what its cells are in a word: whole number, number, text, true/false, date, time.
    n_missing
        Empty cells; None before the whole file was read.
    n_distinct
        Different values, counted up to 10,000; None before the whole file was read.
    shape, ordered
        Its distribution as shares: of equal bins of a number (`ordered`), or of its most frequent values. For inside.
    table
        The linked table that it is in; empty where there is one table.

    Examples
    --------
    >>> from shoal.web.inspect import ColumnView
    >>> view = ColumnView(name="age", type="whole number", n_missing=0, n_distinct=80)
    >>> ColumnView.from_dict(view.to_dict()) == view
    True
    """

    name: str
    type: str
    n_missing: int | None = None
    n_distinct: int | None = None
    shape: tuple[float, ...] = ()
    ordered: bool = False
    table: str = ""

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> ColumnView:
        """Read a view back from its words."""
        return cls(**{**words, "shape": tuple(words["shape"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A file that was looked at.

    Parameters
    ----------
    path, name, format, bytes
        Where it lies, its name, its format (``"csv"``, ``"parquet"``...) and size.
    stamp
        By what a change of the file is noticed: size, time of change, and a hash of its beginning and end.
    stage
        ``"preview"`` (the beginning of the file) or ``"full"``.
    n_rows, n_columns
        Its size; rows are None in the first stage.
    columns
        Every column.
    preview
        The first rows as texts, as many columns as `preview_columns` names.
    proposal
        ``{"schema": ..., "reasons": ...}``, of linked tables ``{"schema": ..., "tables": {name: ...}}``; None in the
        first stage.
    scan
        What the identifier scan found (`shoal.compliance.scan.Scan.to_dict`); None in the first stage.
    notes
        What was left out or sampled, in words.
    asked, reading
        The delimiter, encoding and decimal sign that were asked for, and those that were found.
    tables, previews
        Of linked tables: how many rows each has, and the first columns and rows of each. Empty where there is one.
    kept
        Where a copy of the table lies in the private workspace, for the jobs to read it faster; None if there is none.
    """

    path: str
    name: str
    format: str
    bytes: int
    stamp: Stamp
    n_columns: int
    columns: tuple[ColumnView, ...]
    stage: str = "full"
    n_rows: int | None = None
    preview: Sequence[Sequence[str]] = field(default=(), repr=False)
    preview_columns: tuple[str, ...] = ()
    proposal: Mapping[str, Any] | None = field(default=None, repr=False)
    scan: Mapping[str, Any] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    copy: str | None = None
    tables: Mapping[str, int] = field(default_factory=dict)
    previews: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def proposed(self, table: str) -> Mapping[str, Any]:
        """What was proposed for a table, with its schema as it was; for the only one where tables aren't linked."""
        words = self.proposal or {}
        if not table:
            return words
        return {
            **words.get("tables", {}).get(table, {}),
            "schema": words.get("schema", {}).get("tables", {}).get(table, {}),
        }

    def to_dict(self) -> dict[str, Any]:
        """The look as JSON-safe words."""
        plain = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("columns", "preview", "preview_columns", "notes")
        }
        return {
            **plain,
            "columns": [column.to_dict() for column in self.columns],
            "preview": [list(row) for row in self.preview],
            "preview_columns": list(self.preview_columns),
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Opened:
        """Read a look back from its words."""
        lists = {
            "columns": tuple(ColumnView.from_dict(column) for column in words["columns"]),
            "preview": [list(row) for row in words["preview"]],
            "preview_columns": tuple(words["preview_columns"]),
            "notes": tuple(words["notes"]),
        }
        return cls(**{**words, **lists})

    def is_same(self, other: Opened) -> bool:
        """Whether both are looks at one unchanged file, read in the same way."""
        return (self.path, self.stamp, self.asked) == (other.path, other.stamp, other.asked)

    def slim(self) -> Opened:
        """Without preview, proposal and scan: what a job needs."""
        return replace(self, preview=(), previews={}, proposal=None, scan=None, columns=())


def open_file(
    path: str | Path,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    sheet: str | None = None,
    codebook: str | Path | None = None,
    *,
    tell: Callable[[Opened], None] | None = None,
    keep: Path | None = None,
) -> Opened:
    """Look at a file, in a process that may take its time.

    Parameters
    ----------
    path, delimiter, encoding, decimal, sheet
        As for `shoal.read_table`.
    codebook
        What its columns and codes mean (`shoal.files.codebook.read_codebook`); one that can't be used is told in
        `notes`.
    tell
        Called with the first stage of a large file, as soon as it is there.
    keep
        A private folder for a copy of the table that later jobs read faster; None keeps none.

    Raises
    ------
    FileError, InputError
        As `shoal.read_table` does; also if the file has changed while it was read, has no rows, or has more than
        3,000 columns.

    Notes
    -----
    Missing cells are counted; a weight plays no part. Cost: reading the file, then a count of different values and a
    look for identifiers in each column: some seconds for a million rows of eight columns, the first stage within one;
    three milliseconds for each column of however few rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.web.inspect import open_file
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = file.write_text("patient_id,age\\n" + "".join(f"{1000 + i},{20 + i % 40}\\n" for i in range(90)))
    >>> opened = open_file(file)
    >>> opened.n_rows, [column.type for column in opened.columns], opened.proposal["schema"]["columns"]["age"]["role"]
    (90, ['whole number', 'whole number'], 'quasi')
    """
    from shoal.web.described import described
    from shoal.web.table_reading import first_look, width

    file = Path(path)
    asked: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    asked |= {} if sheet is None else {"sheet": sheet}
    stamp = stamp_of(file)
    _check_size(file, width(file, delimiter))
    if tell is not None and (first := first_look(file, asked)) is not None:
        tell(_seen(first, file, stamp, asked, stage="preview"))
    source = read_source(file, codes=None, **asked)
    opened = _seen(source, file, stamp, asked, stage="full")
    check_unchanged(opened)
    judged = _judged(opened, source)
    return _with_copy(judged if codebook is None else described(judged, source, Path(codebook)), source, keep)


def look_at(frame: pl.DataFrame, file: Path, *, table: str) -> Opened:
    """One of several tables, with its counts and the findings of the scan."""
    from shoal.compliance.scan import scan

    shown = frame.columns[:PREVIEW_COLUMNS]
    return Opened(
        path=str(file),
        name=table,
        format="",
        bytes=0,
        stamp={},
        n_rows=len(frame),
        n_columns=frame.width,
        columns=tuple(replace(view, table=table) for view in _counted(frame)),
        preview=texts_of(frame.select(shown).head(PREVIEW_ROWS)),
        preview_columns=tuple(shown),
        scan=scan(frame.gather_every(_step(frame))).to_dict(),
    )


def check_unchanged(opened: Opened) -> None:
    """Hold the file to be the one that was opened."""
    if stamp_of(Path(opened.path)) != opened.stamp:
        raise InputError(opened.name, "has changed since it was opened", hint="Open it again.")


def stamp_of(file: Path) -> dict[str, Any]:
    """By what a change of a file is noticed, without reading all of it."""
    if file.is_dir():
        return _folder_stamp(file)
    if file.exists() and not file.is_file() and not file.is_dir():  # reading a device or a pipe may never end
        raise FileError(str(file), "must be a file", got="a device or a pipe")
    check_readable(file)
    with reporting(file), open(file, "rb") as stream:
        about = file.stat()
        digest = hashlib.sha256(stream.read(_MARK_BYTES))
        stream.seek(max(0, about.st_size - _MARK_BYTES))
        digest.update(stream.read(_MARK_BYTES))
    return {"size": about.st_size, "mtime_ns": about.st_mtime_ns, "mark": digest.hexdigest()[:32]}


def _folder_stamp(folder: Path) -> dict[str, Any]:
    """The same of all files of a folder."""
    with reporting(folder):
        files = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.name.startswith(".")]
    stamps = [(file.name, stamp_of(file)) for file in files]
    digest = hashlib.sha256(repr(stamps).encode())
    latest = max((stamp["mtime_ns"] for _, stamp in stamps), default=0)
    return {"size": sum(s["size"] for _, s in stamps), "mtime_ns": latest, "mark": digest.hexdigest()[:32]}


def _seen(source: Source, file: Path, stamp: Stamp, asked: Mapping[str, Any], *, stage: str) -> Opened:
    frame, full = source.frame, stage == "full"
    _check_size(file, frame.width)
    shown = frame.columns[:PREVIEW_COLUMNS]
    return Opened(
        path=str(file),
        name=file.name,
        format=source.format,
        bytes=stamp["size"],
        stamp=stamp,
        stage=stage,
        n_rows=len(frame) if full else None,
        n_columns=frame.width,
        columns=tuple(_counted(_without_codes(source)) if full else (_view(column) for column in frame)),
        preview=texts_of(frame.select(shown).head(PREVIEW_ROWS)),
        preview_columns=tuple(shown),
        notes=_preview_notes(frame.width),
        asked=dict(asked),
        reading={name: getattr(source, name) for name in asked},
    )


def _check_size(file: Path, n_columns: int) -> None:
    if n_columns > MOST_COLUMNS:
        hint = "Keep only the columns that the release needs, or use the command line."
        raise InputError(file.name, f"must have at most {MOST_COLUMNS:,} columns", got=f"{n_columns:,}", hint=hint)


def _preview_notes(n_columns: int) -> tuple[str, ...]:
    if n_columns <= PREVIEW_COLUMNS:
        return ()
    return (f"The preview shows the first {PREVIEW_COLUMNS} of {n_columns:,} columns.",)


def _view(column: pl.Series) -> ColumnView:
    return ColumnView(name=column.name, type=_type_word(column.dtype))


def _counted(frame: pl.DataFrame) -> list[ColumnView]:
    """Every column with its counts; of a large table different values are counted in evenly spaced rows."""
    looked_at = frame.gather_every(_step(frame))
    return [_count(column, looked_at[column.name]) for column in frame]


def _count(column: pl.Series, looked_at: pl.Series) -> ColumnView:
    if column.dtype.is_nested():
        return _view(column)
    n_missing = column.null_count() + (int(column.is_nan().sum()) if column.dtype.is_float() else 0)
    n_distinct = looked_at.n_unique() - bool(looked_at.null_count())
    shares, ordered = _shape(looked_at)
    return replace(
        _view(column), n_missing=n_missing, n_distinct=min(n_distinct, MOST_DISTINCT), shape=shares, ordered=ordered
    )


def _shape(column: pl.Series) -> tuple[tuple[float, ...], bool]:
    """The distribution of a column in a few shares, and whether they are of bins in order."""
    ordered = column.dtype.is_numeric() or column.dtype.is_temporal()
    counts = _binned(column) if ordered else _level_sizes(column)
    whole = max(1.0, float(counts.sum()))
    return tuple(round(float(count) / whole, 4) for count in counts[: BINS if ordered else MOST_LEVELS]), ordered


def _level_sizes(column: pl.Series) -> Any:
    return column.drop_nulls().alias("level").value_counts(sort=True, name="n")["n"].to_numpy()


def _binned(column: pl.Series) -> Any:
    import numpy as np

    values = column.to_physical().cast(float, strict=False).drop_nulls().to_numpy()
    values = values[np.isfinite(values)]
    if not len(values):
        return np.zeros(0)
    low, high = np.quantile(values, (0.005, 0.995))
    return np.histogram(np.clip(values, low, high), bins=BINS if high > low else 1)[0]


def _step(frame: pl.DataFrame) -> int:
    """Every how many rows to look at."""
    return -(-frame.width * len(frame) // MOST_CELLS) or 1


def _without_codes(source: Source) -> pl.DataFrame:
    """The table without the codes that its file declares to stand for an absence."""
    from shoal.schema.codes_seen import without_codes

    codes = source.labels.missing if source.labels else {}
    return source.frame.with_columns([without_codes(source.frame[name], found) for name, found in codes.items()])


def _judged(opened: Opened, source: Source) -> Opened:
    """With the proposed schema, which has the codes that the file declares, and the findings of the scan."""
    from shoal.compliance.scan import scan
    from shoal.schema.infer import propose

    frame, looked_at = source.frame, rows_to_judge(source.frame)
    words = f"The proposal and the identifier scan used {len(looked_at):,} of {len(frame):,} rows, evenly spaced."
    return replace(
        opened,
        proposal=propose(looked_at, source.labels).to_dict(),
        scan=scan(looked_at).to_dict(),
        notes=(*opened.notes, *([] if looked_at is frame else [words])),
    )


def rows_to_judge(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that a proposal and the scan look at: all, or of a large table evenly spaced ones."""
    step = _step(frame)
    return frame if step == 1 else frame.gather_every(step)


def _with_copy(opened: Opened, source: Source, keep: Path | None) -> Opened:
    from shoal.web.table_reading import keep_table

    place = None if keep is None else keep_table(source, keep)
    return replace(opened, copy=None if place is None else str(place))


def texts_of(frame: pl.DataFrame) -> list[list[str]]:
    """The cells of a table as texts, cut where they are long."""
    return [["" if cell is None else str(cell)[:LONGEST_CELL] for cell in row] for row in frame.iter_rows()]


def _type_word(dtype: Any) -> str:
    import polars as pl

    words = ((dtype.is_integer(), "whole number"), (dtype.is_numeric(), "number"), (dtype == pl.Boolean, "true/false"))
    times = ((dtype == pl.Date, "date"), (dtype.is_temporal(), "time"), (dtype.is_nested(), "nested"))
    return next((word for holds, word in (*words, *times) if holds), "text")
