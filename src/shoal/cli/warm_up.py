"""`shoal warm-up`: compile the kernels ahead of the first release.

Loops over records are compiled when they are first met, and kept: beside the package where its folder can be written
to, else in the user's cache folder (or in NUMBA_CACHE_DIR, if set). The first release on a machine waits for that. A
container image that runs this once starts every release warm.
"""

from __future__ import annotations

import time
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import shoal
from shoal.cli.console import out, steps
from shoal.cli.output import answer
from shoal.group.blocks import by_blocks
from shoal.group.greedy import kmember, mdav
from shoal.group.points import Points
from shoal.release.compiled import cache_folder
from shoal.risk.geometry import Geometry
from shoal.risk.mixed_tree import nearest_few
from shoal.risk.nearest import Searcher

__all__ = ["EXAMPLES", "warm_up"]

EXAMPLES = """Examples:

shoal warm-up

NUMBA_CACHE_DIR=/opt/shoal-cache shoal warm-up    (keep what is compiled there; set it for later commands too)
"""

_PEOPLE, _K = 120, 4


def warm_up() -> None:
    """Compile the kernels of anonymize and coarsen ahead of the first run."""
    began, processor = time.perf_counter(), time.process_time()
    with steps(len(_jobs())) as step:
        for name, job in _jobs().items():
            step(name)
            job()
    seconds, cpu = time.perf_counter() - began, time.process_time() - processor
    answer(seconds=seconds, cpu_seconds=cpu, folder=cache_folder())
    out.print(f"Kernels compiled in {seconds:.1f} s ({cpu:.1f} s of CPU time).")
    out.print(f"They are cached in {cache_folder()}", soft_wrap=True)


def _jobs() -> dict[str, Any]:
    return {"anonymize": _anonymize, "group in blocks": _group_in_blocks, "coarsen": _coarsen, "match": _match}


def _anonymize() -> None:

    table, schema = shoal.datasets.health_survey(_PEOPLE, seed=1), shoal.datasets.health_survey_schema()
    with TemporaryDirectory() as folder:
        shoal.anonymize(table, schema, group=shoal.KMember(k=_K), seed=1).write(f"{folder}/release")


def _group_in_blocks() -> None:
    """What only large tables meet."""

    points = Points.of(np.arange(4.0 * _PEOPLE).reshape(_PEOPLE, 4) % 17)
    for kernel in (kmember, mdav):
        by_blocks(points, _K, kernel, lambda n_columns: _PEOPLE // 2)


def _match() -> None:
    """The search for nearest rows that only larger tables need."""
    points = np.unique(np.arange(4.0 * _PEOPLE).reshape(_PEOPLE, 4) % 17, axis=0)
    searcher = Searcher(targets=points, geometry=Geometry.plain(4), look=0, small=False)
    searcher.ask(points)
    nearest_few(searcher.tree, points, 2)


def _coarsen() -> None:
    table, schema = shoal.datasets.health_survey(_PEOPLE, seed=1), shoal.datasets.health_survey_schema()
    methods = (shoal.Mondrian(k=_K), shoal.Generalize(k=_K, suppression=0.9), shoal.Suppress(k=_K))
    for method in methods:
        shoal.coarsen(table, schema, method, seed=1)
