"""`shoal anonymize`: from a file and its schema to a release with evidence."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import steps
from shoal.cli.options import EngineOptions, File, Reading, SomeSchema, grouped, required
from shoal.cli.release_on_engine import release_on_engine, replay_on_engine
from shoal.cli.releasing import (
    Events,
    PresetOptions,
    PseudonymOptions,
    RegisterOptions,
    TrialOptions,
    expect,
    open_input,
    read_events,
    tried,
)
from shoal.errors import ParameterError
from shoal.pseudonym import ProjectKey
from shoal.recipe import Anonymization, Recipe, known_method, read_method
from shoal.recipe.linked import for_schema
from shoal.release import anonymize_to_linkage, anonymize_to_risk, make
from shoal.release.manifest import replay
from shoal.release.registering import entered
from shoal.schema import Schema

__all__ = ["EXAMPLES", "anonymize"]

EXAMPLES = """Examples:

shoal anonymize people.csv --schema schema.toml --out release

shoal anonymize people.csv -s schema.toml -o release --k 10 --mask gaussian-dither:exact=true

shoal anonymize people.sav -s schema.toml -o release --group mdav --mask centroid --format sav

shoal anonymize people.csv -s schema.toml -o release -g crest -m micro-perturb:noise=exact --target-linkage 0.01

shoal anonymize people.csv -s schema.toml -o release --preset ema-0070

shoal anonymize people.csv -s schema.toml -o release -g mdav -m centroid --risk journalist:0.05 --population 2300000

shoal anonymize people.csv -s schema.toml -o release -g ball -m push-back -m shuffle

shoal anonymize people.csv -s schema.toml --sample 20000    (a dry run: prints the result, writes nothing)

shoal anonymize people.csv -s schema.toml -o release --pseudonym-key project.key --scope "registry 2026"

shoal anonymize "claims/*.parquet" -s schema.toml -o release --engine duckdb --memory 4GB    (beyond memory)

shoal anonymize claims/ -s schema.toml -o release --engine spark --master spark://head:7077

shoal anonymize clinic/ -s linked.toml -o release --events exchange-bags    (linked tables: one file each)

shoal anonymize people-2027.csv -s schema.toml -o release-2027 --data people --same-groups-as last    (next year)

shoal anonymize --replay release.internal/replay.toml --out again
"""

_GROUPS = "Grouping method: {group}; parameters follow a colon, as in crest:alpha=1."
_MASKS = "Masking method: {mask}; repeat to chain masks."


@grouped
def anonymize(
    file: File = None,
    schema: SomeSchema = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Smallest group size, at least 2. [default: 5]")] = None,
    group: Annotated[str, typer.Option("--group", "-g", help=_GROUPS)] = "k-member",
    mask: Annotated[list[str] | None, typer.Option("--mask", "-m", help=_MASKS)] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed; omit it when publishing, and a secret seed is drawn.")
    ] = None,
    replay: Annotated[Path | None, typer.Option(help="Repeat the run recorded in this replay.toml.")] = None,
    events: Events = None,
    target_linkage: Annotated[
        float | None, typer.Option(help="Raise k until at most this share of released rows can be linked.")
    ] = None,
    risk: Annotated[
        str | None,
        typer.Option(help="Raise k until an attacker's risk is at most: prosecutor:0.1, journalist:0.05/q95:0.01."),
    ] = None,
    population: Annotated[
        float | None,
        typer.Option(help="Size of the population, for --risk. [default: sum of the weights, or the table itself]"),
    ] = None,
    same_groups_as: Annotated[
        str | None,
        typer.Option(metavar="RELEASE", help="Keep the groups of an earlier release: its number, or last."),
    ] = None,
    *,
    to: TrialOptions,
    rules: PresetOptions,
    pseudonym: PseudonymOptions,
    registering: RegisterOptions,
    engine: EngineOptions,
    reading: Reading,
) -> None:
    """Hide each person in FILE in a group of at least k, and write the table, report and manifest.

    With the default mask, the released table preserves the distribution of the quasi-identifiers. It is read back
    and measured before anything appears under --out; if a claim fails, nothing is written and the exit code is 3.
    The same goes for a release that, beside an earlier one of FILE, exposes people.
    """
    to.check("anonymize")
    _check_replay(
        replay,
        {
            "--k": k,
            "--mask": mask,
            "--seed": seed,
            "--schema": schema,
            "--target-linkage": target_linkage,
            "--risk": risk,
            "--population": population,
            "--events": events,
            "--same-groups-as": same_groups_as,
            "--sample": to.sample,
            "--scope": pseudonym.scope,
            "--pseudonym-format": pseudonym.pseudonym_format,
            "--preset": rules.preset,
        },
    )
    held = rules.held
    recipe = None if replay else _recipe(k, group, mask or ["gaussian-dither"], rules.least)
    engine = engine.chosen(file if to.sample is None else None)
    if not engine.in_memory:
        refused = {
            "--target-linkage": target_linkage,
            "--risk": risk,
            "--population": population,
            "--events": events,
            "--sample": to.sample,
            "--same-groups-as": same_groups_as,
        }
        engine.refuse(refused, reading)
        target = required(to.out, "--out FOLDER", "anonymize")
        if recipe is None:
            again = {"overwrite": to.overwrite, "project_key": _project_key(pseudonym)}
            replay_on_engine(required(replay, "--replay FILE", "anonymize"), file, target, engine, **again)
            return
        roles = Schema.read(required(schema, "--schema FILE", "anonymize"))
        words: dict[str, Any] = {"delimiter": reading.delimiter, "overwrite": to.overwrite, "format": to.format}
        words |= {"seed": seed, "pseudonyms": pseudonym.of(roles), **held}
        path = required(file, "FILE", "anonymize")
        with registering.opened_for(path, to) as register:
            release_on_engine(path, roles, recipe, target, engine, **words, register=register)
        return
    with steps() as step, ExitStack() as stack:
        if recipe is None:
            release = _replayed(replay, file, pseudonym, step)
        else:
            source, roles = open_input(file, schema, to, reading, step, "anonymize")
            source = tried(source, roles, to.sample, seed)
            expect(step, source, roles, recipe)
            given: dict[str, Any] = {"seed": seed, "progress": step, "pseudonyms": pseudonym.of(roles), **held}
            whole = for_schema(recipe, roles, read_events(events))
            limit = _limit(risk, population, target_linkage)
            register = stack.enter_context(registering.opened(source, to))
            release = _released(source, roles, whole, target_linkage, limit, given, register, same_groups_as)
        to.write(release, step, replay)
    to.tell(release)


def _check_replay(replay: Path | None, others: dict[str, Any]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if replay is not None and given:
        raise ParameterError(
            "anonymize", f"--replay repeats a recorded run and cannot be combined with {', '.join(given)}"
        )


def _recipe(k: int | None, group: str, masks: list[str], least: int) -> Anonymization:
    cls = known_method("group", group.partition(":")[0])
    defaults = {} if k is None else {cls.size_parameter: k}
    grouper = read_method(group, "group", defaults)
    if k is None and grouper.k < least and f"{cls.size_parameter}=" not in group:
        grouper = read_method(group, "group", {cls.size_parameter: least})
    if grouper.k < least:
        raise ParameterError("--k", f"must be at least {least} for this preset", got=str(grouper.k))
    if defaults and grouper.k != k:
        raise ParameterError("anonymize", "--k and the k of --group must agree", got=f"{k} and {grouper.k}")
    return Anonymization.of(grouper, [read_method(text, "mask") for text in masks])


def _limit(risk: str | None, population: float | None, linkage: float | None) -> dict[str, Any]:
    if risk is not None and linkage is not None:
        raise ParameterError("--risk", "cannot be combined with --target-linkage")
    if risk is None and population is not None:
        raise ParameterError("--population", "is used by --risk only")
    return {} if risk is None else {"risk": risk, "population": population}


def _released(
    source: Any,
    schema: Any,
    recipe: Recipe,
    target: float | None,
    limit: dict[str, Any],
    given: dict[str, Any],
    register: Any,
    same_groups_as: str | None,
) -> Any:
    if target is None and not limit:
        return make(source, schema, recipe, register=register, same_groups_as=same_groups_as, **given)
    if same_groups_as is not None:
        raise ParameterError("--same-groups-as", "keeps the groups as they are, and k with them")
    if not isinstance(recipe, Anonymization):
        raise ParameterError("--risk" if limit else "--target-linkage", "is for one table, not for linked ones")
    if target is None:
        release = anonymize_to_risk(source, schema, group=recipe.group, mask=recipe.masks, **limit, **given)
    else:
        release = anonymize_to_linkage(source, schema, target, group=recipe.group, mask=recipe.masks, **given)
    return release if register is None else entered(release, register)


def _replayed(path: Any, file: Path | None, pseudonym: PseudonymOptions, step: Any) -> Any:
    return replay(path, input=file, key=_project_key(pseudonym), progress=step)


def _project_key(pseudonym: PseudonymOptions) -> ProjectKey | None:
    return None if pseudonym.pseudonym_key is None else ProjectKey.read(pseudonym.pseudonym_key)
