"""ZIP codes of the USA, whole or as areas of three digits: by the name of a column, or by the form of its values.

The Safe Harbor rule keeps the first three digits where more than 20,000 people live in all ZIP codes that begin with
them, "according to the current publicly available data from the Bureau of the Census" (45 CFR 164.514(b)(2)(i)(B)). The
list here is that of the census of 2020 (Demographic and Housing Characteristics, table P1, ZIP Code Tabulation Areas
summed by their first three digits); the 17 areas of the guidance of 2012 are those of the census of 2000, which it says
not to rely on once newer counts exist. Digits with no area in the census (military mail, boxes, unassigned ranges) have
nobody counted in them.

Blanks of any width, dashes of any kind, apostrophes and masks (``036xx``, ``036**``) change nothing; numbers have lost
their leading zeros. Where most cells of a column are whole codes a number of three digits is one that lost two.

Under a name that says nothing, values speak: codes with a mask or a dash are ZIP codes; three or five digits may be if
(nearly) all of them begin with digits that the Postal Service has assigned, and they are texts with leading zeros, or a
few numbers scattered over the hundreds, or so many over so wide a range that some would have missed by chance. These
only a person can judge. Not recognised under such a name: numbers of one region (30 to 59), which ages are as well.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import exp

import polars as pl

from shoal.schema.evidence import words_in
from shoal.schema.judgement.date_words import WESTERN
from shoal.schema.judgement.places import answers_share, says_whether
from shoal.schema.judgement.us_places import STATE_OF_ZIP3, STATES
from shoal.schema.name_words import BODY, LENGTHS, MEASURES, NOT_PLACES, SENSITIVE, WEIGHTS, parts_of

__all__ = ["CENSUS", "SMALL_ZIPS", "ZipCodes", "speaks_of_zip", "three_digits", "zip_codes"]

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


def speaks_of_zip(name: str) -> bool:
    """Return True if a column's name says that it holds ZIP codes: ``zip3``, ``patzip``, ``postal``, ``zcta``."""
    return any(word.startswith(("zip", "zcta")) or word.endswith(_ENDS) or word in _POSTAL for word in words_in(name))


_ENDS = ("zip", "zips", "zipcode", "zipcodes", "zip3", "zip5", "zip9")
_POSTAL = {"postal", "postalcode", "postcode", "postcodes", "patpostcode"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipCodes:
    """The ZIP codes of a column.

    Parameters
    ----------
    n_over
        How many cells say more than the rule lets stand: more than three digits, or an area of few people.
    by_name
        Whether the column's name says that it holds them.
    judged
        Whether they are certainly ZIP codes; False where only a person can tell.
    whole
        Whether most cells are whole codes, so that shorter numbers have lost their leading zeros.
    """

    n_over: int
    by_name: bool
    judged: bool
    whole: bool


def zip_codes(name: str, distinct: pl.DataFrame, small: Collection[str] = SMALL_ZIPS) -> ZipCodes | None:
    """Return what ZIP codes a column holds, from its different values (``value``) with their rows (``count``).

    None means that it holds none: its name says nothing of them, and neither do its values.
    """
    by_name = speaks_of_zip(name)
    if _are_no_codes(distinct) or not (by_name or (_leaves_room(name) and _may_be_codes(distinct))):
        return None
    read = _read(distinct["value"]).with_columns(distinct["count"])
    whole = _is_whole(read)
    certainty = _by_name(name, read, whole) if by_name else _by_values(read, whole)
    if certainty is None:
        return None
    return ZipCodes(n_over=_over(read, whole, small, by_name), by_name=by_name, judged=certainty, whole=whole)


def three_digits(column: pl.Series, small: Collection[str], *, whole: bool | None = None) -> pl.Series:
    """Return the first three digits, or 000 where these are among `small` or the value is no ZIP code.

    `whole` says whether most cells are whole codes; None tells it from the column.
    """
    read = _read(column).with_columns(pl.lit(1).alias("count"))
    area = _areas(read, _is_whole(read.drop_nulls("text")) if whole is None else whole).fill_null("000")
    area = area.set(area.is_in(list(small)), "000")
    return area.set(column.is_null(), None).alias(column.name)


# Reading values

_MASK = r"[x*#?_.…]*"
_PREFIX = f"(?:(?:usa?|z|zip|zipcode|zip3|area|{'|'.join(STATES).lower()})[.:#]?)?"
_CODE = rf"^{_PREFIX}([0-9]{{1,5}}|[0-9]{{8,9}}){_MASK}$"
_DASHED = r"^(\d{5})-(\d{4}|[x*#?_]{4})$|^(\d{3})-(\d{2})$|^(\d{2})-(\d{3})$"
_MASKED = rf"^{_PREFIX}\d{{3,5}}[x*#?_…]+$"


def _read(values: pl.Series) -> pl.DataFrame:
    """The values as texts without blanks and dashes, their digits, and whether they are numbers or have a mask."""
    plain = _plain(values)
    return pl.DataFrame(
        {
            "text": plain,
            "digits": plain.str.extract(_CODE, 1),
            "masked": plain.str.contains(_MASKED),
            "dashed": values.cast(pl.String).str.contains(r"^\s*\d{5}\s?\p{Pd}\s?\d{4}\s*$"),
            "nine": plain.str.contains(r"\d{8}"),
            "number": pl.repeat(values.dtype.is_numeric(), len(values), eager=True),
        }
    )


def _plain(values: pl.Series) -> pl.Series:
    text = (
        values.cast(pl.String).str.normalize("NFKC").str.replace_many(WESTERN).str.replace(r"^(\s*\d+)\.0+\s*$", "$1")
    )
    bare = text.str.replace_all(r"[\s\p{Z}\p{Cf}'’‘`´\x22]", "").str.replace_all(r"\p{Pd}", "-").str.to_lowercase()
    return bare.str.replace(r"-+$", "").str.replace(_DASHED, "$1$2$3$4$5$6").alias("text")


_SIZE = pl.col("digits").str.len_chars()


def _is_whole(read: pl.DataFrame) -> bool:
    """Whether at least half of the codes have more than three digits."""
    codes = read.drop_nulls("digits")
    return 2 * int(codes.filter(_SIZE > 3)["count"].sum()) >= max(1, int(codes["count"].sum()))


def _areas(read: pl.DataFrame, whole: bool) -> pl.Series:
    """The first three digits; beside whole codes a number of three digits lost two, and a text of three is unclear."""
    short = pl.when(~pl.col("masked") & (pl.col("number") | (_SIZE < 3))).then(pl.col("digits").str.zfill(5))
    bare = short.when(~pl.col("masked") & ~pl.col("digits").str.starts_with("0")).then(pl.lit("000"))
    beside = bare.otherwise(pl.col("digits")) if whole else pl.col("digits").str.zfill(3)
    area = (
        pl.when(_SIZE > 5)
        .then(pl.col("digits").str.zfill(9))
        .when(_SIZE > 3)
        .then(pl.col("digits").str.zfill(5))
        .otherwise(beside)
    )
    return read.select(area.str.slice(0, 3).alias("area")).to_series()


def _over(read: pl.DataFrame, whole: bool, small: Collection[str], by_name: bool) -> int:
    """How many cells say more than three digits, or name an area of few people; by name, anything else as well."""
    cells = read.with_columns(_areas(read, whole).alias("area"))
    finer = (_SIZE > 3) | (pl.col("area").is_in(list(small)) & (pl.col("area") != "000"))
    other = ~pl.col("text").is_in(list(_NO_PLACE)) & ~_pooled(small) if by_name else pl.lit(False)
    return int(cells.filter(pl.when(pl.col("digits").is_null()).then(other).otherwise(finer))["count"].sum())


def _pooled(small: Collection[str]) -> pl.Expr:
    """Several areas in one, as coarseners write them, or fewer than three digits and a mask."""
    runs = pl.col("text").str.extract_all(r"\d+").list
    several = pl.col("text").str.contains(r"^[{\[(]?\d{1,3}(?:(?:,|to|-|\.\.|<)+\d{1,3})+[)\]}]?(?:ormissing)?$")
    masked = pl.col("text").str.contains(r"^\d{0,2}[x*#?_]+$")
    return masked | (several & ~runs.eval(pl.element().str.zfill(3).is_in(list(small))).list.all())


_NO_PLACE = frozenset(("", "*", "missing", "unknown", "other", "foreign", "abroad", "nan", "none", "na", "n/a"))

# Judging a column

_MOSTLY, _NEARLY_ALL, _TYPOS = 0.5, 0.95, 0.02
_LOWEST, _HIGHEST = 5, 99_950  # Holtsville and Ketchikan
_FEWEST_AREAS, _REPEATS = 5, 5  # different areas, and cells of each, before scattered numbers look like codes
_BY_CHANCE = 0.001  # of other numbers, that none has digits which nobody assigned


def _by_name(name: str, read: pl.DataFrame, whole: bool) -> bool:
    """Whether what the name says is clear: numbers of three digits in areas that don't exist may be whole codes.

    601 to 988 are ZIP codes of Puerto Rico without their zeros, or areas from Illinois to Washington.
    """
    if whole or "3" in name or not read["number"].any():
        return True
    return _unassigned(read, whole) <= _TYPOS


def _by_values(read: pl.DataFrame, whole: bool) -> bool | None:
    """Whether the values are certainly ZIP codes; None if they are none, or nothing tells them from other numbers."""
    n = int(read["count"].sum())
    certain = int(read.filter(pl.col("masked") | pl.col("dashed"))["count"].sum()) / n
    if certain >= _NEARLY_ALL:
        return True
    formed = read.filter(pl.col("digits").is_not_null() & (pl.col("dashed") | ~pl.col("nine")))
    if int(formed["count"].sum()) < _NEARLY_ALL * n or not _all_assigned(formed, whole):
        return None
    signs = (_has_leading_zeros, _fits_by_no_chance, _is_scattered)
    return False if certain or any(sign(formed, whole) for sign in signs) else None


def _all_assigned(formed: pl.DataFrame, whole: bool) -> bool:
    """Whether all but a few, of cells and of different areas, begin with digits that were assigned."""
    areas = _numbers(formed, whole)
    wrong = [area for area in areas if area and area not in _ASSIGNED_NUMBERS]
    return _unassigned(formed, whole) <= _TYPOS and len(wrong) <= _TYPOS * len(areas)


def _unassigned(read: pl.DataFrame, whole: bool) -> float:
    """The share of codes that begin with digits which no area has; 000 stands for none and is not counted."""
    cells = read.with_columns(_areas(read, whole).alias("area")).filter(pl.col("area") != "000")
    wrong = cells.filter(~pl.col("area").is_in(list(_ASSIGNED)))
    return int(wrong["count"].sum()) / max(1, int(cells["count"].sum()))


def _has_leading_zeros(formed: pl.DataFrame, whole: bool) -> bool:
    """Whether texts of one width have leading zeros: digits that stand for something, not numbers."""
    width = 5 if whole else 3
    texts = formed.filter(~pl.col("number") & pl.col("digits").str.starts_with("0"))
    same = bool((formed["digits"].str.len_chars() == width).all())
    return same and len(texts) > 0 and len(formed) > 1


def _fits_by_no_chance(formed: pl.DataFrame, whole: bool) -> bool:
    """Whether so many different numbers, which repeat, over so wide a range would hardly all begin as they do."""
    if int(formed["count"].sum()) < 2 * len(formed):
        return False
    numbers = _numbers(formed, whole)
    low, high = int(numbers.min() or 0), int(numbers.max() or 0)  # type: ignore[arg-type]
    inside = range(low, high + 1)
    gaps = sum(number not in _ASSIGNED_NUMBERS for number in inside)
    return exp(-gaps * len(numbers) / max(1, len(inside))) < _BY_CHANCE


def _is_scattered(formed: pl.DataFrame, whole: bool) -> bool:
    """Whether a few numbers that repeat lie scattered over the hundreds: codes, not a measurement or a round dose."""
    numbers, n = _numbers(formed, whole).sort(), int(formed["count"].sum())
    if len(numbers) < _FEWEST_AREAS or n < _REPEATS * len(formed):
        return False
    gap = (numbers[-1] - numbers[0]) / (len(numbers) - 1)
    return (numbers // 100).n_unique() >= 3 and gap >= 10 and 3 * int((numbers % 5 == 0).sum()) < len(numbers)


def _numbers(formed: pl.DataFrame, whole: bool) -> pl.Series:
    """The different areas as numbers."""
    return formed.select(_areas(formed, whole).alias("area")).to_series().unique().cast(pl.Int64)


_ASSIGNED = frozenset(STATE_OF_ZIP3)
_ASSIGNED_NUMBERS = frozenset(map(int, _ASSIGNED))


def _are_no_codes(distinct: pl.DataFrame) -> bool:
    """Whether these are no codes, whatever the name says: days, answers, numbers of which most have decimals."""
    values = distinct["value"]
    if not len(values) or values.dtype.is_temporal() or says_whether(values):
        return True
    if not values.dtype.is_float():
        return answers_share(distinct) >= _MOSTLY
    broken = distinct.filter(values != values.round())
    return int(broken["count"].sum()) >= _MOSTLY * int(distinct["count"].sum())


def _may_be_codes(distinct: pl.DataFrame) -> bool:
    """Whether the cells have one width, as far as numbers have one, and repeat; asked before anything slow."""
    values, count = distinct["value"], distinct["count"]
    n = int(count.sum())
    values = values.cast(pl.Int64) if values.dtype.is_integer() and values.dtype != pl.UInt64 else values
    if not values.dtype.is_numeric():
        return int(count.filter(values.cast(pl.String).str.contains(r"\d{2}")).sum()) >= _NEARLY_ALL * n
    ranges = ((_LOWEST, 999), (100 * _LOWEST, _HIGHEST))
    inside = [int(count.filter(values.is_between(low, high)).sum()) >= (1 - _TYPOS) * n for low, high in ranges]
    return len(values) < n and any(inside)


def _leaves_room(name: str) -> bool:
    """Whether a name that speaks of no ZIP codes leaves room for them: it is about nothing else that is known."""
    topics, words = (*NOT_PLACES, *SENSITIVE, WEIGHTS), _parts(name)
    return not (_MEASURED & set(words) or any(topic.covers(word) for word in words for topic in topics))


_MEASURED = BODY | MEASURES | LENGTHS | {"weight", "wt"}


def _parts(name: str) -> list[str]:
    words = words_in(name)
    return [*words, *(part for word in words for part in parts_of(word))]
