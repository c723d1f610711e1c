"""Vega-Lite charts as plain dictionaries, built by the calls that Altair has for them.

A report draws a dozen small charts of fixed shape. Altair loads for a second and copies every chart several times on
its way; here a chart is the dictionary that Vega-Lite reads. Names and arguments are Altair's, so that a picture
can be drawn with either, and a test holds both to the same image.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "X2",
    "Axis",
    "Chart",
    "Color",
    "ColorValue",
    "Data",
    "Description",
    "Fill",
    "Legend",
    "Order",
    "Scale",
    "Stroke",
    "Text",
    "X",
    "X2Value",
    "XOffset",
    "XValue",
    "Y",
    "Y2Datum",
    "Y2Value",
    "YOffset",
    "YValue",
    "hconcat",
    "layer",
]

Words = dict[str, Any]

_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}


class Chart:
    """A chart, or several of them over or beside each other. It is never changed: every call makes another."""

    def __init__(self, data: Words | None = None, **options: Any) -> None:
        self.words: Words = options if data is None else {"data": data, **options}

    def mark_bar(self, **options: Any) -> Chart:
        """Bars."""
        return self._mark("bar", options)

    def mark_rect(self, **options: Any) -> Chart:
        """Rectangles."""
        return self._mark("rect", options)

    def mark_line(self, **options: Any) -> Chart:
        """A line."""
        return self._mark("line", options)

    def mark_text(self, **options: Any) -> Chart:
        """Texts."""
        return self._mark("text", options)

    def encode(self, **channels: Words | str) -> Chart:
        """What the marks show: a channel, or its field in short."""
        encoding = {
            name: _channel(channel) if isinstance(channel, str) else channel for name, channel in channels.items()
        }
        for second in {"x2", "y2"} & encoding.keys():
            encoding[second] = {key: value for key, value in encoding[second].items() if key != "type"}
        return Chart(**{**self.words, "encoding": encoding})

    def resolve_scale(self, **scales: str) -> Chart:
        """Which scales the parts share."""
        return Chart(**{**self.words, "resolve": {"scale": scales}})

    def to_dict(self, validate: bool = True) -> Words:
        """The chart as Vega-Lite reads it."""
        return self.words

    def _mark(self, kind: str, options: Words) -> Chart:
        return Chart(**{**self.words, "mark": {"type": kind, **options}})

    def __add__(self, other: Chart) -> Chart:
        return layer(self, other)


def layer(*charts: Chart, **options: Any) -> Chart:
    """Charts over each other; what the first says of its room holds for all."""
    parts = [dict(chart.words) for chart in charts]
    room = {name: parts[0][name] for name in ("width", "height") if name in parts[0]}
    for part in parts:
        for name in room:
            part.pop(name, None)
    return Chart(layer=parts, **room, **options)


def hconcat(*charts: Chart) -> Chart:
    """Charts side by side."""
    return Chart(hconcat=[chart.words for chart in charts])


def _channel(short: str, **options: Any) -> Words:
    """A field with its type in short, as ``share:Q``, and what else is said of the channel."""
    name, _, kind = short.rpartition(":")
    return {"field": name, "type": _TYPES[kind], **options}


def _value(value: Any, **options: Any) -> Words:
    return {"value": value, **options}


def _datum(value: Any) -> Words:
    return {"datum": value}


def _words(**options: Any) -> Words:
    return options


X = Y = X2 = XOffset = YOffset = Color = Fill = Stroke = Text = Order = Description = _channel
XValue = YValue = X2Value = Y2Value = ColorValue = _value
Y2Datum = _datum
Axis = Data = Legend = Scale = _words
