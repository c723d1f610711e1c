"""The service under load: 64 clients over loopback, real models, one and two workers; and kill -9 at random moments.

Goals on two idle cores: at least 8,000 scores a second from a certified model, at least 2,500 durably charged scores
a second with p99 below 100 ms on SQLite and on PostgreSQL with the hash chain on, a second worker never slower, no
error; no answer without a charge after any kill. Beside them, in the same run: a bare FastAPI endpoint under the same
load, and a bare loop of INSERT and COMMIT. The load generator runs on the same cores, and its share of the time is part
of what is measured.

    python benchmarks/speed/service.py [seconds] [kills]
"""

import asyncio
import contextlib
import multiprocessing
import os
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "ledger"))

from postgres import Cluster, reason_for_none
from serving import Line, free_port, processes
from sqlalchemy import select

from shoal.ledger import Keys, Ledger
from shoal.ledger.amount import UNITS
from shoal.ledger.tables import ANSWER, JOURNAL
from test_processes import until_killed

CLIENTS = 64
BARE = "a bare FastAPI endpoint, 1 worker"


def fit_models(folder, url):
    """A certified and a published model of one data set, charged to the ledger and admitted by it."""
    # imported here, as each process to be killed imports this script again
    from shoal.datasets.pima import pima_like, pima_like_schema
    from shoal.dp import Account, Budget
    from shoal.score import CertifiedForest, StableTree
    from shoal.score.admitting import admission_of
    from shoal.service import load_folder

    folder.mkdir()
    table = pima_like(768, seed=1)
    table.write_csv(folder / "patients.csv")
    account = Account.open(folder / "patients.csv", limit=Budget(epsilon=100_000), ledger=url)
    people, ill = table.drop("diabetes"), table["diabetes"]
    made = {"certified": CertifiedForest(epsilon=1.0, schema=pima_like_schema())}
    made["published"] = StableTree(epsilon=0.01, schema=pima_like_schema())
    for name, model in made.items():
        model.fit(people, ill, account=account).save(folder / f"{name}.json", internal=True)
        account.ledger.admit(admission_of(folder / f"{name}.json", by="fit"))
    (folder / "patients.csv.budget.json").unlink()  # only models lie in the folder then
    return next(item.model for item in load_folder(folder) if item.model.name == "certified").features


def query(fields, number):
    """A query that nobody asked before: every numeric field is moved a little."""
    words = {}
    for axis in fields.axes:
        low, high = axis.bounds or (0.0, 1.0)
        share = (number * 0.6180339887) % 1.0
        words[axis.name] = low + (high - low) * share if axis.levels is None else axis.levels[0]
    return words


class Served:
    """`shoal serve` in processes of its own."""

    def __init__(self, models, url, workers):
        self.port = free_port()
        script = "import typer; from shoal.cli.serve import serve; typer.run(serve)"
        words = ["--models", models, "--ledger", url, "--port", self.port, "--workers", workers, "--rate", 0]
        words += ["--no-log"]
        command = [sys.executable, "-c", script, *map(str, words)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.pid = self._process.pid

    def __enter__(self):
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5).close()
                return self
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the service did not start")

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(30)


async def load(port, tokens, model, fields, seconds, offset, pace=0.0):
    """Ask as fast as replies come, or at `pace` a second in all.

    Gives the seconds that each reply took, the number of replies that were not 200, and the seconds in all.
    """
    times, failed, begun = [], 0, time.perf_counter()

    async def client(number, token):
        nonlocal failed
        line, i = Line(port, token), 0
        await asyncio.sleep(number / pace if pace else 0)
        while time.perf_counter() - begun < seconds:
            asked = query(fields, offset + number + CLIENTS * i)
            start, i = time.perf_counter(), i + 1
            status, _ = await line.score(model, asked)
            times.append(time.perf_counter() - start)
            failed += status != 200
            if pace:
                await asyncio.sleep(max(0.0, begun + (number + CLIENTS * i) / pace - time.perf_counter()))
        line.close()

    await asyncio.gather(*(client(i, token) for i, token in enumerate(tokens)))
    return sorted(times), failed, time.perf_counter() - begun


def cpu_of_children(pid):
    """Seconds of CPU that the child processes of a process have used."""
    if pid is None:
        return 0.0
    total = 0
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        total += sum(map(int, Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


RATES = {}


def measure(name, port, tokens, model, fields, seconds, pace=0.0, pid=None):
    """Three runs, the first to warm up; CPU is that of the workers, which a busy machine changes less than rates."""
    first = 100_000_000 if pace else 0
    asyncio.run(load(port, tokens, model, fields, seconds, first, pace))
    for k in (1, 2):
        before = cpu_of_children(pid)
        times, failed, took = asyncio.run(load(port, tokens, model, fields, seconds, first + 10_000_000 * k, pace))
        cpu = (cpu_of_children(pid) - before) / len(times) * 1e6
        middle, late = times[len(times) // 2], times[int(len(times) * 0.99)]
        said = f"{len(times) / took:8,.0f} scores/s   p50 {middle * 1e3:6.1f} ms   p99 {late * 1e3:6.1f} ms"
        more = f"   CPU {cpu:5.0f} µs" if pid else ""
        print(f"{name:<34}{said}{more}   errors {failed}", flush=True)
        RATES[name] = max(RATES.get(name, 0.0), len(times) / took)


def on(kind, url, folder, seconds):
    ledger = Ledger.open(url)
    tokens = [Keys(ledger).add(f"client {i}", epsilon=100_000)[1] for i in range(CLIENTS)]
    fields = fit_models(folder, url)
    for workers in (1, 2):
        with Served(folder, url, workers) as served:
            for name, model in ((f"certified, {kind}", "certified"), (f"charged on {kind}", "published")):
                measure(f"{name}, {workers} workers", served.port, tokens, model, fields, seconds, pid=served.pid)
    ledger.check()
    ledger.close()


def bare_endpoint(port):
    """FastAPI alone, with a model for body and reply: what any such service costs."""
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Query(BaseModel):
        features: dict[str, float | str]

    app = FastAPI()

    @app.post("/v1/models/{name}/score")
    async def score(name: str, query: Query) -> dict[str, float]:
        return {"score": 0.5}

    uvicorn.run(app, port=port, access_log=False, log_level="error")


def bare(fields, seconds):
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=bare_endpoint, args=(port,), daemon=True)
    process.start()
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.1)
    measure(BARE, port, ["x"] * CLIENTS, "m", fields, seconds)
    process.kill()


def bare_inserts(folder, seconds):
    """One INSERT and one COMMIT that waits for the disk, again and again: what a charge without a batch costs."""
    with contextlib.closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE journal (id INTEGER PRIMARY KEY, mark TEXT UNIQUE, amount INTEGER)")
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO journal (mark, amount) VALUES (?, 1)", (f"{count:064d}",))
            database.execute("COMMIT")
            count += 1
    RATES["a bare INSERT and COMMIT, SQLite"] = count / seconds
    print(f"{'a bare INSERT and COMMIT, SQLite':<34}{count / seconds:8,.0f} a second", flush=True)


def bare_inserts_postgresql(url, seconds):
    """The same on PostgreSQL."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as database:
        database.execute("CREATE TABLE bare (id BIGINT PRIMARY KEY, mark TEXT UNIQUE, amount BIGINT)")
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            database.execute("INSERT INTO bare VALUES (%s, %s, 1)", (count, f"{count:064d}"))
            count += 1
    RATES["a bare INSERT and COMMIT, PostgreSQL"] = count / seconds
    print(f"{'a bare INSERT and COMMIT, PostgreSQL':<38}{count / seconds:8,.0f} a second", flush=True)


def ratios():
    """Every rate to that of a bare endpoint and of a bare loop on the same database, in this run."""
    for name, rate in RATES.items():
        said = f"{rate / RATES[BARE]:5.2f} × a bare endpoint"
        for kind in ("SQLite", "PostgreSQL"):
            loop = RATES.get(f"a bare INSERT and COMMIT, {kind}")
            if name.startswith(f"charged on {kind}") and loop:
                said += f", {rate / loop:5.1f} × a bare INSERT and COMMIT"
        if not name.startswith("a bare"):
            print(f"{name:<34}{said}")


def kills(url, times):
    """Kill the service under load; afterwards every answer that left has its charge, and the sums are right."""
    ledger = Ledger.open(url)
    _, token = Keys(ledger).add("ward", epsilon=1_000_000)
    ledger.close()
    moments, answered = random.Random(11), {}
    for number in range(times):
        with processes(url) as [(process, port)]:
            answered |= asyncio.run(until_killed(process, port, token, moments.uniform(0.02, 0.6), number))
        ledger = Ledger.open(url)  # opening replays the journal
        ledger.close()
    ledger = Ledger.open(url)
    with ledger.reading() as connection:
        charges = len(connection.execute(select(JOURNAL.c.id).where(JOURNAL.c.kind == "charge")).all())
        scores = set(map(float, connection.execute(select(ANSWER.c.score)).scalars()))
    assert ledger.balance("client", "ward").spent == charges * UNITS // 10
    lost = [score for score in answered.values() if score not in scores]
    print(f"{times} kills: {len(answered):,} answers left, {charges:,} charges, {len(lost)} answers without a charge")
    assert not lost
    ledger.close()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the start")
    with tempfile.TemporaryDirectory() as place:
        os.environ["SHOAL_ANCHORS"] = place
        Ledger.open(f"sqlite:///{place}/ledger.db").close()
        on("SQLite", f"sqlite:///{place}/ledger.db", Path(place, "sqlite"), seconds)
        from shoal.service import load_folder

        features = next(i.model for i in load_folder(Path(place, "sqlite")) if i.model.name == "certified").features
        bare(features, seconds)
        bare_inserts(Path(place), seconds)
        if reason_for_none():
            print(reason_for_none())
        else:
            with Cluster() as cluster:
                url = cluster.database()
                Ledger.open(url).close()
                on("PostgreSQL", url, Path(place, "postgresql"), seconds)
                bare_inserts_postgresql(cluster.database(), seconds)
                kills(cluster.database(), times // 2)
        ratios()
        kills(f"sqlite:///{place}/killed.db", times - times // 2)


if __name__ == "__main__":
    main()
