"""The workbench as a person meets it, in a real Chromium: first page, a million rows, and answers while a job runs.

Run it with ``python benchmarks/speed/workbench.py``. It needs Chromium (Debian's package). There is no peer to run
beside it: sdcMicro's app and ARX's window are not in the registries of Python; the numbers to reach are stated.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import shoal

ROWS = int(os.environ.get("SHOAL_BENCH_ROWS", "1000000"))


@contextmanager
def workbench(folder):
    command = [
        sys.executable,
        "-m",
        "shoal",
        "web",
        "--port",
        "0",
        "--no-browser",
        "--no-token",
        "--folder",
        str(folder),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as process:
        yield process.stdout.readline().split()[1]
        process.send_signal(signal.SIGINT)


def timed(deed):
    start = time.perf_counter()
    deed()
    return time.perf_counter() - start


def opened(page, address, file):
    """Seconds until the first rows are shown, and until the columns are."""
    page.goto(address)
    page.get_by_label("Or enter its path on this machine").fill(str(file))
    start = time.perf_counter()
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("heading", name="First rows").wait_for(timeout=120_000)
    first = time.perf_counter() - start
    page.get_by_role("heading", name="Columns", exact=True).wait_for(timeout=120_000)
    return first, time.perf_counter() - start


def answers(page, n=15):
    """Seconds from a changed role until the page says so, while a job runs."""
    times = []
    for i in range(n):
        role, said = (("other", "3 quasi"), ("quasi", "4 quasi"))[i % 2]
        box = page.get_by_label("role of gender", exact=True)

        def change(box=box, role=role, said=said):
            box.select_option(role)
            page.wait_for_function("text => document.body.innerText.includes(text)", arg=said)

        times.append(timed(change))
    return times


def _arrive(page, address):
    page.goto(address)
    page.get_by_role("heading").first.wait_for()


def main():
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, workbench(Path(folder)) as address, sync_playwright() as driver:
        table = shoal.datasets.health_survey(ROWS, seed=1)
        csv, parquet = Path(folder) / "people.csv", Path(folder) / "people.parquet"
        table.write_csv(csv)
        table.write_parquet(parquet)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)  # the browser's own start
        first = median(
            timed(lambda: (page.goto(address), page.get_by_role("heading").first.wait_for())) for _ in range(5)
        )
        print(f"first page: {first:.2f} s (to reach: under 1)")
        for file in (csv, parquet):
            shown, full = opened(page, address, file)
            size = file.stat().st_size / 1e6
            what = f"{ROWS:,} rows, {file.suffix[1:]} of {size:.0f} MB"
            print(f"{what}: preview {shown:.2f} s (under 5), columns {full:.2f} s")
        bench = page.url.rsplit("/", 1)[0]
        page.goto(f"{bench}/method")
        page.get_by_role("button", name="Run", exact=True).click()
        page.wait_for_url("**/result/**")
        other = browser.new_page()
        other.goto(f"{bench}/columns")
        other.get_by_label("role of gender", exact=True).wait_for()
        times = sorted(answers(other))
        print(
            f"answer while a job runs: median {median(times) * 1e3:.0f} ms, worst {times[-1] * 1e3:.0f} ms (under 200)"
        )
        loads = sorted(timed(lambda: other.request.get(address)) for _ in range(15))
        print(f"page while a job runs: median {median(loads) * 1e3:.0f} ms, worst {loads[-1] * 1e3:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
