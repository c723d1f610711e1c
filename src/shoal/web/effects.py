"""What turning a parameter up or down does, in a sentence, beside what it is (`shoal.params.Help`)."""

from __future__ import annotations

__all__ = ["effect_of"]

_EVERYWHERE = {
    "k": "Larger: people hide among more others, and less detail is left.",
    "minimum": "Larger: people hide among more others, and less detail is left.",
    "size": "Larger: more people share a mean, and less detail is left.",
    "diversity": "Larger: more different sensitive values in each, and less detail is left.",
    "closeness": "Smaller: each is more like the whole table, and less detail is left.",
    "t": "Smaller: each group is more like the whole table, and members are less alike.",
    "risk": "Smaller: fewer people are found, and less detail is left.",
    "epsilon": "Smaller: a stronger promise, and more noise.",
    "suppression": "Larger: more may be left out, and the rest keeps more detail.",
    "records": "Larger: more records may be left out, and the rest keeps more cells.",
    "importance": "Larger: this column keeps more, at the cost of others.",
    "limits": "Lower: the column keeps more detail, and more records may be suppressed.",
    "seconds": "Longer: a better solution may be found.",
    "subsets": "Larger: more combinations are counted, which takes longer.",
    "radius": "Larger: larger groups, and values that move further.",
    "response_weight": "Larger: members are more alike in these numbers: regressions keep more, groups tell more.",
    "mixing": "Larger: sensitive values are more mixed, and members less near.",
    "solver": "Exchanges take longer and make tighter groups.",
    "percent": "Larger: values move further; fewer people are found, and columns hang together less.",
    "ratio": "Larger: more noise; fewer people are found, and columns hang together less.",
    "rate": "Larger: more households move; fewer people are found, and areas tell less.",
    "change": "Larger: more values differ from the original.",
    "m": "Larger: it holds against who knows more, and less detail is left.",
    "weeks": "Larger: a date tells less about a person.",
    "rows_per_person": "Larger: more rows of a person count, and more noise is needed.",
    "bins": "More: finer numbers, with fewer people in each bin.",
    "fit_rows": "More: better models, and a longer run.",
}
_OF_METHOD = {
    ("gaussian-dither", "alpha"): "Larger: values move further within their group.",
    ("crest", "alpha"): "Larger: members are nearer, and their classes less mixed.",
    ("pram", "keep"): "Larger: fewer values change, so more detail and more risk.",
    ("shift-dates", "days"): "Larger: a date tells less about a person.",
    ("record-swap", "k"): "Larger: more households are at risk and move.",
}


def effect_of(method: str, parameter: str) -> str:
    """What a larger or smaller value of a method's parameter does; empty where its help already says it.

    Examples
    --------
    >>> from shoal.web.effects import effect_of
    >>> effect_of("mdav", "k")
    'Larger: people hide among more others, and less detail is left.'
    """
    return _OF_METHOD.get((method, parameter), _EVERYWHERE.get(parameter, ""))
