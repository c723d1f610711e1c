"""The recipes to try where none are named: every family that suits the schema, at two sizes of group (many rows: one).

Which fit is told from the schema (and from the table, where it is given, for the kinds of columns that the schema
leaves open and for what a scan finds):

- groupers that mix classes need a nominal or ordinal sensitive column;
- synthesis with a differential-privacy claim needs a public domain (levels, bounds or edges) of every
  quasi-identifier and sensitive column;
- Safe Harbor is tried where a scan finds ZIP codes, dates or ages over 89;
- local suppression is tried for few columns only: it looks at all their subsets;
- above 50,000 rows there is one size of group, CREST looks at classes only when it cuts (Partial CREST), and `Ball` is
  left out: it would take minutes;
- any other method may name recipes to try (`shoal.method.Method.trials`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shoal.coarsening import Generalize, Mondrian, Suppress
from shoal.compliance import SafeHarbor
from shoal.compliance.scan import scan
from shoal.conform import prepare
from shoal.errors import SchemaError
from shoal.frame import enter
from shoal.group import MDAV, Ball, Crest, KMember
from shoal.group.mix import class_names
from shoal.linked.exchange import ExchangeBags
from shoal.mask import Centroid, GaussianDither, MicroPerturb, PushBack, Resample, Shuffle
from shoal.method import FAMILIES, methods
from shoal.recipe import Anonymization, Coarsening, Recipe, Synthesis, read_recipe
from shoal.recipe.linked import LinkedRecipe
from shoal.schema import Column, LinkedSchema, Schema
from shoal.schema.judgement.identifiers import AGES, DATES, GEOGRAPHIC

__all__ = ["default_recipes"]

_MANY = 50_000  # rows
_FEW = 10  # columns: local suppression looks at 2^10 subsets of them
_DELTA = 1e-9  # far below 1 / records for any table that fits in memory


def default_recipes(schema: Schema | LinkedSchema, table: Any = None) -> tuple[Recipe, ...]:
    """A grid of about fifteen recipes that covers every family that suits `schema`.

    Of linked tables: masks and coarsening for the persons, each with the histories of events exchanged within groups.

    Parameters
    ----------
    schema
        What the columns are.
    table
        The table, or linked ones by name: for the kinds that the schema leaves open and for a scan for identifiers;
        None: by the schema alone.

    Examples
    --------
    >>> import shoal
    >>> from shoal.comparison import default_recipes
    >>> recipes = default_recipes(shoal.datasets.health_survey_schema())
    >>> 12 <= len(recipes) <= 20
    True
    """
    if isinstance(schema, LinkedSchema):
        return _linked(schema, None if table is None else table[schema.persons.name])
    if not schema.quasi:
        raise SchemaError("schema", "must name at least one quasi-identifier to compare releases")
    settled = schema if table is None else _settled(table, schema)
    many = table is not None and len(enter(table)) > _MANY
    return (*_masked(settled, many), *_coarsened(settled, table, many), *_synthetic(settled), *_others())


def _linked(schema: LinkedSchema, persons: Any) -> tuple[Recipe, ...]:
    roles = schema.persons.whole
    if not roles.quasi:
        raise SchemaError("schema", "must name at least one quasi-identifier of persons to compare releases")
    settled = roles if persons is None else _settled(persons, roles)
    many = persons is not None and len(enter(persons)) > _MANY
    made = [*_masked(settled, many), *_coarsened(settled, None, many)]
    return tuple(LinkedRecipe.of(recipe, ExchangeBags()) for recipe in made)


def _settled(table: Any, schema: Schema) -> Schema:
    """The schema with every kind settled; rows with missing numbers play no part here."""
    lenient = [replace(c, missing="drop") for c in schema.columns if c.missing == "error" and c.role == "quasi"]
    return prepare(table, schema.with_columns(lenient)).schema


def _sizes(many: bool) -> tuple[int, ...]:
    return (5,) if many else (5, 10)


def _masked(schema: Schema, many: bool) -> Iterator[Recipe]:
    exact = MicroPerturb(noise="exact")
    alpha = 1.0 if many else 0.5
    for k in _sizes(many):
        yield Anonymization.of(MDAV(k=k), Centroid())
        yield Anonymization.of(KMember(k=k), GaussianDither(exact=True))
        yield Anonymization.of(Crest(k=k, alpha=alpha) if class_names(schema) else MDAV(k=k), exact)
    yield Anonymization.of(KMember(k=5), Resample())
    yield Anonymization.of(MDAV(k=10), Shuffle())
    if not many:
        yield Anonymization.of(Ball(minimum=5), [PushBack(), Shuffle()])


def _coarsened(schema: Schema, table: Any, many: bool) -> Iterator[Recipe]:
    for k in _sizes(many):
        yield Coarsening.of(Mondrian(k=k))
    yield Coarsening.of(Generalize(k=5))
    if len(schema.quasi) <= _FEW:
        yield Coarsening.of(Suppress(k=5))
    if table is not None and _has_safe_harbor_values(schema, table):
        yield Coarsening.of(SafeHarbor())
        yield Coarsening.of([SafeHarbor(), Mondrian(k=5)])


def _has_safe_harbor_values(schema: Schema, table: Any) -> bool:
    frame = enter(table)
    found = scan(frame.select([name for name in frame.columns if name in schema.released]))
    return any(finding.identifier in (GEOGRAPHIC, DATES, AGES) for finding in found.findings)


def _synthetic(schema: Schema) -> Iterator[Recipe]:
    from shoal.synth import MultipleImputation, PeGS

    columns = [column for column in schema.columns if column.role in ("quasi", "sensitive")]
    if all(map(_is_public, columns)):
        yield Synthesis.of(PeGS(epsilon=1.0))
        yield Synthesis.of(PeGS(epsilon=1.0, delta=_DELTA))
    yield Synthesis.of(MultipleImputation())


def _others() -> Iterator[Recipe]:
    """What methods that aren't in this grid say they should be tried with."""
    for family in FAMILIES:
        for method in methods(family):
            yield from map(read_recipe, method.trials)


def _is_public(column: Column) -> bool:
    return column.levels is not None or column.bounds is not None or column.edges is not None
