"""An engine is a fixture: one test body runs on every one of them."""

import os
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from shoal.engine import open_engine
from shoal.recipe import Coarsening
from shoal.release.on_engine.make import release_files

SPARK = bool(os.environ.get("SHOAL_SPARK"))
"""Set by `make test-spark`, which installs PySpark and Java."""


@pytest.fixture(params=["memory", "duckdb", *(["spark"] if SPARK else [])])
def engine(request, tmp_path):
    if request.param == "spark":
        yield request.getfixturevalue("spark_engine")
        return
    with open_engine(request.param, memory=None if request.param == "memory" else "500MB", spill=tmp_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def spark_session():
    """Two cores, tasks that may fail three times: plain ``local[2]`` never runs one again."""
    from shoal.engine.spark import _started

    session = _started("local[2,4]", None)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()


@pytest.fixture
def spark_engine(spark_session):
    from shoal.engine.spark import SparkEngine

    with SparkEngine(session=spark_session) as opened:
        yield opened


@pytest.fixture
def visits():
    """Persons with several rows, some without a number; codes with leading zeros, NaN, both zeros, nulls."""
    rng, n = np.random.default_rng(1), 3000
    who = rng.integers(0, 1500, n)
    rate = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 3, n) * 0.5)
    return pl.DataFrame(
        {
            "who": pl.Series(who, dtype=pl.Int64).set(pl.Series(who % 17 == 0), None),
            "age": rng.integers(20, 60, n),
            "zip": [f"0{z}" for z in rng.integers(100, 106, n)],
            "rate": np.where((rate == 0) & (rng.random(n) < 0.5), -0.0, rate),
            "ill": rng.choice(["no", "flu", "cancer"], n).tolist(),
            "cost": rng.integers(0, 40, n) * 10.0,
        }
    ).with_columns(pl.when(pl.col("age") % 9 == 0).then(None).otherwise("ill").alias("ill"))


def coarsen_files(engine, inputs, schema, method, target, **given):
    """Coarsen files by one method."""
    return release_files(engine, inputs, schema, Coarsening.of(method), target, **given)


def cut(frame, folder, n_files, ending="parquet"):
    """Write a frame as `n_files` files of unequal length."""
    folder.mkdir(parents=True, exist_ok=True)
    edges = np.linspace(0, len(frame), n_files + 1).astype(int)
    for i, (low, high) in enumerate(pairwise(edges)):
        part = frame[int(low) : int(high)]
        part.write_csv(folder / f"{i}.csv") if ending == "csv" else part.write_parquet(folder / f"{i}.{ending}")
    return folder
