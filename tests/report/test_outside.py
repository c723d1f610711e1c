"""What may leave the secure environment, over every family of methods: no seed, no path, no row, no small cell, in no
corner.

People with values that nobody else has are planted in the table, the file lies in a folder with a name that must not
be told, and the seed is a number of its own. Text, tooltips and attributes of the written page are searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import Schema
from shoal.files import read_source

K, SEED, N = 5, 777_123_457, 230
SECRETS = ("Sentinel", "98765432", "98,765,432", "13579", "13,579", "secret-folder", "registry", str(SEED))
SECRETS_WORDS = ("labels", "source_rows", "replay.toml", "/tmp", "Traceback")


def people(rare: bool) -> pl.DataFrame:
    """A survey in which single people stand out; `rare`: also by a level of a quasi-identifier."""
    rng = np.random.default_rng(5)
    cost = np.round(np.exp(rng.normal(7, 1, N)), 0)
    cost[0], cost[1] = 98_765_432, -13_579
    region = rng.choice(["north", "south", "east"], N).tolist()
    disease = rng.choice(["none", "asthma", "diabetes"], N, p=[0.7, 0.2, 0.1]).tolist()
    if rare:
        region[5], disease[9] = "Sentinelland", "Sentinelitis"
    return pl.DataFrame(
        {
            "name": [f"Sentinel Person {i}" for i in range(N)],
            "age": rng.integers(18, 90, N),
            "sex": rng.choice(["f", "m"], N).tolist(),
            "region": region,
            "cost": cost,
            "disease": disease,
            "note": [f"Sentinel text {i}" for i in range(N)],
        }
    )


ROLES: dict[str, Any] = {"identifier": ["name"], "quasi": ["age", "sex", "region"], "sensitive": ["cost", "disease"]}
SCHEMA = Schema.of(**ROLES, other=["note"])
DOMAIN = Schema.of(
    identifier=["name", "note", "cost"],
    quasi=["age", "sex", "region"],
    sensitive=["disease"],
    bounds={"age": (0, 100)},
    levels={"sex": ["f", "m"], "region": ["north", "south", "east"], "disease": ["none", "asthma", "diabetes"]},
)


@dataclass(frozen=True)
class Family:
    """One way to make a release of the file."""

    make: Callable[..., Any]
    schema: Schema
    options: dict[str, Any]
    rare: bool = False


def masked(group: Any, *masks: Any) -> Family:
    return Family(shoal.anonymize, SCHEMA, {"group": group, "mask": list(masks), "seed": SEED}, rare=True)


def coarse(method: Any) -> Family:
    return Family(shoal.coarsen, SCHEMA, {"method": method, "seed": SEED})


def synthetic(method: Any) -> Family:
    return Family(shoal.synthesize, DOMAIN, {"method": method, "rows": 150, "seed": SEED})


FAMILIES = {
    "k-member, gaussian-dither": masked(shoal.KMember(k=K), shoal.GaussianDither()),
    "mdav, centroid": masked(shoal.MDAV(k=K), shoal.Centroid()),
    "crest, micro-perturb": masked(shoal.Crest(k=K), shoal.MicroPerturb()),
    "ball, push-back, flatten, shuffle": masked(
        shoal.Ball(radius=0.2, minimum=K), shoal.PushBack(), shoal.Flatten(columns=["age"]), shoal.Shuffle()
    ),
    "mondrian": coarse(shoal.Mondrian(k=K)),
    "generalize": coarse(shoal.Generalize(k=K, suppression=0.1)),
    "suppress": coarse(shoal.Suppress(k=K)),
    "recode": coarse(shoal.Recode(steps={"age": {"kind": "bins", "width": 10}})),
    "pegs": synthetic(shoal.PeGS(epsilon=2.0)),
    "marginal-bootstrap": synthetic(shoal.MarginalBootstrap(epsilon=2.0)),
    "multiple-imputation": synthetic(shoal.MultipleImputation()),
}


@pytest.fixture(scope="module", params=list(FAMILIES))
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The external report of a release, as it was written."""
    family, home = FAMILIES[request.param], tmp_path_factory.mktemp("secret-folder")
    people(family.rare).write_csv(home / "registry.csv")
    release = family.make(read_source(home / "registry.csv"), family.schema, **family.options)
    release.write(home / "out")
    return Path(home / "out" / "report.html").read_text(encoding="utf-8")


def test_no_secret_in_text_tooltip_or_attribute(page: str) -> None:
    plain = unescape(re.sub(r"<script>.*?</script>", "", page, flags=re.S))
    for secret in (*SECRETS, *SECRETS_WORDS):
        assert secret not in plain
    assert "must not leave the secure environment" not in plain


def test_no_small_count(page: str, read_page: Callable[[str], Any]) -> None:
    assert all(count == 0 or count >= K for count in read_page(page).people)


def test_no_share_tells_of_few_people(page: str, read_page: Callable[[str], Any]) -> None:
    """A tooltip's share of N unweighted records is none of 1 to k − 1."""
    shares = [
        float(found) for tip in read_page(page).tips for found in re.findall(r"([\d.]+)%", tip.rpartition(": ")[2])
    ]
    few = [100 * count / N for count in range(1, K)]
    assert not [share for share in shares if any(abs(share - small) < 0.005 for small in few)]


def test_a_person_has_to_decide(page: str, read_page: Callable[[str], Any]) -> None:
    text = read_page(page).text
    for words in ("compliant", "is safe", "certified"):
        assert words not in text.lower()
    assert "Valid until" in text
    assert "Signature" in text
    assert "it does not approve" in text


def test_few_left_out_can_not_be_counted(tmp_path: Path, read_page: Callable[[str], Any]) -> None:
    """Where 2 of 62 were suppressed, the page knows of the 60 only: 31 of 60 before and after."""
    rare = pl.DataFrame({"a": ["rare", "odd"], "b": ["x", "y"], "y": [1.0, 2.0]})
    common = pl.DataFrame(
        {"a": ["common"] * 60, "b": ["x"] * 31 + ["y"] * 29, "y": [1.5 * (i % 40) for i in range(60)]}
    )
    schema = Schema.of(quasi=["a"], sensitive=["b", "y"])
    method = shoal.Generalize(k=K, suppression=0.2, limits={"a": 0})
    release = shoal.coarsen(pl.concat([common, rare]), schema, method, seed=1)
    release.write(tmp_path / "out")
    page = read_page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert "records may have been suppressed" in page.text.lower()
    assert "b x: 51.7% before, 51.7% after" in page.tips
    assert not re.search(r"\b62\b", page.text)
