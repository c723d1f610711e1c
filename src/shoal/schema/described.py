"""What a label says of a column: its topic, whether it numbers persons, and which of its codes stand for an absence.

Labels are sentences, so more words stand in them than speak of the column: units and periods ("in the last 12 months")
are taken out first, and the first word that belongs to a topic decides, as what a sentence is about comes early in it
("age at diagnosis", "depression, by age group"). An age or a date anywhere is a quasi-identifier all the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shoal.schema import Role
from shoal.schema.foreign_words import in_english
from shoal.schema.judgement.spelling import unaccented
from shoal.schema.name_words import QUASI, SENSITIVE
from shoal.value import Level

__all__ = [
    "Said",
    "absences_among",
    "in_order",
    "is_absence",
    "is_number_of_household",
    "is_number_of_person",
    "is_survey_weight",
    "names_a_person",
    "topic_of",
]

_PERIOD = (
    r"\b(?:in|during|over|within|for|of|at) (?:the )?(?:last|past|previous|prior) (?:\d+ |\w+ )?(?:days?|nights?|"
    r"weeks?|months?|mos|years?|yrs?)\b"
)
_UNIT = r"\b(?:in|per|each|a|every|of the) (?:days?|weeks?|months?|mos|years?|yrs?|hours?|minutes?|\d{4})\b"
_NOT_MEANT = re.compile(
    rf"{_PERIOD}|{_UNIT}|\b\w+['’]s\b|\bfamily history\b|\bworking memory\b|"
    r"\b(?:household|family) (?:head|member)s?\b|\bhead of (?:the )?household\b|\b(?:state|region) of\b(?= \w+ing\b)|"
    r"\b(?:numeric|character|integer|date) (?:vector|variable)\b|\b(?:dummy|indicator) (?:variable)?\b|"
    r"\b(?:pre|post|before|after|since|onset of|start of|end of|during|at)[- ](?:the )?treatment\b|"
    r"\bnumber of (?:days?|weeks?|months?|years?|hours?|times)\b"
)
_DATED = re.compile(
    r"^(?:\w+ ){0,2}age\b(?! \d)|\bage (?:at|of|when|in|on|group)\b|\b(?:date|year|month|day|time) of (?!the\b)|"
    r"\bdate\b|^(?:year|month|quarter)\b"
)
_PERSON_NUMBER = re.compile(
    r"\b(?:unique|personal|person|patient|subject|participant|respondent|individual|member|enrollee|beneficiary|client|"
    r"record|case|encounter|visit|household|family|claim|numeric)\b\W+(?:\w+\W+)?"
    r"(?:id|ids|identifiers?|identification|key|number|no)\b(?! of)|^(?:\w+ )?identifier\b|\bmedical record number\b|"
    r"\bsocial security number\b"
)
_HOUSEHOLD_NUMBER = re.compile(
    r"\b(?:household|family|dwelling)\b\W+(?:\w+\W+)?(?:id|ids|identifiers?|identification|key|number|no)\b(?! of)"
)
_NAMED = re.compile(
    r"\b(?:first|last|family|given|full|middle|maiden|sur) ?names?\b|\bname of (?:the )?(?:patient|person|respondent|"
    r"participant|child|mother)\b|\b(?:phone|telephone|fax|mobile) (?:number|no)\b|\be-?mail\b|\bstreet address\b|"
    r"\bfree text\b|\b(?:licen[cs]e|passport|account) number\b"
)
_WEIGHT = re.compile(
    r"\b(?:sampl\w+|survey|design|analysis|observation|population|post-?stratif\w*|expansion|probability|person|final|"
    r"interview|mec|exam|replicate|inverse)\b[^.;]{0,40}\bweights?\b|\bweights?\b[^.;]{0,60}\bsampling\b"
)
_ABSENT = re.compile(
    r"(?i)^\W*(?:not applicable|inapplicable|iap|n\W?a\W?|refus\w*|(?:prefer|rather) not|don\W?t know|"
    r"do not know|dk|unknown|not known|missing|"
    r"not (?:stated|ascertained|available|answer(?:ed)?|relevant|reported|asked|in universe|determined|"
    r"recorded|collected|done|sure)|"
    r"no (?:answer|response|data|information)|(?:legitimate|valid) skip|skip(?:ped)?|could not obtain|blank|"
    r"unspecified|(?:other|undetermined)\W*unknown)(?:\W.*)?$"
)
_LONGEST_ABSENCE = 30
_SCALE = re.compile(
    r"(?i)\d|\b(?:never|every|daily|weekly|monthly|yearly|rarely|seldom|sometimes|often|always|low|medium|high|none|mild|moderate|severe|poor|fair|good|"
    r"excellent|agree|disagree|satisfied|dissatisfied|likely|unlikely|small|large|first|second|third|less|more|"
    r"primary|secondary|tertiary|not at all|a little|a lot|very|somewhat)\b"
)
_RESIDENCE = re.compile(
    r"\b(?:state|county|city|town|district|region|country|place|area) of (?:residence|birth)\b|"
    r"\bhome (?:state|county|town|district)\b|\b(?:zip|postal|post|fips|county|state|country) ?codes?\b"
)
_ANOTHER_WAY = (
    ("white blood cell", "wbc"),
    ("red blood cell", "rbc"),
    ("white cell", "wbc"),
    ("birth control", "contraception"),
    ("x-ray", "xray"),
    ("x ray", "xray"),
    ("e-mail", "email"),
)
_IN_SENTENCES = (  # words that mean too much in a name, and little else in a sentence
    (
        "an opinion",
        "think thinks believe believes belief beliefs agree agrees favor favors favour sentiment ideological",
    ),
    ("a finding, score or risk", "blood gases tissue differentiation abnormal examination tested"),
    ("illness or health", "aml cml cll nhl myocardial"),
)
_CODE = re.compile(
    r"\bcodes?\b|^(?:\w+ )?(?:plan|site|cent(?:er|re)|hospital|provider|institution|clinic|ward|district|county|region)"
    r"(?: number| no| id)?\b(?! \w)|\bstrat(?:um|a)\b|\bprimary sampling unit\b|\b(?:status|ethnicity|nationality)$|"
    r"^(?:race|marital|country of|language of|citizenship|religio\w+|occupation|industry|type of|kind of)\b"
)
_BETWEEN = re.compile(r"^(?:\w+ )?(?:time|days|weeks|months|years)\b(?: \(?\w+\)?){0,2} (?:to|until|between)\b")
_VAGUE = frozenset(("own", "area", "density"))  # which say something in a name, and little in a sentence
_STEPS = re.compile(r"\b(?:how (?:often|much|many)|levels?|degree|grade|amount|highest|frequency|scale|severity)\b")
_STRONG = frozenset(
    topic.about for topic in QUASI if topic.about not in ("a date", "family and marriage", "work", "housing or tenure")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a label speaks of: the role that goes with it, and whether a word or a whole phrase says so."""

    role: Role
    about: str
    strong: bool = True
    phrase: bool = False


def topic_of(label: str) -> Said | None:
    """What a label speaks of.

    Examples
    --------
    >>> topic_of("Serum cholesterol (mg/100 ml) in 1971").about, topic_of("Age at diagnosis of diabetes").about
    ('a finding, score or risk', 'age or birth')
    """
    text = label.lower()
    for given, other in _ANOTHER_WAY:
        text = text.replace(given, other)
    text = _NOT_MEANT.sub(" ", text)
    if _BETWEEN.search(label.lower()):
        return Said(role="quasi", about="the time between two dates", phrase=True)
    if _RESIDENCE.search(text):
        return Said(role="quasi", about="a place", phrase=True)
    if _DATED.search(text):
        return Said(role="quasi", about="age or birth" if re.search(r"\bage\b", text) else "a date", phrase=True)
    for word in (word for word in in_english(re.findall(r"[a-z]+", unaccented(text))) if word not in _VAGUE):
        for role, topics in (("quasi", QUASI), ("sensitive", SENSITIVE)):
            about = next((topic.about for topic in topics if topic.covers(word)), None)
            if about is not None and about != "a date":
                return Said(role=role, about=about, strong=about in _STRONG)  # type: ignore[arg-type]
        about = next((about for about, words in _IN_SENTENCES if word in words.split()), None)
        if about is not None:
            return Said(role="sensitive", about=about)
    return None


def is_code(label: str) -> bool:
    """Whether a label speaks of codes, or of the number of a place."""
    return _CODE.search(label.lower()) is not None


def is_number_of_person(label: str) -> bool:
    """Whether a label speaks of a person's or record's number."""
    return _PERSON_NUMBER.search(label.lower()) is not None


def is_number_of_household(label: str) -> bool:
    """Whether a label speaks of a household's number."""
    return _HOUSEHOLD_NUMBER.search(label.lower()) is not None


def names_a_person(label: str) -> bool:
    """Whether a label speaks of names, ways to reach a person, or free text."""
    return _NAMED.search(label.lower()) is not None


def is_survey_weight(label: str) -> bool:
    """Whether a label speaks of weights of a survey."""
    return _WEIGHT.search(label.lower()) is not None


def absences_among(meanings: Mapping[Level, str]) -> dict[Level, str]:
    """The codes whose meaning is an absence.

    Examples
    --------
    >>> absences_among({1: "yes", 2: "no", -8: "Not applicable", 9: "Refused"})
    {-8: 'Not applicable', 9: 'Refused'}
    """
    return {code: meaning for code, meaning in meanings.items() if _ABSENT.match(meaning)}


def is_absence(text: str) -> bool:
    """Whether a short text says that there is no answer.

    Examples
    --------
    >>> is_absence("Not answered"), is_absence("no")
    (True, False)
    """
    return len(text) <= _LONGEST_ABSENCE and _ABSENT.match(text) is not None


def in_order(label: str, meanings: Mapping[Level, str]) -> bool:
    """Whether codes are steps of a scale: the label speaks of one, or most meanings do (numbers, how often)."""
    steps = sum(_SCALE.search(meaning) is not None for meaning in meanings.values())
    return _STEPS.search(label.lower()) is not None or steps >= 0.75 * len(meanings)
