"""Raise k until the attackers' risks are within their limits, whatever the coarsener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shoal.coarsening.coarsener import Coarsened
from shoal.condition.attackers import risk_limits, smallest_k, worst_risks
from shoal.conform import Prepared
from shoal.equivalence import classes_of
from shoal.errors import ParameterError
from shoal.fact import Fact
from shoal.frame import adopt, pick, with_columns

__all__ = ["within_limits"]


def within_limits(
    owner: str,
    prepared: Prepared,
    k: int,
    run: Callable[[int], Coarsened],
    risk: str | None,
    population: float | None,
) -> Coarsened:
    """What `run` writes at `k`, or at the smallest larger one tried at which the limits hold on what is written.

    Parameters
    ----------
    owner
        The coarsener, for errors.
    run
        Coarsens the table at a k.
    risk, population
        The limits in words, and how many persons the table was drawn from; None: the survey weights tell, or the table
        is the population.
    """
    limits = risk_limits(risk)
    if not limits:
        if population is not None:
            raise ParameterError(owner, "population is used by limits of risk only", hint="Add risk=journalist:0.05.")
        return run(k)

    def meets(done: Coarsened) -> bool:
        return all(limit.holds(value) for limit, value in zip(limits, _found(done), strict=True))

    def _found(done: Coarsened) -> tuple[float, ...]:
        rows = np.flatnonzero(done.kept)
        if not len(rows):
            return tuple(1.0 for _ in limits)
        frame = pick(prepared.frame, rows)
        written = with_columns(frame, {name: adopt(new.gather(rows), frame) for name, new in done.columns.items()})
        found = classes_of(written, prepared.schema.quasi, prepared.schema.unit)
        return worst_risks(limits, written, prepared.schema, found, population)

    chosen, done = smallest_k(limits, k, run, meets)
    fact = Fact(says="k = {k} is the smallest tried at which {risk} holds", values={"k": chosen, "risk": risk})
    return replace(done, facts=(*done.facts, fact), details={**done.details, "k": chosen})
