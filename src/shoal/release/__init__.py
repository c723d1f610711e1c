"""Recipe to release: run, verify, write, or refuse."""

from shoal.release.replaying import replay
from shoal.release.run import Release, anonymize
from shoal.release.target import anonymize_to_linkage
from shoal.release.verification import Verification, verify

__all__ = ["Release", "Verification", "anonymize", "anonymize_to_linkage", "replay", "verify"]
