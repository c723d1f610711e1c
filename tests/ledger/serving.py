"""Start service processes quickly, and put load on them with a bare HTTP client that costs less than the service."""

import asyncio
import contextlib
import json
import multiprocessing
import os
import socket
import time
from pathlib import Path

import toy_service

_CONTEXT = multiprocessing.get_context("forkserver")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def processes(ledger, count=1, data_epsilon=100_000.0, run=toy_service.serve):
    """(process, port) of each; forked from a server that has imported everything, so each is there at once."""
    folder = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join({folder, *os.environ.get("PYTHONPATH", folder).split(os.pathsep)})
    _CONTEXT.set_forkserver_preload(["toy_service", "uvicorn"])
    started = []
    try:
        for _ in range(count):
            port = free_port()
            process = _CONTEXT.Process(target=run, args=(ledger, port, data_epsilon), daemon=True)
            process.start()
            started.append((process, port))
        for process, port in started:
            _wait_for(process, port)
        yield started
    finally:
        for process, _ in started:
            process.kill()
            process.join()


def _wait_for(process, port):
    until = time.monotonic() + 180
    while time.monotonic() < until and process.is_alive():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError("the service did not start")


class Line:
    """One connection of one client."""

    def __init__(self, port, token):
        self._port, self._token, self._streams = port, token, None

    async def score(self, model, features, key=None):
        """(status, words) of a query."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        body = json.dumps({"features": features}).encode()
        more = f"Idempotency-Key: {key}\r\n" if key else ""
        writer.write(
            f"POST /v1/models/{model}/score HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._token}\r\n{more}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length: ")[1].split("\r\n")[0])
        return int(head.split(" ", 2)[1]), json.loads(await reader.readexactly(length))

    def close(self):
        if self._streams is not None:
            self._streams[1].close()
