"""Compile the kernels once, before the tests: workers that start together would each compile the same ones.

Runs every grouper, mask, coarsening and synthesis on a few people; numba keeps what it compiles beside the sources. A
kernel that is not met here is compiled by the test that needs it first, so nothing depends on this list.
"""

import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import polars as pl

import shoal
from shoal.aggregate import Aggregate, Cudia
from shoal.group import Ball, Crest, KMember
from shoal.mask import PushBack, Resample, Shuffle
from shoal.method import methods

PEOPLE = pl.DataFrame(
    {
        "age": [20 + i for i in range(48)],
        "sex": ["f", "m"] * 24,
        "town": ["Alba", "Boro", None, "Cove"] * 12,
        "ill": ["no", "no", "yes"] * 16,
    }
)
SCHEMA = shoal.Schema.of(quasi=["age", "sex", "town"], sensitive=["ill"])
PUBLIC = shoal.Schema.of(quasi=["sex"], sensitive=["ill"], levels={"sex": ["f", "m"], "ill": ["no", "yes"]})


def release(grouper, mask):
    group = grouper(**{grouper.size_parameter: 4})
    masks = [PushBack(), mask()] if grouper.leaves_small and mask is not PushBack else [mask()]
    assert shoal.anonymize(PEOPLE, SCHEMA, group=group, mask=masks, seed=1).risk


def masks():
    for mask in methods("mask"):
        if mask is not Shuffle:
            release(KMember, mask)


def groupers():
    for grouper in methods("group"):
        if grouper not in (KMember, Ball, Crest):
            release(grouper, Resample)


def balls():
    release(Ball, Resample)


def crest_and_shuffle():
    release(Crest, Resample)
    release(KMember, Shuffle)


def others():
    shoal.coarsen(PEOPLE, SCHEMA, shoal.Mondrian(k=4), seed=1)
    shoal.coarsen(PEOPLE, SCHEMA, shoal.Generalize(k=4, suppression=0.2), seed=1)
    shoal.coarsen(PEOPLE, SCHEMA, shoal.Suppress(k=4), seed=1)
    shoal.synthesize(PEOPLE.select("sex", "ill"), PUBLIC, shoal.PeGS(epsilon=1000.0), rows=24)
    group = np.arange(80) // 20
    means = Aggregate(by=group, mean=np.arange(4.0))
    Cudia(components=2).reconstruct(np.arange(80.0) % 7, [means], seed=1)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    release(KMember, Resample)  # what all of them share
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for job in [pool.submit(family) for family in (balls, masks, crest_and_shuffle, groupers, others)]:
            job.result()
