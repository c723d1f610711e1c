"""Linked tables end to end: files in, verified release out, as a multiple of the persons' table alone; CPU seconds.

    python benchmarks/speed/linked.py [persons]        100,000 with some 2 million events if left out

Goal: at most 5 times the CPU of the persons' table alone, and linear in the number of events.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

VISITS = 14.5  # a person; prescriptions are half as many
RECIPES = ("coarsen", "exchange")
_RUN = """
import sys, time
import shoal
from shoal.files import read_source
from shoal.files.linked import read_linked
home, recipe, linked = sys.argv[1], sys.argv[2], sys.argv[3] == "linked"
whole = shoal.LinkedSchema.read(f"{home}/linked.toml")
start = time.process_time()
if linked:
    table, schema = read_linked(home + "/clinic", [table.name for table in whole.tables]), whole
else:
    words = whole.persons.columns.to_dict()
    words["columns"]["patient"] = {"role": "identifier"}
    table, schema = read_source(home + "/clinic/patients.csv"), shoal.Schema.from_dict(words)
method = {"coarsen": shoal.CoarsenEvents(k=5, m=1), "exchange": shoal.ExchangeBags()}[recipe]
events = {"events": method} if linked else {}
if recipe == "coarsen":
    release = shoal.coarsen(table, schema, shoal.Mondrian(k=20), **events)
else:
    release = shoal.anonymize(table, schema, group=shoal.KMember(k=5), mask=shoal.Resample(), **events)
release.write(f"{home}/{recipe}-{linked}", format="csv")
print(time.process_time() - start)
"""


def main(n: int) -> None:
    """Measure both recipes, and the growth of the linked ones from half as many persons."""
    with tempfile.TemporaryDirectory() as folder:
        homes = {size: _written(Path(folder) / str(size), size) for size in (n // 2, n)}
        for recipe in RECIPES:
            alone, linked, half = (
                _seconds(homes[size], recipe, what)
                for size, what in ((n, "persons"), (n, "linked"), (n // 2, "linked"))
            )
            found = {
                "recipe": recipe,
                "persons": n,
                "alone_s": round(alone, 1),
                "linked_s": round(linked, 1),
                "ratio": round(linked / alone, 2),
                "exponent": round(math.log2(linked / half), 2),
            }
            print(json.dumps(found))


def _written(home: Path, n: int) -> Path:
    import shoal

    (home / "clinic").mkdir(parents=True)
    for name, table in shoal.datasets.clinic(n, visits=VISITS, seed=1).items():
        table.write_csv(home / "clinic" / f"{name}.csv")
    shoal.datasets.clinic_schema().write(home / "linked.toml")
    return home


def _seconds(home: Path, recipe: str, what: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(home), recipe, what], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
