"""Recipe to release: run, verify, write, or refuse."""

from shoal.release.coarsening import coarsen, coarsen_source
from shoal.release.release import Release
from shoal.release.replay import replay
from shoal.release.run import anonymize
from shoal.release.synthesizing import synthesize, synthesize_source
from shoal.release.target import anonymize_to_linkage
from shoal.release.verify import Verification, verify

__all__ = [
    "Release",
    "Verification",
    "anonymize",
    "anonymize_to_linkage",
    "coarsen",
    "coarsen_source",
    "replay",
    "synthesize",
    "synthesize_source",
    "verify",
]
