"""Every error Shoal raises, in one tree.

::

    ShoalError
    ├── ParameterError   (exit 2)  the call is wrong: a parameter breaks its rule
    ├── GuaranteeError   (exit 3)  a promise can't be met; nothing was written
    └── InputError       (exit 4)  the table, file or schema is unusable; nothing was written
        ├── SchemaError            the schema itself is wrong, or doesn't fit the table
        ├── ColumnError            a column's content breaks a rule of its schema entry
        └── FileError              a file or folder can't be read or written

Errors are raised with fields and composed here: *owner: name must rule; got value. Hint.* ``got`` describes a
parameter or a count, never the content of a cell.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "ColumnError",
    "FileError",
    "GuaranteeError",
    "InputError",
    "ParameterError",
    "SchemaError",
    "ShoalError",
]


class ShoalError(Exception):
    """The root: catch this to catch everything Shoal raises on purpose.

    Parameters
    ----------
    owner
        Who complains: a method, a file, the schema.
    rule
        What must hold, as a sentence part that follows the owner.
    got
        What was found instead; never the content of a cell.
    hint
        What the person can do about it, as a full sentence.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, owner: str, rule: str, *, got: str = "", hint: str = "") -> None:
        self.owner, self.rule, self.got, self.hint = owner, rule, got, hint
        super().__init__(owner, rule, got, hint)

    def __str__(self) -> str:
        found = f"; got {self.got}" if self.got else ""
        remedy = f" {self.hint}" if self.hint else ""
        return f"{self.owner}: {self.rule}{found}.{remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.owner, self.rule, self.got, self.hint)


class ParameterError(ShoalError, ValueError):
    """A parameter breaks its rule."""

    exit_code = 2


class GuaranteeError(ShoalError):
    """A promise can't be met, so nothing was released."""

    exit_code = 3


class InputError(ShoalError, ValueError):
    """The input is unusable, so nothing was released."""

    exit_code = 4


class SchemaError(InputError):
    """The schema is wrong in itself, or doesn't fit the table."""


class ColumnError(InputError):
    """A column's content breaks a rule of its schema entry."""

    def __init__(self, column: str, rule: str, *, got: str = "", hint: str = "") -> None:
        self.column = column
        super().__init__(f"column '{column}'", rule, got=got, hint=hint)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_column, (self.column, self.rule, self.got, self.hint)


class FileError(InputError):
    """A file or folder can't be read or written."""


def _rebuild(cls: type[ShoalError], owner: str, rule: str, got: str, hint: str) -> ShoalError:
    return cls(owner, rule, got=got, hint=hint)


def _rebuild_column(column: str, rule: str, got: str, hint: str) -> ColumnError:
    return ColumnError(column, rule, got=got, hint=hint)
