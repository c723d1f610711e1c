"""Codebooks (data dictionaries): what each column holds and what its codes mean, read from a table or JSON.

Three shapes are common, and told apart by the heads of the columns:

- one row for each variable: its name, a label, and perhaps a list of codes in one cell, ``1 = male; 2 = female`` or, in
  REDCap's dictionaries, ``1, Male | 2, Female``;
- one row for each code: the name again and again (or blank below the first), a code, its meaning;
- JSON: ``{"age": "Age in years"}``, ``{"sex": {"label": "Sex", "values": {"1": "male"}}}``, or a list of records.

A codebook often describes more columns than an excerpt has. What it says of others is left aside.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import InputError, SchemaError
from shoal.files.source import Labels
from shoal.files.table import read_source
from shoal.value import Level

__all__ = ["codebook_labels", "codes_in", "fitted", "read_codebook"]

_HEADS = {  # what a column of a codebook holds, and the heads it has, in letters and blanks, the surest first
    "name": "variable field name|variable name|column name|field name|varname|var name|variable|column|field|name|var|"
    "item name|element name|sas name|item|attribute",
    "label": "variable label|field label|column label|label|variable description|column description|description|"
    "question text|question|english text|sas label|definition|desc|text|title|explanation|label text|variablelabel",
    "values": "choices calculations or slider labels|value labels|values|codes|categories|choices|allowed values|"
    "permitted values|permissible values|valid values|response options|options|levels|coding|enumeration|values codes",
    "code": "code or value|value code|code|value|response code|level",
    "meaning": "value description|value label|code description|code label|meaning|category label|value meaning|"
    "response|category",
    "missing": "missing value codes|missing codes|missing values|missing|na values|user missing|missing code",
    "identifier": "identifier|phi|pii|is identifier",
}
_CODE = r"-?\d+(?:\.\d+)?|\.[a-zA-Z]?|[A-Za-z]{1,2}"
_NUMBER = r"(?<![\w.-])-?\d+(?:\.\d+)?"
_YES = frozenset(("y", "yes", "true", "1", "x"))
_MOST_ROWS = 5


def read_codebook(path: str | os.PathLike[str], sheet: str | None = None) -> Labels:
    """Read a codebook: a table with a head line (any format that tables have), or JSON.

    Raises
    ------
    InputError
        No column holds the names of variables, a variable is described twice, or nothing is said of any.
    """
    owner = os.fspath(path)
    rows = _json_rows(owner) if owner.lower().endswith(".json") else _table_rows(owner, sheet)
    return _labels(owner, rows)


def codebook_labels(given: Labels | Mapping[str, str] | str | os.PathLike[str] | None) -> Labels:
    """What is said of columns, whether it came as labels, as texts by column, or is to be read from a file."""
    if isinstance(given, Labels):
        return given
    if given is None:
        return Labels()
    if isinstance(given, Mapping):
        return _labels("codebook", [{"name": _cell(name), "label": _json_text(text)} for name, text in given.items()])
    return read_codebook(given)


def fitted(labels: Labels, columns: Sequence[str]) -> tuple[Labels, tuple[str, ...]]:
    """What is said of these columns, under their own names, and the names of which there is no column.

    Names are the same but for small and capital letters; REDCap's ``race___1`` is the choice 1 of ``race``.
    """
    described = {*labels.columns, *labels.values, *labels.identifiers}
    if not described:
        return labels, ()
    plain = {name.lower(): name for name in described}
    named = {column: column if column in described else plain.get(column.lower(), "") for column in columns}
    made = _renamed(labels, {column: name for column, name in named.items() if name})
    choices = {column: base for column in columns if not named[column] and (base := _choice_of(column, plain))}
    for column, base in choices.items():
        made = _with_choice(made, labels, column, base)
    if not any(named.values()) and not choices:
        hint = "Names must be spelled alike; small and capital letters are the same."
        raise InputError("codebook", "must describe a column of the table", got="none of them", hint=hint)
    used = {*named.values(), *choices.values()}
    return made, tuple(sorted(described - used))


def _renamed(labels: Labels, named: Mapping[str, str]) -> Labels:
    return Labels(
        columns={column: labels.columns[name] for column, name in named.items() if name in labels.columns},
        values={column: labels.values[name] for column, name in named.items() if name in labels.values},
        missing={column: labels.missing[name] for column, name in named.items() if name in labels.missing},
        identifiers=frozenset(column for column, name in named.items() if name in labels.identifiers),
        codebook=frozenset(named),
    )


def _choice_of(column: str, plain: Mapping[str, str]) -> str:
    return plain.get(column.lower().partition("___")[0], "") if "___" in column else ""


def _with_choice(made: Labels, labels: Labels, column: str, base: str) -> Labels:
    code = column.partition("___")[2]
    meanings = {str(key): meaning for key, meaning in labels.values.get(base, {}).items()}
    label = f"{labels.columns.get(base, '')} {meanings.get(code, '')}".strip()
    return replace(made, columns={**made.columns, column: label}, codebook=made.codebook | {column})


def _table_rows(owner: str, sheet: str | None) -> list[dict[str, str]]:
    """The rows of a table, with its columns named for what they hold."""
    frame = read_source(owner, sheet=sheet).frame
    heads = _heads(frame.columns)
    if "name" not in heads:
        rule = "must have a column with the names of the variables"
        hint = "Call it 'variable' or 'name', and the one that describes them 'label' or 'description'."
        raise InputError(owner, rule, got=f"the columns {', '.join(frame.columns[:12])}", hint=hint)
    parts = frame.select(frame[head].alias(part) for part, head in heads.items())
    return [{part: _cell(cell) for part, cell in row.items()} for row in parts.iter_rows(named=True)]


def _heads(columns: Sequence[str]) -> dict[str, str]:
    """Which column holds what: the surest head first, each column once."""
    plain = {column: " ".join(re.findall(r"[a-z]+", column.lower())) for column in columns}
    found: dict[str, str] = {}
    for part, heads in _HEADS.items():
        for head in heads.split("|"):
            free = [column for column in columns if plain[column] == head and column not in found.values()]
            if free and part not in found:
                found[part] = free[0]
    if "values" in found and "name" in found and "code" not in found and "meaning" in found:
        found["code"] = found.pop("values")  # "values" beside "meaning": one code in each row
    return found


def _cell(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _json_rows(owner: str) -> list[dict[str, str]]:
    try:
        content = json.loads(Path(owner).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(owner, "must be JSON text that can be read", got=type(error).__name__) from None
    if isinstance(content, Mapping) and len(content) == 1 and isinstance(next(iter(content.values())), list):
        content = next(iter(content.values()))  # {"variables": [...]}
    if isinstance(content, Mapping):
        content = [{"name": name, **_json_entry(entry)} for name, entry in content.items()]
    records = [entry for entry in content if isinstance(entry, Mapping)] if isinstance(content, list) else []
    return [_json_row(owner, record) for record in records]


def _json_entry(entry: Any) -> Mapping[str, Any]:
    return entry if isinstance(entry, Mapping) else {"label": entry}


def _json_row(owner: str, record: Mapping[str, Any]) -> dict[str, str]:
    heads = _heads(list(record))
    if "name" not in heads:
        raise InputError(owner, "each entry must have a 'name'", hint="Or write one object: name to description.")
    return {part: _json_text(record[head]) for part, head in heads.items()}


def _json_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "\n".join(f"{code} = {meaning}" for code, meaning in value.items())
    return "\n".join(map(str, value)) if isinstance(value, list) else _cell(value)


def _labels(owner: str, rows: Iterable[Mapping[str, str]]) -> Labels:
    """The rows as labels."""
    of = _by_name(owner, rows)
    labels = {name: text for name, mine in of.items() if (text := _label(mine))}
    missing = {name: codes for name, mine in of.items() if (codes := _missing(mine[0]))}
    values = {name: _values(mine, labels.get(name, "")) | missing.get(name, {}) for name, mine in of.items()}
    return Labels(
        columns=labels,
        values={name: codes for name, codes in values.items() if codes},
        missing={name: tuple(codes) for name, codes in missing.items()},
        identifiers=frozenset(name for name, mine in of.items() if mine[0].get("identifier", "").lower() in _YES),
        codebook=frozenset(of),
    )


def _by_name(owner: str, rows: Iterable[Mapping[str, str]]) -> dict[str, list[Mapping[str, str]]]:
    """The rows of each variable; one on several rows has a code on each, or is described twice."""
    found: dict[str, list[Mapping[str, str]]] = {}
    places: dict[str, list[int]] = {}
    last = ""
    for place, row in enumerate(rows, start=1):
        clean = {part: _printable(text) for part, text in row.items()}
        last = " ".join(clean["name"].split()) or (last if clean.get("code") else "")
        if last:
            found.setdefault(last, []).append(clean)
            places.setdefault(last, []).append(place)
    if not found:
        raise InputError(owner, "must describe at least one column", got="none")
    twice = [name for name, mine in found.items() if not all(row.get("code") for row in mine[1:])]
    if twice:  # the names may be people's, where the wrong file was given
        listed = [", ".join(map(str, places[name][:_MOST_ROWS])) for name in twice[:_MOST_ROWS]]
        got = f"{len(twice)} on several rows, such as {' and '.join(listed)}"
        hint = "Keep one row of each, or give each row a code of its own."
        raise SchemaError(owner, "must describe each variable on one row", got=got, hint=hint)
    return found


def _printable(text: str) -> str:
    """Other signs become blanks: they would break the comments of a schema, or move a terminal's cursor."""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text)


def _label(rows: Sequence[Mapping[str, str]]) -> str:
    return " ".join(next((row["label"] for row in rows if row.get("label")), "").split())


def _values(rows: Sequence[Mapping[str, str]], label: str) -> dict[Level, str]:
    listed = {} if len(rows) > 1 else codes_in(rows[0].get("values", "")) or codes_in(label, within=True)
    values = listed | {_level(row["code"]): row.get("meaning", "") for row in rows if row.get("code")}
    return {code: meaning for code, meaning in values.items() if meaning and meaning.lower() != "range of values"}


def _missing(row: Mapping[str, str]) -> dict[Level, str]:
    return codes_in(row.get("missing", "")) or _bare_codes(row.get("missing", ""))


def codes_in(text: str, *, within: bool = False) -> dict[Level, str]:
    """The codes that a text lists, each with its meaning; `within` a sentence, only numbers, and two of them at least.

    Examples
    --------
    >>> codes_in("1, Male | 2, Female")
    {1: 'Male', 2: 'Female'}
    >>> codes_in("1=yes; 2=no; -8=not applicable")
    {1: 'yes', 2: 'no', -8: 'not applicable'}
    >>> codes_in("Diabetes in 1971, 1:EVER, 0:NEVER, 2:MISSING", within=True)
    {1: 'EVER', 0: 'NEVER', 2: 'MISSING'}
    """
    if within:
        found = list(re.finditer(rf"({_NUMBER})\s*[:=]", text))
        ends = [match.start() for match in found[1:]] + [len(text)]
        parts = [(match[1], text[match.end() : end].rstrip(" ,;.(|")) for match, end in zip(found, ends, strict=False)]
        return {_level(code): meaning.strip(" ,;.|)") for code, meaning in parts} if len(parts) > 1 else {}
    mark = next((mark for mark in ("|", "\n", ";") if mark in text), None)
    if mark is None and len(re.findall(rf"(?:^|,)\s*(?:{_CODE})\s*[:=]", text)) > 1:
        pieces = re.split(rf",\s*(?=(?:{_CODE})\s*[:=])", text)
    else:
        pieces = text.split(mark) if mark else [text]
    one = re.compile(rf"[\"']?({_CODE})[\"']?\s*[=:,)–-]\s*(\S.*)", re.DOTALL)
    return {_level(match[1]): match[2] for piece in pieces if (match := one.fullmatch(piece.strip())) is not None}


def _bare_codes(text: str) -> dict[Level, str]:
    """Codes without meanings: ``-8, -9``."""
    pieces = [piece.strip() for piece in re.split(r"[,;|\s]+", text) if piece.strip()]
    return {_level(piece): "unknown" for piece in pieces if re.fullmatch(_CODE, piece)}


def _level(code: str) -> Level:
    """A code as the number that it is; one of more digits than numbers keep stays a text."""
    if re.fullmatch(r"-?(?:0|[1-9]\d{0,17})(?:\.0+)?", code):
        return int(code.partition(".")[0])
    return float(code) if re.fullmatch(r"-?\d{1,15}\.\d{1,15}", code) else code
