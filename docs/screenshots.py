"""Take the pictures of the README and the site's first page: workbench, report and risk-utility map.

``python docs/screenshots.py`` makes the data, runs the commands, and photographs the pages in Chromium. Pictures are
kept with the sources, because a reader of the README has nothing installed yet.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

import shoal

PICTURES = Path(__file__).parent / "assets"
SIZE = {"width": 1200, "height": 760}
PORT = 8765


def main() -> None:
    """Make all three."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        place = Path(folder)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)
        _files(place)
        _run(place, "anonymize people.csv -s schema.toml -o release --k 5 --no-register")
        _shoot(page, (place / "release/report.html").as_uri(), "report")
        _run(place, "compare people.csv -s schema.toml -o comparison --sample 600")
        _shoot(page, next((place / "comparison").glob("*.html")).as_uri(), "map", part="figure, svg[role=img]")
        with _workbench(place) as address:
            _open_file(page, address, place / "people.csv")
            _shoot(page, None, "workbench")
        browser.close()


def _files(place: Path) -> None:
    table = shoal.datasets.health_survey(2_000, seed=3).with_row_index("record")
    table.with_columns(record=pl.col("record") + 70_000).write_csv(place / "people.csv")
    words = shoal.datasets.health_survey_schema().to_dict()
    words["columns"]["record"] = {"role": "identifier"}
    shoal.Schema.from_dict(words).write(place / "schema.toml")


def _command(place: Path, words: str) -> tuple[list[str], dict[str, Any]]:
    own = {**os.environ, "XDG_DATA_HOME": str(place / "data")}
    return [sys.executable, "-m", "shoal", *words.split()], {"cwd": place, "env": own}


def _run(place: Path, words: str) -> None:
    command, options = _command(place, words)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)


@contextmanager
def _workbench(place: Path) -> Iterator[str]:
    command, options = _command(place, f"web --port {PORT} --no-token --no-browser")
    process = subprocess.Popen(command, **options)
    try:
        yield f"http://127.0.0.1:{PORT}/"
    finally:
        process.terminate()
        process.wait(20)


def _open_file(page: Any, address: str, file: Path) -> None:
    for _ in range(60):
        try:
            page.goto(address)
            break
        except Exception:  # not up yet
            page.wait_for_timeout(500)
    page.set_input_files("input[type=file]", str(file))
    page.wait_for_selector("text=record", timeout=60_000)
    page.wait_for_timeout(3_000)


def _shoot(page: Any, address: str | None, name: str, part: str | None = None) -> None:
    if address is not None:
        page.goto(address)
    page.wait_for_timeout(500)
    target = page if part is None else page.locator(part).first
    target.screenshot(path=PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
