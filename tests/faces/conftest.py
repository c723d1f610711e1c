"""A real browser for the pages, and what is asked of each: no script error, nothing from elsewhere, no one kept out."""

import os
import shutil
from pathlib import Path

import pytest


def _chromium():
    named = os.environ.get("SHOAL_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    """Chromium without a window; closed after each file, since its driver holds the thread's event loop."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser to test in")
    found = _chromium()
    if not found:
        pytest.skip("there is no Chromium (Debian: apt install chromium; or name one in SHOAL_CHROMIUM)")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def screenshot(tmp_path, request):
    """Keeps a picture of a page among the test's output (or in SHOAL_SCREENSHOTS)."""
    folder = Path(os.environ.get("SHOAL_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)

    def take(page, name=""):
        file = folder / f"{request.node.name}{'-' if name else ''}{name}.png"
        page.screenshot(path=file, full_page=True)
        return file

    return take


@pytest.fixture
def new_page(browser):
    """Opens pages; at the end no script may have failed and nothing may have been asked of another host."""
    contexts, faults, hosts = [], [], set()

    def make(address, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce", **options)
        context.set_default_timeout(180_000)  # a busy machine is slow, not wrong
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda sent: hosts.add(sent.url.split("/")[2]) if sent.url.startswith("http") else None)
        page.goto(address)
        return page

    yield make
    for context in contexts:
        context.close()
    assert faults == []
    assert all(host.startswith("127.0.0.1") for host in hosts)  # works offline


@pytest.fixture
def serious():
    """What axe finds on a page that would keep somebody out."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def find(page):
        found = axe.run(page).response["violations"]
        return [(rule["id"], rule["nodes"][0]["target"]) for rule in found if rule["impact"] in ("serious", "critical")]

    return find
