"""`shoal risk`: how exposed is a table, alone or against its original?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.reading import FILE_HELP, Reading, reads

__all__ = ["EXAMPLES", "risk"]

EXAMPLES = """Examples:

shoal risk people.csv --schema schema.toml

shoal risk released.csv --schema schema.toml --original people.csv    (same row order)

shoal risk sample.csv --schema schema.toml --population 330000000

shoal risk stays.csv --schema schema.toml --aggregates county --aggregates hospital
"""


@reads
def risk(
    *,
    file: Annotated[Path | None, typer.Argument(help=FILE_HELP)] = None,
    schema: Annotated[Path, typer.Option("--schema", "-s", help="Its schema in TOML.")],
    original: Annotated[
        Path | None, typer.Option(help="The table it was made from, in the same row order: adds matching attacks.")
    ] = None,
    population: Annotated[int | None, typer.Option(help="People in the population the table is a sample of.")] = None,
    aggregates: Annotated[
        list[str] | None, typer.Option(help="Columns whose averages you plan to publish: what would they give away?")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    reading: Reading,
) -> None:
    """Measure equivalence classes, uniqueness and attackers; with --original also re-identification and linkage."""
    from shoal.cli.console import out, steps
    from shoal.schema import Schema

    rules = Schema.read(schema)
    with steps(3) as step:
        step("reading")
        table = reading.table(file, "risk", rules)
        before = None if original is None else reading.table(original, "risk", rules)
        step("measuring")
        found = _measure(table, before, rules, population)
        if aggregates:
            from shoal.cli.aggregates import exposure

            step("rebuilding values from averages")
            found["aggregates"] = exposure(table, rules, aggregates)
    if json:
        out.print_json(data={name: result.to_dict() for name, result in found.items()})
    else:
        _tell(found, len(table))


def _measure(table: Any, before: Any, schema: Any, population: int | None) -> dict[str, Any]:
    from shoal.frame import enter
    from shoal.pair import Pair
    from shoal.risk import attacker_models, class_sizes
    from shoal.risk import population as population_models

    frame = enter(table)
    classes = class_sizes.table_classes(frame, schema)
    found: dict[str, Any] = {
        "classes": class_sizes.measure(frame, schema, found=classes),
        "uniqueness": population_models.measure(frame, schema, population, found=classes),
        "attackers": attacker_models.measure(frame, schema, population, found=classes),
    }
    return found if before is None else found | _attack(Pair.of(before, table, schema))


def _attack(pair: Any) -> dict[str, Any]:
    """Matching attacks on rows in the original's order, all from one look at both tables."""
    from shoal.risk import attribute_inference, copies, interval_disclosure, matching, record_linkage, unchanged
    from shoal.risk.nearest import match_pair

    matches = match_pair(pair)
    return {
        "reidentification": matching.measure(pair, matches=matches),
        "linkage": record_linkage.measure(pair),
        "intervals": interval_disclosure.measure(pair),
        "inference": attribute_inference.measure(pair, matches=matches),
        "verbatim": copies.measure(pair),
        "unchanged": unchanged.measure(pair),
    }


def _tell(found: dict[str, Any], n: int) -> None:
    from shoal.cli.console import out, print_table

    classes, attackers = found["classes"], found["attackers"]
    out.print(f"[bold]{n:,} rows in {classes.n_classes:,} classes; smallest class k = {classes.k}[/]")
    out.print(f"unique records: {classes.n_unique:,}")
    rows = [
        ["prosecutor", f"{attackers.prosecutor.mean:.2%}", f"{attackers.prosecutor.largest:.2%}"],
        ["journalist", f"{attackers.journalist.mean:.2%}", f"{attackers.journalist.largest:.2%}"],
        ["marketer", f"{attackers.marketer:.2%}", ""],
    ]
    print_table("Attackers", ["", "mean", "largest"], rows)
    if classes.sensitive:
        rows = [
            [name, f"{d.distinct_l}", f"{d.entropy_l:.2f}", f"{d.t:.2f}", f"{d.homogeneous_share:.2%}"]
            for name, d in classes.sensitive.items()
        ]
        head = ["", "distinct l", "entropy l", "t", "in classes of one value"]
        print_table("Sensitive columns, worst class", head, rows)
    if "reidentification" in found:
        out.print(f"re-identification by nearest match: {found['reidentification'].expected:.2%}")
        hidden = found["unchanged"]
        told = f"not measured: {hidden.why}" if hidden.expected is None else f"{hidden.expected:.2%}"
        out.print(f"re-identification with unchanged columns: {told}")
        out.print(f"linkage, nearest or second nearest: {found['linkage'].share:.2%}")
        out.print(f"combinations equal to their own person's: {found['verbatim'].own_share:.2%}")
        for name in ("reidentification", "linkage"):
            if found[name].sampled:
                out.print(f"{name}: from a random sample of {found[name].n_targets:,} rows, each against all")
    if "aggregates" in found:
        from shoal.cli.aggregates import tell_exposure

        tell_exposure(found["aggregates"])
