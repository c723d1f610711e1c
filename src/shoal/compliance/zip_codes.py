"""Three digits of a ZIP code, or 000 where few people live: 45 CFR 164.514(b)(2)(i)(B).

The rule keeps the first three digits where more than 20,000 people live in all ZIP codes that begin with them,
"according to the current publicly available data from the Bureau of the Census". The list is that of the census of 2020
(Demographic and Housing Characteristics, table P1, ZIP Code Tabulation Areas summed by their first three digits); the
17 areas of the guidance of 2012 are those of the census of 2000, which it says not to rely on once newer counts exist.
Digits with no area in the census (military mail, boxes, unassigned ranges) have nobody counted in them: 000, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from shoal.schema.infer import words_in

__all__ = ["CENSUS", "SMALL_ZIPS", "is_zip", "three_digits"]

CENSUS = "the census of 2020"

_FEW_PEOPLE = "036 059 102 202 203 204 205 369 556 692 753 772 821 823 878 879 884 893"
_NO_AREA = (
    "000-005 008 055 090-099 192 213 269 311 332 340 343 345 348 353 375 399 419 428-429 459 509 517-519 529 533 536 "
    "552 555 568-569 578-579 589 621 632 642-643 649 659 663 682 694-699 702 709 715 732-733 742 771 817-819 839 842 "
    "848-849 854 858 861-862 866-869 872 876 885-889 892 896 899 901 909 929 938 942 962-966 969 987"
)


def _spelled(ranges: str) -> tuple[str, ...]:
    ends = [part.partition("-")[::2] for part in ranges.split()]
    return tuple(f"{number:03d}" for low, high in ends for number in range(int(low), int(high or low) + 1))


SMALL_ZIPS = tuple(sorted({*_spelled(_FEW_PEOPLE), *_spelled(_NO_AREA)} - {"000"}))
"""First three digits of ZIP codes with 20,000 people or fewer by the census of 2020: 18 areas, and 105 without any."""


def is_zip(column: pl.Series) -> bool:
    """Whether a column holds ZIP codes, by its name or because most of its values have nine digits with a dash."""
    named = any(word.startswith("zip") or word in ("postal", "postcode") for word in words_in(column.name))
    text = column.drop_nulls().cast(pl.String)
    return named or float(text.str.contains(r"^\d{5}-\d{4}$").mean() or 0.0) > 0.5  # type: ignore[arg-type]


def three_digits(column: pl.Series, small: Sequence[str]) -> pl.Series:
    """The first three digits, or 000 where these are among `small` or the value is no ZIP code."""
    text = column.cast(pl.String).str.strip_chars()
    digits = text.str.extract(r"^(\d{1,5})(?:-?\d{4})?(?:\.0)?$", 1)
    damaged = digits.str.len_chars() < (5 if column.dtype.is_numeric() else 3)  # numbers lose their leading zeros
    damaged |= digits.str.len_chars() == 4
    padded = pl.select(pl.when(damaged).then(digits.str.zfill(5)).otherwise(digits)).to_series()
    three = padded.str.slice(0, 3).fill_null("000")
    three = three.set(three.is_in(list(small)), "000")
    return three.set(column.is_null(), None).alias(column.name)
