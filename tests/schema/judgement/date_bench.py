"""A bench of written dates, set down before the rules that read them: forms, and what each is called where it tells.

Each form writes moments the way some program or person does. `SEEN` are days on which people were seen, 2012 to 2024;
`BORN` are days of birth, 1938 to 2004. A form whose name tells is called `telling`; the neutral name is ``x7``. A form
that fills several columns gives them by name, and neutral names by place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from babel.dates import format_date

from shoal.rng import stream

ROWS = 240


@dataclass(frozen=True)
class Form:
    """A way of writing a day: what it is called, where its name tells, how a moment is written, and which moments."""

    title: str
    telling: str
    write: Callable[[datetime], Any]
    born: bool = False

    def values(self) -> list[Any]:
        """The cells of a column of people."""
        return [self.write(moment) for moment in self.moments()]

    def moments(self) -> list[datetime]:
        """The moments that are written."""
        return BORN if self.born else SEEN


def _moments(first: date, last: date, name: str) -> list[datetime]:
    draw = stream(3, "bench of dates", name)
    days, seconds = draw.integers((last - first).days, size=ROWS), draw.integers(86_400, size=ROWS)
    start = datetime(first.year, first.month, first.day)
    return [start + timedelta(days=int(d), seconds=int(s)) for d, s in zip(days, seconds, strict=True)]


SEEN = _moments(date(2012, 3, 1), date(2024, 11, 30), "seen")
BORN = _moments(date(1938, 1, 1), date(2004, 12, 31), "born")


def strf(form: str) -> Callable[[datetime], str]:
    return lambda moment: moment.strftime(form)


def babel(locale: str, form: str) -> Callable[[datetime], str]:
    return lambda moment: format_date(moment.date(), form, locale=locale)


def days_since(origin: date, *, part: bool = False) -> Callable[[datetime], float]:
    def write(moment: datetime) -> float:
        days = (moment.date() - origin).days
        return days + round((moment.hour * 60 + moment.minute) / 1440, 5) if part else days

    return write


def seconds_since(origin: datetime, each: int = 1) -> Callable[[datetime], int]:
    return lambda moment: int((moment - origin).total_seconds()) * each


def months_since_1960(moment: datetime) -> int:
    return (moment.year - 1960) * 12 + moment.month - 1


def iso_week(moment: datetime, form: str) -> str:
    year, week, day = moment.isocalendar()
    return form.format(year=year, week=week, day=day)


def decimal_year(moment: datetime) -> float:
    first, after = datetime(moment.year, 1, 1), datetime(moment.year + 1, 1, 1)
    return round(moment.year + (moment - first) / (after - first), 3)


UNIX, SAS, STATA, SPSS = datetime(1970, 1, 1), datetime(1960, 1, 1), datetime(1960, 1, 1), datetime(1582, 10, 14)

WITH_THE_YEAR: tuple[Form, ...] = (
    # digits with marks between
    Form("ISO", "admission_date", strf("%Y-%m-%d")),
    Form("ISO with slashes", "visit_date", strf("%Y/%m/%d")),
    Form("ISO with points", "date_seen", strf("%Y.%m.%d")),
    Form("ISO with blanks", "date_of_visit", strf("%Y %m %d")),
    Form("ISO with underscores", "visit_date", strf("%Y_%m_%d")),
    Form("ISO with a time", "admit_dt", strf("%Y-%m-%dT%H:%M:%S")),
    Form("ISO with fractions and a zone", "timestamp", strf("%Y-%m-%d %H:%M:%S.123+02:00")),
    Form("ISO in en dashes", "discharge_date", strf("%Y–%m–%d")),
    Form("German digits", "Aufnahmedatum", strf("%d.%m.%Y")),
    Form("German digits with blanks", "Datum", lambda m: f"{m.day}. {m.month}. {m.year}"),
    Form("German digits with narrow blanks", "Datum", lambda m: f"{m.day}.\u202f{m.month}.\u202f{m.year}"),
    Form("British digits", "date_of_admission", strf("%d/%m/%Y")),
    Form("American digits", "service_date", lambda m: f"{m.month}/{m.day}/{m.year}"),
    Form("American digits with a time", "service_date", strf("%m/%d/%Y %I:%M %p")),
    Form("Dutch digits", "opnamedatum", strf("%d-%m-%Y")),
    Form("digits in em dashes", "visit_date", strf("%d—%m—%Y")),
    Form("digits in blanks", "fecha", strf("%d %m %Y")),
    Form("digits in no-break blanks", "fecha", strf("%d\u00a0%m\u00a0%Y")),
    Form("digits after an apostrophe", "visit_date", strf("'%d/%m/%Y")),
    Form("digits of full width", "visit_date", lambda m: m.strftime("%Y-%m-%d").translate(_FULL_WIDTH)),
    Form("digits of Arabic script", "visit_date", lambda m: m.strftime("%d/%m/%Y").translate(_ARABIC)),
    Form("Chinese", "visit_date", lambda m: f"{m.year}年{m.month}月{m.day}日"),
    Form("Korean", "visit_date", lambda m: f"{m.year}년 {m.month}월 {m.day}일"),
    Form("two digits of the year, points", "Entlassdatum", strf("%d.%m.%y")),
    Form("two digits of the year, slashes", "visit_date", strf("%m/%d/%y")),
    Form("two digits of the year, first", "visit_date", strf("%y-%m-%d")),
    Form("two digits after an apostrophe", "visit_date", strf("%d.%m.'%y")),
    Form("born, two digits of the year", "dob", strf("%d/%m/%y"), born=True),
    # months as words
    Form("English, long", "visit_date", strf("%B %d, %Y")),
    Form("English, day first", "visit_date", lambda m: f"{m.day} {m:%B} {m.year}"),
    Form("English, ordinal", "visit_date", lambda m: f"{m.day}{_th(m.day)} of {m:%B}, {m.year}"),
    Form("English, short with marks", "visit_date", strf("%d-%b-%Y")),
    Form("English, short, two digits", "visit_date", strf("%d-%b-%y")),
    Form("English, weekday first", "visit_date", strf("%A, %B %d, %Y")),
    Form("SAS, glued", "visit_date", lambda m: m.strftime("%d%b%Y").upper()),
    Form("SAS, with a time", "visit_dt", lambda m: m.strftime("%d%b%Y:%H:%M:%S").upper()),
    Form("Unix, as `date` prints it", "modified", strf("%a %b %d %H:%M:%S CET %Y")),
    Form("web server", "logged", strf("%d/%b/%Y:%H:%M:%S +0000")),
    Form("mail", "sent", strf("%a, %d %b %Y %H:%M:%S +0100")),
    Form("German, long", "Aufnahmedatum", babel("de", "d. MMMM y")),
    Form("German, weekday first", "Datum", babel("de", "EEEE, d. MMMM y")),
    Form("German, short", "Datum", babel("de", "dd. MMM y")),
    Form("French, long", "date_entree", babel("fr", "d MMMM y")),
    Form("French, weekday and short", "date_entree", babel("fr", "EEE d MMM y")),
    Form("French without accents", "date_entree", lambda m: _plain(format_date(m.date(), "d MMMM y", locale="fr"))),
    Form("Spanish, long", "fecha_ingreso", babel("es", "long")),
    Form("Spanish, short", "fecha", babel("es", "d-MMM-y")),
    Form("Italian, long", "data_ricovero", babel("it", "full")),
    Form("Portuguese, long", "data_alta", babel("pt", "full")),
    Form("Dutch, long", "datum", babel("nl", "EEEE d MMMM y")),
    Form("Dutch, short", "datum", babel("nl", "d MMM y")),
    Form("Swedish, long", "datum", babel("sv", "EEEE d MMMM y")),
    Form("Danish, long", "dato", babel("da", "full")),
    Form("Norwegian, long", "dato", babel("nb", "full")),
    Form("Finnish, long", "paivamaara", babel("fi", "d. MMMM y")),
    Form("Polish, long", "data_przyjecia", babel("pl", "d MMMM y")),
    Form("Czech, long", "datum", babel("cs", "d. MMMM y")),
    Form("Slovak, long", "datum", babel("sk", "d. MMMM y")),
    Form("Hungarian, long", "datum", babel("hu", "y. MMMM d.")),
    Form("Romanian, long", "data", babel("ro", "d MMMM y")),
    Form("Turkish, long", "tarih", babel("tr", "d MMMM y EEEE")),
    Form("Russian, long", "visit_date", babel("ru", "long")),
    Form("Ukrainian, long", "visit_date", babel("uk", "d MMMM y")),
    Form("Greek, long", "visit_date", babel("el", "d MMMM y")),
    Form("Croatian, long", "datum", babel("hr", "d. MMMM y.")),
    Form("Lithuanian, long", "visit_date", babel("lt", "long")),
    Form("Latvian, long", "datums", babel("lv", "long")),
    Form("Estonian, long", "visit_date", babel("et", "d. MMMM y")),
    Form("Indonesian, long", "tanggal", babel("id", "d MMMM y")),
    Form("Vietnamese, long", "ngay", babel("vi", "d MMMM, y")),
    Form("Arabic, long", "visit_date", babel("ar", "d MMMM y")),
    Form("Hebrew, long", "visit_date", babel("he", "d MMMM y")),
    Form("Hindi, long", "visit_date", babel("hi", "d MMMM y")),
    # months and quarters
    Form("month and year", "visit_month", strf("%B %Y")),
    Form("month and year, short", "visit_month", strf("%b-%Y")),
    Form("month and two digits after an apostrophe", "visit_month", strf("%b '%y")),
    Form("month and two digits", "visit_month", strf("%b-%y")),
    Form("year and month", "month", strf("%Y-%m")),
    Form("month and year in digits", "month", strf("%m/%Y")),
    Form("year and quarter", "quarter", lambda m: f"{m.year}-Q{(m.month + 2) // 3}"),
    Form("quarter and year", "quarter", lambda m: f"Q{(m.month + 2) // 3} {m.year}"),
    # ordinal, week, compact
    Form("ordinal, one number", "visit_date", lambda m: int(m.strftime("%Y%j"))),
    Form("ordinal, with a dash", "visit_date", strf("%Y-%j")),
    Form("ordinal, text", "visit_date", strf("%Y%j")),
    Form("ISO week and day", "visit_date", lambda m: iso_week(m, "{year}-W{week:02d}-{day}")),
    Form("ISO week", "visit_week", lambda m: iso_week(m, "{year}-W{week:02d}")),
    Form("ISO week, compact", "visit_date", lambda m: iso_week(m, "{year}W{week:02d}{day}")),
    Form("YYYYMMDD", "visit_date", lambda m: int(m.strftime("%Y%m%d"))),
    Form("YYYYMMDD, text", "visit_date", strf("%Y%m%d")),
    Form("YYYYMMDD, as a float", "visit_date", lambda m: float(m.strftime("%Y%m%d"))),
    Form("MMDDYYYY", "visit_date", strf("%m%d%Y")),
    Form("DDMMYYYY", "visit_date", strf("%d%m%Y")),
    Form("YYYYMM", "visit_month", lambda m: int(m.strftime("%Y%m"))),
    Form("YYMMDD", "visit_date", lambda m: int(m.strftime("%y%m%d"))),
    Form("YYMMDD, text", "visit_date", strf("%y%m%d")),
    Form("YYMMDD, born", "dob", strf("%y%m%d"), born=True),
    Form("DDMMYY, text", "visit_date", strf("%d%m%y")),
    Form("compact with a time", "visit_dt", strf("%Y%m%dT%H%M%SZ")),
    Form("compact with a time, a blank between", "visit_dt", strf("%Y%m%d %H:%M")),
    Form("HL7, to the second", "msg_time", strf("%Y%m%d%H%M%S")),
    Form("HL7, to the second, as a number", "msg_time", lambda m: int(m.strftime("%Y%m%d%H%M%S"))),
    Form("HL7, to the minute", "msg_time", strf("%Y%m%d%H%M")),
    Form("HL7, with a zone", "msg_time", strf("%Y%m%d%H%M%S.000-0500")),
    # counted from an origin
    Form("Unix seconds", "created_at", seconds_since(UNIX)),
    Form("Unix seconds, as text", "created_at", lambda m: str(seconds_since(UNIX)(m))),
    Form("Unix seconds with parts", "created_at", lambda m: seconds_since(UNIX)(m) + 0.25),
    Form("Unix milliseconds", "timestamp", seconds_since(UNIX, 1000)),
    Form("Unix microseconds", "timestamp", seconds_since(UNIX, 10**6)),
    Form("SAS days", "visit_date", days_since(date(1960, 1, 1))),
    Form("SAS days, born", "birth_date", days_since(date(1960, 1, 1)), born=True),
    Form("SAS moments", "visit_dt", seconds_since(SAS)),
    Form("Stata milliseconds", "visit_dt", seconds_since(STATA, 1000)),
    Form("Excel days", "visit_date", days_since(date(1899, 12, 30))),
    Form("Excel days with a time", "visit_date", days_since(date(1899, 12, 30), part=True)),
    Form("Excel days, born", "dob", days_since(date(1899, 12, 30)), born=True),
    Form("Excel days of the Macintosh", "visit_date", days_since(date(1904, 1, 1))),
    Form("Excel days, as text", "visit_date", lambda m: str(days_since(date(1899, 12, 30))(m))),
    Form("SPSS seconds", "visit_date", seconds_since(SPSS)),
    Form("R days", "visit_date", days_since(date(1970, 1, 1))),
    Form("R days, born", "birth_date", days_since(date(1970, 1, 1)), born=True),
    Form("Julian days", "visit_date", lambda m: m.toordinal() + 1721425),
    Form("Julian days, modified", "visit_date", lambda m: m.toordinal() - 678576),
    Form("Matlab days", "visit_date", lambda m: m.toordinal() + 366),
    Form("Stata months", "visit_month", months_since_1960),
    Form("decimal year", "visit_date", decimal_year),
    Form("decimal year, born", "birthdate", decimal_year, born=True),
)
"""Forms that show a day, a month or a quarter with its year."""

WITHOUT_A_YEAR: tuple[Form, ...] = (
    Form("weekday, day, month", "visit_date", lambda m: f"{m:%a} {m.day} {m:%B}"),
    Form("day and month", "birthday", lambda m: f"{m.day} {m:%b}", born=True),
    Form("month and day", "birthday", strf("%B %d"), born=True),
    Form("month and day with a dash", "visit_date", strf("%b-%d")),
    Form("German day and month", "geburtstag", babel("de", "d. MMMM"), born=True),
    Form("German day and month in digits", "Datum", strf("%d.%m.")),
    Form("day and month in digits", "visit_date", strf("%d/%m")),
    Form("month and day in XML", "birthday", strf("--%m-%d"), born=True),
)
"""Days of a year that isn't said: nothing of them may be written."""

SEVERAL_COLUMNS: tuple[tuple[str, dict[str, Callable[[datetime], int]]], ...] = (
    ("dday, dmonth", {"dday": lambda m: m.day, "dmonth": lambda m: m.month, "dyear": lambda m: m.year}),
    ("day, month", {"adm_day": lambda m: m.day, "adm_mon": lambda m: m.month}),
    ("Tag, Monat, Jahr", {"Tag": lambda m: m.day, "Monat": lambda m: m.month, "Jahr": lambda m: m.year}),
    ("jour, mois", {"jour": lambda m: m.day, "mois": lambda m: m.month, "annee": lambda m: m.year}),
    ("bday, bmonth", {"bday": lambda m: m.day, "bmonth": lambda m: m.month, "byear": lambda m: m.year}),
)
"""Days, months and years in columns of their own."""

YEARS_OF_BIRTH: tuple[Form, ...] = (
    Form("year of birth", "yob", lambda m: m.year, born=True),
    Form("year of birth with a blank", "yob", lambda m: f"{m.year} ", born=True),
    Form("year of birth after an apostrophe", "yob", lambda m: f"'{m.year}", born=True),
    Form("year of birth, of full width", "yob", lambda m: str(m.year).translate(_FULL_WIDTH), born=True),
)
"""Years that may show an age over 89."""

_FULL_WIDTH = str.maketrans("0123456789-", "０１２３４５６７８９－")
_ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
_ACCENTS = str.maketrans("éû", "eu")


def _plain(text: str) -> str:
    return text.translate(_ACCENTS)


def _th(day: int) -> str:
    return {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}.get(day, "th")
