"""The role of a column, guessed by the first rule that decides, with its reason.

Rules look at the words of the name, at the cells, and at what follows from what; see `shoal.schema.infer` for how
guesses become a proposal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from shoal.schema import Role
from shoal.schema.arithmetic import Formula
from shoal.schema.codes_seen import ABSENT_WORDS
from shoal.schema.column import NAMING
from shoal.schema.dependency import Dependency
from shoal.schema.described import (
    is_number_of_household,
    is_number_of_person,
    is_survey_weight,
    names_a_person,
    topic_of,
)
from shoal.schema.evidence import (
    UUID,
    Facts,
    date_forms,
    is_amount,
    like_names,
    rank_correlation,
    states,
    states_among,
)
from shoal.schema.guess_beside import (
    Guess,
    by_formula,
    by_reference,
    in_batteries,
    in_families,
    in_scales,
    naming,
    one_each,
    with_codes,
)
from shoal.schema.guess_kind import MOST_LEVELS
from shoal.schema.judgement.codes import clinical_codes
from shoal.schema.judgement.identifiers import SOCIAL_SECURITY
from shoal.schema.judgement.judge import counted_cells
from shoal.schema.judgement.judgement import Judgement, judge
from shoal.schema.keys import by_repeats
from shoal.schema.name_words import (
    BODY,
    CLINICAL_SHORT,
    CODED,
    CONDITION,
    COORDINATES,
    COUNTS,
    DESCRIBING,
    DESIGN,
    DESIGN_STARTS,
    DIAGNOSIS,
    EVENT,
    HEIGHTS,
    HOUSEHOLD,
    HOUSEHOLD_NUMBERS,
    IDENTIFIERS,
    LENGTHS,
    MODIFIERS,
    NAME_PARTS,
    NO_DATES,
    NOT_NUMBERED,
    NOT_PLACES,
    NUMBER,
    NUMBERED,
    OF_ACCOUNTS,
    PERSON,
    PERSON_NUMBERS,
    PLACE_OR_THING,
    QUASI,
    SENSITIVE,
    SURVEY,
    WEIGHTS,
    Topic,
    glued,
    parts_of,
)
from shoal.schema.person_key import with_evidence

__all__ = ["guess_roles"]


_ROLES: tuple[tuple[Role, tuple[Topic, ...]], ...] = (("quasi", QUASI), ("sensitive", SENSITIVE))
_HOUSEHOLDS = "The name suggests a number of households"
_NUMBERED = "The name suggests a number of persons or records"
_SAY_NOTHING = ABSENT_WORDS | {"yes", "no", "y", "n", "true", "false", "other", "normal", "control", "not sure"}
_NEARLY_ALL = 0.9  # of the cells differ in a column of which each row has its own number
_FEW_STATES = 10  # numbers, of which a country has more states
_MANY_DAYS, _LAST_DAY = 100, 60_000  # different days of a column of dates; days from 1900 to 2064
_LASTING = r"(?i)^\D{0,12}\d+(?:[.,]\d+)?[ _]?(?:h|hrs?|hours?|min|mins|minutes?|days?|weeks?|months?|times?|x)\b"
_GROWS_WITH_HEIGHT = 0.2  # rank correlation with a height; a survey's weight has none
_CLINICAL = 3  # columns whose names speak plainly of findings, from which on short names do too


def guess_roles(
    facts: Sequence[Facts], found: Sequence[Dependency], computed: Sequence[Formula] = ()
) -> dict[str, Guess]:
    """The role of each column; `found` says which columns follow from others, `computed` which by arithmetic."""
    facts = [replace(fact, judgement=_judged(fact)) for fact in facts]
    beside = frozenset(word for fact in facts for word in fact.words)
    clinical = sum(_speaks_of_findings(fact) for fact in facts) >= _CLINICAL
    heights = [fact.cells for fact in facts if fact.has(*HEIGHTS) and fact.cells.dtype.is_numeric()]
    guesses = {fact.name: _not_amount(fact, _role(fact, beside, clinical, heights), facts) for fact in facts}
    beside_others = by_formula(facts, by_reference(facts, by_repeats(facts, guesses)), computed)
    asked = in_families(facts, in_scales(facts, in_batteries(facts, beside_others)))
    named = naming(facts, with_codes(facts, asked, found), found)
    return _but_identifiers(facts, one_each(facts, with_evidence(facts, named, found)))


def _role(fact: Facts, beside: frozenset[str], clinical: bool, heights: Sequence[pl.Series]) -> Guess:
    """The first rule that decides; `beside` holds the words of all names, `clinical` says whether findings abound."""
    short = (_by_short_name,) if clinical else ()
    names = (_by_mark, _by_reach, _by_key, _by_number, _by_name, _by_judgement)
    topics = (_by_code, _by_date, _by_topic, _by_label)
    rules = (*names, *topics, *short, _by_states, _by_difference, _by_length)
    weight = _by_weight(fact, beside, heights)
    for rule in rules:
        guess = weight if weight is not None and rule is _by_code else rule(fact)
        if guess is not None:
            return guess
    return Guess(role="quasi", reason="Undecided, so quasi, the cautious guess", undecided=True)


def _by_reach(fact: Facts) -> Guess | None:
    """Ways to reach somebody, by the form of most values: addresses of mail and networks, numbers of telephones."""
    made = _judged(fact)
    reached = made.is_certain and any(one.by_values for one in made.findings)
    if not reached or not (made.holds == "contact" or made.findings[0].identifier == SOCIAL_SECURITY):
        return None
    return Guess(role="identifier", reason=_sentence(made.reasons[0]))


def _by_judgement(fact: Facts) -> Guess | None:
    """Names of people, numbers of people or records, and texts that hold names, whatever the column is called."""
    made = _judged(fact)
    if not (made.names_people and made.is_certain):
        return None
    reason = _sentence(made.reasons[0])
    if made.holds == "identifier" and made.findings[0].by_name and fact.distinct_share < _NEARLY_ALL:
        rows = fact.n_known / fact.n_distinct
        return Guess(role="unit", reason=f"{reason}, and it repeats: {rows:.1f} rows each")
    return Guess(role="identifier", reason=reason)


def _judged(fact: Facts) -> Judgement:
    return fact.judgement or judge(fact.name, counted_cells(fact.cells.alias("value")), label=fact.label)


def _but_identifiers(facts: Sequence[Facts], guesses: Mapping[str, Guess]) -> dict[str, Guess]:
    """The guesses, in which what surely names people is an identifier and nothing that leaves."""
    made = dict(guesses)
    for fact in facts:
        guess, judged = guesses[fact.name], _judged(fact)
        if guess.role not in NAMING and judged.names_people and judged.is_certain:
            made[fact.name] = Guess(role="identifier", reason=_sentence(judged.reasons[0]), asked=guess.asked)
    return made


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:]


def _by_key(fact: Facts) -> Guess | None:
    """A column that is called after persons or events and holds keys: made-up ones, or numbers that repeat."""
    made_up = fact.share(UUID) >= 0.95
    event = fact.has(*EVENT)
    if made_up and (fact.all_distinct or event):
        return Guess(
            role="identifier", reason="Its cells are universal identifiers (UUID)" + (", of records" if event else "")
        )
    if (fact.words[:-1] and not all(word in PERSON for word in fact.words)) or fact.n_distinct < 20:
        return None
    if not (made_up or fact.whole or fact.share(r"\d") >= 0.95):
        return None
    rows = fact.n_known / fact.n_distinct
    if fact.all_distinct:
        return Guess(role="identifier", reason="The name suggests a person, and all values differ")
    return Guess(role="unit", reason=f"The name suggests a person, and its keys repeat: {rows:.1f} rows each")


def _by_number(fact: Facts) -> Guess | None:
    """Numbers of persons, visits and records: in pairs of words such as ``patient_nbr``, or in one word."""
    pairs = list(zip(fact.words, fact.words[1:], strict=False))
    if _numbers_households(fact, pairs):
        rows = fact.n_known / fact.n_distinct
        return Guess(role="household", reason=f"{_HOUSEHOLDS}, and it repeats: {rows:.1f} rows each")
    person = fact.has(*PERSON_NUMBERS) or any(a in PERSON and b in NUMBER for a, b in pairs)
    alone = all(word in NUMBER - COUNTS - CODED for word in fact.words[:-1])  # id, but neither number nor code
    person = person or ((alone or _ends_as_number(fact)) and (fact.whole or fact.text))
    if person and not fact.all_distinct and fact.n_distinct < 20:
        return None  # too few for a number of persons, whatever it is called
    if person and not fact.all_distinct and fact.n_known > 1:
        rows = fact.n_known / fact.n_distinct
        return Guess(role="unit", reason=f"{_NUMBERED}, and it repeats: {rows:.1f} rows each")
    if person:
        return Guess(role="identifier", reason=_NUMBERED)
    if any(a in EVENT and b in NUMBER for a, b in pairs):
        return Guess(role="identifier", reason="The name suggests a record's number")
    if (
        fact.words[:-1][-1:]
        and fact.words[-2] in NUMBER
        and fact.distinct_share >= 0.5
        and fact.n_known >= 20
        and (fact.whole or fact.text)
    ):
        share = f"{fact.distinct_share:.0%}"
        return Guess(role="identifier", reason=f"The name suggests a number, and {share} of its values differ")
    return None


def _numbers_households(fact: Facts, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether it numbers households, of which several rows are, and which are many enough for numbers."""
    named = fact.has(*HOUSEHOLD_NUMBERS) or any(a in HOUSEHOLD and b in NUMBER - COUNTS - CODED for a, b in pairs)
    return named and 20 <= fact.n_distinct < fact.n_known and (fact.whole or fact.text)


def _ends_as_number(fact: Facts) -> bool:
    """Whether a name in one piece ends as numbers of persons do (``HESID``), and the values are many enough for one."""
    glued_id = any(re.fullmatch(NUMBERED, word) and word not in NOT_NUMBERED for word in fact.words)
    return glued_id and fact.distinct_share >= 0.1 and fact.n_distinct >= 100


def _by_name(fact: Facts) -> Guess | None:
    if _has_decimals(fact):  # MEDREIMB_IP: an amount, no address
        return None
    named = any(word.endswith(("name", "names")) for word in fact.words if word not in ("rowname", "rownames"))
    if named and not any(word.startswith(tuple(PLACE_OR_THING)) for word in fact.words):
        return Guess(role="identifier", reason="The name suggests a name")
    if fact.has(*NAME_PARTS) and like_names(fact):
        return Guess(role="identifier", reason="The name suggests a part of a name, and its texts look like names")
    if fact.has("id") and fact.distinct_share < 0.5:  # admission_type_id: a code for the type
        return None
    if fact.has(*DESCRIBING) and fact.distinct_share < 0.5:  # texts that repeat are no free text
        return None
    if fact.n_distinct <= 2 < fact.n_known:  # has_email: whether there is one, not which
        return None
    if _tells_of_it(fact):
        return None
    if fact.n_distinct < 20 and fact.n_known >= 200:  # pid: of so many people a number would have more values
        return None
    return _first(fact, IDENTIFIERS, "identifier")


def _tells_of_it(fact: Facts) -> bool:
    """Whether what follows a word such as address or account says what is held of it: a place, an amount."""
    last = fact.words[-2:-1]
    return len(fact.words) > 2 and any(topic.covers(word) for topic in OF_ACCOUNTS for word in last)


def _by_weight(fact: Facts, beside: frozenset[str], heights: Sequence[pl.Series]) -> Guess | None:
    if not fact.cells.dtype.is_numeric() or not fact.n_known or fact.cells.min() < 0:  # type: ignore[operator]
        return None
    if fact.label and is_survey_weight(fact.label):
        return Guess(role="weight", reason=f"{fact.quoted}: a survey weight")
    if any(WEIGHTS.covers(word) for word in fact.words):
        return Guess(role="weight", reason="The name suggests a survey weight")
    weighs = fact.has("weight", "weights", "wt", "wts", "wgt", "wght") or any(
        word.endswith("pwt") for word in fact.words
    )
    if not weighs or fact.has(*BODY) or BODY & set(re.findall(r"[a-z]+", fact.label.lower())):
        return None
    if fact.has(*SURVEY):
        return Guess(role="weight", reason="The name suggests a survey weight")
    return _by_size(fact, beside, heights)


def _by_size(fact: Facts, beside: frozenset[str], heights: Sequence[pl.Series]) -> Guess:
    """A body's weight or a survey's, by its size, its digits and the columns beside it; else a question."""
    known = fact.cells.drop_nulls().cast(pl.Float64)
    if float(known.median()) > 400:  # type: ignore[arg-type]
        return Guess(role="weight", reason="A weight far above any body's, so a survey weight")
    designed = any(word in DESIGN or word.startswith(DESIGN_STARTS) for word in beside)
    body = bool(beside & HEIGHTS)
    if any(abs(rank_correlation(fact.cells, height)) >= _GROWS_WITH_HEIGHT for height in heights):
        return Guess(role="quasi", reason="A weight that rises with a height or body mass index, so a body's")
    if body and not designed:
        return Guess(role="quasi", reason="A weight beside a height or body mass index, so a body's")
    if not fact.whole and abs(float(known.mean()) - 1) < 0.02:  # type: ignore[arg-type]
        return Guess(role="weight", reason="A weight that is 1 on average, so a survey weight")
    if float(known.quantile(0.1)) < 1:  # type: ignore[arg-type]
        return Guess(role="weight", reason="A weight below any body's, so a survey weight")
    if float((known != known.round(2)).mean()) > 0.5:  # type: ignore[arg-type]
        return Guess(role="weight", reason="A weight of more than two decimals, so a survey weight")
    if designed and not body:
        return Guess(role="weight", reason="A weight beside strata or sampling units, so a survey weight")
    unsure = "A weight that could be a body's or a survey's, so quasi, the cautious guess"
    return Guess(role="quasi", reason=unsure, asked="weight")


def _by_code(fact: Facts) -> Guess | None:
    found = clinical_codes(counted_cells(fact.cells.alias("value")))
    return (
        None if found is None else Guess(role="sensitive", reason=f"{found[1]:.0%} of its values look like {found[0]}")
    )


def _by_date(fact: Facts) -> Guess | None:
    made = _judged(fact)
    if fact.cells.dtype.is_temporal() or date_forms(fact) or (made.holds == "date" and made.is_certain):
        return Guess(role="quasi", reason="Dates and times tell people apart")
    return None


def _by_topic(fact: Facts) -> Guess | None:
    # Quasi first: if a name speaks of both ("age at diagnosis"), masking is the cautious guess.
    unsure = _by_two_meanings(fact)
    if unsure is not None:
        return unsure
    known = NO_DATES if _lasts(fact) else QUASI
    if _has_decimals(fact) and not fact.has(*COORDINATES):  # max_wall_area: a size, no place
        found = _first(fact, SENSITIVE, "sensitive") or _by_parts(fact)
        return _first(fact, tuple(topic for topic in known if topic in NOT_PLACES), "quasi") or _unless_quasi(
            fact, found
        )
    return _first(fact, known, "quasi") or _unless_quasi(fact, _first(fact, SENSITIVE, "sensitive") or _by_parts(fact))


def _by_two_meanings(fact: Facts) -> Guess | None:
    """Numbers under a name of two meanings: a place or a condition, what was found or the day on which it was."""
    if fact.text or not fact.whole or not fact.n_known:
        return None
    about = {topic.about for topic in QUASI for word in fact.words if topic.covers(word)}
    if about <= {"a place"} and _says_state(fact) and fact.n_distinct <= _FEW_STATES:
        said = topic_of(fact.label)
        if said is not None:
            return None if said.about == "a place" else Guess(role=said.role, reason=f"{fact.quoted}: {said.about}")
        reason = "The name says state, which may be a place or a condition; so quasi, the cautious guess"
        return Guess(role="quasi", reason=reason, undecided=True, named=True)
    if not about and fact.has(*DIAGNOSIS) and _could_count_days(fact) and topic_of(fact.label) is None:
        reason = "The name speaks of a diagnosis, but its numbers could count days; so quasi, the cautious guess"
        return Guess(role="quasi", reason=reason, undecided=True, named=True)
    return None


def _lasts(fact: Facts) -> bool:
    """Whether under a name of a day or year stands how long or how often something is, with its unit (``2_hrs``)."""
    return fact.text and bool(fact.values.str.contains(_LASTING).any())


def _says_state(fact: Facts) -> bool:
    return any(CONDITION & {word, *parts_of(word)} for word in fact.words)


def _could_count_days(fact: Facts) -> bool:
    """Whether whole numbers could be days since a day of the 20th century: many, and not beyond our time."""
    low, high = float(fact.cells.min()), float(fact.cells.max())  # type: ignore[arg-type]
    return fact.n_distinct > _MANY_DAYS and low >= -_LAST_DAY and 1_000 < high <= _LAST_DAY


def _unless_quasi(fact: Facts, guess: Guess | None) -> Guess | None:
    """A name that speaks of something sensitive, unless the label plainly speaks of what others can know."""
    said = topic_of(fact.label) if guess is not None and guess.role == "sensitive" else None
    if said is None or said.role != "quasi":
        return guess
    again = any(word in fact.words for word in re.findall(r"[a-z]+", fact.label.lower()))
    if said.phrase or (said.strong and not again):
        return Guess(role="quasi", reason=f"{fact.quoted}: {said.about}")
    return guess


def _by_label(fact: Facts) -> Guess | None:
    """What the label speaks of, or else the meanings of the codes."""
    found = topic_of(fact.label)
    if found is not None:
        weak = found.role == "quasi" and not (found.strong or found.phrase)
        return Guess(role=found.role, reason=f"{fact.quoted}: {found.about}", weak=weak)
    about = next((said.about for said in map(topic_of, fact.meanings.values()) if said and said.role == "quasi"), None)
    if about is not None:
        return Guess(role="quasi", reason=f"The {fact.said_by} says what its codes mean, and they speak of {about}")
    about = states_among([meaning.lower() for meaning in fact.meanings.values()])
    reason = f"The {fact.said_by} says what its codes mean, and they speak of {about}"
    return None if about is None else Guess(role="sensitive", reason=reason)


def _by_mark(fact: Facts) -> Guess | None:
    """An identifier by what a codebook says: marked as one, or described as a number of persons or a name."""
    if fact.marked:
        return Guess(role="identifier", reason="The codebook marks it as an identifier")
    if not fact.label or (fact.n_distinct < 20 and not fact.all_distinct) or _has_decimals(fact):
        return None
    if names_a_person(fact.label):
        return Guess(role="identifier", reason=f"{fact.quoted}: a name, a way to reach a person, or free text")
    if not is_number_of_person(fact.label) or fact.distinct_share < 0.02:
        return None
    if fact.all_distinct:
        return Guess(role="identifier", reason=f"{fact.quoted}: a number of persons or records")
    role: Role = "household" if is_number_of_household(fact.label) else "unit"
    what = "households" if role == "household" else "persons or records"
    rows = fact.n_known / fact.n_distinct
    return Guess(role=role, reason=f"{fact.quoted}: a number of {what}, and it repeats, {rows:.1f} rows each")


def _by_parts(fact: Facts) -> Guess | None:
    """What a name in one piece speaks of when it is taken apart (``totmed``)."""
    parts = [part for word in fact.words[:-1] for part in parts_of(word) if part not in COORDINATES]
    telling = [part for part in parts if part not in MODIFIERS] or parts  # cigpday: cigarettes, not days
    for role, topics in _ROLES:
        about = next((topic.about for topic in topics for part in telling if part in topic.words), None)
        if about is not None:
            return Guess(role=role, reason=f"Taken apart, the name suggests {about}")
    about = next((about for part in parts if (about := glued(part)) is not None), None)
    return None if about is None else Guess(role="sensitive", reason=f"Taken apart, the name seems to speak of {about}")


def _speaks_of_findings(fact: Facts) -> bool:
    return any(topic.about == CLINICAL_SHORT.about and topic.covers(word) for topic in SENSITIVE for word in fact.words)


def _has_decimals(fact: Facts) -> bool:
    return fact.cells.dtype.is_float() and not fact.whole and fact.n_distinct >= 10


def _by_short_name(fact: Facts) -> Guess | None:
    if fact.cells.dtype.is_numeric() and any(CLINICAL_SHORT.covers(word) for word in fact.words):
        return Guess(role="sensitive", reason="A short name of a finding, beside other findings")
    return None


def _by_states(fact: Facts) -> Guess | None:
    found = states(fact)
    if found is not None:
        return Guess(role="sensitive", reason=f"Most of its different texts speak of {found}")
    return _by_texts(fact)


def _by_texts(fact: Facts) -> Guess | None:
    """What the texts themselves speak of, if there are few: half of them of something sensitive, none of what is known.

    Yes, no and words for an absence say nothing and do not count.
    """
    if not fact.text or not 2 <= fact.n_distinct <= MOST_LEVELS:
        return None
    texts = [text for text in fact.values.to_list() if text.lower() not in _SAY_NOTHING]
    said = [topic for topic in map(topic_of, texts) if topic is not None]
    if not said or any(topic.role == "quasi" for topic in said) or 2 * len(said) < len(texts):
        return None
    return Guess(role="sensitive", reason=f"{len(said)} of its {fact.n_distinct} texts speak of {said[0].about}")


def _by_difference(fact: Facts) -> Guess | None:
    if fact.has(*LENGTHS) and not fact.text:
        return None  # how long something took differs from person to person
    enough = fact.text or (fact.whole and fact.n_known >= 20)
    mostly_missing = fact.n_known < 20 and 2 * fact.n_known < len(fact.cells)
    if not fact.all_distinct or not enough or mostly_missing:
        return None
    measure = "" if fact.text else "; if it measures something, make it quasi"
    reason = f"All its {fact.n_known:,} values differ, as names would{measure}"
    return Guess(role="identifier", reason=reason, by_difference=True)


def _not_amount(fact: Facts, guess: Guess, facts: Sequence[Facts]) -> Guess:
    """An identifier by difference alone that goes with other measures is an amount after all."""
    if not guess.by_difference or fact.text or not is_amount(fact, facts):
        return guess
    reason = "All its values differ, but rise and fall with other measures: an amount, so quasi, the cautious guess"
    return Guess(role="quasi", reason=reason, undecided=True)


def _by_length(fact: Facts) -> Guess | None:
    if fact.cells.dtype != pl.String or fact.distinct_share < 0.5 or fact.n_known < 2:
        return None
    if float(fact.cells.str.len_chars().mean()) < 40:  # type: ignore[arg-type]
        return None
    return Guess(role="identifier", reason="Long texts that mostly differ, so free text, which can hold names")


def _first(fact: Facts, topics: tuple[Topic, ...], role: Role) -> Guess | None:
    for topic in topics:
        if any(topic.covers(word) for word in fact.words):
            return Guess(role=role, reason=f"The name suggests {topic.about}")
    return None
