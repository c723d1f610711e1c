"""A study on paper: one page of findings, figures and how they were measured, with the numbers in files beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from shoal.errors import FileError
from shoal.files import write_table, write_text
from shoal.report.drawing import altair, data
from shoal.report.layout import document
from shoal.report.markup import Child, Html, tag
from shoal.study.study import Study

__all__ = ["check_folder", "colours", "multiples", "paragraph", "render", "rule", "write"]

R = TypeVar("R")


def check_folder(study: Study[R], out: Path, overwrite: bool) -> None:
    """Refuse a folder that holds anything but an older study of this kind that may be replaced."""
    if not out.exists():
        return
    if not out.is_dir():
        raise FileError(str(out), "must be a folder", got="a file")
    if any(not overwrite or item.name not in study.files for item in out.iterdir()):
        raise FileError(str(out), "must not exist yet, or be empty", hint="Choose another folder, or use --overwrite.")


def render(study: Study[R], result: R) -> str:
    """The report as one HTML page."""
    parts = {
        "What came out": _listed(study.findings(result)),
        **study.figures(result),
        "How it was measured": _listed(study.measured(result)),
    }
    return document(study.title, study.heading(result), study.badge, parts)


def write(study: Study[R], result: R, out: Path) -> None:
    """Write report.html and the study's exports to the folder `out`; the page is drawn before anything is written."""
    page = render(study, result)
    out.mkdir(parents=True, exist_ok=True)
    for name, export in study.exports.items():
        _export(export(result), out / name)
    write_text(out / "report.html", page)


def paragraph(*texts: str) -> Html:
    """A paragraph of sentences."""
    return tag("p", " ".join(texts))


def multiples(figures: Iterable[Child]) -> Html:
    """Small figures side by side."""
    return tag("div", *figures, class_="multiples")


def colours(palette: Mapping[str, str], shown: Sequence[str] | None = None, columns: int = 7) -> Any:
    """The colour of each line, the same in every picture, with a legend in `columns`."""
    alt = altair()
    names = list(palette if shown is None else shown)
    scale = alt.Scale(domain=names, range=[palette[name] for name in names])
    return alt.Color("line:N", scale=scale, legend=alt.Legend(columns=columns, labelLimit=0))


def rule(value: float) -> Any:
    """A dashed line across at `value`."""
    alt = altair()
    marks = alt.Chart(data(alt, [{"value": value}])).mark_rule(strokeDash=[4, 3], color="#57544c")
    return marks.encode(y=alt.Y("value:Q"))


def _listed(texts: Sequence[str]) -> Html:
    return tag("ul", *(tag("li", text) for text in texts))


def _export(words: Any, path: Path) -> None:
    if path.suffix == ".csv":
        write_table(pl.DataFrame(words, infer_schema_length=None), path)
    else:
        write_text(path, json.dumps(_plain(words), ensure_ascii=False, indent=1))


def _plain(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
