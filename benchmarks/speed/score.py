"""Speed of risk scores: fitting against scikit-learn's tree, growth with records, and answers a second.

python benchmarks/speed/score.py [--records 50000]
"""

import argparse
import math
import time

from sklearn.tree import DecisionTreeClassifier

from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.score import AlphaTree, CertifiedForest, CertifiedTree, StableTree


def seconds(work, repeat=3):
    best = math.inf
    for _ in range(repeat):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=50_000)
    args = parser.parse_args()
    schema = pima_like_schema()
    table = pima_like(args.records)
    X, y = table.drop("diabetes"), (table["diabetes"] == "pos").to_numpy().astype(int)
    plain = X.to_numpy()
    yardstick = seconds(lambda: DecisionTreeClassifier(max_depth=5).fit(plain, y))
    print(f"{args.records:,} records: scikit-learn's tree, depth 5: {yardstick:.3f} s")
    models = {
        "AlphaTree, depth 5": AlphaTree(schema=schema),
        "StableTree": StableTree(schema=schema),
        "CertifiedTree, depth 4": CertifiedTree(schema=schema),
        "CertifiedForest, histogram": CertifiedForest(schema=schema),
        "CertifiedForest, random": CertifiedForest(schema=schema, design="random"),
    }
    small = args.records // 8
    row = X.row(0, named=True)
    for name, model in models.items():
        full = seconds(lambda model=model: model.fit(X, y))
        part = seconds(lambda model=model: model.fit(X[:small], y[:small]))
        model.fit(X, y)
        ask = seconds(lambda model=model: [model.risk(row) for _ in range(500)], 2) / 500
        print(
            f"{name:28} fit {full:.3f} s ({full / yardstick:.1f} times), growth exponent "
            f"{math.log(full / part) / math.log(8):.2f}, one answer {1e6 * ask:.0f} µs ({1 / ask:,.0f} a second)"
        )


if __name__ == "__main__":
    main()
