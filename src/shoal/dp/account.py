"""What a data set has spent, in a file next to it, across processes and over the years.

Privacy loss adds up over everything that is ever computed from the same people's data. For a table ``visits.parquet``
the account lies in two files beside it: ``visits.parquet.budget.json``, which a person can read, and
``visits.parquet.budget.key``, a random key readable by its owner only. What is promised:

- **Charged first.** `Account.charge` returns when the charge is on the disk: a crash may lose an answer, no charge.
- **Never above the limit.** Reading, checking and writing happen under one lock on the key file; any number of
  processes on one machine may charge at once. There are no refunds.
- **Whole or not at all.** The file is replaced in one step; each reading replays the journal and checks its seal.
- **About the data, without telling them.** The account knows its data set by a keyed hash (HMAC-SHA256). Without the
  key the file does not let anyone test a guess of the content, which a plain hash would.

What isn't: a copy of the data elsewhere has no account, and whoever may write the files may delete them. Network file
systems without locks are no place for an account.
"""

from __future__ import annotations

import hmac
import json
import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from shoal.claim import Claim
from shoal.dp.budget import Budget
from shoal.dp.journal import Entry, Journal
from shoal.dp.key import locked_key, read_key
from shoal.dp.spending import Spending
from shoal.errors import FileError, GuaranteeError, ParameterError, ShoalError

__all__ = ["Account"]

_FORMAT = "shoal budget account, version 1"


class Account:
    """The privacy account of one data file; open it with `Account.open`.

    Notes
    -----
    A charge reads, replays and replaces a small file: some milliseconds, and about 0.3 ms more for each earlier entry.
    Opening reads the data file once, to see that it is the same.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.dp import Account, Budget
    >>> folder = tempfile.TemporaryDirectory()
    >>> data = pathlib.Path(folder.name, "visits.csv")
    >>> _ = data.write_text("age\\n41\\n")
    >>> account = Account.open(data, limit=Budget(epsilon=1.0))
    >>> entry = account.charge(Budget(epsilon=0.4), purpose="synthetic table for teaching")
    >>> print(account.spent, "|", account.left)
    ε = 0.4 | ε = 0.6
    >>> account.affords(Budget(epsilon=0.7))
    False
    >>> folder.cleanup()
    """

    def __init__(self, data: Path) -> None:
        self._place = data.with_name(data.name + ".budget.json")
        self._key_place = data.with_name(data.name + ".budget.key")
        self._data = data

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        limit: Budget | None = None,
        changed: Literal["refuse", "continue"] = "refuse",
    ) -> Account:
        """Open the account of the data file `path`, or begin one.

        Parameters
        ----------
        path
            The data file; links are followed, so that one file has one account.
        limit
            How much may ever be spent. Needed to begin an account; afterwards it is fixed, and may be left out.
        changed
            What to do when the file's content is not what the account was begun for: refuse, or (for corrected or
            extended data about the same people) go on, with all that was spent staying spent.
        """
        _check_opening(limit, changed)
        account = cls(Path(path).resolve())
        if limit is None and not account._place.exists():
            raise ParameterError(
                "Account", "limit must be given to begin an account", hint="Such as Budget(epsilon=1)."
            )
        with account._locked(begin=True) as key:
            mark = _fingerprint(account._data, key)
            if account._place.exists():
                account._continue(key, mark, limit, changed)
            elif limit is not None:
                account._write(key, mark, Journal.begun(limit))
        return account

    @property
    def path(self) -> Path:
        """Where the account is kept."""
        return self._place

    @property
    def data_set(self) -> str:
        """A name of the data set that tells nothing of it: the beginning of its keyed hash."""
        with self._locked() as key:
            return self._read(key)[0][:16]

    @property
    def limit(self) -> Budget:
        """How much may be spent in all."""
        return self._journal().limit

    @property
    def spent(self) -> Budget:
        """What has been spent, in the currency of the limit."""
        return self._journal().spent

    @property
    def left(self) -> Budget:
        """What may still be spent."""
        return self._journal().left

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge, oldest first."""
        return self._journal().entries

    @property
    def spending(self) -> Spending:
        """Name, total and limit at one moment, for the manifest of a release."""
        with self._locked() as key:
            mark, journal = self._read(key)
        return Spending(account=mark[:16], spent=journal.spent, limit=journal.limit, n_entries=len(journal.entries))

    def affords(self, budget: Budget) -> bool:
        """Whether `budget` could be charged now; charges nothing."""
        try:
            self._journal().charged(_checked(budget), "a question")
        except GuaranteeError:
            return False
        return True

    def charge(self, budget: Budget, *, purpose: str, claim: Claim | None = None) -> Entry:
        """Spend `budget`, before anything is computed from the data.

        Parameters
        ----------
        budget
            The whole price of what follows.
        purpose
            What it is spent on, for the reader of the account. Never a value from the data.
        claim
            The promise that the result will carry.

        Raises
        ------
        GuaranteeError
            Where it is not covered by what is left; nothing is spent then.
        """
        _check_words(purpose, claim)
        with self._locked() as key:
            mark, journal = self._read(key)
            longer = journal.charged(_checked(budget), purpose, claim)
            self._write(key, mark, longer)
        return longer.entries[-1]

    def to_dict(self) -> dict[str, Any]:
        """Limit, totals and entries as JSON-safe words; neither key nor fingerprint."""
        return self._journal().to_dict()

    def __repr__(self) -> str:
        return f"Account({str(self._place)!r})"

    def _continue(self, key: bytes, mark: str, limit: Budget | None, changed: str) -> None:
        known, journal = self._read(key)
        if limit is not None and limit != journal.limit:
            raise ParameterError(
                "Account", "limit is fixed when an account is begun", got=f"{limit} where it is {journal.limit}"
            )
        if hmac.compare_digest(known, mark):
            return
        if changed == "refuse":
            hint = "If these are corrected data about the same people, open it with changed='continue'."
            raise FileError(str(self._place), "the account belongs to a data file of other content", hint=hint)
        nothing = journal.spent * 0
        self._write(key, mark, journal.charged(nothing, "the data file changed; what was spent stays spent"))

    def _journal(self) -> Journal:
        return self._read(read_key(self._key_place))[1]

    def _locked(self, *, begin: bool = False) -> AbstractContextManager[bytes]:
        from shoal.files.place import check_readable

        check_readable(self._data)
        return locked_key(self._key_place, self._place, begin=begin)

    def _read(self, key: bytes) -> tuple[str, Journal]:
        from shoal.files.place import reporting

        with reporting(self._place):
            text = self._place.read_bytes()
        try:
            words = json.loads(text)
            mark, journal, seal = words["data"], words["journal"], words["seal"]
            if words["format"] != _FORMAT or not hmac.compare_digest(seal, _seal(key, mark, journal)):
                raise ValueError("the seal does not fit")
            return mark, Journal.from_dict(journal)
        except (ShoalError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            hint = "It was left as it is. Bring back an unharmed copy of both files; don't begin anew."
            raise FileError(str(self._place), "must be an unharmed account with its own key", hint=hint) from None

    def _write(self, key: bytes, mark: str, journal: Journal) -> None:
        from shoal.files.place import write_text

        words = journal.to_dict()
        sealed = {"format": _FORMAT, "data": mark, "journal": words, "seal": _seal(key, mark, words)}
        write_text(self._place, json.dumps(sealed, indent=1, ensure_ascii=False) + "\n")
        _sync_folder(self._place.parent)


def _check_opening(limit: Budget | None, changed: str) -> None:
    if limit is not None:
        _checked(limit, "limit")
    if changed not in ("refuse", "continue"):
        raise ParameterError("Account", "changed must be 'refuse' or 'continue'", got=repr(changed)[:60])


def _check_words(purpose: str, claim: Claim | None) -> None:
    if not isinstance(purpose, str) or not purpose.strip():
        raise ParameterError("Account", "purpose must be a text that says what is bought")
    if claim is not None and not isinstance(claim, Claim):
        raise ParameterError("Account", "claim must be a Claim or none", got=type(claim).__name__)
    try:
        json.dumps(claim.to_dict() if claim else None, allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError("Account", "claim must hold plain, finite numbers") from None


def _checked(budget: Budget, name: str = "budget") -> Budget:
    if not isinstance(budget, Budget):
        raise ParameterError("Account", f"{name} must be a Budget", got=type(budget).__name__)
    return budget


def _fingerprint(data: Path, key: bytes) -> str:
    from shoal.files.place import reporting

    digest = hmac.new(key, digestmod="sha256")
    with reporting(data), open(data, "rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _seal(key: bytes, mark: str, journal: dict[str, Any]) -> str:
    text = json.dumps([_FORMAT, mark, journal], sort_keys=True)
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)  # so that the new name outlives a power cut as well
    finally:
        os.close(handle)
