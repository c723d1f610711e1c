"""Recipe to release: make, verify, write, or refuse."""

from shoal.release.make import anonymize, coarsen, make, synthesize
from shoal.release.release import Release
from shoal.release.replay import replay
from shoal.release.target import anonymize_to_linkage
from shoal.release.verify import Verification, verify

__all__ = [
    "Release",
    "Verification",
    "anonymize",
    "anonymize_to_linkage",
    "coarsen",
    "make",
    "replay",
    "synthesize",
    "verify",
]
