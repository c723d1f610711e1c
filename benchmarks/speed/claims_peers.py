"""What somebody without Shoal would run on the claims: one peer a job, CSV in, its result out, nothing checked.

    python benchmarks/speed/claims_peers.py anjana table.csv       a k-anonymous table by full-domain generalisation
    python benchmarks/speed/claims_peers.py pycanon table.csv      k, l and t of the table as it is
    python benchmarks/speed/claims_peers.py mst table.csv          synthetic rows by MST on top of mbi

anjana and pycanon want versions of their own: `end_to_end.py --peers` gives them an environment and calls this there.
Hierarchies of anjana are intervals of doubling width for numbers and one star for levels. MST sees numbers in 16 bins.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

QUASI = ["age", "sex", "race", "county", "plan", "income", "month", "stay"]
WIDTHS = {"age": [5, 10, 20, 40], "income": [5000, 20_000, 80_000], "month": [3, 6], "stay": [5, 10, 20]}
K, SUPPRESSION = 5, 5  # per cent


def anjana(table):
    from anjana.anonymity import k_anonymity

    found = k_anonymity(table, [], QUASI, K, SUPPRESSION, {name: levels(table[name]) for name in QUASI})
    with tempfile.TemporaryDirectory() as folder:
        found.to_csv(f"{folder}/released.csv", index=False)


def levels(column):
    """The values of a column at each level of its hierarchy."""
    coarse = [(column // width * width).astype(str) for width in WIDTHS.get(column.name, [])]
    return dict(enumerate([column.values, *(level.values for level in coarse), np.full(len(column), "*")]))


def pycanon(table):
    from pycanon import anonymity

    found = [measure(table, QUASI, ["diagnosis"]) for measure in (anonymity.l_diversity, anonymity.t_closeness)]
    print(anonymity.k_anonymity(table, QUASI), *found)


def mst(table):
    sys.path.insert(0, str(Path(__file__).parents[1] / "quality"))
    from synth_peers import mst as draw

    cells = [cut(table[name]) for name in table.columns]
    rows = draw(np.column_stack(cells), [int(cell.max()) + 1 for cell in cells], 1.0, 1e-9, 0)
    with tempfile.TemporaryDirectory() as folder:
        pd.DataFrame(rows).to_csv(f"{folder}/released.csv", index=False)


def cut(column, bins=16):
    """Levels as they are, numbers in bins of equal width."""
    if not pd.api.types.is_numeric_dtype(column):
        return pd.factorize(column)[0]
    return np.minimum((column - column.min()) * bins // (column.max() - column.min() + 1), bins - 1).astype(int)


if __name__ == "__main__":
    {"anjana": anjana, "pycanon": pycanon, "mst": mst}[sys.argv[1]](pd.read_csv(sys.argv[2]))
