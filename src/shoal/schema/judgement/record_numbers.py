"""Numbers of people and of records: by the words of a name in several languages, and by the form of values.

The form of a number of records is that of no measurement: a run that misses few numbers, a fixed pattern of letters and
digits, digits of one length that spread evenly, hexadecimal or base64 keys; and (nearly) all values differ, or each
comes about as often as any other, as visits do. Codes of a classification repeat: a few of them make up most cells.

A name (``Patientennr``, ``n_dossier``, ``chart``) and values that could be numbers of anything decide together.

Not promised: amounts that all differ, have one length and are spread evenly look like numbers of records; where the
name doesn't say what they measure, a person must.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import polars as pl

from shoal.schema.evidence import words_in
from shoal.schema.judgement.spelling import tidied, unaccented
from shoal.schema.name_words import (
    EVENT,
    LENGTHS,
    MEASURES,
    NOT_NUMBERED,
    NUMBER,
    NUMBERED,
    PEOPLE,
    PERSON,
    PERSON_NUMBERS,
    QUASI,
    SENSITIVE,
    WEIGHTS,
    is_institution,
    parts_of,
)

__all__ = ["RecordNumbers", "could_be_numbers", "names_records", "record_numbers"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FEW = 20  # different values, below which nothing numbers people
_FEWEST = 30  # cells, below which a form alone says nothing
_NEARLY_ALL, _HALF = 0.9, 0.5  # of the cells differ
_PEOPLE = _set(
    "patient patienten patientin paciente patiente malade assure assures versicherte versicherten klient klienten "
    "kunde kunden mitarbeiter person personne persona sujet sujeto subject proband probanden teilnehmer "
    "participante deelnemer client pazienti paziente utente medewerker klant pasient potilas pacjent pacient bolnik "
    "fall faelle akte akten dossier dossiers expediente historia cartella sejour ingreso ricovero zaak "
    "episode journal chart record case encounter visit claim admission specimen sample accession aufnahme "
    "behandlung versicherung"
)
_NUMBERS = _set(
    "nr nummer no num numero number nbr id ident kennung kennziffer kennzeichen key schluessel schlussel chiffre "
    "clave folio cislo broj zeichen nro n"
)
_ALONE = _set(
    "chart mrn emr nhc ipp iep nss nir bsn pesel cpr cnp ahv svnr kvnr matricule matricula dossier expediente "
    "historia cartella aktenzeichen utente tessera dni nie curp rut cpf aadhaar empi accession barcode usubjid "
    "personnummer personnr personkennzeichen codicefiscale burgerservicenummer sozialversicherungsnummer"
)
_IN_ONE = re.compile(
    rf"^(?:{'|'.join(sorted(_PEOPLE | {'pat', 'vers', 'kassen', 'polis', 'sozialversicherungs'}, key=len)[::-1])})"
    rf"(?:s|en|n)?(?:{'|'.join(sorted(_NUMBERS - {'n', 'no'} | {'no'}, key=len)[::-1])})$"
)
_MEASURED = _set("weight weights wt wts wgt size volume count counts total rank")
_JOINED = _set("de del du des della di do da of")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordNumbers:
    """Numbers of people or records that a column holds: why, in words, and how sure that is."""

    how: str
    certainty: Literal["certain", "likely", "possible"]
    by_name: bool
    by_values: bool


def record_numbers(name: str, distinct: pl.DataFrame, label: str = "") -> RecordNumbers | None:
    """The numbers of people or records that a column holds, if it does; `distinct` has its values with their rows."""
    values, rows = distinct["value"], int(distinct["count"].sum())
    if len(values) < _FEW or values.dtype.is_temporal() or values.dtype == pl.Boolean:
        return None
    texts = _as_written(values)
    if texts is None:
        return None
    seen = _Seen(
        texts=texts,
        written=values if values.dtype == pl.String else texts,
        rows=rows,
        differ=len(texts) / max(1, rows),
        most=int(distinct["count"].max() or 0),  # type: ignore[arg-type]
        numeric=values.dtype.is_numeric(),
    )
    measured = _names_measure(name)
    how = _by_form(seen, measured=measured)
    named = names_records(name) or (seen.differ >= _HALF and _ends_as_number(name))
    if how and seen.differ < _HALF and _of_an_institution(name):
        return RecordNumbers(
            how=f"{how}; the name suggests an institution", certainty="possible", by_name=False, by_values=True
        )
    if named and (how or seen.could_number) and seen.even:
        reason = f"the name suggests a number of people or records; {how or seen.described}"
        return RecordNumbers(how=reason, certainty="certain", by_name=True, by_values=bool(how))
    if how:
        return RecordNumbers(how=how, certainty="certain", by_name=False, by_values=True)
    if seen.could_number and seen.nearly_all and not measured and rows >= _FEW:
        return RecordNumbers(how=seen.described, certainty="possible", by_name=False, by_values=True)
    return None


def names_records(name: str) -> bool:
    """Whether the words of a column's name speak of a number of people or records, in one of several languages."""
    *words, whole = words_in(unaccented(name))
    if {whole, *words} & (_ALONE | PERSON_NUMBERS) or any(_IN_ONE.match(word) for word in (whole, *words)):
        return True
    plain = [word for word in words if word not in _JOINED]
    if any(_is_pair(one, other) or (one in _NUMBERS - {"n"} and other in _PEOPLE) for one, other in pairwise(plain)):
        return True
    return bool(words) and all(word in PERSON | {"id", "key"} for word in words)


def _is_pair(one: str, other: str) -> bool:
    return (one in PERSON | EVENT | _PEOPLE and other in NUMBER | _NUMBERS) and other not in {"n", "code"}


def _ends_as_number(name: str) -> bool:
    """``BandNumber``, ``caseid``, ``uid``: a number of something, of records only if its values mostly differ."""
    *words, whole = words_in(unaccented(name))
    last = words[-1] if words else whole
    return last in (NUMBER | _NUMBERS) - {"code", "n"} or (
        re.fullmatch(NUMBERED, whole) is not None and whole not in NOT_NUMBERED
    )


def _of_an_institution(name: str) -> bool:
    words = words_in(unaccented(name))
    return not any(word in PEOPLE for word in words) and any(is_institution(word) for word in words)


def _names_measure(name: str) -> bool:
    """Whether a name says that something is measured, counted or dated, so that digits alone number nobody."""
    words = words_in(unaccented(name))
    topics = (WEIGHTS, *QUASI, *SENSITIVE)
    plain = MEASURES | LENGTHS | _MEASURED
    return any(word in plain or parts_of(word) or any(topic.covers(word) for topic in topics) for word in words)


def could_be_numbers(values: pl.Series) -> bool:
    """Whether values could be numbers of anything: without blanks between words, and nearly all with a digit."""
    texts = _as_written(values)
    return texts is not None and _could_number(texts)


def _as_written(values: pl.Series) -> pl.Series | None:
    """Values as texts: whole numbers without decimals, even where they are floats; None for measurements."""
    if values.dtype.is_float():
        whole = bool((values == values.round()).all()) and float(values.abs().max() or 0.0) < 1e18  # type: ignore[arg-type]
        return values.cast(pl.Int64).cast(pl.String) if whole else None
    if values.dtype.is_integer():
        return values.cast(pl.String)
    return tidied(values.str.normalize("NFKC")).str.to_uppercase() if values.dtype == pl.String else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What is known of the different texts of a column."""

    texts: pl.Series  # in capitals
    written: pl.Series  # as they came
    rows: int
    differ: float
    most: int
    numeric: bool

    @property
    def nearly_all(self) -> bool:
        """Whether (nearly) all values differ."""
        return self.differ >= _NEARLY_ALL

    @property
    def even(self) -> bool:
        """Whether the values differ, or each comes about as often as any other, as visits and people do."""
        return self.nearly_all or self.most <= 5 + 6 / self.differ

    @property
    def could_number(self) -> bool:
        return _could_number(self.texts)

    @property
    def described(self) -> str:
        if self.nearly_all:
            return f"{self.differ:.0%} of its {self.rows:,} cells differ, and they measure nothing that the name says"
        return f"{len(self.texts):,} different numbers, {1 / self.differ:.1f} rows each"


def _could_number(texts: pl.Series) -> bool:
    """No blanks between words, a digit in nearly every value, and no decimals, ranges, times or units."""
    token = texts.str.contains(r"^[\p{L}\d]+(?:[ ._/:-][\p{L}\d]+){0,5}$") & texts.str.contains(r"\d")
    words = texts.str.contains(r"\p{L}{5,} |\d ?(?:MG|ML|KG|CM|MM|%|MCG|UNT|YEARS?|DAYS?|MONTHS?)$")
    plain = texts.str.contains(r"^-?\d+\.\d+$|^-|^\d{1,2}:\d\d")
    return float((token & ~words & ~plain).mean() or 0.0) >= 0.95  # type: ignore[arg-type]


def _by_form(seen: _Seen, *, measured: bool) -> str:
    """What the form of values shows them to be; empty where it shows nothing."""
    keys = _keys(seen)
    if keys:
        return keys
    if seen.rows < _FEWEST or not seen.could_number:
        return ""
    digits = float(seen.texts.str.contains(r"^\d+$").mean() or 0.0)  # type: ignore[arg-type]
    if digits >= 0.98:
        return "" if measured else _by_digits(seen)
    return _by_pattern(seen)


_HEX, _BASE64 = r"^(?:[0-9A-F]{2}){4,}$", r"^[A-Za-z0-9+/_-]{12,}={0,2}$"
_ACCOUNT = r"^[A-Z]{2}\d{2} ?[A-Z0-9]{4} ?\d{4} ?\d{2,4}(?: ?[A-Z0-9]{1,4}){0,5}$"


def _keys(seen: _Seen) -> str:
    """Hexadecimal keys, base64, account numbers: whatever they are called, and if they repeat."""
    bare = seen.texts.str.replace_all("[{}-]", "")
    lengths = bare.str.len_chars()
    length = int(lengths.min() or 0)  # type: ignore[arg-type]
    if length == lengths.max() and length >= 8 and bool(bare.str.contains(_HEX).all()):
        mixed = float((bare.str.contains(r"\d") & bare.str.contains("[A-F]")).mean() or 0.0)  # type: ignore[arg-type]
        if mixed >= 0.7 and (length >= 16 or seen.differ >= 0.5):
            return "its values are hexadecimal keys"
    if bool(seen.written.str.contains(_BASE64).all()) and _is_mixed(seen.written):
        return "its values look like keys, letters and digits in no order"
    if float(seen.texts.str.contains(_ACCOUNT).mean() or 0.0) >= 0.95:  # type: ignore[arg-type]
        return "its values look like account numbers"
    return ""


def _is_mixed(texts: pl.Series) -> bool:
    """Whether small letters, capital ones and digits change places often, as in keys and in no word."""
    changes = texts.str.count_matches(r"[a-z][A-Z0-9]|[A-Z]\d|\d[A-Za-z]")
    return float((changes >= 3).mean() or 0.0) >= 0.75  # type: ignore[arg-type]


def _by_digits(seen: _Seen) -> str:
    """Whole numbers: a run of them, or of one length and spread evenly."""
    numbers = seen.texts.filter(seen.texts.str.contains(r"^[0-9]{1,18}$")).cast(pl.Int64)
    n, low, high = len(numbers), int(numbers.min() or 0), int(numbers.max() or 0)  # type: ignore[arg-type]
    if not n or not seen.nearly_all or _are_years(low, high):
        return ""
    if n >= 50 and high - low < 1.2 * n and (seen.differ == 1 or low >= 1_000):
        return f"its {n:,} numbers are a run that misses few"
    lengths = seen.texts.str.len_chars()
    length = int(lengths.min() or 0)  # type: ignore[arg-type]
    rounded = float((numbers % 10 == 0).mean() or 0.0)  # type: ignore[arg-type]
    fixed = length == lengths.max() and length >= 6 and rounded <= 0.3
    if n >= 50 and fixed and seen.differ >= 0.97 and _spread_evenly(numbers):
        return f"its {n:,} numbers all have {length} digits and are spread evenly"
    zeros = not seen.numeric and length == lengths.max() and length >= 4
    if zeros and bool(seen.texts.str.starts_with("0").any()) and seen.differ >= 0.97:
        return f"its texts are numbers of {length} digits with zeros in front"
    return ""


def _are_years(low: int, high: int) -> bool:
    return low >= 1_500 and high <= 2_200


def _spread_evenly(numbers: pl.Series) -> bool:
    """Whether numbers lie between their ends as evenly as numbers that are dealt out, and not as amounts do."""
    low, high = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
    if high == low:
        return False
    at = ((numbers - low) / (high - low)).sort()
    expected = pl.Series(range(len(at))) / max(1, len(at) - 1)
    furthest: float = float((at - expected).abs().max())  # type: ignore[arg-type]
    return furthest < max(0.06, 1.9 / math.sqrt(len(at)))


_NO_PATTERN = (r"^9[:.,]9", r"^9 ?A$", r"^9-9$|^9/9$", r"^A$")


def _by_pattern(seen: _Seen) -> str:
    """Letters and digits in one fixed pattern, with few letters and many digits."""
    marks = seen.texts.str.replace_all(r"\d+", "9").str.replace_all(r"\p{L}+", "A")
    commonest = marks.value_counts(sort=True, name="n")
    mark, share = (
        str(commonest["marks" if "marks" in commonest.columns else commonest.columns[0]][0]),
        commonest["n"][0],
    )
    if share < _NEARLY_ALL * len(marks):
        return ""
    texts = seen.texts.filter(marks == mark)
    n_digits = texts.str.count_matches(r"\d")
    n_letters = texts.str.count_matches(r"\p{L}")
    few_letters = int(n_letters.max() or 0) <= 8  # type: ignore[arg-type]
    if not few_letters or float(n_digits.mean() or 0.0) < 3 or any(re.search(one, mark) for one in _NO_PATTERN[:2]):  # type: ignore[arg-type]
        return ""
    letters = texts.str.replace_all(r"[^\p{L}]", "")
    one_prefix = letters.n_unique() <= max(1, len(letters) // 50)
    if "A" not in mark:
        return _of_digits_alone(seen, texts, mark)
    if seen.nearly_all and (one_prefix or not _like_codes(texts)):
        return f"{seen.differ:.0%} of its cells differ, in one pattern of letters and digits, as numbers of records do"
    if one_prefix and seen.differ >= 0.15 and seen.even and len(texts) >= 50 and _is_run(texts):
        return f"its {len(texts):,} values are a run of numbers behind the same letters"
    return ""


def _like_codes(texts: pl.Series) -> bool:
    """Whether letters that differ stand before few digits, as in codes of a classification."""
    return float(texts.str.contains(r"^[A-Z]{1,3}\d{1,4}(?:\.\d{1,4})?[A-Z]?$").mean() or 0.0) >= 0.8 and (  # type: ignore[arg-type]
        int(texts.str.len_chars().max() or 0) <= 5  # type: ignore[arg-type]
    )


def _of_digits_alone(seen: _Seen, texts: pl.Series, mark: str) -> str:
    """Digits with dashes or blanks at fixed places: 012-345, 943 476 5919, 12345-6."""
    if not seen.nearly_all or mark == "9" or re.search(_NO_PATTERN[0], mark):
        return ""
    parts = texts.str.split(re.sub(r"9", "", mark)[0])
    widths = pl.DataFrame({str(i): parts.list.get(i, null_on_oob=True).str.len_chars() for i in range(mark.count("9"))})
    fixed = all(widths[name].n_unique() == 1 for name in widths.columns)
    n_digits = sum(int(widths[name][0] or 0) for name in widths.columns)
    if not fixed or n_digits < 6 or _are_ranges(parts, mark):
        return ""
    return f"{seen.differ:.0%} of its cells differ, {n_digits} digits in one pattern, as numbers of records do"


def _are_ranges(parts: pl.Series, mark: str) -> bool:
    if mark != "9-9":
        return False
    low, high = (parts.list.get(i).cast(pl.Int64, strict=False) for i in (0, 1))
    return float((high > low).mean() or 0.0) >= 0.99  # type: ignore[arg-type]


def _is_run(texts: pl.Series) -> bool:
    """Whether the last digits are a run that misses few numbers."""
    numbers = texts.str.extract(r"(\d{1,18})\D*$", 1).cast(pl.Int64, strict=False).drop_nulls()
    if not len(numbers):
        return False
    return int(numbers.max()) - int(numbers.min()) < 1.5 * numbers.n_unique()  # type: ignore[arg-type]
