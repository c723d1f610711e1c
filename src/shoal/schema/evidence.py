"""What is known of columns before their roles are guessed: names, types and cells.

Cells tell numbers of persons, code systems, amounts and names, whatever the column is called. Each function looks at
different values, not at rows, so that one common value decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from unicodedata import normalize

import polars as pl

from shoal.errors import ColumnError
from shoal.files.column_types import forms_of
from shoal.schema.foreign_words import in_english
from shoal.schema.judgement.spelling import unaccented
from shoal.value import Level

if TYPE_CHECKING:
    from shoal.schema.judgement.judgement import Judgement

__all__ = [
    "UUID",
    "Facts",
    "date_forms",
    "is_amount",
    "like_names",
    "look",
    "number_marks",
    "rank_correlation",
    "states",
    "states_among",
    "words_in",
    "words_of",
]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A column, counted once."""

    name: str
    words: tuple[str, ...]
    cells: pl.Series  # with NaN as null
    n_known: int
    n_distinct: int
    n_coded: int = 0  # cells whose code for an absence was taken out
    label: str = ""  # what its file or a codebook says that it holds
    meanings: Mapping[Level, str] = field(default_factory=dict)  # of its codes, but those for an absence
    said_by: str = "file"
    marked: bool = False  # as an identifier, by a codebook
    judgement: Judgement | None = None  # what it holds, once it was judged

    @property
    def text(self) -> bool:
        """Whether it holds texts."""
        return self.cells.dtype in (pl.String, pl.Categorical, pl.Enum)

    @cached_property
    def whole(self) -> bool:
        """Whether it holds whole numbers."""
        if self.cells.dtype.is_float():
            return bool((self.cells == self.cells.round()).all())
        return self.cells.dtype.is_integer()

    @property
    def all_distinct(self) -> bool:
        """Whether no value comes twice."""
        return self.n_distinct == self.n_known > 1

    @property
    def distinct_share(self) -> float:
        """Different values for each known cell."""
        return self.n_distinct / max(1, self.n_known)

    @cached_property
    def values(self) -> pl.Series:
        """The different values; texts without the blanks around them."""
        known = self.cells.drop_nulls().unique()
        return known.cast(pl.String).str.strip_chars() if self.text else known

    def has(self, *words: str) -> bool:
        """Whether one of `words` is in the name."""
        return any(word in words for word in self.words)

    @property
    def quoted(self) -> str:
        """What is said of it, in a few words, as a reason quotes it."""
        words = " ".join(self.label.split()).replace('"', "'")
        return f'The {self.said_by} says "{words if len(words) <= 70 else words[:67].rstrip() + "..."}"'

    def share(self, pattern: str) -> float:
        """The share of different texts that fit a pattern."""
        return float(self.values.str.contains(pattern).mean() or 0.0) if self.text and len(self.values) else 0.0  # type: ignore[arg-type]


def look(column: pl.Series, n_coded: int = 0, spoken: Collection[str] = ()) -> Facts:
    """Count a column, of which `n_coded` cells had a code for an absence; one that holds lists or bytes is an error.

    `spoken` are the languages of the names beside it.
    """
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration):
        rule = "must hold values of one simple type (numbers, text, dates or true/false)"
        raise ColumnError(column.name, rule, got=str(column.dtype).split("(")[0])
    cells = column.fill_nan(None) if column.dtype.is_float() else column
    known = cells.drop_nulls()
    return Facts(
        name=column.name,
        words=words_in(column.name, spoken),
        cells=cells,
        n_known=len(known),
        n_distinct=known.n_unique(),
        n_coded=n_coded,
    )


def words_in(name: str, spoken: Collection[str] = ()) -> tuple[str, ...]:
    """Return the words of a name in lower case (``patientID`` gives patient, id), and the name in one piece.

    Words of other languages are put into English (``Geburtsjahr``: birth, year). `spoken` are languages of the table,
    in which words count that mean something else in English.
    """
    return (*in_english(words_of(name), spoken), *_words_in_other_scripts(name), _in_one_piece(name))


def _in_one_piece(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", unaccented(name).lower())


def _words_in_other_scripts(name: str) -> list[str]:
    """The words of a name that have no Latin letter: возраст, 姓名."""
    if name.isascii():
        return []
    parts = re.split(r"[\s\d_.,:/()\[\]-]+", normalize("NFC", name).casefold())
    return [part for part in parts if part and not _in_one_piece(part)]


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case and without accents, in the language in which they are."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", unaccented(name))]


UUID = r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"

_STATES = {  # what texts say of a person, whole and in small letters
    "treatments": "placebo|active|treated|untreated|treatment|chemotherapy|radiotherapy|chemo|radiation|surgery|drug|"
    "drug [a-z]|standard care|usual care|intervention|vaccine|vaccinated|unvaccinated",
    "illnesses or outcomes": "benign|malignant|positive|negative|relapse|relapsed|remission|recurrence|alive|dead|died|"
    "death|survived|deceased|healthy|ill|sick|diseased|cancer|carcinoma|adenocarcinoma|squamous|diabetic|nondiabetic|"
    "non-diabetic|hypertensive|abnormal|metastasis|mild|moderate|severe|critical|aml|cml|all|cll|mds|nhl|gvhd|copd|ckd|"
    "chf|hypertension|diabetes|asthma|stroke|sepsis|pneumonia|depression|infection|nausea|vomiting|rash|fatigue|fever|pyrexia|cough|pain|headache|diarrhea|diarrhoea|dizziness|"
    "dyspnea|dyspnoea|psoriasis|eczema|migraine|epilepsy|anxiety",
    "how good something is, from poor to excellent": "excellent|very good|good|fair|poor|very poor|bad|very bad",
    "stages of an illness": "stage (?:[0-4]|i{1,3}|iv)[abc]?",
    "insurance or payers": "medicare|medicaid|private|self[- ]?pay|uninsured|insured|commercial|hmo|ppo|"
    "medicare advantage|private insurance|public insurance|no insurance|blue cross|tricare|charity|"
    "workers compensation|no charge",
    "admissions or discharges": "emergency|urgent|elective|newborn|trauma|inpatient|outpatient|ambulatory|expired|"
    "hospice|snf|rehab|home health|skilled nursing facility|discharged|transferred",
    "opinions": "strongly agree|agree|neutral|disagree|strongly disagree|very satisfied|satisfied|dissatisfied|"
    "very dissatisfied|democrat|republican|independent|liberal|conservative|support|oppose|approve|disapprove",
    "blood groups": "ab|o|a\\+|b\\+|ab\\+|o\\+|a-|b-|ab-|o-",
    "habits": "smoker|nonsmoker|non-smoker|ex-smoker|former smoker|current smoker|daily smoker|never smoker|"
    "never smoked|drinker|nondrinker",
    "credit": "default|defaulted|delinquent|charged off|fully paid|bankrupt|approved|denied",
}
_NAME = r"^\p{Lu}\p{Ll}+(?:[ '’-]\p{Lu}\p{Ll}+)*\d*$"


def states(fact: Facts) -> str | None:
    """What the different texts say of a person, if at least two of them do, and half of all that are no absence."""
    if not fact.text or fact.n_distinct > 12:
        return None
    return states_among(fact.values.str.to_lowercase().to_list())


def states_among(texts: Sequence[str]) -> str | None:
    """What texts in small letters say of a person, if at least two of them and half of all do."""
    for what, words in _STATES.items():
        n = sum(re.fullmatch(words, text) is not None for text in texts)
        if n >= 2 and n >= 0.5 * len(texts):
            return what
    return None


def like_names(fact: Facts) -> bool:
    """Whether the different texts are mostly single capitalised words, as names are, and there are many."""
    return fact.text and fact.n_distinct >= 10 and fact.share(_NAME) >= 0.8


def is_amount(fact: Facts, others: Sequence[Facts]) -> bool:
    """Whether whole numbers that all differ measure something: they rise and fall with two other measures.

    Numbers of persons do so with the order of rows, and with what else was numbered in that order.
    """
    order = pl.Series(range(len(fact.cells)))
    if abs(rank_correlation(fact.cells, order)) >= 0.2:
        return False
    measures = [other for other in others if other is not fact and _is_measure(other)]
    return sum(abs(rank_correlation(fact.cells, other.cells)) >= 0.4 for other in measures) >= 2


def _is_measure(fact: Facts) -> bool:
    return fact.cells.dtype.is_numeric() and fact.distinct_share >= 0.2


def rank_correlation(one: pl.Series, other: pl.Series) -> float:
    """How two columns of numbers rise and fall together, by ranks; 0 where fewer than 20 rows have both."""
    pair = pl.DataFrame({"one": one, "other": other}).drop_nulls()
    found = pair.select(pl.corr("one", "other", method="spearman")).item() if len(pair) >= 20 else None
    return float(found) if found is not None and found == found else 0.0


def number_marks(fact: Facts) -> tuple[str, str] | None:
    """The thousands mark and the decimal mark with which all of the different texts are numbers, if one has the former.

    Examples
    --------
    >>> import polars as pl
    >>> number_marks(look(pl.Series("cost", ["1.250,50", "80", "12.000"])))
    ('.', ',')
    """
    if not fact.text or not fact.n_known:
        return None
    for thousands, decimal in ((",", "."), (".", ","), (" ", ","), (" ", "."), ("'", ".")):
        mark, point = re.escape(thousands), re.escape(decimal)
        grouped = rf"-?\d{{1,3}}(?:{mark}\d{{3}})+(?:{point}\d+)?"
        plain = rf"-?\d{{1,3}}(?:{point}\d+)?"
        if fact.share(rf"^(?:{grouped}|{plain})$") == 1 and fact.share(rf"^(?:{grouped})$") > 0:
            return thousands, decimal
    return None


def date_forms(fact: Facts) -> tuple[str, ...]:
    """The forms in which every cell is a date or time; compact ones only with enough values within living memory."""
    if fact.cells.dtype.is_temporal() or not fact.n_distinct:
        return ()
    forms = forms_of(fact.values)
    if fact.n_distinct < 3:  # too few to tell, but for a form that is nothing else
        return forms if forms == ("YYYY-MM-DD",) else ()
    if not {"YYYYMMDD", "YYYYMM"} & set(forms):
        return forms
    years = fact.values.cast(pl.String).str.slice(0, 4).cast(pl.Int64)
    return forms if fact.n_distinct >= 5 and years.is_between(1880, 2100).all() else ()
