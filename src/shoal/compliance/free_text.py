"""Free text: never released as it stands. It is refused, dropped, or scrubbed by Presidio and then allowed by a person.

A column is free text if its texts are long and mostly differ (`shoal.compliance.scan`). No rule can say what such a
text gives away, so a release that would hold one stops at the gate (`shoal.release.gate`) and names the column. Three
ways lead on: give the column the role identifier, and it is dropped; let Presidio (extra ``text``) replace what it
recognises, count what was replaced, and look; or allow it.

Promised by `scrub`: what Presidio recognised is replaced by its kind, and counted. Not promised: that it recognises
everything. Names need a language model; without one only what has a form is found (numbers, addresses, dates).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import polars as pl

from shoal.errors import ColumnError, ParameterError
from shoal.extras import need
from shoal.frame import adopt, enter, leave, series, with_columns

__all__ = ["Scrubbed", "Span", "replaced", "scrub"]

Span: TypeAlias = tuple[int, int, str, float]
"""Where something was recognised: start, end, what kind, and how surely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """A table with scrubbed texts, and how many of each kind were replaced in each column."""

    table: Any
    counts: Mapping[str, Mapping[str, int]]


def scrub(
    table: Any, columns: Sequence[str], *, model: str | None = None, language: str = "en", least: float = 0.35
) -> Scrubbed:
    """Replace what Presidio recognises in `columns` by its kind, such as ``<PHONE_NUMBER>``.

    Parameters
    ----------
    table
        Any dataframe; the result has the same type.
    columns
        The columns of texts.
    model
        The spaCy model that names are recognised with, such as ``en_core_web_lg``; None finds only what has a form.
    language
        The language of the texts.
    least
        How sure Presidio must be, from 0 to 1. Raising it replaces less.

    Notes
    -----
    Missing texts stay missing. Cost: each different text is read once, some milliseconds each with a model.
    """
    frame = enter(table)
    find = _finder(model, language, least)
    done = {name: _column(_texts(frame, name), find) for name in columns}
    new = {name: adopt(content, frame) for name, (content, _) in done.items()}
    return Scrubbed(
        table=leave(with_columns(frame, new), like=table), counts={name: counts for name, (_, counts) in done.items()}
    )


def _texts(frame: Any, name: str) -> pl.Series:
    if name not in frame.columns:
        raise ColumnError(name, "is not in the table")
    column = series(frame, name)
    if column.dtype not in (pl.String, pl.Null):
        raise ColumnError(name, "must hold texts to be scrubbed", got=f"type {column.dtype.base_type()}")
    return column


def _column(texts: pl.Series, find: Callable[[str], list[Span]]) -> tuple[pl.Series, dict[str, int]]:
    seen = {text: replaced(text, find(text)) for text in texts.drop_nulls().unique()}
    counts: Counter[str] = Counter()
    for text in texts.drop_nulls():
        counts.update(seen[text][1])
    written = [None if text is None else seen[text][0] for text in texts]
    return pl.Series(texts.name, written, dtype=pl.String), dict(sorted(counts.items()))


def _finder(model: str | None, language: str, least: float) -> Callable[[str], list[Span]]:
    """What recognises people in a text: Presidio's patterns, and names where there is a model."""
    need("presidio_analyzer", "scrub")
    presidio, nlp, spacy = (import_module(n) for n in ("presidio_analyzer", "presidio_analyzer.nlp_engine", "spacy"))
    _stay_offline()
    engine = nlp.SpacyNlpEngine(models=[{"lang_code": language, "model_name": model or "blank"}])
    engine.nlp = {language: _pipeline(spacy, model, language)}
    analyzer = presidio.AnalyzerEngine(nlp_engine=engine, supported_languages=[language])

    def find(text: str) -> list[Span]:
        results = analyzer.analyze(text, language=language, score_threshold=least)
        return [(one.start, one.end, one.entity_type, one.score) for one in results]

    return find


def _stay_offline() -> None:
    """Addresses are judged by the list of domain suffixes that is installed: Presidio would fetch the newest one."""
    with suppress(ImportError):
        import_module("tldextract.tldextract").TLD_EXTRACTOR.suffix_list_urls = ()


def _pipeline(spacy: Any, model: str | None, language: str) -> Any:
    if model is None:
        return spacy.blank(language)
    try:
        return spacy.load(model)
    except OSError:
        hint = f"Install it: python -m spacy download {model[:40]}."
        raise ParameterError(
            "scrub", "needs a spaCy model that is installed", got=repr(model)[:40], hint=hint
        ) from None


def replaced(text: str, spans: Sequence[Span]) -> tuple[str, Counter[str]]:
    """The text with each span replaced by its kind, and how many of each; of two that overlap, the surer one counts.

    Examples
    --------
    >>> replaced("call 617-555-1234", [(5, 17, "PHONE_NUMBER", 0.7), (5, 8, "DATE_TIME", 0.4)])
    ('call <PHONE_NUMBER>', Counter({'PHONE_NUMBER': 1}))
    """
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: (-span[3], span[0] - span[1], span[0])):
        if all(span[1] <= other[0] or other[1] <= span[0] for other in chosen):
            chosen.append(span)
    for start, end, kind, _ in sorted(chosen, reverse=True):
        text = f"{text[:start]}<{kind}>{text[end:]}"
    return text, Counter(kind for _, _, kind, _ in chosen)
