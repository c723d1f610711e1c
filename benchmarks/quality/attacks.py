"""Singling out, linkability and inference beside Anonymeter's: CPU seconds as a ratio, and whether the risks agree.

    python benchmarks/quality/attacks.py [--python PATH] [--rows 3000] [--attacks 500]

Anonymeter pins an older NumPy: PATH is a Python of its own that has it (`python -m venv peers; peers/bin/pip install
anonymeter`). Three releases of simulated people (2/3 of a draw; the rest is the control group): a copy of the table, a
copy with one value in three drawn anew, and rows of other people. Both get the same three files, columns and numbers of
attacks.

Anonymeter's values are Wilson's centres, ours raw shares; its singling out drops duplicates first and divides by the
predicates asked for, its inference takes the nearest row where ours learns P(s | x). So values differ within intervals;
what must agree is where a leak is seen: the interval's lower end above 0.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

QUASI, SECRET = ("age", "sex", "town", "school", "income"), "illness"
HALVES = (("age", "sex", "town"), ("school", "income"))


def people(n, seed):
    """Simulated people with columns that depend on each other."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, n)
    school = np.clip(rng.normal(12 - age / 40, 3, n).round(), 0, 20).astype(int)
    income = np.exp(rng.normal(9.5 + school / 12, 0.6, n)).round(-1).astype(int)
    return {
        "age": age,
        "sex": rng.choice(["f", "m"], n),
        "town": rng.choice([f"t{i:02d}" for i in range(40)], n),
        "school": school,
        "income": income,
        "illness": np.where(rng.random(n) < age / 120, "yes", "no"),
    }


def releases(n):
    """The original, the control group, and three releases by name."""
    import polars as pl

    original, control, others = (pl.DataFrame(people(n, seed)) for seed in (1, 2, 3))
    rng = np.random.default_rng(4)
    noisy = original.with_columns(
        pl.when(pl.Series(rng.random(n) < 1 / 3)).then(original[name].sample(n, shuffle=True, seed=i)).otherwise(
            original[name]).alias(name)
        for i, name in enumerate(original.columns)
    )  # fmt: skip
    return original, control, {"copy": original, "one in three anew": noisy, "other people": others}


def ours(original, control, released, attacks):
    """Risk, interval and CPU seconds of each attack."""
    import shoal

    levels = {"sex": "nominal", "town": "nominal", "illness": "nominal"}
    schema = shoal.Schema.of(quasi=list(QUASI), sensitive=[SECRET], kinds=levels)
    words = {"attacks": attacks, "seed": 1}
    measures = {
        "singling out": lambda: (
            shoal.risk.singling_out(original, released, schema, control, n_columns=3, **words).multivariate
        ),
        "linkability": lambda: shoal.risk.linkability(original, released, schema, control, halves=HALVES, **words),
        "inference": lambda: shoal.risk.guessing(original, released, schema, control, **words).worst,
    }
    return {name: timed(lambda work=work: _told(work())) for name, work in measures.items()}


def _told(found):
    return {"risk": found.risk, "interval": list(found.interval)}


def timed(work):
    """What `work` gives, with its CPU seconds, those of children included."""
    start = time.process_time()
    return {**work(), "seconds": time.process_time() - start}


def theirs(original, control, released, attacks):
    """The same by Anonymeter; runs in its own environment."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    tables = {"ori": original, "syn": released, "control": control, "n_attacks": attacks}
    measures = {
        "singling out": lambda: SinglingOutEvaluator(**tables, n_cols=3, seed=1).evaluate(mode="multivariate"),
        "linkability": lambda: LinkabilityEvaluator(**tables, aux_cols=tuple(map(list, HALVES))).evaluate(n_jobs=1),
        "inference": lambda: InferenceEvaluator(**tables, aux_cols=list(QUASI), secret=SECRET).evaluate(n_jobs=1),
    }

    def told(evaluator):
        found = evaluator.risk(confidence_level=0.95)
        return {"risk": float(found.value), "interval": [float(end) for end in found.ci]}

    return {name: timed(lambda work=work: told(work())) for name, work in measures.items()}


def as_peer(folder, attacks):
    """Measure the files of `folder` with Anonymeter and print JSON."""
    import pandas as pd

    tables = {path.stem: pd.read_csv(path) for path in Path(folder).glob("*.csv")}
    original, control = tables.pop("original"), tables.pop("control")
    theirs(original, control, original, 10)  # compile
    print(json.dumps({name: theirs(original, control, released, attacks) for name, released in tables.items()}))


def main():
    """Print one line an attack and release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="a Python that has anonymeter")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--attacks", type=int, default=500)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        as_peer(given.peer, given.attacks)
        return
    original, control, made = releases(given.rows)
    with tempfile.TemporaryDirectory() as folder:
        for name, table in {"original": original, "control": control, **made}.items():
            table.write_csv(f"{folder}/{name}.csv")
        words = [given.python, "-W", "ignore", __file__, "--peer", folder, "--attacks", str(given.attacks)]
        peer = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    ours(original, control, original, 10)
    print(f"{'attack':<14}{'release':<20}{'ours':>24}{'Anonymeter':>24}  agree  seconds, ratio")
    for name, table in made.items():
        mine = ours(original, control, table, given.attacks)
        for attack, found in mine.items():
            other = peer[name][attack]
            agree = (found["interval"][0] > 0) == (other["interval"][0] > 0)
            ratio = other["seconds"] / max(found["seconds"], 1e-9)
            print(f"{attack:<14}{name:<20}{shown(found):>24}{shown(other):>24}  {'yes' if agree else 'NO':<5}"
                  f"{found['seconds']:>7.2f} {ratio:>7.1f}", flush=True)  # fmt: skip


def shown(found):
    """Risk and interval."""
    low, high = found["interval"]
    return f"{found['risk']:.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    main()
