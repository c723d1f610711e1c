"""Simulated hospital discharges: the shape of a state's inpatient file for one kind of stay, and no real patient.

The model is that of the inpatient study of LUDIA (Park, section 4.5.2), log charge with an intercept per hospital:

    log charge = 7.9 + b_hospital + 0.8 log(days) + 0.25 [unit = surgical] + 0.5 [unit = intensive] + 0.12 severity +
    0.25 Z.

- 12 counties of unequal size; county c has a cost level g_c ~ N(0, 0.15²). 3 hospitals each, 36 in all:
  b_h = g_c + N(0, 0.25²). 6 ZIP codes in each county, 72 in all.
- A patient's ZIP lies in the hospital's county with probability 0.85, else anywhere.
- Case mix m = m_hospital + m_zip, with m_hospital ~ N(0, 0.5²) and m_zip ~ N(0, 0.4²): severity, 0 to 3, is the
  number of cuts 0, 0.9, 1.8 below m + N(0, 1); days are 1 + Poisson(exp(0.3 + 0.25 severity + 0.3 m_hospital)).
- unit: intensive with probability 0.04 (1 + severity), surgical with 0.2, else ward. Race follows the ZIP.
- **confounding** κ: b_h gains κ 0.5 m_hospital. Hospitals with heavier cases then also charge more for the same case.
  No covariate shows that, and slopes learnt from hospital means are too large: the ecological fallacy.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.errors import ParameterError
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["inpatient", "inpatient_schema"]

_COUNTIES, _HOSPITALS, _ZIPS = 12, 3, 6  # hospitals and ZIP codes in each county
_UNITS = ("ward", "surgical", "intensive")
_RACES = ("white", "black", "hispanic", "other")
_DEAREST = 250_000.0  # dollars
_CUTS = np.array([0.0, 0.9, 1.8])


def inpatient(n: int = 5_000, seed: int = 0, confounding: float = 0.0) -> pl.DataFrame:
    """Draw `n` hospital stays; the same `n`, `seed` and `confounding` give the same stays.

    Parameters
    ----------
    n
        Number of stays.
    seed
        Which draw.
    confounding
        How much dearer hospitals with a heavier case mix are for the same case; 0 for none.

    Returns
    -------
    A frame with the columns county, hospital, zip (texts), unit ("ward", "surgical", "intensive"), race, severity (0 to
    3), days (whole, from 1) and charge (dollars). No value is missing. The model is in the module's docstring. Cost:
    linear.

    Examples
    --------
    >>> from shoal.datasets.inpatients import inpatient
    >>> inpatient(100, seed=1).columns
    ['county', 'hospital', 'zip', 'unit', 'race', 'severity', 'days', 'charge']
    """
    _check(n, seed)
    rng = stream(seed, "inpatient", "places")
    county_cost = 0.15 * rng.standard_normal(_COUNTIES)
    mix = 0.5 * rng.standard_normal(_COUNTIES * _HOSPITALS)
    level = np.repeat(county_cost, _HOSPITALS) + 0.25 * rng.standard_normal(len(mix)) + 0.5 * confounding * mix
    zip_mix = 0.4 * rng.standard_normal(_COUNTIES * _ZIPS)
    popularity = rng.dirichlet(np.full(len(mix), 3.0))
    races = rng.dirichlet(np.array([5.0, 1.5, 4.0, 0.8]), size=len(zip_mix))
    hospital, zip_code = _places(stream(seed, "inpatient", "patients"), n, popularity)
    severity, days = _cases(stream(seed, "inpatient", "cases"), mix[hospital], zip_mix[zip_code])
    draw = stream(seed, "inpatient", "details")
    unit = _unit(draw, severity)
    race = (draw.random(n)[:, None] > np.cumsum(races, axis=1)[zip_code, :-1]).sum(axis=1)
    return pl.DataFrame(
        {
            "county": _named("county", hospital // _HOSPITALS, 2),
            "hospital": _named("hospital", hospital, 2),
            "zip": _named("78", zip_code, 3),
            "unit": np.array(_UNITS)[unit],
            "race": np.array(_RACES)[race],
            "severity": severity,
            "days": days,
            "charge": _charge(draw, level[hospital], days, unit, severity),
        }
    )


def inpatient_schema() -> Schema:
    """Return the schema of `inpatient`: places and case are quasi-identifiers, the charge is sensitive.

    Examples
    --------
    >>> from shoal.datasets.inpatients import inpatient_schema
    >>> inpatient_schema().sensitive
    ('charge',)
    """
    return Schema.of(
        quasi=["county", "hospital", "zip", "unit", "race", "severity", "days"],
        sensitive=["charge"],
        kinds={"severity": "ordinal", "days": "numeric", "charge": "numeric"},
        levels={"severity": [0, 1, 2, 3]},
        bounds={"charge": (0, _DEAREST)},
    )


def _check(n: int, seed: int) -> None:
    for name, value, least in (("n", n, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ParameterError("inpatient", f"{name} must be a whole number, at least {least}", got=repr(value)[:60])


def _places(rng: Generator, n: int, popularity: FloatArray) -> tuple[IntArray, IntArray]:
    hospital = rng.choice(len(popularity), size=n, p=popularity)
    near = (hospital // _HOSPITALS) * _ZIPS + rng.integers(0, _ZIPS, n)
    far = rng.integers(0, _COUNTIES * _ZIPS, n)
    return hospital.astype(np.int64), np.where(rng.random(n) < 0.85, near, far).astype(np.int64)


def _cases(rng: Generator, mix: FloatArray, zip_mix: FloatArray) -> tuple[IntArray, IntArray]:
    severity = np.searchsorted(_CUTS, mix + zip_mix + rng.standard_normal(len(mix))).astype(np.int64)
    days = 1 + rng.poisson(np.exp(0.3 + 0.25 * severity + 0.3 * mix))
    return severity, days.astype(np.int64)


def _unit(rng: Generator, severity: IntArray) -> IntArray:
    u = rng.random(len(severity))
    intensive = 0.04 * (1 + severity)
    return np.where(u < intensive, 2, np.where(u < intensive + 0.2, 1, 0)).astype(np.int64)


def _charge(rng: Generator, level: FloatArray, days: IntArray, unit: IntArray, severity: IntArray) -> FloatArray:
    case = 0.8 * np.log(days) + np.array([0.0, 0.25, 0.5])[unit] + 0.12 * severity
    charge: FloatArray = np.exp(7.9 + level + case + 0.25 * rng.standard_normal(len(days)))
    return np.minimum(charge, _DEAREST).round(2)


def _named(word: str, numbers: IntArray, digits: int) -> list[str]:
    gap = "" if word.isdigit() else " "
    return [f"{word}{gap}{number:0{digits}d}" for number in numbers]
