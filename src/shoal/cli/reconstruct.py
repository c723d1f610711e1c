"""`shoal reconstruct`: individual values from published means, totals or medians, by all methods side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from shoal.aggregate import (
    CAUTION,
    Aggregate,
    CrossedRegression,
    Cudia,
    EcologicalRegression,
    King,
    Ludia,
    PseudoInverse,
    Reconstruction,
    Reconstructor,
    RidgeEcological,
    held_out_errors,
)
from shoal.aggregate.cudia import affordable
from shoal.cli.console import out as screen
from shoal.cli.console import print_table, steps
from shoal.cli.options import Overwrite, check_free
from shoal.cli.output import answer
from shoal.errors import InputError, ParameterError
from shoal.files import read_table, write_table
from shoal.params import build

__all__ = ["EXAMPLES", "reconstruct"]

EXAMPLES = """Examples:

shoal reconstruct patients.csv --aggregate county.csv --by county --value avg_charge --covariate days --out values.csv

shoal reconstruct patients.csv --aggregate county.csv --by county --aggregate zip.csv --by zip --value avg_charge --log

shoal reconstruct patients.csv --aggregate county.csv --by county --value sum --total --method ludia:iterations=20

shoal reconstruct patients.csv --aggregate county.csv --by county --value median_charge --median -x days -o values.csv

shoal reconstruct patients.csv --aggregate county.csv --by county --value avg_charge,avg_cost -x days -o values.csv
"""

_ONE_SET = (
    "One set of means can't tell which method is nearer to the truth: it shows slopes between groups, but slopes "
    "within them are needed. Cross-validation over groups does not help. LUDIA (standardised) loses least when it is "
    "wrong; ridge is better when groups are known to differ in little but the covariates. A second set that crosses "
    "the first can tell."
)
_MEDIANS = (
    "The values' medians {} the published ones; their means are not known. Logarithms were fitted as if the value "
    "were about symmetric inside groups on that scale."
)
_MATCHED = 1e-6  # largest residual that is rounding
_SEVERAL = (
    "The last column is the error of means that a method did not see, those of the last set. It can choose between "
    "them, provided that set's groups differ in nothing that affects the value beyond the covariates."
)


def reconstruct(
    individual: Annotated[Path, typer.Argument(help="One row per person, with covariates and group columns.")],
    aggregate: Annotated[
        list[Path], typer.Option("--aggregate", help="One row per group; repeatable for several sets.")
    ],
    by: Annotated[
        list[str], typer.Option("--by", help="Column that names the group, in both files; one per --aggregate.")
    ],
    value: Annotated[
        list[str],
        typer.Option(
            "--value",
            help="Column with the group's mean; once, or one per --aggregate. "
            "Several, with commas, are rebuilt in one run.",
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            help="Method whose values are written: pseudo-inverse, ecological, ridge, ludia, cudia, crossed or king. "
            "[default: ludia; crossed with two sets or more]"
        ),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            "--covariate", "-x", help="Covariate; repeatable. [default: all columns except groups and weight]"
        ),
    ] = None,
    count: Annotated[
        str | None, typer.Option(help="Column of the aggregates with the group size, to check against.")
    ] = None,
    total: Annotated[bool, typer.Option("--total", help="--value holds totals, not means.")] = False,
    median: Annotated[
        bool, typer.Option("--median", help="--value holds medians, not means; fitted on the log scale and matched.")
    ] = False,
    log: Annotated[
        bool, typer.Option("--log", help="Work on the log scale, for charges and other skewed values.")
    ] = False,
    weight: Annotated[str | None, typer.Option(help="Column of survey weights, for weighted means.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output file: the individual file with the values added.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the added column, or names with commas. [default: the first --value]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed, to make the run reproducible.", min=0)] = 0,
    overwrite: Overwrite = False,
) -> None:
    """Rebuild individual values from the means (totals, medians) of their groups.

    All methods are fitted and shown side by side, because none is best everywhere. One set of means cannot tell which
    is right; with two crossing sets, each method is also fitted without the last set and tested on it. The values of
    --method are written.
    """
    if total and median:
        raise ParameterError("--median", "can't be given together with --total")
    chosen = _method(method or ("ludia" if len(aggregate) < 2 else "crossed"))
    check_free(out, overwrite)
    with steps(7 + (len(aggregate) > 1)) as step:
        step("reading")
        table = read_table(individual)
        columns = _columns(table, aggregate, by, value, name, {"count": count, "total": total, "median": median})
        if taken := [column for column in columns if column in table.columns]:
            raise InputError(str(individual), f"already has a column '{taken[0]}'", hint="Choose another --name.")
        X = table.select(_covariates(table.columns, covariate, by, weight))
        weights = None if weight is None else _column(table, weight).to_numpy()
        methods = {**_side_by_side(len(table), len(aggregate)), type(chosen).__name__: chosen}
        found, unseen = _fitted(methods, X, columns, step, {"weights": weights, "log": log, "seed": seed})
        ours = {column: by_method[type(chosen).__name__] for column, by_method in found.items()}
        if out is not None:
            step("writing")
            _write(out, table, ours)
    words = {column: _words(found[column], ours[column], unseen[column]) for column in columns}
    answer(**(words[next(iter(words))] if len(words) == 1 else {"columns": words}), out=out)
    for column in columns:
        _tell(column if len(columns) > 1 else None, found[column], ours[column], unseen[column], out)
    _warn(found, any(unseen.values()))
    if median:
        matched = all(item.residual < _MATCHED for item in ours.values())
        screen.print(_MEDIANS.format("are" if matched else "are not all"), markup=False)
    if out is not None:
        screen.print(f"Values: {out}", markup=False)


def _fitted(
    methods: dict[str, Reconstructor],
    X: Any,
    columns: dict[str, list[Aggregate]],
    step: Callable[[str], None],
    how: dict[str, Any],
) -> tuple[dict[str, dict[str, Reconstruction]], dict[str, dict[str, float]]]:
    """For every column what each method makes of it, and its error on the last set where it can do without that set."""
    found: dict[str, dict[str, Reconstruction]] = {column: {} for column in columns}
    unseen: dict[str, dict[str, float]] = {column: {} for column in columns}
    n_others = len(next(iter(columns.values()))) - 1
    for key, method in methods.items():
        step(f"fitting {key}")
        for column, item in method.reconstruct_columns(X, columns, **how).items():
            found[column][key] = item
        if n_others >= (2 if key == "CrossedRegression" else 1):
            for column, error in held_out_errors(method, X, columns, **how).items():
                unseen[column][key] = error
    return found, unseen


def _method(words: str) -> Reconstructor:
    names: dict[str, type[Reconstructor]] = {
        "pseudo-inverse": PseudoInverse,
        "ecological": EcologicalRegression,
        "ridge": RidgeEcological,
        "ludia": Ludia,
        "cudia": Cudia,
        "crossed": CrossedRegression,
        "king": King,
    }
    key, _, rest = words.partition(":")
    if key not in names:
        raise ParameterError("--method", f"must be one of {', '.join(names)}", got=repr(key)[:40])
    pairs = [part.partition("=") for part in rest.split(",") if part]
    return build(names[key], {parameter: text for parameter, _, text in pairs})


def _side_by_side(n: int, n_sets: int) -> dict[str, Reconstructor]:
    all_five = (PseudoInverse(), EcologicalRegression(), RidgeEcological(), Ludia(), affordable(n))
    crossed = (CrossedRegression(),) if n_sets > 1 else ()
    return {type(method).__name__: method for method in (*all_five, *crossed)}


def _columns(
    table: Any, files: list[Path], by: list[str], value: list[str], name: str | None, what: dict[str, Any]
) -> dict[str, list[Aggregate]]:
    """The aggregates of every column that is to be rebuilt, by its name."""
    if len(by) != len(files):
        raise ParameterError("--by", "must be given once per --aggregate", got=f"{len(by)} for {len(files)}")
    if len(value) not in (1, len(files)):
        raise ParameterError("--value", "must be given once, or once per --aggregate", got=f"{len(value)}")
    published = [read_table(file) for file in files]
    values = [_listed(words, set_.columns) for words, set_ in zip(value * len(files), published, strict=False)]
    names = values[0] if name is None else _parts(name) if len(values[0]) > 1 else [name]
    if len({len(listed) for listed in values}) > 1:
        raise ParameterError("--value", "must list as many columns for every --aggregate")
    if len(names) != len(values[0]) or len(set(names)) != len(names) or not all(names):
        raise ParameterError("--name", "must give each column of --value a name of its own", got=f"{len(names)}")
    found: dict[str, list[Aggregate]] = {column: [] for column in names}
    for set_, group, listed in zip(published, by, values, strict=True):
        for column, mean in zip(names, listed, strict=True):
            found[column].append(Aggregate.joined(table, set_, by=group, value=mean, **what))
    return found


def _listed(words: str, columns: list[str]) -> list[str]:
    """A column, or several with commas between them."""
    return [words] if words in columns else _parts(words)


def _parts(words: str) -> list[str]:
    return [part.strip() for part in words.split(",")]


def _covariates(columns: list[str], given: list[str] | None, by: list[str], weight: str | None) -> list[str]:
    left = [name for name in columns if name not in by and name != weight]
    if given is None and not left:
        raise InputError("individual file", "must have a covariate besides the groups")
    for name in given or []:
        if name not in columns:
            raise ParameterError("--covariate", "must be a column of the individual file", got=repr(name)[:40])
    return given or left


def _column(table: Any, name: str) -> Any:
    if name not in table.columns:
        raise ParameterError("--weight", "must be a column of the individual file", got=repr(name)[:40])
    return table[name]


def _write(out: Path, table: Any, found: dict[str, Reconstruction]) -> None:
    write_table(table.with_columns(*(pl.Series(column, item.values) for column, item in found.items())), out)


def _words(found: dict[str, Reconstruction], ours: Reconstruction, unseen: dict[str, float]) -> dict[str, Any]:
    methods = [{**item.to_dict(), "held_out_error": unseen.get(name)} for name, item in found.items()]
    return {"written": ours.method, "methods": methods, "can_tell": bool(unseen)}


def _tell(
    column: str | None,
    found: dict[str, Reconstruction],
    ours: Reconstruction,
    unseen: dict[str, float],
    out: Path | None,
) -> None:
    rows = [
        [
            name,
            _figure(item.values.mean()),
            _figure(item.values.std()),
            f"{_figure(item.values.min())} to {_figure(item.values.max())}",
            _figure(np.abs(item.values - ours.values).mean()),
            *([_figure(unseen[name]) if name in unseen else "sees all"] if unseen else []),
        ]
        for name, item in found.items()
    ]
    head = ["", "mean", "spread", "range", "distance"] + (["unseen set"] if unseen else [])
    title = f"{len(ours.values):,} values by method, and their mean distance from those of {ours.method}"
    title += "" if out is None else " (written)"
    print_table(title if column is None else f"{column}: {title}", head, rows)


def _figure(value: float) -> str:
    """A number that fits a narrow terminal."""
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e9 else f"{value:,.3g}"


def _warn(found: dict[str, dict[str, Reconstruction]], can_tell: bool) -> None:
    """What all columns have in common, once."""
    warnings = (text for by_method in found.values() for item in by_method.values() for text in item.warnings)
    for warning in dict.fromkeys(warnings):
        screen.print(f"- {warning}", markup=False)
    screen.print(_SEVERAL if can_tell else _ONE_SET, markup=False)
    screen.print(CAUTION, markup=False)
