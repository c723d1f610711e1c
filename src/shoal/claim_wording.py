"""The sentence of every kind of claim, in one place: whoever makes a claim renders it, and `verify` renders it again.

A sentence has fields. Most follow from the claim itself (its value, unit, column, what an intruder knows), so that a
sentence can't say another number than the claim; some name what else there is, such as how many records an attack was
tried on, and are held to a form. A claim also has a scope, a basis, a range of values, and assumptions without which it
isn't made. What of a claim doesn't fit its kind is named by `misfits`.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.claim import rounded_up

__all__ = [
    "ALONE",
    "BY_QUASI",
    "INSIDE",
    "LAST_VALUE",
    "ONE_ATTACK",
    "OWN_CELL",
    "PUBLIC_KNOWLEDGE",
    "QUASI",
    "ROWS_NOT_TAKEN",
    "SENSITIVE",
    "counted_once",
    "misfits",
    "statement",
]

Words = Mapping[str, Any]

ALONE = "This is the only release of these people: two releases together can single out who is hidden in each."
QUASI = "The quasi-identifiers are all the columns that can be matched against outside knowledge."
ONE_ATTACK = "This is one attack on this release; another attack may do better."
INSIDE = "The secret key and everything else in the inside folder stay inside."
BY_QUASI = "The intruder picks a row by its released quasi-identifiers and by nothing else."
OWN_CELL = "A cell of somebody else may say the same: the bound is about whose cell it is, not about what it says."
LAST_VALUE = (
    "A person's own cell is the one that came from their row. Whoever knows everybody else's values of a column reads "
    "the last one, as each value occurs exactly as often as before."
)
SENSITIVE = "The column holds what is sensitive; what else is known of the people of a class may tell more."
PUBLIC_KNOWLEDGE = (
    "Levels, bounds, edges, missing rules, rules between columns and all parameters were chosen from public knowledge; "
    "types and order of the columns follow from them."
)
ROWS_NOT_TAKEN = "The number of rows to draw was not taken from the private table."

_COUNT, _NUMBER = r"\d{1,3}(?:,\d{3})*", r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_NAMES = "<names>"  # a list of the release's columns
_MANY = 1e12
_APART = 0.05  # between an estimate and an interval for what it estimates: of few people they are made in two ways


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One way to say what a claim of a kind promises.

    Parameters
    ----------
    text
        The sentence, with fields in braces.
    told
        What follows from the claim, by field.
    free
        The form of what else is named, by field: a regular expression, or `_NAMES`.
    assumes
        What it assumes beside what every claim of the kind does.
    """

    text: str
    told: Mapping[str, Callable[[Words], str]] = field(default_factory=dict)
    free: Mapping[str, str] = field(default_factory=dict)
    assumes: Sequence[str] = ()

    def render(self, claim: Words, more: Words) -> str:
        """The sentence for a claim; `more` are its free fields."""
        return self.text.format(**{name: say(claim) for name, say in self.told.items()}, **more)

    def says(self, text: str, claim: Words, columns: Sequence[str]) -> bool:
        """Whether that is what the sentence says of the claim."""
        parts = []
        for literal, name, _, _ in string.Formatter().parse(self.text):
            parts.append(re.escape(literal))
            if name is None:
                continue
            if name in self.told:
                parts.append(re.escape(self.told[name](claim)))
            else:
                parts.append(_form(self.free[name], columns))
        return re.fullmatch("".join(parts), text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a claim of a kind may look like.

    Parameters
    ----------
    wordings
        What its sentence may be.
    scopes, bases
        What it may cover and rest on.
    units
        What it may count.
    low, high
        The range of its value.
    whole
        Whether its value is a whole number.
    assumes
        What it always assumes.
    """

    wordings: Sequence[Wording]
    scopes: Sequence[str]
    bases: Sequence[str]
    units: Sequence[str | None] = (None,)
    low: float = 0.0
    high: float = _MANY
    whole: bool = False
    assumes: Sequence[str] = ()


def statement(kind: str, which: int = 0, *, claim: Words, **more: str) -> str:
    """The sentence of a claim of a kind.

    Parameters
    ----------
    which
        Which of its wordings.
    claim
        The fields that it follows from: value, unit, column, known.
    more
        What else it names.

    Examples
    --------
    >>> statement("group size", claim={"value": 5, "unit": "persons"})
    'Every group that records were stirred in or moved to holds at least 5 persons.'
    """
    return _FORMS[kind].wordings[which].render(claim, more)


def misfits(claim: Words, columns: Sequence[str]) -> list[str]:
    """What of a claim, as a manifest has it, doesn't fit its kind; empty where all does.

    Parameters
    ----------
    claim
        Its words; `value` must be a number.
    columns
        The names of the release's columns.
    """
    form = _FORMS.get(str(claim["kind"]))
    return ["its kind is unknown"] if form is None else list(_misfits(claim, form, columns))


def _misfits(claim: Words, form: Form, columns: Sequence[str]) -> Iterator[str]:
    assumed = claim.get("assumptions", [])
    if not _is_value(claim["value"], form):
        yield "its value makes no sense"
        return
    for name, choices in (("scope", form.scopes), ("basis", form.bases), ("unit", form.units)):
        if claim.get(name) not in choices:
            yield f"its {name} is not one of this kind"
    if not _is_interval(claim):
        yield "its interval makes no sense"
    if not isinstance(assumed, list) or not all(isinstance(text, str) and text.strip() for text in assumed):
        yield "its assumptions are no list of sentences"
    elif len(set(assumed)) < len(assumed) or not set(form.assumes) <= set(assumed):
        yield "an assumption is missing or stands there twice"
    if set(claim) - _ENTRIES:
        yield "it has an entry that no claim has"
    yield from _said_otherwise(claim, form, columns)


def _said_otherwise(claim: Words, form: Form, columns: Sequence[str]) -> Iterator[str]:
    """Whether the sentence is none of the kind, or lacks what it assumes."""
    text = claim.get("statement")
    fit = [one for one in form.wordings if isinstance(text, str) and one.says(text, claim, columns)]
    if not fit:
        yield "its sentence says something else"
    elif not any(set(one.assumes) <= set(map(str, claim.get("assumptions") or ())) for one in fit):
        yield "an assumption of its sentence is missing"


def _is_value(value: float, form: Form) -> bool:
    fits: bool = math.isfinite(value) and form.low <= value <= form.high
    return bool(fits and (not form.whole or float(value).is_integer()))


def _is_interval(claim: Words) -> bool:
    ends = claim.get("interval")
    if ends is None:
        return bool(claim["basis"] != "measured")
    if not isinstance(ends, list) or len(ends) != 2 or not all(type(end) in (int, float) for end in ends):
        return False
    low, high = ends
    return bool(0 <= low <= high <= 1 and low - _APART <= claim["value"] <= high + _APART)


def _form(free: str, columns: Sequence[str]) -> str:
    if free != _NAMES:
        return f"(?:{free})"
    one = "|".join(re.escape(name) for name in columns) or "(?!)"
    return f"(?:{one})(?:, (?:{one}))*"


# ---- how numbers are said


def _g(claim: Words) -> str:
    return f"{claim['value']:g}"


def _bound(claim: Words) -> str:
    return f"{rounded_up(claim['value'], 4):.4g}"


def _percent(claim: Words) -> str:
    return f"{100 * claim['value']:.3g}"


def _epsilon(claim: Words) -> str:
    return f"{float(claim['value']):.6g}"


def _unit(claim: Words) -> str:
    return str(claim.get("unit"))


def _column(claim: Words) -> str:
    return str(claim.get("column"))


def counted_once(claim: Words) -> str:
    """What is added where persons count."""
    return (
        " Each person counts once in a class, whatever their number of rows." if claim.get("unit") == "persons" else ""
    )


def _events(claim: Words) -> str:
    return "1 event" if claim.get("known") == 1 else f"{claim.get('known')} events"


def _these(claim: Words) -> str:
    return "it" if claim.get("known") == 1 else "these events"


_MIX = {"value": _g, "column": _column, "once": counted_once}
_PROBABILITY: dict[str, Any] = {"low": 0.0, "high": 1.0}
_PEOPLE = ("records", "persons")
_PER = ("per record", "per person")
_MIXED: dict[str, Any] = {
    "scopes": ("per class", "per group"),
    "bases": ("verified",),
    "units": _PEOPLE,
    "assumes": (SENSITIVE, ALONE),
}
_REGISTER = "the expected probability that a match with a register of the population is right"
_LIMIT: dict[str, Any] = {"bases": ("verified",), "units": _PEOPLE, "assumes": (QUASI, ALONE), **_PROBABILITY}
_JOINT_TOLD = {"value": _g, "events": _events, "these": _these}
_JOINT: dict[str, Any] = {
    "scopes": ("per person, tables joined",),
    "bases": ("verified",),
    "units": ("persons",),
    "low": 1,
    "whole": True,
    "assumes": ("What these persons have in common is shown.",),
}
_PROTECTED = (
    r"Protected unit: (?:one person with one row|one person with up to \d+ rows|the whole data set, and so a person "
    r"with any number of rows)\."
)
_CHOSEN = (
    r"(?: Parents were chosen by plain mutual information from the data\. One record can change that choice, and then "
    r"no finite epsilon holds; the number is the paper's, and Shoal does not vouch for it\.)?"
)
_ROWS_DRAWN = rf"{_COUNT} (?:rows|blocks)"
_SINGLE = r"row|block of \d+ rows drawn from one start with reset"


def _differential(delta: str) -> Form:
    """ε, with the form of δ."""
    told = {"epsilon": _epsilon}
    free = {"delta": delta, "protected": _PROTECTED, "chosen": _CHOSEN}
    likelier = ": what is drawn is at most e^ε times likelier with any one person than without" + (
        ", but for probability δ" if delta else ""
    )
    drawn = "All rows ever drawn from this model together cost ε = {epsilon}{delta}"
    return Form(
        wordings=(
            Wording(text=drawn + ". {protected}{chosen}", told=told, free=free),
            Wording(text=drawn + likelier + ". {protected}{chosen}", told=told, free=free),
            Wording(
                text="Each single {single} costs ε = {epsilon}{delta}. Rows add up: this is not a promise about the "
                "file. {protected}{chosen}",
                told=told,
                free=free | {"single": _SINGLE},
            ),
            Wording(text="Each single row costs ε = {epsilon}{delta}. {protected} Rows add up.", told=told, free=free),
            Wording(
                text="The {rows} drawn so far together cost ε = {epsilon}{delta} for the data set. {protected}{chosen}",
                told=told,
                free=free | {"rows": _ROWS_DRAWN},
            ),
        ),
        scopes=("per data set", "per row", "per block"),
        bases=("proved", "published"),
        assumes=(PUBLIC_KNOWLEDGE, ROWS_NOT_TAKEN),
    )


_FORMS: Mapping[str, Form] = {
    "k-anonymity": Form(
        wordings=(
            Wording(
                text="Every combination of quasi-identifiers in the released table is shared by at least {value} "
                "{unit}.",
                told={"value": _g, "unit": _unit},
            ),
        ),
        scopes=_PER,
        bases=("verified",),
        units=_PEOPLE,
        low=1,
        whole=True,
        assumes=(QUASI, ALONE),
    ),
    "group size": Form(
        wordings=(
            Wording(
                text="Every group that records were stirred in or moved to holds at least {value} {unit}.",
                told={"value": _g, "unit": _unit},
            ),
        ),
        scopes=_PER,
        bases=("verified",),
        units=_PEOPLE,
        low=1,
        whole=True,
        assumes=(ALONE,),
    ),
    "households in a group": Form(
        wordings=(
            Wording(
                text="Every group of records holds persons of at least {value} different households.",
                told={"value": _g},
            ),
        ),
        scopes=("per group",),
        bases=("verified",),
        units=("households",),
        low=1,
        whole=True,
        assumes=("The household is the column that the schema calls so.",),
    ),
    "rules kept": Form(
        wordings=(
            Wording(
                text="No row of the released table breaks any of {value} rules between columns.", told={"value": _g}
            ),
        ),
        scopes=("per record",),
        bases=("verified",),
        units=("records",),
        low=1,
        whole=True,
        assumes=("The rules are those of the schema, which the manifest lists.",),
    ),
    "re-identification bound": Form(
        wordings=(
            Wording(
                text="By any rule that uses the released quasi-identifiers alone, an intruder who knows a person's "
                "true quasi-identifiers finds that person's {what} with probability at most {value}.",
                told={"value": _bound},
                free={"what": "record|pseudonym"},
                assumes=(BY_QUASI,),
            ),
            Wording(
                text="A row chosen by any of a person's other values holds that person's own cell of a column with "
                "probability at most {value}.",
                told={"value": _bound},
                assumes=(OWN_CELL, LAST_VALUE, "Each row is a person."),
            ),
        ),
        scopes=("per person",),
        bases=("proved",),
        units=("persons",),
        assumes=(INSIDE, ALONE),
        **_PROBABILITY,
    ),
    "re-identification frequency": Form(
        wordings=(
            Wording(
                text="Matching {matched} to the nearest released one, ties at random, finds the right person in "
                "{value}% of cases.",
                told={"value": _percent},
                free={
                    "matched": rf"the original of every released record|the originals of {_COUNT} released records, "
                    "drawn at random,"
                },
            ),
        ),
        scopes=("mean over records",),
        bases=("measured",),
        units=("records",),
        assumes=(ONE_ATTACK,),
        **_PROBABILITY,
    ),
    "re-identification through unchanged columns": Form(
        wordings=(
            Wording(
                text="An attack that also uses the {columns} ({names}) finds {value}% of the {whom} in the release"
                "{tried}.",
                told={"value": _percent},
                free={
                    "columns": "columns beside the quasi-identifiers|columns published unchanged",
                    "names": _NAMES,
                    "whom": "people|rows",
                    "tried": rf"(?: \(tried on {_COUNT} of them, drawn at random\))?",
                },
            ),
        ),
        scopes=("mean over persons", "mean over records"),
        bases=("measured",),
        units=("persons", "records"),
        assumes=(ONE_ATTACK,),
        **_PROBABILITY,
    ),
    "distinct l-diversity": Form(
        wordings=(Wording(text="Every class holds at least {value} different values of '{column}'.{once}", told=_MIX),),
        low=1,
        **_MIXED,
    ),
    "entropy l-diversity": Form(
        wordings=(
            Wording(
                text="The entropy of '{column}' in every class is at least the logarithm of {value}.{once}", told=_MIX
            ),
        ),
        low=1,
        **_MIXED,
    ),
    "recursive l-diversity": Form(
        wordings=(
            Wording(
                text="In every class the most frequent value of '{column}' occurs less than {c} times as often as all "
                "values from rank {value} on together.{once}",
                told=_MIX,
                free={"c": _NUMBER},
            ),
        ),
        low=1,
        **_MIXED,
    ),
    "equal t-closeness": Form(
        wordings=(
            Wording(
                text="The values of '{column}' in every class differ from those of the whole release by at most "
                "{value} (total variation).{once}",
                told=_MIX,
            ),
        ),
        high=1,
        **_MIXED,
    ),
    "ordered t-closeness": Form(
        wordings=(
            Wording(
                text="The values of '{column}' in every class differ from those of the whole release by at most "
                "{value} (earth mover's distance over ranks).{once}",
                told=_MIX,
            ),
        ),
        high=1,
        **_MIXED,
    ),
    "prosecutor risk": Form(
        wordings=(
            Wording(
                text="Whoever knows that a person is in the table finds them with probability at most {value} by the "
                "quasi-identifiers.",
                told={"value": _g},
            ),
        ),
        scopes=("per record", "per group"),
        **_LIMIT,
    ),
    "journalist risk": Form(
        wordings=(Wording(text=f"For every record, {_REGISTER} is at most {{value}}.", told={"value": _g}),),
        scopes=("per record", "per group"),
        **_LIMIT,
    ),
    "marketer risk": Form(
        wordings=(
            Wording(
                text="Of all records, at most a share of {value} is expected to be matched rightly with a register of "
                "the population.",
                told={"value": _g},
            ),
        ),
        scopes=("mean over records", "per group"),
        **_LIMIT,
    ),
    "individual risk": Form(
        wordings=(
            Wording(
                text=f"For at least {{share}} of the records, {_REGISTER} is at most {{value}}.",
                told={"value": _g},
                free={"share": r"0?\.\d+|1|0"},
            ),
        ),
        scopes=("per record", "per group"),
        **_LIMIT,
    ),
    "k^m-anonymity": Form(
        wordings=(
            Wording(
                text="Whoever knows up to {events} of a person finds at least {value} persons who have {these}.",
                told=_JOINT_TOLD,
            ),
        ),
        **_JOINT,
    ),
    "(k, k^m)-anonymity": Form(
        wordings=(
            Wording(
                text="Whoever knows up to {events} of a person and the quasi-identifiers finds at least {value} "
                "persons with the same quasi-identifiers who have {these}.",
                told=_JOINT_TOLD,
            ),
        ),
        **_JOINT,
    ),
    "event bound": Form(
        wordings=(
            Wording(
                text="By the exchange alone, {what} with probability at most {value}.",
                told={"value": _bound},
                free={
                    "what": "the events that lie beside a person's row are that person's|an event that lies beside a "
                    "person's row is one of that person's|what stands beside an event of a person was found at one of "
                    "that person's events"
                },
            ),
        ),
        scopes=("per person, within groups",),
        bases=("proved",),
        units=("persons",),
        assumes=("The intruder can't judge which events of a group suit the person.", INSIDE),
        **_PROBABILITY,
    ),
    "epsilon-DP": _differential(""),
    "(epsilon, delta)-DP": _differential(rf", δ = {_NUMBER}"),
    "epsilon-LDP": Form(
        wordings=(
            Wording(
                text="Whatever a person's true values in {names} are, what is released there is at most e^{value} "
                "times as likely as with any other values (local differential privacy by randomised response).",
                told={"value": _epsilon},
                free={"names": _NAMES},
            ),
        ),
        scopes=("per person, redrawn columns",),
        bases=("proved",),
        units=("persons",),
        assumes=("The levels of these columns in the schema are public knowledge, not taken from the table.",),
    ),
    "l-diversity": Form(
        wordings=(
            Wording(
                text="Every distribution that a value is drawn from has entropy of at least log {value}: given the "
                "columns of its key, no value is surer than an even choice of {value}, in the sense of entropy. "
                "Nothing is promised about differential privacy.",
                told={"value": _g},
            ),
        ),
        scopes=("per building block",),
        bases=("proved",),
        low=1,
        assumes=("Entropy is that of the perturbed conditional distribution, not of the synthetic rows.",),
    ),
    "covariance kept": Form(
        wordings=(
            Wording(
                text="The mean vector and the covariance matrix of the numeric quasi-identifiers are the original's, "
                "to rounding error."
            ),
        ),
        scopes=("per data set",),
        bases=("proved",),
        high=0,
        assumes=("It holds for numeric quasi-identifiers, unweighted; levels keep their number of records only.",),
    ),
    "covariance unbiased": Form(
        wordings=(
            Wording(
                text="The means of the numeric quasi-identifiers are the original's, and their covariance matrix is "
                "the original's on average over the noise."
            ),
            Wording(
                text="The paper says that the covariance matrix is the original's on average; Shoal does not vouch for "
                "it. Expected inflation of the variances here: {value} on average, {most} at most.",
                told={"value": lambda claim: f"{claim['value']:.1%}"},
                free={"most": r"\d+(?:\.\d+)?%"},
            ),
        ),
        scopes=("mean over the noise",),
        bases=("proved", "published"),
    ),
}
_ENTRIES = frozenset(
    {"kind", "value", "scope", "basis", "statement", "column", "unit", "assumptions", "interval", "known"}
)
