"""What a child does: read its job, do it, and write how it goes.

Run by `shoal.web.jobs`; the first line on standard input is the job's folder. Exit codes are those
of the command line, and 28 where the disk is so full that not even that could be written. A child that has looked at a
table says so with a line, and waits for the folder of another job.

A job opens a file, looks how exposed it is, makes a release, or compares recipes.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError
from shoal.files import read_source
from shoal.files.column_types import with_dates
from shoal.processes import follow_parent
from shoal.progress import Pace, listening
from shoal.schema import LinkedSchema, Schema
from shoal.web.error_text import DISK_FULL, Failure, explain, is_disk_full, without_paths
from shoal.web.inspect import Opened, check_unchanged, open_file
from shoal.web.job import ALL_SHEETS, ENTRY, Job, read_job, write_job, write_result
from shoal.web.linked_tables import linked_exposure, linked_source, open_linked

if TYPE_CHECKING:
    from shoal.dp import Account
    from shoal.files import Source
    from shoal.recipe import Recipe
    from shoal.register.register import Register
    from shoal.release import Release
    from shoal.release.forecast import Forecast
    from shoal.schema import Schema

__all__ = ["ACTIONS", "Progress", "compare", "do", "look", "main", "open_table", "release"]

_CODES = {"parameter": 2, "guarantee": 3, "input": 4, "internal": 1}


def main() -> int:
    """Wait for a job, do it, and give the exit code; after a look, wait for another."""
    signal.signal(signal.SIGTERM, _leave)
    answers = _own_output()
    _load()
    folder = sys.stdin.readline().strip()
    if not folder:
        return 0  # nobody needs it any more
    others: SimpleQueue[str] = SimpleQueue()
    follow_parent(others.put)
    while not (code := do(Path(folder))) and _has_looked(Path(folder)):
        os.write(answers, b'{"done": true}\n')
        folder = others.get().strip()
    return code


def _own_output() -> int:
    """Where answers are written; what libraries print goes nowhere."""
    answers, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return answers


def _has_looked(folder: Path) -> bool:
    try:
        return read_job(folder).kind == "look"
    except (OSError, ValueError):  # removed meanwhile
        return False


def do(folder: Path) -> int:
    """Do the job of `folder`."""
    job = replace(read_job(folder), state="running", started=time.time())
    request: dict[str, Any] = {}
    try:
        request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
        progress = Progress(job)
        with _temporary(folder / "temporary"), listening(progress.heard):
            result = ACTIONS[request["kind"]](request["words"], folder, progress)
        write_result(folder, result)
        write_job(progress.ended(state="done", step_share=1.0))
    except Exception as error:
        return _fail(job, request.get("words", {}), error)
    return 0


class Progress:
    """Writes each step of a job as it begins, and now and then how far it is.

    Steps weigh what a forecast expects of each (`expect`); before there is one, as they do as a rule, and nothing
    is said of the time that is left.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.web.job import Job, read_job
    >>> from shoal.web.job_process import Progress
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     progress = Progress(Job(id="0001-ab", kind="release", folder=pathlib.Path(folder), state="running"))
    ...     progress("grouping")
    ...     print(f"{read_job(pathlib.Path(folder)).step_share:.2f}")
    0.10
    """

    def __init__(self, job: Job) -> None:
        self._job, self._pace, self._written = job, Pace(_USUAL), 0.0
        self._forecast, self._counted = False, 0.0

    def __call__(self, step: str, share: float | None = None) -> None:
        """A step begins; `share` says how much of the whole job is done, where that is known."""
        self._pace.begin(step)
        self._write(max(self._counted, self._pace.share) if share is None else share)

    def expect(self, forecast: Forecast) -> None:
        """Weigh the steps to come by a forecast."""
        self._pace, self._forecast = Pace(forecast.seconds), True

    def heard(self, share: float) -> None:
        """The present step has come so far; a job that counts its parts itself has no other step."""
        self._pace.advanced(share)
        if not self._pace.knows_step:
            self._counted = share
        if time.monotonic() - self._written > _BEAT:
            self._write(self._pace.share if self._pace.knows_step else share)

    def _write(self, share: float) -> None:
        self._written = time.monotonic()
        left = self._pace.seconds_left if self._forecast and self._pace.knows_step else None
        self._job = replace(self._job, step=self._pace.step, step_share=share, seconds_left=left)
        write_job(self._job)

    def ended(self, **parts: Any) -> Job:
        """The job at its end."""
        return replace(self._job, step="", seconds_left=None, ended=time.time(), **parts)


_BEAT = 0.5  # seconds between two shares of a step that are written

# How long each step takes as a rule, in percent of the whole.
_USUAL = {
    "reading": 5,
    "checking the table": 5,
    "grouping": 25,
    "masking": 15,
    "measuring risk": 20,
    "measuring utility": 15,
    "writing": 5,
    "verifying": 5,
    "reporting": 5,
}


@contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    """Whatever libraries write for the time being goes to the job's own folder, and with it."""
    folder.mkdir(mode=0o700)
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


Action = Callable[[Mapping[str, Any], Path, Progress], Mapping[str, Any]]


def _fail(job: Job, words: Mapping[str, Any], error: Exception) -> int:
    """Say why the job failed; where even that can't be written, the exit code says it."""
    path = Path(str(words.get("path") or words.get("opened", {}).get("path") or "-"))
    failure: Failure = without_paths(explain(error, job.folder), path)
    try:
        write_job(replace(job, state="failed", step="", step_share=None, ended=time.time(), error=failure))
    except Exception as last:
        return DISK_FULL if is_disk_full(last) else 1
    return DISK_FULL if is_disk_full(error) else _CODES[failure.kind]


def _load() -> None:
    """Load what every job needs, and as long as nobody waits, what a release needs; leave the processor to the page."""
    if hasattr(os, "nice"):
        os.nice(5)
    for name in ("shoal.compliance.scan", "shoal.schema.infer", "shoal.release", "numba"):
        if _is_asked():
            return
        with suppress(ImportError):
            import_module(name)


def _is_asked() -> bool:
    """Whether the line with the job is there already."""
    return bool(select.select([sys.stdin], [], [], 0)[0]) if sys.platform != "win32" else True


def _leave(signum: int, frame: object) -> None:
    sys.exit(128 + signum)  # so that folders in the making are removed


Words = Mapping[str, Any]


def open_table(words: Words, folder: Path, say: Progress) -> dict[str, Any]:
    """Look at a file; the first stage is written as soon as it is there."""

    def tell(opened: Opened) -> None:
        write_result(folder, opened.to_dict())
        say("reading all rows", 0.3)

    say("reading")
    _run_query(words)
    reading = {name: value for name, value in words.items() if name not in ("database", "sql")}
    if Path(words["path"]).is_dir() or words.get("sheet") == ALL_SHEETS:
        _require_no_codebook(words)
        asked = {name: words.get(name) for name in ("delimiter", "encoding")}
        return open_linked(words["path"], keep=folder, **asked, decimal=words.get("decimal", ".")).to_dict()
    return open_file(**reading, tell=tell, keep=folder).to_dict()


def _require_no_codebook(words: Words) -> None:
    if words.get("codebook") is not None:
        hint = "Propose one table at a time with it."
        raise ParameterError("codebook", "must be omitted with linked tables", hint=hint)


def _run_query(words: Words) -> None:
    """The rows of a query as the file that is then opened; without a query every table, as files of a folder."""
    if "database" not in words:
        return
    from shoal.files.linked import names_in

    base, place = words["database"], Path(words["path"])
    if words["sql"]:
        read_source(base, sql=words["sql"]).frame.write_parquet(place)
        return
    place.mkdir(mode=0o700)
    for name in names_in(base):
        quoted = name.replace('"', '""')
        read_source(base, sql=f'SELECT * FROM "{quoted}"').frame.write_parquet(place / f"{name}.parquet")


def look(words: Words, folder: Path, say: Progress) -> dict[str, Any]:
    """What doesn't fit its schema, all of it; who is alone with their quasi-identifiers, and what would help.

    The first is written as soon as it is there.
    """
    from shoal.web.exposure import exposure, problems, standing

    source, schema = _table(words, say)
    say("counting")
    if isinstance(schema, LinkedSchema):
        return linked_exposure(source.frame, schema)
    found: dict[str, Any] = {"quasi": list(schema.quasi), "problems": problems(source.frame, schema)}
    found |= exposure(source.frame, schema)
    write_result(folder, found)
    return found | standing(source.frame, schema)


def release(words: Words, folder: Path, say: Progress) -> dict[str, Any]:
    """Make a release and write it to ``release`` in the job's folder."""
    from shoal.release import make
    from shoal.release.forecast import forecast
    from shoal.release.registering import postponed
    from shoal.web.forms import read_words
    from shoal.web.result_view import view_of

    source, schema = _sampled(*_table(words, say), words.get("sample"))
    recipe = read_words(words["recipe"])
    held = _held(words)
    say.expect(forecast(*_persons(source, schema), recipe))
    asked = words.get("register") or {}
    with _account(source, recipe, words) as account, _register(source, account, words) as register:
        now = make(
            source,
            schema,
            recipe,
            seed=words.get("seed"),
            account=account,
            register=register,
            same_groups_as=asked.get("same_groups_as"),
            progress=say,
            **held,
        )
        spent = None if account is None else _spent(account)
        made = postponed(now, folder / ENTRY)  # from here on this one: each release measures for itself
        target = made.write(folder / "release", format=words.get("format") or _format(source), progress=say)
    say("drawing")
    return {**_result(made, target), "account": spent, "sample": words.get("sample"), "view": view_of(made)}


def _held(words: Words) -> dict[str, Any]:
    """What a release is held to, and what a person lets stand."""
    from shoal.compliance import preset

    name, allow = words.get("preset"), tuple(words.get("allow", ()))
    rules = None if name is None else preset(name).asked(allow=allow)
    return {"preset": rules, "accept": words.get("accept", False), "allow": allow}


def measure(words: Words, folder: Path, say: Progress) -> dict[str, Any]:
    """Make a release again as it was, and try on everybody what was tried on a sample, however long that takes."""
    from shoal.release.manifest import replay
    from shoal.risk.assessment import NAMES, tried_on_all

    opened = Opened.from_dict(words["opened"])
    check_unchanged(opened)
    made = replay(words["replay"], input=opened.path, progress=say)
    found = []
    for name in words["measures"]:
        say(f"{NAMES[name]}: everybody")
        found.append(tried_on_all(made.pair, name, seed=made.seed, k=made.recipe.k).to_dict())
    return {"tried": found}


@contextmanager
def _register(source: Source, account: Account | None, words: Words) -> Iterator[Register | None]:
    """The register that a release is held against; none for a trial, or where none is asked."""
    from shoal.release.account import register_in
    from shoal.release.registering import old_ledger, register_of

    asked = words.get("register")
    if asked is None or words.get("sample") is not None:
        yield None
        return
    despite = asked.get("despite") or None
    if account is not None:
        yield register_in(account, despite=despite)
        return
    ledger = os.environ.get("SHOAL_LEDGER")
    if ledger is None:
        old_ledger(source)
    found = register_of(source, ledger=ledger)
    try:
        yield found.to(None, despite=despite)
    finally:
        found.close()


def compare(words: Words, folder: Path, say: Progress) -> dict[str, Any]:
    """Compare recipes; finished ones are kept in the workspace, so that none is run twice."""
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


def _recipes(words: Words, source: Any, schema: Any) -> list[Recipe]:
    """The recipes that were named, or the default ones for this table; then the others, each once."""
    from shoal.comparison import default_recipes
    from shoal.web.forms import read_words

    named = words.get("recipes")
    chosen = list(default_recipes(schema, source.frame)) if named is None else [read_words(entry) for entry in named]
    for recipe in map(read_words, words.get("also", ())):
        if recipe not in chosen:
            chosen.append(recipe)
    return chosen


def _persons(source: Any, schema: Any) -> tuple[int, Schema]:
    """How many rows a forecast is for, and what they are: those of the persons, where tables are linked."""
    if isinstance(schema, Schema):
        return len(source.frame), schema
    return len(source.frame[schema.persons.name]), schema.persons.whole


def _table(words: Words, say: Progress) -> tuple[Any, Any]:
    """The table with its schema, or linked tables with theirs."""
    from dataclasses import replace

    from shoal.web.table_reading import source_of

    say("reading")
    opened = Opened.from_dict(words["opened"])
    if "tables" in words["schema"]:
        linked = LinkedSchema.from_dict(words["schema"])
        return linked_source(opened, linked), linked
    schema = Schema.from_dict(words["schema"])
    source = source_of(opened, schema.coded)
    return replace(source, frame=with_dates(source.frame, schema.formats, schema.coded)), schema


def _sampled(source: Any, schema: Any, n: int | None) -> tuple[Any, Any]:
    """The table, or for a trial some of its rows."""
    from shoal.sampling import sample_of

    return (source if n is None else replace(source, frame=sample_of(source.frame, schema, n))), schema


def _account(source: Source, recipe: Recipe, words: Words) -> AbstractContextManager[Account | None]:
    from shoal.release.account import account_of

    if not words.get("account", True) or words.get("sample") is not None:
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


def _spent(account: Account) -> dict[str, str]:
    return {"path": str(account.path), "spent": str(account.spent), "left": str(account.left)}


def _format(source: Source) -> str:
    from shoal.release.folders import FORMATS

    return source.format if source.format in FORMATS else "csv"


def _result(made: Release, target: Path) -> dict[str, Any]:
    """What the page shows of a release."""
    from shoal.release.folders import inside_of

    table = next(path for path in target.iterdir() if path.stem == made.stem)
    return {
        "rows": len(made.source_rows),
        "rows_before": made.prepared.n_original,
        "columns": len(made.frame.columns),
        "synthetic": made.model is not None,
        "recipe": made.recipe.to_dict(),
        "recipe_text": str(made.recipe),
        "claims": [claim.to_dict() for claim in made.claims],
        "notes": list(made.notes),
        "treated": made.treated,
        "folder": str(target),
        "files": {
            "table": str(table),
            "report": str(target / "report.html"),
            "manifest": str(target / "manifest.json"),
            "internal_report": str(inside_of(target) / "report.html"),
            "replay": str(inside_of(target) / "replay.toml"),
        },
    }


ACTIONS: dict[str, Action] = {
    "open": open_table,
    "look": look,
    "release": release,
    "measure": measure,
    "compare": compare,
}
