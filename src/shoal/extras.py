"""Packages that not everybody needs: each belongs to an extra, and is asked for at the moment of use.

``pip install shoal`` has what an anonymisation, a coarsening and their evidence need. The table below says what else
there is; whoever meets a missing one is told its name and the remedy.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from shoal.errors import ParameterError

__all__ = ["EXTRAS", "need"]

EXTRAS = {
    "opendp": "dp",
    "altair": "plots",
    "vl_convert": "plots",
    "sklearn": "models",
}
"""The extra that brings a module."""
_PACKAGES = {"sklearn": "scikit-learn", "vl_convert": "vl-convert-python"}


def need(module: str, owner: str) -> None:
    """Refuse to go on without a module of an extra, before anything is computed, charged or written.

    Parameters
    ----------
    module
        Name by which it is imported.
    owner
        Who needs it, as the error names it.

    Examples
    --------
    >>> from shoal.extras import need
    >>> need("opendp", "PeGS")
    """
    if sys.modules.get(module) is not None or find_spec(module) is not None:
        return
    package, extra = _PACKAGES.get(module, module), EXTRAS[module]
    raise ParameterError(owner, f"needs the package {package}", hint=f"Install it: pip install 'shoal[{extra}]'.")
