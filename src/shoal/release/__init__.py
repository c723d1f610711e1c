"""Recipe to release: make, verify, write, or refuse."""

from shoal.release.make import anonymize, coarsen, make, synthesize
from shoal.release.manifest import replay
from shoal.release.release import Release
from shoal.release.target import anonymize_to_linkage, anonymize_to_risk
from shoal.release.verify import Verification, verify

__all__ = [
    "Release",
    "Verification",
    "anonymize",
    "anonymize_to_linkage",
    "anonymize_to_risk",
    "coarsen",
    "make",
    "replay",
    "synthesize",
    "verify",
]
