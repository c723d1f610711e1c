"""A comparison on paper: the map, the recommendation, the table, what the axes mean, what failed, what to mind.

As files, a comparison is written beside its place and then moved there as one folder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.comparison.advice import advice, kept
from shoal.comparison.outcome import Outcome, readings_of
from shoal.errors import FileError, ShoalError
from shoal.files import write_table, write_text
from shoal.files.atomic import Contents, check_target, staged
from shoal.recipe import FAMILIES
from shoal.report.drawing import as_chart
from shoal.report.layout import document
from shoal.report.markup import Child, Html, figure, join, rows_table, tag
from shoal.report.numbers import ABSENT, count, number, percent, plural, seconds
from shoal.report.readings import verdict
from shoal.report.risk_utility_map import Point, risk_chart, risk_map

if TYPE_CHECKING:
    from shoal.comparison.comparison import Comparison

__all__ = ["COMPARISON", "FILES", "chart_of", "check_folder", "map_of", "read", "render", "write"]

SAID = 3  # lines of advice at once; the rest folds out
_ACROSS = "share of records found"
_GUESSED = "share of wrong guesses corrected"
_UP = "two-way distributions preserved"
_MEASURES = {"found": "found", "guessed": "of wrong guesses corrected"}


def render(comparison: Comparison, limit: float) -> str:
    """The page, complete in one file."""
    kicker = (
        f"{plural(len(comparison.outcomes), 'recipe')} on {plural(comparison.n_records, 'record')}: "
        f"{plural(len(comparison.quasi), 'quasi-identifier')}, "
        f"{plural(len(comparison.sensitive), 'sensitive column')}"
    )
    parts = {
        "Risk-utility map": _map(comparison, limit),
        "Recommendation": _recommended(comparison, limit),
        "All recipes": _tables(comparison, limit),
        **_not_measured(comparison),
        **_guessing(comparison),
        "What the axes mean": _axes(),
        "Limits": _limits(),
    }
    return document("Comparison of recipes", kicker, "Internal: must not leave the secure environment", parts)


def map_of(comparison: Comparison, limit: float) -> Html:
    """The risk-utility map as inline SVG."""
    done = [one for one in comparison.outcomes if one.is_done]
    label = (
        f"Risk-utility map of {plural(len(done), 'recipe')}: share of records found across, two-way distributions "
        f"preserved "
        f"up; {plural(len(comparison.front), 'recipe')} on the front. The numbers are in the table."
    )
    return risk_map(_points(comparison, "found"), label, **_found(comparison, limit))


def chart_of(comparison: Comparison, limit: float) -> Any:
    """The same map as an Altair chart."""
    return as_chart(risk_chart(_points(comparison, "found"), **_found(comparison, limit)))


def _found(comparison: Comparison, limit: float) -> dict[str, Any]:
    """How the map is drawn."""
    return {
        "families": FAMILIES,
        "across": _ACROSS,
        "up": _UP,
        "limit": limit,
        "mark": comparison.reference.get("second_sample"),
        "best": _best(comparison, limit),
    }


def _best(comparison: Comparison, limit: float) -> str | None:
    """The number of the recommended recipe."""
    chosen = comparison.best(limit)
    return None if chosen is None else str(comparison.outcomes.index(chosen) + 1)


def _points(comparison: Comparison, measure: str) -> list[Point]:
    front = {id(one) for one in comparison.front}
    return [
        Point(
            risk=risk,
            utility=one.utility,
            number=str(place),
            family=one.family,
            on_front=id(one) in front,
            words=f"{place}. {one.name}: {percent(risk)} {_MEASURES[measure]}, {kept(one.utility)} preserved",
        )
        for place, one in enumerate(comparison.outcomes, start=1)
        if one.is_done and (risk := one.risks.get(measure)) is not None
    ]


def _recommended(comparison: Comparison, limit: float) -> Html:
    first, *rest = advice(comparison, limit)
    chosen = comparison.best(limit)
    command = chosen.command if chosen is not None else None
    run = tag("p", "To run it: ", tag("code", command)) if command else None
    more = tag("details", tag("summary", "All of the advice"), *(tag("p", text) for text in rest[SAID - 1 :]))
    return join([tag("p", tag("strong", first)), run, *(tag("p", text) for text in rest[: SAID - 1]), more])


def _map(comparison: Comparison, limit: float) -> Html:
    if not any(one.is_done for one in comparison.outcomes):
        return tag("p", "No recipe could be measured, so there is nothing to draw.")
    words = (
        "The upper left is best. Numbers refer to the table. Filled marks are on the Pareto front: no other recipe "
        "has both less risk and more utility. The ring marks the recommended one. The dashed line is the chosen limit. "
        "Both axes are stretched towards the best corner."
    )
    return figure(map_of(comparison, limit), words)


def _guessing(comparison: Comparison) -> dict[str, Html]:
    """The same recipes against somebody who only guesses, where that was measured."""
    guesses = _points(comparison, "guessed")
    if not guesses:
        return {}
    drawn = risk_map(guesses, _guess_label(guesses), families=FAMILIES, across=_GUESSED, up=_UP, steps=False)
    caption = (
        "The same recipes against another intruder, who finds nobody but guesses sensitive values from the nearest "
        f"rows. {_as_it_is(comparison)}Filled marks are those of the map above."
    )
    return {"Guessing instead of finding": figure(drawn, caption)}


def _guess_label(guesses: Sequence[Point]) -> str:
    return (
        f"Map of {plural(len(guesses), 'recipe')}: share of wrong guesses of sensitive values that the release "
        "corrects across, two-way distributions preserved up. The numbers are in the table."
    )


def _as_it_is(comparison: Comparison) -> str:
    guessed = comparison.reference.get("guessed")
    return "" if guessed is None else f"Published unchanged, the table would correct {percent(guessed)}. "


def _tables(comparison: Comparison, limit: float) -> Html:
    head = ("Recipe", "Family", "Found", "People", "Guessed", "Utility", "Proved", "Seconds", "Reading")
    front = {id(one) for one in comparison.front}
    rows = [
        _recipe_row(comparison, one, place, limit, starred=id(one) in front)
        for place, one in enumerate(comparison.outcomes, start=1)
        if one.is_done
    ]
    note = (
        "★ on the front. † Synthetic rows belong to no real person; see below for what is counted instead. The first "
        "rows are for comparison; what is preserved is compared with another sample of the same size. "
        "Risk reads against the limit, utility against the other sample: good if no worse than that by more than 2% or "
        "a tenth of what it lacks."
    )
    return join(
        [
            rows_table(
                "Risk and utility of each recipe", head, [*_yardsticks(comparison, limit), *rows], numeric=_SHOWN
            ),
            tag("p", note, class_="note"),
            tag("details", tag("summary", "More measures"), _more(comparison)),
        ]
    )


_SHOWN = (2, 3, 4, 5, 6, 7)  # columns of numbers


def _recipe_row(comparison: Comparison, one: Outcome, place: int, limit: float, *, starred: bool) -> tuple[Child, ...]:
    found, guessed, kept_ = readings_of(comparison, one, limit)
    star = tag("span", " ★", title="on the front") if starred else None
    return (
        tag("span", f"{place}. {one.name}", star),
        one.family,
        percent(found.value) + ("†" if one.is_counted else ""),
        _people(found.people),
        percent(guessed.value),
        kept(one.utility),
        one.proof or ABSENT,
        seconds(one.seconds).removesuffix(" s"),
        join(["risk ", verdict(found), " utility ", verdict(kept_)]),
    )


def _yardsticks(comparison: Comparison, limit: float) -> list[tuple[Child, ...]]:
    """What the figures are held against: the table as it is, chance, and the limit."""
    n, before = comparison.n_records, comparison.reference
    chance, sample = (1 / n if n else None), before.get("second_sample")
    rows = (
        ("Published unchanged", before.get("found"), before.get("guessed"), 1.0),
        ("By chance", chance, 0.0, sample),
        ("Limit", limit, None, None),
    )
    return [
        (
            tag("em", name),
            ABSENT,
            percent(found),
            _people(None if found is None or not n else round(found * n)),
            percent(guessed),
            ABSENT if share is None else kept(share),
            *(ABSENT,) * 3,
        )
        for name, found, guessed, share in rows
    ]


def _people(number_of: int | None) -> str:
    return ABSENT if number_of is None else count(number_of)


_RISKS = {
    "nearest_match": "Nearest match",
    "linkage": "Linkage",
    "unchanged": "With unchanged columns",
    "linkage_two_guesses": "Two guesses",
    "copied_uniques": "Rows like one person's",
}
_UTILITIES = {
    "kept_single": "Single",
    "kept_pairs": "Pairs",
    "kept_with_sensitive": "Sensitive",
    "histogram_intersection": "Joint",
    "correlation_error": "Δr",
    "response_correlation_error": "Δr sensitive",
    "r_squared": "R²",
    "r_squared_original": "R² before",
    "rows_share": "Rows",
}


_KEPT = (
    "What is preserved: distributions of single columns, of pairs of quasi-identifiers, of pairs with a sensitive "
    "column, of all quasi-identifiers together; mean error of correlations among quasi-identifiers and with sensitive "
    "columns; R² of a regression of the first sensitive number; share of rows"
)


def _more(comparison: Comparison) -> Html:
    done = [(place, one) for place, one in enumerate(comparison.outcomes, start=1) if one.is_done]
    risks = [(f"{place}. {one.name}", *(percent(one.risks.get(name)) for name in _RISKS)) for place, one in done]
    kept_rows = [
        (f"{place}. {one.name}", *(_three(one.utilities.get(name)) for name in _UTILITIES)) for place, one in done
    ]
    return join(
        [
            rows_table("Attacks, one by one", ("Recipe", *_RISKS.values()), risks, numeric=range(1, 6)),
            rows_table(_KEPT, ("Recipe", *_UTILITIES.values()), kept_rows, numeric=range(1, 10)),
        ]
    )


def _three(value: float | None) -> str:
    return ABSENT if value is None else number(round(value, 3))


def _not_measured(comparison: Comparison) -> dict[str, Html]:
    rows = [
        (f"{place}. {one.name}", one.state, one.reason)
        for place, one in enumerate(comparison.outcomes, start=1)
        if not one.is_done
    ]
    if not rows:
        return {}
    return {"Not measured": rows_table("Recipes without a result", ("Recipe", "State", "Why"), rows, quiet=True)}


def _axes() -> Html:
    return join(
        [
            _term(
                "Found",
                "The share of the original's records that an intruder with one guess finds, by the strongest of "
                "three attacks: the nearest released row to a person's true quasi-identifiers, the nearest original to "
                "a released row, and the row that also fits what columns published unchanged say of the person. Ties "
                "are broken at random and counted exactly. A mean over all records.",
            ),
            _term(
                "Found, for synthetic rows",
                "No row belongs to a real person, so nobody's row can be found. Counted instead: people with a "
                "unique combination of quasi-identifiers that was reproduced, less what is reproduced by chance, as "
                "estimated from similar combinations that nobody has.",
            ),
            _term(
                "Guessed",
                "Of the errors made by guessing a sensitive value as the table's mode or mean, the share that "
                "the nearest released rows correct; the worst sensitive column. Some of this is the purpose of a "
                "release.",
            ),
            _term(
                "Utility",
                "1 less the total variation between original and release, averaged over the distributions of pairs of "
                "columns: half the weight for pairs of quasi-identifiers, half for pairs with a sensitive column. 1 is "
                "all. Intervals and sets are read evenly over their values; suppressed cells are lost.",
            ),
            _term(
                "Proved",
                "Where there is a theorem: the largest probability with which matching finds any one record, or the "
                "privacy loss ε of differential privacy. Each holds under the assumptions of its claim.",
            ),
        ]
    )


def _term(name: str, words: str) -> Html:
    return tag("p", tag("strong", f"{name}. "), words)


def _limits() -> Html:
    return tag(
        "ul",
        *(
            tag("li", text)
            for text in (
                "Each recipe was run once. Small differences may be reversed in another run.",
                "Two attacks and one guess were tried; another intruder may do better. A low number is measured, not "
                "proved.",
                "Near copies of rare people among synthetic rows are not counted, only exact ones.",
                "Utility here is about distributions. A recipient with a particular regression in mind should look "
                "at that.",
                "Survey weights are not used in these numbers.",
                "The tool documents; which risk is acceptable is for people to decide.",
            )
        ),
    )


FILES = ("comparison.csv", "comparison.parquet", "comparison.json", "comparison.html")
COMPARISON = Contents(name="comparison", sign="comparison.json", belongs=lambda path: path.name in FILES)


def write(comparison: Comparison, folder: Path, *, overwrite: bool, limit: float) -> Path:
    """Write all files, or leave the folder as it was."""
    page, rows = render(comparison, limit), comparison._rows()
    try:
        with staged(folder, COMPARISON, overwrite=overwrite) as stage:
            write_table(rows, stage / "comparison.csv")
            write_table(rows, stage / "comparison.parquet")
            write_text(stage / "comparison.json", json.dumps(comparison.to_dict(), indent=1, ensure_ascii=False) + "\n")
            write_text(stage / "comparison.html", page)
    except OSError as error:
        raise FileError(str(folder), "can't be written", got=(error.strerror or "").lower()) from None
    return folder


def read(folder: Path) -> Comparison:
    """The comparison of a folder."""
    from shoal.comparison.comparison import Comparison

    path = folder / "comparison.json"
    try:
        words: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(str(path), "file must be accessible", got=(error.strerror or "").lower()) from None
    except ValueError:
        raise FileError(str(path), "must be the JSON file of a comparison") from None
    try:
        return Comparison.from_dict(words)
    except (KeyError, TypeError, ValueError, AttributeError, ShoalError):
        raise FileError(str(path), "must be the JSON file of a comparison") from None


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds anything but an older comparison that may be replaced, before any work is done."""
    check_target(folder, COMPARISON, overwrite=overwrite)
