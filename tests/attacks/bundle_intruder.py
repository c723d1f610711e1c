"""An intruder who knows all rows of a person, and that a column published unchanged is the same in all of them.

He uses no code of the package under attack: he reads intervals from the released texts, puts rows with the same value
of that column into bundles, and looks for the bundle in which the person's rows have the cells they must have.
"""

import re
from collections import Counter

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def bundles(release, quasi, constant):
    """For each value of the constant column, the released cells of its rows."""
    found = {}
    for row in release.iter_rows(named=True):
        found.setdefault(row[constant], []).append(tuple(str(row[name]) for name in quasi))
    return {value: Counter(cells) for value, cells in found.items()}


def values_that_fit(rows, seen):
    """The values of the constant column that a person with these rows can have; one alone is certainty."""
    cells = {cell for bundle in seen.values() for cell in bundle}
    own = Counter(next(cell for cell in cells if all(map(_holds, cell, row))) for row in rows)
    return [value for value, bundle in seen.items() if bundle == own]


def _holds(cell, value):
    ends = [float(end) for end in NUMBER.findall(cell)]
    return ends[0] <= value <= ends[-1]
