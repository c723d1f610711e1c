"""A small release made by hand, and a reader of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal import report
from shoal.claim import Claim
from shoal.pair import Pair
from shoal.report import Evidence
from shoal.risk import assess as assess_risk
from shoal.schema import Schema
from shoal.utility import assess as assess_utility

RECIPE = {"group": {"method": "mdav", "k": 5}, "mask": [{"method": "resample", "replace": False, "weighted": False}]}
VOID = {"meta", "br", "hr", "col"}


@dataclass
class Page:
    """What a reader finds on a page."""

    text: str = ""
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    people: list[int] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    row_heads: list[str] = field(default_factory=list)
    unbalanced: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    tips: list[str] = field(default_factory=list)

    def found(self, name: str) -> list[dict[str, str | None]]:
        """The attributes of every element of that name."""
        return [attributes for tag, attributes in self.tags if tag == name]


class Reader(HTMLParser):
    """Reads a page strictly: every element must be closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.open: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.page.tags.append((tag, attributes))
        if tag in VOID:
            return
        self.open.append((tag, attributes))
        if tag == "table":
            self.page.tables.append([])
        if tag == "tr":
            self.page.tables[-1].append([])
        if tag in ("td", "th"):
            self.page.tables[-1][-1].append("")
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.page.headings.append((int(tag[1]), ""))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1][0] != tag:
            self.page.unbalanced.append(tag)
            return
        self.open.pop()

    def handle_data(self, data: str) -> None:
        names = [tag for tag, _ in self.open]
        if "script" in names:
            self.page.scripts.append(data)
        if names and names[-1] in ("style", "script"):
            return
        if names and names[-1] == "title" and "svg" in names:
            self.page.tips.append(data)
        self.page.text += data
        if "svg" not in names and ("td" in names or "th" in names):
            self.page.tables[-1][-1][-1] += data
        if names and names[-1][0] == "h" and names[-1][1:].isdigit():
            level, text = self.page.headings[-1]
            self.page.headings[-1] = (level, text + data)
        if self.open and self.open[-1][1].get("class") == "people":
            self.page.people.append(int(data.replace(",", "")))
        if self.open and "scope" in dict(self.open[-1][1]) and self.open[-1][1]["scope"] == "row":
            self.page.row_heads.append(data)


def make_pair(table: pl.DataFrame, schema: Schema, k: int, seed: int = 0) -> tuple[Pair, np.ndarray]:
    """Deal the quasi-identifiers out anew inside blocks of k rows, and shuffle."""
    rng = np.random.default_rng(seed)
    n = len(table)
    labels = np.minimum(np.arange(n) // k, max(1, n // k) - 1)
    dealt = np.concatenate([rng.permutation(np.flatnonzero(labels == g)) for g in range(labels.max() + 1)])
    order = rng.permutation(n)
    kept = table.select([name for name in table.columns if name in schema.released])
    released = kept.with_columns([table[name].gather(dealt) for name in schema.quasi])[order]
    return Pair.of(table, released, schema, order), labels


def make_evidence(table: pl.DataFrame, schema: Schema, k: int = 5, seed: int = 0, **given: Any) -> Evidence:
    """Everything about a release made by hand."""
    pair, labels = make_pair(table, schema, k, seed)
    words: dict[str, Any] = {
        "recipe": RECIPE,
        "claims": [claim()],
        "notes": ["grouping, blocks: 1"],
        "versions": {"shoal": "0"},
        "created": "2025-01-15",
    }
    risk, utility = assess_risk(pair, labels=labels, k=k), assess_utility(pair)
    return report.gather(pair, risk=risk, utility=utility, k=k, **{**words, **given})


def claim(**given: Any) -> Claim:
    words: dict[str, Any] = {
        "kind": "re-identification bound",
        "value": 0.2,
        "scope": "per person",
        "basis": "proved",
        "statement": "An intruder finds a person with probability at most 0.2.",
        "assumptions": ("The seed stays inside.", "Ties are broken at random."),
    }
    return Claim(**{**words, **given})


def make_survey(n: int = 240, seed: int = 3) -> tuple[pl.DataFrame, Schema]:
    """A table with every sort of column, and single people who stand out."""
    rng = np.random.default_rng(seed)
    cost = np.round(np.exp(rng.normal(7, 1.2, n)), 2)
    cost[0], cost[1] = 98_765_432.1, -13_579.25
    region = rng.choice(["north", "south", "east"], n).tolist()
    region[5], region[6], region[7] = "Sentinelland", None, None
    disease = rng.choice(["none", "asthma", "diabetes"], n, p=[0.7, 0.2, 0.1]).tolist()
    disease[9] = "sentinelitis"
    table = pl.DataFrame(
        {
            "name": [f"Sentinel Person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n).tolist(),
            "region": region,
            "school": rng.integers(0, 4, n),
            "cost": cost,
            "disease": disease,
            "weight": np.round(rng.uniform(10, 90, n), 3),
            "note": [f"free text sentinel {i}" for i in range(n)],
        }
    )
    schema = Schema.of(
        identifier=["name"],
        quasi=["age", "sex", "region", "school"],
        sensitive=["cost", "disease"],
        weight="weight",
        other=["note"],
        kinds={"school": "ordinal"},
    )
    return table, schema


@pytest.fixture(scope="session")
def survey() -> tuple[pl.DataFrame, Schema]:
    return make_survey()


@pytest.fixture(scope="session")
def evidence(survey: tuple[pl.DataFrame, Schema]) -> Evidence:
    return make_evidence(*survey)


@pytest.fixture(scope="session")
def pair(survey: tuple[pl.DataFrame, Schema]) -> Pair:
    return make_pair(*survey, k=5)[0]


@pytest.fixture(scope="session")
def gather_by_hand() -> Callable[..., Evidence]:
    return make_evidence


@pytest.fixture(scope="session")
def pair_by_hand() -> Callable[..., tuple[Pair, np.ndarray]]:
    return make_pair


@pytest.fixture(scope="session")
def read_page() -> Callable[[str], Page]:
    def read(html: str) -> Page:
        reader = Reader()
        reader.feed(str(html))
        reader.close()
        reader.page.unbalanced += [tag for tag, _ in reader.open]
        return reader.page

    return read
