"""Recipe to release: make, verify, write, or refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand
from shoal.release.make import anonymize, coarsen, make, synthesize
from shoal.release.release import Release

if TYPE_CHECKING:
    from shoal.release.manifest import replay
    from shoal.release.on_engine.make import check_on, release_files, repeat_files
    from shoal.release.on_engine.write import FilesRelease
    from shoal.release.risk_target import anonymize_to_linkage, anonymize_to_risk

__all__ = [
    "FilesRelease",
    "Release",
    "anonymize",
    "anonymize_to_linkage",
    "anonymize_to_risk",
    "check_on",
    "coarsen",
    "make",
    "release_files",
    "repeat_files",
    "replay",
    "synthesize",
]

__getattr__, __dir__ = on_demand(__name__)
