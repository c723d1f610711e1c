"""A worker process: reads the table once, then runs one recipe after another.

The parent writes one JSON line a task and reads one JSON line a result. Whatever libraries print goes nowhere. If the
parent dies, the worker removes the private folder with the table and ends at once.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from shoal.comparison import measure
from shoal.comparison.data import Data
from shoal.conform import prepare
from shoal.errors import ShoalError
from shoal.heap import keep_freed_memory
from shoal.processes import follow_parent
from shoal.recipe import read_recipe

__all__ = ["answer", "main"]


def main() -> None:
    """Serve tasks for the folder that the command line names."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    keep_freed_memory()
    job = Path(sys.argv[1])
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tasks: queue.Queue[str] = queue.Queue()
    follow_parent(tasks.put, last=lambda: shutil.rmtree(job, ignore_errors=True))
    data = Data.read(job)
    _tell(channel, {"ready": True})
    while True:
        _tell(channel, answer(data, json.loads(tasks.get())))


def answer(data: Data, task: dict[str, Any]) -> dict[str, Any]:
    """Run one task; whatever goes wrong is a state and a reason."""
    try:
        return {"state": "done", **_work(data, task)}
    except ShoalError as error:
        return {"state": "refused", "reason": str(error)}
    except MemoryError:
        return {"state": "failed", "reason": "There was not enough memory."}
    except Exception as error:  # messages of other libraries may quote cells: say where, not what
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        return {"state": "failed", "reason": f"Internal fault: {type(error).__name__} in {place.name} ({where})."}


def _work(data: Data, task: dict[str, Any]) -> dict[str, Any]:
    if task["recipe"] is None:
        prepared = prepare(data.persons, data.roles)
        return {"reference": measure.reference(data.persons, prepared, task["measure"])}
    release = measure.release_of(data.whole, data.schema, read_recipe(task["recipe"]), task["seed"])
    return measure.measure(release, task["measure"])


def _tell(channel: Any, words: dict[str, Any]) -> None:
    channel.write(json.dumps(words, allow_nan=False) + "\n")
    channel.flush()
