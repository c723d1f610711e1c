"""Risk and utility of every mask on the simulated survey, k from 5 to 1,000.

Checks (printed, with a mark): intersection 1 for the exact masks; at least a bootstrap's minus 0.01 for the other
distribution-preserving ones at every k; falling with k for Centroid; group-formula risk at most 1/k for every record;
Gaussian's mean at k = 5 at most half of Resample's.
"""

import argparse

import shoal

MASKS = {
    "centroid": shoal.Centroid(),
    "resample": shoal.Resample(),
    "resample, no replacement": shoal.Resample(replace=False),
    "cell-dither": shoal.CellDither(),
    "gaussian-dither": shoal.GaussianDither(),
    "gaussian-dither, exact": shoal.GaussianDither(exact=True),
}
EXACT = {"resample, no replacement", "gaussian-dither, exact"}


def measure(table, schema, k, mask):
    release = shoal.anonymize(table, schema, group=shoal.KMember(k=k), mask=mask, seed=7)
    found = shoal.risk.reidentification(
        table, release.table, schema, source_rows=release.source_rows, labels=release.labels, trials=1
    )
    kept = shoal.utility.histogram_intersection(table, release.table, schema)
    regression = shoal.utility.regression(table, release.table, schema, source_rows=release.source_rows)
    return kept, found, regression


def verdict(name, k, kept, found, bootstrap, last):
    if not (found.by_group.holds and found.by_group.largest <= 1 / k):
        return "RISK ABOVE 1/k"
    if name in EXACT:
        return "ok" if kept == 1 else "NOT EXACT"
    if name == "centroid":
        return "ok" if kept < last else "NOT FALLING"
    return "ok" if kept >= bootstrap - 0.01 else "BELOW BOOTSTRAP"


def main(n, ks):
    table, schema = shoal.datasets.health_survey(n, seed=1), shoal.datasets.health_survey_schema()
    bootstrap = float(shoal.utility.bootstrap_intersection(table, schema))
    print(f"n = {n:,}; a bootstrap's histogram intersection: {bootstrap:.3f}")
    print(f"{'mask':<26} {'k':>5} {'intersection':>12} {'mean risk':>10} {'max risk':>9} {'R2':>7} {'Δbias %':>7}")
    means, last = {}, {}
    for name, mask in MASKS.items():
        for k in ks:
            kept, found, regression = measure(table, schema, k, mask)
            means[name, k] = found.by_group.mean
            mark = verdict(name, k, kept, found, bootstrap, last.get(name, 1.0))
            last[name] = kept
            print(
                f"{name:<26} {k:>5} {kept:>12.3f} {found.by_group.mean:>10.4f} {found.by_group.largest:>9.4f} "
                f"{regression.trained_on_released.r_squared:>7.3f} {regression.bias_difference:>7.2f}  {mark}"
            )
    ratio = means["gaussian-dither", ks[0]] / means["resample", ks[0]]
    print(f"Gaussian's mean risk over Resample's at k = {ks[0]}: {ratio:.2f} ({'ok' if ratio <= 0.5 else 'TOO HIGH'})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows and smaller k")
    quick = parser.parse_args().quick
    main(3_000 if quick else 15_000, (5, 50) if quick else (5, 10, 50, 200, 1000))
