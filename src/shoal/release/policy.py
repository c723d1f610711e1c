"""A release policy: the levels that were chosen once, used on new rows with the same meaning.

`fit` coarsens a table by `Generalize` and keeps, for each quasi-identifier, the step that was chosen for it: intervals
of ten years, three digits of a ZIP code, chapters of diagnoses. `Policy.apply` writes new rows by these steps and
counts k again: a step is a function of a single value, but k is a fact about rows, and what held for last month's need
not hold for this month's.

Promised: an applied policy is a release like any other, with its claims; classes of fewer than k new persons are left
out, as far as the policy's suppression allows, else nothing is released. So a class has no new person or at least k,
and whoever subtracts last month's file from this month's finds nobody alone. A value outside the schema's levels,
bounds or hierarchies is refused, not coded.

A file may also hold people who were released before, next to new ones. With a register (`shoal.Register`) newcomers of
a class are released by k or more, or wait; leavers who would be alone take others with them
(`shoal.register.same_groups`). Who is held back is not in the table, and is counted for inside.

The policy is JSON and holds a fixed list of entries (`ENTRIES`): roles and public domains from the schema, one step a
column, and the conditions. No row, count, loss or level number is in it. Steps that would list the values of the table
(ordinal columns whose levels the schema doesn't declare) are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import IntArray
from shoal.coarsening import Generalize, Recode
from shoal.coarsening.default_hierarchies import follows_schema, ladder_for
from shoal.coarsening.steps import Bins, Keeping, Prefix, Star, Step, step_of
from shoal.equivalence import classes_of
from shoal.errors import FileError, GuaranteeError, InputError, ParameterError, SchemaError
from shoal.files import Source, write_text
from shoal.frame import enter, series
from shoal.pseudonym import Pseudonyms
from shoal.recipe import Coarsening, Progress
from shoal.release.gate import GATE
from shoal.release.make import make
from shoal.release.registering import held_against, known_people, without_held
from shoal.release.release import Release
from shoal.rng import fresh_key, secret
from shoal.schema import Column, Schema

if TYPE_CHECKING:
    from shoal.register.identity import Known
    from shoal.register.register import Register

__all__ = ["ENTRIES", "Policy", "fit"]

FORMAT = 1
ENTRIES = ("format", "schema", "steps", "conditions")
"""What a policy has entries of; no other is written or read."""

_CONDITIONS = ("k", "diversity", "closeness", "risk", "population", "suppression")
_BY_VALUES = (Bins, Prefix, Star)  # steps that say nothing of single values, even where a hierarchy follows from them


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is written instead of each quasi-identifier, and what must hold of every file written so.

    Parameters
    ----------
    schema
        Roles, kinds and public domains of the columns.
    steps
        The step of each quasi-identifier that is coarsened; one that isn't named stays as it is.
    conditions
        k, and diversity, closeness, risk, population and suppression as `Generalize` has them.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> schema = shoal.Schema.of(quasi=["age"], bounds={"age": (0, 120)},
    ...     hierarchies={"age": {"kind": "intervals", "widths": [10, 20]}})
    >>> policy = shoal.fit(pl.DataFrame({"age": [21, 24, 27, 33, 36, 38]}), schema, shoal.Generalize(k=3))
    >>> policy.apply(pl.DataFrame({"age": [41, 42, 43, 20, 29, 25]})).table["age"].unique().sort().to_list()
    ['20-29', '40-49']
    """

    schema: Schema
    steps: Mapping[str, Step]
    conditions: Mapping[str, Any]

    @classmethod
    def of(cls, release: Release) -> Policy:
        """The policy behind a release that was coarsened by one `Generalize`."""
        method = _generalize(release)
        levels = release.steps[-1].details["levels"]
        steps = {name: _step(release, name, level) for name, level in levels.items() if level}
        asked = {name: getattr(method, name) for name in _CONDITIONS}
        conditions = {name: value for name, value in asked.items() if value is not None}
        return cls(schema=_public(release, steps), steps=steps, conditions=conditions)

    @property
    def recipe(self) -> Coarsening:
        """The steps, then a count of k that changes no level."""
        count = Generalize(limits=dict.fromkeys(self.schema.quasi, 0), **self.conditions)
        return Coarsening.of([Recode(steps=self.steps), count] if self.steps else [count])

    def apply(
        self,
        table: Any,
        *,
        pseudonyms: Pseudonyms | None = None,
        register: Register | None = None,
        allow: Sequence[str] = (),
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Release new rows by the policy.

        Parameters
        ----------
        table
            Rows of people who are in no earlier release, of any dataframe type or read with `read_source`; with a
            register also of people who are.
        pseudonyms, allow, seed, progress
            As for `shoal.coarsen`.
        register
            The register of releases that the release is held against and entered in.

        Raises
        ------
        GuaranteeError
            The conditions don't hold for these rows with the suppression that the policy allows.
        """
        given: dict[str, Any] = {"pseudonyms": pseudonyms, "seed": seed, "progress": progress, "allow": allow}
        if register is None:
            return self._made(table, **given)
        found, known, rest, held = self._not_alone(table, register, given)
        return held_against(self._made(rest, **given), found, known, held=held)

    def _made(self, table: Any, **given: Any) -> Release:
        try:
            return make(table, self.schema, self.recipe, **given)
        except GuaranteeError as error:
            if error.owner == GATE:
                raise
            raise GuaranteeError(
                "policy",
                f"k = {self.conditions['k']} no longer holds for these rows at the levels that were fitted",
                got=error.got,
                hint="Wait until more people have come together, or fit a policy with coarser levels.",
            ) from None

    def _not_alone(self, table: Any, register: Register, given: Mapping[str, Any]) -> tuple[Register, Known, Any, int]:
        """The rows without those who would stand alone beside earlier releases, and how many people these are."""
        content = table.frame if isinstance(table, Source) else table
        found, known = known_people(register, content, self.schema)
        labels = self._classes(table, given)
        held = found.held_back(known, labels, self.conditions["k"], secret(fresh_key(), "held back"))
        people = len(np.unique(known.marks[held], axis=0))
        rest, mine = without_held(content, self.schema, known, held)
        return found, mine, replace(table, frame=rest) if isinstance(table, Source) else rest, people

    def _classes(self, table: Any, given: Mapping[str, Any]) -> IntArray:
        """The class of each row at the levels of the policy, before k is asked for."""
        if self.steps:
            return make(table, self.schema, Coarsening.of(Recode(steps=self.steps)), **given).labels
        content = table.frame if isinstance(table, Source) else table
        return classes_of(enter(content), self.schema.quasi).labels

    def to_dict(self) -> dict[str, Any]:
        """The policy as JSON-safe words."""
        steps = {name: step.to_dict() for name, step in self.steps.items()}
        schema, conditions = self.schema.to_dict(), dict(self.conditions)
        return {"format": FORMAT, "schema": schema, "steps": steps, "conditions": conditions}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Policy:
        """Read a policy from the words of `to_dict`; whatever else they hold is refused."""
        if not isinstance(words, Mapping) or set(words) != set(ENTRIES) or words["format"] != FORMAT:
            raise InputError("policy", f"must have the entries {', '.join(ENTRIES)} of format {FORMAT} and no others")
        steps, conditions = words["steps"], words["conditions"]
        if not isinstance(steps, Mapping) or not isinstance(conditions, Mapping):
            raise InputError("policy", "must have a table of steps and one of conditions")
        schema = Schema.from_dict(words["schema"])
        if not set(steps) <= set(schema.quasi):
            raise InputError("policy", "must have steps for quasi-identifiers only")
        if "k" not in conditions or not set(conditions) <= set(_CONDITIONS):
            raise InputError("policy", f"must have k, and no conditions but {', '.join(_CONDITIONS)}")
        read = cls(schema=schema, steps={n: step_of(s) for n, s in steps.items()}, conditions=dict(conditions))
        for step in read.steps.values():
            step.check()
        _ = read.recipe  # holds the conditions to their rules
        return read

    def write(self, path: str | PathLike[str]) -> None:
        """Write the policy as JSON, whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Policy:
        """Read a policy from a JSON file."""
        try:
            words = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise FileError(str(path), "must be a readable policy", got=error.strerror or "") from None
        except (ValueError, RecursionError):
            raise FileError(str(path), "must be a policy in JSON") from None
        try:
            return cls.from_dict(words)
        except (InputError, ParameterError) as error:
            raise FileError(str(path), f"{error.owner} {error.rule}", got=error.got) from None


def fit(table: Any, schema: Schema, method: Generalize) -> Policy:
    """Choose the levels for `table`, and keep them as a policy for rows to come.

    Parameters
    ----------
    table, schema
        The rows that the levels are chosen on, of any dataframe type, and the roles of their columns.
    method
        A `Generalize`. The others write what follows from the very rows, so that it has no meaning for new ones.

    Raises
    ------
    GuaranteeError
        Not even the highest levels meet the conditions.
    """
    if not isinstance(method, Generalize):
        raise _other_method()
    return Policy.of(make(table, schema, Coarsening.of(method)))


def _generalize(release: Release) -> Generalize:
    methods = release.recipe.methods
    if len(methods) != 1 or not isinstance(methods[0], Generalize):
        raise _other_method()
    return methods[0]


def _other_method() -> ParameterError:
    hint = "Other methods write what follows from the very rows; fixed steps belong into the schema's hierarchies."
    return ParameterError("policy", "is fitted by Generalize alone", hint=hint)


def _step(release: Release, name: str, level: int) -> Step:
    """What was written at `level`, if it says nothing of single values of the table."""
    content, column = series(release.prepared.frame, name), release.prepared.schema[name]
    written = ladder_for(content, column).steps[level - 1]
    step = written.step if isinstance(written, Keeping) else written
    declared = replace(release.declared[name], kind=column.kind)
    if not (follows_schema(content, declared) or isinstance(step, _BY_VALUES)):
        raise SchemaError(
            "policy",
            f"column '{name}' has levels that follow from the values in the table, which a policy must not hold",
            hint="Declare its levels or a hierarchy in the schema.",
        )
    return step


def _public(release: Release, steps: Mapping[str, Step]) -> Schema:
    """The schema as it was declared, with kinds settled; where a column has a step, it takes the hierarchy's place.

    The hierarchy of a column that stays as it is says which values there are.
    """
    settled = release.prepared.schema
    return release.declared.with_columns(
        _plain(column, settled[column.name], column.name in steps) for column in release.declared.columns
    )


def _plain(column: Column, settled: Column, has_step: bool) -> Column:
    hierarchy = None if has_step else column.hierarchy
    return replace(column, kind=settled.kind, hierarchy=hierarchy, metric=None, edges=None)
