"""How long fitting and drawing take, by rows, and how the time grows.

    python benchmarks/speed/synth.py [--rows 1000000]

DataSynthesizer took 400 s for 50,000 × 13 on the machine where this was written, MST several minutes; see
benchmarks/quality/synth.py for MST in the same run. Times are wall clock and, in brackets, CPU seconds of all threads.
"""

import argparse
import math
import time

from shoal.datasets.discharges import discharge, discharge_schema
from shoal.synth import MarginalBootstrap, PeGS

METHODS = {
    "PeGS, ε = 1, δ = 1e-9": PeGS(epsilon=1.0, delta=1e-9),
    "PeGS, ε = 1": PeGS(epsilon=1.0),
    "PeGS, tree": PeGS(epsilon=1.0, design="tree"),
    "PeGS, conditionals": PeGS(epsilon=1.0, design="conditionals"),
    "PeGS by row": PeGS(epsilon=1.0, scope="sample", missing="refuse"),
    "margins only": MarginalBootstrap(epsilon=1.0),
}


def timed(job):
    wall, cpu = time.perf_counter(), time.process_time()
    out = job()
    return out, time.perf_counter() - wall, time.process_time() - cpu


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--rows", type=int, default=1_000_000)
    most = ask.parse_args().rows
    schema, table = discharge_schema(), discharge(most, seed=1)
    for name, method in METHODS.items():
        method.fit(table.head(2000), schema).sample(100)  # compile first
        last = None
        for n in (50_000, most):
            part = table.head(n)
            model, fit, fit_cpu = timed(lambda method=method, part=part: method.fit(part, schema))
            _, draw, draw_cpu = timed(lambda model=model, part=part: model.sample(part.height))
            growth = (
                f"  n^{math.log((fit_cpu + draw_cpu) / last[1]) / math.log(part.height / last[0]):.2f}" if last else ""
            )
            last = (part.height, fit_cpu + draw_cpu)
            print(
                f"{name:24} {part.height:9,} rows: fit {fit:6.2f} s ({fit_cpu:.2f}), draw {draw:6.2f} s "
                f"({draw_cpu:.2f}){growth}",
                flush=True,
            )


if __name__ == "__main__":
    main()
