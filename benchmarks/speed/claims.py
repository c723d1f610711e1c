"""A simulated table of insurance claims, as large as wanted: what the speed of whole releases is measured on.

Eight quasi-identifiers (age, sex, race, county of 200, plan, income, month of admission, length of stay), cost and
diagnosis as sensitive. Income is nearly continuous and goes with age and plan; counties differ in size by a factor of
some fifty. Incomes, costs and stays are cut at public bounds, so that synthesis has a domain. Not a picture of
anybody's claims.
"""

from __future__ import annotations

import numpy as np
import polars as pl

import shoal

QUASI = ("age", "sex", "race", "county", "plan", "income", "month", "stay")
PLANS = np.array(["medicare", "medicaid", "employer", "individual"])
RACES = np.array(["white", "black", "hispanic", "asian", "other"])
N_COUNTIES = 200
COUNTIES = np.char.mod("c%03d", np.arange(N_COUNTIES))
DIAGNOSES = np.char.mod("d%02d", np.arange(40))
BOUNDS = {"age": (0, 99), "income": (0, 300_000), "stay": (1, 40), "cost": (0, 100_000)}


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
            "county": COUNTIES[county],
            "plan": PLANS[plan],
            "income": np.minimum(income, BOUNDS["income"][1]),
            "month": rng.integers(1, 13, n),
            "stay": np.minimum(stay, BOUNDS["stay"][1]),
            "cost": np.minimum(cost, BOUNDS["cost"][1]).astype(np.int64),
            "diagnosis": DIAGNOSES[rng.choice(40, n, p=_shares(40))],
        }
    )


def claims_schema() -> shoal.Schema:
    """Their roles."""
    levels = {"sex": ["female", "male"], "race": RACES, "county": COUNTIES, "plan": PLANS, "diagnosis": DIAGNOSES}
    return shoal.Schema.of(
        quasi=list(QUASI),
        sensitive=["cost", "diagnosis"],
        kinds={"month": "ordinal"},
        bounds=BOUNDS,
        levels={
            **{name: [str(level) for level in found] for name, found in levels.items()},
            "month": list(range(1, 13)),
        },
    )


def _shares(n: int) -> np.ndarray:
    weight = 1.0 / np.arange(4, n + 4)
    return weight / weight.sum()
