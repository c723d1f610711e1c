"""Delimited text cut into columns of text, strictly: every line has as many cells as the header.

One look at the bytes counts the cells of each line. Text that is in order (a quote opens at the start of a cell and
closes at its end, no empty lines in between) is then cut by Polars. Whatever is not, say a stray quote, is cut by
Python's `csv`, which takes several times as long. Both give the same cells.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.errors import InputError

if TYPE_CHECKING:
    from _csv import Reader

__all__ = ["cut"]

_QUOTE, _LINE_FEED, _RETURN = b'"\n\r'


def cut(file: Path, letters: bytes, n_columns: int, delimiter: str) -> list[pl.Series]:
    """Cut the lines after the header into columns of text; an empty cell is missing, quoted or not.

    Parameters
    ----------
    file
        Named in errors.
    letters
        The text in UTF-8, header line included.
    n_columns, delimiter
        How many cells each line must have, and what stands between them.
    """
    letters = letters.rstrip(b"\r\n") + b"\n"
    if b'"' not in letters and b"\r" in letters:
        letters = letters.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    layout = Layout.of(letters, delimiter)
    if layout is None:
        return _cut_by_csv(file, letters.decode(), n_columns, delimiter)
    wrong = np.flatnonzero(layout.widths[1:] != n_columns) + 1
    if len(wrong):
        first = int(wrong[0])
        line = letters.count(b"\n", 0, int(layout.ends[first - 1]) + 1) + 1
        raise _ragged(file, n_columns, line, int(layout.widths[first]), len(wrong))
    return _cut_by_polars(letters[int(layout.ends[0]) + 1 :], n_columns, delimiter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the lines of a text end, and how many cells each has."""

    ends: IntArray
    widths: IntArray

    @classmethod
    def of(cls, letters: bytes, delimiter: str) -> Layout | None:
        """The layout of a text that ends with a line feed; None where it isn't in order."""
        data = np.frombuffer(letters, np.uint8)
        breaks, marks = data == _LINE_FEED, data == ord(delimiter)
        if b'"' in letters:
            inside = np.logical_xor.accumulate(data == _QUOTE)
            if not _are_tidy(data, inside, breaks | marks):
                return None
            breaks &= ~inside
            marks &= ~inside
        marks |= breaks
        places = np.flatnonzero(marks)
        last = np.flatnonzero(breaks[places])
        ends = places[last]
        lengths = np.diff(ends, prepend=-1) - 1
        if lengths.min() == 0 or (data[ends[lengths == 1] - 1] == _RETURN).any():
            return None
        return cls(ends=ends, widths=np.diff(last, prepend=-1))


def _are_tidy(data: np.ndarray[tuple[int], np.dtype[np.uint8]], inside: BoolArray, between: BoolArray) -> bool:
    """Whether quotes open and close whole cells, and lines end with a line feed, with or without a return."""
    quotes = np.flatnonzero(data == _QUOTE)
    opening, closing = quotes[inside[quotes]], quotes[~inside[quotes]]
    if len(opening) != len(closing):
        return False
    before, after = opening[opening > 0] - 1, closing + 1  # the text ends with a line feed
    returns = np.flatnonzero(data == _RETURN)
    returns = returns[~inside[returns]]
    return bool(
        (between[before] | (data[before] == _QUOTE)).all()
        and (between[after] | (data[after] == _QUOTE) | (data[after] == _RETURN)).all()
        and (data[returns + 1] == _LINE_FEED).all()
    )


def _cut_by_polars(letters: bytes, n_columns: int, delimiter: str) -> list[pl.Series]:
    names = [str(place) for place in range(n_columns)]
    if not letters:
        return [pl.Series(name, [], pl.String) for name in names]
    quote = '"' if b'"' in letters else None
    schema = dict.fromkeys(names, pl.String)
    frame = pl.read_csv(
        letters, has_header=False, schema=schema, separator=delimiter, quote_char=quote, null_values=[""]
    )
    return frame.get_columns()


def _cut_by_csv(file: Path, text: str, n_columns: int, delimiter: str) -> list[pl.Series]:
    limit = csv.field_size_limit(len(text) + 1)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        lines = [(line, row) for line, row in _with_lines(reader) if row][1:]
    except csv.Error:  # its message may quote cells
        raise InputError(str(file), "must be delimited text", hint="Check quotes and line breaks.") from None
    finally:
        csv.field_size_limit(limit)
    wrong = [(line, len(row)) for line, row in lines if len(row) != n_columns]
    if wrong:
        raise _ragged(file, n_columns, *wrong[0], len(wrong))
    columns = zip(*(row for _, row in lines), strict=True) if lines else [()] * n_columns
    found = [pl.Series([cell or None for cell in column], dtype=pl.String) for column in columns]
    _check_closed(file, text, found[-1])
    return found


def _with_lines(reader: Reader) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line that it begins at."""
    begins = 1
    for row in reader:
        yield begins, row
        begins = reader.line_num + 1


def _ragged(file: Path, n_columns: int, line: int, width: int, n_wrong: int) -> InputError:
    left = n_wrong - 1
    more = f", and {left:,} more such line{'' if left == 1 else 's'}" if left else ""
    return InputError(
        str(file),
        f"every line must have {n_columns} cells, like the first",
        got=f"{width} in line {line}{more}",
        hint="Quote cells that contain the delimiter, or specify the delimiter.",
    )


def _check_closed(file: Path, text: str, last: pl.Series) -> None:
    # A quote that is never closed swallows all lines to the end: only then an unquoted end holds a line break.
    ending = last[-1] if len(last) else None
    if ending and ("\n" in ending or "\r" in ending) and not text.rstrip("\r\n").endswith('"'):
        raise InputError(str(file), "every quote must be closed", hint="Look for an unmatched quotation mark.")
