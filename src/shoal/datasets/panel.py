"""The Medical Expenditure Panel Survey (MEPS): the full-year consolidated file, cut down to the papers' columns.

The file comes from the Agency for Healthcare Research and Quality (AHRQ), as Stata, SAS or SAS transport file, or as
CSV. Its terms of use allow statistical use only and forbid any attempt to learn a person's identity.

=========== ===================================================== ==============================================
column      variables of the file (yy: the year), first that is there coded as
=========== ===================================================== ==============================================
gender      SEX                                                   1 male, 2 female
age_group   AGEyyX, then AGELAST where it is reserved             0 to 7: under 18, 18-25, 26-34, 35-44, 45-54,
                                                                  55-64, 65-74, 75 and over
education   EDUCYR, EDUCYRyy, EDUCYEAR (years of school);         0 to 5: up to 8 years, 9 to 11, 12, 13 to 15,
            EDRECODE; HIDEG (highest degree)                      16, 17 and more (or the nearest degree)
income      POVCATyy                                              0 to 4: poor, near poor, low, middle, high
cost        TOTEXPyy                                              dollars
weight      PERWTyyF, WTDPERyy                                    people
=========== ===================================================== ==============================================

Negative values are reserve codes (not asked, refused, not known): they become null. No row is dropped: people outside
the survey's scope at the year's end keep their weight of zero. The papers say eight age groups and print no edges:
these edges are Shoal's.
"""

from __future__ import annotations

import re

import polars as pl

from shoal.datasets.survey import health_survey_schema
from shoal.errors import InputError, ParameterError
from shoal.files import read_source
from shoal.files.atomic import FilePath
from shoal.schema import Schema

__all__ = ["meps", "meps_schema"]

_VARIABLES = r"SEX|AGE\d\dX|AGELAST|EDUCYR(\d\d)?|EDUCYEAR|EDRECODE|HIDEG|POVCAT\d\d|TOTEXP\d\d|PERWT\d\dF|WTDPER\d\d"
_AGE_STARTS = (18, 26, 35, 45, 55, 65, 75)
_SCHOOL_STARTS = (9, 12, 13, 16, 17)
_RECODE = {0: 0, 1: 0, 2: 1, 13: 2, 14: 3, 15: 4, 16: 5}
_DEGREE = {1: 0, 2: 1, 3: 2, 7: 3, 4: 4, 5: 5, 6: 5}  # 7: other degree, such as an associate's; 8: under 16
_INCOME_WORDS = {"poor": 1, "near": 2, "low": 3, "middle": 4, "high": 5}
_GENDER_WORDS = {"male": 1, "female": 2}


def meps(path: FilePath, year: int | None = None) -> pl.DataFrame:
    """Read a MEPS full-year consolidated file as a table of gender, age, education, income, cost and weight.

    Parameters
    ----------
    path
        The file: .dta, .sas7bdat, .xpt, .ssp, .csv or .parquet. Names of variables may be in any case.
    year
        The survey's year. None: told from the name of the total expenditure (TOTEXP23 means 2023).

    Returns
    -------
    One row per row of the file, in its order, with the columns of `health_survey` and null where the file has a reserve
    code; ``table.null_count()`` says how many. How variables are coded is in the module's docstring. Its schema is
    `meps_schema`.

    Raises
    ------
    InputError
        A variable is not in the file, or the file holds several years and `year` is not given.
    """
    frame = _variables(path)
    yy = _suffix(frame, str(path), year)
    return pl.DataFrame(
        {
            "gender": _gender(_pick(frame, path, "gender", "SEX")),
            "age_group": _steps(_age(frame, path, yy), _AGE_STARTS),
            "education": _education(frame, path, yy),
            "income": _coded(_pick(frame, path, "income", f"POVCAT{yy}"), _INCOME_WORDS) - 1,
            "cost": _known(_pick(frame, path, "cost", f"TOTEXP{yy}")),
            "weight": _known(_pick(frame, path, "weight", f"PERWT{yy}F", f"WTDPER{yy}")).cast(pl.Float64),
        }
    )


def meps_schema() -> Schema:
    """Return the schema of `meps`: that of `health_survey`, whose columns and codes it shares."""
    return health_survey_schema()


def _variables(path: FilePath) -> pl.DataFrame:
    """Read the variables that are looked for, named in capitals."""
    frame = read_source(path, keep=lambda name: re.fullmatch(_VARIABLES, name, re.IGNORECASE) is not None).frame
    capitals = {name: name.upper() for name in frame.columns}
    if len(set(capitals.values())) < len(capitals):
        raise InputError(str(path), "names of variables must differ in more than their case")
    return frame.rename(capitals)


def _suffix(frame: pl.DataFrame, owner: str, year: int | None) -> str:
    if year is not None:
        if not 1996 <= year <= 2095:
            raise ParameterError("meps", "year must be a year of the survey, from 1996", got=repr(year))
        return f"{year % 100:02d}"
    found = [match[1] for name in frame.columns if (match := re.fullmatch(r"TOTEXP(\d\d)", name))]
    if len(found) == 1:
        return found[0]
    hint = "Give the year." if found else "Is it a full-year consolidated file?"
    raise InputError(owner, "must hold the total expenditure (TOTEXP) of one year", got=f"{len(found)}", hint=hint)


def _pick(frame: pl.DataFrame, path: FilePath, what: str, *names: str) -> pl.Series:
    for name in names:
        if name in frame.columns:
            return frame[name]
    raise InputError(str(path), f"must hold {what}, in a column called {' or '.join(names)}")


def _known(column: pl.Series) -> pl.Series:
    """Blank the reserve codes, which are negative; what is not a number at all is not known either."""
    numbers = column if column.dtype.is_numeric() else column.cast(pl.Float64, strict=False)
    return numbers.set((numbers < 0).fill_null(False), None)


def _coded(column: pl.Series, words: dict[str, int]) -> pl.Series:
    """Read codes, or labels in the place of codes ("1 Male", "Near Poor") by their first word."""
    if column.dtype.is_numeric():
        codes = _known(column).cast(pl.Int64)
    else:
        first = column.cast(pl.String).str.to_lowercase().str.extract(r"^[\W\d]*([a-z]+)")
        codes = first.replace_strict(words, default=None, return_dtype=pl.Int64)
    return codes.set(~codes.is_in(list(words.values())), None)


def _gender(column: pl.Series) -> pl.Series:
    names = {code: word for word, code in _GENDER_WORDS.items()}
    return _coded(column, _GENDER_WORDS).replace_strict(names, return_dtype=pl.String)


def _age(frame: pl.DataFrame, path: FilePath, yy: str) -> pl.Series:
    age = _known(_pick(frame, path, "age", f"AGE{yy}X", "AGELAST")).cast(pl.Float64)
    if "AGELAST" not in frame.columns:
        return age
    return age.zip_with(age.is_not_null(), _known(frame["AGELAST"]).cast(pl.Float64))


def _education(frame: pl.DataFrame, path: FilePath, yy: str) -> pl.Series:
    column = _pick(frame, path, "education", "EDUCYR", f"EDUCYR{yy}", "EDUCYEAR", "EDRECODE", "HIDEG")
    if column.name.startswith("EDUCY"):
        return _steps(_known(column), _SCHOOL_STARTS)
    codes = _RECODE if column.name == "EDRECODE" else _DEGREE
    return _known(column).cast(pl.Int64).replace_strict(codes, default=None, return_dtype=pl.Int64)


def _steps(numbers: pl.Series, starts: tuple[int, ...]) -> pl.Series:
    """The number of `starts` at or below each number."""
    level = pl.Series([0] * len(numbers), dtype=pl.Int64)
    for start in starts:
        level = level + (numbers >= start).cast(pl.Int64)
    return level
