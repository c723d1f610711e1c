"""Packages whose names are loaded when first used, so that a command loads what it needs and no more.

A package says where its names live once, by imports under ``if TYPE_CHECKING``: editors and type checkers read them
there, and so does `on_demand`. A name that is also a module's has to be imported at once: the module, when something
else loads it, would take its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["declared", "on_demand"]


def on_demand(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package, which load a name when it is asked for."""

    def load(name: str) -> Any:
        home = None if name.startswith("_") else declared(package).get(name)
        if home is None:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: list(sys.modules[package].__all__)


@cache
def declared(package: str) -> dict[str, str]:
    """The module of each name that the package imports under ``if TYPE_CHECKING``."""
    import ast  # only packages that are asked for a name pay for it

    loader: Any = sys.modules[package].__loader__
    tree = ast.parse(loader.get_source(package))
    lines = [line for node in tree.body if isinstance(node, ast.If) for line in node.body]
    found = [line for line in lines if isinstance(line, ast.ImportFrom)]
    return {name.name: str(line.module) for line in found for name in line.names}
