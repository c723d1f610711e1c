"""Tables of every sort of column, and releases of them."""

import numpy as np
import polars as pl
import pytest

from shoal.schema import Schema


def make_survey(n, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    sex = rng.choice(["f", "m"], n)
    return pl.DataFrame(
        {
            "age": age,
            "sex": sex,
            "town": rng.choice(["Alba", "Boro", "Cove", None], n, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
            "education": rng.choice(["none", "school", "college"], n),
            "income": np.round(rng.lognormal(10, 1, n)),
            "perwt": rng.integers(1, 4, n).astype(float),
            "cost": 50 + 3.0 * age + 20 * (sex == "f") + rng.normal(0, 30, n),
            "ill": rng.choice(["no", "yes", "often"], n, p=[0.7, 0.2, 0.1]),
        }
    )


SURVEY_SCHEMA = Schema.of(
    quasi=["age", "sex", "town", "education", "income"],
    sensitive=["cost", "ill"],
    weight="perwt",
    levels={"education": ["none", "school", "college"]},
    kinds={"education": "ordinal"},
)


def make_noise(table, seed=1):
    """Every column from another row: the marginals stay, all links are gone."""
    rng = np.random.default_rng(seed)
    quasi = SURVEY_SCHEMA.quasi
    return table.with_columns([table[name].gather(rng.permutation(len(table))).alias(name) for name in quasi])


@pytest.fixture(scope="session")
def survey():
    return make_survey(400)


@pytest.fixture(scope="session")
def schema():
    return SURVEY_SCHEMA


@pytest.fixture(scope="session")
def noise(survey):
    return make_noise(survey)


@pytest.fixture(scope="session")
def survey_maker():
    return make_survey


@pytest.fixture(scope="session")
def noise_maker():
    return make_noise


@pytest.fixture(scope="session")
def wide():
    """200 columns of three sorts, some of them constant, and a schema for them."""
    rng = np.random.default_rng(5)
    n = 300
    sorts = [
        lambda: rng.normal(size=n),
        lambda: rng.choice(list("abcdef"), n),
        lambda: rng.integers(0, 5, n),
        lambda: np.full(n, 3.0),
    ]
    table = pl.DataFrame({f"q{j}": sorts[j % 4]() for j in range(200)} | {"y": rng.normal(size=n)})
    return table, Schema.of(quasi=[f"q{j}" for j in range(200)], sensitive=["y"])
