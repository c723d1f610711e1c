"""`shoal sign`: make a key, and sign a release with what was decided about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import out
from shoal.cli.options import required
from shoal.cli.output import answer
from shoal.errors import ParameterError
from shoal.files.atomic import reporting
from shoal.release.minisign import is_encrypted, new_key
from shoal.release.sign import sign as sign_release
from shoal.release.sign import sign_file

__all__ = ["EXAMPLES", "sign"]

EXAMPLES = """Examples:

shoal sign --new-key publisher.key

shoal sign --new-key publisher.key --no-password

shoal sign release --key publisher.key --decision "Approved for the recipient" --by "R. Roe"

shoal sign release --key publisher.key --recipient "University hospital" --expires 2030-12-31

shoal sign models/diabetes.json --key publisher.key
"""


def sign(
    directory: Annotated[Path | None, typer.Argument(help="Release folder, or a single file such as a model.")] = None,
    key: Annotated[Path | None, typer.Option(help="Secret key, made by --new-key or minisign -G.")] = None,
    decision: Annotated[str | None, typer.Option(help="The decision; recorded in manifest and report.")] = None,
    by: Annotated[str | None, typer.Option(help="Who made the decision.")] = None,
    recipient: Annotated[str | None, typer.Option(help="Who receives the table.")] = None,
    expires: Annotated[str | None, typer.Option(help="Last day of validity, as YYYY-MM-DD.")] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="File with the key's password on its first line. [default: prompt]")
    ] = None,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="With --new-key: make a key without a password.")
    ] = False,
    new_key: Annotated[
        Path | None, typer.Option(help="Make a key pair and exit: FILE.key (keep it secret) and FILE.pub (publish it).")
    ] = None,
) -> None:
    """Sign the manifest of a release, and with it every released file.

    Decision, recipient and expiry are written into manifest and report first. Signing again replaces them. The
    signature is in minisign's format: minisign -V -p publisher.pub -m manifest.json checks it.
    """
    if new_key is not None:
        _make_key(new_key, password_file, no_password, given=(directory, key, decision, by, recipient, expires))
        return
    folder, secret = required(directory, "DIRECTORY", "sign"), required(key, "--key FILE", "sign")
    facts = {"decision": decision, "by": by, "recipient": recipient, "expires": expires}
    password = _password_of(secret, password_file)
    if folder.is_file():
        if any(facts.values()):
            raise ParameterError("sign", "decision, recipient and expiry are for a release, not for a single file")
        done = sign_file(folder, secret, password=password)
    else:
        done = sign_release(folder, secret, password=password, **facts)
    answer(signature=done)
    out.print(f"Signature: {done}", markup=False)


def _make_key(path: Path, password_file: Path | None, no_password: bool, given: tuple[object, ...]) -> None:
    if any(value is not None for value in given):
        raise ParameterError("sign", "--new-key makes a key and signs nothing; omit the other options")
    password = "" if no_password else _asked(new=True) if password_file is None else _first_line(password_file)
    secret, public = new_key(path, password=password or None)
    answer(secret_key=secret, public_key=public)
    out.print(f"Secret key: {secret} (keep it{'' if password else '; it has no password'})", markup=False)
    out.print(f"Public key: {public} (publish it)", markup=False)


def _password_of(secret: Path, password_file: Path | None) -> str | None:
    if not is_encrypted(secret):
        return None
    return _asked(new=False) if password_file is None else _first_line(password_file)


def _first_line(path: Path) -> str:
    with reporting(path), open(path, encoding="utf-8", errors="surrogateescape") as stream:
        line = stream.readline().rstrip("\r\n")
    if not line:
        raise ParameterError("--password-file", "must have the password on its first line")
    return line


def _asked(*, new: bool) -> str:
    """The password, typed unseen; empty for a new key without one."""
    question = "Password of the new key (empty: none)" if new else "Password of the key"
    try:
        return str(typer.prompt(question, default="", hide_input=True, show_default=False, confirmation_prompt=new))
    except typer.Abort:
        raise ParameterError("sign", "needs the key's password", hint="Use --password-file.") from None
