"""Notebooks of the documentation: plain Python with ``# %%`` between cells, executed while the site is built.

Each becomes a page with its results, and a file for Jupyter beside it. Nothing of a notebook is written by hand but the
source, so that what it shows is what the code does now.
"""

from __future__ import annotations

import ast
import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"


def sources() -> list[Path]:
    """The notebooks, by name."""
    return sorted(FOLDER.glob("*.py"))


def executed(source: Path) -> dict[str, Any]:
    """The notebook in Jupyter's format, with the results of its cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [_cell(kind, text, names) for kind, text in _cells(source.read_text(encoding="utf-8"))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}


def page(name: str, notebook: dict[str, Any]) -> str:
    """The notebook as a page: text, code and results."""
    link = f"[Open in Jupyter]({name}.ipynb)"
    parts = [part for cell in notebook["cells"] for part in _parts(cell)]
    return "\n\n".join([parts[0], link, *parts[1:]]) + "\n"


def title(source: Path) -> str:
    """The first heading."""
    found = re.search(r"^# # (.+)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else source.stem


def _cells(text: str) -> list[tuple[str, str]]:
    """Each cell's kind and text; the marks of comments are taken from prose."""
    found = re.split(r"^# %%(.*)$", text, flags=re.MULTILINE)[1:]
    pairs = zip(found[::2], found[1::2], strict=True)
    return [("markdown", _prose(body)) if "markdown" in kind else ("code", body.strip()) for kind, body in pairs]


def _prose(body: str) -> str:
    return re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE)


def _cell(kind: str, text: str, names: dict[str, Any]) -> dict[str, Any]:
    if kind == "markdown":
        return {"cell_type": kind, "metadata": {}, "source": text}
    return {"cell_type": kind, "execution_count": None, "metadata": {}, "outputs": _run(text, names), "source": text}


def _run(text: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute a cell: what it prints, and what its last line gives."""
    tree, printed, value = ast.parse(text), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(tree, "notebook", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    said = [{"name": "stdout", "output_type": "stream", "text": printed.getvalue()}] if printed.getvalue() else []
    return said if value is None else [*said, {"data": _shown(value), "metadata": {}, "output_type": "display_data"}]


def _shown(value: Any) -> dict[str, str]:
    if type(value).__module__.startswith("altair"):
        import vl_convert

        return {"image/svg+xml": vl_convert.vegalite_to_svg(json.dumps(value.to_dict())), "text/plain": "chart"}
    if isinstance(value, str) and value.startswith("<svg"):
        return {"image/svg+xml": value, "text/plain": "picture"}
    plain = {"text/plain": repr(value)}
    return {"text/html": value._repr_html_(), **plain} if hasattr(value, "_repr_html_") else plain


def _parts(cell: dict[str, Any]) -> list[str]:
    if cell["cell_type"] == "markdown":
        return [cell["source"]]
    return [f"```python\n{cell['source']}\n```", *map(_output, cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{output['text'].rstrip()}\n```"
    data = output["data"]
    rich = data.get("text/html") or data.get("image/svg+xml")
    if rich is None:
        return f"```text\n{data['text/plain']}\n```"
    return f'<div class="result">{" ".join(rich.split())}</div>'
