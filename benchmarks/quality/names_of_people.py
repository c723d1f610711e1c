"""Write the list of given and family names that columns are held against: those of all locales of Faker.

    pip install faker==40.54.0 && python benchmarks/quality/names_of_people.py

Faker has 86 locales in some 30 scripts. Names are written in small letters without accents, one a line, given names
first, then an empty line, then family names; names of several words count word by word. What is in the list is public.
"""

from __future__ import annotations

import gzip
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import faker.providers.person as persons

from shoal.schema.judgement.names_of_people import NOTICE, folded

TARGET = Path(__file__).parents[2] / "src/shoal/schema/judgement/names_of_people.txt.gz"


def listed(what: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Every name of the lists whose own names hold one of these words, with its locale."""
    for found in pkgutil.iter_modules(persons.__path__):
        provider = importlib.import_module(f"faker.providers.person.{found.name}").Provider
        for attribute in dir(provider):
            values = getattr(provider, attribute)
            wanted = any(word in attribute for word in what) and "format" not in attribute
            if wanted and "initial" not in attribute and isinstance(values, tuple | list | dict):
                yield from ((found.name, one) for one in values if isinstance(one, str))


def words(what: tuple[str, ...], single: tuple[str, ...] = ()) -> list[str]:
    """The different words of these names; words of one letter only where a locale has such names."""
    made = {
        part.strip("'’.")
        for locale, name in listed(what)
        for part in re.split(r"[\s-]+", folded(name))
        if len(part.strip("'’.")) > 1 or locale[:2] in single
    }
    return sorted(made)


if __name__ == "__main__":
    given, family = words(("first_name",)), words(("last_name", "surname"), single=("zh", "ko"))
    text = "\n".join([*(f"# {line}" for line in NOTICE.splitlines()), *given, "", *family, ""])
    TARGET.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(given):,} given and {len(family):,} family names")
