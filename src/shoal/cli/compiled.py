"""Where compiled kernels are kept, and whether a command has any yet.

Loops over records are compiled when they are first met. What is compiled is kept beside the package where its folder
can be written to, else in the user's cache folder, or in NUMBA_CACHE_DIR if that is set.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import shoal

__all__ = ["cache_folder", "is_warm"]

_KERNELS = {
    "anonymize": ("shoal.group.packs", "distances"),
    "coarsen": ("shoal.risk.mixed_tree", "search"),
    "synthesize": ("shoal.synth.polish", "_round"),
}
"""A kernel that every run of the command needs."""


def cache_folder() -> Path:
    """Where compiled kernels are kept: a folder of the user's, or the package's own, each module beside its source."""
    beside = _kept("anonymize")[0]
    return Path(shoal.__file__).parent if beside.name == "__pycache__" else beside.parent


def is_warm(command: str) -> bool:
    """Whether kernels of a command were compiled here before, or never are (NUMBA_DISABLE_JIT)."""
    import numba

    flags: Any = numba.config
    if flags.DISABLE_JIT:
        return True
    folder, module = _kept(command)
    return any(folder.glob(f"{module}.*.nbi"))


def _kept(command: str) -> tuple[Path, str]:
    """The folder that keeps a kernel of the command, and the name of the kernel's module."""
    home, name = _KERNELS[command]
    kernel: Any = getattr(import_module(home), name)
    return Path(kernel.stats.cache_path), home.rpartition(".")[2]
