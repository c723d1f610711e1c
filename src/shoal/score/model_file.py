"""Model files: JSON with claim, schema of the features and a hash. Never pickle, which runs what it is given.

The SHA-256 in the file is that of everything else in it. It finds damage and hasty edits, and refuses the file; whoever
rewrites the hash as well isn't found, so keep model files where only their owner can write.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import FileError, ShoalError
from shoal.files.atomic import replacing, reporting
from shoal.schema import Schema
from shoal.score.features import Features
from shoal.score.model import RiskModel

__all__ = ["FORMAT", "load", "to_dict", "write"]

FORMAT = "shoal risk score 1"


def to_dict(model: RiskModel) -> dict[str, Any]:
    """A fitted model as JSON-safe words, with the hash of them."""
    words = {
        "format": FORMAT,
        "kind": model.kind,
        "releasable": model.releasable,
        "words": model.words,
        "params": _plain_params(model),
        "data": getattr(model, "data_", None),
        "held": getattr(model, "held_", False),
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "features": model.features_.to_words(),
        "claims": [claim.to_dict() for claim in model.claims],
        "spent": None if model.spent is None else model.spent.to_dict(),
        "cost": None if model.cost is None else model.cost.to_dict(),
        "model": model._body(),
    }
    return words | {"sha256": _digest(words)}


def write(model: RiskModel, path: str | Path) -> None:
    """Write the file, whole or not at all; one with exact counts can be read by its owner only."""
    text = json.dumps(to_dict(model), ensure_ascii=False, allow_nan=False) + "\n"
    with replacing(Path(path)) as temporary:
        if not model.releasable:
            temporary.chmod(0o600)
        temporary.write_text(text, encoding="utf-8", newline="\n")


def load(path: str | Path) -> Any:
    """Read a model that `save` wrote; a file whose content does not fit its hash is refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import shoal.score
    >>> from shoal.datasets.pima import pima_like, pima_like_schema
    >>> table = pima_like(400, seed=1)
    >>> model = shoal.score.CertifiedForest(epsilon=1.0, schema=pima_like_schema())
    >>> _ = model.fit(table.drop("diabetes"), table["diabetes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "diabetes.json")
    ...     model.save(file)
    ...     again = shoal.score.load(file)
    >>> bool((again.predict_proba(table.drop("diabetes")) == model.predict_proba(table.drop("diabetes"))).all())
    True
    """
    words = _read(Path(path))
    try:
        return _rebuilt(words)
    except (ShoalError, KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise FileError(str(path), "must be a risk score that this version of Shoal can read") from None


def _read(path: Path) -> dict[str, Any]:
    with reporting(path):
        text = path.read_bytes()
    try:
        words = json.loads(text)
        stated = words.pop("sha256")
        if words["format"] != FORMAT:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(str(path), "must be a risk score written by Shoal") from None
    if not isinstance(stated, str) or not hmac.compare_digest(stated.encode(), _digest(words).encode()):
        hint = "It was changed after it was saved. Fit it again, or restore an intact copy."
        raise FileError(str(path), "does not match its own hash, so it was not loaded", hint=hint)
    return words  # type: ignore[no-any-return]


def _rebuilt(words: Mapping[str, Any]) -> RiskModel:
    model: RiskModel = _kinds()[words["kind"]](**_read_params(words["params"]))
    if words["classes"] is not None:
        model.classes_ = np.array(words["classes"])
    model.features_ = Features.from_words(words["features"])
    model.n_features_in_ = len(model.features_)
    model.feature_names_in_ = np.array(model.features_.names, dtype=object)
    model.data_ = words.get("data")
    model.held_ = bool(words.get("held", False))
    model.model_ = model._restore(words["model"])
    return model


def _kinds() -> dict[str, type[RiskModel]]:
    from shoal.score.alpha_tree import AlphaTree
    from shoal.score.certified_forest import CertifiedForest
    from shoal.score.certified_regressor import CertifiedRegressor
    from shoal.score.certified_tree import CertifiedTree
    from shoal.score.stable import StableForest, StableTree

    certified = (CertifiedTree, CertifiedForest, CertifiedRegressor)
    return {cls.kind: cls for cls in (AlphaTree, StableTree, StableForest, *certified)}


def _plain_params(model: RiskModel) -> dict[str, Any]:
    return {name: _plain(value) for name, value in model.get_params(deep=False).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Schema):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | list | np.ndarray):
        return np.asarray(value).tolist()
    return value.item() if isinstance(value, np.generic) else value


def _read_params(words: Mapping[str, Any]) -> dict[str, Any]:
    schema = words.get("schema")
    read = {name: tuple(value) if isinstance(value, list) else value for name, value in words.items()}
    return read | {"schema": None if schema is None else Schema.from_dict(schema)}


def _digest(words: Mapping[str, Any]) -> str:
    text = json.dumps(words, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
