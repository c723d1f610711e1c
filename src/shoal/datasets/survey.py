"""A simulated health survey: the shape of the Medical Expenditure Panel Survey (MEPS), and no real person.

The columns are those of the market-risk papers: gender, age in eight groups, education in six levels, income in five
classes of the federal poverty level, the yearly cost of health care in dollars, and a person weight. With
σ(x) = 1 / (1 + exp(−x)), standard logistic noise L and standard normal noise Z, all independent, a person is drawn as

- age group a = 0..7 with shares π_a (constant `_AGE`), woman with probability f_a (`_WOMAN`), F = 1 if woman;
- education: for a = 0 level 1 with probability 0.15, else level 0; for a ≥ 1 the number of cuts −2, −1.3, −0.1, 0.7,
  1.5 below m_a + 0.2 F + 0.6 L (`_SCHOOLING` holds m_a): people in mid life stayed longer in school than the old;
- income: the number of cuts 1.2, 1.5, 2.1, 3.1 below e + t_a − 0.3 F + 0.4 L; for a = 0 it is the family's, with 2.5
  for e and 0.8 L (`_EARNING` holds t_a): it rises with education, peaks before retirement, is lower for women;
- cost: 0 with probability 1 − p, p = σ(b_a + 0.8 F M + 0.22 e + 0.1 i) with M = 1 in the groups 1 to 4
  (`_CARE` holds b_a); otherwise exp(μ + 1.35 Z) dollars, rounded, at least one, with
  μ = c_a + 0.35 F M + 0.03 e + 0.02 i (`_LOG_COST` holds c_a): the delta-lognormal shape of health spending;
- weight: 19,900 exp(u_i + v_a + 0.5 Z − 0.125), as the poor and the old are sampled more often.

With 15,000 people about 300 combinations of the four quasi-identifiers occur, about 17% have no cost, the mean cost is
about 4,950 and the mean weight about 20,000.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.errors import ParameterError
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["AGE_GROUPS", "health_survey", "health_survey_schema"]

AGE_GROUPS = ("under 18", "18-25", "26-34", "35-44", "45-54", "55-64", "65-74", "75 and over")

_AGE = np.array([0.255, 0.110, 0.120, 0.135, 0.140, 0.110, 0.075, 0.055])
_WOMAN = np.array([0.49, 0.51, 0.52, 0.52, 0.52, 0.52, 0.54, 0.59])
_SCHOOLING = np.array([0.0, -0.6, 0.5, 0.4, 0.2, 0.1, -0.2, -0.6])
_SCHOOL_CUTS = np.array([-2.0, -1.3, -0.1, 0.7, 1.5])
_EARNING = np.array([-0.2, -0.8, -0.2, 0.1, 0.4, 0.3, -0.1, -0.4])
_INCOME_CUTS = np.array([1.2, 1.5, 2.1, 3.1])
_CARE = np.array([1.35, -0.35, -0.15, 0.15, 0.55, 1.35, 2.45, 3.05])
_LOG_COST = np.array([6.40, 6.70, 6.95, 7.20, 7.55, 8.05, 8.40, 8.70])
_WEIGHT_BY_INCOME = np.array([-0.30, -0.20, -0.05, 0.05, 0.15])
_WEIGHT_BY_AGE = np.array([0.00, 0.15, 0.10, 0.00, 0.00, -0.05, -0.15, -0.25])


def health_survey(n: int = 15_000, seed: int = 0) -> pl.DataFrame:
    """Draw `n` people of a simulated health survey; the same `n` and `seed` give the same people.

    Parameters
    ----------
    n
        Number of people.
    seed
        Which draw.

    Returns
    -------
    A frame with the columns gender ("female", "male"), age_group (0 to 7, see `AGE_GROUPS`), education (0 to 5:
    up to 8 years of school, 9 to 11, 12, 13 to 15, 16, more), income (0 to 4: poor, near poor, low, middle, high), cost
    (dollars a year, whole) and weight (people in the population that one in the sample stands for). No value is
    missing. The model and its numbers are in the module's docstring. Cost: linear in `n`.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.datasets.health_survey(1000, seed=1)
    >>> table.columns
    ['gender', 'age_group', 'education', 'income', 'cost', 'weight']
    """
    _check(n, seed)
    woman, age = _people(stream(seed, "health_survey", "people"), n)
    education = _education(stream(seed, "health_survey", "education"), woman, age)
    income = _income(stream(seed, "health_survey", "income"), woman, age, education)
    cost = _cost(stream(seed, "health_survey", "cost"), woman, age, education, income)
    weight = _weight(stream(seed, "health_survey", "weight"), age, income)
    return pl.DataFrame(
        {
            "gender": np.where(woman, "female", "male"),
            "age_group": age,
            "education": education,
            "income": income,
            "cost": cost,
            "weight": weight,
        }
    )


def health_survey_schema() -> Schema:
    """Return the schema of `health_survey`: four quasi-identifiers, the cost is sensitive, the weight is a weight.

    Examples
    --------
    >>> import shoal
    >>> shoal.datasets.health_survey_schema().quasi
    ('gender', 'age_group', 'education', 'income')
    """
    return Schema.of(
        quasi=["gender", "age_group", "education", "income"],
        sensitive=["cost"],
        weight="weight",
        kinds={
            "gender": "nominal",
            "age_group": "ordinal",
            "education": "ordinal",
            "income": "ordinal",
            "cost": "numeric",
            "weight": "numeric",
        },
        levels={
            "gender": ["female", "male"],
            "age_group": list(range(8)),
            "education": list(range(6)),
            "income": list(range(5)),
        },
    )


def _check(n: int, seed: int) -> None:
    for name, value, least in (("n", n, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ParameterError(
                "health_survey", f"{name} must be a whole number, at least {least}", got=repr(value)[:60]
            )


def _people(rng: Generator, n: int) -> tuple[BoolArray, IntArray]:
    age = rng.choice(len(_AGE), size=n, p=_AGE)
    return rng.random(n) < _WOMAN[age], age.astype(np.int64)


def _education(rng: Generator, woman: BoolArray, age: IntArray) -> IntArray:
    child = rng.random(len(age)) < 0.15
    adult = np.searchsorted(_SCHOOL_CUTS, _SCHOOLING[age] + 0.2 * woman + 0.6 * rng.logistic(size=len(age)))
    return np.where(age == 0, child, adult).astype(np.int64)


def _income(rng: Generator, woman: BoolArray, age: IntArray, education: IntArray) -> IntArray:
    schooling, noise = np.where(age == 0, 2.5, education), np.where(age == 0, 0.8, 0.4)
    score = schooling + _EARNING[age] - 0.3 * woman + noise * rng.logistic(size=len(age))
    income: IntArray = np.searchsorted(_INCOME_CUTS, score).astype(np.int64)
    return income


def _cost(rng: Generator, woman: BoolArray, age: IntArray, education: IntArray, income: IntArray) -> IntArray:
    mid = woman & (age >= 1) & (age <= 4)
    odds = _CARE[age] + 0.8 * mid + 0.22 * education + 0.1 * income
    mu = _LOG_COST[age] + 0.35 * mid + 0.03 * education + 0.02 * income
    spends = rng.random(len(age)) < 1 / (1 + np.exp(-odds))
    dollars = np.maximum(1, np.rint(np.exp(mu + 1.35 * rng.standard_normal(len(age)))))
    return np.where(spends, dollars, 0).astype(np.int64)


def _weight(rng: Generator, age: IntArray, income: IntArray) -> FloatArray:
    by_group = _WEIGHT_BY_INCOME[income] + _WEIGHT_BY_AGE[age]
    weight: FloatArray = 19_900 * np.exp(by_group + 0.5 * rng.standard_normal(len(age)) - 0.125)
    return weight.round(2)
