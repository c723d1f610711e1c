"""The page at ``/``: shows what the models promise, asks one, and says what the answer means and what it cost.

Nothing comes from elsewhere, and its script and style are pinned by hash. The script (``page.js``) has one function for
others to use: ``mountScores(root, ask)`` builds the page inside an element, with any ``ask(path, body)`` that speaks to
the service's routes.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

__all__ = ["PAGE", "PAGE_HEADERS", "SCRIPT", "STYLE"]


def _text(name: str) -> str:
    return files("shoal.service").joinpath(name).read_text(encoding="utf-8")


STYLE, SCRIPT = _text("page.css"), _text("page.js")
PAGE = _text("page.html").replace("{{ style }}", STYLE).replace("{{ script }}", SCRIPT)


def _pinned(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_pinned(SCRIPT)}; style-src {_pinned(STYLE)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'"
    ),
}
