"""The things a job can do: open a file, look how exposed it is, make a release, compare recipes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError
from shoal.web.inspect import Opened, open_file
from shoal.web.job import write_result

if TYPE_CHECKING:
    from shoal.dp import Account
    from shoal.files import Source
    from shoal.recipe import Recipe
    from shoal.release import Release
    from shoal.schema import Schema
    from shoal.web.job_process import Progress as Say

__all__ = ["compare", "look", "open_table", "release"]

Words = Mapping[str, Any]


def open_table(words: Words, folder: Path, say: Say) -> dict[str, Any]:
    """Look at a file; the first stage is written as soon as it is there."""

    def tell(opened: Opened) -> None:
        write_result(folder, opened.to_dict())
        say("reading all rows", 0.3)

    say("reading")
    return open_file(**words, tell=tell, keep=folder).to_dict()


def look(words: Words, folder: Path, say: Say) -> dict[str, Any]:
    """How exposed the table is: who is alone with their quasi-identifiers; an error if it doesn't fit its schema."""
    from shoal.conform import prepare
    from shoal.risk import classes

    source, schema = _table(words, say)
    say("counting")
    prepare(source.frame, schema)
    found = classes(source.frame, schema)
    return {"records": found.n_records, "alone": found.unique_share, "smallest": found.k, "quasi": list(schema.quasi)}


def release(words: Words, folder: Path, say: Say) -> dict[str, Any]:
    """Make a release and write it to ``release`` in the job's folder."""
    from shoal.release import make
    from shoal.release.forecast import forecast
    from shoal.web.forms import read_words

    source, schema = _table(words, say)
    recipe = read_words(words["recipe"])
    held = {"preset": words.get("preset"), "accept": words.get("accept", False)}
    say.expect(forecast(len(source.frame), schema, recipe))
    with _account(source, recipe, words) as book:
        made = make(source, schema, recipe, seed=words.get("seed"), account=book, progress=say, **held)
        spent = None if book is None else _spent(book)
    target = made.write(folder / "release", format=words.get("format") or _format(source), progress=say)
    return {**_told(made, target), "account": spent}


def compare(words: Words, folder: Path, say: Say) -> dict[str, Any]:
    """Compare recipes; finished ones are kept in the room, so that none is run twice."""
    from shoal.comparison import compare as run

    source, schema = _table(words, say)
    recipes = _recipes(words, source, schema)
    found = run(
        source.frame,
        schema,
        recipes,
        seed=words.get("seed"),
        jobs=words.get("workers"),
        time_limit=words.get("time_limit", 120.0),
        folder=folder.parent.parent / "compared" / words.get("store", ""),
        progress=say,
    )
    limit = float(words.get("risk_limit", 0.05))
    target = found.write(folder / "comparison", limit=limit)
    return {
        **found.to_dict(),
        "recommendation": found.recommendation(limit),
        "risk_limit": limit,
        "folder": str(target),
        "files": {"page": str(target / "comparison.html"), "table": str(target / "comparison.csv")},
    }


def _recipes(words: Words, source: Source, schema: Schema) -> list[Recipe]:
    """The recipes that were named, or the default ones for this table; then the others, each once."""
    from shoal.comparison import default_recipes
    from shoal.web.forms import read_words

    named = words.get("recipes")
    chosen = list(default_recipes(schema, source.frame)) if named is None else [read_words(entry) for entry in named]
    for recipe in map(read_words, words.get("also", ())):
        if recipe not in chosen:
            chosen.append(recipe)
    return chosen


def _table(words: Words, say: Say) -> tuple[Source, Schema]:
    from dataclasses import replace

    from shoal.files.dates import with_dates
    from shoal.schema import Schema
    from shoal.web.table_cache import source_of

    schema = Schema.from_dict(words["schema"])
    say("reading")
    source = source_of(Opened.from_dict(words["opened"]))
    return replace(source, frame=with_dates(source.frame, schema.formats)), schema


def _account(source: Source, recipe: Recipe, words: Words) -> AbstractContextManager[Account | None]:
    from shoal.release.charge import account_of

    if not words.get("account", True):
        return nullcontext()
    return account_of(Path(source.path), recipe, _limit(words.get("limit")))


def _limit(given: Any) -> float | None:
    """The limit of an account, which a form may give as text."""
    if given in (None, "", "none"):
        return None
    try:
        return float(given)
    except (TypeError, ValueError):
        raise ParameterError("limit", "must be a number", got=repr(given)[:40]) from None


def _spent(book: Account) -> dict[str, str]:
    return {"path": str(book.path), "spent": str(book.spent), "left": str(book.left)}


def _format(source: Source) -> str:
    from shoal.release.layout import FORMATS

    return source.format if source.format in FORMATS else "csv"


def _told(made: Release, target: Path) -> dict[str, Any]:
    """What the page shows of a release."""
    from shoal.frame import enter
    from shoal.release.layout import inside_of, is_table

    table = next(path for path in target.iterdir() if is_table(path.name))
    return {
        "rows": len(made.source_rows),
        "rows_before": len(enter(made.original)),
        "columns": len(enter(made.table).columns),
        "synthetic": made.model is not None,
        "recipe": made.recipe.to_dict(),
        "recipe_text": str(made.recipe),
        "claims": [claim.to_dict() for claim in made.claims],
        "notes": list(made.notes),
        "risk": [line.to_dict() for line in made.risk_lines],
        "utility": [line.to_dict() for line in made.utility_lines],
        "folder": str(target),
        "files": {
            "table": str(table),
            "report": str(target / "report.html"),
            "manifest": str(target / "manifest.json"),
            "internal_report": str(inside_of(target) / "report.html"),
            "replay": str(inside_of(target) / "replay.toml"),
        },
    }
