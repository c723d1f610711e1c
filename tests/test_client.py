"""The client against a real service, and against one that fails in every way it may."""

import asyncio
import json
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "ledger"))

from serving import processes
from toy_service import QUERY

from shoal.client import AsyncClient, Client, ServiceError
from shoal.errors import ParameterError
from shoal.ledger import Keys, Ledger


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('client') / 'ledger.db'}"
    ledger = Ledger.open(url)
    _, token = Keys(ledger).add("ward", epsilon=1)
    with processes(url) as [(_, port)]:
        yield f"http://127.0.0.1:{port}", token
    ledger.close()


def test_scores_batches_and_budgets(served):
    with Client(*served) as client:
        assert [model["name"] for model in client.models()] == ["free", "priced"]
        first = client.score("priced", QUERY)
        assert (first.epsilon_charged, first.cached) == ("0.1", False)
        assert client.score("priced", QUERY) == type(first)(
            model="priced", score=first.score, epsilon_charged="0", cached=True
        )
        many = client.score_many("priced", [QUERY, {**QUERY, "age": 50}, {**QUERY, "age": 130}])
        assert (many.epsilon_charged, many.cached, many.scores[0]) == ("0.2", 1, first.score)
        assert many.notes == ("row 2: age was above its public bound and counted as the bound",)
        assert client.card("priced")["epsilon_per_query"] == "0.1"
        left = {account["kind"]: account["left"] for account in client.budget()}
        assert left["client"] == "0.7"
        with pytest.raises(ServiceError, match="budget does not cover") as caught:
            client.score_many("priced", [{**QUERY, "visits": i} for i in range(100, 120)])
        assert caught.value.kind == "budget-exhausted"
        assert caught.value.problem["left"]["client"] == "0.7"
        assert pickle.loads(pickle.dumps(caught.value)).kind == "budget-exhausted"


def test_asynchronous_questions_at_once(served):
    async def ask():
        async with AsyncClient(*served, connections=4) as client:
            found = await asyncio.gather(*(client.score("free", {**QUERY, "age": age}) for age in range(20)))
            return [one.score for one in found], await client.budget(), (await client.card("free"))["name"]

    scores, budget, name = asyncio.run(ask())
    assert scores == [age / 200 for age in range(20)]
    assert budget
    assert name == "free"


def test_a_question_that_was_given_up_does_not_disturb_the_next(failing):
    """Its thread still waits for the reply: nobody else may use that connection."""

    async def ask():
        async with AsyncClient(f"http://127.0.0.1:{failing.server_port}", "k", connections=1, tries=1) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await client.score("m", {"age": 1})
            failing.go_on.set()
            return await client.score("m", {"age": 2})

    failing.replies += ["wait", (200, {**DONE[1], "score": 0.25}, {})]
    failing.go_on.clear()
    assert asyncio.run(ask()).score == 0.25
    assert [body["features"]["age"] for _, body in failing.asked] == [1, 2]


def test_threads_share_a_client(served):
    with Client(*served, tries=1) as client, ThreadPoolExecutor(8) as threads:
        ages = [age % 60 for age in range(240)]
        found = threads.map(lambda age: client.score("free", {**QUERY, "age": age}).score, ages)
        assert list(found) == [age / 200 for age in ages]


class Failing(BaseHTTPRequestHandler):
    """Answers what it is told to, in order, and remembers what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.headers["Idempotency-Key"], json.loads(body)))
        what = self.server.replies.pop(0)
        if what == "wait":
            self.server.go_on.wait(20)
            what = DONE
        if what == "drop":
            self.close_connection = True
            self.connection.close()
            return
        status, words, headers = what
        content = words if isinstance(words, bytes) else json.dumps(words).encode()
        self.send_response(status)
        for name, value in {"Content-Length": len(content), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


DOWN = (503, {"type": "/problems/ledger-down", "title": "The ledger does not answer"}, {"Retry-After": 2})
SLOW = (429, {"type": "/problems/rate-limited", "title": "Too many requests"}, {})
DONE = (200, {"model": "m", "score": 0.5, "epsilon_charged": "0", "cached": True, "notes": []}, {})
EMPTY = (429, {"type": "/problems/budget-exhausted", "title": "No budget"}, {})


@pytest.fixture
def failing():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    server.asked, server.replies, server.block_on_close = [], [], False
    server.go_on = threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def patient(server, **words):
    client = Client(f"http://127.0.0.1:{server.server_port}", "k", **words)
    pauses = []
    client._sleep = pauses.append
    return client, pauses


def test_the_same_query_is_sent_again_with_the_same_key(failing):
    failing.replies += ["drop", DOWN, SLOW, DONE]
    client, pauses = patient(failing, timeout=5)
    assert client.score("m", {"age": 1}).score == 0.5
    assert len({(key, json.dumps(body)) for key, body in failing.asked}) == 1
    assert failing.asked[0][0]
    assert pauses == [0.25, 2.0, 1.0]  # as long as the service asks for, or twice as long each time
    client.close()


def test_what_can_not_get_better_is_not_tried_again(failing):
    failing.replies += [EMPTY]
    client, pauses = patient(failing)
    with pytest.raises(ServiceError) as caught:
        client.score("m", {"age": 1})
    assert (caught.value.kind, pauses, len(failing.asked)) == ("budget-exhausted", [], 1)
    client.close()
    failing.replies += [DOWN, DOWN]
    client, _ = patient(failing, tries=2)
    with pytest.raises(ServiceError, match="ledger"):
        client.score("m", {"age": 1})
    failing.replies += [(500, b"<html>", {})]
    with pytest.raises(ServiceError, match="could not be read"):
        client.score("m", {"age": 1})
    client.close()


def test_nobody_there_and_wrong_parameters():
    client = Client("http://127.0.0.1:9", "k", tries=1)
    with pytest.raises(ServiceError, match="within reach"):
        client.models()
    with pytest.raises(ParameterError, match="url"):
        Client("ftp://x", "k")
    with pytest.raises(ParameterError, match="tries"):
        Client("http://x", "k", tries=0)
