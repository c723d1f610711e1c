"""Risk scores over REST: `create_app` builds the service from models and a ledger.

Needs the extra ``serve``. See `shoal.service.app` for the routes and `shoal.service.scoring` for the order of steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.service.app import create_app
    from shoal.service.models import load_folder
    from shoal.service.settings import Settings

__all__ = ["Settings", "create_app", "load_folder"]

__getattr__, __dir__ = on_demand(__name__)
