"""Every error Shoal raises, in one tree.

::

    ShoalError
    ├── ParameterError   (exit 2)  the call is wrong: a parameter breaks its rule
    ├── GuaranteeError   (exit 3)  a promise can't be met; nothing was written
    │   └── IdentifierError        columns that name people, or may; each with its reason
    └── InputError       (exit 4)  the table, file or schema is unusable; nothing was written
        ├── SchemaError            the schema itself is wrong, or doesn't fit the table
        ├── ColumnError            a column's content breaks a rule of its schema entry
        ├── FileError              a file or folder can't be read or written
        └── ProblemsError          several of these at once, each with its remedy

Errors are raised with fields and composed here: *owner: name must rule; got value. Hint.* ``got`` describes a
parameter or a count, never the content of a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, TypeVar

__all__ = [
    "ColumnError",
    "FileError",
    "GuaranteeError",
    "IdentifierError",
    "InputError",
    "ParameterError",
    "Problems",
    "ProblemsError",
    "SchemaError",
    "ShoalError",
]

T = TypeVar("T")
R = TypeVar("R")


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
    """A parameter breaks its rule; `parameter` is its name, where one alone is at fault."""

    exit_code = 2

    def __init__(self, owner: str, rule: str, *, got: str = "", hint: str = "", parameter: str = "") -> None:
        self.parameter = parameter
        super().__init__(owner, rule, got=got, hint=hint)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_parameter, (type(self), self.owner, self.rule, self.got, self.hint, self.parameter)


class GuaranteeError(ShoalError):
    """A promise can't be met, so nothing was released."""

    exit_code = 3


class IdentifierError(GuaranteeError):
    """Columns would leave that name people, or that only a person can judge; `columns` has the reason for each.

    A column of linked tables is named as ``TABLE.COLUMN``.
    """

    def __init__(
        self, owner: str, rule: str, *, got: str = "", hint: str = "", columns: Mapping[str, str] | None = None
    ) -> None:
        self.columns = dict(columns or {})
        super().__init__(owner, rule, got=got, hint=hint)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_identifier, (self.owner, self.rule, self.got, self.hint, self.columns)


class InputError(ShoalError, ValueError):
    """The input is unusable, so nothing was released."""

    exit_code = 4


class SchemaError(InputError):
    """The schema is wrong in itself, or doesn't fit the table."""


class ColumnError(InputError):
    """A column's content breaks a rule of its schema entry.

    `fix` holds the schema entries that settle it, where they are safe to set: they change how a column is read, never
    what may be learnt from it.
    """

    def __init__(
        self, column: str, rule: str, *, got: str = "", hint: str = "", fix: Mapping[str, object] | None = None
    ) -> None:
        self.column, self.fix = column, dict(fix or {})
        super().__init__(f"column '{column}'", rule, got=got, hint=hint)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_column, (self.column, self.rule, self.got, self.hint, self.fix)


class FileError(InputError):
    """A file or folder can't be read or written."""


class ProblemsError(InputError):
    """Several things are wrong at once; `problems` holds each with its remedy."""

    def __init__(self, problems: Sequence[InputError]) -> None:
        self.problems = tuple(problems)
        super().__init__("table", "must fit its schema", got=f"{len(self.problems)} problems")

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"- {problem}" for problem in self.problems)])

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problems,)


class Problems:
    """What is wrong with a table's columns, collected so that all of it is said at once.

    Examples
    --------
    >>> from shoal.errors import ColumnError, Problems
    >>> def read(name):
    ...     raise ColumnError(name, "must hold numbers")
    >>> problems = Problems()
    >>> problems.each(read, ["age", "cost"])
    []
    >>> len(problems.found)
    2
    """

    def __init__(self, found: Iterable[InputError] = ()) -> None:
        self.found = list(found)

    def each(self, read: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """What `read` gives for the items with which nothing is wrong; what is wrong with the others is noted."""
        made = []
        for item in items:
            try:
                made.append(read(item))
            except (ColumnError, SchemaError) as problem:
                if str(problem) not in map(str, self.found):
                    self.found.append(problem)
        return made

    def raise_if_any(self) -> None:
        """Raise what was noted: the one problem itself, or all of them together."""
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            raise ProblemsError(self.found)


def _rebuild(cls: type[ShoalError], owner: str, rule: str, got: str, hint: str) -> ShoalError:
    return cls(owner, rule, got=got, hint=hint)


def _rebuild_parameter(
    kind: type[ParameterError], owner: str, rule: str, got: str, hint: str, parameter: str
) -> ParameterError:
    return kind(owner, rule, got=got, hint=hint, parameter=parameter)


def _rebuild_identifier(owner: str, rule: str, got: str, hint: str, columns: Mapping[str, str]) -> IdentifierError:
    return IdentifierError(owner, rule, got=got, hint=hint, columns=columns)


def _rebuild_column(column: str, rule: str, got: str, hint: str, fix: Mapping[str, object]) -> ColumnError:
    return ColumnError(column, rule, got=got, hint=hint, fix=fix)
