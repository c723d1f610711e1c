"""`shoal outliers`: who would stand out at a radius? Nothing is changed."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.console import out, print_table, steps
from shoal.cli.options import File, Reading, SchemaFile, grouped
from shoal.cli.output import answer
from shoal.conform import prepare
from shoal.distance.radius import read_radius
from shoal.errors import ParameterError
from shoal.group.ball import Ball, Outliers, outliers_of
from shoal.schema import Schema

__all__ = ["EXAMPLES", "outliers"]

EXAMPLES = """Examples:

shoal outliers people.csv --schema schema.toml

shoal outliers people.csv --schema schema.toml --radius 0.2 --radius 0.3 --radius 0.4

shoal outliers people.csv --schema schema.toml --radius age=5/zip=20/sex=0 --minimum 10
"""


@grouped
def outliers(
    *,
    file: File = None,
    schema: SchemaFile,
    radius: Annotated[
        list[str] | None,
        typer.Option(
            help="Neighbourhood radius: 0 to 1 in mapped units, or column=radius/...; repeatable. [default: suggested]"
        ),
    ] = None,
    minimum: Annotated[int, typer.Option(help="Groups of fewer people count as small.", min=2)] = 5,
    shape: Annotated[
        str, typer.Option(help="clique: every pair within the radius. ball: all within the radius of the seed.")
    ] = "clique",
    reading: Reading,
) -> None:
    """Count the people with too few near neighbours, by a distance for each quasi-identifier."""
    if shape not in ("clique", "ball"):
        raise ParameterError("--shape", "must be clique or ball", got=repr(shape)[:40])
    radii: list[str | None] = list(radius) if radius else [None]
    with steps(1 + len(radii)) as step:
        step("reading")
        rules = Schema.read(schema)
        prepared = prepare(reading.table(file, "outliers", rules), rules)
        found = []
        for item in radii:
            step("looking for neighbours")
            near = None if item is None else read_radius(item, "--radius")
            found.append(outliers_of(prepared, Ball(radius=near, minimum=minimum, shape=shape)))  # type: ignore[arg-type]
    answer(outliers=found)
    _tell(found, suggested=not radius)


def _tell(found: list[Outliers], *, suggested: bool) -> None:
    first = found[0]
    out.print(f"[bold]{first.n_persons:,} persons; a group of fewer than {first.minimum} is small[/]")
    head = ["radius", "groups", "small groups", "stand out", "of these alone", "share"]
    print_table("Who stands out", head, [_row(item) for item in found])
    columns = list(first.radii)
    rows = [[item.radius, *(_own(item.radii[name]) for name in columns)] for item in found]
    print_table("The radius in each column's own units", ["radius", *columns], rows)
    if suggested:
        out.print(
            "The radius was chosen from the data so that at most 5% are in small groups. Set your own with --radius."
        )


def _row(item: Outliers) -> list[str]:
    counts = (item.n_groups, item.n_small_groups, item.n_outliers, item.n_alone)
    return [item.radius, *(f"{n:,}" for n in counts), f"{item.outlier_share:.2%}"]


def _own(radius: float | None) -> str:
    return "any" if radius is None else f"{radius:.4g}"
