"""The one coding of a column: `Axis`, and `Domain` for a table of them; declared or learnt, and they know which."""

from __future__ import annotations

from shoal.domain.axis import Axis, Missing, Unknown
from shoal.domain.domain import Domain

__all__ = ["Axis", "Domain", "Missing", "Unknown"]
