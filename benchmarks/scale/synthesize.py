"""PeGS from files on an engine: CPU seconds to count and fit, to draw, and to write, by rows.

    python benchmarks/scale/synthesize.py [--engine duckdb|spark] [--master URL] [rows ...]     1,000,000 if left out

The claims of `count.py` with a public domain: nine columns, a county of 200 levels, ages in 16 bins. As many rows are
drawn as there are. CPU seconds as in `anonymize.py`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from anonymize import cpu, opened
from count import LEVELS, QUASI, claims

from shoal import PeGS, Schema
from shoal.engine import Inputs
from shoal.recipe import Synthesis
from shoal.release import release_files

SCHEMA = Schema.of(
    quasi=QUASI,
    sensitive=["diagnosis"],
    bounds={"age": (0, 120)},
    levels={name: [str(level) for level in range(size)] for name, size in {**LEVELS, "diagnosis": 30}.items()},
)


def measure(n, engine, master):
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "claims").mkdir()
        for i, low in enumerate(range(0, n, 1_000_000)):
            claims(min(1_000_000, n - low), i).write_parquet(base / "claims" / f"{i:04d}.parquet")
        start, steps = cpu(), []
        with opened(engine, master, base) as running:
            release_files(
                running,
                Inputs.of(base / "claims"),
                SCHEMA,
                Synthesis.of(PeGS(epsilon=1.0), rows=n),
                base / "out",
                progress=lambda step: steps.append((step, cpu())),
            )
        ends = [at for _, at in steps[1:]] + [cpu()]
        told = ", ".join(f"{step} {end - at:.1f}" for (step, at), end in zip(steps, ends, strict=True))
        print(f"{n:>12,} rows: {cpu() - start:.1f} CPU s ({told})", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=[1_000_000])
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--master")
    given = parser.parse_args()
    for rows in given.rows:
        measure(rows, given.engine, given.master)
