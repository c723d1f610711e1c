"""`shoal transfer`: predict for one task from the tables of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from shoal.cli.console import print_table
from shoal.cli.options import Overwrite, check_free
from shoal.cli.output import answer
from shoal.errors import ParameterError
from shoal.files import read_table, write_table
from shoal.report.numbers import number, percent
from shoal.schema import Schema
from shoal.shift import Transfer

__all__ = ["EXAMPLES", "transfer"]

EXAMPLES = """Examples:

shoal transfer --task here=here.csv --task there=there.csv --target here --new people.csv -s schema.toml -o out.csv

shoal transfer --task a=a.csv --task b=b.csv --target b --new b_next.csv -s schema.toml --model two-part --json
"""


def transfer(
    task: Annotated[list[str], typer.Option("--task", help="NAME=FILE: a table with covariates and response; repeat.")],
    target: Annotated[str, typer.Option(help="Name of the task to predict for.")],
    new: Annotated[Path, typer.Option("--new", help="Covariates of the people to predict for.")],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="Schema file (TOML) of the tasks.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File for the people with their prediction.")] = None,
    method: Annotated[str, typer.Option(help="How rows are weighted: ratio, logistic or none.")] = "ratio",
    coding: Annotated[str, typer.Option(help="How covariates enter the model: dummy or numeric.")] = "dummy",
    model: Annotated[
        str, typer.Option(help="least-squares, two-part, log, gamma, tweedie or multiplicative.")
    ] = "least-squares",
    response: Annotated[
        str | None, typer.Option(help="The response, if several sensitive columns are numeric.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Predict a response for one task from the tables of several.

    Rows of every task are weighted until the pool looks like the target task on the new covariates; a model is fitted
    to them. What was borrowed from other tasks is printed.
    """
    check_free(out, overwrite)
    people: Any = read_table(new)
    fitted = Transfer(method=method, coding=coding, model=model, response=response)  # type: ignore[arg-type]
    predicted = fitted.fit(_tasks(task), target, people, Schema.read(schema)).predict(people)
    if out is not None:
        write_table(people.with_columns(pl.Series("predicted", predicted)), out)
    words = {"target": target, "n": len(predicted), "mean": float(np.nanmean(predicted))}
    words |= {} if fitted.weights_ is None else {"weights": fitted.weights_.to_dict()}
    answer(**words, out=out)
    _tell(fitted, words)


def _tasks(given: list[str]) -> dict[str, Any]:
    tasks = {}
    for text in given:
        name, equals, file = text.partition("=")
        if not equals or not name or name in tasks:
            raise ParameterError("--task", "must be NAME=FILE, each name once", got=repr(text)[:60])
        tasks[name] = read_table(Path(file))
    return tasks


def _tell(fitted: Transfer, words: dict[str, Any]) -> None:
    rows = [["mean prediction", number(words["mean"])], ["people", f"{words['n']:,}"]]
    if fitted.weights_ is not None:
        w = fitted.weights_
        rows += [
            ["effective rows, all tasks", number(w.effective_sample_size)],
            ["effective rows, target alone", number(w.effective_sample_size_alone)],
            ["weight borrowed from other tasks", percent(w.borrowed_share)],
            ["people where the target has no rows", percent(w.uncovered_share)],
        ]
    print_table(f"Task {words['target']}", ("", ""), rows)
