"""No audit finds more than a synthesizer states, and the audit is sharp enough to see a stated ε that is too low.

Audits are at the level 1e-4, so a true claim fails one of the sixteen here by chance in at most 1 run of 600.
"""

import numpy as np
import polars as pl
import pytest

from shoal import Schema
from shoal.dp import Budget, ProtectedUnit, audit
from shoal.synth import (
    ContingencyTable,
    MarginalBootstrap,
    PeGS,
    PerturbedImputation,
    chain,
    contingency,
    spend,
    within_bins,
)
from shoal.synth.counts import RowCounts
from shoal.synth.domain import encode_table
from shoal.synth.graph_measure import measure_graph
from shoal.synth.parents import Parents, choose_parents
from shoal.synth.pegs_by_table import fit_conditionals, measure
from shoal.synth.spend import Purse, total_budget
from shoal.synth.within_bins import with_fine_tables

NAMES = ["a", "b"]
SCHEMA = Schema.of(quasi=NAMES, levels={name: [0, 1] for name in NAMES}, kinds=dict.fromkeys(NAMES, "nominal"))
SMALL = pl.DataFrame({"a": [0, 0, 0], "b": [0, 0, 0]})
LARGE = pl.DataFrame({"a": [0, 0, 0, 1], "b": [0, 0, 0, 1]})
BOTH = {"a": ["b"], "b": ["a"]}
LEVEL = 1 - 1e-4


def encoded(table):
    return encode_table(table, SCHEMA, bins=2, missing="refuse", public=True, owner="audit")


def test_noisy_tables():
    pegs, rng = PeGS(epsilon=1.0, design="pairs", missing="refuse"), np.random.default_rng(1)

    def tables(data):
        purse = Purse(left=total_budget(1.0, None))
        found, _ = measure(pegs, data, Parents.of(pegs, data.domain), purse, rng)
        return np.concatenate([*found.one, *(table.ravel() for table in found.pairs.values())])

    found = audit(tables, encoded(SMALL), encoded(LARGE), trials=500, confidence=LEVEL, seed=1)
    assert not found.refutes(Budget(epsilon=1.0))


def test_noisy_tables_with_delta():
    pegs, allowed = PeGS(epsilon=1.0, delta=1e-3, design="pairs", missing="refuse"), total_budget(1.0, 1e-3)
    rng = np.random.default_rng(1)

    def tables(data):
        found, _ = measure(pegs, data, Parents.of(pegs, data.domain), Purse(left=allowed), rng)
        return np.concatenate([*found.one, *(table.ravel() for table in found.pairs.values())])

    found = audit(tables, encoded(SMALL), encoded(LARGE), trials=300, delta=1e-3, confidence=LEVEL, seed=1)
    assert not found.refutes(Budget(epsilon=1.0, delta=1e-3))


def test_two_looks_at_pairs(monkeypatch):
    """Three columns and enough records for all pairs: the second look's prices follow the first look's noise."""
    names = ["a", "b", "c"]
    schema = Schema.of(quasi=names, levels={name: [0, 1] for name in names}, kinds=dict.fromkeys(names, "nominal"))
    small = pl.DataFrame({"a": [0, 1] * 100, "b": [0, 1] * 100, "c": [0] * 100 + [1] * 100})
    large = pl.concat([small, pl.DataFrame({"a": [0], "b": [1], "c": [1]})])
    data = [encode_table(t, schema, bins=2, missing="refuse", public=True, owner="audit") for t in (small, large)]
    pegs, allowed = PeGS(epsilon=2.0, delta=1e-2, design="pairs", missing="refuse"), total_budget(2.0, 1e-2)
    rng = np.random.default_rng(1)
    monkeypatch.setattr(spend, "CRUMBS", 20)  # coarse and quick: it changes who gets what, not the sum
    monkeypatch.setattr(chain, "_SKETCH", 200)

    def tables(one):
        purse = Purse(left=allowed)
        found, _ = measure(pegs, one, Parents.of(pegs, one.domain), purse, rng)
        assert len(found.pairs) == 3
        assert purse.spent == allowed
        return np.concatenate([*found.one, *(table.ravel() for table in found.pairs.values())])

    found = audit(tables, *data, trials=200, delta=1e-2, confidence=LEVEL, seed=1)
    assert not found.refutes(Budget(epsilon=2.0, delta=1e-2))


@pytest.mark.parametrize("delta", [None, 1e-2])
def test_graph(delta):
    """Shares, the number of picks, candidates and what is kept back follow the noise of earlier looks."""
    names = ["a", "b", "c"]
    schema = Schema.of(quasi=names, levels={name: [0, 1] for name in names}, kinds=dict.fromkeys(names, "nominal"))
    small = pl.DataFrame({"a": [0, 1] * 30, "b": [0, 1] * 30, "c": [0] * 30 + [1] * 30})
    large = pl.concat([small, pl.DataFrame({"a": [0], "b": [1], "c": [1]})])
    data = [encode_table(t, schema, bins=2, missing="refuse", public=True, owner="audit") for t in (small, large)]
    pegs, allowed = PeGS(epsilon=2.0, delta=delta, missing="refuse"), total_budget(2.0, delta)

    def tables(one):
        purse = Purse(left=allowed)
        found, _ = measure_graph(pegs, one, Parents.of(pegs, one.domain), purse)
        assert purse.spent == allowed
        seen = found.seen
        pairs = [seen.tables.get(pair, np.full((2, 2), -1e6)).ravel() for pair in ((0, 1), (0, 2), (1, 2))]
        return np.concatenate([*(seen.tables[i,] for i in range(3)), *pairs])

    found = audit(tables, *data, trials=200, delta=delta or 0.0, confidence=LEVEL, seed=1)
    assert not found.refutes(Budget(epsilon=2.0, delta=delta or 0))


def test_noisy_building_blocks():
    pegs = PeGS(epsilon=1.0, design="conditionals", missing="refuse", parents=BOTH)
    rng = np.random.default_rng(1)

    def blocks(data):
        purse = Purse(left=total_budget(1.0, None))
        model = fit_conditionals(pegs, data, Parents.of(pegs, data.domain), purse, rng, ProtectedUnit())
        return np.concatenate([block.ravel() for block in model.blocks])

    found = audit(blocks, encoded(SMALL), encoded(LARGE), trials=400, confidence=LEVEL, seed=1)
    assert not found.refutes(Budget(epsilon=1.0))


def test_noisy_margins():
    def shares(data):
        return np.concatenate(MarginalBootstrap(epsilon=1.0, missing="refuse").fit(data, SCHEMA).shares)

    found = audit(shares, SMALL, LARGE, trials=200, confidence=LEVEL, seed=1)
    assert not found.refutes(Budget(epsilon=1.0))


def test_full_table():
    def shares(data):
        model = ContingencyTable(epsilon=1.0).fit(data, SCHEMA)
        return np.concatenate([model.shares, [model.total]])

    found = audit(shares, SMALL, LARGE, trials=200, confidence=LEVEL, seed=1)
    assert not found.refutes(Budget(epsilon=1.0))


def test_full_table_with_delta(monkeypatch):
    """The noisy counts themselves, of which everything else is made."""
    allowed = total_budget(1.0, 1e-2)
    monkeypatch.setattr(contingency, "total_budget", lambda *_: allowed)  # the same for every fit, and slow to find

    def counts(data):
        table = contingency._counted(data.codes, data.domain.sizes)
        return ContingencyTable(epsilon=1.0, delta=1e-2)._noisy(table, ProtectedUnit())

    found = audit(counts, encoded(SMALL), encoded(LARGE), trials=300, delta=1e-2, confidence=LEVEL, seed=1)
    assert not found.refutes(Budget(epsilon=1.0, delta=1e-2))


@pytest.mark.parametrize("delta", [None, 1e-2])
def test_fine_tables(monkeypatch, delta):
    """A twelfth of ε = 12 buys the fine tables of two numbers; the audit looks at the noisy counts themselves."""
    schema = Schema.of(quasi=["a", "b"], kinds=dict.fromkeys(["a", "b"], "numeric"), bounds={"a": (0, 7), "b": (0, 7)})
    small = pl.DataFrame({"a": [0, 0, 4], "b": [1, 1, 5]})
    large = pl.concat([small, pl.DataFrame({"a": [3], "b": [6]})])
    data = [encode_table(t, schema, bins=2, missing="refuse", public=True, owner="audit") for t in (small, large)]
    allowed, seen = total_budget(12.0, delta), []
    monkeypatch.setattr(within_bins, "divided", lambda y, s: seen.append(y) or y)

    def tables(one):
        purse = Purse(left=allowed)
        seen.clear()
        with_fine_tables(one, purse)
        assert purse.spent == allowed * within_bins.SHARE
        return np.concatenate(seen)

    price = allowed * within_bins.SHARE
    found = audit(tables, *data, trials=300, delta=delta or 0.0, confidence=LEVEL, seed=1)
    assert not found.refutes(price if delta is None else price.to_approximate(delta))


def test_private_choice_of_parents():
    names = ["a", "b", "c"]
    schema = Schema.of(quasi=names, levels={name: [0, 1] for name in names}, kinds=dict.fromkeys(names, "nominal"))
    small = pl.DataFrame({"a": [0] * 3 + [1] * 3, "b": [0] * 3 + [1] * 3, "c": [0, 1] * 3})
    large = pl.concat([small, pl.DataFrame({"a": [1], "b": [0], "c": [1]})])
    data = [encode_table(t, schema, bins=2, missing="refuse", public=True, owner="audit") for t in (small, large)]

    def choice(one):
        price = Budget(epsilon=1.0)
        found = choose_parents(RowCounts(codes=one.codes, sizes=one.domain.sizes), 1, Purse(left=price), price)
        return tuple(found[i][0] for i in range(3))

    assert not audit(choice, *data, trials=400, confidence=LEVEL, seed=1).refutes(Budget(epsilon=1.0))


def rows_from(pegs, block=1):
    """Rows (or whole blocks) drawn one by one from one public start, as a mechanism that takes a number of runs."""

    def mechanism(table, n):
        model = pegs.fit(table, SCHEMA)
        start = np.array([[1, 1]])
        drawn = model._walk(n * block, start, np.random.default_rng(1), None)
        return drawn.reshape(n, -1)

    return mechanism


@pytest.mark.parametrize(
    ("pegs", "block"),
    [
        (PeGS(scope="sample", missing="refuse", choose="given", parents=BOTH), 1),
        (PeGS(scope="sample", missing="refuse", choose="given", parents=BOTH, passes=3), 1),
        (PeGS(scope="sample", missing="refuse", choose="given", parents=BOTH, block=3), 3),
        (PerturbedImputation(missing="refuse"), 1),
    ],
)
def test_rows_and_blocks(pegs, block):
    found = audit(rows_from(pegs, block), SMALL, LARGE, trials=30_000, confidence=LEVEL, vectorised=True, seed=1)
    assert not found.refutes(Budget(epsilon=1.0))


def test_an_audit_sees_a_price_that_is_too_low():
    """Three rows cost three times ε; whoever states one ε for them is found out."""
    pegs = PeGS(epsilon=3.0, scope="sample", missing="refuse", choose="given", parents=BOTH)
    found = audit(rows_from(pegs, 3), SMALL, LARGE, trials=30_000, confidence=LEVEL, vectorised=True, seed=1)
    assert found.refutes(Budget(epsilon=1.5))
