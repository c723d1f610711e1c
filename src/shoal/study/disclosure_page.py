"""The study of traditional disclosure limitation: what its numbers say, its tables and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.report.drawing import AFTER
from shoal.report.markup import Child, Html, figure, join, rows_table
from shoal.report.mosaic import tile_panel, tiles_of
from shoal.report.numbers import number, percent
from shoal.report.svg import Panel, beside
from shoal.study.disclosure import DisclosureStudy, Outcome, Pictures, Roles, Settings, run
from shoal.study.page import paragraph
from shoal.study.paired import paired
from shoal.study.study import Study

__all__ = ["STUDY", "crossed", "findings"]

_ALONE = "#b5472b"
_SIDE = 104.0
_MOST = 24  # cells along a side of a small picture
_LEGEND = 130.0  # room for the names of two columns together
_SIZES = ((1, 1), (2, 2), (3, 5), (6, 10), (11, None))


def findings(study: DisclosureStudy) -> list[str]:
    """What each step does to an intruder and to the analyst, against the step that it starts from."""
    ready, short = study.outcome("filtered, top-coded, binned"), study.outcome("place shortened")
    chain = [
        _against(ready, study.outcome("as it is")),
        _against(short, ready),
        _against(study.outcome("rare keys suppressed"), short),
    ]
    rest = [_against(o, ready) for o in study.outcomes if o.step not in _CHAIN]
    return [*chain, *rest, _correction(study)]


_CHAIN = ("as it is", "filtered, top-coded, binned", "place shortened", "rare keys suppressed")


def _against(step: Outcome, before: Outcome) -> str:
    linked = _change(step.linkage, before.linkage) if step.linkage else "not measured, as no row is anybody's"
    overlap = _change(step.overlap, before.overlap)
    return f"{step.step}, from {before.step}: linkage {linked}; overlap of the regression's intervals {overlap}."


def _change(after: Sequence[float], before: Sequence[float]) -> str:
    """Two means, and their difference in points with its interval."""
    found = paired([100 * value for value in after], [100 * value for value in before])
    said = f"{percent(_mean(before))} → {percent(_mean(after))}"
    if not found.difference and not found.half:
        return f"{said} (unchanged)"
    verdict = "" if found.clear else ", no clear difference"
    return f"{said} ({number(found.difference)} ± {number(found.half)} points{verdict})"


def _correction(study: DisclosureStudy) -> str:
    plain = study.outcome("noise added").slope
    ready = study.outcome("filtered, top-coded, binned").slope
    drawn = [after / before for after, before in zip(plain, ready, strict=True)]
    ones = [1.0] * len(study.corrected)
    return (
        f"Noise draws the slope of {study.roles.stay} to {number(_mean(drawn))} of what it was before "
        f"({paired(drawn, ones)}); with the noise taken out it is {number(_mean(study.corrected))} of it "
        f"({paired(study.corrected, ones)})."
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _heading(study: DisclosureStudy) -> str:
    settings = study.settings
    return f"{study.data}, {len(study.pictures.raw):,} records, {settings.draws} draws; seed {settings.seed}"


def _figures(study: DisclosureStudy) -> dict[str, Html]:
    pictures, roles = study.pictures, study.roles
    return {
        "What each step leaves": _outcomes(study),
        "The columns (table 2.1)": _summary(pictures.ready, roles),
        "Cross-scatter plots (figures 2.1 and 2.2)": _cross(pictures, roles),
        "Records that are alike (figure 2.3)": _alike(pictures, roles),
        "Places generalised (figure 2.4)": _places(pictures, roles),
        "Mosaics of the keys (figures 2.5 and 2.6)": _mosaics(pictures, roles, study.settings.k),
        "Regressions (tables 2.2 and 2.3)": _coefficients(pictures),
        "Fitted against original (figure 2.7)": _fitted(pictures, roles),
    }


def _outcomes(study: DisclosureStudy) -> Html:
    words = (
        "Means over the draws. Unique: rows that no other row equals in place, demographic columns and length of stay. "
        "Linkage: rows whose nearest or second nearest original is their own. Overlap: of the 95% intervals of all "
        "coefficients of the charge's regression. Slope: that of the length of stay, over the original's."
    )
    head = ("Step", "Rows kept", "Unique", "Linkage", "Overlap", "Slope")
    rows: list[list[Child]] = [
        [
            o.step,
            percent(_mean(o.rows_share)),
            percent(_mean(o.unique_share)),
            percent(_mean(o.linkage)) if o.linkage else "not measured",
            percent(_mean(o.overlap)),
            number(_mean(o.slope)),
        ]
        for o in study.outcomes
    ]
    return join([paragraph(words), rows_table("What each step leaves", head, rows, numeric=range(1, 6))])


def _summary(table: pl.DataFrame, roles: Roles) -> Html:
    levels: list[list[Child]] = []
    for name in roles.keys:
        counts = table[name].value_counts(sort=True, name="n")
        said = ", ".join(f"{level}: {n:,}" for level, n in counts.head(6).iter_rows())
        rest = counts["n"].slice(6).sum()
        levels.append([name, f"{said}, others: {rest:,}" if rest else said])
    numbers: list[list[Child]] = [[name, *map(number, _quartiles(table[name]))] for name in (roles.stay, roles.charge)]
    head = ("Column", "Least", "1st quartile", "Median", "Mean", "3rd quartile", "Largest")
    return join(
        [
            rows_table("Levels of the prepared file", ("Column", "Records"), levels),
            rows_table("Numbers of the prepared file", head, numbers, numeric=range(1, 7)),
        ]
    )


def _quartiles(column: pl.Series) -> list[float]:
    values = column.to_numpy().astype(np.float64)
    least, first, median, third, largest = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
    return [least, first, median, float(values.mean()), third, largest]


def _cross(pictures: Pictures, roles: Roles) -> Html:
    caption = "The area of a square is its number of records; a record that is alone in its cell is red."
    said = [
        figure(_pairs(table, roles, when), f"{when}. {caption}")
        for table, when in ((pictures.raw, "As it is"), (pictures.ready, "Prepared"))
    ]
    return join(said)


def _pairs(table: pl.DataFrame, roles: Roles, when: str) -> Html:
    panels = [_scatter(table[a], table[b]) for a, b in combinations(roles.names, 2)]
    half = len(panels) // 2
    rows = [beside(*part, label=f"{when}: pairs of columns") for part in (panels[:half], panels[half:])]
    return join(rows)


def _scatter(across: pl.Series, down: pl.Series) -> Panel:
    panel = Panel(width=_SIDE, height=_SIDE)
    x, y, counts = crossed(across, down)
    step, most = _SIDE / _MOST, float(counts.max(initial=1))
    wide, high = (_SIDE / (int(places.max(initial=0)) + 1) for places in (x, y))
    for at, to, n in zip(x.tolist(), y.tolist(), counts.tolist(), strict=True):
        side = max(2.0, step * float(np.sqrt(n / most)))
        middle = (at + 0.5) * wide, _SIDE - (to + 0.5) * high
        panel.rect(middle[0] - side / 2, middle[1] - side / 2, side, side, fill=_ALONE if n == 1 else AFTER)
    panel.line(0, _SIDE, _SIDE, _SIDE)
    panel.line(0, 0, 0, _SIDE)
    panel.headed(f"{down.name} by {across.name}")
    return panel


def crossed(across: pl.Series, down: pl.Series) -> tuple[IntArray, IntArray, IntArray]:
    """The cells of two columns that hold records: their places along both, and how many."""
    x, y = _along(across), _along(down)
    cells, counts = np.unique(x * _MOST + y, return_counts=True)
    return cells // _MOST, cells % _MOST, counts.astype(np.int64)


def _along(column: pl.Series) -> IntArray:
    """Levels in their order, the rarest together as the last; numbers in equal steps."""
    if column.dtype.is_numeric():
        values: FloatArray = column.to_numpy().astype(np.float64)
        span = float(values.max() - values.min()) or 1.0
        steps: IntArray = np.minimum((values - values.min()) / span * _MOST, _MOST - 1).astype(np.int64)
        return steps
    counts = column.value_counts(sort=True, name="n")
    names = sorted(counts[column.name].head(_MOST - 1).to_list())
    places = dict(zip(names, range(len(names)), strict=True))
    return np.array([places.get(level, len(names)) for level in column.to_list()], dtype=np.int64)


def _alike(pictures: Pictures, roles: Roles) -> Html:
    tables = {"as it is": pictures.raw, "prepared": pictures.ready, "suppressed": pictures.suppressed}
    rows: list[list[Child]] = []
    for low, high in _SIZES:
        said = f"{low}" if low == high else f"{low} or more" if high is None else f"{low} to {high}"
        rows.append([said, *(f"{_held(table, roles.names, low, high):,}" for table in tables.values())])
    words = "Records by how many have the same values in all five columns."
    head = ("Alike", *tables)
    return join([paragraph(words), rows_table("Records that are alike", head, rows, numeric=range(1, 4))])


def _held(table: pl.DataFrame, columns: Sequence[str], low: int, high: int | None) -> int:
    sizes = table.group_by(columns).len()["len"]
    return int(sizes.filter((sizes >= low) & (sizes <= (high or len(table)))).sum())


def _places(pictures: Pictures, roles: Roles) -> Html:
    ways = {"as it is": pictures.ready, "one character less": pictures.short, "two characters less": pictures.shorter}
    rows: list[list[Child]] = []
    for name, table in ways.items():
        counts = table[roles.place].value_counts(name="n")["n"]
        least = int(counts.min() or 0)  # type: ignore[arg-type]
        rows.append([name, f"{len(counts):,}", f"{least:,}", f"{_held(table, roles.keys, 1, 2):,}"])
    head = ("Place", "Levels", "Records of the rarest", "Records whose keys at most one other has")
    return rows_table("Places generalised", head, rows, numeric=range(1, 4))


def _mosaics(pictures: Pictures, roles: Roles, k: int) -> Html:
    ways = {
        "One character less": pictures.short,
        "Two characters less": pictures.shorter,
        f"One less, keys below {k} suppressed": pictures.suppressed,
    }
    columns = roles.place, f"{roles.first} and {roles.second}"
    panels = []
    for title, table in ways.items():
        both = (table[roles.first].fill_null("*") + ", " + table[roles.second].fill_null("*")).alias("both")
        panel = tile_panel(tiles_of(table[roles.place].fill_null("*"), both), title, columns)
        panel.right = _LEGEND
        panels.append(panel)
    words = f"Width: records of a place; height: {columns[1]}. The levels of fewest records stand together as others."
    return figure(beside(*panels, label="Mosaics of the keys, generalised in three ways"), words)


def _coefficients(pictures: Pictures) -> Html:
    tables = []
    for target, coefficients in pictures.coefficients.items():
        rows: list[list[Child]] = [
            [term, number(beta), number(error), number(beta / error) if error else "none"]
            for term, beta, error in coefficients
        ]
        head = ("Term", "Estimate", "Standard error", "t")
        tables.append(rows_table(f"Regression of {target}, prepared file", head, rows, numeric=range(1, 4)))
    return join(tables)


def _fitted(pictures: Pictures, roles: Roles) -> Html:
    panels = [
        _scatter(pictures.ready[name], pl.Series(f"fitted {name}", pictures.fitted[name]))
        for name in (roles.stay, roles.charge)
    ]
    return figure(beside(*panels, label="Fitted values against original ones"), "Linear regressions, prepared file.")


def _measured(study: DisclosureStudy) -> tuple[str, ...]:
    settings = study.settings
    return (
        "Prepared: records beyond the 99% quantile of the charge are left out, lengths of stay beyond their 99% "
        "quantile are pooled there, and charges are rounded down to one of about 20 bins.",
        f"Suppressed: place without its last character, then cells of place and demographic columns blanked until "
        f"{settings.k} records share them. Length of stay and charge are untouched, as in the chapter.",
        f"Places swapped: RecordSwap for keys that fewer than {settings.k} have; ranks swapped and noise "
        f"({number(settings.ratio)} standard deviations): length of stay alone.",
        "An intruder shortens known places as the release does. Coefficients of places that a release no longer tells "
        "count as lost, with overlap 0.",
        "Anatomy leaves quasi-identifiers as they are and deals charges anew in buckets of different ones; Shoal "
        "doesn't offer it. m-invariance needs a second release and is counted by the register of releases.",
        "Imputed: length of stay and charge are drawn from models of the other columns, linear ones as in the chapter; "
        "donors of matching, trees and forests give real values.",
        "Differences have Student's paired intervals at 95% over the draws. Simulated files differ between draws; of "
        "a file of your own only the chance of the steps differs.",
        "The chapter's file (Texas newborns, 2006) is not at hand (access on request), and it measures no risk.",
    )


STUDY = Study(
    title="Traditional disclosure limitation",
    examples=(
        "shoal study disclosure --out study",
        "shoal study disclosure --data stays.csv --schema stays.toml --draws 10 --out study",
    ),
    counted="steps",
    settings=Settings,
    run=run,
    heading=_heading,
    findings=findings,
    figures=_figures,
    measured=_measured,
    exports={"study.json": DisclosureStudy.to_dict},
)
