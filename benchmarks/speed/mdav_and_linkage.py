"""What somebody without Shoal would write: MDAV in NumPy, centroids, and a linkage with scikit-learn; CSV in, CSV out.

    python benchmarks/speed/mdav_and_linkage.py [table.csv]        1,000 simulated claims if left out

Quasi-identifiers become standardised numbers and indicators. MDAV (maximum distance to average vector, k = 5) groups
them, each group gets its means and most frequent levels, and every original record is matched to the nearest released
one. No report, no claims, no utility, no check of what was written.
"""

from __future__ import annotations

import sys
import tempfile

import numpy as np
import pandas as pd
from claims import QUASI, claims
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

K = 5


def points_of(table):
    """Standardised numbers and indicators."""
    wide = pd.get_dummies(table[list(QUASI)]).astype(float)
    return StandardScaler().fit_transform(wide)


def mdav(points, k):
    """Labels of groups of k to 2k − 1 records (Domingo-Ferrer and Torra 2005)."""
    labels, left, group = np.full(len(points), -1), np.arange(len(points)), 0
    while len(left) >= 2 * k:
        far = left[np.argmax(((points[left] - points[left].mean(axis=0)) ** 2).sum(axis=1))]
        for _ in range(2 if len(left) >= 3 * k else 1):
            away = ((points[left] - points[far]) ** 2).sum(axis=1)
            taken = np.argpartition(away, k - 1)[:k]
            opposite = left[np.argmax(away)]
            labels[left[taken]] = group
            left, group = np.delete(left, taken), group + 1
            far = opposite
            if labels[far] >= 0 or len(left) < 2 * k:
                break
    labels[left] = group
    return labels


def centroids(table, labels):
    """Means of numbers, most frequent levels."""
    released = table.copy()
    grouped = table.groupby(labels)
    for name in QUASI:
        if not pd.api.types.is_numeric_dtype(table[name]):
            released[name] = grouped[name].transform(lambda values: values.mode().iat[0])
        else:
            released[name] = grouped[name].transform("mean")
    return released


def linked(points, released):
    """Share of original records whose nearest released record is their own, ties at random."""
    found = NearestNeighbors(n_neighbors=1).fit(released).kneighbors(points, return_distance=False)[:, 0]
    return float((found == np.arange(len(points))).mean())


def main():
    table = pd.read_csv(sys.argv[1]) if len(sys.argv) > 1 else claims(1000).to_pandas()
    points = points_of(table)
    labels = mdav(points, K)
    released = centroids(table, labels)
    both = pd.concat([table, released])
    scaled = points_of(both)
    print(f"linked: {linked(scaled[: len(table)], scaled[len(table) :]):.4f}")
    with tempfile.TemporaryDirectory() as folder:
        released.sample(frac=1).to_csv(f"{folder}/released.csv", index=False)


if __name__ == "__main__":
    main()
