"""Whether the kernels that a run needs were compiled on this machine before: the first run of each waits for that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from shoal.group.all_rows import MOST_ROWS
from shoal.recipe import Recipe

__all__ = ["cache_folder", "is_warm", "seems_compiled"]

_KERNELS = {
    "k-member": ("shoal.group.packs", "distances"),
    "mdav": ("shoal.group.packs", "distances"),
    "gaussian-dither": ("shoal.mask.mixture", "_fit"),
    "synthesize": ("shoal.synth.pegs_by_graph", "_round"),
    "mondrian": ("shoal.coarsening.partition", "propose_cuts"),
    "generalize": ("shoal.coarsening.counting", "count"),
}
"""A kernel that every run of the command, or with the method, needs."""
_PACKAGE = Path(__file__).parents[1]


def cache_folder() -> Path:
    """Where compiled kernels are kept: a folder of the user's, or the package's own, each module beside its source."""
    beside = _cache_of("k-member")[0]
    return _PACKAGE if beside.name == "__pycache__" else beside.parent


def is_warm(needed: str, n_rows: int) -> bool:
    """Whether kernels that a command or method needs for so many rows were compiled here before, or never are."""
    if _needs_none(needed, n_rows):
        return True
    import numba  # a fifth of a second, and some commands don't need it

    flags: Any = numba.config
    if flags.DISABLE_JIT:
        return True
    folder, module = _cache_of(needed)
    return any(folder.glob(f"{module}.*.nbi"))


def seems_compiled(recipe: Recipe, n_rows: int) -> bool:
    """The same for a whole recipe, by the files that Numba leaves alone: quick, nothing is loaded."""
    needed = (recipe.command, *(method.name for method in recipe.methods))
    return all(_needs_none(name, n_rows) or _is_there(_KERNELS[name][0]) for name in needed)


def _needs_none(needed: str, n_rows: int) -> bool:
    return needed not in _KERNELS or (needed in ("k-member", "mdav") and n_rows <= MOST_ROWS)


def _is_there(home: str) -> bool:
    *folders, module = home.split(".")[1:]
    beside = _PACKAGE.joinpath(*folders, "__pycache__")
    return any(any(place.glob(f"{module}.*.nbi")) for place in (beside, *_elsewhere()))


def _elsewhere() -> Iterator[Path]:
    """Where Numba caches if it is told to, or can't write beside the source: a folder for each folder of modules."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(told) if told else Path.home() / ".cache" / "numba"
    yield from (place for place in base.glob("*") if place.is_dir())


def _cache_of(needed: str) -> tuple[Path, str]:
    """The folder that caches a kernel of the command or method, and the name of the kernel's module."""
    home, name = _KERNELS[needed]
    kernel: Any = getattr(import_module(home), name)
    return Path(kernel.stats.cache_path), home.rpartition(".")[2]
