"""Every claim that any method makes is one that `verify` renders again from its fields."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.claim_wording import misfits
from shoal.mask import Flatten, PushBack
from shoal.method import methods
from shoal.synth import PeGS

N = 60


def people(n=N):
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "size": rng.normal(170, 10, n).round(1),
            "sex": np.repeat(rng.choice(["f", "m"], n // 2), 2),
            "cost, in euros (net)": rng.normal(1000, 300, n).round(2),
            "home": [f"h{i // 2}" for i in range(n)],
        }
    )


def schema(**more):
    given = {"quasi": ["age", "size", "sex"], "sensitive": ["cost, in euros (net)"], "household": "home"}
    return shoal.Schema.of(**given, levels={"sex": ["f", "m"]}, bounds={"age": (0, 120), "size": (50, 250)}, **more)


def require_fit(claims, columns):
    assert claims
    for claim in claims:
        words = json.loads(json.dumps(claim.to_dict()))
        assert misfits(words, columns) == [], claim


@pytest.mark.parametrize("mask", methods("mask"))
def test_claims_of_every_mask(mask):
    table = people()
    chain = [mask()] if mask in (PushBack, Flatten) else [PushBack(), mask()]
    release = shoal.anonymize(table, schema(), group=shoal.KMember(k=4), mask=chain, seed=1)
    require_fit(release.claims, table.columns)


def test_claims_of_columns_that_are_shuffled_each_by_itself():
    table = people()
    release = shoal.anonymize(table, schema(), group=shoal.Balanced(k=4), mask=shoal.Permute(), seed=1)
    require_fit(release.claims, table.columns)


@pytest.mark.parametrize(
    "words",
    [
        {"diversity": "distinct:2"},
        {"diversity": "entropy:1.5"},
        {"diversity": "recursive:3,2"},
        {"closeness": 0.9},
        {"closeness": "equal:0.95"},
        {"risk": "prosecutor:0.34/journalist:0.3/marketer:0.25/q95:0.3", "population": 5000.0},
    ],
)
def test_claims_of_conditions(words):
    table = people(300)
    release = shoal.coarsen(table, schema(), shoal.Generalize(k=3, suppression=0.9, **words), seed=1)
    require_fit(release.claims, table.columns)


def test_claims_of_other_masks_and_units():
    table = people(200)
    pram = shoal.anonymize(table, schema(), group=shoal.KMember(k=4), mask=[shoal.Flatten(), shoal.Pram(epsilon=1.0)])
    require_fit(pram.claims, table.columns)
    published = shoal.MicroPerturb(noise="published")
    require_fit(shoal.anonymize(table, schema(), group=shoal.MDAV(k=4), mask=published).claims, table.columns)
    unit = table.with_columns(id=pl.Series([f"p{i // 2}" for i in range(200)]))
    unit = unit.select("id", "age", "sex", "size")
    once = shoal.Schema.of(unit="id", quasi=["age", "sex"], sensitive=["size"], bounds={"age": (0, 120)})
    require_fit(shoal.coarsen(unit, once, shoal.Mondrian(k=4, diversity=2), seed=1).claims, unit.columns)
    homes = shoal.anonymize(
        table, schema(), group=shoal.Households(of=shoal.MDAV(k=3), keep="apart"), mask=shoal.Resample()
    )
    require_fit(homes.claims, table.columns)


@pytest.mark.parametrize(
    "method",
    [
        PeGS(epsilon=1.0),
        PeGS(epsilon=1.0, delta=1e-6, rows_per_person=3),
        PeGS(epsilon=0.1, scope="sample"),
        PeGS(epsilon=0.1, scope="sample", block=4),
        PeGS(epsilon=1.0, design="pairs", choose="mutual-information"),
        PeGS(epsilon=1.0, scope="sample", design="conditionals"),
        shoal.synth.MarginalBootstrap(epsilon=1.0),
        shoal.synth.ContingencyTable(epsilon=1.0),
        shoal.synth.PerturbedImputation(epsilon=1.0),
        PeGS(scope="sample", diversity=1.2),
    ],
)
def test_claims_of_synthesizers(method):
    table = people(200).select("sex")
    bare = shoal.Schema.of(quasi=["sex"], levels={"sex": ["f", "m"]})
    require_fit(shoal.synthesize(table, bare, method, rows=40).claims, table.columns)
