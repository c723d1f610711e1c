"""Make a release: run a recipe, and keep what it made with its evidence.

There is one runner, `make`, for recipes of every kind; `anonymize`, `coarsen` and `synthesize` are its everyday names.

A finished release is held to the rules of its preset; what was found is among its facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from shoal.arrays import IntArray
from shoal.coarsening import Coarsener
from shoal.compliance import Preset
from shoal.conform import with_persons
from shoal.errors import ParameterError
from shoal.files import Source
from shoal.files.linked import LinkedSource
from shoal.frame import converted, enter, leave
from shoal.group import Grouper, KMember
from shoal.linked import EventMethod
from shoal.mask import GaussianDither
from shoal.pseudonym import Pseudonyms
from shoal.recipe import Anonymization, Coarsening, LinkedRecipe, Made, Mask, Progress, Recipe, Run, Synthesis, quiet
from shoal.recipe.linked import for_schema
from shoal.release.gate import allowed_facts, allowed_in, allowed_of_table, check_leaving, check_written
from shoal.release.linked import read_input
from shoal.release.preset_rules import Rewritten, first_steps, held_to, preset_for, tables_after
from shoal.release.pseudonyms import check_codes, check_pseudonyms, under_pseudonyms
from shoal.release.registering import Entering
from shoal.release.release import Release, SyntheticRelease, checked_seed
from shoal.rng import fresh_key
from shoal.schema import LinkedSchema, Schema

if TYPE_CHECKING:
    from shoal.register.beside_earlier import Beside
    from shoal.register.register import Register
    from shoal.release.on_engine.release import EngineRelease
    from shoal.synth import Synthesizer

__all__ = [
    "anonymize",
    "coarsen",
    "make",
    "synthesize",
]


def make(
    table: Any,
    schema: Schema | LinkedSchema,
    recipe: Recipe,
    *,
    seed: int | None = None,
    key: str | None = None,
    account: Any = None,
    keeps_paid: bool = False,
    preset: str | Preset | None = None,
    accept: bool = False,
    allow: Sequence[str] = (),
    pseudonyms: Pseudonyms | None = None,
    control: Any = None,
    register: Register | None = None,
    same_groups_as: str | None = None,
    beside: Beside | None = None,
    groups: IntArray | None = None,
    progress: Progress | None = None,
) -> Release:
    """Make the release of a recipe of any kind.

    Parameters
    ----------
    table, schema, recipe
        What is released (a dataframe, or a file read with `shoal.files.read_source`), the roles of its columns, and
        how.
    seed, key
        The same seed and the same key make the same table again, byte for byte, where the recipe `repeats`. Left out,
        both are drawn in secret; leave the key out whenever you publish.
    account
        A `shoal.dp.Account` that a synthesis is charged to, before anything is computed.
    keeps_paid
        Keep the model that a file's account has paid for until the release is written: if the run stops before, the
        next one finds it, draws no noise and is charged nothing.
    preset, accept
        Rules that the finished table is held to (a name, or a `Preset` with the year of the data and allowed columns),
        and whether to release although a check fails. Its own steps come before groups and masks.
    allow
        Columns that a person has looked at and that stay, although they seem to name people (numbers of people or
        records, names, addresses, free text); any other is refused. Of linked tables by name, or as ``TABLE.COLUMN``.
    pseudonyms
        Key, scope and format of the pseudonyms that the schema wants.
    control
        A table of people of the same population who take no part: synthetic rows are measured against them too.
    register, same_groups_as
        The register that the release is held against now and entered in when it is written, and the number or name of
        the release in it whose groups are kept (``"last"``: the last one).
    beside
        What was found when the run was made that is repeated now; it is not entered again.
    groups
        The group of each row, where a run that kept them is repeated; None: they are formed.
    progress
        Called with the name of each step as it begins.
    """
    source = table if isinstance(table, Source | LinkedSource) else None
    given = table if source is None else source.frame
    number, secret = checked_seed(seed), fresh_key() if key is None else key
    digest = source.sha256 if keeps_paid and isinstance(source, Source) else None
    paying: dict[str, Any] = {"account": account, "digest": digest}
    run = Run(seed=number, key=secret, seeded=seed is not None, progress=progress or quiet, groups=groups, **paying)
    rules = preset_for(preset, recipe)
    allowed = allowed_in(recipe, rules, allow)
    entering = Entering.of(register, same_groups_as, beside, given, schema, recipe, run)
    held_back: dict[str, Any] = {}
    if entering is not None and entering.same_groups is not None:
        held_back = {"whole": given, "held_back": entering.same_groups.held}
        given, run = entering.table, replace(run, groups=entering.same_groups.groups[~entering.same_groups.held])
    if isinstance(schema, LinkedSchema):
        _check_linked(recipe)
        check_codes(recipe, pseudonyms, rules)
        check_leaving(given, schema, recipe, allowed)
        done = tables_after(given, schema, rules, recipe)
        first = Rewritten(table=given, schema=schema.persons.whole, facts=done.facts, steps=done.steps)
        made = recipe.run(done.tables, done.schema, replace(run, pseudonyms=pseudonyms))
        made = replace(made, linked=replace(made.linked, declared=schema))  # type: ignore[type-var]
    else:
        check_pseudonyms(schema, recipe, pseudonyms, rules)
        named = given if pseudonyms is None else under_pseudonyms(given, schema, pseudonyms)
        named, worked = _counting_persons(named, schema)
        check_leaving(named, schema, recipe, allowed)
        first = first_steps(named, worked, rules, recipe)
        made = recipe.run(first.table, first.schema, run)
    kind = Release if made.model is None else SyntheticRelease
    release = kind(
        table=_table(made, given),
        schema=made.prepared.schema,
        recipe=recipe,
        facts=(*allowed_facts(schema, allowed), *first.facts, *made.facts),
        labels=made.labels,
        source_rows=made.source_rows,
        seed=number,
        key=secret,
        original=given if made.original is None else made.original,
        prepared=made.prepared,
        declared=schema if isinstance(schema, Schema) else schema.persons.whole,
        source=source,
        caveats=made.caveats,
        earned=made.claims,
        steps=tuple(step.of_released(made.source_rows) for step in (*first.steps, *made.steps)),
        model=made.model,
        spending=made.spending,
        paid=made.paid,
        pseudonyms=pseudonyms,
        control=control,
        linked=made.linked,
        **held_back,
    )
    persons = given
    if made.linked is not None:
        table = made.linked.schema.persons
        persons, allowed = given[table.name], allowed_of_table(table, allowed)
    check_written(persons, release.frame, release.schema, recipe, allowed)
    held = release if rules is None else held_to(release, rules, accept=accept)
    return held if entering is None else entering.entered(held)


@overload
def anonymize(
    table: Any,
    schema: Schema,
    *,
    group: Grouper | None = None,
    mask: Mask | Sequence[Mask] | None = None,
    allow: Sequence[str] = (),
    pseudonyms: Pseudonyms | None = None,
    register: Register | None = None,
    seed: int | None = None,
    engine: str,
    memory: str | None = None,
    progress: Progress | None = None,
) -> EngineRelease: ...


@overload
def anonymize(
    table: Any,
    schema: Schema | LinkedSchema,
    *,
    group: Grouper | None = None,
    mask: Mask | Sequence[Mask] | None = None,
    events: EventMethod | Sequence[EventMethod] | None = None,
    preset: str | Preset | None = None,
    accept: bool = False,
    allow: Sequence[str] = (),
    pseudonyms: Pseudonyms | None = None,
    register: Register | None = None,
    same_groups_as: str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release: ...


def anonymize(
    table: Any,
    schema: Schema | LinkedSchema,
    *,
    group: Grouper | None = None,
    mask: Mask | Sequence[Mask] | None = None,
    preset: str | Preset | None = None,
    accept: bool = False,
    allow: Sequence[str] = (),
    events: EventMethod | Sequence[EventMethod] | None = None,
    pseudonyms: Pseudonyms | None = None,
    register: Register | None = None,
    same_groups_as: str | None = None,
    seed: int | None = None,
    engine: str | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Release | EngineRelease:
    """Hide each person of `table` among at least k others.

    Parameters
    ----------
    table
        pandas, Polars (eager or lazy), PyArrow or DuckDB, and the release has the same type; or a file read with
        `shoal.files.read_source`, and the release can be replayed from it. Linked tables come as a mapping by name, or
        read with `shoal.files.linked.read_linked`, and leave as a mapping.
    schema
        The role of every column; of linked tables a `LinkedSchema`.
    group
        Who hides with whom; default ``KMember(k=5)``.
    mask
        What is written instead, one mask or a chain; default ``GaussianDither()``.
    preset, accept
        Rules that the finished table is held to, by name (`shoal.compliance.presets`), after their own steps have
        rewritten the table; and whether to release although a check fails.
    allow
        Columns that a person has looked at and that stay, although they seem to name people (numbers of people or
        records, names, addresses, free text); any other is refused.
    events
        What is done to the events of linked tables, one method or several; default: nothing but new keys.
    pseudonyms
        Key, scope and format of the pseudonyms, where the schema wants some (`shoal.pseudonym`).
    register, same_groups_as
        The register of releases (`shoal.Register`) that the release is held against now and entered in when it is
        written; and the release in it whose groups are kept, by number, name or ``"last"``.
    seed
        Repeats the grouping and what the masks draw. Which person gets which row, and the order of the rows, come
        from a fresh secret key, whatever the seed.
    engine, memory
        ``"duckdb"`` or ``"spark"`` anonymizes files (a path or pattern), a DuckDB relation or a Spark DataFrame where
        they lie, within a memory limit; the release has a table of that type, which is never collected
        (`shoal.release.on_engine.release`). ``"auto"``, as where it is left out: memory while the forecast fits. A
        Spark DataFrame always stays.
    progress
        Called with the name of each step as it begins.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(1000, seed=1)
    >>> schema = shoal.datasets.health_survey_schema()
    >>> release = shoal.anonymize(table, schema, group=shoal.KMember(k=5), mask=shoal.Resample(), seed=7)
    >>> release.table.shape[0], release.claims[0].kind, release.claims[0].basis
    (1000, 're-identification bound', 'proved')
    """
    recipe = Anonymization.of(group or KMember(), mask if mask is not None else GaussianDither())
    name = _engine_for(table, schema, engine, memory)
    if name != "memory" and isinstance(schema, Schema):
        words: dict[str, Any] = {"seed": seed, "memory": memory, "allow": allow, "progress": progress}
        words |= {"register": register, "pseudonyms": pseudonyms}
        words |= {"preset": preset, "accept": accept}
        return _on(name, table, schema, recipe, words, same_groups_as=same_groups_as, events=events)
    given = read_input(table, schema) if isinstance(table, str | Path) else table
    return make(
        given,
        schema,
        for_schema(recipe, schema, events),
        preset=preset,
        accept=accept,
        allow=allow,
        pseudonyms=pseudonyms,
        register=register,
        same_groups_as=same_groups_as,
        seed=seed,
        progress=progress,
    )


@overload
def coarsen(
    table: Any,
    schema: Schema,
    method: Coarsener | Sequence[Coarsener],
    *,
    allow: Sequence[str] = (),
    pseudonyms: Pseudonyms | None = None,
    register: Register | None = None,
    seed: int | None = None,
    engine: str,
    memory: str | None = None,
    progress: Progress | None = None,
) -> EngineRelease: ...


@overload
def coarsen(
    table: Any,
    schema: Schema | LinkedSchema,
    method: Coarsener | Sequence[Coarsener],
    *,
    events: EventMethod | Sequence[EventMethod] | None = None,
    preset: str | Preset | None = None,
    accept: bool = False,
    allow: Sequence[str] = (),
    pseudonyms: Pseudonyms | None = None,
    register: Register | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release: ...


def coarsen(
    table: Any,
    schema: Schema | LinkedSchema,
    method: Coarsener | Sequence[Coarsener],
    *,
    events: EventMethod | Sequence[EventMethod] | None = None,
    preset: str | Preset | None = None,
    accept: bool = False,
    allow: Sequence[str] = (),
    pseudonyms: Pseudonyms | None = None,
    register: Register | None = None,
    seed: int | None = None,
    engine: str | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Release | EngineRelease:
    """Write less exact quasi-identifiers until each person of `table` shares them with at least k − 1 others.

    Parameters
    ----------
    table
        pandas, Polars (eager or lazy), PyArrow or DuckDB, and the release has the same type; or a file read with
        `shoal.files.read_source`, and the release can be replayed from it.
    schema
        The role of every column, and its hierarchy where it has one.
    method
        What is written instead: a coarsener, or a list of them, each working on what the one before it wrote.
    events
        What is done to the events of linked tables, one method or several; default: nothing but new keys.
    preset
        Rules that the finished table is held to, by name (`shoal.compliance.presets`); its own steps are not added.
    accept
        Whether to release although a check of the preset fails; what it found is then among the notes.
    allow
        Columns that a person has looked at and that stay, although they seem to name people (numbers of people or
        records, names, addresses, free text); any other is refused.
    pseudonyms
        Key, scope and format of the pseudonyms, where the schema wants some (`shoal.pseudonym`).
    register
        The register of releases (`shoal.Register`) that the release is held against and entered in.
    seed
        Decides ties and the order of rows. Leave it out when you publish.
    engine, memory
        ``"duckdb"`` or ``"spark"`` works on files (a path or pattern), a DuckDB relation or a Spark DataFrame where
        they lie, as for `anonymize`: `Generalize`, `Mondrian` or `Suppress`, alone or after Safe Harbor or the limited
        data set, or one of these alone.
    progress
        Called with the name of each step as it begins.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(1000, seed=1)
    >>> schema = shoal.datasets.health_survey_schema()
    >>> release = shoal.coarsen(table, schema, shoal.Mondrian(k=5), seed=7)
    >>> shoal.risk.classes(release.table, schema).k >= 5, release.claims[0].kind
    (True, 'k-anonymity')
    """
    recipe = for_schema(Coarsening.of(method), schema, events)
    name = _engine_for(table, schema, engine, memory)
    if name != "memory" and isinstance(schema, Schema):
        words: dict[str, Any] = {"seed": seed, "memory": memory, "allow": allow, "progress": progress}
        words |= {"register": register, "pseudonyms": pseudonyms}
        return _on(name, table, schema, recipe, words | {"preset": preset, "accept": accept}, events=events)
    table = read_input(table, schema) if isinstance(table, str | Path) else table
    held: dict[str, Any] = {"preset": preset, "accept": accept, "allow": allow, "register": register}
    return make(table, schema, recipe, **held, pseudonyms=pseudonyms, seed=seed, progress=progress)


@overload
def synthesize(
    table: Any,
    schema: Schema,
    method: Synthesizer | None = None,
    *,
    rows: int | None = None,
    account: Any = None,
    allow: Sequence[str] = (),
    seed: int | None = None,
    engine: str,
    memory: str | None = None,
    progress: Progress | None = None,
) -> EngineRelease: ...


@overload
def synthesize(
    table: Any,
    schema: Schema,
    method: Synthesizer | None = None,
    *,
    rows: int | None = None,
    account: Any = None,
    control: Any = None,
    preset: str | Preset | None = None,
    accept: bool = False,
    allow: Sequence[str] = (),
    register: Register | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release: ...


def synthesize(
    table: Any,
    schema: Schema,
    method: Synthesizer | None = None,
    *,
    rows: int | None = None,
    account: Any = None,
    control: Any = None,
    preset: str | Preset | None = None,
    accept: bool = False,
    allow: Sequence[str] = (),
    register: Register | None = None,
    seed: int | None = None,
    engine: str | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Release | EngineRelease:
    """Draw a synthetic table, with its evidence.

    Parameters
    ----------
    table, schema
        The records, and the public domain of every column: levels, or bounds.
    method
        The synthesizer; default ``PeGS(epsilon=1)``.
    rows
        How many rows to draw, chosen without a look at the private table; None: the model's noisy total.
    account
        A `shoal.dp.Account` that is charged before anything is computed.
    control
        A table of people of the same population who take no part in it (a holdout). The internal report then says
        whether synthetic rows are nearer to the records than to these, and tests models on these.
    preset, accept
        Rules that the public domain and the drawn rows are held to, by name, and whether to release although a check of
        the rows fails; a preset that counts persons can't be met by rows of nobody.
    allow
        Columns that a person has looked at and that stay, although what is drawn from their public levels seems to name
        people; any other is refused.
    register
        The register of releases (`shoal.Register`) that the release is entered in.
    seed
        Repeats what is no protective noise, for studies. Leave it out when you publish.
    engine, memory
        ``"duckdb"`` or ``"spark"`` works on files (a path or pattern), a DuckDB relation or a Spark DataFrame where
        they lie, as for `anonymize`: `PeGS` with ``scope="dataset"``.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(2000, seed=1).select("gender", "age_group", "income")
    >>> schema = shoal.Schema.of(quasi=["gender", "age_group"], sensitive=["income"], levels={
    ...     "gender": ["female", "male"], "age_group": range(8), "income": range(5)})
    >>> release = shoal.synthesize(table, schema, shoal.PeGS(epsilon=2.0), rows=500)
    >>> release.table.shape, release.claims[0].kind, release.claims[0].basis
    ((500, 3), 'epsilon-DP', 'proved')
    """
    from shoal.synth import PeGS

    recipe = Synthesis.of(method or PeGS(), rows)
    name = _engine_for(table, schema, engine, memory)
    if name != "memory":
        words: dict[str, Any] = {"seed": seed, "memory": memory, "account": account, "progress": progress}
        words |= {"register": register, "allow": allow}
        return _on(name, table, schema, recipe, words, preset=preset, control=control)
    table = read_input(table, schema) if isinstance(table, str | Path) else table
    return make(
        table,
        schema,
        recipe,
        account=account,
        control=control,
        preset=preset,
        accept=accept,
        allow=allow,
        register=register,
        seed=seed,
        progress=progress,
    )


def _counting_persons(table: Any, schema: Schema) -> tuple[Any, Schema]:
    """The table with a unit, where equal rows are one person's: it is settled before a preset rewrites a row."""
    frame, counted = with_persons(enter(table), schema)
    return (table, schema) if counted is schema else (leave(frame, like=table), counted)


def _engine_for(table: Any, schema: Schema | LinkedSchema, engine: str | None, memory: str | None) -> str:
    from shoal.release.on_engine.release import engine_of

    return "memory" if isinstance(schema, LinkedSchema) else engine_of(table, engine, memory)


def _on(
    name: str, table: Any, schema: Schema, recipe: Recipe, words: Mapping[str, Any], **in_memory: Any
) -> EngineRelease:
    """The release of a recipe on an engine; what needs the table in memory must not be asked for."""
    from shoal.release.on_engine.release import release_on

    for option, value in in_memory.items():
        if value is not None:
            hint = 'Leave it out, or run in memory (engine="memory").'
            raise ParameterError(option, f"needs the table in memory, not the engine {name}", hint=hint)
    return release_on(name, table, schema, recipe, **words)


def _table(made: Made, given: Any) -> Any:
    """What goes out, of the type that came in; of linked tables all of them by name."""
    if made.linked is None:
        return leave(made.frame, like=given)
    root = made.linked.schema.persons.name
    events = {name: converted(frame, like=given[name]) for name, frame in made.linked.tables.items()}
    return {root: leave(made.frame, like=given[root]), **events}


def _check_linked(recipe: Recipe) -> None:
    """Refuse for linked tables what is made for one."""
    if not isinstance(recipe, LinkedRecipe):
        raise ParameterError("linked tables", "can be anonymised and coarsened, and nothing else")
