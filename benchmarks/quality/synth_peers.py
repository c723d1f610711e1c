"""MST and AIM, written from their descriptions on top of mbi, and DataSynthesizer in its own process.

All take rows of cells (whole numbers 0..C−1, one column for each size) and give as many rows. MST and AIM spend the
largest ρ of zCDP that (ε, δ) allows. Noise is numpy's and seeded: peers in a benchmark, not mechanisms to use.

`mst` (McKenna, Miklau and Sheldon, 2021): a third of ρ on one-way tables, rare levels merged (below three standard
deviations), a third on choosing a spanning tree of pairs by the exponential mechanism, a third on those pairs.

`aim`: see synth_aim.py.
"""

import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from synth_aim import Aim

from shoal.dp import Budget
from shoal.synth.tables import pair_counts

__all__ = ["aim", "data_synthesizer", "mst", "rho_of"]


def rho_of(epsilon, delta):
    return Budget(epsilon=epsilon, delta=delta).largest_zcdp().rho


def _mbi():
    """mbi with double precision; its compiled programs are many and small, so they are not cached on disk."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    import mbi

    return mbi


def mst(X, sizes, epsilon, delta, seed, rounds=1000):
    """MST: rows of cells, as many as there are records."""
    mbi, rng = _mbi(), np.random.default_rng(seed)
    from mbi.estimation import MirrorDescent

    M, rho = len(sizes), rho_of(epsilon, delta)
    names = [f"c{i}" for i in range(M)]
    sigma = math.sqrt(3 * M / (2 * rho))
    one = [np.bincount(X[:, i], minlength=size) + rng.normal(0, sigma, size) for i, size in enumerate(sizes)]
    kept = [table >= 3 * sigma for table in one]
    maps = [np.where(keep, np.cumsum(keep) - 1, keep.sum()) for keep in kept]
    small = [int(m.max()) + 1 for m in maps]
    Z = np.column_stack([m[X[:, i]] for i, m in enumerate(maps)])
    domain = mbi.Domain(names, small)
    seen = [
        mbi.LinearMeasurement(np.bincount(m, weights=table, minlength=s), (name,), stddev=sigma)
        for m, table, s, name in zip(maps, one, small, names, strict=True)
    ]
    alone = MirrorDescent().estimate(domain, seen, iters=rounds)
    score = {}
    for i, j in itertools.combinations(range(M), 2):
        expected = np.asarray(alone.project((names[i], names[j])).datavector())
        score[i, j] = np.abs(pair_counts(Z, small, i, j).ravel() - expected).sum()
    group, step = list(range(M)), math.sqrt(8 * rho / 3 / (M - 1))
    second = math.sqrt(3 * (M - 1) / (2 * rho))
    for _ in range(M - 1):
        joining = [pair for pair in score if group[pair[0]] != group[pair[1]]]
        heat = np.array([score[pair] for pair in joining]) * step / 2 + rng.gumbel(size=len(joining))
        i, j = joining[int(heat.argmax())]
        group = [group[i] if g == group[j] else g for g in group]
        counts = pair_counts(Z, small, i, j).ravel()
        noisy = counts + rng.normal(0, second, counts.size)
        seen.append(mbi.LinearMeasurement(noisy, (names[i], names[j]), stddev=second))
    model = MirrorDescent().estimate(domain, seen, iters=rounds)
    drawn = model.synthetic_data(rows=len(X)).to_dict()
    return np.column_stack([_unmerged(np.asarray(drawn[name]), m, rng) for name, m in zip(names, maps, strict=True)])


def _unmerged(cells, m, rng):
    out = np.zeros(len(cells), dtype=np.int64)
    for cell in np.unique(cells):
        at = np.flatnonzero(cells == cell)
        levels = np.flatnonzero(m == cell)
        out[at] = rng.choice(levels if len(levels) else [0], len(at))
    return out


def aim(X, sizes, epsilon, delta, seed, **options):
    """AIM: rows of cells, and in words what was done; options as of `synth_aim.Aim`."""
    rng = np.random.default_rng(seed)
    state = Aim(X, tuple(sizes), rho_of(epsilon, delta), rng, **options)
    model = state.run()
    if state.spent > state.rho * (1 + 1e-9):
        raise RuntimeError(f"spent {state.spent} of {state.rho}")
    used = sum(table.size for table in model.beliefs.values()) * 8 / 2**20
    told = f"{state.rounds} rounds, junction tree {used:.1f} MB of at most {state.megabytes:g}"
    return model.draw(len(X), rng), told


def data_synthesizer(X, epsilon, python=sys.executable, parents=2):
    """DataSynthesizer with the interpreter `python`: rows of cells, seconds, CPU seconds."""
    here = Path(__file__).with_name("synth_datasynthesizer.py")
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "in.csv"), Path(folder, "out.csv")
        names = ",".join(f"c{i}" for i in range(X.shape[1]))
        np.savetxt(given, X, fmt="L%d", delimiter=",", header=names, comments="")
        command = [python, here, given, out, "--epsilon", epsilon, "--rows", len(X), "--parents", parents]
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        told = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, env=clean)
        texts = np.loadtxt(out, dtype=str, delimiter=",", skiprows=1)
    took = json.loads(told.stdout.strip().splitlines()[-1])
    return np.char.lstrip(texts, "L").astype(np.int64), took["wall"], took["cpu"]
