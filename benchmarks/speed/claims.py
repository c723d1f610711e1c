"""A simulated table of insurance claims, as large as wanted: what the speed of whole releases is measured on.

Eight quasi-identifiers (age, sex, race, county of 200, plan, income, month of admission, length of stay), cost and
diagnosis as sensitive. Income is nearly continuous and goes with age and plan; counties differ in size by a factor of
some fifty. Not a picture of anybody's claims.
"""

from __future__ import annotations

import numpy as np
import polars as pl

import shoal

QUASI = ("age", "sex", "race", "county", "plan", "income", "month", "stay")
PLANS = np.array(["medicare", "medicaid", "employer", "individual"])
RACES = np.array(["white", "black", "hispanic", "asian", "other"])
N_COUNTIES = 200


def claims(n: int, seed: int = 1) -> pl.DataFrame:
    """Simulate `n` claims; the same seed gives the same table."""
    rng = np.random.default_rng(seed)
    age = np.clip(np.rint(100 * rng.beta(2.2, 1.6, n)), 0, 99).astype(np.int64)
    plan = np.where(age >= 65, 0, rng.choice([1, 2, 3], n, p=[0.3, 0.55, 0.15]))
    county = rng.choice(N_COUNTIES, n, p=_shares(N_COUNTIES))
    scale = np.array([9.9, 9.6, 10.9, 10.6])[plan] + 0.004 * np.minimum(age, 55)
    income = np.rint(np.exp(scale + 0.6 * rng.standard_normal(n)) / 100.0).astype(np.int64) * 100
    stay = 1 + rng.poisson(0.5 + 0.05 * age * rng.gamma(2.0, 0.5, n))
    cost = np.rint(np.exp(7.5 + 0.25 * np.log(stay) + 0.01 * age + 0.8 * rng.standard_normal(n)))
    return pl.DataFrame(
        {
            "age": age,
            "sex": np.array(["female", "male"])[rng.integers(0, 2, n)],
            "race": RACES[rng.choice(5, n, p=[0.58, 0.16, 0.16, 0.06, 0.04])],
            "county": np.char.mod("c%03d", np.arange(N_COUNTIES))[county],
            "plan": PLANS[plan],
            "income": income,
            "month": rng.integers(1, 13, n),
            "stay": stay,
            "cost": cost.astype(np.int64),
            "diagnosis": np.char.mod("d%02d", np.arange(40))[rng.choice(40, n, p=_shares(40))],
        }
    )


def claims_schema() -> shoal.Schema:
    """Their roles."""
    return shoal.Schema.of(quasi=list(QUASI), sensitive=["cost", "diagnosis"])


def _shares(n: int) -> np.ndarray:
    weight = 1.0 / np.arange(4, n + 4)
    return weight / weight.sum()
