"""The written reports in a real browser: accessible, with tooltips, printable, running no script but their own.

Needs Chromium (Debian's package `chromium`) and the packages playwright and axe-playwright-python; skipped without.
Screenshots go to a temporary folder, or to the folder that SHOAL_SCREENSHOTS names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal import Schema

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="the browser tests need axe")

PAGES = [f"{method}/{page}" for method in ("anonymize", "coarsen", "synthesize") for page in ("external", "internal")]
WIDE, NARROW = {"width": 1200, "height": 900}, {"width": 420, "height": 800}
A4_TEXT = 178 * 96 / 25.4  # the width of the text on paper, in the browser's pixels


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each family's two reports, as they were written."""
    home = tmp_path_factory.mktemp("releases")
    table, schema = shoal.datasets.health_survey(600, seed=1), shoal.datasets.health_survey_schema()
    few = ["gender", "age_group", "income"]
    domain = Schema.of(
        quasi=few[:2],
        sensitive=few[2:],
        levels={"gender": ["female", "male"], "age_group": range(8), "income": range(5)},
    )
    shoal.anonymize(table, schema, seed=7).write(home / "anonymize")
    shoal.coarsen(table, schema, shoal.Mondrian(k=5), seed=7).write(home / "coarsen")
    shoal.synthesize(table.select(few), domain, shoal.PeGS(epsilon=2.0), rows=300).write(home / "synthesize")
    endings = {"external": "", "internal": ".internal"}
    parts = {page: page.split("/") for page in PAGES}
    return {page: home / f"{name}{endings[which]}" / "report.html" for page, (name, which) in parts.items()}


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("SHOAL_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def visit(browser: Any, reports: dict[str, Path]) -> Iterator[Any]:
    """Opens a report; whatever the page asks for or complains about is in `requests` and `complaints`."""
    opened = []

    def go(name: str, viewport: dict[str, int], **options: Any) -> Any:
        context = browser.new_context(viewport=viewport, **options)
        opened.append(context)
        page = context.new_page()
        page.requests, page.complaints = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(reports[name].as_uri())
        return page

    yield go
    for context in opened:
        context.close()


@pytest.mark.parametrize("name", ["anonymize/internal", "coarsen/external", "synthesize/external"])
def test_it_is_accessible(visit: Any, name: str) -> None:
    assert grave_findings(visit(name, WIDE)) == []


@pytest.mark.parametrize("name", PAGES)
def test_it_fits_and_asks_for_nothing(visit: Any, screenshots: Path, name: str) -> None:
    page = visit(name, WIDE)
    for viewport in (WIDE, NARROW):
        page.set_viewport_size(viewport)
        page.screenshot(path=screenshots / f"{name.replace('/', '-')}-{viewport['width']}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert page.requests == [page.url]
    assert page.complaints == []


@pytest.mark.parametrize("name", ["anonymize/external", "coarsen/internal"])
def test_it_is_dark_where_the_screen_is_and_light_on_paper(visit: Any, screenshots: Path, name: str) -> None:
    page = visit(name, WIDE, color_scheme="dark")
    ground, ink = (page.evaluate(f"getComputedStyle(document.body).{what}") for what in ("backgroundColor", "color"))
    assert lightness(ground) < 60 < 200 < lightness(ink)
    assert "invert" in page.evaluate("getComputedStyle(document.querySelector('main svg')).filter")
    page.screenshot(path=screenshots / f"{name.replace('/', '-')}-dark.png", full_page=True)
    assert grave_findings(page) == []
    page.emulate_media(media="print", color_scheme="dark")
    assert lightness(page.evaluate("getComputedStyle(document.body).backgroundColor")) == 255
    assert page.evaluate("getComputedStyle(document.querySelector('main svg')).filter") == "none"


def lightness(colour: str) -> float:
    """The mean of red, green and blue of a colour as a browser says it."""
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


def test_it_is_accessible_on_a_phone(visit: Any) -> None:
    assert grave_findings(visit("synthesize/internal", NARROW)) == []


def grave_findings(page: Any) -> list[tuple[str, str, str]]:
    """What axe calls serious or critical."""
    found = axe.Axe().run(page).response["violations"]
    told = [(rule["impact"], rule["id"], rule["nodes"][0]["html"][:200]) for rule in found]
    return [rule for rule in told if rule[0] in ("serious", "critical")]


def test_a_bar_says_at_once_what_it_is(visit: Any, screenshots: Path) -> None:
    page = visit("coarsen/external", WIDE)
    bar = page.locator("#risk svg").nth(1).locator(".m").first
    assert page.locator("#tip").inner_text() == ""
    bar.hover()
    tip = page.locator("#tip")
    tip.wait_for()
    words = re.compile(r"\d.* people share the combination: [\d.]+% before, [\d.]+% after|Nobody .*")
    assert words.fullmatch(tip.inner_text())
    page.wait_for_timeout(200)  # the scrolling that brought the bar here has been told by now
    assert words.fullmatch(tip.inner_text())
    box, place = bar.bounding_box(), tip.bounding_box()
    assert abs(place["y"] + place["height"] / 2 - box["y"] - box["height"] / 2) < 200
    page.screenshot(path=screenshots / "tooltip.png")
    page.locator("h1").hover()
    assert not tip.is_visible()


def test_the_keyboard_reads_a_picture(visit: Any) -> None:
    page = visit("anonymize/external", WIDE)
    page.locator("#risk svg").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    tip = page.locator("#tip")
    first = tip.inner_text()
    assert first.startswith("Probability")
    page.keyboard.press("ArrowRight")
    assert tip.inner_text().startswith("Probability")
    assert tip.inner_text() != first
    page.keyboard.press("Home")
    assert tip.inner_text() == first
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_the_skip_link_comes_first(visit: Any) -> None:
    page = visit("anonymize/external", WIDE)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#report"


def test_it_tells_the_same_without_a_script(visit: Any) -> None:
    page = visit("anonymize/external", WIDE, java_script_enabled=False)
    assert page.locator("svg .m > title").count() == page.locator("svg .m").count() > 40
    assert page.locator("#tip").count() == 0


def test_no_other_script_runs(visit: Any) -> None:
    page = visit("anonymize/external", WIDE)
    page.evaluate(
        """() => { const bad = document.createElement("script"); bad.textContent = "window.ran = 1";
        document.body.append(bad); }"""
    )
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in words for words in page.complaints)


@pytest.mark.parametrize("name", ["anonymize/external", "coarsen/internal", "synthesize/external"])
def test_it_prints_whole(visit: Any, screenshots: Path, name: str) -> None:
    page = visit(name, {"width": round(A4_TEXT), "height": 1000})
    page.emulate_media(media="print")
    cut = page.evaluate(
        """() => [...document.querySelectorAll("main *:not(.heard):not(svg *), header *, nav *")]
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1
                       && getComputedStyle(e).overflowX !== "visible")
        .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert cut == []
    paper = page.pdf(path=screenshots / f"{name.replace('/', '-')}.pdf", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 2
    assert page.locator("#decision table").is_visible()
    assert page.locator("#expiry table").is_visible()
