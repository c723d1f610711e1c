"""The tables of the page on scale, from what `benchmarks/scale/all.py` measured (`benchmarks/scale/measured.json`).

No figure in them is typed by hand. What a run didn't reach is said to be not measured.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["scale_page"]

START, MILLION, BILLION = 1_000, 1_000_000, 1_000_000_000
CORES = 200
ASSUMED = 4.0  # times the CPU of DuckDB, where a job was not measured on Spark
NAMES = {
    "sql": "k, l, t by hand-written SQL",
    "count": "k, l, t",
    "generalize": "`Generalize(k=5)`",
    "mdav": "`MDAV(k=5)`, `Centroid()`, the attack included",
    "k-member": "`KMember(k=5)`, `GaussianDither()`, the attack included",
    "pegs": "`PeGS(epsilon=1)`, as many rows drawn",
}
SIZES = (MILLION, 10 * MILLION, 50 * MILLION)


def scale_page(text: str, found: dict[str, Any]) -> str:
    """The page with its tables made anew from the jobs that were measured."""
    jobs = {tuple(job["job"]): job for job in found["jobs"] if not job["failed"]}
    late = [job for job in found["jobs"] if job["failed"]]
    machine = found["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    where = f"Measured until {machine['date']} on {machine['cores']} cores, {machine['note']}; {versions}."
    measured = [where, "", *_sizes(jobs), "", *_goals(jobs), "", *_steps(jobs), *_spark(jobs), *_late(late)]
    return _between(_between(text, "measured", measured), "billion", _billion(jobs))


def _between(text: str, name: str, lines: list[str]) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    return "\n".join(
        [f"{before}{begin}", "", *"\n".join(lines).strip().split("\n"), "", f"{end}{rest.partition(end)[2]}"]
    )


def _cpu(jobs: dict[Any, Any], what: str, rows: int, engine: str = "duckdb", master: str = "") -> float | None:
    job = jobs.get((what, rows, engine, master))
    return None if job is None else float(job["cpu"])


def _sizes(jobs: dict[Any, Any]) -> list[str]:
    lines = [
        "| DuckDB, CPU s | 1 million rows | 10 million | 50 million | 10 : 1 | growth, 1 to 10 million | memory, GiB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for what, name in NAMES.items():
        times = [_cpu(jobs, what, rows) for rows in SIZES]
        one, ten, _ = times
        ratio = "" if one is None or ten is None else f"{ten / one:.1f}"
        growth = "" if one is None or ten is None else f"{math.log10(ten / one):.2f}"
        held = [
            (rows, jobs[(what, rows, "duckdb", "")].get("gib")) for rows in SIZES if (what, rows, "duckdb", "") in jobs
        ]
        memory = ", ".join(f"{gib:.1f} at {rows // MILLION} million" for rows, gib in held if gib)
        cells = [("" if what in _UP_TO_TEN and i == 2 else _figure(t)) for i, t in enumerate(times)]
        lines.append(f"| {name} | {' | '.join(cells)} | {ratio} | {growth} | {memory} |")
    return lines


_UP_TO_TEN = ("mdav", "k-member", "pegs")


def _figure(seconds: float | None) -> str:
    return "not measured" if seconds is None else f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"


def _goals(jobs: dict[Any, Any]) -> list[str]:
    """What was aimed at, beside what was found."""
    lines = ["| goal | found |", "| --- | ---: |"]
    for rows in SIZES:
        ours, sql = _cpu(jobs, "count", rows), _cpu(jobs, "sql", rows)
        if ours and sql:
            aim = " (at most 1.5)" if rows == 10 * MILLION else ""
            lines.append(
                f"| counting k, l, t against hand-written SQL, {rows // MILLION} million rows{aim} | {ours / sql:.2f} |"
            )
    found = _cpu(jobs, "generalize", 10 * MILLION)
    lines.append(f"| `Generalize`, 10 million rows (at most 120 CPU s) | {_figure(found)} |")
    largest = (jobs.get(("generalize", 50 * MILLION, "duckdb", "")) or {}).get("gib")
    held = "not measured" if largest is None else f"{largest:.2f}"
    lines.append(f"| `Generalize`, 50 million rows: memory of the whole process (at most 4 GB, 3.73 GiB) | {held} |")
    for what in ("mdav", "k-member"):
        one, ten = _cpu(jobs, what, MILLION), _cpu(jobs, what, 10 * MILLION)
        ratio = "not measured" if one is None or ten is None else f"{ten / one:.1f}"
        lines.append(f"| {NAMES[what]}: CPU at 10 million rows over that at 1 million (at most 12) | {ratio} |")
    pegs = jobs.get(("pegs", 10 * MILLION, "duckdb", ""))
    if pegs:
        drawing = sum(cpu for step, _, cpu in pegs["steps"] if step == "drawing")
        lines.append(f"| `PeGS`, 10 million rows, without the draw (at most 60 CPU s) | {pegs['cpu'] - drawing:.1f} |")
    return lines


def _steps(jobs: dict[Any, Any]) -> list[str]:
    """Where the time of the largest runs goes."""
    chosen = [("generalize", 50), ("mdav", 10), ("pegs", 10), ("k-member", 10), ("k-member", 1)]
    lines = ["CPU seconds of the driver's process, step by step:", ""]
    for what, millions in chosen:
        job = jobs.get((what, millions * MILLION, "duckdb", ""))
        if job and job["steps"]:
            told = ", ".join(f"{step} {cpu:.0f}" for step, _, cpu in job["steps"] if cpu >= 0.5)
            lines.append(f"- {NAMES[what]}, {millions} million rows: {told}")
    return [*lines, ""]


def _started(jobs: dict[Any, Any], engine: str) -> float:
    """CPU seconds to start and to count a thousand rows; 0 where that was not measured."""
    return next((job["cpu"] for (_, rows, own, _), job in jobs.items() if own == engine and rows == START), 0.0)


def _factors(jobs: dict[Any, Any]) -> dict[str, float]:
    """The CPU of Spark over that of DuckDB without the start of either, from the largest run of both."""
    found = {}
    spark, duckdb = (_started(jobs, engine) for engine in ("spark", "duckdb"))
    for (what, rows, engine, master), job in sorted(jobs.items(), key=lambda job: job[0][1]):
        own = _cpu(jobs, what, rows)
        if engine == "spark" and master.startswith("local[") and own and rows > START:
            found[what] = (job["cpu"] - spark) / (own - duckdb)
    return found


def _spark(jobs: dict[Any, Any]) -> list[str]:
    lines = ["## Spark", ""]
    runs = {key: job for key, job in jobs.items() if key[2] == "spark" and key[1] > START}
    if not runs:
        return [
            *lines,
            "The ratio to DuckDB and the growth from one worker to four were **not measured** in this run.",
            "",
        ]
    spark, duckdb = (_started(jobs, engine) for engine in ("spark", "duckdb"))
    lines += ["| Spark | rows | where | CPU s | × DuckDB | without the start | wall s | shuffled, bytes a row |"]
    lines += ["| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"]
    for (what, rows, _, master), job in runs.items():
        own = _cpu(jobs, what, rows)
        times = "" if own is None else f"{job['cpu'] / own:.1f}"
        bare = "" if own is None or not spark else f"{(job['cpu'] - spark) / (own - duckdb):.1f}"
        moved = f"{job['shuffled'] / rows:.0f}" if job["shuffled"] else ""
        lines.append(
            f"| {NAMES[what]} | {rows // MILLION} million | `{master}` | {_figure(job['cpu'])} | {times} | {bare} "
            f"| {job['wall']:.0f} | {moved} |"
        )
    start = f"To start and to count a thousand rows takes Spark {spark:.1f} CPU s (Java, its compiler, Python workers)"
    return [*lines, "", f"{start} and DuckDB {duckdb:.1f}; *without the start* leaves that out on both sides.", ""]


def _late(late: list[dict[str, Any]]) -> list[str]:
    if not late:
        return []
    told = "; ".join(f"{job['job'][0]} at {job['job'][1]:,} rows on {' '.join(job['job'][2:]).strip()}" for job in late)
    return [f"Ended before they were done, by the time limit of a job or a fault: {told}.", ""]


def _billion(jobs: dict[Any, Any]) -> list[str]:
    factors = _factors(jobs)
    lines = [
        f"| what | CPU s on DuckDB, from the largest run | × Spark | on {CORES} cores |",
        "| --- | ---: | ---: | ---: |",
    ]
    for what, name in NAMES.items():
        largest = max((rows for rows in SIZES if _cpu(jobs, what, rows) is not None), default=None)
        if what == "sql" or largest is None:
            continue
        seconds = (_cpu(jobs, what, largest) or 0.0) * BILLION / largest
        factor = factors.get(what, max(factors.values(), default=ASSUMED))
        times = f"{factor:.1f}" + ("" if what in factors else " (assumed)")
        lines.append(
            f"| {name} | {_rounded(seconds)}, from {largest // MILLION} million | {times} "
            f"| {_time(seconds * factor / CORES)} |"
        )
    if not factors:
        return [*lines, "", f"Spark is taken to need {ASSUMED:.0f} times the CPU: an assumption, {_WHY}."]
    rest = "Where a job was not measured on Spark, the largest factor that was measured stands for it."
    return [*lines, "", f"{rest} The start of Java is left out: it is paid once."]


_WHY = "for rows that are turned into Arrow and back for every step and written to disk in between"


def _rounded(seconds: float) -> str:
    digits = max(0, int(math.log10(seconds)) - 1)
    return f"{round(seconds, -digits):,.0f}"


def _time(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
