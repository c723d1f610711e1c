"""`shoal coarsen`: intervals, wider categories and suppression, until each person looks like others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.coarsen_files import release_files
from shoal.cli.console import out as screen
from shoal.cli.console import steps
from shoal.cli.engine_options import EngineName, Memory, Spill, refuse, refuse_reading
from shoal.cli.reading import FILE_HELP, Reading, reads
from shoal.cli.releasing import (
    FORMAT_HELP,
    KEY_HELP,
    SAMPLE,
    SCOPE_HELP,
    check_trial,
    expect,
    format_of,
    listed,
    open_input,
    pseudonyms_of,
    required,
    tell,
    tried,
)
from shoal.cli.summary import VERBOSE
from shoal.coarsening import Hierarchy, Recode, default_hierarchy
from shoal.compliance import preset
from shoal.compliance import preset as preset_of
from shoal.conform import prepare
from shoal.errors import ParameterError
from shoal.frame import series
from shoal.params import number
from shoal.recipe import Coarsening, read_method
from shoal.release import make
from shoal.release.policy import Policy
from shoal.schema import Schema

__all__ = ["EXAMPLES", "coarsen"]

EXAMPLES = """Examples:

shoal coarsen people.csv --schema schema.toml --out release

shoal coarsen people.csv -s schema.toml -o release --method generalize --k 10 --suppression 0.02

shoal coarsen people.csv -s schema.toml -o release --method suppress --importance age=3 --diversity 3

shoal coarsen people.csv -s schema.toml -o release --method generalize --policy policy.json

shoal coarsen people.csv -s schema.toml -o release --preset safe-harbor --method none

shoal coarsen "claims/*.parquet" -s schema.toml -o release --method generalize --engine duckdb --memory 4GB

shoal coarsen people.csv -s schema.toml -o release --preset cms --hierarchy zip=zip.csv --export hierarchies
"""


_METHODS = listed("coarsen", with_k=True) + ", or none (preset and recoding only)"


@reads
def coarsen(
    file: Annotated[Path | None, typer.Argument(help=FILE_HELP)] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="Schema file (TOML) with the role of each column.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the release; must not exist yet.")] = None,
    method: Annotated[
        str,
        typer.Option("--method", "-m", help=f"Method: {_METHODS}; parameters follow a colon."),
    ] = "mondrian",
    k: Annotated[int | None, typer.Option("--k", "-k", help="Smallest class, at least 2. [default: 5]")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="Preset of rules: safe-harbor, limited-data-set, cms, internal-5, public-11, public-20."),
    ] = None,
    diversity: Annotated[str | None, typer.Option(help="l-diversity: 3, entropy:2.5, recursive:3,2.")] = None,
    closeness: Annotated[str | None, typer.Option(help="t-closeness: 0.2, equal:0.2, ordered:0.2.")] = None,
    suppression: Annotated[float | None, typer.Option(help="Largest share of records that may be suppressed.")] = None,
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
    allow: Annotated[
        list[str] | None, typer.Option(help="Keep a column that merely looks like an identifier. Repeatable.")
    ] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Release even if a check of the preset fails.")] = False,
    seed: Annotated[
        int | None, typer.Option(help="Random seed for ties and row order; omit it when publishing.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="Output format: csv, tsv, parquet, dta, sav, xpt.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing release in that folder.")] = False,
    pseudonym_key: Annotated[Path | None, typer.Option(help=KEY_HELP)] = None,
    scope: Annotated[str | None, typer.Option(help=SCOPE_HELP)] = None,
    pseudonym_format: Annotated[str | None, typer.Option(help=FORMAT_HELP)] = None,
    sample: Annotated[int | None, typer.Option("--sample", help=SAMPLE)] = None,
    engine: EngineName = "memory",
    memory: Memory = None,
    spill: Spill = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help=VERBOSE)] = False,
    *,
    reading: Reading,
) -> None:
    """Coarsen the quasi-identifiers of FILE until every combination is shared by at least k people.

    The released table is read back and its classes are counted again; if k, the diversity, the closeness or a rule of
    the preset is not met, nothing is written and the exit code is 3.
    """
    target = check_trial(sample, out, "coarsen")
    _check_policy(policy, sample)
    options = {
        "k": k,
        "diversity": diversity,
        "closeness": closeness,
        "suppression": suppression,
        "subsets": subsets,
        "importance": _pairs("--importance", importance, float),
        "limits": _pairs("--limit", limit, int),
    }
    last = _method(method, {name: value for name, value in options.items() if value is not None}, preset)
    first = _first(preset, _pairs("--recode", recode, _step), tuple(allow or ()))
    recipe = Coarsening.of([*first, *last])
    if engine != "memory":
        given = {"--preset": preset, "--recode": recode, "--export": export, "--sample": sample}
        refuse(engine, given | {"--seed": seed is not None, f"--format {format}": format not in (None, "parquet")})
        refuse_reading(engine, reading)
        rules = Schema.read(required(schema, "--schema FILE", "coarsen"))
        release_files(
            required(file, "FILE", "coarsen"),
            _with_hierarchies(rules, _pairs("--hierarchy", hierarchy, Path)),
            recipe.coarseners[-1],
            required(target, "--out FOLDER", "coarsen"),
            engine=engine,
            memory=memory,
            spill=spill,
            delimiter=reading.delimiter,
            overwrite=overwrite,
        )
        return
    refuse(engine, {"--memory": memory, "--spill": spill})
    with steps() as step:
        source, rules = open_input(file, schema, target, overwrite, reading, step, "coarsen")
        rules = _with_hierarchies(rules, _pairs("--hierarchy", hierarchy, Path))
        source = tried(source, rules, sample, seed)
        expect(step, source, rules, recipe)
        pseudonyms = pseudonyms_of(rules, pseudonym_key, scope, pseudonym_format)
        held: dict[str, Any] = {"preset": preset, "accept": accept, "pseudonyms": pseudonyms}
        release = make(source, rules, recipe, **held, seed=seed, progress=step)
        chosen = None if policy is None else Policy.of(release)
        if target is None:
            release.measure(progress=step)
        else:
            release.write(target, format=format or format_of(release), overwrite=overwrite, progress=step)
    tell(release, target, verbose=verbose)
    if chosen is not None and policy is not None:
        chosen.write(policy)
        screen.print(f"Policy: {policy}", markup=False)
    if export is not None:
        _export(source.frame, rules, export)
        screen.print(f"Hierarchies: {export} (internal: they contain values of the table)", markup=False)


def _check_policy(path: Path | None, sample: int | None) -> None:
    if path is not None and sample is not None:
        raise ParameterError("--policy", "is not written by a trial", hint="Leave out --sample.")
    if path is not None and path.exists():
        raise ParameterError("--policy", "must not exist yet", hint="Name a new file.")


def _method(text: str, options: dict[str, Any], preset: str | None) -> list[Any]:
    if text == "none":
        if options:
            raise ParameterError(
                "coarsen", f"--method none cannot be combined with {', '.join(f'--{name}' for name in options)}"
            )
        return []
    wanted = preset_of(preset).k if preset else 1
    options.setdefault("k", max(wanted, 5))
    if options["k"] < wanted:
        raise ParameterError("--k", f"must be at least {wanted} for the preset {preset}", got=str(options["k"]))
    if text.startswith("suppress") and "suppression" in options:
        options["records"] = options.pop("suppression")
    return [read_method(text, "coarsen", options)]


def _first(preset: str | None, recode: Mapping[str, Any] | None, allow: tuple[str, ...]) -> list[Any]:
    made: list[Any] = [Recode(steps=recode)] if recode else []
    return made + (_of_preset(preset, allow) if preset else [])


def _of_preset(name: str, allow: tuple[str, ...]) -> list[Any]:

    named = preset(name).first
    return [replace(m, allow=allow) if "allow" in {f.name for f in fields(m)} else m for m in named]  # type: ignore[type-var,arg-type]


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

    read = {name: Hierarchy.read_csv(path).to_dict() for name, path in (files or {}).items()}
    return schema.with_columns(replace(schema[name], hierarchy=words) for name, words in read.items())


def _export(frame: Any, schema: Any, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    prepared = prepare(frame, schema)
    for name in schema.quasi:
        values, column = series(prepared.frame, name), prepared.schema[name]
        hierarchy = Hierarchy.of(column.hierarchy) if column.hierarchy else default_hierarchy(values, column)
        hierarchy.write_csv(folder / f"{name}.csv", values)
