"""`shoal coarsen`: intervals, wider categories and suppression, until each person looks like others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import out as screen
from shoal.cli.console import steps
from shoal.cli.options import EngineOptions, File, Reading, SomeSchema, grouped, required
from shoal.cli.output import answer
from shoal.cli.release_on_engine import release_on_engine
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
from shoal.coarsening import Hierarchy, Recode, default_hierarchy
from shoal.conform import prepare
from shoal.errors import ParameterError
from shoal.frame import series
from shoal.params import number
from shoal.recipe import Coarsening, read_method
from shoal.recipe.linked import for_schema
from shoal.release import make
from shoal.release.policy import Policy
from shoal.schema import LinkedSchema, Schema

__all__ = ["EXAMPLES", "coarsen"]

EXAMPLES = """Examples:

shoal coarsen people.csv --schema schema.toml --out release

shoal coarsen people.csv -s schema.toml -o release --method generalize --k 10 --suppression 0.02

shoal coarsen people.csv -s schema.toml -o release --method suppress --importance age=3 --diversity 3

shoal coarsen people.csv -s schema.toml -o release --risk journalist:0.05/marketer:0.01 --population 2300000

shoal coarsen people.csv -s schema.toml -o release --method generalize --policy policy.json

shoal coarsen people.csv -s schema.toml -o release --preset safe-harbor --method none

shoal coarsen "claims/*.parquet" -s schema.toml -o release --method generalize --engine duckdb --memory 4GB

shoal coarsen people.csv -s schema.toml -o release --preset cms --hierarchy zip=zip.csv --export hierarchies
"""


_METHODS = "Method: {coarsen}, or none (preset and recoding only); parameters follow a colon."


@grouped
def coarsen(
    file: File = None,
    schema: SomeSchema = None,
    method: Annotated[
        str,
        typer.Option("--method", "-m", help=_METHODS),
    ] = "mondrian",
    k: Annotated[int | None, typer.Option("--k", "-k", help="Smallest class, at least 2. [default: 5]")] = None,
    diversity: Annotated[str | None, typer.Option(help="l-diversity: 3, entropy:2.5, recursive:3,2.")] = None,
    closeness: Annotated[str | None, typer.Option(help="t-closeness: 0.2, equal:0.2, ordered:0.2.")] = None,
    risk: Annotated[
        str | None,
        typer.Option(help="Largest risk of an attacker: prosecutor:0.1, journalist:0.05/marketer:0.01, q95:0.05."),
    ] = None,
    population: Annotated[
        float | None,
        typer.Option(help="Size of the population, for --risk. [default: sum of the weights, or the table itself]"),
    ] = None,
    suppression: Annotated[
        float | None,
        typer.Option(
            help="Largest share of records that may be suppressed. [default: 0.05 for generalize, 0 for suppress]"
        ),
    ] = None,
    subsets: Annotated[
        int | None, typer.Option(help="Also count classes over subsets of up to this many columns.")
    ] = None,
    importance: Annotated[
        list[str] | None, typer.Option(help="COLUMN=NUMBER: weight of a column's information loss. Repeatable.")
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option(help="COLUMN=LEVEL: highest level allowed (generalize). Repeatable.")
    ] = None,
    recode: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=STEP, applied first: age=cap:high=90 or zip=prefix:keep=3. Repeatable."),
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option(help="COLUMN=FILE.csv in ARX format, one column per level. Repeatable.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the hierarchies used to this folder, in ARX format.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="Write the levels chosen (generalize) to this file, for `shoal apply`.")
    ] = None,
    events: Events = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed for ties and row order; omit it when publishing.")
    ] = None,
    *,
    to: TrialOptions,
    held: PresetOptions,
    pseudonym: PseudonymOptions,
    registering: RegisterOptions,
    engine: EngineOptions,
    reading: Reading,
) -> None:
    """Coarsen the quasi-identifiers of FILE until every combination is shared by at least k people.

    The released table is read back and its classes are counted again; if k, the diversity, the closeness or a rule of
    the preset is not met, nothing is written and the exit code is 3.
    """
    to.check("coarsen")
    _check_policy(policy, to.sample)
    options = {
        "k": k,
        "diversity": diversity,
        "closeness": closeness,
        "risk": risk,
        "population": population,
        "suppression": suppression,
        "subsets": subsets,
        "importance": _pairs("--importance", importance, float),
        "limits": _pairs("--limit", limit, int),
    }
    last = _method(method, {name: value for name, value in options.items() if value is not None}, held.least)
    preset = held.of()
    first = [*_recoded(_pairs("--recode", recode, _step)), *(() if preset is None else preset.first)]
    recipe = Coarsening.of([*first, *last])
    hierarchies = _pairs("--hierarchy", hierarchy, Path)
    engine = engine.chosen(file if to.sample is None else None)
    if not engine.in_memory:
        given = {
            "--events": events,
            "--recode": recode,
            "--export": export,
            "--sample": to.sample,
            "--policy": policy,
        }
        engine.refuse(given, reading)
        rules = _with_hierarchies(Schema.read(required(schema, "--schema FILE", "coarsen")), hierarchies)
        path, target = required(file, "FILE", "coarsen"), required(to.out, "--out FOLDER", "coarsen")
        with registering.opened_for(path, to) as register:
            release_on_engine(
                path,
                rules,
                recipe,
                target,
                engine,
                delimiter=reading.delimiter,
                overwrite=to.overwrite,
                seed=seed,
                format=to.format,
                pseudonyms=pseudonym.of(rules),
                register=register,
                **held.held,
            )
        return
    with steps() as step:
        source, rules = open_input(file, schema, to, reading, step, "coarsen")
        rules = _with_hierarchies(rules, hierarchies)
        source = tried(source, rules, to.sample, seed)
        expect(step, source, rules, recipe)
        whole = for_schema(recipe, rules, read_events(events))
        asked: dict[str, Any] = {"pseudonyms": pseudonym.of(rules), "seed": seed, "progress": step, **held.held}
        with registering.opened(source, to) as register:
            release = make(source, rules, whole, register=register, **asked)
            chosen = None if policy is None else Policy.of(release)
            to.write(release, step)
    to.tell(release)
    if chosen is not None and policy is not None:
        chosen.write(policy)
        answer(policy=policy)
        screen.print(f"Policy: {policy}", markup=False)
    if export is not None:
        _export(source.frame, rules, export)
        answer(hierarchies=export)
        screen.print(f"Hierarchies: {export} (internal: they contain values of the table)", markup=False)


def _check_policy(path: Path | None, sample: int | None) -> None:
    if path is not None and sample is not None:
        raise ParameterError("--policy", "is not written by a trial", hint="Leave out --sample.")
    if path is not None and path.exists():
        raise ParameterError("--policy", "must not exist yet", hint="Name a new file.")


def _method(text: str, options: dict[str, Any], least: int) -> list[Any]:
    if text == "none":
        if options:
            raise ParameterError(
                "coarsen", f"--method none cannot be combined with {', '.join(f'--{name}' for name in options)}"
            )
        return []
    options.setdefault("k", max(least, 5))
    if options["k"] < least:
        raise ParameterError("--k", f"must be at least {least} for this preset", got=str(options["k"]))
    if text.startswith("suppress") and "suppression" in options:
        options["records"] = options.pop("suppression")
    return [read_method(text, "coarsen", options)]


def _recoded(steps: Mapping[str, Any] | None) -> list[Any]:
    return [Recode(steps=steps)] if steps else []


def _pairs(option: str, given: list[str] | None, read: Any) -> dict[str, Any] | None:
    """Read COLUMN=VALUE options."""
    if not given:
        return None
    pairs = [text.partition("=") for text in given]
    wrong = [column for column, equals, value in pairs if not (column and equals and value)]
    if wrong:
        raise ParameterError(option, "must be written COLUMN=VALUE", got=repr(wrong[0])[:40])
    try:
        return {column: read(value) for column, _, value in pairs}
    except ValueError:
        raise ParameterError(option, "must give a number for each column") from None


def _step(text: str) -> dict[str, Any]:
    """A recoding step in words: ``cap:high=90``, ``prefix:keep=3``, ``date:part=year``."""
    kind, _, rest = text.partition(":")
    parts = [part.partition("=") for part in rest.split(",") if part]
    return {"kind": kind, **{name: number(value) for name, _, value in parts}}


def _with_hierarchies(schema: Any, files: Mapping[str, Path] | None) -> Any:
    if not files:
        return schema
    if isinstance(schema, LinkedSchema):
        raise ParameterError(
            "--hierarchy", "is for one table", hint="Write hierarchies into the schema of linked ones."
        )
    read = {name: Hierarchy.read_csv(path).to_dict() for name, path in files.items()}
    return schema.with_columns(replace(schema[name], hierarchy=words) for name, words in read.items())


def _export(frame: Any, schema: Any, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    prepared = prepare(frame, schema)
    for name in schema.quasi:
        values, column = series(prepared.frame, name), prepared.schema[name]
        hierarchy = Hierarchy.of(column.hierarchy) if column.hierarchy else default_hierarchy(values, column)
        hierarchy.write_csv(folder / f"{name}.csv", values)
