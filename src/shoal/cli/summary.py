"""What a command that releases prints: what left, what is promised, before → after, what to watch, where to look.

The summary has at most fifteen lines of 80 columns, so that a person reads them. Statements, assumptions and every
measure come with ``--verbose`` and are in the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from shoal.claim import Claim
from shoal.cli.console import WIDE, clipped, print_claims
from shoal.cli.console import out as screen
from shoal.cli.output import answer
from shoal.reading import Reading
from shoal.release.folders import REPORT, inside_of
from shoal.release.release import Release
from shoal.report.numbers import listed, number, percent
from shoal.report.pieces import weak_bound
from shoal.report.readings import reading_lines, reading_words, shown
from shoal.report.suppressed import loss_points

if TYPE_CHECKING:
    from shoal.release.on_engine.write import FilesRelease
    from shoal.utility.suppressed import SuppressionLoss

__all__ = ["places", "registered", "summary", "suppressed", "tell", "treated", "written_to"]

_MOST = 15
_MOST_CLAIMS = 4


def tell(release: Release, target: Path | None, *, verbose: bool = False, account: Any = None) -> None:
    """Print what was released, what is promised, what was measured, and where it lies; a trial lies nowhere."""
    answer(**_facts(release, target, account))
    where = [] if account is None else [f"Account {account.path}: {account.summary}"]
    where += [*registered(release), *places(target)]
    if verbose:
        _tell_all(release, target)
    else:
        warnings = [f"Warning: {text}" for text in release.inside_warnings]
        for line in warnings:
            screen.print(line, markup=False, style="bold yellow")
        where.append("Every assumption and measure: in the report, or here with --verbose.")
        taken = (target is None) + sum(-(-len(line) // WIDE) for line in (*where, *warnings))
        for line in summary(release, target is not None, _MOST - taken):
            screen.print(line, markup=False, soft_wrap=True, highlight=False)
    for line in where:
        screen.print(line, markup=False, soft_wrap=True)


def _facts(release: Release, target: Path | None, account: Any) -> dict[str, Any]:
    """The same by name."""
    spent = {} if account is None else {"account": {"path": account.path, "summary": account.summary}}
    return {
        "recipe": str(release.recipe),
        "n_rows": len(release.source_rows),
        "claims": release.claims,
        "risk": release.risk_lines,
        "utility": release.utility_lines,
        "warnings": release.inside_warnings,
        "notes": release.notes,
        **({"treated": release.treated} if release.treated else {}),
        **({} if release.suppression is None else {"suppression": release.suppression}),
        "register": registered(release),
        **spent,
        **written_to(target),
    }


def written_to(target: Path | None) -> dict[str, Any]:
    """The two folders of a release, by name; None for a trial, which lies nowhere."""
    return {"out": target, "internal": None if target is None else inside_of(target)}


def registered(release: Release | FilesRelease) -> list[str]:
    """How the release stands in the register, where it was entered."""
    beside = release.beside
    if release.entry is None or beside is None:
        return []
    known = release.entry.known
    found = f", {known.recognised}" if known is not None and known.recognised else ""
    held = "; everybody keeps their cover beside earlier releases" if beside.earlier and beside.holds else ""
    lost = f"; despite {beside.found}" if beside.overridden else ""
    spent = f"; {beside.epsilon} spent in all" if beside.epsilon else ""
    back = f"; {beside.held_back:,} people held back, and no rows made up for them" if beside.held_back else ""
    number = f"release {beside.n_releases + 1} ({beside.release}) of data set {beside.data}"
    how = f"; joined on {', '.join(beside.how)}" if beside.how else ""
    events = f"; {beside.not_measured}" if beside.not_measured else ""
    like = f"; {beside.not_held_against}" if beside.resembles else ""
    return [f"Register: {number}{found}{how}{held}{back}{lost}{spent}{events}{like}"]


def suppressed(loss: SuppressionLoss | None) -> list[str]:
    """What suppression took, with every level that vanished."""
    return [] if loss is None else [f"Lost: {text}" for text in loss_points(loss, every=True)]


def treated(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """What a preset removed or rewrote and a person allowed, a line for each."""
    return [f"columns   {what}: {listed(names)}" for what, names in columns.items()]


def _tell_all(release: Release, target: Path | None) -> None:
    for warning in release.inside_warnings:
        screen.print(f"Warning: {warning}", markup=False, style="bold yellow")
    screen.print(_head(release, target is not None), markup=False, style="bold")
    for said in release.notes:
        screen.print(f"  {said}", markup=False, style="dim")
    for said in treated(release.treated):
        screen.print(said, markup=False, soft_wrap=True)
    for said in suppressed(release.suppression):
        screen.print(said, markup=False, soft_wrap=True)
    print_claims(release.claims)
    if not release.claims:
        screen.print("  none: nothing is promised")
    screen.print("[bold]Measured[/]" if release.model is None else "[bold]Measured (internal)[/]")
    for line in (*release.risk_lines, *release.utility_lines):
        screen.print(f"  {line.name:<40}{shown(line, line.value)}", markup=False, soft_wrap=True)
        screen.print(f"    {line.meaning} {reading_words(line)}".rstrip(), markup=False, style="dim")


def places(target: Path | None) -> list[str]:
    """Where everything lies; of a trial, what its numbers are worth."""
    if target is None:
        return ["Nothing was written: claims and numbers refer to the sample.", "Omit --sample to release."]
    what = "Table, report and manifest" if (target / REPORT).is_file() else "Table and manifest"
    return [f"{what}: {target}", f"Internal, do not release: {inside_of(target)}"]


def summary(release: Release, written: bool, most: int) -> list[str]:
    """At most `most` lines of 80 columns: what left, promises, figures with their yardsticks, and what to watch.

    Where there is too little room, promises, what was done to columns and what suppression took stay and the last
    figures give way.
    """
    promised, lost = list(_promised(release.claims, _MOST_CLAIMS)), _lost(release)[: most - 2]
    done = treated(release.treated)[: max(0, most - len(promised) - len(lost) - 2)]
    figures = list(reading_lines("", _figures(release)))[: max(0, most - len(promised) - len(lost) - len(done) - 2)]
    figures = figures if len(figures) > 1 else []  # a head alone says nothing
    lines = [_head(release, written), *promised, *done, *figures, *lost]
    return [clipped(line) for line in (*lines, *_watch(release, most - len(lines)))]


def _head(release: Release, written: bool) -> str:
    how = "synthetic rows" if release.model is not None else "rows released" if written else "rows tried"
    others = {} if release.linked is None else release.linked.tables
    linked = "".join(f", {len(frame):,} of {name}" for name, frame in others.items())
    return f"{len(release.source_rows):,} {how}{linked}{_left_out(release)} by {release.recipe.title}"


def _left_out(release: Release) -> str:
    """How many records are left out to reach k, and how many may be."""
    limits = [limit for method in release.recipe.methods if (limit := _limit(method))]
    if not limits or release.model is not None:
        return ""
    n, kept = release.prepared.n, len(release.source_rows)
    return f", {n - kept:,} left out ({(n - kept) / max(1, n):.1%}; limit {limits[-1]:.0%})"


def _limit(method: Any) -> float | None:
    """The largest share of records that a method may leave out."""
    return getattr(method, "suppression" if method.name == "generalize" else "records", None)


def _promised(claims: Sequence[Claim], most: int) -> Iterator[str]:
    """Claims that are no measure, one line each."""
    firm = [claim for claim in claims if claim.basis != "measured"]
    shown = firm if len(firm) <= most else firm[: max(1, most - 1)]
    for claim in shown:
        where = f" of {claim.column}" if claim.column else ""
        value = percent(claim.limit(3)) if claim.is_probability else number(claim.value)
        yield f"{claim.basis:<9} {claim.kind} {value}{where}, {claim.scope}"
    if len(firm) > len(shown):
        yield f"          and {len(firm) - len(shown)} more"
    if not firm:
        yield "promised  nothing is promised; risks are measured only"


def _figures(release: Release) -> list[Reading]:
    """The figures that are read first: attacks and classes, and what is kept."""
    return [line for line in (*release.risk_lines, *release.utility_lines) if line.first]


def _lost(release: Release) -> list[str]:
    """The groups that lost most and the levels that vanished, in lines."""
    points = [] if release.suppression is None else loss_points(release.suppression)
    return [line for text in points for line in _wrapped(f"lost      {text}")]


def _watch(release: Release, most: int) -> list[str]:
    tied = [] if release.model is not None else [f"watch     {found.finding}" for found in release.risk.dependences]
    notes = [f"note      {text}" for text in release.notes if text not in release.inside_warnings]
    weak = weak_bound(release.claims, release.recipe.k)
    said = [*([f"watch     {weak}"] if weak else []), *tied, *notes]
    lines = [_wrapped(text) for text in said]
    if sum(map(len, lines)) <= most:
        return [line for each in lines for line in each]
    ends = [n for n in accumulate(map(len, lines)) if n < most]
    shown = [line for each in lines[: len(ends)] for line in each]
    more = f"          and {len(said) - len(ends)} more" if ends else f"watch     {len(said)} points"
    return [*shown, f"{more} in the report"][:most]


def _wrapped(text: str) -> list[str]:
    """A point in lines that fit, the later ones indented."""
    return wrap(text, WIDE, subsequent_indent=" " * 10, break_on_hyphens=False)
