"""Trees against a slow oracle: the same structure from the definition, row by row."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Schema
from shoal.frame import enter
from shoal.rng import stream
from shoal.score import AlphaTree, StableForest, StableTree
from shoal.score.features import features_of
from shoal.score.splits import Splits, alpha_gain, gain_range
from shoal.score.stable import leaf_range
from shoal.score.tree import Tree, random_tree

SCHEMA = Schema.of(
    quasi=["age", "sex", "stage"],
    bounds={"age": (0, 100)},
    kinds={"sex": "nominal", "stage": "ordinal"},
    levels={"sex": ["f", "m"], "stage": ["I", "II", "III"]},
)


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 101, n)
    stage = rng.integers(0, 3, n)
    y = (rng.random(n) < 0.1 + 0.006 * age + 0.1 * stage).astype(int)
    frame = pl.DataFrame(
        {
            "age": age.astype(float),
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
            "stage": np.array(["I", "II", "III"])[stage],
        }
    )
    return frame, y


def questions(features):
    """Every question as a function of a row of cells."""
    out = []
    for j, feature in enumerate(features.axes):
        ordered = feature.n_ordered
        out += [(j, c, ordered) for c in range(1, ordered)]
        out += [(j, c, c + 1) for c in range(ordered, feature.size)]
    return out


def grown(codes, y, asked, alpha, depth, stable):
    """Structure by the definition: nested tuples of (question, no, yes)."""
    if depth == 0 or y.min(initial=1) == y.max(initial=0):
        return None
    tables = []
    for j, low, high in asked:
        yes = (codes[:, j] >= low) & (codes[:, j] < high)
        tables.append([[np.sum(~yes & (y == k)) for k in (0, 1)], [np.sum(yes & (y == k)) for k in (0, 1)]])
    tables = np.array(tables, dtype=float)
    gains = alpha_gain(tables, alpha)
    possible = tables.sum(axis=2).min(axis=1) > 0
    if stable:
        low_gain, high_gain = gain_range(tables, alpha)
        best = int(np.where(possible, low_gain, -np.inf).argmax())
        rivals = [high_gain[i] for i, q in enumerate(asked) if q[0] != asked[best][0]]
        if not possible[best] or low_gain[best] < max(rivals, default=-np.inf) or gains[best] <= 1e-12:
            return None
    else:
        best = int(np.where(possible, gains, -1).argmax())
        if not possible[best] or gains[best] <= 1e-12:
            return None
    j, low, high = asked[best]
    yes = (codes[:, j] >= low) & (codes[:, j] < high)
    below = [grown(codes[side], y[side], asked, alpha, depth - 1, stable) for side in (~yes, yes)]
    return (asked[best], *below)


def nested(tree: Tree, node=0):
    if tree.variable[node] < 0:
        return None
    question = (int(tree.variable[node]), int(tree.low[node]), int(tree.high[node]))
    return (question, nested(tree, tree.no[node]), nested(tree, tree.yes[node]))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_trees_are_their_definition(alpha, seed):
    X, y = table(seed=seed)
    features = features_of(enter(X), SCHEMA, cuts=9, public=False, owner="test")
    codes, _ = features.rows(enter(X))
    plain = AlphaTree(alpha, max_depth=3, min_leaf=0, schema=SCHEMA).fit(X, y)
    assert nested(plain.model_) == grown(codes, y, questions(features), alpha, 3, False)
    stable = StableTree(alpha, max_depth=3, schema=SCHEMA).fit(X, y)
    assert nested(stable.model_[0]) == grown(codes, y, questions(features), alpha, 3, True)


def test_zero_alpha_grows_a_tree():
    X, y = table()
    tree = AlphaTree(0.0, schema=SCHEMA).fit(X, y)
    assert tree.model_.depth >= 1


def test_leaf_counts_and_risks():
    X, y = table()
    tree = AlphaTree(max_depth=3, schema=SCHEMA).fit(X, y)
    leaves = tree.model_.apply(tree._codes(X))
    for leaf in np.unique(leaves):
        assert tree.model_.counts[leaf].tolist() == [np.sum(y[leaves == leaf] == 0), np.sum(y[leaves == leaf] == 1)]
        assert tree.predict_proba(X)[leaves == leaf, 1] == pytest.approx(y[leaves == leaf].mean())
    one = [tree.risk(row) for row in X.iter_rows(named=True)]
    assert one == pytest.approx(tree.predict_proba(X)[:, 1].tolist())


def test_weights_count_as_copies():
    X, y = table()
    times = np.random.default_rng(3).integers(0, 4, len(y))
    copied = AlphaTree(schema=SCHEMA, max_depth=3).fit(X[np.repeat(np.arange(len(y)), times)], np.repeat(y, times))
    weighted = AlphaTree(schema=SCHEMA, max_depth=3).fit(X, y, sample_weight=times)
    assert copied.model_.structure() == weighted.model_.structure()


@given(st.integers(2, 40), st.data())
def test_leaf_range_is_the_range_over_neighbours(n, data):
    n1 = data.draw(st.integers(0, n))
    neighbours = [(n1 + 1, n + 1), (n1, n + 1)]
    neighbours += [(n1 - 1, n - 1)] if n1 else []
    neighbours += [(n1, n - 1)] if n1 < n else []
    shares = [a / b for a, b in neighbours]
    assert leaf_range(n1, n) == pytest.approx((min(shares), max(shares)))


def test_small_leaves_have_the_whole_range():
    assert leaf_range(0, 0) == leaf_range(1, 1) == (0.0, 1.0)


def test_forest_averages_shares_and_sensitivities():
    X, y = table()
    forest = StableForest((0.5, 2.0), schema=SCHEMA).fit(X, y)
    trees = [StableTree(alpha, schema=SCHEMA).fit(X, y) for alpha in (0.5, 2.0)]
    codes = forest._codes(X)
    ours = forest.exact(codes)
    assert np.allclose(ours, np.mean([tree.exact(codes) for tree in trees], axis=0))


def test_answers_have_laplace_noise_of_the_leafs_scale():
    X, y = table(200)
    tree = StableTree(epsilon=2.0, schema=SCHEMA).fit(X, y)
    codes = tree._codes(X[:1])
    share, width = tree.exact(codes)
    drawn = tree._risks(np.repeat(codes, 4000, axis=0))
    assert abs(drawn.mean() - share[0]) < 6 * width[0] / 2.0 * np.sqrt(2 / 4000)
    assert np.abs(drawn - share[0]).mean() == pytest.approx(width[0] / 2.0, rel=0.1)


def test_two_cells_of_one_variable_are_not_rivals():
    """E5: with a two-level dummy x and 1 − x tie; rivals are other variables, so the tree still splits."""
    X = pl.DataFrame({"sex": ["f", "m"] * 40})
    tree = StableTree(schema=SCHEMA).fit(X, np.array([0, 1] * 40))
    assert tree.model_[0].depth == 1


def test_random_trees_partition_the_domain():
    features = features_of(enter(table()[0]), SCHEMA, cuts=9, public=True, owner="test")
    sizes = features.sizes
    codes = np.array(np.meshgrid(*map(np.arange, sizes))).reshape(len(sizes), -1).T
    for seed in range(5):
        tree = random_tree(features, 4, stream(seed, "tree"))
        assert set(tree.apply(codes)) == set(tree.leaves)  # every leaf can be reached
        assert tree.depth == 4
        assert [tree.leaf(tuple(row)) for row in codes[:50]] == tree.apply(codes[:50]).tolist()


def test_splits_tables():
    X, y = table()
    features = features_of(enter(X), SCHEMA, cuts=9, public=True, owner="test")
    codes, _ = features.rows(enter(X))
    splits = Splits.of(features)
    tables, total = splits.tables(splits.keys(codes, y))
    assert total.tolist() == [np.sum(y == 0), np.sum(y == 1)]
    for i in range(len(splits)):
        cell = codes[:, splits.variable[i]]
        yes = (cell >= splits.low[i]) & (cell < splits.high[i])
        assert tables[i].tolist() == [
            [np.sum(~yes & (y == k)) for k in (0, 1)],
            [np.sum(yes & (y == k)) for k in (0, 1)],
        ]
