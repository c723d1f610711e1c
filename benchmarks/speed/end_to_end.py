"""From a CSV file to a written release through the command line: CPU seconds, peak memory and growth with n.

    python benchmarks/speed/end_to_end.py                                    10,000 and 100,000 rows, all jobs
    python benchmarks/speed/end_to_end.py --sizes 100000 1000000 --jobs anonymize mondrian
    python benchmarks/speed/end_to_end.py --mask resample                    another mask than the default one
    python benchmarks/speed/end_to_end.py --discharges                       1,000 discharges of 34 columns as well
    python benchmarks/speed/end_to_end.py --peers --jobs anonymize           MDAV in NumPy and a linkage by hand as well
    python benchmarks/speed/end_to_end.py --cold --sizes 1000                with nothing compiled beforehand

The table is simulated claims (claims.py): eight quasi-identifiers, one of them a county of 200 levels, with diagnosis
and cost.
Each job is a process of its own; its CPU seconds (user and system, children included) and its largest resident set
are what the operating system counted, start-up and imports included. `growth` is the exponent b of CPU ~ rows^b since
the size before. A first run on a small table compiles the kernels and is not counted.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from claims import claims, claims_schema

import shoal

MIB = 2**20
ON_WORD = 5  # verify: nothing fails, something rests on the publisher's word
PEER = str(Path(__file__).with_name("mdav_and_linkage.py"))
LARGEST_PEER = 20_000  # rows: the peer is quadratic
COARSENERS = ("mondrian", "generalize", "suppress")
JOBS = ("anonymize", *COARSENERS, "synthesize", "risk", "verify", "compare")


def write_claims(folder, n):
    return _written(folder / f"claims{n}", claims(n), claims_schema())


def write_discharges(folder, n=1000):
    table = shoal.datasets.discharge(n, seed=1)
    return _written(folder / "discharges", table, shoal.datasets.discharge_schema())


def _written(folder, table, schema):
    folder.mkdir(parents=True, exist_ok=True)
    table.write_csv(folder / "table.csv")
    schema.write(folder / "schema.toml")
    return folder


def command(job, folder, mask, n):
    """What is typed for a job; verification looks at what Mondrian wrote."""
    file, schema = str(folder / "table.csv"), ["--schema", str(folder / "schema.toml")]
    out = ["--out", str(folder / job), "--overwrite"]
    if job == "anonymize":
        return ["anonymize", file, *schema, *out, *(["--mask", mask] if mask else [])]
    if job in COARSENERS:
        return ["coarsen", file, *schema, *out, "--method", job]
    if job == "synthesize":
        return ["synthesize", file, *schema, *out, "--rows", str(n), "--no-account"]
    if job == "risk":
        return ["risk", file, *schema]
    if job == "compare":
        return ["compare", file, *schema, *out]
    return ["verify", str(folder / "mondrian")]


def environment(folder):
    """What a command runs in: compiled modules are kept, as on a machine where it ran before."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**env, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "NUMBA_CACHE_DIR": str(folder / "kernels")}


def program(words):
    """A command of Shoal's, or a script beside this one."""
    return [sys.executable, *words] if words[0].endswith(".py") else [sys.executable, "-m", "shoal", *words]


def run(words, env, limit):
    """Run one command; None where it failed or ran past the limit."""
    process = subprocess.Popen(program(words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    try:
        _, said = process.communicate(timeout=limit) if limit else process.communicate()
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    if process.returncode not in (0, ON_WORD):
        print(said.decode()[-500:])
        return None
    return said


def measured(words, env, limit):
    """CPU seconds and peak memory in MiB: run in a process of its own, whose children are this command alone."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        import resource

        done = run(words, env, limit) is not None
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(write, f"{int(done)} {used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        done, cpu, peak = pipe.read().split()
    return (float(cpu), float(peak)) if done == "1" else None


def report(job, n, found, before):
    if found is None:
        print(f"{job:<12}{n:>10,}  failed, or ran past the limit", flush=True)
        return
    cpu, peak = found
    growth = f"{math.log(cpu / before[1]) / math.log(n / before[0]):8.2f}" if before else " " * 8
    print(f"{job:<12}{n:>10,}{cpu:>10.1f}{peak:>10,.0f}{growth}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--mask", help="mask of anonymize; the default one if left out")
    parser.add_argument("--limit", type=float, help="wall-clock seconds after which a job is given up")
    parser.add_argument("--discharges", action="store_true")
    parser.add_argument("--peers", action="store_true", help="MDAV in NumPy and linkage in scikit-learn, up to 20,000")
    parser.add_argument("--cold", action="store_true", help="nothing is compiled before a job that is measured")
    options = parser.parse_args()
    if "verify" in options.jobs and "mondrian" not in options.jobs:
        options.jobs.insert(0, "mondrian")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        env = environment(folder)
        small = write_claims(folder, 500)
        for job in () if options.cold else options.jobs:
            run(command(job, small, options.mask, 500), env, options.limit)
        print(f"{'job':<12}{'rows':>10}{'CPU s':>10}{'MiB':>10}{'growth':>8}")
        last = {}
        for n in options.sizes:
            place = write_claims(folder, n)
            for job in options.jobs:
                if options.cold:
                    shutil.rmtree(folder / "kernels", ignore_errors=True)
                found = measured(command(job, place, options.mask, n), env, options.limit)
                report(job, n, found, last.get(job))
                last[job] = None if found is None else (n, found[0])
            if options.peers and n <= LARGEST_PEER:
                found = measured([PEER, str(place / "table.csv")], env, options.limit)
                report("peer", n, found, last.get("peer"))
                last["peer"] = None if found is None else (n, found[0])
        if options.discharges:
            place = write_discharges(folder)
            for job in options.jobs:
                found = measured(command(job, place, options.mask, 1000), env, options.limit)
                report(f"{job}*", 1000, found, None)
            print("* discharges of 34 columns")


if __name__ == "__main__":
    main()
