"""What was paid for and is not released yet: the model of a synthesis, kept beside its account until it is.

**Charge, then draw, then store, then use.** The account is charged; the noise is drawn; the model, which holds noisy
numbers and nothing else of the table, is written to a private file whole or not at all; rows are drawn from what was
stored. If the run stops after that, the same run finds the model, draws no noise and is charged nothing: one charge,
one draw. If it stops between the charge and the store, the charge stays: the safe side. What was stored is used only if
the account still holds the charge that paid for it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.dp.budget import Budget
from shoal.dp.journal import Entry
from shoal.fact import Fact
from shoal.files.atomic import replacing
from shoal.schema import Schema
from shoal.synth.synthesizer import Model, load

if TYPE_CHECKING:
    from shoal.recipe.synthesis import Synthesis

__all__ = ["PaidModel"]

_PAID = "paid"


@dataclass(slots=True, kw_only=True)
class PaidModel:
    """One purchase of a model: its account, what is bought, and the charge once it is made.

    It stands for the account where a model is fitted, so that the charge is known.
    """

    PAID_BEFORE: ClassVar[Fact] = Fact(
        says="the model of a run that was stopped is used: no noise was drawn anew, and nothing was charged"
    )

    account: Any
    own: tuple[Any, ...]
    entry: Entry | None = field(default=None)

    @classmethod
    def of(cls, account: Any, recipe: Synthesis, schema: Schema, digest: str) -> PaidModel:
        """The purchase of a model of the input with this digest; rows are free, so their number is no part of it."""
        return cls(account=account, own=(digest, schema.fingerprint(), replace(recipe, rows=None).to_dict()))

    @property
    def file(self) -> Path:
        """Where the model is kept."""
        words = [self.account.data_set, *self.own]
        own = hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()
        place: Path = self.account.path
        return place.with_name(f"{place.name.removesuffix('.json')}.paid-{own[:32]}.json")

    def affords(self, price: Budget) -> bool:
        """Whether the account could be charged."""
        return bool(self.account.affords(price))

    def charge(self, price: Budget, *, purpose: str) -> None:
        """Charge the account."""
        before = self.account.entries
        self.account.charge(price, purpose=purpose)
        self.entry = next(entry for entry in reversed(self.account.entries) if entry not in before)

    def found(self) -> Model | None:
        """The model that an earlier run paid for and did not release; None where there is none to be trusted."""
        if not self.account.entries or not self.file.is_file():
            return None
        try:
            paid = json.loads(self.file.read_text(encoding="utf-8"))[_PAID]
        except (ValueError, KeyError, TypeError):
            return None
        charged = any(entry.to_dict() == paid for entry in self.account.entries)
        return load(self.file) if charged else None

    def keep(self, model: Model) -> None:
        """Store the model; its owner alone can read the file."""
        assert self.entry is not None
        words = json.dumps({**model.to_dict(), _PAID: self.entry.to_dict()}, ensure_ascii=False)
        with replacing(self.file) as temporary:
            temporary.chmod(0o600)
            temporary.write_text(words, encoding="utf-8")

    def forget(self) -> None:
        """The release is there: the next run pays again."""
        self.file.unlink(missing_ok=True)
