"""Small tables, and outcomes made up for the occasion."""

import numpy as np
import polars as pl
import pytest

from shoal.comparison import Comparison, Outcome
from shoal.recipe import as_recipe
from shoal.schema import Schema


@pytest.fixture(scope="session")
def survey():
    rng = np.random.default_rng(1)
    n = 240
    age = rng.integers(20, 80, n)
    return pl.DataFrame(
        {
            "name": [f"SENTINEL-{i}" for i in range(n)],
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(["Alba", "Boro", "Cove"], n),
            "cost": np.round(np.exp(4 + age / 40 + rng.standard_normal(n)), 2),
            "ill": np.where(rng.random(n) < age / 100, "yes", "no"),
        }
    )


@pytest.fixture(scope="session")
def survey_schema():
    return Schema.of(
        identifier=["name"],
        quasi=["age", "sex", "town"],
        sensitive=["cost", "ill"],
        levels={"sex": ["f", "m"], "town": ["Alba", "Boro", "Cove"], "ill": ["no", "yes"]},
        bounds={"age": (0, 120), "cost": (0, 100_000)},
    )


@pytest.fixture(scope="session")
def make():
    """An outcome of a recipe, as if it had been measured."""

    def one(given, risk=None, utility=None, *, state="done", reason="", claims=(), **risks):
        recipe = as_recipe(given)
        measured = state == "done"
        return Outcome(
            recipe=recipe,
            name=recipe.title,
            family=recipe.family,
            state=state,
            reason=reason,
            seconds=1.25,
            risks={"found": risk, **risks} if measured else {},
            utilities={"kept": utility} if measured else {},
            claims=tuple(claims),
        )

    return one


@pytest.fixture(scope="session")
def comparison(make):
    import shoal
    from shoal.claim import Claim

    bound = [
        Claim(kind="re-identification bound", value=v, scope="per person", basis="proved", statement="It is bounded.")
        for v in (0.2, 0.1)
    ]
    dp = Claim(kind="epsilon-DP", value=1.0, scope="per data set", basis="proved", statement="All rows cost ε = 1.")
    return Comparison(
        outcomes=(
            make((shoal.MDAV(k=5), shoal.Centroid()), 0.12, 0.95, claims=bound[:1], guessed=0.3),
            make((shoal.MDAV(k=10), shoal.Centroid()), 0.04, 0.9, claims=bound[1:], guessed=0.2),
            make((shoal.MDAV(k=10), shoal.Shuffle()), 0.045, 0.93, guessed=0.25),
            make(shoal.Mondrian(k=5), 0.11, 0.8, claims=bound[:1], guessed=0.35),
            make(shoal.PeGS(epsilon=1.0), 0.01, 0.85, claims=[dp], guessed=0.1),
            make((shoal.Crest(k=5), shoal.Centroid()), state="refused", reason="schema: <b>no class</b> column."),
            make(shoal.Generalize(k=5), state="out of time", reason="It took longer than 1 s and was stopped."),
        ),
        reference={"found": 0.9, "guessed": 0.97, "second_sample": 0.98},
        n_records=240,
        quasi=("age", "sex", "town"),
        sensitive=("cost", "ill"),
    )
