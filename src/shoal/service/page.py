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

_HERE = files("shoal.service")
STYLE = _HERE.joinpath("page.css").read_text(encoding="utf-8")
SCRIPT = _HERE.joinpath("page.js").read_text(encoding="utf-8")

PAGE = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shoal risk scores</title><style>{STYLE}</style></head>
<body>
<div class="page">
<header>
<div class="top"><h1>Risk scores</h1><button id="leave" type="button" hidden>Forget the key</button></div>
<p>Models that answer “what is this person's risk”. Each says what it promises to the people whose records it was fitted
to, and how far that can be trusted.</p>
</header>
<main>
<form id="enter" class="card" novalidate>
<label for="key">API key</label>
<div class="line"><input id="key" type="password" autocomplete="off" spellcheck="false" required
aria-describedby="key-hint enter-problem"><button class="main">Show models</button></div>
<p class="soft" id="key-hint">The line that begins with shoal_, from whoever runs this service. It stays in this page
until you close it.</p>
<div id="enter-problem" role="alert"></div>
<noscript><p class="note warn">This page needs JavaScript. Everything it does can be done with curl; see the OpenAPI
document.</p></noscript>
</form>
<div id="scores"></div>
</main>
<footer><p>For programs: <a href="openapi.json">OpenAPI document</a>. Shoal documents; a person decides.</p></footer>
</div>
<script>{SCRIPT}</script>
</body></html>
"""


def _pinned(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


PAGE_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_pinned(SCRIPT)}; style-src {_pinned(STYLE)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; require-trusted-types-for 'script'"
    ),
}
