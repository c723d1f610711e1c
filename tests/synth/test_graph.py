"""The graphical design beside slow and transparent oracles: full joint tables, recounted losses, watched purses."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Schema
from shoal.dp import Budget
from shoal.schema.constraint import Rule
from shoal.synth import PeGS, graph_measure, levels, load
from shoal.synth.domain import encode_table
from shoal.synth.graph_measure import measure_graph
from shoal.synth.graphical import Graphical, Sightings, fit_graphical
from shoal.synth.junction import adjacency, blur, fitting, junction, planned, prices
from shoal.synth.levels import believed_counts, believed_ends
from shoal.synth.parents import Parents, all_pairs
from shoal.synth.pegs_by_graph import loss, polished
from shoal.synth.spend import Purse, total_budget

NAMES = ["a", "b", "c", "d"]
SIZES = (3, 4, 2, 5)
SCHEMA = Schema.of(quasi=NAMES, levels={name: range(size) for name, size in zip(NAMES, SIZES, strict=True)})


def tied(n, seed=1):
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 4, n)
    a = np.where(rng.random(n) < 0.8, np.minimum(b, 2), rng.integers(0, 3, n))
    c = (rng.random(n) < 0.2 + 0.2 * b).astype(int)
    return np.column_stack([a, b, c, rng.integers(0, 5, n)])


def frame(rows):
    return pl.DataFrame({name: rows[:, i] for i, name in enumerate(NAMES)})


graphs = st.integers(2, 7).flatmap(
    lambda M: st.tuples(
        st.lists(st.integers(2, 4), min_size=M, max_size=M),
        st.lists(st.sampled_from(all_pairs(M)), max_size=9, unique=True),
        st.integers(0, 10**6),
    )
)


@given(graphs)
@settings(max_examples=40, deadline=None)
def test_a_junction_tree_holds_every_table_and_runs_through(graph):
    sizes, pairs, _ = graph
    regions = [*((i,) for i in range(len(sizes))), *pairs]
    tree = junction(sizes, regions)
    assert all(tree.home(region) is not None for region in regions)
    assert all(above < q for q, above in enumerate(tree.above))
    for i in range(len(sizes)):  # the cliques that hold a column hang together: one of them has a parent without it
        tops = [q for q, clique in enumerate(tree.cliques) if i in clique and i not in tree.shared(q)]
        assert len(tops) == 1
    assert not any(set(one) < set(other) for one in tree.cliques for other in tree.cliques)


@given(graphs)
@settings(max_examples=30, deadline=None)
def test_pairs_that_fit_keep_the_tree_below_the_limit(graph):
    sizes, pairs, _ = graph
    regions = [(i,) for i in range(len(sizes))] + pairs[:-1]
    every = np.array(all_pairs(len(sizes)))
    for limit in (20, 60, 200):
        fit = fitting(adjacency(len(sizes), regions), sizes, every, limit)
        for pair, fits in zip(every.tolist(), fit, strict=True):
            if fits:
                assert junction(sizes, [*regions, tuple(pair)]).n_cells <= limit


@given(graphs)
@settings(max_examples=40, deadline=None)
def test_beliefs_and_pairs_are_those_of_the_full_table(graph):
    sizes, pairs, seed = graph
    rng = np.random.default_rng(seed)
    theta = {r: rng.normal(0, 1.5, [sizes[i] for i in r]) for r in [*((i,) for i in range(len(sizes))), *pairs]}
    full = np.zeros(sizes)
    for r, table in theta.items():
        full += table.reshape([sizes[i] if i in r else 1 for i in range(len(sizes))])
    full = np.exp(full)
    full *= 100 / full.sum()
    model = Graphical.of(sizes, 100.0, theta)
    for (i, j), table in model.pair_tables().items():
        assert table == pytest.approx(np.einsum(full, list(range(len(sizes))), [i, j]), abs=1e-8)
    for i, share in enumerate(model.shares()):
        assert 100 * share == pytest.approx(np.einsum(full, list(range(len(sizes))), [i]), abs=1e-8)
    again = Graphical.from_dict(model.to_dict())
    assert again.beliefs == pytest.approx(model.beliefs, rel=1e-4)


def test_the_fit_weighs_tables_by_their_noise():
    """Two looks at one column that disagree: the model lies where 1/variance puts it; and exact tables are met."""
    one = {(0,): np.array([60.0, 40.0]), (1,): np.array([50.0, 50.0])}
    pair = np.array([[20.0, 20.0], [30.0, 30.0]])
    seen = Sightings(sizes=(2, 2), tables={**one, (0, 1): pair}, variance={(0,): 1.0, (1,): 1.0, (0, 1): 2.0})
    model = fit_graphical(seen, seen.tables, total=100.0, steps=2000)
    x = model.pair_tables()[0, 1].sum(axis=1)[0]
    assert x == pytest.approx((60 / 1 + 40 / 4) / (1 / 1 + 1 / 4), abs=0.05)  # a margin of the pair has variance 4
    truth = {(0, 1): np.array([[10.0, 30.0], [40.0, 20.0]]), (0,): np.array([40.0, 60.0]), (1,): np.array([50.0, 50.0])}
    exact = Sightings(sizes=(2, 2), tables=truth, variance=dict.fromkeys(truth, 1.0))
    close = fit_graphical(exact, exact.tables, total=100.0, steps=2000)
    assert close.pair_tables()[0, 1] == pytest.approx(truth[0, 1], abs=0.3)


def test_one_way_tables_of_noise_are_replaced_by_what_is_believed_of_them():
    """Even levels under heavy noise: a tenth of the squared error is left; a clear table and pairs are not touched."""
    rng = np.random.default_rng(1)
    noisy = [50 + rng.normal(0, 40, 20) for _ in range(50)]
    believed = [believed_counts(y, 1600.0, 1000.0) for y in noisy]
    assert np.mean([((y - 50) ** 2).sum() for y in believed]) < 0.1 * np.mean([((y - 50) ** 2).sum() for y in noisy])
    assert all(y.sum() == pytest.approx(1000) and (y >= 0).all() for y in believed)
    clear = {(0,): np.linspace(0, 500, 20), (1, 2): np.ones((2, 3))}
    exact = Sightings(sizes=(20, 2, 3), tables=clear, variance={(0,): 100.0, (1, 2): 1e9})
    assert all((exact.believed(5000.0).tables[r] == y).all() for r, y in clear.items())


def test_believed_counts_are_posterior_means():
    """Beside draws from the prior weighed by their likelihood; a level that stands out stays."""
    y, v, total = np.array([10.0, 60.0, -20.0, 150.0]), 1600.0, 200.0
    rng, shapes = np.random.default_rng(2), np.array(levels._SHAPES)
    draws = rng.gamma(shapes, 50 / shapes, (400_000, len(shapes)))
    weight = [np.exp(-((c - draws) ** 2) / (2 * v)) for c in y]
    evidence = np.array([w.mean(axis=0) for w in weight])
    of_shape = evidence.prod(axis=0) / evidence.prod(axis=0).sum()
    means = np.array([(w * draws).mean(axis=0) for w in weight]) / evidence @ of_shape
    assert believed_counts(y, v, total) == pytest.approx(means * total / means.sum(), rel=0.02)
    spike = np.array([2000.0, *rng.normal(10, 60, 30)])
    kept = believed_counts(spike, 3600.0, 2300.0)
    assert kept[0] == pytest.approx(2000, rel=0.05)
    assert kept[1:].max() < 40, "levels that can't be seen share what is left"
    assert np.isfinite(believed_counts(np.array([-1e16, 1e15, 3.0]), 1e30, 1.0)).all()


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12), st.floats(1.0, 400.0))
@settings(max_examples=40, deadline=None)
def test_the_ends_of_an_ordered_column_peter_out(tail, variance):
    """Beyond the last clear level: least squares under the order, each run of equal ones shrunk by its sum."""
    from sklearn.isotonic import isotonic_regression

    tail = np.array([min(y, 3 * variance**0.5) for y in tail])
    y = np.array([1000.0, 900.0, *tail, 77.0])  # the last one is a missing cell: no part of the order
    found = believed_ends(y, variance, len(y) - 1)
    falling = np.maximum(isotonic_regression(tail, increasing=False), 0)
    runs = np.array([(np.abs(falling - value) < 1e-9).sum() for value in falling])
    sums = falling * runs
    want = falling * sums**2 / np.maximum(sums**2 + runs * variance, 1e-300)
    np.testing.assert_allclose(found[2:-1], want, atol=1e-6)
    assert np.isnan(found[[0, 1, -1]]).all()
    np.testing.assert_allclose(believed_ends(y[-2::-1], variance, len(y) - 1), found[-2::-1], atol=1e-9)


def test_ends_are_left_alone_where_nothing_or_everything_is_clear():
    assert believed_ends(np.array([3.0, -5.0, 4.0]), 100.0, 3) is None
    assert believed_ends(np.array([300.0, -5.0, 400.0]), 100.0, 3) is None
    assert believed_ends(np.array([300.0, 0.0, 0.0]), 100.0, 0) is None, "nominal"


def test_counts_of_single_columns_are_taken_and_ties_stay():
    rng = np.random.default_rng(4)
    regions = [(0,), (1,), (2,), (3,), (0, 1), (1, 3)]
    model = Graphical.of(SIZES, 100.0, {r: rng.normal(0, 1, [SIZES[i] for i in r]) for r in regions})
    wanted = np.full(SIZES[0], np.nan)
    wanted[-1] = 0.0
    wanted[0] = model.total * model.shares()[0][0] / 2
    after = model.with_counts({0: wanted})
    np.testing.assert_allclose(after.shares()[0][[0, -1]] * model.total, wanted[[0, -1]], rtol=0.02, atol=1e-9)
    assert after.total == model.total
    was, now = (m.pair_tables()[0, 1][:-1] for m in (model, after))
    np.testing.assert_allclose(now / now.sum(axis=1, keepdims=True), was / was.sum(axis=1, keepdims=True), rtol=1e-6)


def test_rows_follow_the_model():
    rng = np.random.default_rng(3)
    theta = {(i,): np.zeros(size) for i, size in enumerate(SIZES)}
    theta |= {(0, 1): rng.normal(0, 1, (3, 4)), (1, 2): rng.normal(0, 1, (4, 2)), (0, 2): rng.normal(0, 1, (3, 2))}
    model = Graphical.of(SIZES, 1000.0, theta)
    rows = model.draw(40_000, rng)
    for (i, j), table in model.pair_tables().items():
        counts = np.histogram2d(rows[:, i], rows[:, j], [range(SIZES[i] + 1), range(SIZES[j] + 1)])[0]
        assert counts / 40 == pytest.approx(table, abs=8)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_polishing_lowers_the_loss_and_takes_allowed_levels_only(seed):
    rng = np.random.default_rng(seed)
    sizes = tuple(int(s) for s in rng.integers(2, 5, 4))
    Y = np.asfortranarray(np.column_stack([rng.integers(0, s, 60) for s in sizes]))
    wanted = {(i, j): rng.dirichlet(np.ones(sizes[i] * sizes[j])).reshape(sizes[i], sizes[j]) for i, j in all_pairs(4)}
    allowed = [np.ones(s, dtype=bool) for s in sizes]
    Y[:, 0] = np.minimum(Y[:, 0], sizes[0] - 2)
    allowed[0][-1] = False
    before = Y.copy()
    out = polished(Y, wanted, allowed, rng)
    assert (before == Y).all()
    assert loss(out, wanted, sizes) <= loss(Y, wanted, sizes) + 1e-9
    assert out[:, 0].max() < sizes[0] - 1
    for r, i in itertools.product(range(3), range(4)):  # no single cell of a row can do better by much
        best = loss(out, wanted, sizes)
        for level in np.flatnonzero(allowed[i]):
            tried = out.copy()
            tried[r, i] = level
            assert loss(tried, wanted, sizes) >= best - 1.5


def test_polishing_reaches_tables_that_rows_can_have():
    rows = tied(500)
    wanted = {
        (i, j): np.histogram2d(rows[:, i], rows[:, j], [range(SIZES[i] + 1), range(SIZES[j] + 1)])[0]
        for i, j in all_pairs(4)
    }
    rng = np.random.default_rng(1)
    start = np.asfortranarray(np.column_stack([rng.permutation(rows[:, i]) for i in range(4)]))
    out = polished(start, wanted, [np.ones(size, dtype=bool) for size in SIZES], rng)
    assert loss(out, wanted, SIZES) < 0.15 * loss(start, wanted, SIZES)


def test_a_plan_by_hand():
    """b = mean C E|noise| / 2n, the sheet of shares, and prices that add up."""
    budget = Budget(epsilon=2)
    assert blur([4, 4], 100.0, budget) == pytest.approx(4 * (1 / 1.0) / 200)
    plan = planned(0.2, 11, "zcdp")
    assert (float(plan.one_way), plan.picks, float(plan.kept), plan.at_once) == (0.19, 28, 0.0, False)
    assert planned(0.04, 11, "zcdp").kept == planned(0.0, 11, "zcdp").kept == pytest.approx(0.6)
    assert planned(0.02, 11, "pure").at_once
    assert planned(0.0, 2, "pure").picks == 1
    assert sum(prices([4, 9, 16], 3, budget)) == 1
    for definition in ("pure", "zcdp"):
        assert (planned(2.9, 11, definition).alone, planned(3.1, 11, definition).alone) == (False, True)
        assert (planned(3.1, 11, definition).one_way, planned(3.1, 11, definition).picks) == (1, 0)
        assert planned(3.1, 11, definition, asked=True).picks > 0


class Watch(Purse):
    """A purse that keeps the scores and numbers it is shown, and answers without noise."""

    def apart(self, what, counts, prices):
        for price in prices:
            self._pay(price)
        return [np.full(table.shape, 5, dtype=np.int64) for table in counts], [1.0] * len(counts)

    def choice(self, what, scores, sensitivity, price):
        self._pay(price)
        self.bought.append((what, scores, sensitivity))
        return 0

    def number(self, what, value, sensitivity, price):
        self._pay(price)
        self.bought.append((what, np.array([value]), sensitivity))
        return 10**6


def watched(rows, delta, epsilon):
    encoded = encode_table(frame(rows), SCHEMA, bins=2, missing="refuse", public=True, owner="test")
    pegs = PeGS(epsilon=epsilon, delta=delta, missing="refuse")
    purse = Watch(left=total_budget(epsilon, delta))
    measure_graph(pegs, encoded, Parents.of(pegs, encoded.domain), purse)
    assert purse.left.empty
    return purse.bought


@given(st.integers(0, 10**6), st.sampled_from([(None, 2.0), (1e-9, 3.0), (1e-9, 200.0)]))
@settings(max_examples=12, deadline=None)
def test_one_record_moves_no_score_or_number_by_more_than_stated(seed, priced):
    """With answers held fixed, all that the data can still change is what choices and questions are shown."""
    rng = np.random.default_rng(seed)
    rows = tied(int(rng.integers(2, 60)), seed)
    fewer = np.delete(rows, int(rng.integers(len(rows))), axis=0)
    both = [watched(codes, *priced) for codes in (rows, fewer)]
    assert [len(found) for found in both] == [len(both[0])] * 2
    assert both[0]
    for (what, one, sensitivity), (_, other, _) in zip(*both, strict=True):
        assert np.abs(one - other).max() <= sensitivity
        assert what == "distance of the other pairs" or sensitivity == 1
    if priced[1] == 200.0:
        assert any(what == "distance of the other pairs" for what, _, _ in both[0])


@pytest.mark.parametrize("delta", [None, 1e-9])
def test_clear_ties_are_kept_and_said(delta, tmp_path):
    rows = tied(4000)
    model = PeGS(epsilon=3.0, delta=delta).fit(frame(rows), SCHEMA, seed=1)
    assert (model.kind, model.independent, model.epsilon_needed) == ("graph", False, None)
    out = model.sample(4000, seed=1)
    was, now = (np.histogram2d(t["a"], t["b"], [range(4), range(5)])[0] / 4000 for t in (frame(rows), out))
    assert np.abs(was - now).sum() / 2 < 0.05
    model.save(tmp_path / "model.json")
    back = load(tmp_path / "model.json")
    assert (back.independent, back.total) == (False, model.total)
    assert back.sample(50, seed=3).height == 50


class Plain(Purse):
    """A purse that answers without noise."""

    def apart(self, what, counts, prices):
        for price in prices:
            self._pay(price)
        return [table.astype(np.int64) for table in counts], [100.0] * len(counts)

    def choice(self, what, scores, sensitivity, price):
        self._pay(price)
        return int(np.argmax(scores))


@pytest.mark.parametrize("delta", [None, 1e-9])
def test_where_a_pair_would_be_noise_one_way_tables_get_everything(delta):
    rows = tied(300)
    for parents, n_pairs in ((None, 0), (1, 3), ({"b": ["a"]}, 1)):
        pegs = PeGS(epsilon=0.02, delta=delta, parents=parents, missing="refuse")
        encoded = encode_table(frame(rows), SCHEMA, bins=2, missing="refuse", public=True, owner="test")
        purse = Plain(left=total_budget(0.02, delta))
        found, _ = measure_graph(pegs, encoded, Parents.of(pegs, encoded.domain), purse)
        assert found.blur > 3
        assert purse.left.empty
        assert (len(found.seen.pairs) > 0) == (n_pairs > 0)


def test_a_full_tree_leaves_picks_to_pairs_outside_of_it(monkeypatch):
    """a and b say the same, c and d too; the tree has room for neither pair, rows are to keep both."""
    monkeypatch.setattr(graph_measure, "TREE_CELLS", 20)
    a, c = np.random.default_rng(3).integers(0, 2, (2, 3000))
    rows, budget = np.column_stack([a, a, c, c]), total_budget(0.2, 1e-9)
    encoded = encode_table(frame(rows), SCHEMA, bins=2, missing="refuse", public=True, owner="test")
    assert planned(blur([12, 6, 15, 8, 20, 10], 3000, budget), 4, "zcdp").kept == 0, "nothing is kept for all pairs"
    pegs, purse = PeGS(epsilon=0.2, delta=1e-9, missing="refuse"), Plain(left=budget)
    found, _ = measure_graph(pegs, encoded, Parents.of(pegs, encoded.domain), purse)
    assert purse.left.empty
    assert found.model.tree.n_cells <= 20
    for pair in [(0, 1), (2, 3)]:
        assert found.targets[pair][[0, 1], [0, 1]].sum() > 2700, "of 3,000 records, all of which have the same twice"


class Gaussian(Plain):
    """A purse whose noise repeats."""

    def apart(self, what, counts, prices):
        super().apart(what, counts, prices)
        scales = [1 / (2 * price.rho) ** 0.5 for price in prices]
        rng = np.random.default_rng(len(counts))
        return [table + rng.normal(0, s, table.shape) for table, s in zip(counts, scales, strict=True)], [
            s**2 for s in scales
        ]


def test_noise_in_empty_bins_far_out_does_not_move_a_mean():
    """A mean of 14 became 17: empty bins of bounds of 0 to 400 kept the noise above zero that they had got."""
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"stay": rng.gamma(2.0, 5.0, 2000), **{name: rng.integers(0, 4, 2000) for name in "abcd"}})
    known = {name: range(4) for name in "abcd"}
    schema = Schema.of(quasi=list("abcd"), sensitive=["stay"], levels=known, bounds={"stay": (0, 400)})
    encoded = encode_table(table, schema, bins=16, missing="refuse", public=True, owner="test")
    pegs = PeGS(epsilon=0.5, delta=1e-9, missing="refuse")
    found, _ = measure_graph(pegs, encoded, Parents.of(pegs, encoded.domain), Gaussian(left=total_budget(0.5, 1e-9)))
    at = encoded.domain.names.index("stay")
    true = np.bincount(encoded.codes[:, at], minlength=16) / 2000 @ np.arange(12.5, 400, 25)
    assert found.model.shares()[at] @ np.arange(12.5, 400, 25) == pytest.approx(true, rel=0.1)


@given(st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_choices_outside_the_tree_are_paid_and_moved_as_stated(seed):
    rng = np.random.default_rng(seed)
    rows = tied(int(rng.integers(4, 60)), seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_measure, "TREE_CELLS", 30)
        patch.setattr(graph_measure, "_CLEAR", -1.0)  # so that picks go on
        one, other = (watched(codes, 1e-9, 30.0) for codes in (rows, rows[1:]))
    assert len(one) == len(other) > 3, "more choices than the tree has room for"
    for (_, scores, sensitivity), (_, others, _) in zip(one, other, strict=True):
        assert np.abs(scores - others).max() <= sensitivity == 1


def test_picks_that_noise_ended_are_not_scored_again(monkeypatch):
    scored, plain = [], graph_measure._Look._scored
    monkeypatch.setattr(graph_measure._Look, "_scored", lambda look, noise: scored.append(1) or plain(look, noise))
    choices = watched(tied(60), 1e-9, 0.5)
    assert len(scored) == -(-len(choices) // 4), "once for every four choices"


def test_a_large_pair_of_few_cells_in_use_is_chosen():
    """A code of 25 levels and its description: 625 cells, nearly all empty, so their noise is no reason against it."""
    rng = np.random.default_rng(0)
    share = 0.5 ** np.arange(25)
    code = rng.choice(25, 3000, p=share / share.sum())
    rows = {"code": code, "text": 24 - code} | {name: rng.integers(0, 3, 3000) for name in "xyz"}
    schema = Schema.of(quasi=list(rows), levels={name: range(25 if len(name) > 1 else 3) for name in rows})
    model = PeGS(epsilon=1.0, delta=1e-9, missing="refuse").fit(pl.DataFrame(rows), schema, seed=1)
    drawn = model.sample(1000, seed=1)
    assert (drawn["text"] == 24 - drawn["code"]).mean() > 0.8


def test_nothing_clear_is_said_first(tmp_path):
    model = PeGS(epsilon=0.05, delta=1e-9).fit(frame(tied(60)), SCHEMA, seed=1)
    assert model.independent
    assert model.notes[0].startswith("Columns are independent")
    assert model.epsilon_needed > 0.05, "more than was spent; the number itself is noisy"
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").epsilon_needed == model.epsilon_needed


def test_columns_without_a_tie_are_named(tmp_path):
    """d has nothing to do with the others: most warnings name it (noise may look like a tie), none a and b."""
    models = [PeGS(epsilon=0.6, delta=1e-9).fit(frame(tied(1500)), SCHEMA, seed=k) for k in range(9)]
    named = [model for model in models if "d" in model.ties.alone]
    assert len(named) >= 4
    assert not any({"a", "b"} & set(model.ties.alone) for model in models)
    assert "independent of all other columns" in named[0].notes[0]
    assert named[0].epsilon_needed > 0.6
    assert f"about ε = {named[0].epsilon_needed:.2g} would pay for a tie" in named[0].notes[0]
    named[0].save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").ties == named[0].ties


def test_rules_hold_in_polished_rows():
    never = Rule.from_dict({"never": {"a": [2], "c": [0]}})
    schema = Schema(SCHEMA.columns, rules=(never,))
    rows = tied(2000)
    rows = rows[~((rows[:, 0] == 2) & (rows[:, 2] == 0))]
    out = PeGS(epsilon=2.0, delta=1e-9).fit(frame(rows), schema, seed=1).sample(1500, seed=1)
    assert out.filter((pl.col("a") == 2) & (pl.col("c") == 0)).is_empty()
    assert out.height == 1500


def test_a_missing_cell_that_is_noise_stays_empty():
    out = PeGS(epsilon=1.0, delta=1e-9).fit(frame(tied(3000)), SCHEMA, seed=1).sample(3000, seed=1)
    assert sum(out.null_count().row(0)) == 0


def test_named_pairs_are_measured_and_no_other():
    encoded = encode_table(frame(tied(500)), SCHEMA, bins=2, missing="refuse", public=True, owner="test")
    pegs = PeGS(epsilon=1.0, delta=1e-9, parents={"a": ["b"], "d": ["c"]}, choose="given", missing="refuse")
    purse = Purse(left=total_budget(1.0, 1e-9))
    found, lost = measure_graph(pegs, encoded, Parents.of(pegs, encoded.domain), purse)
    assert sorted(found.seen.pairs) == [(0, 1), (2, 3)]
    assert not lost
    assert not any("choice" in bought.what for bought in purse.bought)
    assert purse.left.empty


def test_one_column_only():
    schema = Schema.of(quasi=["a"], levels={"a": range(3)})
    model = PeGS(epsilon=1.0, delta=1e-9).fit(frame(tied(900)).select("a"), schema, seed=1)
    assert not model.independent
    assert model.sample(30, seed=1).shape == (30, 1)


def test_shares_of_nothing_are_even():
    """At a tiny ε noise can leave a model without any mass: that was a division of 0 by 0."""
    model = Graphical.of((2, 3), 100.0, {(0, 1): np.zeros((2, 3))})
    empty = replace(model, beliefs=np.zeros_like(model.beliefs))
    assert [share.tolist() for share in empty.shares()] == [[1 / 2] * 2, [1 / 3] * 3]
