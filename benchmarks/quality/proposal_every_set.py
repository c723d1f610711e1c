"""Every labelled data set of the three benchmarks of proposals in one table, and what changed since an earlier run.

    python benchmarks/quality/proposal_every_set.py FOLDER FRESH [--save FILE] [--against FILE]

FOLDER is what `proposal.py` reads, FRESH what `proposal_fresh.py` reads. `--save` keeps what is proposed for each
column; `--against` names every column whose role was right in the earlier run and is wrong now.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import proposal
import proposal_codebooks
import proposal_fresh
from proposal import Labelled, table_of

from shoal.schema.infer import Proposal, propose

NAMING = {"identifier", "unit", "household"}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What was proposed for one labelled column."""

    accepted: tuple[str, ...]
    role: str
    kind: str | None
    asked: bool
    code: bool

    @property
    def right(self) -> bool:
        return self.role in self.accepted

    @property
    def missed(self) -> bool:
        """Whether an identifier was missed."""
        return not self.right and bool(NAMING & set(self.accepted))

    @property
    def spoilt(self) -> bool:
        """Whether a column of codes would be dropped or averaged."""
        return self.code and (self.role == "identifier" or self.kind == "numeric")


def judged(one: Labelled, found: Proposal) -> dict[str, Judged]:
    """Each labelled column of a data set, as it was proposed."""
    return {
        name: Judged(
            accepted=accepted,
            role=found.schema[name].role,
            kind=found.schema[name].kind,
            asked=name in found.undecided or name in found.keys,
            code=name in one.codes.split(),
        )
        for name, accepted in one.accepted().items()
    }


def every_set(folder: Path, fresh: Path) -> Iterator[tuple[str, dict[str, Judged]]]:
    """The data sets by title, without their descriptions and with them."""
    for one in proposal.SETS:
        table = one.simulated() if one.file.startswith("simulated/") else table_of(folder, one.file)
        if table is not None:
            yield one.file, judged(one, propose(table))
    for part, sets in proposal_codebooks.PARTS.items():
        for one in sets:
            table = table_of(Path(), one.file)
            if table is None:
                continue
            yield f"{part}: {one.file}", judged(one, propose(table))
            said = proposal_codebooks.codebook_of(one, table.columns)
            yield f"{part}: {one.file} described", judged(one, propose(table, codebook=said))
    for batch, fresh_sets in proposal_fresh.BATCHES.items():
        for one in fresh_sets:
            table = one.table(fresh)
            if table is None:
                continue
            yield f"{batch}: {one.file}", judged(one, propose(table))
            if said := proposal_fresh.codebook_of(fresh, one):
                yield f"{batch}: {one.file} described", judged(one, propose(table, codebook=said))


def summary(columns: dict[str, Judged]) -> dict[str, int]:
    """The counts of one data set."""
    decided = [one for one in columns.values() if not one.asked]
    return {
        "columns": len(columns),
        "right": sum(one.right for one in columns.values()),
        "decided": len(decided),
        "decided right": sum(one.right for one in decided),
        "missed": sum(one.missed for one in columns.values()),
        "spoilt": sum(one.spoilt for one in columns.values()),
    }


def worse(before: dict[str, Judged], after: dict[str, Judged]) -> Iterator[str]:
    """The columns whose role was right before and is wrong now, or whose codes are spoilt now."""
    for name in before.keys() & after.keys():
        was, now = before[name], after[name]
        if (was.right and not now.right) or (now.spoilt and not was.spoilt):
            yield f"{name} is {'|'.join(now.accepted)}: {was.role}, {was.kind} before; {now.role}, {now.kind} now"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("fresh", type=Path)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    earlier = json.loads(given.against.read_text()) if given.against else {}
    saved = {}
    for title, columns in every_set(given.folder, given.fresh):
        saved[title] = {name: asdict(one) for name, one in columns.items()}
        before = {name: Judged(**one) for name, one in earlier.get(title, {}).items()}
        was, now = summary(before), summary(columns)
        print(f"{title:<56}", *(f"{what} {f'{was[what]} -> ' if before else ''}{n};" for what, n in now.items()))
        for line in worse(before, columns):
            print(f"    worse: {line}")
    if given.save:
        given.save.write_text(json.dumps(saved))


if __name__ == "__main__":
    main()
