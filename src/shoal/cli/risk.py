"""`shoal risk`: who stands out in a table, through what, against whom, and what would help.

`shoal risk --fail-above`: which risks have a limit, what each needs in order to be measured, and which are broken.

What can't be measured is refused before anything is read, all of it at once: a gate that can't close is no gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from shoal import risk as measures
from shoal.cli.console import out as screen
from shoal.cli.console import steps
from shoal.cli.options import EngineOptions, File, Reading, SchemaFile, grouped, required
from shoal.cli.output import answer
from shoal.cli.risk_screen import exposure, print_classes, print_risk
from shoal.engine import Inputs
from shoal.engine.equal_rows import whose_rows_on
from shoal.errors import ParameterError
from shoal.frame import enter
from shoal.linked import Collection
from shoal.pair import Pair
from shoal.risk import (
    attacker_models,
    attribute_inference,
    class_sizes,
    column_contribution,
    individual_risk,
    interval_disclosure,
    joined_view,
    record_linkage,
    reidentification_attack,
    suda_scores,
    unchanged,
    verbatim_rows,
    what_if_changes,
)
from shoal.risk import population_uniqueness as population_models
from shoal.risk.class_sizes import counted_classes
from shoal.risk.keys import coded_keys
from shoal.risk.log_linear import fit_log_linear
from shoal.risk.nearest import match_pair
from shoal.risk.small_classes import atoms_of
from shoal.schema import LinkedSchema, Schema, read_schema
from shoal.schema.person_key import unit_warnings
from shoal.schema.whose_rows import whose_rows

__all__ = ["EXAMPLES", "above", "limits_of", "risk"]

EXAMPLES = """Examples:

shoal risk people.csv --schema schema.toml

shoal risk clinic/ --schema linked.toml --k 5    (linked tables: also by known events)

shoal risk sample.csv --schema schema.toml --population 330000000 --fail-above journalist=0.2

shoal risk released.csv --schema schema.toml --original people.csv    (same row order)

shoal risk synthetic.csv -s schema.toml --original train.csv --control holdout.csv --fail-above membership=0.1

shoal risk stays.csv --schema schema.toml --aggregates county --aggregates hospital

shoal risk "claims/*.parquet" --schema schema.toml --engine duckdb --memory 4GB --fail-above unique=0
"""

_MOST_SETS = 100_000_000  # rows times sets of columns up to which combinations of three are sought


@grouped
def risk(
    *,
    file: File = None,
    schema: SchemaFile,
    original: Annotated[
        Path | None,
        typer.Option(help="The original table, to run attacks; matching needs the same row order."),
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="People who were not in the original, as a baseline for the attacks.")
    ] = None,
    population: Annotated[
        int | None, typer.Option(help="Size of the population from which the table is a sample.")
    ] = None,
    k: Annotated[int, typer.Option(min=2, help="People in classes smaller than this stand out.")] = 2,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LIMIT",
            help="Exit with code 3 if a risk is above its limit, as NAME=LIMIT: unique, prosecutor, journalist, "
            "marketer, individual, household, events, "
            "singling-out, linkability, guessing, membership.",
        ),
    ] = None,
    aggregates: Annotated[
        list[str] | None, typer.Option(help="Columns whose group means are to be published: what would they disclose?")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print everything, including internal details.")
    ] = False,
    engine: EngineOptions,
    reading: Reading,
) -> None:
    """Show who stands out in FILE, because of which columns, to which attackers, and what would help most.

    With --engine duckdb, k, l and t of files of any size are counted, exactly.
    """
    rules = read_schema(schema)
    engine = engine.chosen(file) if isinstance(rules, Schema) else engine
    in_memory = isinstance(rules, LinkedSchema) or engine.in_memory
    limits = limits_of(fail_above or [], rules, original=original, control=control, in_memory=in_memory)
    if isinstance(rules, LinkedSchema):
        _refuse_linked({"--original": original, "--control": control, "--aggregates": aggregates})
        with steps(6) as step:
            step("reading")
            found = _measure_linked(reading.source(file, "risk", rules).frame, rules, population, k, step)
        _finish(found, limits, lambda found, broken: print_risk(found, limits, broken, verbose=verbose))
        return
    if not engine.in_memory:
        given = {"--original": original, "--control": control, "--population": population, "--aggregates": aggregates}
        engine.refuse(given, reading)
        inputs = Inputs.of(required(file, "FILE", "risk"), delimiter=reading.delimiter)
        with steps(1) as step, engine.open() as opened:
            step("counting classes")
            relation = opened.scan(inputs)
            counted = counted_classes(opened, relation, rules)
            whose = whose_rows_on(opened, relation, rules)
        _finish(
            {"warnings": tuple(filter(None, [whose.warning])), "classes": counted},
            limits,
            lambda found, _: print_classes(found["classes"], whose.crowd, k),
        )
        return
    with steps(7) as step:
        step("reading")
        table = reading.table(file, "risk", rules)
        before = None if original is None else reading.table(original, "risk", rules)
        others = None if control is None else reading.table(control, "risk", rules)
        whose = whose_rows(enter(table), rules)
        warnings = (*filter(None, [whose.warning]), *unit_warnings(enter(table), rules))
        found = {"warnings": warnings} | _measure(table, rules, population, k, step)
        if before is not None:
            found |= _attack(before, table, others, rules, k, step)
        if aggregates:
            step("rebuilding values from averages")
            found["aggregates"] = exposure(table, rules, aggregates)
    words: dict[str, Any] = {"verbose": verbose, "counts": whose.counts}
    _finish(found, limits, lambda found, broken: print_risk(found, limits, broken, **words))


def _finish(found: dict[str, Any], limits: dict[str, float], show: Callable[..., None]) -> None:
    """Print the result, warnings first, and end with exit code 3 if a limit is broken."""
    broken = above(found, limits)
    for text in found.get("warnings", ()):
        screen.print(text, style="bold", markup=False)
    answer(**found, **({"limits": limits, "broken": broken} if limits else {}))
    show(found, broken)
    if broken:
        raise typer.Exit(3)


def _measure(table: Any, schema: Any, population: int | None, k: int, step: Callable[[str], None]) -> dict[str, Any]:
    frame = enter(table)
    step("counting classes")
    classes, keys = class_sizes.table_classes(frame, schema), coded_keys(frame, schema)
    found: dict[str, Any] = {
        "classes": class_sizes.measure(frame, schema, found=classes),
        "uniqueness": population_models.measure(frame, schema, population, found=classes),
    }
    known: dict[str, Any] = {"found": classes, "keys": keys, "fitted": _fitted(found["uniqueness"], keys, classes)}
    found["attackers"] = attacker_models.measure(frame, schema, population, **known)
    found["individual"] = individual_risk.measure(frame, schema, population, **known)
    if schema.household in frame.columns:
        found["households"] = measures.households(frame, schema, population=population)
    step("looking for what would help")
    known = {"found": classes, "keys": keys, "atoms": atoms_of(keys, classes, k)}
    found["what_if"] = what_if_changes.measure(frame, schema, k, **known)
    step("sharing out over columns")
    found["contribution"] = column_contribution.measure(frame, schema, k, **known)
    step("looking for small combinations")
    sets = sum(comb(len(keys), s) for s in (1, 2, 3))
    size = 3 if sets * len(frame) <= _MOST_SETS else 2
    found["suda"] = suda_scores.measure(frame, schema, size, found=classes, keys=keys)
    return found


def _fitted(uniques: Any, keys: Any, classes: Any) -> Any:
    """The log-linear model, fitted once for all who need it; None where nobody does."""
    sampled = uniques.sampling_fraction is not None and uniques.sampling_fraction < 1
    return fit_log_linear(keys, classes) if sampled and len(keys) > 1 and uniques.n_unique else None


def _refuse_linked(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(name, "is for one table, not for linked ones", hint="Give the persons' table alone.")


def _measure_linked(
    tables: Any, schema: LinkedSchema, population: int | None, k: int, step: Callable[[str], None]
) -> dict[str, Any]:
    """The persons' table by itself, and joined with their events."""
    root = schema.persons
    collection = Collection.of(tables, schema)
    found = _measure(tables[root.name], root.whole, population, k, step)
    step("joining events")
    return found | {"events": joined_view.measure(collection, k)}


def _attack(before: Any, table: Any, control: Any, schema: Any, k: int, step: Callable[[str], None]) -> dict[str, Any]:
    """Attacks on the pair: those with a control group, and matching where rows correspond."""
    step("attacking")
    found: dict[str, Any] = {"before": class_sizes.measure(enter(before), schema)}
    if len(enter(before)) == len(enter(table)):
        found |= _matched(before, table, schema)
    return found | _controlled(before, table, control, schema)


def _matched(before: Any, table: Any, schema: Any) -> dict[str, Any]:
    """Matching attacks on rows in the original's order, all from one look at both tables."""
    pair = Pair.of(before, table, schema)
    matches = match_pair(pair)
    return {
        "reidentification": reidentification_attack.measure(pair, matches=matches),
        "linkage": record_linkage.measure(pair),
        "intervals": interval_disclosure.measure(pair),
        "inference": attribute_inference.measure(pair, matches=matches),
        "verbatim": verbatim_rows.measure(pair),
        "unchanged": unchanged.measure(pair),
    }


def _controlled(before: Any, table: Any, control: Any, schema: Any) -> dict[str, Any]:
    """Attacks that need no correspondence of rows; a coarse release is read through the row order."""

    rows = np.arange(len(table)) if len(table) == len(before) else None
    found: dict[str, Any] = {
        "singling_out": measures.singling_out(before, table, schema, control, source_rows=rows),
        "replicated": measures.replicated_uniques(before, table, schema, control),
    }
    if len(schema.quasi) + len(schema.sensitive) > 1:
        found["linkability"] = measures.linkability(before, table, schema, control, source_rows=rows)
    if any(name in table.columns for name in schema.sensitive):
        found["guessing"] = measures.guessing(before, table, schema, control, source_rows=rows)
    if control is not None:
        found["membership"] = measures.membership(before, table, schema, control, source_rows=rows)
    return found


_GATES: dict[str, tuple[str, Callable[[Any], float]]] = {
    "unique": ("classes", lambda found: found.unique_share),
    "prosecutor": ("attackers", lambda found: found.prosecutor.largest),
    "journalist": ("attackers", lambda found: found.worst("largest").largest),
    "marketer": ("attackers", lambda found: found.worst("mean").mean),
    "individual": ("attackers", lambda found: found.worst("largest").largest),
    "household": ("households", lambda found: found.largest),
    "events": ("events", lambda found: found.share_below("1")),
    "singling-out": ("singling_out", lambda found: found.risk),
    "linkability": ("linkability", lambda found: found.risk),
    "guessing": ("guessing", lambda found: found.risk),
    "membership": ("membership", lambda found: found.risk),
}
_ATTACKS = ("singling-out", "linkability", "guessing", "membership")


def limits_of(
    given: Sequence[str],
    schema: Schema | LinkedSchema,
    *,
    original: Path | None,
    control: Path | None,
    in_memory: bool,
) -> dict[str, float]:
    """The limits by name; a ParameterError says all that is wrong with them, or can't be measured."""
    limits = {name: _number(number) for name, _, number in (text.partition("=") for text in given)}
    known = {name: limit for name, limit in limits.items() if name in _GATES and 0 <= limit <= 1}
    wrong = []
    if len(known) < len(limits):
        wrong.append(f"must be NAME=LIMIT with a limit from 0 to 1 and NAME one of {', '.join(_GATES)}")
    run = _Run(schema=schema, original=original, control=control, in_memory=in_memory)
    wrong += [f"'{name}' can't be measured here: it needs {need}" for name in known for need in run.lacks(name)]
    if wrong:
        raise ParameterError("--fail-above", "; ".join(wrong))
    return known


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What a run has been given."""

    schema: Schema | LinkedSchema
    original: Path | None
    control: Path | None
    in_memory: bool

    def lacks(self, gate: str) -> Iterator[str]:
        """What a gate needs and this run doesn't have; the first thing alone."""
        linked = isinstance(self.schema, LinkedSchema)
        persons = self.schema.persons.columns if isinstance(self.schema, LinkedSchema) else self.schema
        if not self.in_memory and gate != "unique":
            yield "the table in memory (--engine memory)"
        elif gate == "events" and not linked:
            yield "linked tables"
        elif gate == "household" and persons.household is None:
            yield "a household in the schema"
        elif gate in _ATTACKS and linked:
            yield "one table, not linked ones"
        elif gate in _ATTACKS and self.original is None:
            yield "--original" + (" and --control" if gate == "membership" and self.control is None else "")
        elif gate == "membership" and self.control is None:
            yield "--control"
        elif gate == "guessing" and not persons.sensitive:
            yield "a sensitive column"
        elif gate == "linkability" and len(persons.quasi) + len(persons.sensitive) < 2:
            yield "two columns at least"


def above(found: Mapping[str, Any], limits: Mapping[str, float]) -> dict[str, float]:
    """The risks above their limit; one that the table turned out not to have is an error, not a pass."""
    broken = {}
    for name, limit in limits.items():
        part, value = _GATES[name]
        if part not in found:
            raise ParameterError("--fail-above", f"'{name}' can't be measured: the table lacks the columns it needs")
        if value(found[part]) > limit:
            broken[name] = value(found[part])
    return broken
