"""Mutation testing by sample: change one operator, constant or condition of a module, and see whether its tests notice.

    python tests/mutants.py [--each 6] [--seed 0] [--minutes 20] [--room claim]

Mutants are drawn at random; for each, the tests of its room run in a fresh process on a copy of the package, so that
nothing here is changed. Survivors are printed with their line; the last line is the share that was caught.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = {
    "claim": {"claim.py": ["test_claim.py"]},
    "disclose": {"release/disclose.py": ["release/test_disclose.py"]},
    "dp": {
        "dp/auditing.py": ["dp/test_auditing.py"],
        "dp/budget.py": ["dp/test_budget.py"],
        "dp/journal.py": ["dp/test_journal.py"],
        "dp/lazy.py": ["dp/test_lazy.py"],
        "dp/noise.py": ["dp/test_noise.py"],
        "dp/unit.py": ["dp/test_unit.py"],
        "dp/zcdp.py": ["dp/test_zcdp.py"],
    },
    "ledger": {
        "ledger/account.py": ["ledger/test_account.py"],
        "ledger/account_rows.py": ["ledger/test_limits.py", "ledger/test_account.py", "ledger/test_one_book.py"],
        "ledger/amount.py": ["ledger/test_amount.py"],
        "ledger/archive.py": ["ledger/test_archive.py"],
        "ledger/chain.py": ["ledger/test_chain.py", "ledger/test_tampering.py"],
        "ledger/checkpoint.py": ["ledger/test_checkpoint.py"],
        "ledger/keys.py": ["ledger/test_keys.py"],
        "ledger/migration.py": ["ledger/test_migration.py"],
        "ledger/statements.py": ["ledger/test_statements.py"],
        "ledger/verification.py": ["ledger/test_tampering.py", "ledger/test_archive.py"],
    },
}
"""What is changed, and the tests that should notice: those of the file itself, so that a mutant costs seconds."""
SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def main():
    """Try a sample of mutants of each room."""
    given = _arguments()
    rng, ends = random.Random(given.seed), time.monotonic() + 60 * given.minutes
    rooms = {name: ROOMS[name] for name in given.room or ROOMS}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "shoal"
        shutil.copytree(ROOT / "src/shoal", copy, ignore=shutil.ignore_patterns("__pycache__"))
        found = [(name, *one) for name, files in rooms.items() for one in _tried(copy, files, given.each, rng, ends)]
    for name in rooms:
        mine = [caught for room, _, caught in found if room == name]
        print(f"{name}: {sum(mine)} of {len(mine)} caught")
    print(f"all: {sum(caught for *_, caught in found)} of {len(found)} caught")


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=6, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=20, help="begin no mutant after so long")
    parser.add_argument("--room", action="append", choices=ROOMS)
    return parser.parse_args()


def _tried(copy, files, each, rng, ends):
    """The mutants of a room: where each was, and whether it was caught."""
    sites = [(file, i) for file in files for i in range(len(list(_sites(ast.parse((copy / file).read_text())))))]
    chosen = sorted(rng.sample(sites, min(each, len(sites))))
    for file in sorted({file for file, _ in chosen}):
        if _fails(copy.parent, files[file]):
            raise SystemExit(f"{', '.join(files[file])}: must pass before anything is changed")
    for file, i in chosen:
        if time.monotonic() > ends:
            return
        path = copy / file
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        line = _change(list(_sites(tree))[i])
        path.write_text(ast.unparse(tree), encoding="utf-8")
        caught = _fails(copy.parent, files[file])
        path.write_text(text, encoding="utf-8")
        if not caught:
            print(f"survived: {file}:{line}: {text.splitlines()[line - 1].strip()}", flush=True)
        yield f"{file}:{line}", caught


def _sites(tree):
    """What can be changed: operators, comparisons, conditions, numbers and truth values; not how a record is built
    (`@dataclass(slots=True)`), which changes nothing that a caller sees.
    """
    shapes = {id(part) for node in ast.walk(tree) for deco in _decorators(node) for part in ast.walk(deco)}
    for node in ast.walk(tree):
        if id(node) not in shapes and (
            (isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS and not _is_type(node))
            or (isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPS)
            or (isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float))
            or isinstance(node, ast.If | ast.IfExp)
        ):
            yield node


def _decorators(node):
    return node.decorator_list if isinstance(node, ast.ClassDef) else []


def _is_type(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)


def _change(node):
    """Change one place; the line it is on."""
    if isinstance(node, ast.BinOp | ast.BoolOp):
        node.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.Compare):
        node.ops = [SWAPS[type(node.ops[0])]()]
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    ast.fix_missing_locations(node)
    return node.lineno


def _fails(folder, tests):
    """Whether the tests notice; one that never ends is noticed too."""
    env = os.environ | {"PYTHONPATH": str(folder), "HYPOTHESIS_PROFILE": "shoal", "PYTHONDONTWRITEBYTECODE": ""}
    env["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")  # what did not change is compiled once
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "--timeout=120", *(f"tests/{name}" for name in tests)]
    try:
        return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=300).returncode != 0
    except subprocess.TimeoutExpired:
        return True


if __name__ == "__main__":
    main()
