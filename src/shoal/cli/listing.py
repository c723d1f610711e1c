"""Commands whose help lists the methods that there are, those of other packages too, when help is asked for."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

__all__ = ["ListsMethods", "method_lists"]


class ListsMethods(TyperCommand):
    """A command in whose options ``{group}``, ``{mask}``, ``{coarsen}`` and ``{synthesize}`` stand for method names."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the names in, then the help."""
        self.list_methods()
        super().format_help(ctx, formatter)

    def list_methods(self) -> None:
        """Put the names of the methods in place of their families."""
        names = method_lists()
        for parameter in self.params:
            text = getattr(parameter, "help", None) or ""
            for family, listed in names.items():
                text = text.replace(f"{{{family}}}", listed)
            parameter.help = text  # type: ignore[attr-defined]


def method_lists() -> dict[str, str]:
    """The names of the methods of each family; of coarseners those that see to k, as others are presets or recodes."""
    from shoal.method import FAMILIES, methods
    from shoal.params import parameters

    named = {family: list(methods(family)) for family in FAMILIES}
    named["coarsen"] = [cls for cls in named["coarsen"] if "k" in {p.name for p in parameters(cls) if p.range}]
    return {family: ", ".join(cls.name for cls in classes) for family, classes in named.items()}
