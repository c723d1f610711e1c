"""From a CSV file to a written release through the command line: CPU seconds, peak memory and growth with n.

    python benchmarks/speed/end_to_end.py                                    10,000 and 100,000 rows, all jobs
    python benchmarks/speed/end_to_end.py --sizes 100000 1000000 --jobs anonymize mondrian
    python benchmarks/speed/end_to_end.py --jobs pairs                       other groupers and masks for large tables
    python benchmarks/speed/end_to_end.py --discharges                       1,000 discharges of 34 columns as well
    python benchmarks/speed/end_to_end.py --peers --sizes 10000              what others would run, as ratios as well
    python benchmarks/speed/end_to_end.py --cold --sizes 1000                with nothing compiled beforehand

The table is simulated claims (claims.py): eight quasi-identifiers, one of them a county of 200 levels, with diagnosis
and cost.
Each job is a process of its own; its CPU seconds (user and system, children included) and its largest resident set
are what the operating system counted, start-up and imports included. `growth` is the exponent b of CPU ~ rows^b since
the size before, `goal` the CPU seconds that a job may take. A first run on a small table compiles the kernels and is
not counted. Peers (claims_peers.py, mdav_and_linkage.py) get the same file: `ratio` is their CPU seconds over ours.
Those with pins of their own run in an environment that uv makes for them; one that can't be installed is left out.
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
HERE = Path(__file__).parent
PEERS = {
    "anonymize": ("MDAV in NumPy", ["mdav_and_linkage.py"]),
    "generalize": ("anjana", ["claims_peers.py", "anjana"]),
    "risk": ("pycanon", ["claims_peers.py", "pycanon"]),
    "synthesize": ("MST", ["claims_peers.py", "mst"]),
}
APART = ("anjana", "pycanon")  # their pins conflict with ours
LARGEST_PEER = 20_000  # rows: peers are quadratic
COARSENERS = ("mondrian", "generalize", "suppress")
PAIRS = tuple(f"{group}+{mask}" for group in ("k-member", "mdav") for mask in ("centroid", "resample", "shuffle"))
JOBS = ("anonymize", *COARSENERS, "synthesize", "risk", "verify", "compare")
GOALS = {
    "anonymize": (5, 20, 180),
    **dict.fromkeys(PAIRS, (6, 30, 300)),
    **dict.fromkeys(COARSENERS, (4, 10, 60)),
    "synthesize": (3, 6, 30),
    "compare": (60, 120),
    "risk": (2, 3, 6),
    "verify": (2, 3, 6),
}
REGISTER = "register"  # emptied before each job, which would be a second release of the same people otherwise
WARMING = 3_000  # rows: smaller tables need fewer kernels
SIZES = (10_000, 100_000, 1_000_000)


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


def command(job, folder, n):
    """What is typed for a job; verification looks at what Mondrian wrote."""
    file, schema = str(folder / "table.csv"), ["--schema", str(folder / "schema.toml")]
    out = ["--out", str(folder / job), "--overwrite"]
    if job == "anonymize":
        return ["anonymize", file, *schema, *out]
    if job in PAIRS:
        group, mask = job.split("+")
        return ["anonymize", file, *schema, *out, "--group", group, "--mask", mask]
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
    kept = {"PYTHONPYCACHEPREFIX": "bytecode", "NUMBA_CACHE_DIR": "kernels", "XDG_DATA_HOME": REGISTER}
    return {**env, **{name: str(folder / inner) for name, inner in kept.items()}}


def forget(folder, cold):
    """No kernel is compiled any more where a cold start is measured; modules stay compiled, as pip leaves them."""
    if cold:
        shutil.rmtree(folder / "kernels", ignore_errors=True)


def program(words):
    """A command of Shoal's, or a script beside this one with the Python that runs it."""
    return words if words[0].endswith("python") else [sys.executable, "-m", "shoal", *words]


def peers_python(folder):
    """A Python with the peers whose pins conflict with ours; None where they can't be installed."""
    home = folder / "peers"
    uv = str(Path(sys.executable).with_name("uv"))
    for words in (["venv", str(home)], ["pip", "install", "--python", str(home / "bin/python"), *APART]):
        if subprocess.run([uv, *words], capture_output=True).returncode:
            return None
    return str(home / "bin/python")


def measure_peer(job, n, place, env, limit, apart, ours):
    """What others take for the same job, as a ratio to ours."""
    name, (script, *words) = PEERS[job]
    python = apart if name in APART else str(Path(sys.executable).with_name("python"))
    if python is None:
        print(f"  {name}: can't be installed here", flush=True)
        return
    bare = {key: value for key, value in env.items() if name not in APART or key != "PYTHONPATH"}
    found = measured([python, str(HERE / script), *words, str(place / "table.csv")], bare, limit)
    if found is None:
        print(f"  {name:<16}{n:>10,}  failed, or ran past the limit", flush=True)
    else:
        print(f"  {name:<16}{n:>10,}{found[0]:>10.1f}{found[1]:>10,.0f}   ratio {found[0] / ours:.1f}", flush=True)


def run(words, env, limit):
    """Run one command; None where it failed or ran past the limit."""
    shutil.rmtree(env["XDG_DATA_HOME"], ignore_errors=True)
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
        print(f"{job:<18}{n:>10,}  failed, or ran past the limit", flush=True)
        return
    cpu, peak = found
    growth = f"{math.log(cpu / before[1]) / math.log(n / before[0]):8.2f}" if before else " " * 8
    goal = dict(zip(SIZES, GOALS.get(job, ()), strict=False)).get(n, "")
    print(f"{job:<18}{n:>10,}{cpu:>10.1f}{peak:>10,.0f}{growth}{goal:>7}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--jobs", nargs="+", choices=(*JOBS, "pairs"), default=list(JOBS))
    parser.add_argument("--limit", type=float, help="wall-clock seconds after which a job is given up")
    parser.add_argument("--discharges", action="store_true")
    parser.add_argument("--peers", action="store_true", help="what others would run, up to 20,000 rows")
    parser.add_argument("--cold", action="store_true", help="nothing is compiled before a job that is measured")
    options = parser.parse_args()
    if "pairs" in options.jobs:
        options.jobs = [*(job for job in options.jobs if job != "pairs"), *PAIRS]
    if "verify" in options.jobs and "mondrian" not in options.jobs:
        options.jobs.insert(0, "mondrian")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        env = environment(folder)
        small = write_claims(folder, WARMING)
        for job in () if options.cold else options.jobs:
            run(command(job, small, WARMING), env, options.limit)
        apart = peers_python(folder) if options.peers else None
        print(f"{'job':<18}{'rows':>10}{'CPU s':>10}{'MiB':>10}{'growth':>8}{'goal':>7}")
        last = {}
        for n in options.sizes:
            place = write_claims(folder, n)
            for job in options.jobs:
                forget(folder, options.cold)
                found = measured(command(job, place, n), env, options.limit)
                report(job, n, found, last.get(job))
                last[job] = None if found is None else (n, found[0])
                if options.peers and found and job in PEERS and n <= LARGEST_PEER:
                    measure_peer(job, n, place, env, options.limit, apart, found[0])
        if options.discharges:
            place = write_discharges(folder)
            for job in options.jobs:
                forget(folder, options.cold)
                found = measured(command(job, place, 1000), env, options.limit)
                report(f"{job}*", 1000, found, None)
            print("* discharges of 34 columns")


if __name__ == "__main__":
    main()
