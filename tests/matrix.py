"""Try the built wheel as a stranger would: in clean environments, on several Pythons, newest and oldest packages.

``make test-matrix`` runs it. Each environment is made by uv from the wheel (never from this folder), does a release on
the command line, and is measured. A Python that neither this machine nor uv has is Debian's: the packages of its next
release are unpacked for the run, not installed. One that can't be had at all is said to be missing, and is no failure.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
DEBIAN = "forky"  # the release whose Python is unpacked; a mirror that stands still is as good as a fresh one
MOST_MEGABYTES = 600  # of the core with everything it brings, as uv installs it: bytecode comes with the first run
MAKE = "import shoal; shoal.datasets.health_survey(500, seed=1).write_csv('people.csv'); "
MAKE += "shoal.datasets.health_survey_schema().write('schema.toml'); "
MAKE += "shoal.datasets.pima_like(500, seed=1).write_csv('patients.csv'); "
MAKE += "shoal.datasets.pima_like_schema().write('patients.toml')"
CORE = (
    "anonymize people.csv -s schema.toml -o release --k 5",
    "coarsen people.csv -s schema.toml -o coarse --method mondrian --k 5 --no-register",
    "verify release --original people.csv",
    "risk people.csv -s schema.toml",
)
ALL = (
    *CORE,
    "sign --new-key publisher.key --no-password",
    "sign release --key publisher.key",
    "verify release --original people.csv --signer publisher.pub",
    "score fit patients.csv -s patients.toml --target diabetes -o model.json --epsilon 1",
    "market --members release/release.csv --new people.csv -s schema.toml -o market.html --bootstrap 10",
)


def main():
    """Try every cell of the matrix; the exit code says whether one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--uv", default="uv")
    parser.add_argument("--python", nargs="*", default=PYTHONS)
    parser.add_argument("--part", choices=("core", "all", "lowest"), nargs="*", default=("core", "all", "lowest"))
    given = parser.parse_args()
    cells = [(python, part) for python in given.python for part in given.part if part != "lowest" or python == "3.11"]
    failed = False
    with tempfile.TemporaryDirectory() as unpacked:
        for python, part in cells:
            result = tried(given, python, part, Path(unpacked))
            failed |= result.startswith("FAILED")
            print(f"{python:5} {part:7} {result}", flush=True)
    return int(failed)


def tried(given, python, part, unpacked):
    """What became of one environment, in a line."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        names = named(python, unpacked)
        if all(run([given.uv, "venv", "-q", "--python", name, "env"], place).returncode for name in names):
            return "missing: no such Python can be had here"
        made = run(install(given, part, place), place)
        if made.returncode:
            return f"FAILED to install: {last(made)}"
        return used(place, ALL if part == "all" else CORE, part)


def named(python, unpacked):
    """What the Python may be called: its version, for uv to find or fetch; those that pyenv has; Debian's."""
    yield python
    yield from map(str, sorted(Path.home().glob(f".pyenv/versions/{python}.*/bin/python")))
    yield from from_debian(python, unpacked)


def from_debian(python, unpacked):
    """The Python of Debian's next release, with the C library it was built on, in a folder of its own."""
    tree = unpacked / python
    found = tree / f"usr/bin/python{python}"
    if not tree.exists() and shutil.which("mmdebstrap") and shutil.which("patchelf"):
        packages = f"--include=python{python},python{python}-venv,libgomp1,libstdc++6"
        still = '--aptopt=Acquire::Check-Valid-Until "false"'
        made = run(["mmdebstrap", "--variant=extract", "--quiet", still, packages, DEBIAN, tree], unpacked)
        if made.returncode == 0:
            library = next(tree.glob("usr/lib/*-linux-gnu*"))
            loader = next(library.glob("ld-linux-*"))
            run(["patchelf", "--set-interpreter", loader, "--force-rpath", "--set-rpath", library, found], unpacked)
    return [str(found)] if found.exists() else []


def install(given, part, place):
    """The command that installs the wheel with a part of its extras."""
    target = str(given.wheel.resolve()) + ("[all]" if part == "all" else "")
    lowest = ["--resolution", "lowest-direct", *required(given.wheel)] if part == "lowest" else []
    return [given.uv, "pip", "install", "-q", "--link-mode", "copy", "--python", f"{place}/env", *lowest, target]


def required(wheel):
    """What the wheel itself requires: named directly, since uv takes only such at their lowest."""
    with zipfile.ZipFile(wheel) as opened:
        name = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        lines = opened.read(name).decode().splitlines()
    given = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ")]
    return [requirement for requirement in given if ";" not in requirement]


def used(place, commands, part):
    """Size of the environment, then the commands one by one."""
    size = sum(path.lstat().st_size for path in (place / "env").rglob("*") if path.is_file()) // 10**6
    if part == "core" and size > MOST_MEGABYTES:
        return f"FAILED: {size} MB"
    first = run([place / "env/bin/python", "-c", MAKE], place)
    if first.returncode:
        return f"FAILED to begin: {last(first)}"
    for command in commands:
        done = run([place / "env/bin/shoal", *command.split()], place)
        if done.returncode:
            return f"FAILED shoal {command}: {last(done)}"
    return f"ok, {size} MB"


def run(command, place):
    """One command in a folder of its own, with no home but that."""
    own = {"XDG_DATA_HOME": str(place / "data"), "NUMBA_CACHE_DIR": str(place / "cache")}
    keep = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL")}
    return subprocess.run(command, cwd=place, env=keep | own, capture_output=True, text=True)


def last(done):
    """The last line that a command said."""
    return ((done.stderr or done.stdout).strip().splitlines() or ["nothing was said"])[-1]


if __name__ == "__main__":
    sys.exit(main())
