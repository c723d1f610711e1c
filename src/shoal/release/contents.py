"""Hold a folder to its manifest: exactly the files it names, each the very one, and nothing else.

The manifest itself has listed entries only, and a signature file is a signature and nothing more: neither can carry
what stays inside.

A manifest may come from anybody. Names in it are held to be plain names of files that a release has before anything is
opened, links are never followed, and only plain files are read.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.errors import FileError, GuaranteeError
from shoal.files import sha256
from shoal.release.layout import FORMER, MANIFEST, PARTS, REPORT, SIGNATURE, is_part, is_table
from shoal.release.manifest import ENTRIES
from shoal.release.minisign import Signature

__all__ = ["digest_of", "faults", "files_of", "require_whole"]


def files_of(words: Mapping[str, Any]) -> Mapping[str, Any]:
    """SHA-256 by name of the files that leave beside the manifest; none in a manifest of an earlier version."""
    files = words.get("files")
    return files if isinstance(files, dict) else {}


def faults(folder: Path, words: Mapping[str, Any]) -> list[str]:
    """What is wrong with a folder that is to leave, one short text each; empty where all is well."""
    files, table = files_of(words), words["output"].get("file")
    wrong = [*_unlisted(words), *_wrong_names(files)]
    if table == PARTS:
        if REPORT in files or not files or words["output"].get("sha256") != digest_of(files):
            wrong.append(f"{MANIFEST}: must name the parts of the table with their SHA-256")
    elif REPORT not in files or table not in files or files[table] != words["output"].get("sha256"):
        wrong.append(f"{MANIFEST}: must name the table and {REPORT} with their SHA-256")
    elif len(files) > 2:
        wrong.append(f"{MANIFEST}: must name one table only")
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


def _wrong_names(files: Mapping[str, Any]) -> Iterator[str]:
    for name, digest in files.items():
        if name != REPORT and not is_table(name) and not is_part(name):
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
