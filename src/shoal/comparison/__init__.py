"""Many recipes on one table: one risk-utility map, and which of them keeps most at a risk that can be borne.

`compare` runs every recipe in worker processes, measures all of them alike, and gives a `Comparison`. Names are
loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.comparison.comparison import Comparison
    from shoal.comparison.grid import default_recipes
    from shoal.comparison.outcome import Outcome
    from shoal.comparison.run import compare

__all__ = ["Comparison", "Outcome", "compare", "default_recipes"]

_HOME = {
    "Comparison": "comparison",
    "Outcome": "outcome",
    "compare": "run",
    "default_recipes": "grid",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal.comparison' has no attribute '{name}'")
    value = getattr(import_module(f"shoal.comparison.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
