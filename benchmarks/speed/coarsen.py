"""Speed and loss of `Generalize` and `Mondrian`, against anjana in the same run where it is installed.

    python benchmarks/speed/coarsen.py                    10,000 to 1,000,000 rows of 6 columns
    python benchmarks/speed/coarsen.py --quick            small sizes, some seconds
    python benchmarks/speed/coarsen.py --adult adult.csv  also the 30,162 complete rows x 9 columns of Adult
    python benchmarks/speed/coarsen.py --anjana PYTHON    the Python that has anjana, whose pins want one of its own

Both get the same table and the same hierarchies. `ratio` is anjana's time over ours; loss is granularity (suppressed
record = 1), computed by us for the levels that anjana chose; `no more than` is ours with no more suppression than
anjana's. `growth` is the exponent b of CPU time ~ rows^b since the table before. Times are wall-clock after a first
call that compiles, CPU time stands beside them for a busy machine.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from shoal import Schema
from shoal.coarsening.generalize import Generalize
from shoal.coarsening.mondrian import Mondrian
from shoal.condition.conditions import Conditions
from shoal.conform import prepare

K, SHARE = 5, 0.05
THEIRS = """
import json, sys, time
import numpy as np, pandas as pd
from anjana.anonymity._k_anonymity import k_anonymity_inner
table, levels, names, k, share = json.load(open(sys.argv[1]))
data = pd.DataFrame(table)
hierarchies = {name: {i: pd.Series(level) for i, level in enumerate(levels[name])} for name in names}
start = time.perf_counter()
_, suppressed, chosen = k_anonymity_inner(data, [], names, k, 100 * share, hierarchies)
print(json.dumps([time.perf_counter() - start, int(suppressed), {name: int(i) for name, i in chosen.items()}]))
"""


def survey(n, seed=0):
    """Simulated people: six quasi-identifiers, skewed places and incomes."""
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "zip": pl.Series(np.minimum(rng.zipf(1.3, n), 900) + 10_000).cast(pl.String),
            "sex": rng.choice(["f", "m"], n),
            "education": rng.integers(0, 16, n),
            "race": rng.choice(list("abcde"), n, p=[0.7, 0.1, 0.1, 0.06, 0.04]),
            "income": np.round(rng.lognormal(10, 0.6, n), -2).astype(int),
        }
    )
    return table, Schema.of(quasi=table.columns, kinds={"education": "ordinal"}, bounds={"age": (0, 120)})


def adult(path):
    """UCI Adult, complete training rows, nine columns with hierarchies like those that ARX comes with."""
    table = pl.read_csv(path)
    if "part" in table.columns:
        table = table.filter(pl.col("part") == "train")
    table = table.with_columns(pl.col(pl.String).str.strip_chars())
    table = table.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))
    table = table.rename({name: name.replace("-", "_") for name in table.columns})
    names = ["age", "workclass", "education", "marital_status", "occupation", "race", "sex", "native_country", "income"]
    trees = {name: {"kind": "table", "rows": rows(table[name].unique().to_list(), TREES[name])} for name in TREES}
    flat = dict.fromkeys(("race", "sex", "income"), "flat")
    age = {"kind": "intervals", "widths": [5, 10, 20]}
    return table.select(names), Schema.of(quasi=names, hierarchies={"age": age, **trees, **flat})


def rows(values, levels):
    """A hierarchy's table: each level says by parts of names which value belongs where, the last entry has the rest."""

    def ancestor(value, level):
        return next(name for name, parts in level.items() if not parts or any(part in value for part in parts.split()))

    return [[value, *(ancestor(value, level) for level in levels)] for value in values]


TREES = {
    "workclass": [{"Government": "gov", "Unemployed": "Without Never", "Other": ""}],
    "education": [
        {
            "Primary": "Preschool 1st 5th",
            "High school": "7th 9th 10th 11th 12th HS",
            "Professional": "Assoc Prof",
            "Graduate": "Masters Doctorate",
            "Undergraduate": "",
        },
        {"Primary": "Preschool 1st 5th", "Secondary": "7th 9th 10th 11th 12th HS", "Higher": ""},
    ],
    "marital_status": [{"Spouse present": "civ AF", "Spouse not present": ""}],
    "occupation": [
        {"Technical": "Tech Craft Prof Machine", "Nontechnical": "Sales Exec Handlers Adm", "Other": ""},
    ],
    "native_country": [
        {
            "Asia": "Cambodia India Japan China Iran Philippines Vietnam Laos Taiwan Thailand Hong",
            "North America": "United Puerto Canada Outlying Cuba Hond Mexico Domin Haiti Guate Nicar Salvador Jamaica",
            "South America": "Ecuador Columbia Peru Trinadad",
            "Europe": "",
        },
    ],
}


def timed(call, times):
    """The result and the best wall-clock and CPU seconds."""
    best = (math.inf, math.inf)
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        best = min(best, (time.perf_counter() - wall, time.process_time() - cpu))
    return result, *best


def counter_of(prepared):
    method = Generalize(k=K, suppression=SHARE)
    return method._counter(prepared, Conditions.of(prepared, k=K))


def anjana(python, table, prepared):
    """Seconds, suppressed share and loss of anjana on the same table and hierarchies, or why there are none."""
    counter = counter_of(prepared)
    levels = {ladder.name: [label.to_list() for label in ladder.labels] for ladder in counter.ladders}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "job.json")
        path.write_text(json.dumps([table.to_dict(as_series=False), levels, list(levels), K, SHARE]))
        run = subprocess.run([python, "-c", THEIRS, str(path)], capture_output=True, text=True, check=False)
    if run.returncode:
        return None
    seconds, suppressed, chosen = json.loads(run.stdout.splitlines()[-1])
    return seconds, suppressed / len(table), node_loss(counter, chosen)


def node_loss(counter, chosen):
    """The loss of the levels that somebody chose, with the small classes suppressed."""
    pairs = zip(counter.ladders, counter.levels, strict=True)
    node = tuple(max(i for i, level in enumerate(some) if level <= chosen[ladder.name]) for ladder, some in pairs)
    return counter.count(node).loss


def row(name, n, wall, cpu, loss, share, more=""):
    spent = "" if cpu is None else f"({cpu:.2f} s CPU)"
    timing = f"{name:<13}{n:>10,} rows {wall:8.2f} s {spent:<13}"
    print(f"  {timing} loss {loss:.3f}  suppressed {share:.3f}  {more}", flush=True)


def compare(name, table, schema, python, times, before=None):
    """Print the times of all methods on one table, and give our CPU times for the growth of the next."""
    prepared = prepare(table, schema)
    print(f"{name}: {len(table):,} rows, {len(schema.quasi)} columns, k = {K}, suppression up to {SHARE}", flush=True)
    spent, walls = {}, {}
    for label, method in (("Generalize", Generalize(k=K, suppression=SHARE)), ("Mondrian", Mondrian(k=K))):
        walls[label], spent[label] = ours(label, method, prepared, times, (before or {}).get(label))
    theirs = anjana(python, table, prepared) if python else None
    if theirs:
        row("anjana", len(table), theirs[0], None, *theirs[2:0:-1], f"ratio {theirs[0] / walls['Generalize']:.1f}")
        ours("no more than", Generalize(k=K, suppression=theirs[1]), prepared, 1)
    elif python:
        print("  anjana is not installed in that Python: no ratio")
    return spent


def ours(label, method, prepared, times, before=None):
    done, wall, cpu = timed(lambda: method.apply(prepared, 0), times)
    n, details, more = prepared.n, done.details, ""
    if "optimal" in details:
        more = f"optimal {details['optimal']}, {details['n_counted']} of {details['n_nodes']} nodes "
    if before:
        more += f"growth {math.log(cpu / before[1]) / math.log(n / before[0]):.2f}"
    row(label, n, wall, cpu, details["loss"], 1 - done.kept.mean(), more)
    return wall, (n, cpu)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--adult", help="the UCI file, with a header")
    parser.add_argument("--anjana", default=sys.executable, help="the Python that has anjana")
    parser.add_argument("--largest-peer", type=int, default=100_000, help="anjana is left out above this many rows")
    chosen = parser.parse_args()
    small, schema = survey(2_000)
    for method in (Generalize(k=K), Mondrian(k=K)):  # compile
        method.apply(prepare(small, schema), 0)
    if chosen.adult:
        compare("Adult", *adult(chosen.adult), chosen.anjana, times=3)
    before = None
    for n in (2_000, 10_000) if chosen.quick else (10_000, 100_000, 1_000_000):
        table, schema = survey(n)
        python = chosen.anjana if n <= chosen.largest_peer else None
        before = compare("survey", table, schema, python, times=1 if n > 100_000 else 3, before=before)


if __name__ == "__main__":
    main()
