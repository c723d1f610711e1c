"""AIM (McKenna, Mullins, Sheldon and Miklau, 2022, algorithm 4), written from its description, as a peer.

One-way tables are measured first. Then, round after round, the exponential mechanism chooses the margin that the model
fits worst, less what noise alone would cost; it is measured, and the model fitted anew. When a round brought nothing
new, noise is halved. A margin may only be chosen if the junction tree stays below a size that grows with what has been
spent. The workload is all pairs with equal weight; T = 16 M rounds are planned, a tenth of ρ is for choosing.

The junction tree is mbi's. mbi's own estimation compiles a program anew for each set of margins, 11 CPU seconds a round
and more, so the same loss is lowered here by `Fit`: mirror descent in numpy from where the last round ended. That makes
this AIM many times faster than one with mbi throughout; measure the latter before you quote its time. Rows are drawn
column by column with randomised rounding, as mbi does. Noise is numpy's and seeded: a peer, not a mechanism to use.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from shoal.synth.junction import adjacency, fitting, junction
from shoal.synth.tables import pair_counts

__all__ = ["Aim", "Fit"]


class Fit:
    """A graphical model of noisy margins by mirror descent; potentials live on the measured margins.

    `beliefs` holds the margins of the junction tree's cliques, `margins` those of one and two columns.
    """

    def __init__(self, sizes, total):
        self.sizes, self.total, self.theta, self.step = tuple(sizes), total, {}, None

    def fit(self, seen, steps):
        """Lower Σ |μ_r − y|² / (2σ²) over measurements (r, y, σ), at most `steps` times."""
        self.seen = _averaged(seen)
        self.theta = {r: self.theta.get(r, np.zeros([self.sizes[i] for i in r])) for r in self.seen}
        self.tree = _Tree(self.sizes, list(self.seen))
        self.step = self.step or 2 * min(s2 for _, s2 in self.seen.values()) / self.total
        mu, loss, slope = self._at(self.theta)
        for _ in range(steps):
            trial = {r: self.theta[r] - self.step * slope[r] for r in self.theta}
            mu2, loss2, slope2 = self._at(trial)
            gain = sum(float((slope[r] * (mu[r] - mu2[r])).sum()) for r in mu)
            if loss - loss2 >= 0.5 * gain > 0:
                close = loss - loss2 < 1e-5 * max(loss, 1.0)
                self.theta, mu, loss, slope, self.step = trial, mu2, loss2, slope2, 1.1 * self.step
                if close:
                    break
            else:
                self.step *= 0.5
        self.beliefs = self.tree.calibrated(self.theta, self.total)
        return self

    def _at(self, theta):
        beliefs = self.tree.calibrated(theta, self.total)
        mu = {r: self.tree.margin(beliefs, r) for r in theta}
        gaps = {r: mu[r] - self.seen[r][0].reshape(mu[r].shape) for r in theta}
        loss = sum(float((gap**2).sum()) / (2 * self.seen[r][1]) for r, gap in gaps.items())
        return mu, loss, {r: gap / self.seen[r][1] for r, gap in gaps.items()}

    def draw(self, n, rng):
        """`n` rows of cells: column by column given those of its clique before it, counts by randomised rounding."""
        Y = np.zeros((n, len(self.sizes)), dtype=np.int64)
        placed = set()
        for clique in [*self.tree.roots, *(down for _, down in self.tree.edges)]:
            for new in [i for i in clique if i not in placed]:
                old = [i for i in clique if i in placed]
                shape = [self.sizes[i] for i in old]
                table = np.einsum(self.beliefs[clique], clique, [*old, new]).reshape(math.prod(shape), -1)
                key = np.ravel_multi_index([Y[:, i] for i in old], shape) if old else np.zeros(n, dtype=np.int64)
                Y[:, new] = _rounded_draws(table, key, rng)
                placed.add(new)
        return Y

    def margins(self):
        """All margins of one and two columns, by passing (column, separator) along the junction tree."""
        out = {}
        for i in range(len(self.sizes)):
            self._walk(i, out)
        for i, j in itertools.combinations(range(len(self.sizes)), 2):
            out.setdefault((i, j), np.outer(out[i,], out[j,]) / self.total)
        return out

    def _walk(self, i, out):
        start = self.tree.home[i,]
        out[i,] = np.einsum(self.beliefs[start], start, [i])
        todo = [(start, None, self.beliefs[start], start)]
        while todo:
            clique, before, joint, axes = todo.pop()
            for j in clique:
                if j > i:
                    out[i, j] = np.einsum(joint, axes, [i, j])
            ahead = [other for other in self.tree.beside[clique] if other != before]
            todo.extend((other, clique, *self._passed(i, clique, other, joint, axes)) for other in ahead)

    def _passed(self, i, clique, other, joint, axes):
        """The joint distribution of column i and the next clique, as an array and its axes."""
        if i in other:
            return self.beliefs[other], other
        shared = [j for j in other if j in clique]
        mass = np.einsum(self.beliefs[other], other, shared)
        rest = [k for k, j in enumerate(other) if j not in shared]
        given = self.beliefs[other] / np.maximum(np.expand_dims(mass, rest), 1e-300)
        with_i = np.einsum(joint, axes, [i, *shared])
        return np.einsum(with_i, [i, *shared], given, other, [i, *other]), (i, *other)


class _Tree:
    """mbi's junction tree of a set of margins, with columns by number, and messages along it."""

    def __init__(self, sizes, margins):
        import networkx
        from mbi import Domain
        from mbi.junction_tree import make_junction_tree

        tree, _ = make_junction_tree(Domain(list(range(len(sizes))), sizes), margins)
        self.sizes = sizes
        self.beside = {clique: list(tree.neighbors(clique)) for clique in tree.nodes}
        self.roots = [next(iter(part)) for part in networkx.connected_components(tree)]
        self.edges = [edge for root in self.roots for edge in networkx.bfs_edges(tree, root)]
        self.home = {}
        for r in {*margins, *((i,) for i in range(len(sizes)))}:
            inside = [clique for clique in tree.nodes if set(r) <= set(clique)]
            self.home[r] = min(inside, key=lambda clique: math.prod(sizes[i] for i in clique))

    def calibrated(self, theta, total):
        """Margins of all cliques: collect towards the roots, then spread (Hugin)."""
        log = {clique: np.zeros([self.sizes[i] for i in clique]) for clique in self.beside}
        for r, table in theta.items():
            log[self.home[r]] += _broadcast(table, r, self.home[r])
        psi = {clique: np.exp(values - values.max()) for clique, values in log.items()}
        sent = {}
        for up, down in reversed(self.edges):
            shared = tuple(i for i in up if i in down)
            message = np.einsum(psi[down], down, shared)
            sent[up, down] = message = message / message.max()
            psi[up] *= _broadcast(message, shared, up)
        for root in self.roots:
            psi[root] *= total / psi[root].sum()
        for up, down in self.edges:
            shared = tuple(i for i in up if i in down)
            wanted = np.einsum(psi[up], up, shared)
            have = np.einsum(psi[down], down, shared)
            psi[down] *= _broadcast(wanted / np.maximum(have, 1e-300), shared, down)
        return psi

    def margin(self, beliefs, r):
        home = self.home[r]
        return np.einsum(beliefs[home], home, r)


def _rounded_draws(table, key, rng):
    """A cell of row `key` of the table for each record, in numbers that differ by less than one from their share."""
    out = np.empty(len(key), dtype=np.int64)
    order = rng.permutation(len(key))
    order = order[np.argsort(key[order], kind="stable")]
    values, firsts = np.unique(key[order], return_index=True)
    for value, rows in zip(values, np.split(order, firsts[1:]), strict=True):
        share = (
            table[value] / table[value].sum() if table[value].sum() > 0 else np.full(table.shape[1], 1 / table.shape[1])
        )
        counts = np.floor(share * len(rows)).astype(np.int64)
        over = np.maximum(share * len(rows) - counts, 1e-15)
        extra = len(rows) - counts.sum()
        counts[rng.choice(len(share), extra, replace=False, p=over / over.sum())] += 1
        out[rows] = np.repeat(np.arange(len(share)), counts)
    return out


def _broadcast(table, axes, into):
    """`table` with axes in ascending order, shaped to multiply an array with the axes `into`."""
    shape = iter(table.shape)
    return table.reshape([next(shape) if i in axes else 1 for i in into])


def _averaged(seen):
    """One measurement for each margin: the mean weighted by 1/σ², and its variance."""
    sums = {}
    for r, y, sigma in seen:
        total, weight = sums.get(r, (0.0, 0.0))
        sums[r] = (total + y / sigma**2, weight + 1 / sigma**2)
    return {r: (total / weight, 1 / weight) for r, (total, weight) in sums.items()}


@dataclass
class Aim:
    """AIM's state: what has been measured and spent, the model so far, and the noise of the next round.

    megabytes
        Largest junction tree, in doubles; the authors' default is 80.
    steps
        Mirror descent in each round, from the round before.
    """

    X: np.ndarray
    sizes: tuple
    rho: float
    rng: np.random.Generator
    megabytes: float = 10.0
    steps: int = 60
    share: float = 0.9

    def __post_init__(self):
        M = len(self.sizes)
        self.sigma = math.sqrt(16 * M / (2 * self.share * self.rho))
        self.heat = math.sqrt(8 * (1 - self.share) * self.rho / (16 * M))
        self.seen, self.spent, self.rounds = [], 0.0, 0
        pairs = list(itertools.combinations(range(M), 2))
        closure = [(i,) for i in range(M)] + pairs
        self.weight = {r: sum(len(set(r) & set(s)) for s in pairs) for r in closure}
        self.truth = {r: self._counts(r) for r in closure}

    def run(self):
        """All rounds; gives the model of all that was measured."""
        for i in range(len(self.sizes)):
            self._measure((i,))
        total = np.mean([y.sum() for _, y, _ in self.seen])
        self.model = Fit(self.sizes, max(1.0, total)).fit(self.seen, 10 * self.steps)
        self.expected = self.model.margins()
        last = False
        while not last:
            self.rounds += 1
            last = self._last()
            self._round()
        return self.model.fit(self.seen, 10 * self.steps)

    def _last(self):
        """Whether the round to come is the last: what is left would not pay for two, so it gets all."""
        left = self.rho - self.spent
        if left > 2 * (1 / (2 * self.sigma**2) + self.heat**2 / 8):
            return False
        self.sigma, self.heat = math.sqrt(1 / (2 * self.share * left)), math.sqrt(8 * (1 - self.share) * left)
        return True

    def _round(self):
        self.spent += self.heat**2 / 8
        ahead = min(1.0, (self.spent + 1 / (2 * self.sigma**2)) / self.rho)
        chosen = self._chosen(self._fitting(ahead * self.megabytes))
        before = self.expected[chosen]
        self._measure(chosen)
        self.expected = self.model.fit(self.seen, self.steps).margins()
        moved = np.abs(self.expected[chosen] - before).sum()
        if moved <= math.sqrt(2 / math.pi) * self.sigma * before.size:
            self.sigma, self.heat = self.sigma / 2, self.heat * 2

    def _fitting(self, megabytes):
        """Margins with which the junction tree stays below the size.

        All cliques of an elimination bound the tree's cells from above in compiled code; only where that is over the
        limit the tree itself is made. Cliques are greedy by cells, as mbi's are.
        """
        limit, have = megabytes * 2**20 / 8, sorted({r for r, _, _ in self.seen})
        pairs = [r for r in self.weight if len(r) == 2]
        within = fitting(adjacency(len(self.sizes), have), self.sizes, np.array(pairs), limit)
        small = {*have, *(r for r in self.weight if len(r) == 1), *itertools.compress(pairs, within)}
        return [r for r in self.weight if r in small or junction(self.sizes, [*have, r]).n_cells <= limit]

    def _chosen(self, candidates):
        """The exponential mechanism with ε = `heat`; one record changes a score by at most the largest weight."""
        bias = math.sqrt(2 / math.pi) * self.sigma
        far = [np.abs(self.truth[r] - self.expected[r].ravel()).sum() - bias * self.truth[r].size for r in candidates]
        weights = np.array([self.weight[r] for r in candidates])
        heat = self.heat * weights * np.array(far) / (2 * weights.max())
        return candidates[int((heat + self.rng.gumbel(size=len(heat))).argmax())]

    def _measure(self, r):
        noisy = self.truth[r] + self.rng.normal(0, self.sigma, self.truth[r].size)
        self.seen.append((r, noisy, self.sigma))
        self.spent += 1 / (2 * self.sigma**2)

    def _counts(self, r):
        if len(r) == 1:
            return np.bincount(self.X[:, r[0]], minlength=self.sizes[r[0]])
        return pair_counts(self.X, self.sizes, *r).ravel()
