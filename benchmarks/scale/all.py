"""Every figure of the page on scale, one job at a time, each in a process of its own; prints a table.

    python benchmarks/scale/all.py --work FOLDER [--only PART] [--minutes 60] [--most ROWS]
    python benchmarks/scale/all.py --work FOLDER --keep "on idle cores"     what was measured, for the page on scale

A job is what is done, the rows, the engine and, on Spark, where it runs. What has been measured stands in
`FOLDER/measured.jsonl` and is not measured again, so a run that was stopped goes on where it was. A job that takes
longer than its minutes is ended and noted as such. The claims of `count.py` are written once to `FOLDER/claims-ROWS`
(7 MB for a million rows); what a job spills and releases goes to `FOLDER` too and is removed after it.

CPU seconds are those of the job's process and of all that it started, the Java machine and Python workers included:
this process adopts what outlives its parent and waits for it. Memory is the largest of the job's process. Shuffled
bytes are the sum over all tasks of Spark's own log. `--keep NOTE` writes `measured.json` beside this file, from which
`make docs` makes the page; the note says what else ran on the machine.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

DUCKDB = ("duckdb", "")
MILLION = 1_000_000
START = ("count", 1_000)  # hardly any rows: what it takes to start, to read and to answer
JOBS = [
    *((*START, engine, master) for engine, master in (DUCKDB, ("spark", "local[2]"))),
    *((what, n * MILLION, *DUCKDB) for what in ("sql", "count", "generalize") for n in (1, 10, 50)),
    *((what, n * MILLION, *DUCKDB) for what in ("mdav", "pegs", "k-member") for n in (1, 10)),
    *((what, MILLION, "spark", "local[2]") for what in ("count", "generalize", "mdav", "pegs")),
    ("count", 10 * MILLION, "spark", "local[2]"),
    *(("mdav", MILLION, "spark", f"local-cluster[{n},1,2048]") for n in (1, 2, 4)),
]


def run(what, rows, engine, master, work):
    """Do one job, in a process of its own."""
    import count
    from synthesize import SCHEMA as PUBLIC

    from shoal import MDAV, Centroid, GaussianDither, Generalize, KMember, PeGS
    from shoal.engine import Inputs
    from shoal.recipe import Anonymization, Coarsening, Synthesis
    from shoal.release.on_engine.make import release_files
    from shoal.risk.class_sizes import counted_classes

    claims = work / f"claims-{rows}"
    if what == "sql":
        count.by_hand(claims)
        return []
    recipes = {
        "generalize": Coarsening.of(Generalize(k=5)),
        "mdav": Anonymization.of(MDAV(k=5), Centroid()),
        "k-member": Anonymization.of(KMember(k=5), GaussianDither()),
        "pegs": Synthesis.of(PeGS(epsilon=1.0), rows=rows),
    }
    steps = []
    with opened(engine, master, work / "room") as running:
        inputs = Inputs.of(claims)
        if what == "count":
            counted_classes(running, running.scan(inputs), count.SCHEMA)
        else:
            schema = PUBLIC if what == "pegs" else count.SCHEMA

            def noted(step):
                steps.append((step, time.time(), time.process_time()))

            release_files(running, inputs, schema, recipes[what], work / "room" / "out", progress=noted)
    ends = [*steps[1:], ("", time.time(), time.process_time())]
    return [[s, round(e[1] - w, 1), round(e[2] - c, 1)] for (s, w, c), e in zip(steps, ends[: len(steps)], strict=True)]


def opened(engine, master, room):
    import count

    if engine == "spark":
        from shoal.engine.spark import SparkEngine

        return SparkEngine(master=master, memory="1500MB" if "cluster" in master else count.MEMORY)
    from shoal.engine.duckdb import DuckDBEngine

    return DuckDBEngine(memory=count.MEMORY, threads=count.THREADS, spill=room)


def measured(job, work, minutes):
    """Do a job in a process of its own and say what it took."""
    _, rows, engine, _ = job
    data(rows, work)
    room = work / "room"
    shutil.rmtree(room, ignore_errors=True)
    (room / "log").mkdir(parents=True)
    words = [sys.executable, __file__, "--job", json.dumps(job), "--work", str(work)]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment(room), start_new_session=True)
    try:
        output, late = process.communicate(timeout=60 * minutes)[0], False
    except subprocess.TimeoutExpired:
        output, late = "", True
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    everybody_gone()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "job": job,
        "failed": "too slow" if late else "" if process.returncode == 0 else f"exit {process.returncode}",
        "cpu": round(spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime, 1),
        "wall": round(time.time() - start, 1),
        **(json.loads(output.splitlines()[-1]) if output.strip() and not late else {"gib": None, "steps": []}),
        "shuffled": shuffled(room / "log") if engine == "spark" else 0,
    }
    shutil.rmtree(room, ignore_errors=True)
    return found


def environment(room):
    """Spark's log of tasks goes to the room, and its temporary files too."""
    log = {"enabled": "true", "dir": (room / "log").resolve().as_uri(), "compress": "false", "rolling.enabled": "false"}
    conf = " ".join(f"--conf spark.eventLog.{name}={value}" for name, value in log.items())
    submit = f"{conf} --conf spark.local.dir={room.resolve()} pyspark-shell"
    return os.environ | spark_home() | {"PYSPARK_SUBMIT_ARGS": submit, "TMPDIR": str(room.resolve())}


def spark_home():
    """A local cluster needs to know where Spark lies."""
    from importlib.util import find_spec

    found = find_spec("pyspark")
    return {"SPARK_HOME": str(Path(found.origin).parent)} if found and found.origin else {}


def data(rows, work):
    from count import claims

    folder = work / f"claims-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for i, low in enumerate(range(0, rows, MILLION)):
        file = folder / f"{i:04d}.parquet"
        if not file.exists():
            claims(min(MILLION, rows - low), i).write_parquet(folder / "part")
            (folder / "part").rename(file)


def shuffled(log):
    """Bytes that tasks wrote for others."""
    total = 0
    for file in log.iterdir():
        for line in file.read_text().splitlines():
            if '"SparkListenerTaskEnd"' in line:
                metrics = json.loads(line).get("Task Metrics") or {}
                total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total


def adopt_orphans():
    """What outlives its parent becomes a child of this process, so that its CPU seconds are counted."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def largest():
    """The largest memory of this process in GiB (ru_maxrss would include the process that started it)."""
    held = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(held.split()[1]) / 2**20


def everybody_gone():
    end = time.time() + 60
    while time.time() < end:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.2)
        except ChildProcessError:
            return


def table(lines):
    """The figures in Markdown: CPU seconds, the ratio to a tenth of the rows, to SQL, and of Spark to DuckDB."""
    cpu = {tuple(line["job"]): line["cpu"] for line in lines if not line["failed"]}
    print("| what | rows | engine | CPU s | wall s | GiB | against | shuffled |")
    print("| --- | ---: | --- | ---: | ---: | ---: | --- | ---: |")
    for line in lines:
        what, rows, engine, master = line["job"]
        others = {
            "x 1 million": (what, MILLION, engine, master) if rows > MILLION else None,
            "x SQL": ("sql", rows, *DUCKDB) if what == "count" and engine == "duckdb" else None,
            "x DuckDB": (what, rows, *DUCKDB) if engine == "spark" else None,
        }
        told = ", ".join(f"{line['cpu'] / cpu[other]:.2f} {name}" for name, other in others.items() if other in cpu)
        moved = f"{line['shuffled'] / rows:.0f} B a row" if line["shuffled"] else ""
        figures = line["failed"] or f"{line['cpu']:.1f}"
        where = f"{engine} {master}".strip()
        print(f"| {what} | {rows:,} | {where} | {figures} | {line['wall']:.0f} | {line['gib']} | {told} | {moved} |")


def keep(lines, note):
    """Write what was measured, once for each job, with the machine and what else ran there."""
    from importlib.metadata import version

    where = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cores": os.cpu_count(),
        "note": note,
        "versions": {name: version(name) for name in ("duckdb", "polars", "pyspark")},
    }
    jobs = {tuple(line["job"]): line for line in lines}
    found = {"machine": where, "jobs": list(jobs.values())}
    Path(__file__).with_name("measured.json").write_text(json.dumps(found, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for claims, results and what is spilled")
    parser.add_argument("--only", default="", help="jobs whose words contain this, such as 'mdav' or 'spark'")
    parser.add_argument("--minutes", type=float, default=60, help="time limit of one job")
    parser.add_argument("--most", type=int, default=50 * MILLION, help="leave out jobs of more rows")
    parser.add_argument("--keep", metavar="NOTE", help="write what was measured for the page; measure nothing")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        steps = run(*json.loads(given.job), given.work)
        print(json.dumps({"gib": round(largest(), 2), "steps": steps}))
        return
    given.work.mkdir(parents=True, exist_ok=True)
    adopt_orphans()
    notes = given.work / "measured.jsonl"
    lines = [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
    if given.keep:
        keep(lines, given.keep)
        return
    done = {tuple(line["job"]) for line in lines}
    for job in JOBS:
        if job not in done and given.only in " ".join(map(str, job)) and job[1] <= given.most:
            lines.append(measured(job, given.work, given.minutes))
            print(json.dumps(lines[-1]), flush=True)
            with notes.open("a") as stream:
                stream.write(json.dumps(lines[-1]) + "\n")
    table(lines)


if __name__ == "__main__":
    main()
