"""No audit finds more than a certified score states, and the audit sees a promise that is broken.

Audits are at the level 1e-4, so a true claim fails one of the seven here by chance in at most 1 run of 1,400.
"""

import numpy as np
import polars as pl
import pytest

from shoal import Schema
from shoal.dp import Budget, audit
from shoal.score import CertifiedForest, CertifiedRegressor, CertifiedTree, StableTree

SCHEMA = Schema.of(quasi=["a", "b"], levels={"a": [0, 1], "b": [0, 1]}, kinds={"a": "nominal", "b": "nominal"})
SMALL = (pl.DataFrame({"a": [0, 0, 1], "b": [0, 1, 0]}), np.array([0, 0, 1]))
LARGE = (pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}), np.array([0, 0, 1, 1]))
ASK = pl.DataFrame({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]})
LEVEL = 1 - 1e-4
MODELS = {
    "histogram": CertifiedForest(1.0, SCHEMA, calibration_share=0.0),
    "random": CertifiedForest(1.0, SCHEMA, design="random", n_trees=1, max_depth=1, random_state=3),
    "private": CertifiedForest(1.0, SCHEMA, design="private", n_trees=1, max_depth=1, random_state=3),
    "tree": CertifiedTree(1.0, SCHEMA, max_depth=1),
    "three classes": CertifiedForest(1.0, SCHEMA, classes=(0, 1, 2), calibration_share=0.0),
    "number": CertifiedRegressor(1.0, SCHEMA, bounds=(0, 1), calibration_share=0.0),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_certified_scores_keep_their_epsilon(name):
    model = MODELS[name]

    small, large = (model.fit(*data).records(*data, None) for data in (SMALL, LARGE))
    codes = model._codes(ASK)

    def answers(records):
        model.model_ = model._learn(records)
        return model._risks(codes)

    found = audit(answers, small, large, trials=300, confidence=LEVEL, seed=1)
    assert not found.refutes(Budget(epsilon=1.0))


def test_noisy_counts_keep_their_epsilon_and_the_audit_is_sharp():
    """The leaf counts themselves, many draws: close to the stated 0.5 for the leaves, never above."""
    tree = CertifiedTree(1.0, SCHEMA, max_depth=1)

    small, large = (tree.fit(*data).records(*data, None) for data in (SMALL, LARGE))
    found = audit(
        lambda records: tree._learn(records).counts[0].sum(), small, large, trials=800, confidence=LEVEL, seed=1
    )
    assert not found.refutes(Budget(epsilon=1.0))


def test_the_published_structure_is_refuted():
    """E1 by audit: neighbours with different structures give answers that tell them apart beyond the stated ε."""
    base = [(0, 0, 0)] * 12 + [(1, 1, 1)] * 12
    tree = StableTree(epsilon=0.1, schema=SCHEMA)

    def data(records):
        frame = pl.DataFrame({"a": [r[0] for r in records], "b": [r[1] for r in records]})
        return frame, np.array([r[2] for r in records])

    def shape(records):
        return tree.fit(*data(records)).model_[0].structure()

    extra = next(k for k in range(1, 40) if shape(base + [(0, 1, 0)] * k) != shape(base + [(0, 1, 0)] * (k - 1)))
    pair = [data(base + [(0, 1, 0)] * k) for k in (extra, extra - 1)]

    def answers(records, n):
        fitted = tree.fit(*records)
        return fitted.answers(pl.DataFrame({"a": [1] * n, "b": [1] * n}))

    found = audit(answers, *pair, trials=4000, confidence=LEVEL, vectorised=True, seed=1)
    assert found.refutes(Budget(epsilon=0.1))
