"""The refusal of a release that doesn't hold beside earlier ones: what was found, what stands in its way, ways on."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from shoal.errors import GuaranteeError
from shoal.register.beside_earlier import Beside
from shoal.register.earlier_release import Past
from shoal.register.own_ledger import own_ledger

__all__ = ["CrossedError"]

_MOST = 5  # columns that are named


class CrossedError(GuaranteeError):
    """A release doesn't hold beside earlier ones of the same people, so nothing was released.

    Parameters
    ----------
    beside
        What was found.
    earlier
        The releases that stand in its way.
    keeps_groups
        Whether a release of this kind could keep the groups of an earlier one.
    """

    def __init__(self, beside: Beside, earlier: Sequence[Past], *, keeps_groups: bool) -> None:
        self.beside, self.keeps_groups = beside, keeps_groups
        self.earlier = tuple((one.number, one.release, one.day, one.folder) for one in earlier)
        names = ", ".join(str(one.number) for one in earlier)
        rule = f"must hold beside release{'s' if len(earlier) > 1 else ''} {names} of the same people"
        super().__init__("release", rule, got=beside.found, hint="Nothing was written.")

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._together(), *self._standing(), "Options:", *self._ways()])

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (self.beside, self.earlier, self.rule, self.keeps_groups)

    def _together(self) -> str:
        """What the tables give away together."""
        by = [*self.beside.joined, *(["the events of a person"] if self.beside.tied else [])]
        if not self.beside.below and not self.beside.few_values:
            return self._by_other_means()
        if not by:
            return "Classes of the tables that a person is in have too few sensitive values in common."
        return (
            f"The rows of these tables can be joined by {_listed(by)}. Whoever does so and knows a person's "
            "quasi-identifiers is left with those who share that person's group in every table."
        )

    def _by_other_means(self) -> str:
        """What gives people away without a join."""
        if self.beside.recoded:
            return (
                "Rows of this table are those of an earlier release under other identifiers, so nobody could be "
                "recognised, and what the tables give away together was not counted."
            )
        return (
            "Whoever knows a quasi-identifier that one table hides reads it in the other, and so finds people there "
            "who hide among k in the first."
        )

    def _standing(self) -> list[str]:
        return [f"Release {number} is {name}, of {day}{_where(folder)}." for number, name, day, folder in self.earlier]

    @property
    def _ledger(self) -> str:
        """The option that names the ledger, where it isn't the user's own."""
        return "" if self.beside.ledger == own_ledger() else f" --ledger {shlex.quote(self.beside.ledger)}"

    def _own_ways(self) -> list[str]:
        """What to do about columns that are shown, and people under other identifiers."""
        now = sorted({column for column, _, _, is_now in self.beside.exposed if is_now})
        then = sorted({column for column, _, _, is_now in self.beside.exposed if not is_now})
        numbers = ", ".join(str(number) for number, *_ in self.earlier)
        ways = []
        if now:
            ways.append(f"- Give {_listed(now)} the role quasi again, or leave {'it' if len(now) == 1 else 'them'} out")
        if then:
            ways.append("- Release fewer columns unchanged, so that the tables can't be joined")
        if self.beside.recoded:
            ways.append(f"- Use the identifiers of release {numbers} in the input, so that people are recognised")
        return ways

    def _ways(self) -> list[str]:
        names = " ".join(shlex.quote(name) for _, name, _, _ in self.earlier)
        one = len(self.earlier) == 1
        last = self.earlier[-1][0]
        same_groups = (
            f"- Both are to be used: keep the groups. Run this again with --same-groups-as {last}"
            if self.keeps_groups
            else "- Both are to be used: keep the levels. Write them with the first table (shoal coarsen --method "
            "generalize --policy POLICY), and use them for the next (shoal apply POLICY)"
        )
        return [
            f"- The earlier release{'' if one else 's'} never left, or {'was' if one else 'were'} destroyed: "
            f'shoal ledger withdraw {names} --because "a trial that never left"{self._ledger}',
            *([same_groups] if self.beside.below or self.beside.few_values else []),
            *self._own_ways(),
            "- This run is only a trial: run it again with --no-register, and let nothing of it leave",
            '- It must leave all the same: --despite "REASON". The reason is recorded, printed and released',
        ]


def _where(folder: str) -> str:
    if not folder:
        return ""
    return f", in {folder}" if Path(folder).exists() else f", written to {folder}, which is gone"


def _listed(names: Sequence[str]) -> str:
    shown = list(names) if len(names) <= _MOST else [*names[: _MOST - 1], f"{len(names) - _MOST + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _rebuilt(
    beside: Beside, earlier: tuple[tuple[int, str, str, str], ...], rule: str, keeps_groups: bool
) -> CrossedError:
    error = CrossedError(beside, (), keeps_groups=keeps_groups)
    error.earlier, error.rule = earlier, rule
    error.args = (error.owner, rule, error.got, error.hint)
    return error
