"""What planned aggregates give away: `shoal risk --aggregates`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.cli.console import out as screen
from shoal.cli.console import print_table
from shoal.risk.exposure import AggregateExposure, aggregate_exposure

__all__ = ["exposure", "tell_exposure"]


def exposure(table: Any, schema: Any, by: Sequence[str]) -> AggregateExposure:
    """What `shoal risk --aggregates` measures: `by` names columns, or several of them joined by commas."""
    return aggregate_exposure(table, schema, by=[name.strip() for text in by for name in text.split(",")])


def tell_exposure(found: AggregateExposure) -> None:
    """Print what every method recovers, then the advice."""
    rows = [
        [m.method, *(f"{share:.1%}" for share in (m.within_5_share, m.within_10_share, m.within_20_share)),
         f"{m.r_squared:.2f}", f"{m.mean_absolute_error:,.4g}"]
        for m in (found.overall_mean, *found.methods)
    ]  # fmt: skip
    head = ["", "within 5 %", "within 10 %", "within 20 %", "R²", "mean error"]
    print_table(f"'{found.value}' rebuilt from its means by {', '.join(found.by)}", head, rows)
    for text in (*found.advice, *found.warnings):
        screen.print(f"- {text}", markup=False)
