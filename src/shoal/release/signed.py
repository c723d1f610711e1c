"""Whether a release that is to leave is what somebody signed, by whom it should be, and for as long as they said."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from shoal.errors import FileError, GuaranteeError, InputError, ParameterError
from shoal.release.folders import MANIFEST, SIGNATURE, SIGNER, inside_of
from shoal.release.minisign import PublicKey, Signature
from shoal.report.decision import Decision

__all__ = ["require_valid_signature"]


def require_valid_signature(
    folder: Path, words: Mapping[str, Any], signer: str | Path | None, verb: str, day: date
) -> None:
    """Refuse a release whose signature no longer fits, is somebody else's, is gone, or has expired by `day`.

    A release that nobody signed, and for which no signer is named, passes.

    Parameters
    ----------
    words
        Its manifest.
    signer
        The public key file of whoever should have signed; None: the key that it was signed with here, which `sign`
        left in the inside folder.
    """
    is_signed, decided = (folder / SIGNATURE).is_file(), words.get("decision")
    if not is_signed and signer is None and decided is None:
        return
    if not is_signed:
        raise GuaranteeError(verb, "must be signed", got="no signature", hint=_AGAIN)
    key = _key(folder, signer, verb)
    try:
        fits = key.accepts(Signature.read(folder / SIGNATURE), (folder / MANIFEST).read_bytes())
    except FileError:
        fits = False
    if not fits:
        rule = f"must have a signature by key {key.name} that fits its manifest"
        raise GuaranteeError(verb, rule, got="another signature, or another manifest", hint=_AGAIN)
    _require_in_force(decided, verb, day)


def _key(folder: Path, signer: str | Path | None, verb: str) -> PublicKey:
    if signer is not None:
        return PublicKey.read(signer)
    kept = inside_of(folder) / SIGNER
    if kept.is_file():
        return PublicKey.read(kept)
    raise ParameterError(
        verb, "needs the signer's public key, to check the signature", hint="Name it: --signer publisher.pub."
    )


def _require_in_force(decided: Any, verb: str, day: date) -> None:
    """Refuse a decision that has expired, or that can't be read."""
    if decided is None:
        return
    try:
        decision = Decision.from_dict(decided)
    except (InputError, AttributeError, TypeError):
        raise GuaranteeError(verb, "must have a decision that can be read", hint=_AGAIN) from None
    if decision.expires is not None and decision.expires < day:
        raise GuaranteeError(
            verb, "must not let out a release after its last day", got=decision.expires.isoformat(), hint=_AGAIN
        )


_AGAIN = "Nothing was written. Sign it again: `shoal sign`."
