"""Methods: each says once what it is called, does and promises, and everybody reads it here.

A method is a class that derives from `Method` (through `Grouper`, `BlindMask`, `AwareMask`, `Coarsener`,
`Synthesizer` or `EventMethod`) and has a `title`. Defining it registers it; nothing else has to name it. Recipes, the
command line, the workbench, the report, the docs and the contract suite all list what is registered.

Shoal's own methods are found by looking for such classes in the source of the rooms that hold methods, and only the
modules that have one are loaded, when a family is first listed. Other packages add methods by an entry point::

    [project.entry-points."shoal.methods"]
    my-grouper = "my_package.my_grouper:MyGrouper"
"""

from __future__ import annotations

import re
import warnings
from abc import ABC
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from shoal.errors import ParameterError

__all__ = [
    "ENTRY_POINTS",
    "FAMILIES",
    "Estimator",
    "Family",
    "Method",
    "ReportText",
    "exports",
    "find",
    "home",
    "methods",
]

Family = Literal["group", "mask", "coarsen", "synthesize", "events"]
FAMILIES: tuple[Family, ...] = ("group", "mask", "coarsen", "synthesize", "events")
ENTRY_POINTS = "shoal.methods"
E = TypeVar("E", bound="Estimator")


class Estimator:
    """scikit-learn's conventions without loading it: parameters by name, and a copy with the same parameters.

    scikit-learn asks an estimator for methods, not for its ancestors; `sklearn.base.clone` works too.

    Examples
    --------
    >>> import shoal
    >>> grouper = shoal.KMember(k=5)
    >>> grouper.clone().set_params(k=7).get_params()
    {'k': 7, 'response_weight': 1.0, 'solver': 'greedy'}
    >>> grouper.k
    5
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; none of them has parameters of its own, so `deep` changes nothing."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self: E, **params: Any) -> E:
        """Set parameters by name. A recipe keeps a copy of its methods, so it is not touched."""
        for name, value in params.items():
            if name not in self._get_param_names():
                hint = f"Its parameters are: {', '.join(self._get_param_names())}."
                raise ParameterError(type(self).__name__, f"has no parameter '{name}'", hint=hint)
            object.__setattr__(self, name, value)  # a method is frozen, so that nothing else can
        return self

    def clone(self: E) -> E:
        """Another one with the same parameters, not fitted."""
        return type(self)(**self.get_params())


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportText:
    """What the report says of a method, whatever the data; what is empty is described by the method's name.

    Parameters
    ----------
    done
        What was done to the table, one sentence; ``{k}`` stands for k.
    writes
        What became of a column, as in "replaced: the average of the person's group".
    keeps
        What a column keeps, one sentence.
    """

    done: str = ""
    writes: str = ""
    keeps: str = ""


class Method(Estimator, ABC):
    """One way to protect a table: a frozen dataclass whose fields are its parameters (`shoal.params`).

    What a method says of itself stands on its class.
    """

    family: ClassVar[Family]
    """Where it stands in a recipe."""
    name: ClassVar[str]
    """Its name in recipes and on the command line; unless given, the class's in small letters with hyphens."""
    title: ClassVar[str] = ""
    """What it is called where a person chooses. A class without a title of its own is no method that can be chosen."""
    summary: ClassVar[str] = ""
    """What it does, in one line."""
    promise: ClassVar[str] = ""
    """What it promises, in one line; empty where nothing is promised."""
    report_text: ClassVar[ReportText] = ReportText()
    """What the report says of it."""
    coarsens: ClassVar[bool] = False
    maps_distances: ClassVar[bool] = False
    """Whether it compares people by mapped distances of their columns (`shoal.distance.space`)."""
    """Whether it writes wider values, so that equal rows form classes and a column may be left as it is."""
    needs_all_columns: ClassVar[bool] = False
    """Whether it looks at all columns that leave, not at the quasi-identifiers alone."""
    rank: ClassVar[int] = 100
    """Its place among the methods of its family: the usual choice first."""
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Recipes with it, in the words of a recipe file, that a comparison tries where none are named."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()
        if "title" in vars(cls):
            _register(cls)

    @classmethod
    def report_text_with(cls, parameters: Mapping[str, Any]) -> ReportText:
        """What the report says of it with these parameters."""
        return cls.report_text


_REGISTRY: dict[tuple[str, str], type[Method]] = {}


def _register(cls: type[Method]) -> None:
    """Take a method in. A dataclass with slots is made twice: the second takes the place of the first."""
    there = _REGISTRY.get((cls.family, cls.name))
    if there is not None and (there.__module__, there.__qualname__) != (cls.__module__, cls.__qualname__):
        where = f"{there.__module__}.{there.__qualname__}"
        raise ParameterError(cls.__name__, f"must have a unique name: '{cls.name}' is taken", got=where)
    _REGISTRY[cls.family, cls.name] = cls


def methods(family: Family) -> tuple[type[Any], ...]:
    """The methods of a family, the usual one first; those of other packages last.

    Examples
    --------
    >>> from shoal.method import methods
    >>> [method.name for method in methods("group")][:3]
    ['k-member', 'mdav', 'mst']
    """
    for module in _modules(family):
        import_module(module)
    _load_entry_points()
    found = [cls for (of, _), cls in _REGISTRY.items() if of == family]
    return tuple(sorted(found, key=lambda cls: (cls.rank, cls.name)))


def find(family: Family, name: str) -> type[Any] | None:
    """The method of this name, however it is hyphenated; None if there is none. Loads no other method."""
    letters = _letters(name)
    for cls in _REGISTRY.values():
        if cls.family == family and _letters(cls.name) == letters:
            return cls
    near = {module for title, module in _homes().items() if title.lower() == letters and module in _modules(family)}
    for module in near:
        import_module(module)
    choices = [cls for cls in _REGISTRY.values() if cls.family == family] if near else methods(family)
    return next((cls for cls in choices if _letters(cls.name) == letters), None)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


# Where the methods live

_ROOMS: dict[Family, tuple[str, ...]] = {
    "group": ("group",),
    "mask": ("mask",),
    "coarsen": ("coarsening", "compliance"),
    "synthesize": ("synth",),
    "events": ("linked",),
}
_TITLED = re.compile(r"^class (\w+)\(.*\):\n(?: .*\n|\n)*?    title = ", re.MULTILINE)


def exports() -> tuple[str, ...]:
    """The class names of Shoal's own methods: `shoal` exports them all."""
    return tuple(_homes())


def home(name: str) -> str | None:
    """The module of the method class of this name; None if Shoal has no such method of its own."""
    return _homes().get(name)


@cache
def _homes() -> dict[str, str]:
    """The module of each of Shoal's own methods, told from the source, as loading it all would take a second."""
    return {name: module for rooms in _ROOMS.values() for room in rooms for name, module in _titled(room)}


def _titled(room: str) -> Iterator[tuple[str, str]]:
    for path in sorted((Path(__file__).parent / room).glob("*.py")):
        for name in _TITLED.findall(path.read_text(encoding="utf-8")):
            yield name, f"shoal.{room}.{path.stem}"


def _modules(family: Family) -> list[str]:
    inside = tuple(f"shoal.{room}." for room in _ROOMS[family])
    return list(dict.fromkeys(module for module in _homes().values() if module.startswith(inside)))


@cache
def _load_entry_points() -> None:
    """Load the methods of other packages, once; one that can't be loaded is left out with a warning."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # whatever another package does on loading
            message = f"shoal.methods: '{entry.name}' ({entry.value}) can't be loaded: {type(error).__name__}"
            warnings.warn(message, stacklevel=2)
