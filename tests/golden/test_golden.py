"""What is written, held fixed: rows, manifest and report of every method on one small table.

A change of the code that should change nothing changes no line of `releases.json`. One that should is seen there, line
by line: `GOLDEN=write pytest tests/golden` writes the file anew. Numbers are kept to six digits and rows as the digest
of their rounded cells, so that another processor's last bit is no difference; ``GOLDEN=exact`` prints the digest of
each file's bytes, to compare two trees on one machine.
"""

import hashlib
import html
import json
import os
import re
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.datasets import health_survey

HERE = Path(__file__).parent / "releases.json"
KEY = "5a" * 32
SCHEMA = shoal.Schema.of(
    quasi=["gender", "age_group", "education", "income"],
    sensitive=["dear"],
    other=["cost"],
    weight="weight",
    kinds={"age_group": "numeric", "education": "ordinal"},
)
WITH_REPORT = ("mdav", "gaussian-dither", "shuffle", "generalize", "suppress")
GROUPS = {
    "k-member": shoal.KMember(k=5),
    "mdav": shoal.MDAV(k=5),
    "mst": shoal.MST(k=5),
    "t-close-mst": shoal.TCloseMST(k=5, t=0.3),
    "crest": shoal.Crest(k=5),
}
MASKS = {
    "resample": shoal.Resample(),
    "cell-dither": shoal.CellDither(),
    "gaussian-dither": shoal.GaussianDither(),
    "micro-perturb": shoal.MicroPerturb(),
    "shuffle": shoal.Shuffle(),
}
COARSENERS = {
    "mondrian": shoal.Mondrian(k=5),
    "generalize": shoal.Generalize(k=5, suppression=0.05),
    "suppress": shoal.Suppress(k=5),
}


def released(name):
    dear = pl.when(pl.col("cost") > 2000).then(pl.lit("yes")).otherwise(pl.lit("no"))
    table = health_survey(300, seed=4).with_columns(dear=dear)
    if name in COARSENERS:
        return shoal.coarsen(table, SCHEMA, COARSENERS[name], seed=3)
    group = GROUPS.get(name, shoal.MDAV(k=5))
    return shoal.anonymize(table, SCHEMA, group=group, mask=MASKS.get(name, shoal.Centroid()), seed=3)


def described(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    rows = pl.read_csv(folder / "release.csv")
    return {"rows": digest_of(rows), "manifest": rounded(telling(manifest))}


def digest_of(rows):
    text = rows.with_columns(pl.selectors.float().round_sig_figs(6)).write_csv()
    return {"columns": rows.columns, "records": len(rows), "cells": hashlib.sha256(text.encode()).hexdigest()[:16]}


def telling(manifest):
    """The manifest without what differs from day to day: versions, dates, hashes, the commitment."""
    text = json.dumps(manifest, sort_keys=True)
    text = re.sub(r"[0-9a-f]{64}|[0-9a-f]{16}(?=\")", "HASH", text)
    text = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)
    return json.loads(text.replace(shoal.__version__, "VERSION"))


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def words(path):
    """The sentences of the report, without drawings and what differs from day to day."""
    text = re.sub(r"<(style|script|svg)\b.*?</\1>", "", path.read_text(), flags=re.S)
    text = html.unescape(re.sub(r"<[^>]+>", "\n", text))
    text = re.sub(r"[0-9a-f]{16,}", "HASH", text).replace(shoal.__version__, "VERSION")
    lines = [re.sub(r"\d{4}-\d\d-\d\d|\d{1,2} \w+ \d{4}", "DAY", line).strip() for line in text.splitlines()]
    return [line for line in lines if line]


@pytest.mark.parametrize("name", [*GROUPS, *MASKS, *COARSENERS])
def test_nothing_that_is_written_has_changed(name, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.rng.secrets.token_hex", lambda n: KEY)
    released(name).write(tmp_path / "out")
    if os.environ.get("GOLDEN") == "exact":
        for path in sorted((tmp_path / "out").iterdir()):
            print(name, path.name, hashlib.sha256(path.read_bytes()).hexdigest())
        return
    found = described(tmp_path / "out")
    if name in WITH_REPORT:
        found["report"] = words(tmp_path / "out" / "report.html")
    if os.environ.get("GOLDEN") == "write":
        known = json.loads(HERE.read_text()) if HERE.is_file() else {}
        HERE.write_text(json.dumps(known | {name: found}, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        return
    assert found == json.loads(HERE.read_text())[name]
