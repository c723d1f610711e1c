"""What the documentation's site has beside the written pages: its navigation, and a page for each public module.

MkDocs calls the functions named ``on_…`` while it builds (`mkdocs.yml`). The rest is plain text, and tested without it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import shoal

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
import notebooks  # noqa: E402  (beside this file, which MkDocs loads by its path)

SECTIONS = {
    "Tutorials": "tutorials",
    "Notebooks": "notebooks",
    "How to": "how-to",
    "Methods": "methods",
    "Explanation": "explanation",
    "Coming from": "coming-from",
    "Reference": "reference",
    "Decisions": "decisions",
}
FIRST = ("README", "first-release", "linked-release", "glossary")
"""Pages that come before the others of their section, which follow in the order of their titles."""
API = "reference/api"


def on_config(config: Any) -> Any:
    """Give the site its navigation: the folders, then the pages by their titles."""
    config["nav"] = [{"Home": "index.md"}, *({title: _section(folder)} for title, folder in SECTIONS.items())]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the API and the notebooks, which are made from the code and lie in no folder."""
    from mkdocs.structure.files import File

    for path, text in {**api_pages(), **notebook_files()}.items():
        files.append(File.generated(config, path, content=text))
    return files


def notebook_pages() -> dict[str, str]:
    """The title of each notebook's page."""
    return {f"notebooks/{source.stem}.md": notebooks.title(source) for source in notebooks.sources()}


def notebook_files() -> dict[str, str]:
    """The notebooks, executed: a page and a file for Jupyter each."""
    made = {}
    for source in notebooks.sources():
        found = notebooks.executed(source)
        made[f"notebooks/{source.stem}.md"] = notebooks.page(source.stem, found)
        made[f"notebooks/{source.stem}.ipynb"] = json.dumps(found, indent=1, ensure_ascii=False)
    return made


def _section(folder: str) -> list[Any]:
    pages = sorted((DOCS / folder).glob("*.md"), key=_place)
    made: list[Any] = [{_title(page): f"{folder}/{page.name}"} for page in pages]
    if folder == "notebooks":
        made += [{title: path} for path, title in notebook_pages().items()]
    if folder == "reference":
        made.append({"Python API": [{Path(path).stem: path} for path in api_pages()]})
    return made


def _place(page: Path) -> tuple[int, str]:
    return FIRST.index(page.stem) if page.stem in FIRST else len(FIRST), _title(page).lower()


def _title(page: Path) -> str:
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise LookupError(f"{page.name} has no title")
    return found[1].replace("`", "").removeprefix("How to ").partition(":")[0].strip()


def api_pages() -> dict[str, str]:
    """The page of every public module, by its place in the site; each public name is on exactly one.

    Examples
    --------
    >>> list(api_pages())[0]
    'reference/api/shoal.md'
    """
    rooms = [name for name in shoal.__all__ if inspect.ismodule(getattr(shoal, name))]
    pages = {f"{API}/shoal.{room}.md": _page(f"shoal.{room}") for room in rooms}
    elsewhere = {name: room for room in rooms for name in importlib.import_module(f"shoal.{room}").__all__}
    return {f"{API}/shoal.md": _page("shoal", {**{room: room for room in rooms}, **elsewhere}), **pages}


def _page(path: str, elsewhere: dict[str, str] | None = None) -> str:
    module = importlib.import_module(path)
    names = sorted(module.__all__, key=str.lower)
    shown = elsewhere or {}
    own = [name for name in names if name not in shown]
    also = [f"[`{name}`](shoal.{shown[name]}.md)" for name in names if name in shown]
    about = (inspect.getdoc(module) or "").partition("\n\n")[0]
    head = [f"# {path}", "", about, ""]
    if also:
        head += [f"Documented with the module they belong to: {', '.join(also)}.", ""]
    return "\n".join([*head, *(_entry(path, name, getattr(module, name)) for name in own)])


def _entry(module: str, name: str, value: Any) -> str:
    heading = f"{module}.{name}"
    if not (inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)):
        return f"## {heading}\n\nA constant: `{value!r}`\n"
    where = value.__name__ if inspect.ismodule(value) else f"{value.__module__}.{value.__qualname__}"
    return f"::: {where}\n    options:\n      heading: {heading}\n      toc_label: {name}\n"
