"""What every study has: settings, a run, what it found in sentences, and its figures.

A study repeats a paper's experiment, says where it does not reproduce, and is written as one page beside its numbers
(`shoal.study.page`). `shoal study NAME` is built from the annotations of its settings and of what `run` reads::

    n: Annotated[int, Range(low=200), Help("Number of records in the simulated table."), Flag("--rows")] = 3000

A new study is a module that names its `Study` and a line in `STUDIES`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, get_type_hints

from shoal.params import Parameter, declared, parameters
from shoal.report.markup import Html

__all__ = ["BADGE", "STUDIES", "Flag", "Progress", "Study", "find", "quiet"]

R = TypeVar("R")
Progress: TypeAlias = Callable[[int, int], None]
"""Called with the steps done and all steps."""


class Entry(NamedTuple):
    """Where a study is, and what it does in a line."""

    module: str
    summary: str


BADGE = "A study: measured, not promised"
STUDIES = {
    "market-risk": Entry(
        "market_page",
        "Market risk under covariate shift on anonymised members: bias, R² and histograms by mask, k, "
        "shift and region.",
    ),
    "camp-crest": Entry(
        "camp_crest_page",
        "Class restricted groups and micro-perturbation: every grouping with every masking at equal linkage.",
    ),
    "dpat": Entry(
        "dpat_page",
        "Private trees: C4.5 against 0-DiffStructure, AUROC against ε, and how private the published structure is.",
    ),
    "ludia": Entry(
        "ludia_page",
        "Individual values from aggregates: LUDIA and CUDIA beside group means, ecological regression and ridge.",
    ),
    "pegs": Entry(
        "pegs_page",
        "Synthesis by PeGS: risk and utility by row as published, and at equal ε for the whole data set.",
    ),
    "transfer": Entry(
        "transfer_page",
        "Learning one task from the rows of another: alone, pooled, or by transfer weights.",
    ),
    "disclosure": Entry(
        "disclosure_page",
        "Traditional disclosure limitation step by step: filtering, coding, suppression, swapping, noise, imputation.",
    ),
    "quantize": Entry(
        "quantize_page",
        "Outliers found, pushed back and stirred: recall, distortion, cluster shape and linkage after each step.",
    ),
}
"""The studies by their word on the command line; their modules are loaded by `find`."""


@dataclass(frozen=True, slots=True)
class Flag:
    """The flags of a setting on the command line, where they are not its name; `commas`: many values in one word."""

    names: tuple[str, ...]
    commas: bool = False

    def __init__(self, *names: str, commas: bool = False) -> None:
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "commas", commas)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study(Generic[R]):
    """One study. What `run` returns goes to all the others.

    Parameters
    ----------
    title, examples
        Its heading, and calls to copy.
    counted
        What the progress bar counts.
    settings, run
        A frozen dataclass of numbers, and the function that takes it with the tables to use in place of simulated ones.
    heading
        The line below the title: data, size, seed.
    findings
        Sentences computed from the numbers, nothing claimed beyond them.
    figures
        Sections by heading: pictures and tables.
    measured
        How it was measured, in sentences.
    exports
        What is written beside the page: by file name, rows for CSV or words for JSON.
    """

    title: str
    examples: tuple[str, ...]
    counted: str
    settings: type
    run: Callable[..., R]
    heading: Callable[[R], str]
    findings: Callable[[R], Sequence[str]]
    figures: Callable[[R], Mapping[str, Html]]
    measured: Callable[[R], Sequence[str]]
    exports: Mapping[str, Callable[[R], Any]] = field(default_factory=dict)
    badge: str = BADGE

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that it writes."""
        return ("report.html", *self.exports)

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """What `run` reads beside the settings: those of its parameters that have a help text."""
        hints = get_type_hints(self.run, include_extras=True)
        found = inspect.signature(self.run).parameters.values()
        return tuple(p for p in (declared(f.name, hints.get(f.name, Any), f.default) for f in found) if p.help)

    @property
    def numbers(self) -> tuple[Parameter, ...]:
        """The settings."""
        return parameters(self.settings)


def find(name: str) -> Study[Any]:
    """The study of that name; its module is loaded now."""
    study: Study[Any] = import_module(f"shoal.study.{STUDIES[name].module}").STUDY
    return study


def quiet(done: int, total: int) -> None:
    """Say nothing of the progress."""
