"""The tag of a data file: ``visits.parquet.budget.json`` beside it says which data set it is, and in which ledger.

The name of a data set is made once. The tag carries it through corrections of the file; a person who moves, copies or
links the file takes the tag along, or declares the data set again (``data=``). A password in the ledger's address is
not written down.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

from shoal.errors import FileError
from shoal.files.atomic import reporting, write_text

__all__ = ["Tag", "embedded_place", "tag_place", "without_password"]

_FORMAT = "shoal data set, version 2"
_OLD = "shoal budget account, version 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Which data set a file is, and where its ledger is (empty: beside the file)."""

    data: str
    ledger: str = ""
    ledger_name: str = ""

    @classmethod
    def read(cls, file: Path) -> Tag | None:
        """The tag of a data file, or none; a FileError for an older account and for what is no tag."""
        place = tag_place(file)
        if not place.exists():
            return None
        words = _words(place)
        if words.get("format") == _OLD:
            hint = f"Run `shoal ledger migrate {file}`; nothing is lost."
            raise FileError(str(place), "is an account of an earlier version", hint=hint)
        try:
            if words["format"] != _FORMAT:
                raise ValueError
            return cls(data=str(words["data"]), ledger=str(words["ledger"]), ledger_name=str(words["ledger_name"]))
        except (KeyError, ValueError, TypeError):
            hint = "It was left as is. Restore an intact copy; do not create a new one."
            raise FileError(str(place), "must be the tag of a data file", hint=hint) from None

    def write(self, file: Path) -> None:
        """Put the tag beside the data file."""
        words = {"format": _FORMAT, "data": self.data, "ledger": self.ledger, "ledger_name": self.ledger_name}
        write_text(tag_place(file), json.dumps(words, indent=1, ensure_ascii=False) + "\n")

    def url(self, file: Path) -> str:
        """Where the ledger is."""
        return self.ledger or f"sqlite:///{embedded_place(file)}"


def tag_place(file: Path) -> Path:
    """Where the tag of a data file lies."""
    return file.with_name(f"{file.name}.budget.json")


def embedded_place(file: Path) -> Path:
    """Where the ledger beside a data file lies."""
    return file.with_name(f"{file.name}.budget.db")


def without_password(url: str) -> str:
    """The address of a ledger as it may be written down; a SQLite file by its full path."""
    place = make_url(url)
    if place.get_backend_name() == "sqlite" and place.database:
        return f"sqlite:///{Path(place.database).resolve()}"
    return place.set(password=None).render_as_string(hide_password=False)


def _words(place: Path) -> dict[str, object]:
    with reporting(place):
        text = place.read_bytes()
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        words = None
    return words if isinstance(words, dict) else {}
