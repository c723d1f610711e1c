"""What suppression took, in words for every face, and as a section with a picture for the internal report.

It tells of people who are not in the release, so no page for everybody has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.drawing import AFTER, BEFORE, BEFORE_FILL, INK, short_names
from shoal.report.markup import Child, Html, details, figure, join, rows_table, section, tag
from shoal.report.numbers import count, percent, plural
from shoal.report.svg import Panel, bands, beside, share_scale
from shoal.utility.suppressed import Group, SuppressionLoss

__all__ = ["group_words", "loss_points", "suppression_section"]

_MOST_NAMED = 8
_MOST_BARS = 14
_MOST_ROWS = 60


def group_words(group: Group) -> str:
    """A group, the share that is lost, and its records before and after.

    Examples
    --------
    >>> group_words(Group(columns=("state",), values=("Wyoming",), before=1939, after=164))
    'state Wyoming 91.5% (1,939 → 164)'
    """
    return f"{group.name} {percent(group.share)} ({count(group.before)} → {count(group.after)})"


def loss_points(loss: SuppressionLoss, *, every: bool = False) -> list[str]:
    """What to watch of it, in sentences: the groups that lost most, levels that vanished, and what helps."""
    worst = loss.worst()
    if not worst:
        return [f"Suppression took {percent(loss.share)} of the records, and of no group clearly more."]
    points = [f"Suppression took most of: {'; '.join(map(group_words, worst))}."]
    if loss.vanished:
        shown = loss.vanished if every else loss.vanished[:_MOST_NAMED]
        named = ", ".join(f"{group.name} ({count(group.before)})" for group in shown)
        rest = len(loss.vanished) - len(shown)
        more = f" and {rest:,} more, in the internal report" if rest else ""
        points.append(f"{plural(len(loss.vanished), 'level')} vanished: {named}{more}.")
    return [*points, _remedy(loss, worst[0])]


def _remedy(loss: SuppressionLoss, worst: Group) -> str:
    """What keeps more of the group that lost most."""
    blanked = loss.blanked > loss.left_out
    instead = f"raise the importance of {worst.columns[0]}" if blanked else "allow less suppression"
    merged = f"merge {worst.values[0]} with another level (a hierarchy)"
    return f"To keep more of {worst.name}: {merged}, {instead}, or lower k."


def suppression_section(loss: SuppressionLoss) -> Html:
    """The section of the internal report."""
    blank = f", and {plural(loss.blanked, 'cell')} of others blanked" if loss.blanked else ""
    words = (
        f"{count(loss.left_out)} of {count(loss.before)} records ({percent(loss.share)}) are not in the release{blank}."
        " A small share of all can be a whole group. This section tells of people who are not in the release and must "
        "not leave."
    )
    return section(
        "suppression",
        "What suppression took",
        tag("p", words, class_="warning"),
        tag("ul", *(tag("li", point) for point in loss_points(loss))),
        figure(_picture(loss), _CAPTION) if loss.worst() else None,
        *_vanished(loss),
        *_pairs(loss),
        details("Every level of every quasi-identifier", join(_column_tables(loss))),
    )


_CAPTION = (
    "The groups that lost most: the share of their records that is not in the release, or blank there; the "
    "line is that of all records. Numbers are counted in their declared intervals, else in tenths of the records."
)
_HEAD = ("Level", "Records before", "After", "Lost")


def _picture(loss: SuppressionLoss) -> Html:
    shown = loss.worst(_MOST_BARS)
    height = max(60, 24 * len(shown))
    panel, places = Panel(width=420, height=height, top=28), bands(len(shown), height)
    across = share_scale(max((group.share for group in shown), default=1.0), 0, 420, about=4)
    panel.bottom_axis(across, percent)
    panel.left_names(_bar_names(shown), places)
    for group, (start, wide) in zip(shown, places, strict=True):
        panel.rect(0, start, across(group.share), wide, words=group_words(group), fill=AFTER)
        inside = group.share > 0.75 * across.high
        x, anchor = (across(group.share) - 5, "end") if inside else (across(group.share) + 5, "start")
        said = f"{count(group.before)} → {count(group.after)}"
        panel.text(said, x, start + wide / 2 + 4, anchor=anchor, size=10, fill="#ffffff" if inside else INK)
    if loss.left_out:
        panel.line(across(loss.share), 0, across(loss.share), height, BEFORE)
        panel.legend((("share lost", AFTER, AFTER), ("of all records", BEFORE_FILL, BEFORE)), y=-12)
    spoken = "; ".join(map(group_words, shown))
    return beside(panel, label=f"Bars of the share that each group lost. {spoken}.")


def _bar_names(shown: Sequence[Group]) -> list[str]:
    """The names of groups, level by level, short enough for an axis."""
    return [" × ".join(short_names([f"{c} {v}" for c, v in zip(g.columns, g.values, strict=True)])) for g in shown]


def _vanished(loss: SuppressionLoss) -> list[Child]:
    if not loss.vanished:
        return []
    rows = [(group.name, count(group.before)) for group in loss.vanished[:_MOST_ROWS]]
    more = len(loss.vanished) - len(rows)
    rest = tag("p", f"And {plural(more, 'more level')}.", class_="note") if more else None
    table = rows_table("Levels that vanished", ("Level", "Records before"), rows, numeric=(1,), kind="narrow")
    return [tag("h3", "Levels that nobody in the release has any more"), table, rest]


def _pairs(loss: SuppressionLoss) -> list[Child]:
    words = "Pairs of levels that lost clearly more than each of their two levels explains."
    left = f" Not looked at: pairs with {', '.join(loss.unpaired)}, of too many levels." if loss.unpaired else ""
    if not loss.pairs:
        return [tag("p", f"No pair of levels lost clearly more than its levels explain.{left}", class_="note")]
    rows = [_row(group) for group in loss.pairs[:_MOST_ROWS]]
    head = ("Pair", *_HEAD[1:])
    table = rows_table("Pairs that lost more than their levels explain", head, rows, numeric=(1, 2, 3))
    return [tag("h3", "Pairs of levels"), tag("p", f"{words}{left}"), table]


def _column_tables(loss: SuppressionLoss) -> list[Child]:
    found: list[Child] = []
    for column in loss.columns:
        rows = [_row(group, bare=True) for group in column.levels[:_MOST_ROWS]]
        rest = column.n_levels - len(rows)
        note = f"In {column.counted_in}." + (f" {rest:,} more are in suppression.json." if rest else "")
        table = rows_table(f"Levels of {column.column}", _HEAD, rows, numeric=(1, 2, 3), kind="narrow")
        found += [tag("h4", column.column), tag("p", note, class_="note"), table]
    return found


def _row(group: Group, *, bare: bool = False) -> tuple[str, ...]:
    name = group.values[0] if bare else group.name
    return name, count(group.before), count(group.after), percent(group.share)
