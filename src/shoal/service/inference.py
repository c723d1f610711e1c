"""The Open Inference Protocol, version 2, as a thin adapter: tensors in, tensors out, the same steps in between.

Every field of a model is an input tensor of shape [n] (or [n, 1]), one entry a person; the outputs are ``score`` and,
for models of more than two classes, ``probabilities``. What is asked is one batch: held to the same public schema,
charged together or not at all, answered the same when it is asked again. The price is in the reply's parameters.
Health needs no key, everything else does. An error is a problem document with the protocol's member ``error``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.responses import JSONResponse

from shoal import __version__
from shoal.domain import Axis
from shoal.service.errors import Problem
from shoal.service.ledger_calls import Pulse
from shoal.service.models import Served
from shoal.service.query import Asked, json_object
from shoal.service.scoring import Scorer
from shoal.service.shapes import BatchScores

__all__ = ["add_inference"]

_MODEL = "/v2/models/{name}"
_KINDS: dict[type, str] = {bool: "BOOL", int: "INT64", float: "FP64"}
_TYPES = frozenset(
    {"BOOL", "BYTES", "FP16", "FP32", "FP64"} | {f"{u}INT{n}" for u in ("", "U") for n in (8, 16, 32, 64)}
)
_LONGEST = 200
Handler = Callable[[Request], Awaitable[dict[str, Any]]]


def add_inference(app: FastAPI, scorer: Scorer, pulse: Pulse) -> None:
    """Add the protocol's routes to the application."""

    async def server(_: Request) -> dict[str, Any]:
        return {"name": "shoal", "version": __version__, "extensions": []}

    async def live(_: Request) -> dict[str, Any]:
        return {"live": True}

    async def ready(_: Request) -> dict[str, Any]:
        await pulse.check()
        return {"ready": True}

    async def metadata(request: Request) -> dict[str, Any]:
        return _metadata(await _asked(scorer, request))

    async def model_ready(request: Request) -> dict[str, Any]:
        served = await _asked(scorer, request)
        await pulse.check()
        return {"name": served.name, "ready": True}

    async def infer(request: Request) -> dict[str, Any]:
        return await _infer(scorer, request)

    _add(app, "GET", ("/v2",), server)
    _add(app, "GET", ("/v2/health/live",), live)
    _add(app, "GET", ("/v2/health/ready",), ready)
    _add(app, "GET", (_MODEL, f"{_MODEL}/versions/{{version}}"), metadata)
    _add(app, "GET", (f"{_MODEL}/ready", f"{_MODEL}/versions/{{version}}/ready"), model_ready)
    _add(app, "POST", (f"{_MODEL}/infer", f"{_MODEL}/versions/{{version}}/infer"), infer)


def _add(app: FastAPI, method: str, paths: tuple[str, ...], handle: Handler) -> None:
    for path in paths:

        async def route(request: Request, path: str = path) -> Response:
            request.scope["template"] = path
            try:
                return JSONResponse(await handle(request))
            except Problem as problem:
                problem.more["error"] = problem.detail or problem.kind.meaning
                raise

        app.add_route(path, route, methods=[method])


async def _asked(scorer: Scorer, request: Request) -> Served:
    """The model that the address names; a version, where one is named, must be the digest of its file."""
    asked = Asked.of(request)
    served = scorer.model(asked, await scorer.admit(asked), request.path_params["name"])
    if request.path_params.get("version", _version(served)) != _version(served):
        raise Problem("no-such-model", "The model is not served in that version.")
    return served


def _version(served: Served) -> str:
    return served.digest[:16]


def _metadata(served: Served) -> dict[str, Any]:
    inputs = [{"name": axis.name, "datatype": _datatype(axis), "shape": [-1]} for axis in served.domain.axes]
    outputs = [{"name": "score", "datatype": "FP64", "shape": [-1]}]
    about = {"name": served.name, "versions": [_version(served)], "platform": "shoal"}
    return {**about, "inputs": inputs, "outputs": outputs}


def _datatype(axis: Axis) -> str:
    if axis.levels is None:
        return "FP64"
    kinds = {_KINDS.get(type(level), "BYTES") for level in axis.levels.to_list()}
    return kinds.pop() if len(kinds) == 1 else "BYTES"


async def _infer(scorer: Scorer, request: Request) -> dict[str, Any]:
    asked = Asked.of(request)
    key = await scorer.admit(asked)
    served = scorer.model(asked, key, request.path_params["name"])
    if request.path_params.get("version", _version(served)) != _version(served):
        raise Problem("no-such-model", "The model is not served in that version.")
    words = json_object(await scorer.body(asked))
    names = _outputs(words)
    found = await scorer.score_rows(asked, served, key, _rows(words, scorer.max_batch))
    reply = {"model_name": served.name, "model_version": _version(served)}
    identity = {"id": words["id"]} if isinstance(words.get("id"), str) and len(words["id"]) <= _LONGEST else {}
    return {**reply, **identity, "parameters": _parameters(found), "outputs": _tensors(found, names)}


def _rows(words: dict[str, Any], most: int) -> list[dict[str, Any]]:
    """The people that the tensors describe."""
    inputs = words.get("inputs")
    if not isinstance(inputs, list) or not inputs or not all(isinstance(tensor, dict) for tensor in inputs):
        raise Problem("bad-json", "The member 'inputs' must be a list of tensors.")
    columns = dict(_column(tensor) for tensor in inputs)
    sizes = {len(values) for values in columns.values()}
    if len(columns) < len(inputs) or len(sizes) != 1:
        raise Problem("bad-json", "Each input must be named once, and all must have the same number of entries.")
    size = sizes.pop()
    if not 0 < size <= most:
        raise Problem("bad-json", f"A batch must have 1 to {most:,} people.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _column(tensor: dict[str, Any]) -> tuple[str, list[Any]]:
    name, shape, data = tensor.get("name"), tensor.get("shape"), tensor.get("data")
    if not isinstance(name, str) or tensor.get("datatype") not in _TYPES or not isinstance(data, list):
        raise Problem("bad-json", "A tensor must have a name, a datatype of the protocol and a list of data.")
    flat = [entry[0] if isinstance(entry, list) and len(entry) == 1 else entry for entry in data]
    if shape not in ([len(flat)], [len(flat), 1]) or any(isinstance(entry, list | dict) for entry in flat):
        raise Problem("bad-json", "A tensor must have the shape [n] or [n, 1], with n entries.")
    return name, flat


def _outputs(words: dict[str, Any]) -> set[str] | None:
    """The outputs that are asked for; none named: all."""
    asked = words.get("outputs")
    if asked is None:
        return None
    if not isinstance(asked, list) or not all(isinstance(one, dict) for one in asked):
        raise Problem("bad-json", "The member 'outputs' must be a list of objects with a name.")
    names = {str(one.get("name")) for one in asked}
    if not names <= {"score", "probabilities"}:
        raise Problem("bad-json", "A model has the outputs 'score' and, with more than two classes, 'probabilities'.")
    return names


def _parameters(found: BatchScores) -> dict[str, Any]:
    more = {"classes": "\n".join(found.probabilities[0])} if found.probabilities else {}
    notes = {"notes": "; ".join(found.notes)} if found.notes else {}
    return {"epsilon_charged": found.epsilon_charged, "cached": found.cached, **more, **notes}


def _tensors(found: BatchScores, names: set[str] | None) -> list[dict[str, Any]]:
    size = len(found.scores)
    tensors = [{"name": "score", "shape": [size], "datatype": "FP64", "data": found.scores}]
    if found.probabilities:
        data = [share for row in found.probabilities for share in row.values()]
        shape = [size, len(found.probabilities[0])]
        tensors.append({"name": "probabilities", "shape": shape, "datatype": "FP64", "data": data})
    return [tensor for tensor in tensors if names is None or tensor["name"] in names]
