"""Several class columns: one run of CREST for each and the average of the versions, beside one run for all.

    python benchmarks/quality/crest_average.py [--k 10] [--parts 8]

Li and Sarkar (2013), section 8, offer both. NMES1988 with three classes (chronic diseases, health, activity), cut at
random into disjoint parts; MicroPerturb with centred noise. For each way: the share of records linked, the loss in
standard deviations and correlations, and the share of records that are alone among those that share all their groups.
Means over parts, with 95 % intervals (Student's t); the last line is the paired difference.
"""

import argparse
from dataclasses import replace

import numpy as np
import polars as pl
from scipy.stats import t as student

from shoal.datasets import nmes1988
from shoal.group import Crest
from shoal.mask import MicroPerturb, ValueSets, pair_up
from shoal.pair import Pair
from shoal.risk.record_linkage import measure as linkage_of
from shoal.schema import Schema
from shoal.utility.moment import moments_of

CLASSES = ["chronic", "health", "adl"]
MEASURES = ("linked", "ABISD", "correlations", "alone")


def read_table():
    table = nmes1988().with_columns(pl.col("chronic").clip(0, 2).cast(pl.String))
    numbers = [name for name in table.columns if table[name].dtype.is_numeric()]
    return table.select(*numbers, *CLASSES), numbers


def released(pair, groupings, rng):
    """The mean over groupings of what MicroPerturb draws for each record."""
    versions = []
    for labels in groupings:
        sets = ValueSets.of(pair.original_codes, labels, pair.encoder)
        versions.append(pair_up(MicroPerturb(noise="centred").draw(sets, rng), labels, rng))
    return np.mean(versions, axis=0)


def one_part(table, numbers, k, seed):
    """The measures of both ways."""
    rng, every = np.random.default_rng(seed), Schema.of(quasi=numbers, sensitive=CLASSES)
    pair = Pair.of(table, table, every)
    one = [Crest(k=k, classes="each").assign(table, every, seed=seed)]
    single = [(table.select(*numbers, name), Schema.of(quasi=numbers, sensitive=[name])) for name in CLASSES]
    many = [Crest(k=k).assign(part, schema, seed=seed) for part, schema in single]
    return [measures(pair, [np.asarray(labels) for labels in way], rng) for way in (one, many)]


def measures(pair, groupings, rng):
    after = replace(pair, released_codes=released(pair, groupings, rng))
    loss = moments_of(after, columns=list(pair.encoder.names))
    _, inverse, counts = np.unique(np.column_stack(groupings), axis=0, return_inverse=True, return_counts=True)
    alone = float((counts[inverse.reshape(-1)] == 1).mean())
    return [linkage_of(after).share, loss.abisd, loss.correlation_difference, alone]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--k", type=int, action="append")
    ask.add_argument("--parts", type=int, default=8)
    given = ask.parse_args()
    table, numbers = read_table()
    order = np.array_split(np.random.default_rng(0).permutation(len(table)), given.parts)
    print("| k | way | " + " | ".join(MEASURES) + " |\n|" + " --- |" * (len(MEASURES) + 2))
    for k in given.k or [5, 10, 20]:
        found = np.array([one_part(table[rows], numbers, k, seed) for seed, rows in enumerate(order)])
        for name, values in (
            ("one run for all classes", found[:, 0]),
            ("one run each, averaged", found[:, 1]),
            ("difference", found[:, 1] - found[:, 0]),
        ):
            half = student.ppf(0.975, len(values) - 1) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
            cells = " | ".join(f"{m:.3f} ± {h:.3f}" for m, h in zip(values.mean(axis=0), half, strict=True))
            print(f"| {k} | {name} | {cells} |")


if __name__ == "__main__":
    main()
