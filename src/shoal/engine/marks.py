"""A number for each row that depends on a key and on what the row holds, the same on every engine.

Each cell becomes a 64-bit word by its canonical form (a whole number in two's complement, a float by its bits with one
zero, a text by the keyed BLAKE2b of its UTF-8 bytes, a date by its days, a moment by its microseconds), and the words
of a row are mixed with the key column by column (SplitMix64). Engines' own hashes differ between engines and versions.

A mark orders rows and spreads them; it hides nothing. What is written in the order of marks is ordered by what it
holds, so the order tells nothing of the input's. Rows with equal marks are equal but for one chance in 2^64 a pair.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.engine.engine import MARK, Batch, Engine, Relation

__all__ = ["marked", "marks", "signed", "small_marks", "total", "with_marks"]

Words = npt.NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def marks(frame: pl.DataFrame, key: str) -> Words:
    """The mark of each row under a key in hexadecimal."""
    mixed: Words = np.full(len(frame), _word(key, b"row"), dtype=np.uint64)
    for column in frame.iter_columns():
        mixed = _mix(mixed ^ _mix(_words(column, key) + _word(key, column.name.encode())))
    return mixed


def marked(key: str) -> Batch:
    """Adds the marks as a column of whole numbers with a sign, in the same order, for engines that have no others."""
    return lambda frame: frame.with_columns(pl.Series(MARK, signed(marks(frame, key))))


def with_marks(engine: Engine, relation: Relation, key: str) -> Relation:
    """A relation with the marks of its rows, computed once."""
    return engine.map(relation, marked(key), {**relation.types, MARK: pl.Int64()})


def small_marks(key: str, share: float) -> Batch:
    """The same, of rows whose mark is among the smallest: about this share of all."""
    limit = int(share * 2.0**64) - 2**63

    def chosen(frame: pl.DataFrame) -> pl.DataFrame:
        found = marked(key)(frame)
        return found if share >= 1 else found.filter(pl.col(MARK) < limit)

    return chosen


def signed(words: Words) -> npt.NDArray[np.int64]:
    """Marks as whole numbers with a sign, in the same order."""
    return (words ^ np.uint64(1 << 63)).view(np.int64)


def total(frame: pl.DataFrame, key: str) -> int:
    """The sum of all marks modulo 2^64: equal for the same rows in any order."""
    return int(marks(frame, key).sum(dtype=np.uint64))


def _mix(words: Words) -> Words:
    words = words + _GOLDEN
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = words ^ (words >> np.uint64(31))
    return mixed


def _words(column: pl.Series, key: str) -> Words:
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime):
        column = column.dt.timestamp("us")
    elif dtype.is_temporal() or dtype == pl.Boolean:
        column = column.to_physical().cast(pl.Int64)
    elif dtype.is_float():
        column = column.cast(pl.Float64).fill_nan(None)
    elif dtype == pl.UInt64 or not dtype.is_integer():
        column = _texts(column.cast(pl.String), key)
    absent = column.is_null().to_numpy()
    values = column.fill_null(0).to_numpy()
    if values.dtype.kind == "f":
        values = (values + 0.0).astype(np.float64).view(np.uint64)
    words: Words = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.astype(np.uint64)
    return np.where(absent, _word(key, b"missing"), words)


def _texts(column: pl.Series, key: str) -> pl.Series:
    """Each distinct text once."""
    known = column.drop_nulls().unique()
    words = pl.Series([int(_word(key, b"text", text.encode())) for text in known], dtype=pl.UInt64)
    return words.gather(column.cast(pl.Enum(known)).to_physical())


def _word(key: str, *parts: bytes) -> np.uint64:
    digest = hashlib.blake2b(b"\x1f".join(parts), digest_size=8, key=bytes.fromhex(key)[:64])
    return np.uint64(int.from_bytes(digest.digest(), "big"))
