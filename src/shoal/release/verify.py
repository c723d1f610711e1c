"""Check a written release again: are these the files that were released, and what do its claims rest on?

Everybody can check that the folder holds exactly what its manifest names, and count again what the table shows (k, l,
t). With the publisher's public key the manifest's signature is checked, and through it every file. With the original
and the inside files the run is repeated, and table, manifest and report must come out byte for byte. So each claim is

- *recomputed*: counted again on the table, or found again by the repeated run;
- *signed*: the publisher has signed for it; or
- *on the publisher's word*: somebody has written it into a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import polars as pl

from shoal.claim import Claim, Kind
from shoal.claim_wording import misfits
from shoal.compliance.presets import PRESETS, Preset, removed_by_name
from shoal.compliance.presets import Check as RuleCheck
from shoal.engine import Engine
from shoal.engine.memory import MemoryEngine
from shoal.errors import FileError, InputError, ParameterError, ShoalError
from shoal.files import read_table, sha256
from shoal.frame import enter
from shoal.recipe import read_recipe
from shoal.record import Record
from shoal.release.contents import faults, files_of, parts_of
from shoal.release.folders import FORMER, MANIFEST, REPORT, SIGNATURE, is_parts, is_table, place, replay_of
from shoal.release.gate import judged_when_written, naming
from shoal.release.linked import JOINT, WrittenTables, linked_files, readable
from shoal.release.manifest import read_manifest, read_replay
from shoal.release.minisign import PublicKey, Signature
from shoal.release.on_engine.gate import naming_written_on
from shoal.release.on_engine.preset import findings_on
from shoal.release.preset_rules import event_checks, not_looked_at, shared_events
from shoal.release.recheck import Parts, Recount, Repeated, fits_input, recount, repeat, repeat_parts
from shoal.release.sign import today
from shoal.report.decision import Decision
from shoal.report.sections import claims_section
from shoal.schema import Schema

__all__ = ["Check", "Standing", "Verification", "verify"]

Standing = Literal["recomputed", "signed", "on the publisher's word"]
_WORD: Standing = "on the publisher's word"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Record):
    """One thing that was checked.

    Parameters
    ----------
    name, detail
        What it is, and what was found.
    holds
        Whether it holds; None where it could not be checked.
    standing
        What it rests on, for claims and what else the publisher says; None for plain checks.
    preset, rule
        Of a rule of a preset: the preset's name, and the rule.
    """

    name: str
    holds: bool | None
    detail: str
    standing: Standing | None = None
    preset: str | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Record):
    """All checks of a written release."""

    derived: ClassVar[tuple[str, ...]] = (
        "exit_code",
        "holds",
    )
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.holds is not False for check in self.checks)

    @property
    def on_word(self) -> tuple[Check, ...]:
        """What rests on the publisher's word alone."""
        return tuple(check for check in self.checks if check.standing == _WORD)

    @property
    def exit_code(self) -> int:
        """0: nothing rests on a word alone; 3: something fails; 5: nothing fails, but something rests on a word."""
        if not self.holds:
            return 3
        return 5 if self.on_word else 0


def verify(
    directory: str | Path,
    *,
    original: str | Path | None = None,
    signer: str | Path | None = None,
    engine: Engine | None = None,
) -> Verification:
    """Check a written release again.

    Parameters
    ----------
    directory
        What `Release.write` made.
    original
        The input file; with it and the inside files (``out.internal/replay.toml``) the run is repeated, and table,
        manifest and report are compared whole.
    signer
        The publisher's public key file; with it the signature must be good.
    engine
        What counts the classes of a table in several files (`shoal.engine.open_engine`); None: memory.

    Examples
    --------
    >>> import tempfile, shoal
    >>> table, schema = shoal.datasets.health_survey(200, seed=1), shoal.datasets.health_survey_schema()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = shoal.verify(shoal.anonymize(table, schema, seed=7).write(f"{folder}/out"))
    >>> found.holds, found.exit_code, found.on_word[0].name
    (True, 5, 're-identification bound 0.2')
    """
    folder = place(directory)
    words = _well_formed(read_manifest(folder), folder / MANIFEST)
    given = None if original is None else Path(original)
    seen = _Seen(folder=folder, words=words, original=given, signer=signer, engine=engine or MemoryEngine())
    return Verification(checks=tuple(seen.checks()))


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """A folder under examination."""

    folder: Path
    words: Mapping[str, Any]
    original: Path | None
    signer: str | Path | None
    engine: Engine

    def checks(self) -> list[Check]:
        table, table_check = self._table()
        signature = self._signature()
        signed = signature is not None and signature.holds is True
        again = None if self.original is None or table is None else self._again()
        return [
            self._files(),
            *([table_check] if table_check else []),
            *(_shape(table, self.words) if table is not None else []),
            *(self._links() if "tables" in self.words else []),
            *([signature] if signature else []),
            *self._decision(signed),
            *(_repeated(again, self._is_now) if isinstance(again, Repeated) else again or []),
            *(
                _preset(table, self.words, "signed" if signed else _WORD, self._linked)
                if table is not None and "preset" in self.words
                else []
            ),
            *(self._claim(claim, table, again, signed) for claim in self.words["claims"]),
            *self._told_twice(),
            *self._in_report(),
            *([] if isinstance(again, Repeated) and self._is_now else [_evidence(signed)]),
        ]

    @property
    def _is_now(self) -> bool:
        """Whether the manifest names all files that leave; those of earlier versions did not."""
        return bool(files_of(self.words))

    def _files(self) -> Check:
        if not self._is_now and (self.folder / FORMER).is_dir() and not self._strangers():
            text = f"written by an earlier version, with {FORMER}/ inside: take that folder out before anything leaves"
            return Check(name="folder", holds=None, detail=text)
        wrong = faults(self.folder, self.words)
        return Check(name="folder", holds=not wrong, detail="; ".join(wrong) or "exactly the files of the manifest")

    def _strangers(self) -> bool:
        """Whether something lies beside the files of an earlier version."""
        own = {MANIFEST, REPORT, FORMER, self.words["output"]["file"]}
        return any(path.name not in own for path in self.folder.iterdir())

    def _table(self) -> tuple[pl.DataFrame | Parts | None, Check | None]:
        """The released table; a Check where it can't be read, or where only this one file has a hash."""
        if is_parts(self.words["output"]["file"]):
            return self._parts()
        path = self.folder / self.words["output"]["file"]
        own = is_table(path.name) or path.name in linked_files(self.words).values()
        if not own or path.parent != self.folder or path.is_symlink() or not path.is_file():
            return None, Check(name="table", holds=False, detail="the manifest must name a table that lies beside it")
        try:
            return read_table(path, codes=None), None if self._is_now else _same_file(path, self.words)
        except ShoalError:
            return None, Check(name="table", holds=False, detail="can't be read")

    @cached_property
    def _linked(self) -> WrittenTables | None:
        return (
            readable(self.folder, self.words)
            if "tables" in self.words and not faults(self.folder, self.words)
            else None
        )

    def _links(self) -> list[Check]:
        """Whether linked tables hang together, and have the rows that they are said to have."""
        if self._linked is None:
            return [Check(name="linked tables", holds=False, detail="can't be read as the manifest describes them")]
        rows = {name: table.get("rows") for name, table in self.words["tables"].items() if "parent" in table}
        wrong = list(self._linked.faults(rows))
        text = f"{len(rows)} tables of events: every row belongs to one that is there"
        return [Check(name="linked tables", holds=not wrong, detail="; ".join(wrong) or text)]

    def _joint(self, claim: Mapping[str, Any]) -> Recount | None:
        """A claim about known events, counted on the joined view; groups that masks worked in can't be seen."""
        with_quasi, known = claim["kind"] == JOINT[1], claim.get("known")
        if claim["kind"] not in JOINT or self._linked is None or not isinstance(known, int):
            return None
        if with_quasi and "coarsen" not in self.words["recipe"]:
            return None
        k = self._linked.k(known, with_quasi=with_quasi, quasi=_schema(self.words))
        return Recount(
            holds=k >= claim["value"],
            detail=f"tables joined: {k} persons fit {known} known event{'' if known == 1 else 's'} at least",
        )

    def _parts(self) -> tuple[Parts | None, Check | None]:
        """The table in several files; they are read only if they are those of the manifest."""
        if faults(self.folder, self.words):
            return None, Check(name="table", holds=False, detail="the manifest must name files that lie beside it")
        try:
            return Parts.of(self.engine, self.folder, sorted(parts_of(self.words))), None
        except ShoalError:
            return None, Check(name="table", holds=False, detail="can't be read")

    def _signature(self) -> Check | None:
        path = self.folder / SIGNATURE
        if self.signer is None:
            text = "name the publisher's public key (--signer)"
            return Check(name="signature", holds=None, detail=text) if path.is_file() else None
        key = PublicKey.read(self.signer)
        if path.is_symlink() or not path.is_file():
            return Check(name="signature", holds=False, detail="there is none")
        try:
            good = key.accepts(Signature.read(path), (self.folder / MANIFEST).read_bytes())
        except FileError:
            good = False
        text = f"of the manifest, by key {key.name}"
        return Check(name="signature", holds=good, detail=text if good else f"is not {text}")

    def _decision(self, signed: bool) -> list[Check]:
        if "decision" not in self.words:
            return []
        try:
            decided = Decision.from_dict(self.words["decision"])
        except InputError as error:
            return [Check(name="decision", holds=False, detail=str(error))]
        expired = decided.expires is not None and decided.expires < today()
        until = "without an end" if decided.expires is None else f"until {decided.expires.isoformat()}"
        day = "" if decided.signed is None else f", signed on {decided.signed.isoformat()}"
        text = f"{'has expired: held' if expired else 'holds'} {until}{day}"
        return [Check(name="decision", holds=not expired, detail=text, standing="signed" if signed else _WORD)]

    def _again(self) -> Repeated | list[Check]:
        """The repeated run; for a synthetic table only whether this is its original."""
        assert self.original is not None
        path = replay_of(self.folder)
        if is_parts(self.words["output"]["file"]) and not _is_of_engine(path):
            raise ParameterError(
                "verify",
                "can't repeat the run of this release in several files",
                hint="Leave out the original: files, signature and k are checked without it.",
            )
        recorded = read_replay(path)
        if not read_recipe(recorded["recipe"]).repeats:
            return self._as_recorded(recorded)
        if "cells" in recorded:
            return repeat_parts(self.engine, self.folder, path, recorded, self.words, self.original)
        if self._is_now != ("created" in recorded):
            return [Check(name="manifest", holds=False, detail="is not of the version that the replay file is of")]
        return repeat(self.folder, path, recorded, self.words, self.original)

    def _as_recorded(self, recorded: Mapping[str, Any]) -> list[Check]:
        """What the inside files show of a synthetic release, which can't be made again."""
        assert self.original is not None
        table, recipe = self.words["output"]["sha256"], self.words["recipe"]
        said = "as in the replay file"
        return [
            _input(fits_input(self.original, recorded, self.words), "; noise is never repeated"),
            Check(name="table", holds=table == recorded["output"].get("sha256"), detail=f"SHA-256 {said}"),
            Check(name="recipe", holds=recipe == recorded["recipe"], detail=said),
        ]

    @cached_property
    def _names(self) -> list[str]:
        """The names of all columns, those of linked tables with and without the table's name."""
        names = [*self.words["columns"], *self.words.get("removed", ())]
        for table, words in self.words.get("tables", {}).items():
            own = words.get("columns", {}) if isinstance(words, Mapping) else {}
            names += [*own, *(f"{table}.{name}" for name in own)]
        return names

    def _told_twice(self) -> list[Check]:
        """Claims about one thing that stand there twice."""
        about = [
            tuple(str(claim.get(name)) for name in ("kind", "column", "scope", "unit", "known", "statement"))
            if claim["kind"] == "individual risk"
            else tuple(str(claim.get(name)) for name in ("kind", "column", "scope", "unit", "known"))
            for claim in self.words["claims"]
        ]
        twice = len(about) - len(set(about))
        text = f"{twice} about what another claim is about already"
        return [Check(name="claims", holds=False, detail=text)] if twice else []

    def _in_report(self) -> list[Check]:
        """Whether the report has the claims of the manifest, word for word: they are written again and compared."""
        path = self.folder / REPORT
        if not self._is_now or path.is_symlink() or not path.is_file():
            return []
        if any(misfits(claim, self._names) for claim in self.words["claims"]):
            return []  # which is said of each
        section = str(claims_section([Claim.from_dict(claim) for claim in self.words["claims"]]))
        same = section in path.read_text(encoding="utf-8", errors="replace")
        text = "the claims of the manifest, word for word" if same else "has other claims than the manifest"
        return [Check(name="claims in the report", holds=same, detail=text)]

    def _claim(
        self,
        claim: Mapping[str, Any],
        table: pl.DataFrame | Parts | None,
        again: Repeated | list[Check] | None,
        signed: bool,
    ) -> Check:
        known = claim["kind"] in get_args(Kind)
        name = f"{claim['kind'] if known else 'claim of an unknown kind,'} {claim['value']:.4g}"
        wrong = misfits(claim, self._names)
        if wrong:
            return Check(name=name, holds=False, detail="; ".join(wrong))
        schema, recipe = _schema(self.words), self.words["recipe"]
        counted = None if table is None else recount(claim, table, schema, recipe) or self._joint(claim)
        if counted is not None and not counted.holds:
            return Check(name=name, holds=False, detail=counted.detail, standing="recomputed")
        if isinstance(again, Repeated):
            text = f"by the repeated run{f', {counted.detail}' if counted else ''}"
            found = any(all(claim.get(key) == other[key] for key in _SAME) for other in again.claims)
            return Check(name=name, holds=found, detail=text, standing="recomputed")
        if counted is not None:
            return Check(name=name, holds=True, detail=counted.detail, standing="recomputed")
        text = f"{claim['basis']} when it was released; the table alone can't show it"
        return Check(name=name, holds=None, detail=text, standing="signed" if signed else _WORD)


def _is_of_engine(path: Path) -> bool:
    """Whether a replay file records a run of an engine that can be held against its original."""
    try:
        recorded = read_replay(path)
        return "cells" in recorded or not read_recipe(recorded["recipe"]).repeats
    except FileError:
        return False


def _same_file(path: Path, words: Mapping[str, Any]) -> Check:
    same = sha256(path) == words["output"]["sha256"]
    return Check(name="table", holds=same, detail="SHA-256 as in the manifest" if same else "the file was changed")


def _shape(table: pl.DataFrame | Parts, words: Mapping[str, Any]) -> list[Check]:
    """Columns and rows as they are said to be, and roles that go together."""
    named = table.columns == words["output"]["columns"] and set(table.columns) == set(words["columns"])
    gone = not set(table.columns) & set(words.get("removed", ()))
    hidden = [name for name, c in words["columns"].items() if c["role"] in ("identifier", "unit")]
    hidden += [name for name in _naming(table, words) if name not in hidden]
    listed = f": {', '.join(repr(name) for name in hidden)}" if hidden else ""
    seen = _allowed(words)
    allowed = f"; allowed by a person: {', '.join(map(repr, sorted(seen)))}" if seen else ""
    return [
        Check(name="columns", holds=named, detail=f"{len(table.columns)} columns, as in the manifest"),
        Check(name="removed columns", holds=gone, detail="none of them is in the table" if gone else "still there"),
        Check(
            name="roles",
            holds=not hidden,
            detail=f"{len(hidden)} columns of people's names or numbers released{listed}{allowed}",
        ),
        Check(name="rows", holds=len(table) == words["output"]["rows"], detail=f"{len(table):,} rows"),
    ]


def _naming(table: pl.DataFrame | Parts, words: Mapping[str, Any]) -> list[str]:
    """The columns that name people by their written cells, and that nobody is said to have allowed."""
    schema, of_people, allowed = _schema(words), _is_of_people(words), _allowed(words)
    if isinstance(table, pl.DataFrame):
        frame = enter(table)
        found = naming(frame, judged_when_written(schema, frame, of_people=of_people))
        return [name for name in found if name not in allowed]
    return list(naming_written_on(table.engine, table.relation, schema, allowed, of_people=of_people))


def _is_of_people(words: Mapping[str, Any]) -> bool:
    """Return whether rows are people's; those of a recipe that can't be read are taken to be."""
    try:
        return read_recipe(words["recipe"]).is_of_people
    except ShoalError:
        return True


def _preset(
    table: pl.DataFrame | Parts, words: Mapping[str, Any], on_claim: Standing, linked: WrittenTables | None
) -> list[Check]:
    """The rules of a preset, held against the tables again: what is said to hold must."""
    preset, rules = words["preset"], {}
    if not isinstance(preset, dict) or preset.get("name") not in PRESETS or not isinstance(preset.get("holds"), dict):
        return [Check(name="preset", holds=False, detail="must name a known preset and its rules")]
    allowed = _allowed(words)
    known = {"year": _year(words), "removed": removed_by_name(words.get("removed", ())), "bound": _claimed_bound(words)}
    for check in _findings(PRESETS[preset["name"]], table, _without(words, _unseen(linked, allowed)), known):
        rules[check.rule] = check
    for check in _of_events(PRESETS[preset["name"]], words, linked, allowed):
        rules[check.rule] = check
    unseen = f"; not checked, on the publisher's word: {', '.join(sorted(allowed))}" if allowed else ""
    checks = [
        Check(
            name=f"{preset['name']}: {rule}",
            holds=not says or (rule in rules and rules[rule].holds),
            detail=f"{rules[rule].words}{unseen}" if rule in rules else "is no rule of this preset",
            standing=on_claim if rule in rules and rules[rule].by_claim else "recomputed",
            preset=preset["name"],
            rule=rule,
        )
        for rule, says in preset["holds"].items()
    ]
    missing = [rule for rule, check in rules.items() if check.outside and rule not in preset["holds"]]
    lost = [
        Check(name=f"{preset['name']}: {rule}", holds=False, detail="is missing in the manifest") for rule in missing
    ]
    return [*checks, *lost]


def _findings(
    preset: Preset, table: pl.DataFrame | Parts, schema: Schema, known: Mapping[str, Any]
) -> Sequence[RuleCheck]:
    if isinstance(table, pl.DataFrame):
        return preset.findings(table, schema, **known)
    return findings_on(table.engine, table.relation, schema, preset, known)


def _unseen(linked: WrittenTables | None, allowed: set[str]) -> set[str]:
    return allowed if linked is None else not_looked_at(linked.schema.persons, allowed)


def _of_events(
    preset: Preset, words: Mapping[str, Any], linked: WrittenTables | None, allowed: set[str]
) -> list[RuleCheck]:
    if linked is None:
        return []
    shared = shared_events(words["claims"], linked.schema, preset.k)
    return list(event_checks(preset, linked.collection(), shared=shared, year=_year(words), allowed=allowed))


def _allowed(words: Mapping[str, Any]) -> set[str]:
    """The columns that a person is said to have looked at and let stand."""
    listed = words.get("allowed", [])
    own = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    return own | {name for step in _fixed_steps(words) if isinstance(step.get("allow"), list) for name in step["allow"]}


def _fixed_steps(words: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The steps of a preset: in the chain of coarseners, or beside another recipe."""
    preset = words.get("preset", {})
    first = preset.get("first", []) if isinstance(preset, Mapping) else []
    steps = [*words["recipe"].get("coarsen", []), *(first if isinstance(first, list) else [])]
    return [step for step in steps if isinstance(step, Mapping)]


def _year(words: Mapping[str, Any]) -> int:
    """The year of the data as it was given, else that of the release, in which nobody was younger."""
    given = [step["year"] for step in _fixed_steps(words) if isinstance(step.get("year"), int)]
    return given[0] if given else int(words["created"][:4]) if "created" in words else today().year


def _claimed_bound(words: Mapping[str, Any]) -> float | None:
    bounds = [claim["value"] for claim in words["claims"] if claim["kind"] == "re-identification bound"]
    return min(bounds, default=None)


def _without(words: Mapping[str, Any], allowed: set[str]) -> Schema:
    return Schema(tuple(column for column in _schema(words).columns if column.name not in allowed))


def _repeated(again: Repeated, whole: bool) -> list[Check]:
    """What the repeated run shows; manifest and report of an earlier version can't be compared as a `whole`."""
    same = "byte for byte as the code that wrote it writes it again"
    table = "the run repeated gives the same bytes" if again.same_table else "other bytes"
    checks = [
        _input(again.same_input, ""),
        Check(name="replay", holds=again.same_table, detail=table),
        Check(name="bound by the group formula", holds=again.keeps_bound, detail="holds for every record"),
    ]
    if not whole:
        return checks
    return [
        *checks,
        Check(name="manifest", holds=not again.manifest, detail=again.manifest or same, standing="recomputed"),
        Check(name="report", holds=not again.report, detail=again.report or same, standing="recomputed"),
    ]


def _input(fits: bool, more: str) -> Check:
    return Check(name="input", holds=fits, detail=f"commitment in the manifest fits the original{more}")


def _evidence(signed: bool) -> Check:
    """Roles, recipe, measures, what claims say and assume, report: nobody can tell them from the table."""
    text = "roles, recipe, measures, what claims say and assume, report" + (
        "" if signed else "; give the original or the publisher's key"
    )
    return Check(name="evidence", holds=None, detail=text, standing="signed" if signed else _WORD)


def _schema(words: Mapping[str, Any]) -> Schema:
    columns = {name: _declared(column) for name, column in words["columns"].items()}
    return Schema.from_dict({"columns": columns, "rules": words.get("rules", [])})


def _declared(column: Mapping[str, Any]) -> dict[str, Any]:
    return {key: column[key] for key in ("role", "kind", "missing_codes") if column.get(key) is not None}


def _well_formed(words: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Hold the entries that are read below to their types; a manifest may come from anybody."""
    output, columns, claims = words["output"], words["columns"], words["claims"]
    try:
        fits = (
            all(isinstance(output[name], kind) for name, kind in _OUTPUT.items())
            and all(isinstance(column["role"], str) for column in columns.values())
            and all(isinstance(claim[name], str) for claim in claims for name in ("kind", "scope", "basis"))
            and all(_is_number(claim["value"]) for claim in claims)
            and isinstance(words["recipe"], dict)
            and all(isinstance(name, str) for name in words.get("removed", []))
            and isinstance(words.get("decision", {}), dict)
        )
        _schema(words)
    except (KeyError, TypeError, AttributeError, InputError):
        fits = False
    if not fits:
        raise FileError(str(path), "must be a manifest whose columns, output and claims are well formed")
    return words


_SAME = ("kind", "value", "scope", "basis", "interval")  # by which a claim is found again
_LARGEST = 1e300  # a larger whole number is no float
_OUTPUT = {"file": str, "rows": int, "columns": list, "sha256": str}


def _is_number(value: Any) -> bool:
    """A number; infinity is one here, and no claim may have it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, float) or abs(value) < _LARGEST
