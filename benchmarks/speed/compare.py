"""How long a comparison of 12 recipes on 20,000 rows of 8 columns takes, and where the time goes.

    python benchmarks/speed/compare.py [--rows 20000] [--jobs 2]

The aim is 120 s on two cores with a warm numba cache; a first run on a few rows warms it here. CPU seconds of the
workers are given too: wall time on a busy machine says little.
"""

import argparse
import resource
import time

import numpy as np
import polars as pl

import shoal
from shoal.comparison import compare, default_recipes


def people(n, seed=1):
    """The simulated survey with ages in years, body mass, region and an illness: 6 quasi-identifiers, 2 sensitive."""
    rng = np.random.default_rng(seed)
    survey = shoal.datasets.health_survey(n, seed=seed)
    low = np.array([0, 18, 26, 35, 45, 55, 65, 75])[survey["age_group"].to_numpy()]
    age = low + rng.integers(0, 10, n)
    bmi = np.round(22 + 4 * np.log1p(age / 20) + 4 * rng.standard_normal(n), 1).clip(12, 60)
    ill = rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 12 - (bmi - 27) / 6))
    return survey.drop("age_group", "weight").with_columns(
        age=pl.Series(age),
        bmi=pl.Series(bmi),
        region=pl.Series(rng.choice(["north", "south", "east", "west"], n)),
        ill=pl.Series(np.where(ill, "yes", "no")),
    )


def people_schema():
    return shoal.Schema.of(
        quasi=["gender", "age", "education", "income", "region", "bmi"],
        sensitive=["cost", "ill"],
        kinds={"education": "ordinal", "income": "ordinal"},
        levels={
            "gender": ["female", "male"],
            "education": range(6),
            "income": range(5),
            "region": ["north", "south", "east", "west"],
            "ill": ["no", "yes"],
        },
        bounds={"age": (0, 120), "bmi": (10, 80), "cost": (0, 1_000_000)},
    )


def cpu_of_workers():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--rows", type=int, default=20_000)
    ask.add_argument("--jobs", type=int, default=2)
    ask.add_argument("--recipes", type=int, default=12)
    given = ask.parse_args()
    table, schema = people(given.rows), people_schema()
    recipes = default_recipes(schema, table)
    chosen = [recipes[i] for i in np.linspace(0, len(recipes) - 1, given.recipes).round().astype(int)]
    compare(people(500), schema, chosen, seed=1, jobs=given.jobs)  # compile first
    start, cpu = time.perf_counter(), cpu_of_workers()
    result = compare(table, schema, chosen, seed=1, jobs=given.jobs)
    taken, cpu = time.perf_counter() - start, cpu_of_workers() - cpu
    for one in sorted(result.outcomes, key=lambda one: -one.seconds):
        print(f"{one.name:52} {one.state:8} {one.seconds:7.2f} s   found {one.risk:.4f}   kept {one.utility:.3f}")
    print(
        f"{len(chosen)} recipes, {given.rows:,} x {table.width}: {taken:.1f} s with {given.jobs} workers "
        f"({cpu:.1f} CPU seconds; on idle cores about {cpu / given.jobs:.0f} s)"
    )


if __name__ == "__main__":
    main()
