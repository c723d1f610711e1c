"""What ties a release that is about to be written to an earlier one: columns, tokens, and people under other names.

Rows of two releases are joined by every unchanged column that both carry, whatever it is called and in whichever unit
(`shoal.register.column_links`). Where all columns of the earlier release are there with the same values, rows are
joined by their signatures; where a column is there in another form, or only some are, everybody is taken to carry a
token, which leaves an intruder more than the truth. So it is where too few people are in both to compare columns by.

Apart from any join, a column is *exposed* if one release hides it as a quasi-identifier and the other shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.arrays import AnyArray
from shoal.register.beside_earlier import Beside
from shoal.register.column_links import Link, Sample, by_name, in_both, linked, related, tells_otherwise
from shoal.register.draft import Draft
from shoal.register.earlier_release import Past
from shoal.register.identity import Known

__all__ = ["Tie", "exposed", "in_the_way", "reached", "who_is_told_apart"]

_CERTAIN = 0.95  # of a quasi-identifier that follows from another column
_FEW_RETURN = 0.01  # of the people of the smaller table, below which nobody is taken to be recognised


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """How rows of an earlier release can be joined with those of a later one.

    Parameters
    ----------
    columns
        The unchanged columns of the earlier release.
    links
        Which of them the later one carries too.
    is_token
        Whether a token, or what nobody could compare, ties the rows.
    is_compared
        Whether there were people enough in both to compare the columns by.
    """

    columns: tuple[str, ...]
    links: tuple[Link, ...]
    is_token: bool
    is_compared: bool

    @classmethod
    def of(cls, earlier: Past, now: Draft | Past) -> Tie:
        """Compare the columns that both carry unchanged."""
        links = by_name(earlier.columns, now.columns)
        mine = {name for name in earlier.columns if name not in now.columns}
        theirs = {name for name in now.columns if name not in earlier.columns}
        compared = True
        if mine and theirs:
            found, compared = _by_values(earlier, now, mine, theirs)
            links += _strongest(found)
        return cls(
            columns=earlier.columns,
            links=tuple(links),
            is_token=earlier.tied and now.tied,
            is_compared=compared,
        )

    @property
    def joins(self) -> bool:
        """Whether something ties rows of the two together."""
        return bool(self.links) or self.is_token or not self.is_compared

    def signatures(self, draft: Draft) -> AnyArray | None:
        """The new people's signatures on the columns of the earlier release; None where only a token will do."""
        names = {link.earlier: link.now for link in self.links if link.keeps_values}
        if draft.tied or self.is_token or not self.columns or set(names) != set(self.columns):
            return None
        return draft.signatures([names[name] for name in self.columns])


def _by_values(earlier: Past, now: Draft | Past, mine: set[str], theirs: set[str]) -> tuple[list[Link], bool]:
    """The links between columns of different names, and whether they could be looked for."""
    if earlier.sample is None or now.sample is None:
        return [], False
    both = in_both(earlier.sample, now.sample)
    if both is None:
        return [], not earlier.people.share_people(now.people)
    first, second = earlier.sample.unchanged, now.sample.unchanged
    return linked(
        {name: first[name] for name in sorted(mine & first.keys())},
        {name: second[name] for name in sorted(theirs & second.keys())},
        both,
    ), True


_STRENGTH = ("same values", "one to one", "same order", "coarser", "finer")


def _strongest(links: Sequence[Link]) -> list[Link]:
    """Of each column of the earlier release the link that tells most."""
    found: dict[str, Link] = {}
    for link in sorted(links, key=lambda link: _STRENGTH.index(link.how)):
        found.setdefault(link.earlier, link)
    return list(found.values())


def reached(ties: Mapping[str, Tie], past: Sequence[Past]) -> list[Past]:
    """Those that can be joined with a release, directly or through others, in their order."""
    names = {one.release for one in past if ties[one.release].joins}
    while True:
        rest = [one for one in past if one.release not in names]
        more = {p.release for p in rest if any(q.release in names and Tie.of(p, q).joins for q in past)}
        if not more:
            return [one for one in past if one.release in names]
        names |= more


def exposed(draft: Draft, ties: Mapping[str, Tie], past: Sequence[Past]) -> tuple[tuple[str, str, int, bool], ...]:
    """The columns that one release hides as quasi-identifiers and the other shows as they are.

    Returns
    -------
    The column that is shown, the quasi-identifier that it carries, the number of the earlier release, and whether it is
    this release that shows it.
    """
    found: list[tuple[str, str, int, bool]] = []
    for one in past:
        if one.sample is None:
            continue
        shown = _shown(one.sample, draft.sample)
        found += [(link.now, link.earlier, one.number, True) for link in shown]
        if ties[one.release].joins:
            before = _shown(draft.sample, one.sample)
            found += [(link.now, link.earlier, one.number, False) for link in before]
    return tuple(dict.fromkeys(found))


def _shown(hides: Sample, shows: Sample) -> list[Link]:
    """The quasi-identifiers that one release hides and another shows, which the first doesn't show itself."""
    names = [name for name in hides.quasi if name not in hides.unchanged]
    both = in_both(hides, shows)
    links = [
        link
        for link in by_name(names, list(shows.unchanged))
        if both is None or related(hides.quasi[link.earlier].of(both[0]), shows.unchanged[link.now].of(both[1]))
    ]
    fresh = {name: one for name, one in shows.unchanged.items() if name not in hides.unchanged and name not in names}
    if both is None or not fresh:
        return links
    own = {link.now for link in linked(hides.unchanged, fresh, both, least=_CERTAIN)}
    rest = {name: one for name, one in fresh.items() if name not in own}
    return links + linked({name: hides.quasi[name] for name in names}, rest, both, least=_CERTAIN)


def who_is_told_apart(draft: Draft, known: Known, past: Sequence[Past]) -> dict[str, Any]:
    """How many people are in the releases under other identifiers, and whether people could be recognised at all."""
    if not past or not known.who.is_identifier:
        return {}
    share = max((known.contents.shows_recoded(one.contents) for one in past), default=0.0)
    if share:
        return {"recoded": max(1, round(share * len(draft.people)))}
    if any(one.sample is not None and tells_otherwise(one.sample, draft.sample) for one in past):
        return {"recognised": False}
    return {"recognised": all(_could_tell(draft, known, one) for one in past)}


def _could_tell(draft: Draft, known: Known, one: Past) -> bool:
    """Whether people of an earlier release were recognised, or are others by what their columns hold."""
    least = _FEW_RETURN * min(len(draft.people), len(one.people))
    if one.people.share_people(draft.people, more_than=least):
        return True
    tell = known.columns.tell and one.distinctive.tell
    return tell and not known.columns.resemble(one.distinctive)


def in_the_way(found: Beside, joined: Sequence[Past], past: Sequence[Past]) -> list[Past]:
    """The releases beside which another doesn't hold."""
    numbers = {number for _, _, number, _ in found.exposed}
    if found.recoded:
        numbers |= {one.number for one in past}
    names = {one.release for one in joined} if found.below or found.few_values else set()
    return [one for one in past if one.number in numbers or one.release in names]
