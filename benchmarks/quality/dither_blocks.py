"""The Gaussian dither in blocks beside the one over all groups at once: distribution, risk, correlations.

    python benchmarks/quality/dither_blocks.py [--quick] [--meps FILE] [--census FILE]

`groups` is the number of distinct groups in a block: "all" is the published transform, "usual" the default. Each row is
the mean over the seeds, the same for every row of a table: histogram intersection of the quasi-identifiers; expected
re-identification and the group formula's mean (both at most 1/k); the mean absolute difference between the correlations
of the original and of the release, among quasi-identifiers (x, x) and with the sensitive number (x, y). Columns that
aren't numbers are counted by the frequency rank of their levels. The files are the 2023 adults of MEPS and the CASC
"Census" benchmark.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.conform import prepare
from shoal.encode import Encoder

sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))
from claims import claims, claims_schema

K = 5
ALL = 10**9
TITLES = "intersection", "re-identified", "by group", "corr x, x", "corr x, y"
NAMES = {ALL: "all", None: "usual"}


def meps(path):
    columns = ["RACETHX", "AGE23X", "SEX", "EDUCYR", "INSURC23", "POVCAT23", "DIABDX_M18", "HIBPDX"]
    table = pl.read_csv(path).select(*columns, "TOTEXP23").with_columns(pl.col("INSURC23").fill_null("over 64"))
    return table.drop_nulls(), shoal.Schema.of(quasi=columns, sensitive=["TOTEXP23"])


def census(path):
    columns = ["AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX"]
    return pl.read_csv(path).select(*columns, "WSALVAL"), shoal.Schema.of(quasi=columns, sensitive=["WSALVAL"])


def correlations(table, schema, encoder):
    """Among the quasi-identifiers, and of each with the sensitive number."""
    codes = encoder.codes(table)
    y = table[schema.sensitive[0]].to_numpy()
    found = np.corrcoef(np.column_stack([codes, y]).T)
    return found[:-1, :-1][np.triu_indices(len(found) - 1, 1)], found[-1, :-1]


def measured(table, schema, block_groups, seed):
    mask = shoal.GaussianDither(block_groups=block_groups)
    release = shoal.anonymize(table, schema, group=shoal.KMember(k=K), mask=mask, seed=seed)
    risk = shoal.risk.reidentification(
        table, release.table, schema, source_rows=release.source_rows, labels=release.labels, trials=1
    )
    encoder = Encoder.fit(prepare(table, schema), schema.quasi)
    before, after = (correlations(frame, schema, encoder) for frame in (table, release.table))
    apart = [float(np.abs(a - b).mean()) for a, b in zip(before, after, strict=True)]
    return shoal.utility.histogram_intersection(table, release.table, schema), risk.expected, risk.by_group.mean, *apart


def show(name, table, schema, seeds, choices):
    print(f"\n{name}: {len(table):,} rows, {len(schema.quasi)} quasi-identifiers, k = {K}, {len(seeds)} seeds")
    print(f"{'groups':>8}", *(f"{title:>13}" for title in TITLES))
    for groups in choices:
        mean = np.mean([measured(table, schema, groups, seed) for seed in seeds], axis=0)
        print(f"{NAMES.get(groups, groups):>8}", *(f"{value:>13.5f}" for value in mean))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and seeds")
    parser.add_argument("--meps", help="CSV of the 2023 adults of MEPS")
    parser.add_argument("--census", help="CSV of the CASC Census benchmark")
    chosen = parser.parse_args()
    seeds = range(2) if chosen.quick else range(5)
    survey = shoal.datasets.health_survey(2000 if chosen.quick else 15_000, seed=1)
    show("survey", survey, shoal.datasets.health_survey_schema(), seeds, (ALL, None, 250))
    if chosen.census:
        show("census", *census(chosen.census), seeds, (ALL, None, 100))
    if chosen.meps:
        show("MEPS", *meps(chosen.meps), seeds, (ALL, None, 2500, 1250, 500))
    show("claims", claims(2000 if chosen.quick else 20_000), claims_schema(), seeds, (ALL, None, 2500, 1250, 500))


if __name__ == "__main__":
    main()
