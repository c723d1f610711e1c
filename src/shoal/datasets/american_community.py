"""People of the American Community Survey (ACS) as published: its person records, cut down to the papers' columns.

The Census Bureau publishes person records (the Public Use Microdata Sample, PUMS) with the area of each: a PUMA of at
least 100,000 people. The market-risk papers take areas as new markets. Files of single states and excerpts such as
NIST's are read alike.

=========== ============================================ ========================================================
column      variables, first that is there               coded as
=========== ============================================ ========================================================
area        STATE or ST with PUMA, else PUMA             as text, 06-03701 say
gender      SEX                                          1 male, 2 female
age_group   AGEP                                         0 to 7, as `shoal.datasets.meps` has them
education   SCHL (1 to 24); EDU (NIST's 1 to 12)         0 to 5: up to grade 8, 9 to 12 without diploma, high school,
                                                         some college, bachelor's, more; small children 0
income      POVPIP, income in percent of the poverty     0 to 4: poor, near poor (100), low (125), middle (200), high
            level                                        (400)
weight      PWGTP                                        people
=========== ============================================ ========================================================

POVPIP is blank for people in institutions and dormitories, who are in no insurance market: these rows are left out.
Area tables of margins (age by sex, education, income separately) are no substitute: a joint distribution would have to
be made up.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from shoal.datasets.survey import health_survey_schema
from shoal.errors import InputError
from shoal.files import read_source
from shoal.frame import enter
from shoal.schema import Schema

__all__ = ["acs", "acs_schema", "is_acs"]

_VARIABLES = r"STATE|ST|PUMA\d*|SEX|AGEP|SCHL|EDU|POVPIP|PWGTP"
_NEEDED = ("SEX", "AGEP", "POVPIP", "PWGTP")
_AGE_STARTS = (18, 26, 35, 45, 55, 65, 75)
_INCOME_STARTS = (100, 125, 200, 400)
_SCHOOL = {"SCHL": (12, 16, 18, 21, 22), "EDU": (4, 5, 7, 9, 10)}


def acs(source: Any) -> pl.DataFrame:
    """Read person records of the American Community Survey as people of areas.

    Parameters
    ----------
    source
        The file (.csv, .csv.gz, .sas7bdat, .parquet), or a table that has been read.

    Returns
    -------
    A row for each person who lives in a household, with the columns area, gender, age_group, education, income and
    weight. How variables are coded is in the module's docstring. Its schema, without costs, is `acs_schema`.

    Raises
    ------
    InputError
        A variable is not there.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.datasets import acs
    >>> people = {"ST": [6], "PUMA": [3701], "SEX": [2], "AGEP": [40], "SCHL": [21], "POVPIP": [350], "PWGTP": [80]}
    >>> acs(pl.DataFrame(people)).row(0)
    ('06-03701', 'female', 3, 4, 3, 80.0)
    """
    frame, owner = _variables(source)
    school = next((name for name in _SCHOOL if name in frame.columns), None)
    missing = [name for name in _NEEDED if name not in frame.columns]
    if missing or school is None:
        raise InputError(owner, f"must hold the ACS variable {missing[0] if missing else 'SCHL or EDU'}")
    made = frame.select(
        area=_area(frame, owner),
        gender=_number(frame["SEX"]).replace_strict({1: "male", 2: "female"}, default=None, return_dtype=pl.String),
        age_group=_steps(frame["AGEP"], _AGE_STARTS),
        education=_steps(frame[school], _SCHOOL[school]).fill_null(0),
        income=_steps(frame["POVPIP"], _INCOME_STARTS),
        weight=_number(frame["PWGTP"]),
    )
    return made.filter(pl.col("income").is_not_null())


def acs_schema() -> Schema:
    """Return the schema of `acs`: that of `health_survey` without its costs; the area is an other column."""
    survey = health_survey_schema()
    return Schema.of(
        quasi=list(survey.quasi),
        other=["area"],
        weight="weight",
        kinds={name: survey[name].kind or "nominal" for name in survey.quasi} | {"area": "nominal"},
    )


def is_acs(table: Any) -> bool:
    """Whether a table has the ACS's own variables."""
    names = {str(name).upper() for name in enter(table).columns}
    return names.issuperset(_NEEDED)


def _variables(source: Any) -> tuple[pl.DataFrame, str]:
    if hasattr(source, "columns"):
        frame, owner = pl.DataFrame(enter(source).to_polars()), "table"
    else:
        owner = str(source)
        frame = read_source(source, keep=lambda name: re.fullmatch(_VARIABLES, name, re.IGNORECASE) is not None).frame
    return frame.rename({name: name.upper() for name in frame.columns}), owner


def _area(frame: pl.DataFrame, owner: str) -> pl.Series:
    """The area of each person: state and PUMA as the Census Bureau writes them, or the PUMA as it is."""
    puma = next((name for name in frame.columns if re.fullmatch(r"PUMA\d*", name)), None)
    if puma is None:
        raise InputError(owner, "must hold the area of each person (PUMA)")
    code = _text(frame[puma])
    state = next((name for name in ("STATE", "ST") if name in frame.columns), None)
    if state is None or code.str.contains("-").any():
        return code.alias("area")
    return (_text(frame[state]).str.zfill(2) + "-" + code.str.zfill(5)).alias("area")


def _text(column: pl.Series) -> pl.Series:
    return column.cast(pl.Int64).cast(pl.String) if column.dtype.is_numeric() else column.cast(pl.String)


def _number(column: pl.Series) -> pl.Series:
    """Numbers; blanks and N, which the files write for not applicable, are null."""
    return column.cast(pl.Float64, strict=False)


def _steps(column: pl.Series, starts: tuple[int, ...]) -> pl.Series:
    """The number of `starts` at or below each number; null where there is none."""
    numbers = _number(column)
    return sum(((numbers >= start).cast(pl.Int64) for start in starts), start=(numbers * 0).cast(pl.Int64))
