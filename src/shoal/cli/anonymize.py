"""`shoal anonymize`: from a file and its schema to a release with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import steps
from shoal.cli.reading import FILE_HELP, Reading, reads
from shoal.cli.releasing import SAMPLE, check_trial, expect, format_of, listed, open_input, tell, tried
from shoal.cli.summary import VERBOSE
from shoal.errors import ParameterError
from shoal.recipe import Anonymization, known_method, read_method
from shoal.release import anonymize_to_linkage, make
from shoal.release.replay import replay

__all__ = ["EXAMPLES", "anonymize"]

EXAMPLES = """Examples:

shoal anonymize people.csv --schema schema.toml --out release

shoal anonymize people.csv -s schema.toml -o release --k 10 --mask gaussian-dither:exact=true

shoal anonymize people.sav -s schema.toml -o release --group mdav --mask centroid --format sav

shoal anonymize people.csv -s schema.toml -o release -g crest -m micro-perturb:noise=exact --target-linkage 0.01

shoal anonymize people.csv -s schema.toml -o release -g ball -m push-back -m shuffle

shoal anonymize people.csv -s schema.toml --sample 20000    (a dry run: prints the result, writes nothing)

shoal anonymize --replay release.internal/replay.toml --out again
"""

_GROUPS = f"Grouping method: {listed('group')}; parameters follow a colon, as in crest:alpha=1."
_MASKS = f"Masking method: {listed('mask')}; repeat to chain masks."


@reads
def anonymize(
    file: Annotated[Path | None, typer.Argument(help=FILE_HELP)] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="Schema file (TOML) with the role of each column.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the release; must not exist yet.")] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Smallest group size, at least 2. [default: 5]")] = None,
    group: Annotated[str, typer.Option("--group", "-g", help=_GROUPS)] = "k-member",
    mask: Annotated[list[str] | None, typer.Option("--mask", "-m", help=_MASKS)] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed; omit it when publishing, and a secret seed is drawn.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="Output format: csv, tsv, parquet, dta, sav, xpt.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing release in that folder.")] = False,
    replay: Annotated[Path | None, typer.Option(help="Repeat the run recorded in this replay.toml.")] = None,
    target_linkage: Annotated[
        float | None, typer.Option(help="Raise k until at most this share of released rows can be linked.")
    ] = None,
    sample: Annotated[int | None, typer.Option("--sample", help=SAMPLE)] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help=VERBOSE)] = False,
    *,
    reading: Reading,
) -> None:
    """Hide each person in FILE in a group of at least k, and write the table, report and manifest.

    With the default mask, the released table preserves the distribution of the quasi-identifiers. It is read back
    and measured before anything appears under --out; if a claim fails, nothing is written and the exit code is 3.
    """
    target = check_trial(sample, out, "anonymize")
    options = {"k": k, "group": group, "mask": mask or ["gaussian-dither"], "seed": seed, "target": target_linkage}
    options["sample"] = sample
    _check_replay(
        replay,
        {
            "--k": k,
            "--mask": mask,
            "--seed": seed,
            "--schema": schema,
            "--target-linkage": target_linkage,
            "--sample": sample,
        },
    )
    with steps() as step:
        release = (
            _replayed(replay, file, step) if replay else _fresh(file, schema, target, overwrite, options, reading, step)
        )
        if target is None:
            release.measure(progress=step)
        else:
            kind = format or format_of(release, replay)
            release.write(target, format=kind, overwrite=overwrite, progress=step)
    tell(release, target, verbose=verbose)


def _check_replay(replay: Path | None, others: dict[str, Any]) -> None:
    given = [name for name, value in others.items() if value is not None]
    if replay is not None and given:
        raise ParameterError(
            "anonymize", f"--replay repeats a recorded run and cannot be combined with {', '.join(given)}"
        )


def _fresh(
    file: Path | None,
    schema: Path | None,
    target: Path | None,
    overwrite: bool,
    options: dict[str, Any],
    reading: Reading,
    step: Any,
) -> Any:
    cls = known_method("group", options["group"].partition(":")[0])
    defaults = {} if options["k"] is None else {cls.size_parameter: options["k"]}
    grouper = read_method(options["group"], "group", defaults)
    if defaults and grouper.k != options["k"]:
        raise ParameterError("anonymize", "--k and the k of --group must agree", got=f"{options['k']} and {grouper.k}")
    recipe = Anonymization.of(grouper, [read_method(text, "mask") for text in options["mask"]])
    source, rules = open_input(file, schema, target, overwrite, reading, step, "anonymize")
    source = tried(source, rules, options["sample"], options["seed"])
    expect(step, source, rules, recipe)
    given = {"seed": options["seed"], "progress": step}
    if options["target"] is None:
        return make(source, rules, recipe, **given)
    return anonymize_to_linkage(source, rules, options["target"], group=recipe.group, mask=recipe.masks, **given)


def _replayed(path: Path, file: Path | None, step: Any) -> Any:
    return replay(path, input=file, progress=step)
