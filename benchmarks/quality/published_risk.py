"""Risk figures on the files of sdcMicro's documentation, beside the numbers printed there or computed independently.

    python benchmarks/quality/published_risk.py FOLDER     with sdcmicro_testdata.csv and sdcmicro_francdat.csv

Ends with exit code 1 where a number differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from shoal import Schema, risk
from shoal.risk.household_risk import household_risks

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def testdata(folder):
    """4,580 persons of a household survey, seven keys, weights of 100."""
    table = pl.read_csv(folder / "sdcmicro_testdata.csv")
    schema = Schema.of(quasi=KEYS, weight="sampling_weight")
    classes = risk.classes(table, schema)
    found = risk.individual(table, schema, model="negative binomial")
    home = table["ori_hid"].rank("dense").to_numpy().astype(np.int64) - 1
    together = household_risks(found.risks, home, int(home.max()) + 1)
    for k, wanted in ((2, 157), (3, 281), (5, 458)):
        yield f"testdata: persons in classes below {k}", classes.small_share(k) * len(table), wanted
    yield "testdata: expected re-identifications", found.expected, 10.77553
    yield "testdata: the same through households, persons", float(together @ np.bincount(home)), 51.79959


def francdat(folder):
    """Eight records with keys and weights, the worked example of individual risk."""
    table = pl.read_csv(folder / "sdcmicro_francdat.csv")
    found = risk.individual(table, Schema.of(quasi=["Key1", "Key2", "Key3", "Key4"], weight="w"))
    wanted = [0.01714426, 0.02204233, 0.02204233, 0.1770758, 0.01165448, 0.2970631, 0.4023595, 0.01714426]
    for row, (value, exact) in enumerate(zip(found.risks, wanted, strict=True), 1):
        yield f"francdat: risk of record {row}", float(value), exact
    yield "francdat: largest risk for a rate of 0.1", found.threshold_for(0.1), 0.1770758


def main(folder):
    wrong = 0
    for name, value, wanted in (*testdata(folder), *francdat(folder)):
        agrees = abs(value - wanted) <= 1e-5 * max(1, abs(wanted))
        wrong += not agrees
        print(f"{name:<50} {value:12.7g}  {wanted:12.7g}  {'' if agrees else 'DIFFERS'}")
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(Path(sys.argv[1]))))
