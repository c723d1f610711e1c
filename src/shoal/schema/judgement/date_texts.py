"""Dates as people and programs write them, in words and digits: each different text is read by itself.

First a text is folded (`shoal.schema.judgement.date_words`), its time of day is taken out, and the names of months and
days of the week in it become tokens. What is left is held against some thirty forms. A form is *strong* where one cell
proves it (17 May 2020, 2020-05-17): a column is one of dates if one cell in a hundred has such a form. It is weak where
other things look like it (5.4.10, Nov-23, 05/17): then nearly all cells must fit, and enough of them that it can't be
an accident.

A year of two digits stands first or last, whichever fits the other cells; where both fit, it isn't told. ``Nov-23`` is
a day of a year that isn't said unless its numbers can't be days.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from shoal.schema.judgement.date_words import DAY_NAME, EITHER, MONTH, folded, tokens

__all__ = ["TextForm", "read_texts", "year_within"]

Year = Literal["four digits", "two digits", "first or last", "day or year", "none"]

_LONGEST = 200  # bytes of a text that is nothing but a date
_SHORT = 20  # bytes of a text in which there is no room for a date beside other words
_AT_ONCE = 20_000  # texts that are held against all forms first, so that only those that fit some are looked at again

_D, _DD = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0[1-9]|[12]\d|3[01])"
_M, _MM = r"(?:0?[1-9]|1[0-2])", r"(?:0[1-9]|1[0-2])"
_TH = rf"{_D}(?:st|nd|rd|th|er|re|eme|e|o|a|ος)?"
_Y, _YY = r"((?:1[89]|20)\d\d)", r"'?(\d\d)"
_S, _W = r" ?[-/._, ] ?", r"[-/._, ']*"
_WEEK, _ORDINAL = r"(?:0?[1-9]|[1-4]\d|5[0-3])", r"(?:00[1-9]|0[1-9]\d|[12]\d\d|3[0-5]\d|36[0-6])"
_UNKNOWN = r"(?:un|unk|uu|xx|nk)"
_HOUR = r"(?:[01]\d|2[0-3])"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """A form of dates.

    Parameters
    ----------
    title
        What it is called.
    pattern
        What a whole text looks like; its first group is the year.
    year
        How the year stands in it.
    accident
        The chance that a value of another kind looks like it; 0 where one cell proves it.
    column
        Whether it is looked for in texts as they are, or in those without a time of day and with tokens for months.
    """

    title: str
    pattern: str
    year: Year = "four digits"
    accident: float = 0.0
    column: Literal["raw", "text"] = "text"


def _form(title: str, pattern: str, year: Year = "four digits", accident: float = 0.0) -> TextForm:
    return TextForm(title=title, pattern=rf"^(?:{pattern})\.?$", year=year, accident=accident)


FORMS: tuple[TextForm, ...] = (
    TextForm(title="moment, compact", pattern=rf"^{_Y}{_MM}{_DD}[t ]{_HOUR}:?[0-5]\d", column="raw"),
    _form("year, month, day", rf"{_Y}{_S}{_M}{_S}{_D}"),
    _form("day, month, year", rf"(?:{_D}{_S}{_M}|{_M}{_S}{_D}){_S}'?{_Y}"),
    _form("day, month in words, year", rf"{_TH}{_W}M{_W}{_Y}"),
    _form("month in words, day, year", rf"M{_W}{_TH}[-/._, ']+{_Y}"),
    _form("year, month in words, day", rf"{_Y}{_W}M{_W}{_TH}"),
    _form("year, day, month in words", rf"{_Y}{_W}{_TH}{_W}M"),
    _form("month in words, year", rf"(?:{_UNKNOWN}[-/. ]?)?M{_W}{_Y}"),
    _form("year, month, unknown day", rf"{_Y}[-/. ]?{_MM}[-/. ]?{_UNKNOWN}"),
    _form("year of accounts, quarter", r"fy ?'?(\d\d)[-/. ]*q[1-4]", "two digits"),
    _form("year, month in words", rf"{_Y}{_W}M"),
    _form("month/year", rf"{_M}[-/]{_Y}"),
    _form("year-month", rf"{_Y}[-/]{_MM}", accident=0.12),
    _form("month.year", rf"{_MM}[. ]{_Y}", accident=0.12),
    _form("year.month", rf"{_Y}[. ]{_MM}", accident=0.12),
    _form("year, quarter", rf"(?:fy ?)?{_Y}[-/. ]*(?:[qhs][1-4]|m{_MM})"),
    _form(
        "quarter, year",
        rf"(?:[qhst] ?[1-4]|[1-4](?:\.|st|nd|rd|th)? ?(?:q|qtr|quarter|quartal|trimestre|trim))[-/., ']*{_Y}",
    ),
    _form("year, week", rf"{_Y}[- ]?(?:w|kw|cw|wk|week) ?{_WEEK}(?:-?[1-7])?"),
    _form("week, year", rf"(?:w|kw|cw|wk|week|woche) ?{_WEEK}[-/, ]+{_Y}"),
    _form("moment, in one number", rf"{_Y}{_MM}{_DD}{_HOUR}[0-5]\d(?:[0-5]\d(?:[.,]\d+)?)?(?: ?[+-]\d{{4}}|z)?"),
    _form("year, month, day in one number", rf"{_Y}{_MM}{_DD}", accident=0.04),
    _form("day, month, year of another calendar", rf"{_D}{_S}(?:{_M}|M){_S}2[45]\d\d", "none"),
    _form("year of another calendar, month, day", rf"1[34]\d\d[-/]{_MM}[-/]{_DD}", "none", 0.04),
    _form("month and day of any year", rf"--{_MM}-?{_DD}", "none"),
    _form("day, month in words, two digits", rf"{_TH}{_W}M{_W}{_YY}", "first or last"),
    _form("two digits, month in words, day", rf"{_YY}{_W}M{_W}{_D}", "first or last"),
    _form("month in words, day, two digits", rf"M{_W}{_TH}[-/._, ']+{_YY}", "two digits"),
    _form("month in words, two digits after an apostrophe", r"M[-/._, ]*'(\d\d)", "two digits"),
    _form("year and day of the year", rf"{_Y}[-/. ]{_ORDINAL}", accident=0.37),
    _form("day, month, two digits", rf"(?:{_D}{_S}{_M}|{_M}{_S}{_D}){_S}{_YY}", "first or last", 0.37),
    _form("two digits, month, day", rf"{_YY}{_S}{_M}{_S}{_D}", "first or last", 0.37),
    _form("month in words, day", rf"M{_W}(\d\d?)(?:st|nd|rd|th)?", "day or year", 0.4),
    _form("day, month in words", rf"{_TH}{_W}M", "none", 0.4),
    _form("two digits, month in words", rf"(\d\d){_W}M", "day or year", 0.4),
    _form("month in words", "M", "none", 0.4),
    _form("day.month.", rf"{_D}\. ?{_M}\.", "none", 0.2),
    _form("day and month", rf"{_DD}[-/.]{_MM}|{_MM}[-/.]{_DD}", "none", 0.6),
)
"""The forms; a text has the first that fits."""

_EXIF, _OTHER_MARKS = r"^(\d{4}):(\d\d):(\d\d)", r"(\d) ?[|+;*\\~•⁄∕] ?(\d)"
_QUARTER = r"\bquart(?:al|er|ier)s?\b"  # before the names of days, of which one is within it
_MIDDLE_DOTS = r"(\d)·(\d{1,2})·(\d)"  # a single one may be a decimal point
_ROMAN = r"^(\d{1,2})[-/. ]+(?:i{1,3}|iv|vi{0,3}|ix|xi{0,2})[-/. ]+(\d{2,4})"
_TIME = (
    r"(?:^|[ t:,])\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\b\.?)?(?: ?z\b| (?:utc|gmt|[a-z]{2,4}t)\b)?"
    r"(?: ?[+-]\d{2}:?\d{2}\b)?(?: ?\([a-z0-9 ]+\))?"
    r"|t\d{4}(?:\d{2}(?:[.,]\d+)?)?(?:z|[+-]\d{2}:?\d{2})?$|[ t]\d{1,2} ?h ?\d{0,2}$| \d{1,2} ?(?:[ap]\.?m\.?|uhr)$"
)
_WITHIN = (
    rf"(?:^|[^\d.\p{{L}}-])(?:(?:1[89]|20)\d\d[-/.]{_M}[-/.]{_D}|(?:{_D}[-/.]{_M}|{_M}[-/.]{_D})[-/.](?:(?:1[89]|20)\d\d|\d\d)"
    rf"|{_TH}[-/. ]*M[-/., ]*(?:\d{{4}}|'?\d\d)|M[. ]*{_TH},? \d{{4}})(?:$|[^\d.-]|\.$|\. )"
)


_SURELY_WITHIN = (
    rf"(?:^|\D)(?:(?:1[89]|20)\d\d[-/.]{_MM}[-/.]{_DD}|(?:{_DD}[-/.]{_MM}|{_MM}[-/.]{_DD})[-/.](?:19|20)\d\d"
    rf"|{_TH}[-/. ]*M[-/., ]*(?:19|20)\d\d)(?:\D|$)"
)


def read_texts(texts: pl.Series) -> pl.DataFrame:
    """The reading of each text: its form by place (`form`), whether one is inside (`within`), and its year.

    `year` is a number of four digits, or of two where `short` says so; it is missing where the form shows none, or
    none for certain.
    """
    plain = folded(texts)
    if not bool(plain.str.contains(r"\d").any()) and not _may_have_words(plain):
        return _nothing(plain)
    shapes = _tokenised(plain.set(plain.str.len_bytes() > _LONGEST, None))
    made = _with_short_years(_held_against(plain, shapes))
    long = (plain.str.len_bytes() > _SHORT) & made["form"].is_null()
    inside = _tokenised(plain.set(~long, None)).str.contains(_WITHIN) if bool(long.any()) else long
    sure = shapes.str.contains(_SURELY_WITHIN).fill_null(False) & made["form"].is_null()
    return made.with_columns((inside.fill_null(False) | sure).alias("within"))


def year_within(texts: pl.Series) -> pl.Series:
    """The first year of four digits in each text."""
    return folded(texts).str.extract(r"(?:^|\D)((?:1[89]|20)\d\d)(?:\D|$)", 1).cast(pl.Int32, strict=False)


def _nothing(plain: pl.Series) -> pl.DataFrame:
    """The reading of texts none of which can be a date."""
    frame = pl.DataFrame({"text": plain})
    none, no = pl.lit(None), pl.lit(False)
    return frame.with_columns(form=none.cast(pl.Int16), year=none.cast(pl.Int32), short=no, within=no)


def _tokenised(plain: pl.Series) -> pl.Series:
    """Texts without their time of day and the names of days, with a token for each name of a month."""
    plain = plain.str.strip_chars("\"'[](){}<>~* ,").str.replace(_EXIF, "$1-$2-$3")
    text = plain.str.replace(_TIME, " ") if bool(plain.str.contains(r"\d[:th]").any()) else plain
    if bool(text.str.contains(_OTHER_MARKS).any()):
        text = text.str.replace_all(_OTHER_MARKS, "$1/$2").str.replace_all(_OTHER_MARKS, "$1/$2")
    text = text.str.replace_all(_MIDDLE_DOTS, "$1/$2/$3")
    if bool(text.str.contains(_ROMAN).any()):
        text = text.str.replace(_ROMAN, "$1 M $2")
    if _may_have_words(text):
        text = text.str.replace_all(_QUARTER, "q")
        text = text.str.replace_many(tokens(), leftmost=True)
        if bool(text.str.contains(f"[{DAY_NAME}{EITHER}]").any()):
            text = text.str.replace(rf"^{EITHER}\.?,? ?(.*[{MONTH}{EITHER}])", "$1").str.replace_all(EITHER, MONTH)
            text = text.str.replace_all(rf"\(?{DAY_NAME}[.,)]*", " ")
        text = text.str.replace_all(r"^\p{Ll}{1,2}[.,]* (\d)", "$1").str.replace_all(
            r"(\d|M)\.? ?(?:m|d|г|р|r|ж)\b\.?", "$1"
        )
        text = (
            text.str.replace(r"^[\p{Ll}]{2,3} ", "")
            if bool(text.str.contains(r"^(?:de|el|den|the|le) ").any())
            else text
        )
    return text.str.replace_all(" +", " ").str.strip_chars(" ,'")


def _may_have_words(text: pl.Series) -> bool:
    """Whether names of months may be among texts: words beside numbers, or a few single words."""
    if bool(text.str.contains(r"\p{L}{2,}.*\d|\d.*\p{L}{2}").any()):
        return True
    single = text.drop_nulls()
    return 3 < len(single) <= _MOST_MONTHS and bool(single.str.contains(r"^\p{L}{3,12}\.?$").all())


def _held_against(plain: pl.Series, shapes: pl.Series) -> pl.DataFrame:
    """The first form that fits each text, and its year; each form looks only at what is left."""
    frame = pl.DataFrame({"raw": plain, "text": shapes}).with_row_index("place")
    left, found = frame.filter(pl.col("text").str.contains(r"\d|M")), []
    for place, form in _worth_a_look(left):
        fits = pl.col(form.column).str.contains(form.pattern)
        hits, left = left.filter(fits), left.filter(~fits)
        year = pl.col(form.column).str.extract(form.pattern, 1) if form.year != "none" else pl.lit(None, pl.String)
        found.append(hits.select("place", pl.lit(place, pl.Int16).alias("form"), year.cast(pl.Int32).alias("year")))
        if left.is_empty():
            break
    empty = pl.DataFrame(schema={"place": pl.UInt32, "form": pl.Int16, "year": pl.Int32})
    return frame.select("place", "text").join(pl.concat([empty, *found]), on="place", how="left", maintain_order="left")


def _worth_a_look(left: pl.DataFrame) -> list[tuple[int, TextForm]]:
    """The forms that some text fits; all of them, where texts are many."""
    if left.is_empty() or len(left) > _AT_ONCE:
        return [] if left.is_empty() else list(enumerate(FORMS))
    any_fits = [pl.col(form.column).str.contains(form.pattern).any().alias(str(i)) for i, form in enumerate(FORMS)]
    told = left.select(any_fits).row(0)
    return [(i, form) for i, form in enumerate(FORMS) if told[i]]


def _with_short_years(made: pl.DataFrame) -> pl.DataFrame:
    """Say which years have two digits, and drop those of which it isn't certain that they are years."""
    if not any(FORMS[place].year in _SHORT_YEARS for place in made["form"].drop_nulls().unique()):
        return made.with_columns(short=pl.lit(False))
    wanders, either = _in(made, "first or last"), _in(made, "day or year")
    short = wanders | either | _in(made, "two digits")
    year = made["year"].zip_with(~wanders, _first_or_last(made["text"].set(~wanders, None)))
    year = year.zip_with(~either, _if_years(made["year"].set(~either, None)))
    return made.with_columns(year.alias("year"), short.alias("short"))


def _in(made: pl.DataFrame, year: Year) -> pl.Series:
    """Which texts have a form in which the year stands so."""
    return made["form"].is_in([i for i, form in enumerate(FORMS) if form.year == year]).fill_null(False)


def _first_or_last(texts: pl.Series) -> pl.Series:
    """The number of each text that is the year: the first of all, or the last of all; none where both may be."""
    first, middle, last = (_number(texts, at) for at in (r"^'?(\d\d?)\D", r"^'?\d\d?\D+(\d\d?)\D", r"\D(\d\d?)\.?$"))
    if bool(texts.str.contains(r"'\d\d\.?$").any()) or bool((middle > 12).any()) or not _are_days(last):
        return last if _are_days(first) else last.set(last.is_not_null(), None)
    if not _are_days(first):
        return first
    days, years = sorted((first, last), key=lambda numbers: -numbers.n_unique())
    told = days.n_unique() >= _MOST_DAYS and years.n_unique() <= 0.75 * days.n_unique()
    return years if told else last.set(last.is_not_null(), None)


def _if_years(numbers: pl.Series) -> pl.Series:
    """Numbers beside months, where they must be years: some is no day, or many lie within a few."""
    known = numbers.drop_nulls()
    few = len(known) >= _MOST_DAYS and int(known.max()) - int(known.min()) <= _FEW_YEARS  # type: ignore[arg-type]
    return numbers if not _are_days(numbers) or few else numbers.set(numbers.is_not_null(), None)


def _number(texts: pl.Series, pattern: str) -> pl.Series:
    return texts.str.extract(pattern, 1).cast(pl.Int32)


def _are_days(numbers: pl.Series) -> bool:
    return bool(numbers.drop_nulls().is_between(1, 31).all())


_SHORT_YEARS = ("two digits", "first or last", "day or year")
_MOST_DAYS, _FEW_YEARS, _MOST_MONTHS = 20, 15, 40
