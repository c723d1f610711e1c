"""`shoal compare`: which method, which k? Many recipes on one file, measured alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import out as screen
from shoal.cli.console import print_error, steps
from shoal.cli.options import File, Reading, SomeSchema, grouped, required
from shoal.cli.output import answer
from shoal.cli.releasing import tried
from shoal.comparison import Comparison, Outcome, default_recipes
from shoal.comparison import compare as run
from shoal.comparison.comparison import checked_limit
from shoal.comparison.page import check_folder
from shoal.errors import ParameterError
from shoal.recipe import read_recipes
from shoal.report.drawing import need_pictures
from shoal.report.numbers import percent
from shoal.schema import read_schema

__all__ = ["EXAMPLES", "compare"]

_NAME = 40  # columns of a recipe's name

EXAMPLES = """Examples:

shoal compare people.csv --schema schema.toml --out comparison

shoal compare people.csv -s schema.toml --recipes recipes.toml -o comparison --risk-limit 0.01

shoal compare people.csv -s schema.toml -o comparison --jobs 4 --time-limit 600 --overwrite

shoal compare clinic/ -s linked.toml -o comparison    (linked tables: the persons are measured)

A recipe file contains [[recipe]] tables: group = "k-member:k=5" and mask = ["centroid"], or coarsen = "mondrian:k=5",
or synthesize = "pegs:epsilon=1".
"""


@grouped
def compare(
    file: File = None,
    schema: SomeSchema = None,
    recipes: Annotated[
        Path | None, typer.Option("--recipes", "-r", help="Recipes in TOML. [default: all suitable families]")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder for the page and tables; results of each recipe are saved in FOLDER.results."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Number of worker processes. [default: number of cores]")
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Time limit for each recipe, in seconds.")] = 120.0,
    risk_limit: Annotated[
        float, typer.Option(help="Acceptable share of re-identified records, for the recommendation.")
    ] = 0.05,
    seed: Annotated[int | None, typer.Option(help="Random seed, to make the comparison reproducible.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing comparison in that folder.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample", help="Compare on a random sample of this many rows (of whole units, if the schema has a unit)."
        ),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Try many recipes on FILE, measure each in the same way, and report utility against risk.

    Nothing is released. Results compare with the original and are internal. With --out, finished recipes are saved:
    after an interruption, the same command resumes and runs nothing twice.
    """
    options = {"jobs": jobs, "time_limit": time_limit, "seed": seed, "limit": risk_limit, "sample": sample}
    result = _compared(file, schema, recipes, out, overwrite, reading, options)
    answer(**result.to_dict(), recommendation=result.recommendation(risk_limit), out=out)
    _print(result, risk_limit)
    if out is None:
        screen.print("Nothing was written; use --out FOLDER to save the page and tables.", style="dim")
        return
    result.write(out, overwrite=overwrite, limit=risk_limit)
    screen.print(f"Page: {out / 'comparison.html'} (internal: compares with the original)", markup=False)
    screen.print(f"Finished recipes: {_results(out)} (internal; delete it when you are done)", markup=False)


def _results(out: Path) -> Path:
    return out.with_name(f"{out.name}.results")


def _compared(
    file: Path | None,
    schema: Path | None,
    recipes: Path | None,
    out: Path | None,
    overwrite: bool,
    reading: Reading,
    options: dict[str, Any],
) -> Comparison:
    """Everything that can be wrong is found before the first recipe runs."""
    rules = read_schema(required(schema, "--schema FILE", "compare"))
    checked_limit(options.pop("limit"))
    _check_out(file, out, overwrite)
    chosen = None if recipes is None else read_recipes(recipes)
    # The same sample each time, so that the same command goes on after an interruption.
    table = tried(reading.source(file, "compare", rules), rules, options.pop("sample"), options["seed"] or 0).frame
    chosen = default_recipes(rules, table) if chosen is None else chosen
    folder = None if out is None else _results(out)
    with steps(len(chosen)) as step:
        step(f"0 of {len(chosen)}")
        try:
            return run(table, rules, chosen, folder=folder, progress=step, **options)
        except KeyboardInterrupt:
            _tell_stopped(folder)
            raise typer.Exit(130) from None


def _check_out(path: Path | None, out: Path | None, overwrite: bool) -> None:
    if out is not None:
        need_pictures("--out")
        if path is not None and (path.resolve() == out.resolve() or out.resolve() in path.resolve().parents):
            raise ParameterError(
                "--out", "must be neither the input nor a folder that contains it", hint="Choose a new folder."
            )
        check_folder(out, overwrite=overwrite)


def _tell_stopped(folder: Path | None) -> None:
    kept = (
        "Nothing was saved." if folder is None else f"Finished recipes are in {folder}; run the same command to resume."
    )
    print_error(f"stopped. {kept}")


def _print(result: Comparison, limit: float) -> None:
    done = sorted((one for one in result.outcomes if one.is_done), key=lambda one: (one.risk, -one.utility))
    for line in _table(result, done, limit) if done else ():
        screen.print(line, markup=False, highlight=False, soft_wrap=True)
    for one in result.outcomes:
        if not one.is_done:
            screen.print(f"  {one.name}: {one.state}. {one.reason}", markup=False, style="dim")
    for paragraph in result.recommendation(limit).splitlines():
        screen.print(paragraph, markup=False)


def _table(result: Comparison, done: Sequence[Outcome], limit: float) -> Iterator[str]:
    """What to hold the figures against, then the recipes, those of least risk first; 80 columns."""
    n, before, front = result.n_records, result.reference, {id(one) for one in result.front}
    yield _line(" ", "* on the front", "found", "people", "guessed", "utility", "risk")
    yield _line(" ", "published unchanged", _shown(before.get("found")), "", _shown(before.get("guessed")), "1", "")
    sample = before.get("second_sample")
    yield _line(" ", "by chance; another sample", _shown(1 / n if n else None), "", "0%", _kept(sample), "")
    yield _line(" ", "limit", percent(limit), "", "–", "–", "")
    for one in done:
        found, guessed, kept = result.readings(one, limit)
        people = "" if found.people is None else f"{found.people:,}"
        figures = (_shown(found.value), people, _shown(guessed.value), _kept(kept.value))
        name = one.name.replace(", then ", " + ")
        yield _line("*" if id(one) in front else " ", name, *figures, found.verdict)


def _line(mark: str, name: str, found: str, people: str, guessed: str, kept: str, end: str) -> str:
    short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    return f"{mark} {short:<{_NAME}}{found:>7}{people:>7}{guessed:>8}{kept:>8}  {end}".rstrip()


def _shown(share: float | None) -> str:
    return "–" if share is None else percent(share)


def _kept(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"
