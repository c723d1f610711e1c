"""The evidence of one release as one page: for everybody (external), or for inside only (internal)."""

from shoal.report.evidence import Evidence, gather
from shoal.report.page import Audience, render

__all__ = ["Audience", "Evidence", "gather", "render"]
