"""Pack what may leave into one file: table, report, manifest, signature, and nothing else.

The folder is held to its manifest first, and the packed bytes are held to it again before the file takes its name. The
same release gives the same file, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import FileError, GuaranteeError, ParameterError
from shoal.files.archive import write_zip
from shoal.files.atomic import replacing
from shoal.release.contents import files_of, require_whole
from shoal.release.layout import MANIFEST, SIGNATURE, place
from shoal.release.manifest import read_manifest

__all__ = ["handover"]


def handover(directory: str | Path, to: str | Path, *, overwrite: bool = False) -> Path:
    """Pack the release in `directory` into the ZIP file `to`; refuse if anything in the folder is not to leave.

    Parameters
    ----------
    directory
        What `Release.write` made, signed or not.
    to
        The file to write; it must not exist yet, or `overwrite` be True.

    Raises
    ------
    GuaranteeError
        The folder holds a file that the manifest doesn't name, a link, a changed file, or lacks one; all are listed.

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
