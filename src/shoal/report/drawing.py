"""A chart as inline SVG: drawn by vl-convert, named for readers who listen, with words on every mark.

Each picture is one ``img`` to a screen reader, with a label that says what it shows. Each of its marks holds a
``<title>``: the words of the chart's `description` channel, or field by field what Vega says of the mark. Without a
script a browser shows them where the pointer rests; ``tooltip.js`` shows them at once, and at the arrow keys.

Data and column names enter only as values, never as field names or expressions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from markupsafe import escape

from shoal.extras import need
from shoal.report.markup import Html
from shoal.report.numbers import number

__all__ = [
    "AFTER",
    "BEFORE",
    "BEFORE_FILL",
    "INK",
    "LINE",
    "altair",
    "as_chart",
    "data",
    "draw",
    "hover",
    "need_pictures",
    "short_names",
]

BEFORE, BEFORE_FILL, AFTER, INK, LINE = "#857e70", "#cfc9bd", "#0b6470", "#2b2a27", "#d9d5cc"
FONT = "Source Sans 3, Segoe UI, Helvetica Neue, Arial, sans-serif"
LONGEST_LABEL = 18
MOST_TIPS = 800  # a cloud of more points can't be hovered one by one
_CONFIG = {
    "font": FONT,
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "gridColor": "#ebe8e1",
        "domainColor": LINE,
        "tickColor": LINE,
        "labelLimit": 170,
    },
    "legend": {"labelColor": INK, "labelFontSize": 11, "orient": "top", "title": None, "symbolType": "square"},
    "title": {"color": INK, "fontSize": 12, "fontWeight": 600, "anchor": "start"},
}


def need_pictures(owner: str) -> None:
    """Refuse to go on where charts can't be drawn: asked first by what would compute for minutes and then draw."""
    need("altair", owner)
    need("vl_convert", owner)


def altair() -> Any:
    """Altair, loaded when the first picture is drawn: it takes a second."""
    need_pictures("picture")
    import altair as alt

    return alt


def draw(chart: Any, label: str) -> Html:
    """A chart as inline SVG with an accessible name."""
    spec = json.dumps({**chart.to_dict(validate=False), "config": _CONFIG}, sort_keys=True)
    return Html(_svg(spec).replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1))


def as_chart(chart: Any) -> Any:
    """A chart as Altair's own object in the house's colours: to show in a notebook, change or save."""
    config = {**_CONFIG, "background": "transparent"}
    words = json.loads(json.dumps({**chart.to_dict(validate=False), "config": config}))
    return type(chart).from_dict(words)


def data(alt: Any, rows: Iterable[dict[str, Any]]) -> Any:
    """The rows of a chart; as a tuple they pass by reference where Altair copies a chart, which it does often."""
    return alt.Data(values=tuple(rows))


def hover(alt: Any, rows: Sequence[dict[str, Any]], **place: Any) -> Any:
    """Unseen tiles over a chart that say each row's ``said``: as wide as the band, so that a low bar is no needle."""
    unseen = alt.Chart(data(alt, rows)).mark_rect(fill=INK, fillOpacity=0)
    return unseen.encode(description=alt.Description("said:N"), **place)


def short_names(names: Sequence[str]) -> list[str]:
    """Names short enough to stand in a picture, each different from the others."""
    return _distinct([_short(name) for name in names])


@lru_cache(maxsize=256)
def _svg(spec: str) -> str:
    """The SVG of a chart, fit to stand inside a page: no namespaces, no roles inside, ids that are its own."""
    from vl_convert import vegalite_to_svg

    svg: str = vegalite_to_svg(json.loads(spec))
    own = hashlib.sha256(spec.encode()).hexdigest()[:10]
    svg = _titled(svg)
    svg = re.sub(r' (?:xmlns(?::xlink)?|version|class|role|aria-[a-z]+)="[^"]*"', "", svg)
    svg = svg.replace(" data-m=", " class=")
    svg = re.sub(r'\bid="([^"]*)"', rf'id="p{own}-\1"', svg)
    return re.sub(r'url\((?:#|&quot;#|"#|\'#)([^)"\'&]*)[^)]*\)', rf"url(#p{own}-\1)", svg)


_MARK = re.compile(
    r'<(path|line) aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="([a-z ]+)"([^<>]*)/>'
)


def _titled(svg: str) -> str:
    """Marks with their words as titles; none in a cloud of very many."""
    if len(_MARK.findall(svg)) > MOST_TIPS:
        return svg
    return _MARK.sub(_with_title, svg)


def _with_title(mark: re.Match[str]) -> str:
    element, label, kind, rest = mark.groups()
    is_line = kind in ("line mark", "area mark", "trail mark")
    words = _line_words(label) if is_line else _mark_words(label)
    line = ' data-line=""' if is_line else ""
    return f'<{element} data-m="m"{line}{rest}><title>{words}</title></{element}>' if words else mark.group(0)


_LONG = re.compile(r"(?<![\w.,])\d+\.\d{3,}(?![\w.])")
_PLAIN = re.compile(r"(^|; )(?:line|when|name|method|market|series): ")
_NUMERIC = re.compile(r"(?:^|; )[^;]*: [-−]?[\d.,e]+%?(?=;|$)")


def _line_words(label: str) -> str:
    """Of a line only its name: the numbers are those of its first point."""
    return _PLAIN.sub(r"\1", _NUMERIC.sub("", label)).removeprefix("; ")


def _mark_words(label: str) -> str:
    """What a mark is, with numbers of three digits; the name of a line needs no "line:" before it."""
    return _LONG.sub(lambda found: number(float(found[0])), _PLAIN.sub(r"\1", label))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that were cut to the same beginning get a number, so that each keeps its own place."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out
