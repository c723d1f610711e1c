"""A simulated clinic: patients of households, their visits over several years, and prescriptions at the visits.

Nobody in it is real. Ages, visits and diagnoses hang together loosely, as in claims data: older people come more often,
chronic diagnoses recur, and members of a household live at one place.
"""

from __future__ import annotations

import polars as pl

from shoal.rng import stream
from shoal.schema import LinkedSchema

__all__ = ["clinic", "clinic_schema"]

_CODES = ("I10", "E11", "J45", "J44", "I25", "M54", "F32", "S82", "K21", "N39")
_SHARES = (0.2, 0.14, 0.12, 0.08, 0.08, 0.12, 0.1, 0.06, 0.06, 0.04)
_DRUGS = ("lisinopril", "metformin", "salbutamol", "tiotropium", "aspirin", "ibuprofen", "sertraline", "none")
_REGIONS = ("north", "east", "south", "west")
_YEARS, _FIRST = 3, 18_628  # days from 1970-01-01 to 2021-01-01


def clinic(n: int = 1000, *, visits: float = 4.0, seed: int = 0) -> dict[str, pl.DataFrame]:
    """Simulate linked tables.

    Parameters
    ----------
    n
        Number of patients.
    visits
        Visits of a patient on average.
    seed
        Repeats the same tables.

    Returns
    -------
    ``patients`` (key ``patient``), ``visits`` (key ``visit``, of a patient) and ``prescriptions`` (of a visit). Their
    schema is `clinic_schema`.

    Examples
    --------
    >>> import shoal
    >>> tables = shoal.datasets.clinic(100, seed=1)
    >>> list(tables), len(tables["patients"])
    (['patients', 'visits', 'prescriptions'], 100)
    """
    rng = stream(seed, "clinic")
    sizes = rng.integers(1, 5, n)
    household = sizes.cumsum().searchsorted(range(n), side="right")
    region = rng.choice(_REGIONS, n)[household]
    age = rng.integers(0, 95, n)
    patients = pl.DataFrame(
        {
            "patient": rng.permutation(n) + 10_000,
            "household": household,
            "sex": rng.choice(["f", "m"], n),
            "born": pl.Series(_FIRST - 365 * age - rng.integers(1, 365, n)).cast(pl.Int32).cast(pl.Date),
            "region": region,
            "income": rng.gamma(4, 9000, n).round(),
        }
    )
    counts = rng.poisson(visits * (0.4 + age / 80))
    owner = rng.permutation(patients["patient"].to_numpy().repeat(counts))
    m = len(owner)
    visited = pl.DataFrame(
        {
            "visit": rng.permutation(m) + 1,
            "patient": owner,
            "day": pl.Series(_FIRST + rng.integers(0, 365 * _YEARS, m)).cast(pl.Int32).cast(pl.Date),
            "ward": rng.choice(["surgery", "medicine", "emergency"], m, p=[0.2, 0.6, 0.2]),
            "diagnosis": rng.choice(_CODES, m, p=_SHARES),
            "cost": rng.gamma(2, 400, m).round(),
        }
    )
    written = rng.choice(visited["visit"].to_numpy(), m // 2) if m else visited["visit"].to_numpy()
    drugs = pl.DataFrame(
        {"visit": written, "drug": rng.choice(_DRUGS, len(written)), "days": rng.integers(5, 90, len(written))}
    )
    return {"patients": patients, "visits": visited, "prescriptions": drugs}


def clinic_schema() -> LinkedSchema:
    """The schema of `clinic`: day, ward and diagnosis of a visit may be known, the rest must not be learnt."""
    chapters = {"kind": "prefix", "keep": [1]}
    return LinkedSchema.of(
        patients={
            "key": "patient",
            "birth": "born",
            "columns": {
                "household": {"role": "household"},
                "sex": {"role": "quasi"},
                "born": {"role": "quasi"},
                "region": {"role": "quasi"},
                "income": {"role": "sensitive"},
            },
        },
        visits={
            "key": "visit",
            "parent": "patients",
            "link": "patient",
            "summaries": ["count", "first:day", "last:day", "codes:diagnosis"],
            "columns": {
                "day": {"role": "time"},
                "ward": {"role": "quasi"},
                "diagnosis": {"role": "quasi", "hierarchy": chapters},
                "cost": {"role": "sensitive"},
            },
        },
        prescriptions={
            "parent": "visits",
            "link": "visit",
            "columns": {"drug": {"role": "sensitive"}, "days": {"role": "other"}},
        },
    )
