"""An intruder with a release and a model file, who knows the table but for one person, and asks if they are in it.

He knows nothing of Shoal but its files: this module imports none of it and reads bytes. Noise he can't see through, so
he looks at what noise does not touch: the header, the way in which numbers are written, and every word of the model
that is neither a count nor a share.
"""

import csv
import io
import json
import re

FORMATS = {"whole": r"[+-]?\d+", "decimal": r"[+-]?\d+\.\d+", "word": r"true|false", "date": r"\d{4}-\d{2}-\d{2}.*"}


def looks(release, model):
    """What the files show beside their noisy numbers."""
    header, *lines = csv.reader(io.StringIO(release.decode()))
    columns = {name: {_format(line[j]) for line in lines if line[j]} for j, name in enumerate(header)}
    return header, {name: sorted(seen) for name, seen in columns.items()}, _words(json.loads(model))


def _format(cell):
    return next((name for name, pattern in FORMATS.items() if re.fullmatch(pattern, cell)), "text")


def _words(model):
    """The public part of a model, with the type of every number."""
    kept = ("format", "kind", "domain", "claims", "spent", "features", "classes", "params", "words")
    return json.dumps({name: model[name] for name in kept if name in model})


def alike(one, other):
    """Whether two looks can't be told apart; a column that noise left empty looks like any."""
    formats = all(not one[1][name] or not other[1].get(name) or one[1][name] == other[1][name] for name in one[1])
    return one[0] == other[0] and one[2] == other[2] and formats


class Intruder:
    """Learns from two releases of his own making, without and with the person; then tells which it is."""

    def __init__(self, without, with_person):
        self.without, self.with_person = looks(*without), looks(*with_person)

    def is_in(self, release, model):
        """True, False, or None where the files look like either or neither."""
        seen = looks(release, model)
        with_person, without = alike(seen, self.with_person), alike(seen, self.without)
        return None if with_person == without else with_person
