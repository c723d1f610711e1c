"""For the API pages: a parameter's type without its checks, which the pages say in words (`shoal.params`)."""

from __future__ import annotations

from typing import Any

import griffe


class PlainTypes(griffe.Extension):
    """Show ``Annotated[int, Range(...)]`` as ``int``."""

    def on_attribute(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Of an attribute, which may be the field of a dataclass."""
        attr.annotation = _plain(attr.annotation)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Of every parameter."""
        for parameter in func.parameters:
            parameter.annotation = _plain(parameter.annotation)


def _plain(annotation: Any) -> Any:
    if not isinstance(annotation, griffe.ExprSubscript) or str(annotation.left) != "Annotated":
        return annotation
    inside = annotation.slice
    return inside.elements[0] if isinstance(inside, griffe.ExprTuple) else inside
