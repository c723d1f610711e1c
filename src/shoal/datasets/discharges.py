"""A simulated hospital discharge table: the shape of California's patient discharge data, and no real person.

Thirteen columns with the numbers of levels of Table 3.2 of Park's thesis (2014): type of care 6, age 18, sex 3,
ethnicity 4, race 7, ZIP area 16, length of stay 16, disposition 13, payer 9, charge 25, major diagnostic category 25,
severity 3, medical or surgical 2: 1.02 × 10¹² combinations. A discharge is drawn as

- sex, and ZIP area; race by area; ethnicity by race;
- age from a mix of newborns, women in childbirth and others, the others with weight growing with age;
- the diagnostic category by that mix, by sex and by age; surgical or medical by category; severity by age and category;
- length of stay: a rounded lognormal whose mean grows with severity, surgery, age and category; then binned;
- charge: a lognormal whose mean grows with length of stay, surgery and severity; then binned;
- payer by age, area and childbirth; disposition by age, severity and stay; type of care by disposition and category;
- now and then a value is not known: −1 in the numbers, "unknown" in the texts.

Newborns (category 15) are of age 0, and category 14 (childbirth) has no men: the schema's rules say so.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.errors import ParameterError
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["AGES", "CHARGES", "STAYS", "discharge", "discharge_schema"]

TYPES = ("acute", "skilled nursing", "psychiatric", "chemical dependency", "rehabilitation", "other")
AGES = (*range(0, 85, 5), -1)
SEXES = ("female", "male", "unknown")
ETHNICITIES = ("hispanic", "non-hispanic", "other", "unknown")
RACES = ("white", "black", "native american", "asian", "pacific islander", "other", "unknown")
ZIPS = tuple(
    f"{zip_area}xx" for zip_area in (900, 902, 903, 904, 905, 906, 907, 908, 910, 911, 913, 914, 915, 917, 918, 935)
)
STAYS = (*range(10), 10, 30, 50, 70, 90, -1)
DISPOSITIONS = (
    "routine", "acute care", "other care", "skilled nursing", "other hospital acute", "other hospital other",
    "other hospital skilled", "residential", "prison", "against advice", "died", "home health", "other",
)  # fmt: skip
PAYERS = (
    "medicare", "medi-cal", "private", "workers", "county", "other government", "other indigent", "self", "other payer",
)  # fmt: skip
CHARGES = (0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 45, 50, 55, 60, 70, 80, 90, 100)
CATEGORIES = tuple(f"{category:02d}" for category in range(1, 26))
KINDS = ("medical", "surgical")

_LEVELS: dict[str, tuple[str | int, ...]] = {
    "typ": TYPES,
    "age_yrs": AGES,
    "sex": SEXES,
    "ethncty": ETHNICITIES,
    "race": RACES,
    "patzip": ZIPS,
    "los": STAYS,
    "disp": DISPOSITIONS,
    "pay": PAYERS,
    "charge": CHARGES,
    "mdc": CATEGORIES,
    "sev": (0, 1, 2),
    "cat": KINDS,
}
_COMMON = np.array([8, 1, 3, 10, 18, 9, 4, 9, 5, 6, 7, 2, 3, 0, 0, 3, 3, 7, 9, 3, 3, 0.5, 3, 0.6, 1.0])
_BY_AGE = np.array([3, 2, -4, 3, 8, 1, 2, 3, 2, 3, 4, 1, -3, 0, 0, 1, 1, 3, -6, -4, -3, 0, 2, -2, 0]) / 4
_SURGICAL = np.array([-1, 1, 0, -2, 0, 0, 1, 1.2, 0, 0, -0.5, 1.5, 1.5, -0.3, -9, -1, 0, -1, -9, -9, -1, 1, -1, 1, -2])
_LONG = np.array(
    [
        0.3,
        0,
        -0.4,
        0.2,
        0.1,
        0.1,
        0.2,
        0.2,
        0.1,
        0,
        0.1,
        -0.1,
        -0.1,
        0,
        0,
        0.1,
        0.6,
        0.5,
        0.9,
        0.5,
        -0.2,
        0.9,
        1,
        1.2,
        0.6,
    ]
)


def discharge(n: int = 20_000, seed: int = 0) -> pl.DataFrame:
    """Draw `n` discharges; the same `n` and `seed` give the same table.

    Parameters
    ----------
    n
        Number of discharges.
    seed
        Which draw.

    Returns
    -------
    A frame with the columns typ, age_yrs (years, start of a five-year bin, −1 not known), sex, ethncty, race, patzip,
    los (days, start of the bin, −1 not known), disp, pay, charge (thousand dollars, start of the bin), mdc, sev, cat.
    No value is missing. Its schema is `discharge_schema`. Cost: linear in `n`, about a second for 200,000.

    Examples
    --------
    >>> from shoal.datasets.discharges import discharge
    >>> discharge(1000, seed=1).shape
    (1000, 13)
    """
    for name, value, least in (("n", n, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ParameterError("discharge", f"{name} must be a whole number, at least {least}", got=repr(value)[:60])
    rng = stream(seed, "discharge")
    mix, sex, age, area = _people(rng, n)
    race, ethnicity = _origin(rng, area)
    mdc, surgical, severity = _illness(rng, mix, sex, age)
    stay, charge = _care(rng, mix, age, mdc, surgical, severity)
    payer, disposition, kind = _money(rng, mix, age, area, severity, stay, mdc)
    places = {
        "typ": kind,
        "age_yrs": np.where((rng.random(n) < 0.004) & (mix != 0), len(AGES) - 1, age),
        "sex": np.where((rng.random(n) < 0.002) & (mix == 2), 2, sex),
        "ethncty": ethnicity,
        "race": race,
        "patzip": area,
        "los": np.where(rng.random(n) < 0.003, len(STAYS) - 1, stay),
        "disp": disposition,
        "pay": payer,
        "charge": charge,
        "mdc": mdc,
        "sev": severity,
        "cat": surgical,
    }
    return pl.DataFrame({name: _named(_LEVELS[name], at) for name, at in places.items()})


def discharge_schema() -> Schema:
    """Return the schema of `discharge`: all levels public, five quasi-identifiers, two rules.

    Examples
    --------
    >>> from shoal.datasets.discharges import discharge_schema
    >>> len(discharge_schema().columns)
    13
    """
    quasi = ["age_yrs", "sex", "ethncty", "race", "patzip"]
    return Schema.of(
        quasi=quasi,
        sensitive=[name for name in _LEVELS if name not in quasi],
        kinds={name: "ordinal" if name in ("age_yrs", "los", "charge", "sev") else "nominal" for name in _LEVELS},
        levels={name: list(levels) for name, levels in _LEVELS.items()},
        rules=[
            {"when": {"mdc": ["15"]}, "then": {"age_yrs": [0]}},
            {"never": {"mdc": ["14"], "sex": ["male"]}},
        ],
    )


def _named(levels: tuple[str | int, ...], at: IntArray) -> pl.Series:
    return pl.Series(list(levels)).gather(pl.Series(at))


def _pick(rng: Generator, weights: FloatArray) -> IntArray:
    """A position for each row of weights."""
    cumulative = np.cumsum(weights, axis=1)
    u = rng.random(len(weights))[:, None] * cumulative[:, -1:]
    found: IntArray = (cumulative <= u).sum(axis=1)
    return np.asarray(np.minimum(found, weights.shape[1] - 1), dtype=np.int64)


def _people(rng: Generator, n: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """0 newborn, 1 childbirth, 2 others; sex; age group 0 to 16; ZIP area."""
    mix = rng.choice(3, n, p=[0.11, 0.12, 0.77])
    sex = np.where(mix == 1, 0, (rng.random(n) < 0.47).astype(np.int64))
    groups = np.arange(17)
    grown = 0.25 + (groups / 6) ** 1.6 + 1.2 * (groups == 0)
    mothers = np.where((groups >= 3) & (groups <= 8), np.exp(-0.5 * ((groups - 5.4) / 1.2) ** 2), 0)
    age = rng.choice(17, n, p=grown / grown.sum())
    age = np.where(mix == 1, rng.choice(17, n, p=mothers / mothers.sum()), age)
    area = rng.choice(16, n, p=(lambda w: w / w.sum())(1 / (1 + np.arange(16)) ** 0.6))
    return mix, sex, np.where(mix == 0, 0, age), area


def _origin(rng: Generator, area: IntArray) -> tuple[IntArray, IntArray]:
    base = np.array([5.0, 1.0, 0.05, 1.2, 0.08, 1.6, 0.15])
    tilt = np.exp(stream(0, "discharge", "areas").normal(0, 0.7, (16, 7)))
    race = _pick(rng, (base * tilt)[area])
    hispanic = np.array([0.40, 0.03, 0.3, 0.02, 0.08, 0.85, 0.3])[race]
    known = np.array([0.97, 0.98, 0.95, 0.98, 0.96, 0.93, 0.45])[race]
    weights = np.column_stack([hispanic * known, (1 - hispanic) * known, 0.01 + 0 * known, 1 - known])
    return race, _pick(rng, weights)


def _illness(rng: Generator, mix: IntArray, sex: IntArray, age: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    old = (age[:, None] - 9) / 8
    weights = _COMMON * np.exp(_BY_AGE * old * 0.6)
    weights[:, 11] *= sex  # male reproductive
    weights[:, 12] *= 1 - sex  # female reproductive
    mdc = _pick(rng, weights)
    mdc = np.where(mix == 0, 14, np.where(mix == 1, 13, mdc))
    surgical = (rng.random(len(mdc)) < 1 / (1 + np.exp(0.6 - _SURGICAL[mdc]))).astype(np.int64)
    pull = 0.09 * age + 0.8 * _LONG[mdc] - 1.2 * (mix < 2) + rng.logistic(0, 0.7, len(mdc))
    return mdc, surgical, np.searchsorted([0.9, 2.1], pull).astype(np.int64)


def _care(
    rng: Generator, mix: IntArray, age: IntArray, mdc: IntArray, surgical: IntArray, severity: IntArray
) -> tuple[IntArray, IntArray]:
    n = len(mdc)
    mean = 0.55 + 0.45 * severity + 0.25 * surgical + 0.012 * age + _LONG[mdc] - 0.1 * (mix < 2)
    days = np.exp(mean + 0.65 * rng.standard_normal(n))
    stay = np.searchsorted(np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 30, 50, 70, 90]), np.floor(days), side="right")
    thousand = np.exp(1.9 + 0.75 * np.log1p(days) + 0.7 * surgical + 0.15 * severity - 1.0 * (mix == 0))
    cost = thousand * np.exp(0.5 * rng.standard_normal(n))
    return stay.astype(np.int64), (np.searchsorted(np.array(CHARGES), cost, side="right") - 1).astype(np.int64)


def _money(
    rng: Generator, mix: IntArray, age: IntArray, area: IntArray, severity: IntArray, stay: IntArray, mdc: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    n = len(age)
    old, poor = 1 / (1 + np.exp(-(age - 12.5) * 1.6)), (area % 5) / 4
    ones = np.ones(n)
    payer = _pick(
        rng,
        np.column_stack(
            [
                6 * old + 0.15, (1 - 0.8 * old) * (0.8 + 1.4 * poor + 0.8 * (mix < 2)),
                (1 - 0.7 * old) * (2.0 - 1.1 * poor), 0.06 * ones, 0.25 * poor, 0.12 * ones, 0.08 * poor + 0.01,
                0.2 * (1 - old) + 0.02, 0.05 * ones,
            ]
        ),
    )  # fmt: skip
    frail = 0.06 * age * (1 + severity)
    disposition = _pick(
        rng,
        np.column_stack(
            [
                9 * ones, 0.1 + 0.05 * severity, 0.08 * ones, 0.15 + 0.9 * frail, 0.15 + 0.1 * severity, 0.06 * ones,
                0.02 + 0.05 * frail, 0.05 + 0.08 * frail, 0.02 * ones, 0.12 * (mix == 2), 0.05 + 0.35 * frail * (mix
                == 2), 0.2 + 0.6 * frail, 0.05 * ones,
            ]
        ),
    )  # fmt: skip
    mind, drugs = mdc == 18, mdc == 19
    kind = _pick(
        rng,
        np.column_stack(
            [
                12 * ones, 0.1 + 2.0 * (disposition == 3) + 0.6 * (stay > 9), 0.02 + 30 * mind, 0.01 + 12 * drugs,
                0.05 + 0.5 * (stay > 9), 0.05 * ones,
            ]
        ),
    )  # fmt: skip
    return payer, disposition, kind
