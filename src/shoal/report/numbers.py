"""Numbers and terms as a reader wants them: three significant digits, thousands separated, shares in percent."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["ABSENT", "NOT_MEASURED", "between", "count", "listed", "number", "percent", "plural", "seconds"]

ABSENT = "–"
NOT_MEASURED = "not measured"
NOISE = 1e-12
"""What is smaller is rounding error."""


def number(value: float | None) -> str:
    """A number with three significant digits; whole numbers below 10,000 stay whole."""
    if value is None or math.isnan(value):
        return ABSENT
    if abs(value) < NOISE:
        return "0"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == round(value) and abs(value) < 10_000:
        return _minus(f"{value:,.0f}")
    if abs(value) < 1e-4:
        return _scientific(value)
    return _minus(_rounded(value))


def count(value: int) -> str:
    """A number of records or people, exactly."""
    return f"{value:,}"


def percent(share: float | None) -> str:
    """A share between 0 and 1 in percent; never 0% for something or 100% for less than all."""
    if share is None or math.isnan(share):
        return ABSENT
    if abs(share) < NOISE:
        return "0%"
    if abs(share) < 5e-5:
        return "<0.01%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return _minus(f"{_rounded(100 * share)}%")


def between(interval: Sequence[float] | None, show: str = "percent") -> str:
    """An interval in words: *1.2% to 3.4%*."""
    if interval is None:
        return ""
    style = percent if show == "percent" else number
    return f"{style(interval[0])} to {style(interval[1])}"


def plural(n: int, one: str) -> str:
    """*1 row*, *2 rows*."""
    return f"{count(n)} {one}" if n == 1 else f"{count(n)} {one}s"


def seconds(value: float) -> str:
    """A duration."""
    return f"{value:.2g} s" if value < 10 else f"{value:,.0f} s"


def listed(items: Sequence[str]) -> str:
    """*a*, *a and b*, *a, b and c*."""
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def _rounded(value: float) -> str:
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    scale = 10.0 ** min(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{round(value * scale) / scale if scale < 1 else value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scientific(value: float) -> str:
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return _minus(f"{mantissa.rstrip('0').rstrip('.')} × 10{raised}")


def _minus(text: str) -> str:
    return text.replace("-", "−")
