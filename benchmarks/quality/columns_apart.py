"""Columns apart (Balanced and Permute) on real files: what regressions keep, what an intruder completes, what it takes.

    python benchmarks/quality/columns_apart.py DATA [--k 11] [--rows 4000] [--seeds 2] [--only acs adult] [--plain]
    python benchmarks/quality/columns_apart.py DATA --times

DATA is the folder with the public files (adult, ACS, MEPS, diabetes, NMES, sd2011). Each number is the mean over the
seeds. Beside `apart` stand `rows` (k-member and the Gaussian dither, k = 5) and a bootstrap of the original, which is
what a fresh sample would give. With `--plain`, columns apart without the rank step.

slopes        each feature of a sensitive column on each of a quasi-identifier: share within two standard errors
kept          sum of released times original slopes by sum of squared original slopes
multiple      each feature of a sensitive column on all quasi-identifiers: share of coefficients within two errors
interactions  differences of slopes between two halves of the file by a quasi-identifier: share within two errors
net q, net s  completion from three quasi-identifiers, from one sensitive value: gain over what other people tell

Features are numbers (logarithms where they are skewed) and levels of at least 20 people, standardised.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.mask.rank_step import rank_step
from shoal.recipe import Anonymization
from shoal.recipe.recipe import Run
from shoal.risk import completion
from shoal.rng import fresh_key, repeatable, stream

FILES = {
    "meps2023": (
        "meps2023_adults.csv",
        "RACETHX AGE23X SEX EDUCYR POVCAT23 INSURC23",
        "TOTEXP23 DIABDX_M18 HIBPDX CANCERDX",
    ),
    "acs": ("acs2019_national_excerpt.csv", "PUMA AGEP SEX MSP HISP RAC1P NPF OWN_RENT", "EDU PINCP POVPIP DREM DPHY"),
    "adult": (
        "adult.csv.gz",
        "age race sex marital_status education relationship native_country",
        "workclass occupation hours_per_week income",
    ),
    "diabetes": (
        "diabetes130_hospital.csv.gz",
        "race gender age admission_type_id payer_code medical_specialty",
        "time_in_hospital num_lab_procedures num_procedures num_medications number_inpatient number_diagnoses "
        "A1Cresult readmitted",
    ),
    "nmes": (
        "nmes1988.csv",
        "age gender married school income region employed afam",
        "visits nvisits ovisits emergency hospital health chronic adl",
    ),
    "sd2011": (
        "sd2011.csv",
        "sex age placesize region edu marital socprof",
        "income ls depress trust sport nofriend smoke alcabuse weight",
    ),
}  # fmt: skip
TITLES = "slopes", "kept", "multiple", "interactions", "net q", "net s"


def read(folder, name, n_rows, seed=0):
    """The rows of one file that are used, and their schema."""
    file, quasi, sensitive = FILES[name]
    quasi, sensitive = quasi.split(), sensitive.split()
    table = pl.read_csv(folder / file, infer_schema_length=None, null_values=["?", "N", "NA"])
    if "patient_nbr" in table.columns:
        table = table.unique("patient_nbr", keep="first", maintain_order=True)
    table = table.select(*quasi, *sensitive)
    rows = np.sort(stream(seed, "rows").permutation(len(table))[:n_rows])
    table = table[rows]
    missing = {column: "level" for column in table.columns if table[column].dtype.is_numeric()}
    return table, shoal.Schema.of(quasi=quasi, sensitive=sensitive, missing=missing)


def features(table, names, like):
    """Numbers and levels of `table` on the scale of `like`, column by column."""
    found = []
    for name in names:
        column, own = table[name], like[name]
        if own.dtype.is_numeric() and own.n_unique() > 2:
            values, base = column.cast(float).to_numpy().copy(), own.cast(float).to_numpy()
            if np.nanmin(base) >= 0 and np.nanmean(base) > 2 * np.nanmedian(base):
                values, base = np.log1p(values), np.log1p(base)
            values[np.isnan(values)] = np.nanmean(base)
            found.append((values - np.nanmean(base)) / (np.nanstd(base) or 1.0))
        else:
            counts = own.value_counts(sort=True).drop_nulls().filter(pl.col("count") >= 20)
            for level in counts[name].to_list()[1:31] if len(counts) > 1 else []:
                share = (own == level).fill_null(False).mean()
                found.append(((column == level).fill_null(False).to_numpy() - share) / np.sqrt(share * (1 - share)))
    return np.column_stack(found)


def slopes(x, y):
    """Slope of each y on each x, and its standard error."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    xx, yy = (x**2).sum(axis=0)[:, None], (y**2).sum(axis=0)[None, :]
    b = np.divide(x.T @ y, xx, out=np.zeros((x.shape[1], y.shape[1])), where=xx > 1e-9)
    rest = np.maximum(yy - b**2 * xx, 0)
    se = np.sqrt(np.divide(rest, xx * max(1, len(x) - 2), out=np.full_like(b, np.inf), where=xx > 1e-9))
    return b, se


def multiple(x, y):
    """Coefficients of each y on all x, and their standard errors."""
    design = np.column_stack([np.ones(len(x)), x])
    inverse = np.linalg.pinv(design.T @ design)
    b = inverse @ design.T @ y
    rest = ((y - design @ b) ** 2).sum(axis=0) / max(1, len(x) - design.shape[1])
    return b[1:], np.sqrt(np.outer(np.diag(inverse), rest))[1:]


def halves(table, names, like):
    """For each column, who is above its middle, or has its commonest level."""
    for name in names:
        own = like[name]
        if own.dtype.is_numeric() and own.n_unique() > 2:
            yield name, (table[name].cast(float) > own.cast(float).median()).fill_null(False).to_numpy()
        else:
            yield name, (table[name] == own.drop_nulls().mode().sort()[0]).fill_null(False).to_numpy()


def analyses(table, like, schema):
    x, y = (features(table, names, like) for names in (schema.quasi, schema.sensitive))
    between = []
    for _, half in halves(table, schema.quasi, like):
        if 50 < half.sum() < len(half) - 50:
            (b1, e1), (b0, e0) = slopes(x[half], y[half]), slopes(x[~half], y[~half])
            between.append((b1 - b0, np.hypot(e1, e0)))
        else:
            between.append((np.zeros((x.shape[1], y.shape[1])), np.full((x.shape[1], y.shape[1]), np.inf)))
    return slopes(x, y), multiple(x, y), (np.stack([b for b, _ in between]), np.stack([e for _, e in between]))


def within(mine, theirs):
    """Share of the original's estimates that are found again within two of its standard errors."""
    (b, se), (other, _) = mine, theirs
    counted = np.isfinite(se) & (se > 0) & np.isfinite(other)
    return float((np.abs(other - b) <= 2 * se)[counted].mean())


def measured(table, schema, released, source_rows, seed):
    mine, theirs = analyses(table, table, schema), analyses(released, table, schema)
    b, other = mine[0][0], theirs[0][0]
    gains = {"three": np.nan, "one": np.nan}
    if source_rows is not None:
        attacks = completion(table, released, schema, source_rows, known=3, seed=seed).attacks
        for key, given in (("three", "some quasi-identifiers"), ("one", "one sensitive column")):
            gains[key] = max((a.gain for a in attacks if a.given == given), default=np.nan)
    kept = float((b * other).sum() / (b**2).sum())
    shares = [within(m, t) for m, t in zip(mine, theirs, strict=True)]
    return shares[0], kept, shares[1], shares[2], gains["three"], gains["one"]


def released(table, schema, group, mask, seed):
    """The rows that a recipe releases, without the evidence beside them."""
    with repeatable(seed):
        made = Anonymization.of(group, mask).run(table, schema, Run(seed=seed, key=fresh_key()))
    return made.frame.to_polars(), made.source_rows


def report(name, table, schema, k, seeds, plain):
    recipes = {
        f"apart, k = {k}": (shoal.Balanced(k=k), shoal.Permute(neighbours=not plain)),
        "rows, k = 5": (shoal.KMember(k=5), shoal.GaussianDither()),
    }
    for title, (group, mask) in recipes.items():
        runs = [measured(table, schema, *released(table, schema, group, mask, s), s) for s in range(seeds)]
        line(f"{name}, {title}", np.nanmean(runs, axis=0))
    again = [table[stream(s, "bootstrap").integers(0, len(table), len(table))] for s in range(seeds)]
    line(f"{name}, bootstrap", np.mean([measured(table, schema, t, None, s) for s, t in enumerate(again)], axis=0))


def line(name, numbers):
    shown = " | ".join("   –" if np.isnan(x) else f"{x:12.2f}" for x in numbers)
    print(f"| {name:24} | {shown} |", flush=True)


def times(folder, k):
    """CPU seconds of the run alone, and of a whole release with its evidence."""
    print("| rows x columns | run | rank step alone |\n| --- | --- | --- |")
    base, schema = read(folder, "acs", 10**9)
    done = []
    for n in (4000, 20_000, 100_000, 1_000_000):
        cost = stream(n, "cost").lognormal(8, 1.5, n)
        table = base[stream(n, "rows").integers(0, len(base), n)].with_columns(cost=cost)
        wide = shoal.Schema(columns=(*schema.columns, *shoal.Schema.of(sensitive=["cost"]).columns))
        begin = time.process_time()
        released(table, wide, shoal.Balanced(k=k), shoal.Permute(), 1)
        done.append((n, time.process_time() - begin))
        begin = time.process_time()
        rank_step(table["cost"].to_numpy(), k, stream(1, "step"))
        print(f"| {n:,} x {table.width} | {done[-1][1]:.1f} | {time.process_time() - begin:.2f} |", flush=True)
    (n0, t0), (n1, t1) = done[1], done[-1]
    print(f"growth exponent from {n0:,} to {n1:,} rows: {np.log(t1 / t0) / np.log(n1 / n0):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--k", type=int, default=11)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=list(FILES))
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--times", action="store_true")
    asked = parser.parse_args()
    if asked.times:
        times(asked.data, asked.k)
        return
    print(f"| file, recipe | {' | '.join(TITLES)} |\n|{' --- |' * (len(TITLES) + 1)}", flush=True)
    for name in asked.only:
        table, schema = read(asked.data, name, asked.rows)
        report(name, table, schema, asked.k, asked.seeds, asked.plain)


if __name__ == "__main__":
    main()
