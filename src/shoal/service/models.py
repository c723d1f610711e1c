"""The models that are served: loaded from files, enrolled in the ledger, described for a reader."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from shoal.claim import Claim
from shoal.dp.budget import Budget
from shoal.errors import FileError, InputError
from shoal.ledger import Ledger
from shoal.ledger.amount import cost_units, to_text
from shoal.service.fields import Form
from shoal.service.settings import Settings

__all__ = ["UNKNOWN_DATA", "FileModel", "Loaded", "Servable", "Served", "enrol", "load_folder"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
UNKNOWN_DATA = "data sets without a fingerprint"
_NOTHING = Budget(epsilon=0)


class Servable(Protocol):
    """What the service needs of a model."""

    @property
    def name(self) -> str:
        """Its name in the address."""

    @property
    def features(self) -> Mapping[str, Any]:
        """Field name to kind, levels and bounds, all public."""

    @property
    def cost(self) -> Budget:
        """What one query costs: nothing for a certified model."""

    @property
    def claims(self) -> Sequence[Claim]:
        """What is promised."""

    @property
    def words(self) -> str:
        """The promise in plain words."""

    def score(self, values: Mapping[str, Any]) -> float:
        """The risk of one person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A model with the hash of its file, the fingerprint of its data, and what its fit cost."""

    model: Servable
    digest: str
    data: str = UNKNOWN_DATA
    fit: Budget = _NOTHING

    @classmethod
    def of(cls, model: Servable, digest: str) -> Loaded:
        """Take fingerprint and price from the model where it has them.

        Models without a fingerprint share one account: as if all were fitted to the same data, which is the cautious
        reading.
        """
        data = getattr(model, "data", None) or UNKNOWN_DATA
        return cls(model=model, digest=digest, data=str(data), fit=getattr(model, "fit_cost", None) or _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A model in service: its form, its accounts, and its price in units."""

    model: Servable
    form: Form
    digest: str
    data: str
    account: int
    data_account: int
    amount: int

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    def line(self) -> dict[str, Any]:
        """The model in a list."""
        return {"name": self.name, "epsilon_per_query": to_text(self.amount), "words": self.model.words}

    def card(self) -> dict[str, Any]:
        """All that a client may know: fields, claims, plain words, an example."""
        return {
            **self.line(),
            "outcome": getattr(self.model, "outcome", None),
            "digest": self.digest,
            "data": self.data,
            "features": [field.to_dict() for field in self.form.fields],
            "claims": [claim.to_dict() for claim in self.model.claims],
            "example": {"features": self.form.example()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FileModel:
    """A model file of `shoal.score` as the service needs it; its name is that of the file."""

    name: str
    cost: Budget
    source: Any

    @classmethod
    def read(cls, file: Path) -> FileModel:
        """Load a file, its hash checked; a model without a price (one that promises nothing) is refused."""
        from shoal import score

        source = score.load(file)
        if source.cost is None:
            hint = "Serve a certified model (free to ask) or a published one (charged by query)."
            raise InputError(f"model '{file.stem}'", "must have a price: it promises nothing", hint=hint)
        if not source.cost.empty:
            _warm()
        return cls(name=file.stem, cost=source.cost, source=source)

    @property
    def features(self) -> Mapping[str, Any]:
        """Field name to kind, levels and bounds."""
        return {feature.name: feature for feature in self.source.features.items}

    @property
    def claims(self) -> Sequence[Claim]:
        """What is promised."""
        return tuple(self.source.claims)

    @property
    def words(self) -> str:
        """The promise in plain words."""
        return str(self.source.words)

    @property
    def outcome(self) -> str:
        """The class whose probability the score is."""
        return str(self.source.classes_[1])

    @property
    def data(self) -> str | None:
        """The fingerprint of the training data, where the file has one."""
        return getattr(self.source, "data_", None)

    @property
    def fit_cost(self) -> Budget | None:
        """What the fit cost the data set."""
        return cast("Budget | None", self.source.spent)

    def score(self, values: Mapping[str, Any]) -> float:
        """The risk of one person."""
        return float(self.source.risk(values))


def _warm() -> None:
    """Draw noise for nothing once: loading the sampler takes a third of a second, which no first client should wait."""
    import numpy as np

    from shoal.dp import noise

    noise.discrete_laplace(np.zeros(1, dtype=np.int64), scale=1.0)


def load_folder(folder: Path | str) -> list[Loaded]:
    """Every ``*.json`` model of a folder, its hash checked by the loader.

    Raises
    ------
    FileError
        Where the folder holds no model, or a file was tampered with.
    InputError
        Where a model promises nothing and so has no price.
    """
    files = sorted(Path(folder).glob("*.json"))
    if not files:
        raise FileError(str(folder), "must hold at least one model file (*.json)", hint="See `shoal score fit`.")
    return [Loaded.of(FileModel.read(file), hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]


def enrol(loaded: Iterable[Loaded], ledger: Ledger, settings: Settings) -> dict[str, Served]:
    """Give each model its accounts; a fit is recorded once, however often the service starts."""
    catalogue: dict[str, Served] = {}
    for item in loaded:
        name = item.model.name
        if not _NAME.fullmatch(name):
            raise InputError(
                "model", "a name must be letters, digits, dots, dashes and underscores", got=repr(name)[:60]
            )
        if name in catalogue:
            raise InputError(f"model '{name}'", "two model files must not have one name")
        catalogue[name] = _enrolled(item, ledger, settings)
    return catalogue


def _enrolled(item: Loaded, ledger: Ledger, settings: Settings) -> Served:
    limit = settings.model_epsilon
    accounts = ledger.enrol(
        item.model.name,
        digest=item.digest,
        data=item.data,
        fit=item.fit,
        data_limit=Budget(epsilon=settings.data_epsilon),
        model_limit=None if limit is None else Budget(epsilon=limit),
    )
    return Served(
        model=item.model,
        form=Form.of(item.model.features),
        digest=item.digest,
        data=item.data,
        account=accounts.model,
        data_account=accounts.data,
        amount=cost_units(item.model.cost),
    )
