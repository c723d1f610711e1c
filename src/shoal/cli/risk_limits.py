"""`shoal risk --fail-above`: which risks have a limit, what each needs in order to be measured, and which are broken.

What can't be measured is refused before anything is read, all of it at once: a gate that can't close is no gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError
from shoal.schema import LinkedSchema, Schema

__all__ = ["above", "limits_of"]

_GATES: dict[str, tuple[str, Callable[[Any], float]]] = {
    "unique": ("classes", lambda found: found.unique_share),
    "prosecutor": ("attackers", lambda found: found.prosecutor.largest),
    "journalist": ("attackers", lambda found: found.worst("largest").largest),
    "marketer": ("attackers", lambda found: found.worst("mean").mean),
    "individual": ("attackers", lambda found: found.worst("largest").largest),
    "household": ("households", lambda found: found.largest),
    "events": ("events", lambda found: found.share_below("1")),
    "singling-out": ("singling_out", lambda found: found.risk),
    "linkability": ("linkability", lambda found: found.risk),
    "guessing": ("guessing", lambda found: found.risk),
    "membership": ("membership", lambda found: found.risk),
}
_ATTACKS = ("singling-out", "linkability", "guessing", "membership")


def limits_of(
    given: Sequence[str],
    schema: Schema | LinkedSchema,
    *,
    original: Path | None,
    control: Path | None,
    in_memory: bool,
) -> dict[str, float]:
    """The limits by name; a ParameterError says all that is wrong with them, or can't be measured."""
    limits = {name: _number(number) for name, _, number in (text.partition("=") for text in given)}
    known = {name: limit for name, limit in limits.items() if name in _GATES and 0 <= limit <= 1}
    wrong = []
    if len(known) < len(limits):
        wrong.append(f"must be NAME=LIMIT with a limit from 0 to 1 and NAME one of {', '.join(_GATES)}")
    run = _Run(schema=schema, original=original, control=control, in_memory=in_memory)
    wrong += [f"'{name}' can't be measured here: it needs {need}" for name in known for need in run.lacks(name)]
    if wrong:
        raise ParameterError("--fail-above", "; ".join(wrong))
    return known


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What a run has been given."""

    schema: Schema | LinkedSchema
    original: Path | None
    control: Path | None
    in_memory: bool

    def lacks(self, gate: str) -> Iterator[str]:
        """What a gate needs and this run doesn't have; the first thing alone."""
        linked = isinstance(self.schema, LinkedSchema)
        persons = self.schema.persons.columns if isinstance(self.schema, LinkedSchema) else self.schema
        if not self.in_memory and gate != "unique":
            yield "the table in memory (--engine memory)"
        elif gate == "events" and not linked:
            yield "linked tables"
        elif gate == "household" and persons.household is None:
            yield "a household in the schema"
        elif gate in _ATTACKS and linked:
            yield "one table, not linked ones"
        elif gate in _ATTACKS and self.original is None:
            yield "--original" + (" and --control" if gate == "membership" and self.control is None else "")
        elif gate == "membership" and self.control is None:
            yield "--control"
        elif gate == "guessing" and not persons.sensitive:
            yield "a sensitive column"
        elif gate == "linkability" and len(persons.quasi) + len(persons.sensitive) < 2:
            yield "two columns at least"


def above(found: Mapping[str, Any], limits: Mapping[str, float]) -> dict[str, float]:
    """The risks above their limit; one that the table turned out not to have is an error, not a pass."""
    broken = {}
    for name, limit in limits.items():
        part, value = _GATES[name]
        if part not in found:
            raise ParameterError("--fail-above", f"'{name}' can't be measured: the table lacks the columns it needs")
        if value(found[part]) > limit:
            broken[name] = value(found[part])
    return broken
