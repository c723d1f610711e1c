"""`shoal serve` as an operator sees it: workers that die, reload, stop, and a database that hangs."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest
from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))

from postgres import Cluster, reason_for_none
from serving import Line, free_port
from toy_service import QUERY, toys

from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.dp import Account, Budget
from shoal.errors import FileError, GuaranteeError, InputError, ParameterError
from shoal.ledger import Keys, Ledger
from shoal.score import CertifiedForest, StableTree
from shoal.score.admitting import admission_of
from shoal.service import Settings, create_app
from shoal.service.models import read_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


class Place:
    """A data file, a shared ledger with a client, and a folder of models fitted to the file."""

    def __init__(self, folder):
        self.url, self.models = f"sqlite:///{folder / 'ledger.db'}", folder / "models"
        self.models.mkdir()
        self.ledger = Ledger.open(self.url)
        self.token = Keys(self.ledger).add("ward", epsilon=100)[1]
        table = pima_like(300, seed=1)
        self.data = folder / "patients.csv"
        table.write_csv(self.data)
        self.people, self.ill = table.drop("diabetes"), table["diabetes"]
        self.account = Account.open(self.data, limit=Budget(epsilon=10), ledger=self.url)

    def fit(self, model, name, admit=True):
        file = self.models / f"{name}.json"
        model.fit(self.people, self.ill, account=self.account).save(file, internal=True)
        if admit:
            self.ledger.admit(admission_of(file, by="fit"))
        return file


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    made.fit(CertifiedForest(epsilon=1.0, schema=pima_like_schema()), "certified")
    made.fit(StableTree(epsilon=0.5, schema=pima_like_schema()), "published")
    yield made
    made.ledger.close()


class Serving:
    """`shoal serve` in processes of its own, with its log."""

    def __init__(self, place, *more):
        self.place, self.port = place, free_port()
        script = "import typer; from shoal.cli.serve import serve; typer.run(serve)"
        words = ["--models", place.models, "--ledger", place.url, "--port", self.port, "--no-log", *more]
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed on exit)
        command = [sys.executable, "-c", script, *map(str, words)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log)

    def __enter__(self):
        self.wait_for("serving")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.log.close()

    def events(self):
        self.log.seek(0)
        lines = [line for line in self.log.read().splitlines() if line.startswith("{")]
        return [json.loads(line) for line in lines]

    def wait_for(self, event, count=1, seconds=120):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if [e["event"] for e in self.events()].count(event) >= count:
                return
            assert self.process.poll() is None or event == "stopped", self.events()
            time.sleep(0.05)
        raise AssertionError(f"no {event}: {self.events()}")

    def children(self):
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(word) for word in text.split()]

    def get(self, path):
        headers = {"Authorization": f"Bearer {self.place.token}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=30) as reply:
            text = reply.read().decode()
            return json.loads(text) if reply.headers["content-type"] == "application/json" else text

    def names(self):
        return {model["name"] for model in self.get("/v1/models")["models"]}


def gone(pid, seconds=30):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return True
        time.sleep(0.05)
    return False


def eventually(holds, seconds=20):
    """Whether something comes true; workers hand their counts over every quarter of a second."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


async def scores(port, token, features):
    async def one():
        line = Line(port, token)
        statuses = [(await line.score(model, features))[0] for model in ("certified", "published")]
        line.close()
        return statuses

    return Counter(status for found in await asyncio.gather(*(one() for _ in range(20))) for status in found)


def test_two_workers_share_one_catalogue_are_replaced_reloaded_and_stopped(place):
    with Serving(place, "--workers", 2, "--data-epsilon", 5, "--check-seconds", 2) as served:
        features = served.get("/v1/models/certified")["example"]["features"]
        assert asyncio.run(scores(served.port, place.token, features)) == {200: 40}
        counted = ('{model="published",outcome="charged"} 1.0', '{model="certified",outcome="free"} 20.0')
        assert eventually(lambda: all(f"shoal_scores_total{one}" in served.get("/metrics") for one in counted))
        balance = place.ledger.balance("data", place.account.data_set).to_dict()
        assert (balance["spent"], balance["reserved"], balance["left"]) == ("1.5", "4.5", "4")  # one book

        (place.models / "broken.json").write_text("{}")  # changes nothing until a reload, and then only itself
        place.fit(StableTree(epsilon=0.25, schema=pima_like_schema()), "third")
        for worker in served.children():
            os.kill(worker, signal.SIGKILL)
        served.wait_for("worker-died", 2)
        assert served.names() == {"certified", "published"}  # from those who came instead
        replaced = served.children()
        os.kill(served.process.pid, signal.SIGHUP)
        served.wait_for("reloaded")
        assert [served.names() for _ in range(10)] == [{"certified", "published", "third"}] * 10
        assert [e["model"] for e in served.events() if e["event"] == "model-refused"] == ["broken"]
        assert all(gone(worker) for worker in replaced)

        served.wait_for("ledger-checked")
        half_sent_headers_and_what_is_no_http(served)
        workers = served.children()
        served.process.terminate()
        assert served.process.wait(30) == 0
        assert all(gone(pid) for pid in workers)
        assert "worker-killed" not in [e["event"] for e in served.events()]  # each ended when it was told to
    assert list(Path(tempfile.gettempdir()).glob(f"shoal-serve-{served.process.pid}-*")) == []
    place.ledger.check()


def half_sent_headers_and_what_is_no_http(served):
    half = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(150)]
    for line in half:
        line.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    assert served.get("/livez") == {"status": "ok"}
    for line in half:
        line.close()
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(b"this is no HTTP\r\n\r\n")
        reply = line.makefile("rb").read().decode()
    head, _, body = reply.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400")
    assert "application/problem+json" in head
    assert json.loads(body)["type"] == "/problems/bad-request"


def test_workers_follow_a_parent_that_was_killed_and_the_next_one_sweeps(place):
    with Serving(place) as served:
        workers = served.children()
        served.process.kill()
        served.process.wait()
        assert all(gone(pid) for pid in workers)
    left = list(Path(tempfile.gettempdir()).glob(f"shoal-serve-{served.process.pid}-*"))
    assert len(left) == 1
    from shoal.service.supervisor import sweep

    sweep()
    assert not left[0].exists()


def test_headers_that_do_not_come_are_not_waited_for():
    from shoal.service.worker import protocol_with

    async def ask():
        import uvicorn

        async def app(scope, receive, send):
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

        limits = protocol_with(Settings(header_seconds=0.3, max_connections=3))
        config = uvicorn.Config(app, port=free_port(), http=limits, lifespan="off", log_level="critical")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        lines = [await asyncio.open_connection("127.0.0.1", config.port) for _ in range(4)]
        for _, writer in lines:
            writer.write(b"GET / HTTP/1.1\r\n")
        replies = [await asyncio.wait_for(reader.read(), 30) for reader, _ in lines]
        for _, writer in lines:
            writer.close()
        server.should_exit = True
        await task
        return replies

    replies = asyncio.run(ask())
    assert sorted(reply.split()[1] for reply in replies) == [b"408", b"408", b"408", b"503"]
    assert all(b"application/problem+json" in reply for reply in replies)


def test_a_model_file_can_not_vouch_for_itself(place):
    """Its price edited and its hash rewritten, it was served under the new price."""
    import hashlib

    file = place.models / "published.json"
    words = json.loads(file.read_text())
    words.pop("sha256")
    words["params"]["epsilon"] = 0.001
    plain = json.dumps(words, sort_keys=True, ensure_ascii=True, allow_nan=False)
    file.write_text(json.dumps(words | {"sha256": hashlib.sha256(plain.encode()).hexdigest()}))
    catalogue = read_folder(place.models, place.ledger.admissions())
    assert [one.model.name for one in catalogue.loaded] == ["certified"]
    assert [one.name for one in catalogue.refused] == ["published"]
    assert "admitted" in catalogue.refused[0].why
    (place.models / "certified.json").unlink()
    with pytest.raises(GuaranteeError, match="must be a file admitted to the ledger"):
        read_folder(place.models, place.ledger.admissions())


def test_only_what_the_publisher_signed_is_served(place, tmp_path):
    from typer.testing import CliRunner

    from shoal.cli.main import app
    from shoal.release.minisign import PublicKey, new_key

    secret, public = new_key(tmp_path / "publisher.key")
    _, other = new_key(tmp_path / "other.key")
    run, file = CliRunner().invoke, place.models / "certified.json"
    signed = run(app, ["sign", str(file), "--key", str(secret)])
    assert signed.exit_code == 0, signed.exception
    assert (place.models / "certified.json.minisig").exists()

    def names(key):
        catalogue = read_folder(place.models, place.ledger.admissions(), PublicKey.read(key))
        return [one.model.name for one in catalogue.loaded], {one.name: one.why for one in catalogue.refused}

    loaded, refused = names(public)
    assert loaded == ["certified"]
    assert "no signature" in refused["published"]
    with pytest.raises(GuaranteeError, match="another signature"):
        names(other)
    words = ["serve", "--models", str(place.models), "--ledger", place.url, "--check", "--signer"]
    assert run(app, [*words, str(public)]).exit_code == 3  # one model is not signed
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(GuaranteeError, match="another signature"):
        names(public)
    admit = ["ledger", "admit", str(file), "--ledger", place.url, "--signer", str(public)]
    assert isinstance(run(app, admit).exception, GuaranteeError)
    assert isinstance(run(app, ["sign", str(file), "--key", str(secret), "--by", "R. Roe"]).exception, ParameterError)


def test_what_synthesis_spent_is_not_there_for_answers(place):
    """Two books: the file's account was empty, and the service answered as if nothing had been spent."""
    place.account.charge(Budget(epsilon=8.75), purpose="synthesis")
    app = create_app(
        read_folder(place.models, place.ledger.admissions()).loaded, Ledger.open(place.url), Settings(log=False)
    )
    headers = {"Authorization": f"Bearer {place.token}"}
    with TestClient(app) as http:
        query = http.get("/v1/models/published", headers=headers).json()["example"]
        reply = http.post("/v1/models/published/score", headers=headers, json=query)
        assert reply.status_code == 429
        assert (reply.json()["short"], reply.json()["left"]["data"]) == (["data"], "0.25")
        budget = {a["kind"]: a for a in http.get("/v1/budget", headers=headers).json()["accounts"]}
        assert (budget["data"]["spent"], budget["data"]["label"]) == ("9.75", "patients.csv")


def test_a_limit_in_rho_is_charged_by_query_and_epsilon_is_not_reserved_from_it(place):
    people = place.ledger.begin_data_set("in rho", limit=Budget.zcdp(0.2))
    words = admission_of(place.models / "published.json", data=people, by="person")
    place.ledger.admit(words)
    loaded = read_folder(place.models, {words.digest: words}).loaded
    with pytest.raises(ParameterError, match="limit is in rho"):
        create_app(loaded, place.ledger, Settings(log=False, data_epsilon=0.1))
    headers = {"Authorization": f"Bearer {place.token}"}
    with TestClient(create_app(loaded, Ledger.open(place.url), Settings(log=False))) as http:
        query = http.get("/v1/models/published", headers=headers).json()["example"]
        reply = http.post("/v1/models/published/score", headers=headers, json=query)
        assert (reply.status_code, reply.json()["epsilon_charged"]) == (200, "0.5")
        budget = {a["kind"]: a for a in http.get("/v1/budget", headers=headers).json()["accounts"]}
        assert (budget["data"]["currency"], budget["data"]["spent"]) == ("rho", "0.125")
        other = {"features": {**query["features"], "age": 77}}
        assert http.post("/v1/models/published/score", headers=headers, json=other).status_code == 429


def test_a_model_of_another_ledger_is_not_admitted(place, tmp_path):
    other = Ledger.open(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(InputError, match="no data set"):
        other.admit(admission_of(place.models / "published.json", by="person"))
    with pytest.raises(GuaranteeError, match="admitted"):
        read_folder(place.models, other.admissions())
    other.close()


def test_check_says_what_is_wrong_and_a_mistyped_ledger_begins_none(place, tmp_path):
    from typer.testing import CliRunner

    from shoal.cli.main import app

    config = tmp_path / "serve.toml"
    config.write_text(f'models = "{place.models}"\nledger = "{place.url}"\n')
    run = CliRunner().invoke
    done = run(app, ["serve", "--config", str(config), "--check"])
    assert done.exit_code == 0, done.exception
    (place.models / "broken.json").write_text("{}")
    assert run(app, ["serve", "--config", str(config), "--check"]).exit_code == 3
    wrong = run(app, ["serve", "--config", str(config), "--check", "--ledger", f"sqlite:///{tmp_path / 'typo.db'}"])
    assert isinstance(wrong.exception, InputError)  # a flag wins over the file
    assert not (tmp_path / "typo.db").exists()
    config.write_text("nonsense = 1\n")
    assert isinstance(run(app, ["serve", "--config", str(config), "--check"]).exception, FileError)


def test_every_setting_has_a_flag_a_variable_and_a_name_in_the_file():
    import typer

    from shoal.cli.serve import serve
    from shoal.service.settings import Settings

    app = typer.Typer()
    app.command()(serve)
    given = {parameter.name: parameter for parameter in typer.main.get_command(app).params}
    known = {one.name for one in fields(Settings)}
    assert known <= set(given)
    assert {given[name].envvar for name in known} == {f"SHOAL_{name.upper()}" for name in known}
    defaults = Settings()
    for name in known - {"models", "ledger", "signer", "burst", "shutdown"}:
        assert given[name].default == getattr(defaults, name), name


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from shoal.cli import serve as command
    from shoal.cli.main import app

    seen = []

    def stop(settings):
        seen.append(settings.max_batch)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_read", stop)
    (tmp_path / "serve.toml").write_text('models = "."\nmax_batch = 2\n')
    asked = ["serve"], ["serve", "--max-batch", "4"]
    for words, variables in (
        (asked[0], {}),
        (asked[0], {"SHOAL_MAX_BATCH": "3"}),
        (asked[1], {"SHOAL_MAX_BATCH": "3"}),
    ):
        CliRunner().invoke(app, words, env={"SHOAL_CONFIG": str(tmp_path / "serve.toml"), **variables})
    assert seen == [2, 3, 4]


@pytest.mark.skipif(bool(reason_for_none()), reason=reason_for_none() or "PostgreSQL is there")
def test_a_database_that_hangs_is_not_waited_for(monkeypatch, tmp_path):
    """PostgreSQL stopped as by SIGSTOP: no reply after 30 seconds, and no end after SIGTERM."""
    monkeypatch.setenv("SHOAL_ANCHORS", str(tmp_path))
    monkeypatch.setattr("shoal.service.ledger_calls._SECONDS", 0.0)
    with Cluster(fsync="off") as cluster:
        ledger = Ledger.open(cluster.database(), patience=1.0)
        headers = {"Authorization": f"Bearer {Keys(ledger).add('ward', epsilon=10)[1]}"}
        app = create_app(toys(), ledger, Settings(rate=0.0, deadline=1.0, log=False, key_seconds=60.0))

        def ask(http, age):
            begun = time.monotonic()
            query = {"features": {**QUERY, "age": age}}
            reply = http.post("/v1/models/priced/score", headers=headers, json=query)
            assert time.monotonic() - begun < 15
            return reply

        with TestClient(app) as http:
            assert ask(http, 1).status_code == 200
            with cluster.frozen():
                begun = time.monotonic()
                assert http.get("/v1/budget", headers=headers).status_code == 503  # on a connection that was in order
                assert time.monotonic() - begun < 15
                for age in (2, 3):
                    reply = ask(http, age)
                    assert (reply.status_code, reply.headers["retry-after"]) == (503, "2")
                assert http.get("/healthz").status_code == 503
                assert http.get("/livez").status_code == 200
                assert http.post("/v1/models/free/score", headers=headers, json={"features": QUERY}).status_code == 200
            until = time.monotonic() + 30
            while ask(http, 2).status_code == 503 and time.monotonic() < until:
                time.sleep(0.1)
            assert ask(http, 2).json()["epsilon_charged"] == "0"  # charged once, whenever that was
            frozen = cluster.frozen()
            frozen.__enter__()
            ask(http, 4)
            begun = time.monotonic()
        assert time.monotonic() - begun < 15  # the service ended though the database did not answer
        frozen.__exit__(None, None, None)
