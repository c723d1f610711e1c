"""Sign a written release: put the decision into manifest and report, then sign the manifest.

The manifest holds the SHA-256 of every other published file, so one signature covers them all. It is in minisign's
format (`shoal.release.minisign`): ``minisign -V -p publisher.pub -m manifest.json`` checks it without Shoal.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from shoal.errors import FileError, GuaranteeError, ParameterError
from shoal.files import sha256, write_text
from shoal.files.atomic import reporting
from shoal.release.contents import files_of, require_whole
from shoal.release.folders import MANIFEST, REPORT, SIGNATURE, SIGNER, inside_of, place, replaced
from shoal.release.manifest import read_manifest
from shoal.release.minisign import PublicKey, SecretKey, Signature, fresh_comment
from shoal.release.withdrawn import require_standing
from shoal.release.write import manifest_text
from shoal.report.decision import Decision, with_decision

__all__ = ["require_signed", "sign", "sign_file", "signature_place", "today"]

_LONGEST = 2000


def sign(
    directory: str | Path,
    key: str | Path,
    *,
    password: str | None = None,
    decision: str | None = None,
    by: str | None = None,
    recipient: str | None = None,
    expires: str | date | None = None,
) -> Path:
    """Sign the release in `directory`, with what was decided about it. Returns the signature file.

    The folder must hold exactly what its manifest names; otherwise nothing is changed and a GuaranteeError says what is
    wrong. Signing again replaces decision and signature.

    Parameters
    ----------
    directory
        What `Release.write` made.
    key, password
        Secret key file of the publisher, as `shoal sign --new-key` or ``minisign -G`` makes it, and its password.
    decision, by, recipient
        What was decided, by whom, and who gets the table: recorded in report and manifest, with the day and the key.
    expires
        The last day on which the decision holds, as a date or as text (``"2030-12-31"``).

    Examples
    --------
    >>> import tempfile, shoal
    >>> from shoal.release.minisign import new_key
    >>> table, schema = shoal.datasets.health_survey(200, seed=1), shoal.datasets.health_survey_schema()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     secret, public = new_key(f"{folder}/publisher.key")
    ...     out = shoal.anonymize(table, schema, seed=7).write(f"{folder}/out")
    ...     _ = shoal.sign(out, key=secret, decision="May be published.", by="R. Roe")
    ...     shoal.verify(out, signer=public).exit_code
    0
    """
    folder, given = place(directory), _decided(decision, by, recipient, expires)
    words = dict(read_manifest(folder))
    if not files_of(words):
        raise FileError(str(folder / MANIFEST), "is of an earlier version", hint="Write the release again.")
    require_whole(folder, words, "sign")
    require_standing(folder, words, "sign")
    secret = SecretKey.read(key, password)
    decided = None if given is None else replace(given, signed=today(), key=secret.public.name)
    with replaced(folder) as stage:
        _write_signed(folder, stage, words, decided, secret)
    _tell_inside(inside_of(folder) / REPORT, decided)
    _keep_signer(inside_of(folder), secret.public)
    return Path(directory) / SIGNATURE


def sign_file(file: str | Path, key: str | Path, *, password: str | None = None) -> Path:
    """Sign one file, such as a model, in minisign's format; returns the signature file, ``FILE.minisig``."""
    path = Path(file)
    secret = SecretKey.read(key, password)
    with reporting(path):
        content = path.read_bytes()
    place = signature_place(path)
    write_text(place, secret.sign(content, fresh_comment(path.name)).text)
    return place


def signature_place(file: Path) -> Path:
    """Where the signature of a file lies."""
    return file.with_name(f"{file.name}.minisig")


def require_signed(file: Path, content: bytes, signer: PublicKey) -> None:
    """A GuaranteeError unless `content`, read from `file`, has a signature beside it that `signer` made."""
    place = signature_place(file)
    if not place.exists():
        hint = "Sign it: `shoal sign FILE --key publisher.key`."
        raise GuaranteeError(str(file), f"must be signed by {signer.name}", got="no signature", hint=hint)
    if not signer.accepts(Signature.read(place), content):
        raise GuaranteeError(str(file), f"must be signed by {signer.name}", got="another signature")


def today() -> date:
    """The day on which a decision is signed, or found to have expired."""
    return date.today()


def _decided(
    decision: str | None, by: str | None, recipient: str | None, expires: str | date | None
) -> Decision | None:
    texts = {"decision": decision, "by": by, "recipient": recipient}
    for name, text in texts.items():
        if text is not None and (not isinstance(text, str) or not text.strip() or len(text) > _LONGEST):
            raise ParameterError("sign", f"{name} must be a string of 1 to {_LONGEST} characters")
    day = _day(expires)
    if day is None and not any(texts.values()):
        return None
    return Decision(decision=decision, by=by, recipient=recipient, expires=day)


def _day(expires: str | date | None) -> date | None:
    try:
        day = date.fromisoformat(expires) if isinstance(expires, str) else expires
    except ValueError:
        raise ParameterError("sign", "expires must be a date, such as 2030-12-31") from None
    if day is not None and day < today():
        raise ParameterError("sign", "expires must not be in the past", got=day.isoformat())
    return day


def _write_signed(
    folder: Path, stage: Path, words: dict[str, Any], decided: Decision | None, secret: SecretKey
) -> None:
    for name in files_of(words):
        if name != REPORT:
            _share(folder / name, stage / name)
    if REPORT in files_of(words):
        with reporting(folder / REPORT):
            page = (folder / REPORT).read_bytes().decode("utf-8")
        write_text(stage / REPORT, with_decision(page, decided))
        words["files"] = {**files_of(words), REPORT: sha256(stage / REPORT)}
    words.pop("decision", None)
    text = manifest_text(words if decided is None else words | {"decision": decided.to_dict()})
    write_text(stage / MANIFEST, text)
    write_text(stage / SIGNATURE, secret.sign(text.encode(), fresh_comment(MANIFEST)).text)


def _keep_signer(inside: Path, key: PublicKey) -> None:
    """Leave the public key inside, by which the signature is checked before the release leaves."""
    if inside.is_dir():
        write_text(inside / SIGNER, key.text)


def _tell_inside(report: Path, decided: Decision | None) -> None:
    """The report that stays inside says the same, where it is at hand."""
    if report.is_file():
        with reporting(report):
            page = report.read_bytes().decode("utf-8")
        write_text(report, with_decision(page, decided))
        report.chmod(0o600)


def _share(source: Path, target: Path) -> None:
    """The same bytes under a second name: a link where the disk allows it, else a copy."""
    try:
        os.link(source, target)
    except OSError:
        with reporting(target):
            shutil.copyfile(source, target)
