"""A written release as a folder: held to its manifest, handed on as a table, or packed into one file.

A folder holds exactly the files that its manifest names, each the very one, and nothing else.

The manifest itself has listed entries only, and a signature file is a signature and nothing more: neither can carry
what stays inside.

A manifest may come from anybody. Names in it are held to be plain names of files that a release has before anything is
opened, links are never followed, and only plain files are read.

**Export** hands the table on, into a database or to standard output: the folder is held to its manifest first, so that
only a release that was verified when it was written goes out. The evidence (manifest, report) stays with the folder:
who needs to check the release needs the folder.

**Handover** packs what may leave into one file: table, report, manifest, signature, and nothing else. The folder is
held to its manifest first, and the packed bytes are held to it again before the file takes its name. The same release
gives the same file, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import FileError, GuaranteeError, ParameterError
from shoal.files import read_table, sha256
from shoal.files.atomic import replacing, write_zip
from shoal.files.linked import read_linked
from shoal.files.workbook import write_workbook
from shoal.linked import Collection
from shoal.release.folders import FORMER, MANIFEST, REPORT, SIGNATURE, is_part, is_parts, is_table, place
from shoal.release.linked import WrittenTables, linked_files
from shoal.release.manifest import ENTRIES, read_manifest
from shoal.release.minisign import Signature
from shoal.release.signed import require_valid_signature
from shoal.release.withdrawn import require_standing

__all__ = [
    "digest_of",
    "export_table",
    "export_tables",
    "faults",
    "files_of",
    "handover",
    "released_table",
    "released_tables",
    "require_whole",
]


def files_of(words: Mapping[str, Any]) -> Mapping[str, Any]:
    """SHA-256 by name of the files that leave beside the manifest; none in a manifest of an earlier version."""
    files = words.get("files")
    return files if isinstance(files, dict) else {}


def parts_of(words: Mapping[str, Any]) -> Mapping[str, Any]:
    """SHA-256 by name of the files of a table in several files."""
    return {name: digest for name, digest in files_of(words).items() if is_part(name)}


def faults(folder: Path, words: Mapping[str, Any]) -> list[str]:
    """What is wrong with a folder that is to leave, one short text each; empty where all is well."""
    files, table = files_of(words), words["output"].get("file")
    linked = set(linked_files(words).values())
    wrong = [*_unlisted(words), *_wrong_names(files, linked)]
    if is_parts(table):
        parts = {name: digest for name, digest in parts_of(words).items() if Path(name).suffix == Path(table).suffix}
        others = set(files) - {REPORT, *parts}
        if others or not parts or words["output"].get("sha256") != digest_of(parts):
            wrong.append(f"{MANIFEST}: must name the parts of the table with their SHA-256")
    elif REPORT not in files or table not in files or files[table] != words["output"].get("sha256"):
        wrong.append(f"{MANIFEST}: must name the table and {REPORT} with their SHA-256")
    elif set(files) != {REPORT, table, *linked}:
        wrong.append(f"{MANIFEST}: must name one table only, or those that are linked")
    return wrong or [*_wrong_entries(folder, files), *_wrong_files(folder, files)]


def digest_of(files: Mapping[str, Any]) -> str:
    """The digest of a table in several files, from theirs."""
    if len(files) == 1:
        return str(next(iter(files.values())))
    return hashlib.sha256("".join(f"{name}\n{files[name]}\n" for name in sorted(files)).encode()).hexdigest()


def require_whole(folder: Path, words: Mapping[str, Any], owner: str) -> None:
    """Raise a GuaranteeError that lists what is wrong with the folder, if anything is."""
    wrong = faults(folder, words)
    if wrong:
        raise GuaranteeError(
            owner,
            "needs a folder that contains exactly the files named in its manifest",
            got="; ".join(wrong[:8]) + ("; and more" if len(wrong) > 8 else ""),
            hint="Nothing was written.",
        )


def _unlisted(words: Mapping[str, Any]) -> Iterator[str]:
    for name in words:
        if name not in ENTRIES:
            yield f"{MANIFEST}: has an entry that no manifest has ({name[:60]!r})"


def _wrong_names(files: Mapping[str, Any], linked: set[str]) -> Iterator[str]:
    for name, digest in files.items():
        if name != REPORT and not is_table(name) and not is_part(name) and name not in linked:
            yield f"{MANIFEST}: names a file that no release has ({name[:60]!r})"
        elif not isinstance(digest, str) or len(digest) != 64:
            yield f"{MANIFEST}: has no SHA-256 of {name}"


def _wrong_entries(folder: Path, files: Mapping[str, Any]) -> Iterator[str]:
    """What lies in the folder and must not."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            yield f"{path.name}: a link"
        elif path.name == FORMER:
            yield f"{FORMER}/: what stays inside must not lie here"
        elif path.name not in {*files, MANIFEST, SIGNATURE}:
            yield f"{path.name}: not named in the manifest"
        elif not stat.S_ISREG(path.lstat().st_mode):
            yield f"{path.name}: not a plain file"
        elif path.name == SIGNATURE and not _is_signature(path):
            yield f"{SIGNATURE}: not a signature in minisign's format, or more than that"


def _is_signature(path: Path) -> bool:
    try:
        Signature.read(path)
    except FileError:
        return False
    return True


def _wrong_files(folder: Path, files: Mapping[str, Any]) -> Iterator[str]:
    """What the manifest names and the folder doesn't hold."""
    for name, digest in files.items():
        path = folder / name
        if not path.exists():
            yield f"{name}: missing"
        elif not path.is_symlink() and path.is_file() and sha256(path) != digest:
            yield f"{name}: changed since the manifest was written"


def released_table(directory: str | Path) -> pl.DataFrame:
    """The table of the release in `directory`, whose files must be those that its manifest names."""
    folder, words = _whole(directory)
    return read_table(folder / words["output"]["file"])


def released_tables(directory: str | Path) -> dict[str, pl.DataFrame]:
    """All tables of the release in `directory` by name: one, or those that are linked, whose links are checked."""
    folder, words = _whole(directory)
    if not linked_files(words):
        return {Path(words["output"]["file"]).stem: read_table(folder / words["output"]["file"])}
    return dict(WrittenTables.of_manifest(folder, words).collection().tables)


def _whole(directory: str | Path) -> tuple[Path, Mapping[str, Any]]:
    folder = place(directory)
    words = read_manifest(folder)
    require_whole(folder, words, "export")
    return folder, words


def export_table(directory: str | Path, database: str, table: str, *, overwrite: bool = False) -> int:
    """Write the released table to a database in one transaction; the number of rows.

    Parameters
    ----------
    database
        A file ending in .sqlite, .db or .duckdb, or a URL (``postgresql://USER@HOST/NAME``).
    table
        The table's name; one that is there is replaced only if `overwrite` is True.
    """
    from shoal.files.database import write_rows  # SQLAlchemy takes a third of a second to load

    frame = released_table(directory)
    write_rows(frame, database, table, replace=overwrite)
    return len(frame)


def export_tables(directory: str | Path, to: str, *, overwrite: bool = False) -> dict[str, int]:
    """Write all tables of a release, by their names, to a database in one transaction, or to a new workbook (.xlsx).

    What was written is read back: links must lead somewhere, and every row must be there.

    Returns
    -------
    The number of rows of each table.
    """
    frames = released_tables(directory)
    if to.lower().endswith(".xlsx"):
        write_workbook(frames, Path(to))
    else:
        from shoal.files.database import write_tables

        write_tables(frames, to, replace=overwrite)
    _require_same(frames, to, place(directory))
    return {name: len(frame) for name, frame in frames.items()}


def export_fhir(directory: str | Path, folder: str | Path) -> dict[str, int]:
    """Write the tables of a release as FHIR resources (NDJSON) to a folder without such files.

    Returns
    -------
    The number of resources of each table.
    """
    from shoal.datasets.bulk_data import write_fhir

    frames = released_tables(directory)
    write_fhir(frames, folder)
    return {name: len(frame) for name, frame in frames.items()}


def _require_same(frames: Mapping[str, pl.DataFrame], to: str, folder: Path) -> None:
    """Hold what was written to what was to be: rows, and where tables are linked, their links."""
    filled = {name: frame for name, frame in frames.items() if len(frame)}
    back = read_linked(to, list(filled)).frame
    if {name: len(frame) for name, frame in back.items()} != {name: len(frame) for name, frame in filled.items()}:
        raise GuaranteeError("export", "must hold the rows of the release", hint="Remove what was written.")
    words = read_manifest(folder)
    if linked_files(words) and len(filled) == len(frames):
        Collection.of(back, WrittenTables.of_manifest(folder, words).schema)


def handover(
    directory: str | Path, to: str | Path, *, overwrite: bool = False, signer: str | Path | None = None
) -> Path:
    """Pack the release in `directory` into the ZIP file `to`; refuse if anything in the folder is not to leave.

    Parameters
    ----------
    directory
        What `Release.write` made, signed or not.
    to
        The file to write; it must not exist yet, or `overwrite` be True.
    signer
        The public key file of whoever must have signed it. None: a release that is signed must fit the key that it was
        signed with here; one that nobody signed is packed as it is.

    Raises
    ------
    GuaranteeError
        The folder holds a file that the manifest doesn't name, a link, a changed file, or lacks one; all are listed. Or
        the release was withdrawn from the register, its signature is not the signer's, no longer fits or is gone, or
        its decision has expired.

    Examples
    --------
    >>> import tempfile, zipfile, shoal
    >>> table, schema = shoal.datasets.health_survey(200, seed=1), shoal.datasets.health_survey_schema()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = shoal.anonymize(table, schema, seed=7).write(f"{folder}/out")
    ...     zipfile.ZipFile(shoal.handover(out, f"{folder}/out.zip")).namelist()
    ['manifest.json', 'release.csv', 'report.html']
    """
    folder, target = place(directory), place(to)
    if folder in target.parents:
        raise ParameterError(
            "handover", "file must be outside the folder to be packed", hint="Choose another location."
        )
    if target.exists() and not overwrite:
        raise FileError(str(target), "already exists", hint="Choose another file, or use --overwrite.")
    words = read_manifest(folder)
    require_whole(folder, words, "handover")
    require_standing(folder, words, "handover")
    require_valid_signature(folder, words, signer, "handover", date.today())
    names = [MANIFEST, *files_of(words), *([SIGNATURE] if (folder / SIGNATURE).is_file() else [])]
    with replacing(target) as temporary:
        write_zip(temporary, {name: folder / name for name in names})
        _check_packed(temporary, words)
    return Path(to)


def _check_packed(archive: Path, words: Mapping[str, Any]) -> None:
    """Hold the packed bytes to the manifest: a file may have been changed while it was packed."""
    with zipfile.ZipFile(archive) as packed:
        if json.loads(packed.read(MANIFEST)) != words:
            raise GuaranteeError(MANIFEST, "changed while being packed", hint="Nothing was written.")
        for name, digest in files_of(words).items():
            with packed.open(name) as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != digest:  # type: ignore[arg-type]
                    raise GuaranteeError(name, "changed while being packed", hint="Nothing was written.")
