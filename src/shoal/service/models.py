"""The models that are served: loaded from files, enrolled in the ledger, described for a reader."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from shoal import score
from shoal.claim import Claim
from shoal.domain import Domain
from shoal.dp import noise
from shoal.dp.budget import Budget
from shoal.errors import FileError, GuaranteeError, InputError, ParameterError, ShoalError
from shoal.files.atomic import reporting
from shoal.ledger import Admission, Balance, Ledger
from shoal.ledger.amount import cost_units, limit_units
from shoal.release.minisign import PublicKey
from shoal.release.sign import require_signed
from shoal.score import Explanation
from shoal.service.settings import Settings

__all__ = [
    "UNKNOWN_DATA",
    "Catalogue",
    "FileModel",
    "Loaded",
    "RefusedModel",
    "Servable",
    "Served",
    "enrol",
    "load_folder",
    "read_folder",
]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
UNKNOWN_DATA = "data sets without a fingerprint"
_NOTHING = Budget(epsilon=0)


class Servable(Protocol):
    """What the service needs of a model."""

    @property
    def name(self) -> str:
        """Its name in the address."""

    @property
    def features(self) -> Domain:
        """Kind, levels and bounds of each field, all public."""

    @property
    def cost(self) -> Budget:
        """What one query costs: nothing for a certified model."""

    @property
    def claims(self) -> Sequence[Claim]:
        """What is promised."""

    @property
    def words(self) -> str:
        """The promise in plain words."""

    def scores(self, people: Sequence[Mapping[str, Any]]) -> Sequence[float]:
        """The answers for people whose values were read by the axes of `features`: risks, or expected values."""

    def probabilities(self, values: Mapping[str, Any]) -> dict[str, float] | None:
        """The probability of each class for one person, where there are more than two."""

    def explain(self, values: Mapping[str, Any]) -> Explanation | None:
        """What each value contributed to one person's score; None where the price does not cover that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A model with the hash of its file, the name of its data set, what its fit cost, and whether it was admitted."""

    model: Servable
    digest: str
    data: str = UNKNOWN_DATA
    fit: Budget = _NOTHING
    admitted: bool = False

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
    """A model in service: its accounts, and its price in units."""

    model: Servable
    digest: str
    data: str
    account: int
    data_account: int
    amount: int

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def domain(self) -> Domain:
        """The fields of a query."""
        return self.model.features


@dataclass(frozen=True, slots=True, kw_only=True)
class FileModel:
    """A model file of `shoal.score` as the service needs it; its name is that of the file."""

    name: str
    cost: Budget
    source: Any

    @classmethod
    def read(cls, file: Path) -> FileModel:
        """Load a file, its hash checked; a model without a price (one that promises nothing) is refused."""
        source = score.load(file)
        if source.cost is None:
            hint = "Serve a certified model (free to query) or a published one (charged per query)."
            raise InputError(f"model '{file.stem}'", "must have a price: it promises nothing", hint=hint)
        if not source.cost.empty:
            _warm()
        return cls(name=file.stem, cost=source.cost, source=source)

    @property
    def features(self) -> Domain:
        """Kind, levels and bounds of each field."""
        return cast("Domain", self.source.features)

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
        """The class whose probability the score is, or the name of the number that it expects."""
        return str(self.source.outcome)

    @property
    def bounds(self) -> list[float] | None:
        """The range of a numeric outcome; None for a probability."""
        found = getattr(self.source, "bounds_", None)
        return None if found is None else list(found)

    @property
    def data(self) -> str | None:
        """The fingerprint of the training data, where the file has one."""
        return getattr(self.source, "data_", None)

    @property
    def fit_cost(self) -> Budget | None:
        """What the fit cost the data set."""
        return cast("Budget | None", self.source.spent)

    def scores(self, people: Sequence[Mapping[str, Any]]) -> Sequence[float]:
        """The answers for people whose values were read."""
        return cast("Sequence[float]", self.source.answers_to(people))

    def probabilities(self, values: Mapping[str, Any]) -> dict[str, float] | None:
        """The probability of each class, where there are more than two."""
        many = len(getattr(self.source, "classes_", ())) > 2
        return cast("dict[str, float]", self.source.probabilities(values)) if many else None

    def explain(self, values: Mapping[str, Any]) -> Explanation | None:
        """What each value contributed, for a model whose answers are free."""
        return cast("Explanation", self.source.explain(values)) if self.cost.empty else None


def _warm() -> None:
    """Draw noise for nothing once: loading the sampler takes a third of a second, which no first client should wait."""
    noise.discrete_laplace(np.zeros(1, dtype=np.int64), scale=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedModel:
    """A file of the folder that is not served, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The models of a folder: the files as they were read, loaded, and those that are refused."""

    loaded: tuple[Loaded, ...]
    files: Mapping[str, bytes]
    refused: tuple[RefusedModel, ...]


def read_folder(
    folder: Path | str, admitted: Mapping[str, Admission] | None = None, signer: PublicKey | None = None
) -> Catalogue:
    """Every ``*.json`` model of a folder; a file that can't be served is named and the others are.

    Parameters
    ----------
    admitted
        What the ledger admits, by SHA-256 of the file (`Ledger.admissions`); None: the caller vouches for the folder.
    signer
        Who must have signed each file (``NAME.json.minisig`` beside it); None: nobody.

    Raises
    ------
    ShoalError
        Where no file can be served: what is wrong with the first.
    """
    files = sorted(Path(folder).glob("*.json"))
    if not files:
        raise FileError(str(folder), "must hold at least one model file (*.json)", hint="See `shoal score fit`.")
    loaded: dict[str, Loaded] = {}
    contents: dict[str, bytes] = {}
    refused: dict[str, ShoalError] = {}
    for file in files:
        try:
            contents[file.stem], loaded[file.stem] = _read_file(file, admitted, signer)
        except ShoalError as error:
            refused[file.stem] = error
    if not loaded:
        raise next(iter(refused.values()))
    reasons = tuple(RefusedModel(name=name, why=str(error)) for name, error in refused.items())
    good = {name: contents[name] for name in loaded}
    return Catalogue(loaded=tuple(loaded.values()), files=good, refused=reasons)


def load_folder(folder: Path | str) -> list[Loaded]:
    """The models of a folder that the caller vouches for; see `read_folder`."""
    return list(read_folder(folder).loaded)


def _read_file(file: Path, admitted: Mapping[str, Admission] | None, signer: PublicKey | None) -> tuple[bytes, Loaded]:
    """The file's bytes and its model, both of one moment."""
    with reporting(file):
        content = file.read_bytes()
    if signer is not None:
        require_signed(file, content, signer)
    digest = hashlib.sha256(content).hexdigest()
    admission = None if admitted is None else _admission(file, digest, admitted)
    model = FileModel.read(file)
    with reporting(file):
        if file.read_bytes() != content:
            raise FileError(str(file), "must not change while it is read")
    loaded = Loaded.of(model, digest)
    return content, loaded if admission is None else replace(loaded, data=admission.data, admitted=True)


def _admission(file: Path, digest: str, admitted: Mapping[str, Admission]) -> Admission:
    if digest not in admitted:
        hint = "Fit it with this ledger's account, or vouch for it: `shoal ledger admit FILE`."
        raise GuaranteeError(f"model '{file.stem}'", "must be a file admitted to the ledger", hint=hint)
    return admitted[digest]


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
            raise InputError(f"model '{name}'", "model files must have different names")
        catalogue[name] = _enrolled(item, ledger, settings)
    return catalogue


def _enrolled(item: Loaded, ledger: Ledger, settings: Settings) -> Served:
    known = _known(ledger, item.data)
    given = settings.data_epsilon
    accounts = ledger.enrol(
        item.model.name,
        digest=item.digest,
        data=item.data,
        fit=item.fit,
        data_limit=None if known is not None or given is None else Budget(epsilon=given),
        model_limit=None if settings.model_epsilon is None else Budget(epsilon=settings.model_epsilon),
    )
    amount = cost_units(item.model.cost)
    if amount and known is not None:
        _reserve(ledger, known, given)
    return Served(
        model=item.model,
        digest=item.digest,
        data=item.data,
        account=accounts.model,
        data_account=accounts.data,
        amount=amount,
    )


def _known(ledger: Ledger, data: str) -> Balance | None:
    return next((b for b in ledger.balances() if (b.kind, b.name) == ("data", data)), None)


def _reserve(ledger: Ledger, balance: Balance, given: float | None) -> None:
    """Hold a known data set to what the operator gives for answers."""
    if given is None:
        return
    if balance.currency == "rho":
        hint = "Leave --data-epsilon out, and reserve with `shoal ledger reserve --rho`."
        raise ParameterError("--data-epsilon", "the data set's limit is in rho", got=str(given), hint=hint)
    if limit_units(given) not in (balance.share, balance.cap if balance.share is None else None):
        ledger.reserve(balance.name, given)
