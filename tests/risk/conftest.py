"""The ten records of the SDC Practice Guide's risk chapter, on which its numbers are printed."""

import polars as pl
import pytest

from shoal.schema import Schema


@pytest.fixture
def guide():
    return pl.DataFrame(
        {
            "residence": ["urban"] * 4 + ["rural"] + ["urban"] * 5,
            "gender": ["f", "f", "f", "m", "f", "m", "f", "m", "f", "f"],
            "education": ["s-", "s-", "p-", "s", "s", "s", "p", "post", "s-", "s-"],
            "labour": ["yes", "yes", "out", "yes", "no", "yes", "out", "no", "out", "out"],
            "weight": [180, 180, 215, 76, 186, 76, 180, 215, 186, 76],
        }
    )


@pytest.fixture
def guide_schema():
    return Schema.of(quasi=["residence", "gender", "education", "labour"], weight="weight")
