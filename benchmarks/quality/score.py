"""Risk scores at equal total ε: certified and published models against diffprivlib, by AUROC.

    python benchmarks/quality/score.py [--pima pima_diabetes.csv] [--adult adult.csv] [--halves 30] [--peer PYTHON]

Pima: random halves, total ε for the whole model (the published forest: ε a query, no true guarantee). Without a file
the simulated table of the same layout is taken. Adult: train and test part, AUROC and the accuracy of a tree of depth 5
(PrivaTree reports 0.827 at ε = 1). diffprivlib needs an older scikit-learn: `--peer` names a Python that has both; else
its lines are printed as absent.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
PIMA_BOUNDS = [(0, 20), (0, 200), (0, 130), (0, 100), (0, 900), (0, 70), (0, 2.5), (20, 85)]
ADULT_EDGES = {
    "age": [17, 22, 26, 30, 34, 38, 42, 46, 50, 55, 60, 65, 70, 91],
    "education_num": [0.5 + i for i in range(17)],
    "capital_gain": [0, 1, 2000, 3000, 4000, 5000, 7000, 10000, 15000, 100000],
    "capital_loss": [0, 1, 1200, 1600, 1800, 1950, 2200, 2500, 5000],
    "hours_per_week": [1, 10, 20, 30, 35, 40, 41, 46, 51, 61, 100],
}


def halves(n, k):
    return [np.random.default_rng(i).permutation(n) for i in range(k)]


def pima(args):
    import polars as pl

    from shoal.datasets.pima import pima_like, pima_like_schema
    from shoal.score import AlphaTree, CertifiedForest, CertifiedTree, StableForest, StableTree
    from shoal.score.evaluation import auroc

    table = pl.read_csv(args.pima) if args.pima else pima_like(768)
    schema, X = pima_like_schema(), table.drop("diabetes")
    y = (table["diabetes"] == "pos").to_numpy().astype(int)
    models = {
        "CertifiedForest, histogram": lambda e: CertifiedForest(e, schema),
        "CertifiedForest, 4 cuts": lambda e: CertifiedForest(e, schema, cuts=4),
        "CertifiedForest, 9 cuts": lambda e: CertifiedForest(e, schema, cuts=9),
        "CertifiedForest, random": lambda e: CertifiedForest(e, schema, design="random"),
        "CertifiedForest, private": lambda e: CertifiedForest(e, schema, design="private"),
        "CertifiedTree, depth 3": lambda e: CertifiedTree(e, schema, max_depth=3),
        "StableForest (ε a query)": lambda e: StableForest(epsilon=e, schema=schema),
        "StableTree (ε a query)": lambda e: StableTree(epsilon=e, schema=schema),
        "AlphaTree (no privacy)": lambda e: AlphaTree(schema=schema),
    }
    print(f"AUROC, {args.halves} random halves of {'Pima' if args.pima else 'a simulated table'}, ε =", *EPSILONS)
    for name, make in models.items():
        found = np.zeros((args.halves, len(EPSILONS)))
        for i, order in enumerate(halves(len(y), args.halves)):
            train, test = order[: len(y) // 2], order[len(y) // 2 :]
            for j, epsilon in enumerate(EPSILONS):
                for _ in range(args.draws):
                    risks = make(epsilon).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
                    found[i, j] += auroc(risks, y[test]) / args.draws
        errors = found.std(axis=0) / np.sqrt(args.halves)
        print(f"{name:28}", " / ".join(f"{m:.3f}" for m in found.mean(axis=0)), f" (± {errors.max():.3f})", flush=True)
    peer(args, "pima", {"X": X.to_numpy().tolist(), "y": y.tolist(), "halves": args.halves})


def adult(args):
    import polars as pl

    from shoal import Schema
    from shoal.score import CertifiedForest, CertifiedTree
    from shoal.score.evaluation import auroc

    table = pl.read_csv(args.adult, infer_schema_length=None).drop("fnlwgt", "education")
    names = [c for c in table.columns if c not in ("income", "part")]
    texts = [c for c in names if c not in ADULT_EDGES]
    schema = Schema.of(
        quasi=names,
        edges=ADULT_EDGES,
        levels={c: sorted(table[c].unique().to_list()) for c in texts},  # the published code book
        kinds=dict.fromkeys(texts, "nominal"),
    )
    parts = {part: table.filter(pl.col("part") == part) for part in ("train", "test")}
    y = {part: (frame["income"] == ">50K").to_numpy().astype(int) for part, frame in parts.items()}
    models = {
        "CertifiedForest, histogram": lambda e: CertifiedForest(e, schema),
        "CertifiedForest, random": lambda e: CertifiedForest(e, schema, design="random", max_depth=6),
        "CertifiedForest, private": lambda e: CertifiedForest(e, schema, design="private", max_depth=6),
        "CertifiedTree, depth 5": lambda e: CertifiedTree(e, schema, max_depth=5),
    }
    print("Adult, train and test part: AUROC and accuracy at ε = 0.1, 1, 10")
    for name, make in models.items():
        line = []
        for epsilon in (0.1, 1.0, 10.0):
            train, test = parts["train"].select(names), parts["test"].select(names)
            risks = [make(epsilon).fit(train, y["train"]).predict_proba(test)[:, 1] for _ in range(args.draws)]
            area = np.mean([auroc(r, y["test"]) for r in risks])
            line.append(f"{area:.3f} {np.mean([((r >= 0.5) == y['test']).mean() for r in risks]):.3f}")
        print(f"{name:28}", " / ".join(line), flush=True)


def peer(args, task, data):
    """diffprivlib under its own Python."""
    if args.peer is None:
        print("diffprivlib                  absent (name a Python that has it with --peer)")
        return
    code = [args.peer, __file__, "--as-peer", task]
    done = subprocess.run(code, input=json.dumps(data), capture_output=True, text=True, check=False)
    print(done.stdout if done.returncode == 0 else f"diffprivlib failed: {done.stderr[-400:]}")


def as_peer():
    """Runs where diffprivlib is installed; prints its table."""
    import warnings

    warnings.simplefilter("ignore")
    import diffprivlib
    from diffprivlib.models import DecisionTreeClassifier, GaussianNB, LogisticRegression, RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    data = json.load(sys.stdin)
    X, y = np.array(data["X"]), np.array(data["y"])
    low, high = np.array(PIMA_BOUNDS, dtype=float).T
    scaled = (np.clip(X, low, high) - low) / (high - low)
    unit = (np.zeros(8), np.ones(8))
    models = {
        "diffprivlib forest, depth 4": lambda e: RandomForestClassifier(
            10, epsilon=e, bounds=unit, classes=[0, 1], max_depth=4
        ),
        "diffprivlib tree, depth 3": lambda e: DecisionTreeClassifier(3, epsilon=e, bounds=unit, classes=[0, 1]),
        "diffprivlib naive Bayes": lambda e: GaussianNB(epsilon=e, bounds=unit),
        "diffprivlib logistic, C = 1": lambda e: LogisticRegression(epsilon=e, data_norm=8**0.5, C=1.0),
        "diffprivlib logistic, C = 100": lambda e: LogisticRegression(epsilon=e, data_norm=8**0.5, C=100.0),
    }
    print("diffprivlib", diffprivlib.__version__)
    for name, make in models.items():
        found = []
        for order in halves(len(y), data["halves"]):
            train, test = order[: len(y) // 2], order[len(y) // 2 :]
            fitted = [make(e).fit(scaled[train], y[train]) for e in EPSILONS]
            risks = [np.nan_to_num(model.predict_proba(scaled[test])[:, 1]) for model in fitted]
            found.append([roc_auc_score(y[test], risk) for risk in risks])
        print(f"{name:28}", " / ".join(f"{m:.3f}" for m in np.mean(found, axis=0)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pima")
    parser.add_argument("--adult")
    parser.add_argument("--halves", type=int, default=30)
    parser.add_argument("--draws", type=int, default=1, help="fits on each half")
    parser.add_argument("--peer", help="a Python with diffprivlib")
    parser.add_argument("--as-peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.as_peer:
        as_peer()
        return
    begun = time.perf_counter()
    if args.adult:
        adult(args)
    pima(args)
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
