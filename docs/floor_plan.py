"""Write the floor plan of CONTRIBUTING.md from the layers contract in pyproject.toml and the modules' docstrings.

`make docs` runs it; a test fails when the plan is stale.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- floor plan: begin -->", "<!-- floor plan: end -->"


def plan() -> str:
    """A row for each room, the top floor first, with what it is in the words of its own docstring."""
    found = layers()
    rows = [f"| {len(found) - i} | `{room}` | {_summary(room)} |" for i, rooms in enumerate(found) for room in rooms]
    return "\n".join(["| floor | room | what it is |", "| ---: | --- | --- |", *rows])


def layers() -> list[list[str]]:
    """The modules of each layer, the top first."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = contract["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[part.strip(" ()").removeprefix("shoal.") for part in re.split(r"[|:]", layer)] for layer in found]


def page(text: str) -> str:
    """The page with the plan of today between its marks."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{plan()}\n{END}{rest.split(END)[1]}"


def _summary(name: str) -> str:
    place = ROOT / "src" / "shoal" / name.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = re.split(r"\n\n|(?<=[a-z`)])\. ", text, maxsplit=1)[0]
    return " ".join(first.split()).rstrip(".:").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
