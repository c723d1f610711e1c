"""Coarsening: less exact values, until each person looks like others."""

from shoal.coarsen.coarsener import SUPPRESSED, Coarsened, Coarsener

__all__ = ["SUPPRESSED", "Coarsened", "Coarsener"]
